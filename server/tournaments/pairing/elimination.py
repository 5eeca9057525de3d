"""Single and double elimination. The rules of the file:

Match      The winner goes on. A drawn race is run again, on another deal, as often as the format says; if the last one is drawn too the
           higher seed goes on: nothing else is left that the two have not shared.
Forfeit    Who does not come, or has withdrawn, has lost, and his opponent goes on. When neither comes both are out, in a double elimination
           too, and whoever would have met the winner has a bye.
Bye        A place of the bracket that is empty. Who meets it goes on without a race: he is at a table against the house that counts for
           nothing.
Rounds     One stage of the bracket each; a stage in which nobody has a race falls away.
Standings  By how far one got: who is not out, then who was out later. Those who went out in the same stage share the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, assert_never

from server.tournaments.pairing.brackets import LoserOf, Match, Seed, Source, WinnerOf, double_bracket, single_bracket
from server.tournaments.pairing.rounds import Pairing, Result, Round, Row, TieBreak
from server.tournaments.pairing.standings import row
from server.tournaments.pairing.tie_breaks import score
from server.tournaments.tournament import Format, Tournament

Side = str | None
"""An entrant, or nobody."""


@dataclass(frozen=True, slots=True)
class Standoff:
    """A match both of whose sides are known. result: winner and loser, either of them perhaps nobody; None while it is open."""

    match: Match
    first: Side
    second: Side
    result: tuple[Side, Side] | None

    @property
    def is_race(self) -> bool:
        return self.first is not None and self.second is not None


@dataclass(frozen=True, slots=True)
class Elimination(Format):
    """double: who has lost once plays on among those who have. replays: how many drawn races of a match are run again."""

    fixed_field: ClassVar[bool] = True
    knock_out: ClassVar[bool] = True
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ()
    double: bool = False
    replays: int = 2

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.replays < 0:
            raise ValueError(f"{self.replays} replays cannot be run: give none, or more")

    def settle(self, races: tuple[Result, ...]) -> Result | None:
        for race in races:
            if race.verdict != "draw":
                return race
        # In a bracket the first side is the higher seed.
        return Result("first", races[-1].home) if len(races) > self.replays else None

    def next_round(self, tournament: Tournament) -> Round | None:
        standoffs = self.standoffs(tournament)
        stage = min((standoff.match.stage for standoff in standoffs if standoff.result is None), default=None)
        if stage is None:
            return None
        now = [standoff for standoff in standoffs if standoff.match.stage == stage]
        races = [standoff for standoff in now if standoff.result is None]
        byes = [(standoff.match.name, standoff.result[0]) for standoff in now if not standoff.is_race and standoff.result is not None]
        seed = {entrant: number for number, entrant in enumerate(tournament.starters)}
        tables: list[tuple[str, str, Side]] = []
        for standoff in races:
            first, second = sorted((side for side in (standoff.first, standoff.second) if side is not None), key=seed.__getitem__)
            tables.append((standoff.match.name, first, second))
        tables += [(name, winner, None) for name, winner in byes if winner is not None and tournament.entries[winner].active]
        return Round(
            len(tournament.rounds) + 1,
            tuple(Pairing(table, first, second, second is not None, name) for table, (name, first, second) in enumerate(tables, 1)),
        )

    def standings(self, tournament: Tournament) -> tuple[Row, ...]:
        standoffs = self.standoffs(tournament)
        lives = dict.fromkeys(tournament.starters, 2 if self.double else 1)
        out = {entrant: 0 for entrant in tournament.entries if entrant not in lives}
        for standoff in standoffs:
            if not standoff.is_race or standoff.result is None:
                continue
            winner, loser = standoff.result
            for side in (standoff.first, standoff.second):
                if side is not None and side != winner:
                    lives[side] -= 1 if side == loser else lives[side]
                    if not lives[side]:
                        out[side] = standoff.match.stage
        last = 1 + max((standoff.match.stage for standoff in standoffs), default=0)
        reached = {entrant: out.get(entrant, last) for entrant in tournament.seeds}
        scores = score(tournament, rounds=len(tournament.rounds), forfeits_are_played=True)
        return tuple(
            row(tournament, scores, entrant, 1 + sum(other > reached[entrant] for other in reached.values()), ())
            for entrant in sorted(tournament.seeds, key=lambda entrant: -reached[entrant])
        )

    def standoffs(self, tournament: Tournament) -> tuple[Standoff, ...]:
        """Every match whose sides are known by now, in the order of the bracket. A reset that falls away is not among them."""
        starters = tournament.starters
        results = self._results(tournament)
        known: dict[str, Standoff] = {}

        def side(source: Source) -> tuple[Side, ...]:
            """The side, as far as it is known: none or one."""
            match source:
                case Seed(number):
                    return (starters[number - 1] if number <= len(starters) else None,)
                case WinnerOf(name):
                    result = known[name].result if name in known else None
                    return result[:1] if result else ()
                case LoserOf(name):
                    result = known[name].result if name in known else None
                    return result[1:] if result else ()
            assert_never(source)

        for match in (double_bracket if self.double else single_bracket)(len(starters)):
            sides = (*side(match.first), *side(match.second))
            if len(sides) == 2 and not (match.reset and not self._calls_for_reset(known, match)):
                first, second = sides
                decided = (
                    results.get(match.name) if first is not None and second is not None else (second if first is None else first, None)
                )
                known[match.name] = Standoff(match, first, second, decided)
        return tuple(known.values())

    @staticmethod
    def _calls_for_reset(known: dict[str, Standoff], match: Match) -> bool:
        assert isinstance(match.first, WinnerOf)
        final = known[match.first.match]
        return final.is_race and final.result is not None and final.result[0] == final.second

    @staticmethod
    def _results(tournament: Tournament) -> dict[str, tuple[Side, Side]]:
        """Winner and loser by match, of the matches that have been run."""
        results: dict[str, tuple[Side, Side]] = {}
        for paired in tournament.rounds:
            for pairing in paired.pairings:
                result = tournament.result(paired.number, pairing.table) if pairing.counted else None
                if result is not None:
                    first, second = pairing.first, pairing.second
                    results[pairing.match] = {"first": (first, second), "second": (second, first)}.get(result.verdict, (None, None))
        return results
