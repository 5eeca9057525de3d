"""The crosstable: who entered, the rounds as paired, the results. The rules of the file:

Field      Entrants are seeded by rating, best first. Those without a rating come last, and equals are in the order of entry. In a format
           with a fixed field (round robin, elimination) nobody can enter once the first round is paired. Starters who withdrew can return
           to a round robin, but not to an elimination.
Rounds     One at a time: the next round can be paired once every counted table has its result. In a fixed field a table may have an entrant
           who has withdrawn; it is forfeited at once. In other formats entrants who have withdrawn are not paired.
Byes       An entrant of a Swiss can have a bye in a round to come: they are not paired in it, and score a half or a full point. Whoever
           withdraws loses those to come; whoever has a table all the same, as in older logs, loses that of its round. A round in which
           everybody has a bye has no table, and is over at once.
Results    One per race. The format says what the races of a table add up to: a drawn knock-out match needs another race. A forfeit gives
           the opponent the whole point. Results of different tables can come in any order and give the same crosstable.
Correction A result can be corrected as long as no later pairing depends on it: in a knock-out, the entrant who went on stays. Only results
           of the last round can be struck.

A refused change leaves the crosstable as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol

from protocol.tournaments import Verdict
from server.tournaments.pairing.rounds import Entrant, Pairing, RaceResult, RankedEntrant, Round, TieBreak

TableKey = tuple[int, int]
"""Number of the round, number of the table."""


class Refused(Exception):
    """A change is refused. Says why, in a sentence for the director."""


class UnknownEntrant(Refused): ...


class EntrantRefused(Refused): ...


class RoundRefused(Refused): ...


class RoundUnfinished(RoundRefused): ...


class ResultRefused(Refused): ...


class Format(Protocol):
    """How a tournament is played. A frozen value: its fields are its options."""

    fixed_field: ClassVar[bool] = False
    """Nobody can enter after the first pairing, and tables of withdrawn entrants are forfeited."""
    knock_out: ClassVar[bool] = False
    """A round follows from the results before it, table by table."""
    tie_breaks: ClassVar[tuple[TieBreak, ...]]

    def next_round(self, crosstable: Crosstable) -> Round | None:
        """The round after those already paired, all of which have results; None if the tournament is over. Deterministic."""

    def is_all_paired(self, crosstable: Crosstable) -> bool:
        """Whether the last round is paired, where that is known without pairing another."""
        return False

    def settle(self, races: tuple[RaceResult, ...]) -> RaceResult | None:
        """The result of a table from its races; None while another race is needed. By default one race decides."""
        return races[0] if races else None

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        """All entrants, best first, equals in the order of the seeds. Can be asked at any time."""


@dataclass(frozen=True, slots=True)
class TableRace:
    """A race to be run. number: from 1; above 1 if those before it were drawn."""

    round: int
    pairing: Pairing
    number: int

    @property
    def key(self) -> TableKey:
        return self.round, self.pairing.table


@dataclass(frozen=True)
class Crosstable:
    """entrants: by id, in the order of entry. races: only tables that have any result. byes: those asked for or given, in half points, by
    round and entrant; a bye that follows from an odd field is a table."""

    # No slots: there would be no room for the standings, once they are known.

    format: Format
    entrants: Mapping[str, Entrant] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    races: Mapping[TableKey, tuple[RaceResult, ...]] = field(default_factory=dict)
    byes: Mapping[tuple[int, str], int] = field(default_factory=dict)

    # ---- what it says

    @property
    def seeds(self) -> tuple[str, ...]:
        """Everybody, the best seed first."""
        # The sort is stable, which keeps equals in the order of entry.
        entrants = sorted(
            self.entrants.values(), key=lambda entrant: -float("inf") if entrant.rating is None else entrant.rating, reverse=True
        )
        return tuple(entrant.id for entrant in entrants)

    @property
    def starters(self) -> tuple[str, ...]:
        """The seeds who were in when the first round was paired; or would be, if it were paired now."""
        return tuple(id_ for id_ in self.seeds if self.entrants[id_].first_round == 1 and self.entrants[id_].withdrawn_after != 0)

    @property
    def active(self) -> tuple[str, ...]:
        """The seeds who still play."""
        return tuple(id_ for id_ in self.seeds if self.entrants[id_].active)

    @property
    def size(self) -> int:
        """How many are active."""
        return sum(entrant.withdrawn_after is None for entrant in self.entrants.values())

    def plays(self, entrant: str) -> bool:
        return entrant in self.entrants and self.entrants[entrant].active

    def pairing(self, number: int, table: int) -> Pairing | None:
        if not (0 < number <= len(self.rounds) and 0 < table <= len(self.rounds[number - 1].pairings)):
            return None
        return self.rounds[number - 1].pairings[table - 1]

    def result(self, number: int, table: int) -> RaceResult | None:
        """The result of a whole table; None while it is open. A bye that is not counted has no result either."""
        return self.format.settle(self.races.get((number, table), ()))

    @property
    def open_races(self) -> tuple[TableRace, ...]:
        """The races still to be run before the next round, by table."""
        if not self.rounds:
            return ()
        last = self.rounds[-1]
        return tuple(
            TableRace(last.number, pairing, len(self.races.get((last.number, pairing.table), ())) + 1)
            for pairing in last.pairings
            if pairing.counted and self.result(last.number, pairing.table) is None
        )

    def next_round(self) -> Round | None:
        """None: the tournament is over. Raises RoundUnfinished while races are open."""
        self._check_finished()
        return self.format.next_round(self)

    @cached_property
    def standings(self) -> tuple[RankedEntrant, ...]:
        """Without those who never came. FIDE's rules exclude them from the tournament (handbook C.04.2).

        Takes a twentieth of a second, the first time, once many entrants have played many rounds.
        """
        return self.format.standings(replace(self, entrants={id_: entrant for id_, entrant in self.entrants.items() if entrant.came}))

    # ---- how it changes. Each method raises the fitting kind of Refused.

    def enter(self, entrant: str, rating: float | None = None) -> Crosstable:
        """After the first round is paired this is a late entry, from the next round on."""
        if entrant in self.entrants:
            raise EntrantRefused(f"{entrant} has entered already")
        self._check_field_open()
        return self._with(Entrant(entrant, rating, first_round=len(self.rounds) + 1))

    def withdraw(self, entrant: str) -> Crosstable:
        """They no longer play; if their table is still open, it is forfeited."""
        found = self._entrant(entrant)
        if not found.active:
            raise EntrantRefused(f"{entrant} has withdrawn already")
        byes = {key: points for key, points in self.byes.items() if key[1] != entrant or key[0] <= len(self.rounds)}
        return replace(self._with(replace(found, withdrawn_after=len(self.rounds))), byes=byes)._forfeit_absent()

    def readmit(self, entrant: str) -> Crosstable:
        """They play again from the next round paired."""
        found = self._entrant(entrant)
        if found.active:
            raise EntrantRefused(f"{entrant} has not withdrawn")
        if self.format.knock_out or entrant not in self.starters:
            self._check_field_open()
        return self._with(replace(found, withdrawn_after=None))

    def give_bye(self, entrant: str, number: int, half_points: int) -> Crosstable:
        """half_points: 0 takes away the one that they have."""
        self._entrant(entrant)
        if number <= len(self.rounds):
            raise RoundRefused(f"round {number} is paired already")
        others = {key: points for key, points in self.byes.items() if key != (number, entrant)}
        return replace(self, byes=others | ({(number, entrant): half_points} if half_points else {}))

    def pair(self, paired: Round) -> Crosstable:
        """Add a round, however it was paired. Raises RoundUnfinished, RoundRefused, UnknownEntrant."""
        self._check_finished()
        if paired.number != len(self.rounds) + 1:
            raise RoundRefused(f"round {paired.number} does not follow round {len(self.rounds)}")
        if [pairing.table for pairing in paired.pairings] != list(range(1, len(paired.pairings) + 1)):
            raise RoundRefused("tables are numbered 1, 2, 3 … in their order")
        named = [entrant for pairing in paired.pairings for entrant in pairing.entrants]
        has_byes = any(key[0] == paired.number for key in self.byes)
        if not (named or has_byes) or len(set(named)) != len(named):
            raise RoundRefused("a round has at least one table or bye, and nobody at two tables")
        for entrant in named:
            if not self._entrant(entrant).active and not self.format.fixed_field:
                raise RoundRefused(f"{entrant} has withdrawn and cannot be paired")
        if self.format.knock_out and paired != self.format.next_round(self):
            raise RoundRefused("a knock-out round is what the results before it make it: pair it anew")
        byes = {key: points for key, points in self.byes.items() if key[0] != paired.number or key[1] not in named}
        return replace(self, rounds=(*self.rounds, paired), byes=byes)._forfeit_absent()

    def enter_result(self, number: int, table: int, result: RaceResult, race: int = 1) -> Crosstable:
        """race: counts the table's races from 1; a drawn race that is run again is a new one."""
        races = self._counted_races(number, table)
        if self.format.settle(races) is not None:
            raise ResultRefused(f"table {table} of round {number} has its result already: correct it if it is wrong")
        if race != len(races) + 1:
            raise ResultRefused(f"table {table} of round {number} waits for race {len(races) + 1}, not for race {race}")
        return replace(self, races={**self.races, (number, table): (*races, result)})

    def correct(self, number: int, table: int, result: RaceResult | None, race: int = 1) -> Crosstable:
        """Correct a race that has a result. result: None strikes it, which opens the race again."""
        races = self._counted_races(number, table)
        if not 0 < race <= len(races):
            raise ResultRefused(f"race {race} of table {table} of round {number} has no result to correct")
        # Races that were run because the struck one was drawn go with it.
        corrected = races[: race - 1] if result is None else (*races[: race - 1], result, *races[race:])
        if number < len(self.rounds):
            before, now = self.format.settle(races), self.format.settle(corrected)
            if now is None:
                raise ResultRefused(f"round {number + 1} is already paired: a result of round {number} can be changed, but not struck")
            if self.format.knock_out and before is not None and now.verdict != before.verdict:
                raise ResultRefused(f"round {number + 1} was paired by that result: whoever it sent on stays in")
        others = {key: value for key, value in self.races.items() if key != (number, table)}
        return replace(self, races=others | ({(number, table): corrected} if corrected else {}))._forfeit_absent()

    # ----

    def _check_finished(self) -> None:
        if missing := [race.pairing.table for race in self.open_races]:
            raise RoundUnfinished(f"round {len(self.rounds)} waits for the results of tables {', '.join(map(str, missing))}")

    def _check_field_open(self) -> None:
        if self.rounds and self.format.fixed_field:
            raise EntrantRefused("the field is fixed since the first round was paired: nobody can enter or return now")

    def _entrant(self, entrant: str) -> Entrant:
        if entrant not in self.entrants:
            raise UnknownEntrant(f"{entrant} has not entered this tournament")
        return self.entrants[entrant]

    def _with(self, entrant: Entrant) -> Crosstable:
        return replace(self, entrants={**self.entrants, entrant.id: entrant})

    def _counted_races(self, number: int, table: int) -> tuple[RaceResult, ...]:
        """The results of the table's races so far. Raises ResultRefused if it can have none."""
        pairing = self.pairing(number, table)
        if pairing is None:
            raise ResultRefused(f"round {number} has no table {table}")
        if not pairing.counted:
            raise ResultRefused(f"table {table} of round {number} is a bye that does not count")
        return self.races.get((number, table), ())

    def _forfeit_absent(self) -> Crosstable:
        """Forfeit the open tables of the last round whose entrants have withdrawn, once and for all."""
        races = dict(self.races)
        for race in self.open_races:
            present = [self.entrants[entrant].active for entrant in race.pairing.entrants]
            if not all(present):
                # The house is always present.
                verdict: Verdict = "second" if present[-1] or len(present) == 1 else "first" if present[0] else "neither"
                races[race.key] = (*races.get(race.key, ()), RaceResult(verdict, forfeit=True))
        return replace(self, races=races)
