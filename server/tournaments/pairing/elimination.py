"""Single and double elimination. The rules of the file:

Match      The winner goes on. A drawn race is run again on another deal, as often as the format says. If the last one is drawn too, the
           higher seed goes on.
Forfeit    An entrant who does not come, or has withdrawn, loses, and the opponent goes on. If neither comes, both are out, in a double
           elimination too, and the entrant who would have met the winner has a bye.
Bye        An empty place of the bracket. Its opponent goes on without a race; their table against the house is not counted.
Rounds     Each is one stage of the bracket; a stage without a race is skipped.
Standings  By how far an entrant got. Those knocked out in the same stage share a place, and so do all who are still in, those who have
           not lost first. If neither comes to the final, nobody has won.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, assert_never

from server.tournaments.pairing.brackets import BracketMatch, LoserOf, Seed, Source, WinnerOf, double_bracket, single_bracket
from server.tournaments.pairing.crosstable import Crosstable, Format
from server.tournaments.pairing.rounds import Pairing, RaceResult, RankedEntrant, Round, TieBreak
from server.tournaments.pairing.standings import row
from server.tournaments.pairing.tie_breaks import score

Side = str | None
"""An entrant, or nobody."""


@dataclass(frozen=True, slots=True)
class Standoff:
    """A match whose sides are both known. result: winner and loser, each possibly nobody; None while it is open."""

    match: BracketMatch
    first: Side
    second: Side
    result: tuple[Side, Side] | None

    @property
    def is_race(self) -> bool:
        return self.first is not None and self.second is not None


@dataclass(frozen=True, slots=True)
class Elimination(Format):
    """double: those who have lost once play on among themselves. replays: how many drawn races of a match are run again."""

    fixed_field: ClassVar[bool] = True
    knock_out: ClassVar[bool] = True
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ()
    double: bool = False
    replays: int = 2

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.replays < 0:
            raise ValueError(f"{self.replays} replays cannot be run: give none, or more")

    def settle(self, races: tuple[RaceResult, ...]) -> RaceResult | None:
        for race in races:
            if race.verdict != "draw":
                return race
        # In a bracket the first side is the higher seed.
        return RaceResult("first", races[-1].home) if len(races) > self.replays else None

    def next_round(self, crosstable: Crosstable) -> Round | None:
        standoffs = self.standoffs(crosstable)
        stage = min((standoff.match.stage for standoff in standoffs if standoff.result is None), default=None)
        if stage is None:
            return None
        now = [standoff for standoff in standoffs if standoff.match.stage == stage]
        races = [standoff for standoff in now if standoff.result is None]
        byes = [(standoff.match.name, standoff.result[0]) for standoff in now if not standoff.is_race and standoff.result is not None]
        seed = {entrant: number for number, entrant in enumerate(crosstable.starters)}
        tables: list[tuple[str, str, Side]] = []
        for standoff in races:
            first, second = sorted((side for side in (standoff.first, standoff.second) if side is not None), key=seed.__getitem__)
            tables.append((standoff.match.name, first, second))
        tables += [(name, winner, None) for name, winner in byes if winner is not None and crosstable.entrants[winner].active]
        return Round(
            len(crosstable.rounds) + 1,
            tuple(Pairing(table, first, second, second is not None, name) for table, (name, first, second) in enumerate(tables, 1)),
        )

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        standoffs = self.standoffs(crosstable)
        lives = dict.fromkeys(crosstable.starters, 2 if self.double else 1)
        out = {entrant: 0 for entrant in crosstable.entrants if entrant not in lives}
        for standoff in standoffs:
            if not standoff.is_race or standoff.result is None:
                continue
            winner, loser = standoff.result
            for side in (standoff.first, standoff.second):
                if side is not None and side != winner:
                    lives[side] -= 1 if side == loser else lives[side]
                    if not lives[side]:
                        out[side] = standoff.match.stage
        last = 1 + max(standoff.match.stage for standoff in standoffs)
        reached = {entrant: out.get(entrant, last) for entrant in crosstable.seeds}
        best = 1 if last in reached.values() else 2
        scores = score(crosstable, rounds=len(crosstable.rounds), forfeits_are_played=True)
        return tuple(
            row(crosstable, scores, entrant, max(best, 1 + sum(other > reached[entrant] for other in reached.values())), ())
            for entrant in sorted(crosstable.seeds, key=lambda entrant: (-reached[entrant], -lives.get(entrant, 0)))
        )

    def standoffs(self, crosstable: Crosstable) -> tuple[Standoff, ...]:
        """Every match whose sides are known so far, in the order of the bracket, without a reset that is not needed."""
        starters = crosstable.starters
        results = self._results(crosstable)
        known: dict[str, Standoff] = {}

        def side(source: Source) -> tuple[Side, ...]:
            """The side in a tuple of its own; an empty one while it is not known."""
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
    def _calls_for_reset(known: dict[str, Standoff], match: BracketMatch) -> bool:
        assert isinstance(match.first, WinnerOf)
        final = known[match.first.match]
        return final.is_race and final.result is not None and final.result[0] == final.second

    @staticmethod
    def _results(crosstable: Crosstable) -> dict[str, tuple[Side, Side]]:
        """Winner and loser of the matches that have been run, by match."""
        results: dict[str, tuple[Side, Side]] = {}
        for paired in crosstable.rounds:
            for pairing in paired.pairings:
                result = crosstable.result(paired.number, pairing.table)
                if result is not None:
                    first, second = pairing.first, pairing.second
                    results[pairing.match] = {"first": (first, second), "second": (second, first)}.get(result.verdict, (None, None))
        return results
