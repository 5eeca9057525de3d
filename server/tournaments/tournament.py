"""The state of a tournament, and how decisions change it. The rules of the file:

Field      Entrants are seeded by rating, the best first, those without one last, equals in the order in which they entered. A format with a
           fixed field (round robin, elimination) takes nobody once its first round is paired, and nobody back.
Rounds     One at a time: the next round can be paired when every counted table has its result. In a fixed field a table may name somebody
           who has withdrawn: it is forfeited at once. Elsewhere who has withdrawn is not paired.
Results    One a race. What the races of a table come to is the format's to say: a drawn knock-out match wants another race.
           A forfeit gives the opponent the whole point. Results of different tables can come in any order and give the same state.
Correction Any result can be corrected while that changes nothing that is already paired on it: in a knock-out, who went on stays. Only
           results of the last round can be struck.

A refused decision leaves the tournament as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import ClassVar, Protocol, assert_never

from server.tournaments.decisions import CorrectResult, Decision, Enter, EnterResult, PairRound, Return, Withdraw
from server.tournaments.pairing.rounds import Entrant, Pairing, Result, Round, Row, TieBreak, Verdict

Table = tuple[int, int]
"""Number of the round, number of the table."""


class Refused(Exception):
    """A decision that cannot be taken. Says why, in a sentence for the director."""


class UnknownEntrant(Refused): ...


class EntryRefused(Refused): ...


class RoundRefused(Refused): ...


class RoundUnfinished(RoundRefused): ...


class ResultRefused(Refused): ...


class Format(Protocol):
    """How a tournament is played. A frozen value: its fields are its options."""

    fixed_field: ClassVar[bool]
    """Nobody enters or returns after the first pairing, and tables of who has withdrawn are forfeited."""
    knock_out: ClassVar[bool]
    """A round follows from the results before it, table by table."""
    tie_breaks: ClassVar[tuple[TieBreak, ...]]

    def next_round(self, tournament: Tournament) -> Round | None:
        """The round after those that are paired, which all have results; None when the tournament is over. Equal states, equal rounds."""
        ...

    def settle(self, races: tuple[Result, ...]) -> Result | None:
        """What the races of one table come to; None while another race is wanted. Where nothing else is said one race decides."""
        return races[0] if races else None

    def standings(self, tournament: Tournament) -> tuple[Row, ...]:
        """Everybody who ever entered, best first; equals in the order of the seeds. May be asked at any time."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """first_round: above 1 for a late entry. withdrawn_after: how many rounds were paired when he withdrew; None while he plays."""

    entrant: Entrant
    first_round: int = 1
    withdrawn_after: int | None = None

    @property
    def active(self) -> bool:
        return self.withdrawn_after is None


@dataclass(frozen=True, slots=True)
class Race:
    """A race that is to be run. number: from 1, above 1 where the ones before were drawn."""

    round: int
    pairing: Pairing
    number: int


@dataclass(frozen=True, slots=True)
class Tournament:
    """entries: by entrant, in the order of entry. races: by table, only tables that have any result."""

    format: Format
    entries: Mapping[str, Entry] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    races: Mapping[Table, tuple[Result, ...]] = field(default_factory=dict)

    def after(self, decision: Decision) -> Tournament:
        """Raises Refused, of the kind that fits."""
        match decision:
            case Enter(entrant):
                return self._enter(entrant)
            case Withdraw(entrant):
                return self._withdraw(entrant)
            case Return(entrant):
                return self._return(entrant)
            case PairRound(paired):
                return self._pair(paired)
            case EnterResult(number, table, result, race):
                return self._enter_result((number, table), race, result)
            case CorrectResult(number, table, corrected, _, race):
                return self._correct((number, table), race, corrected)
        assert_never(decision)

    @property
    def seeds(self) -> tuple[str, ...]:
        """Everybody, the best seed first."""
        # The sort is stable: among equals the order of entry stays.
        entries = sorted(
            self.entries.values(), key=lambda entry: -float("inf") if entry.entrant.rating is None else entry.entrant.rating, reverse=True
        )
        return tuple(entry.entrant.id for entry in entries)

    @property
    def starters(self) -> tuple[str, ...]:
        """The seeds that were in when the first round was paired, or would be now."""
        return tuple(
            entrant for entrant in self.seeds if self.entries[entrant].first_round == 1 and self.entries[entrant].withdrawn_after != 0
        )

    @property
    def active(self) -> tuple[str, ...]:
        """The seeds that still play."""
        return tuple(entrant for entrant in self.seeds if self.entries[entrant].active)

    def result(self, number: int, table: int) -> Result | None:
        """What a table of round `number` came to; None while that is open. A bye that counts for nothing has no result either."""
        return self.format.settle(self.races.get((number, table), ()))

    @property
    def open_races(self) -> tuple[Race, ...]:
        """What is still to be run before the next round, by table."""
        if not self.rounds:
            return ()
        last = self.rounds[-1]
        return tuple(
            Race(last.number, pairing, len(self.races.get((last.number, pairing.table), ())) + 1)
            for pairing in last.pairings
            if pairing.counted and self.result(last.number, pairing.table) is None
        )

    def next_round(self) -> Round | None:
        """None: the tournament is over. Raises RoundUnfinished while races are open."""
        self._check_finished()
        return self.format.next_round(self)

    def standings(self) -> tuple[Row, ...]:
        return self.format.standings(self)

    def _check_finished(self) -> None:
        if missing := [race.pairing.table for race in self.open_races]:
            raise RoundUnfinished(f"round {len(self.rounds)} waits for the results of tables {', '.join(map(str, missing))}")

    def _entry(self, entrant: str) -> Entry:
        if entrant not in self.entries:
            raise UnknownEntrant(f"{entrant} has not entered this tournament")
        return self.entries[entrant]

    def _with_entry(self, entry: Entry) -> Tournament:
        return replace(self, entries={**self.entries, entry.entrant.id: entry})

    def _check_field_open(self) -> None:
        if self.rounds and self.format.fixed_field:
            raise EntryRefused("the field is fixed since the first round was paired: nobody can enter or return in this format")

    def _enter(self, entrant: Entrant) -> Tournament:
        if entrant.id in self.entries:
            raise EntryRefused(f"{entrant.id} has entered already")
        self._check_field_open()
        return self._with_entry(Entry(entrant, first_round=len(self.rounds) + 1))

    def _withdraw(self, entrant: str) -> Tournament:
        entry = self._entry(entrant)
        if not entry.active:
            raise EntryRefused(f"{entrant} has withdrawn already")
        return self._with_entry(replace(entry, withdrawn_after=len(self.rounds)))._forfeit_absent()

    def _return(self, entrant: str) -> Tournament:
        entry = self._entry(entrant)
        if entry.active:
            raise EntryRefused(f"{entrant} has not withdrawn")
        self._check_field_open()
        return self._with_entry(replace(entry, withdrawn_after=None))

    def _forfeit_absent(self) -> Tournament:
        """The open tables of the last round where somebody has withdrawn are forfeited, once and for all."""
        races = dict(self.races)
        for race in self.open_races:
            present = [self.entries[entrant].active for entrant in race.pairing.entrants]
            if not all(present):
                # The house always comes.
                verdict: Verdict = "second" if present[-1] or len(present) == 1 else "first" if present[0] else "neither"
                table = race.round, race.pairing.table
                races[table] = (*races.get(table, ()), Result(verdict, forfeit=True))
        return replace(self, races=races)

    def _pair(self, paired: Round) -> Tournament:
        self._check_finished()
        if paired.number != len(self.rounds) + 1:
            raise RoundRefused(f"round {paired.number} does not follow round {len(self.rounds)}")
        if [pairing.table for pairing in paired.pairings] != list(range(1, len(paired.pairings) + 1)):
            raise RoundRefused("tables are numbered 1, 2, 3 … in their order")
        named = [entrant for pairing in paired.pairings for entrant in pairing.entrants]
        if not named or len(set(named)) != len(named):
            raise RoundRefused("a round has at least one table, and nobody at two")
        for entrant in named:
            if not self._entry(entrant).active and not self.format.fixed_field:
                raise RoundRefused(f"{entrant} has withdrawn and cannot be paired")
        if self.format.knock_out and paired != self.format.next_round(self):
            raise RoundRefused("a knock-out round is what the results before it make it: pair it anew")
        return replace(self, rounds=(*self.rounds, paired))._forfeit_absent()

    def _pairing(self, table: Table) -> Pairing:
        number, place = table
        if not (0 < number <= len(self.rounds) and 0 < place <= len(self.rounds[number - 1].pairings)):
            raise ResultRefused(f"round {number} has no table {place}")
        pairing = self.rounds[number - 1].pairings[place - 1]
        if not pairing.counted:
            raise ResultRefused(f"table {place} of round {number} is a bye that counts for nothing")
        return pairing

    def _enter_result(self, table: Table, race: int, result: Result) -> Tournament:
        self._pairing(table)
        races = self.races.get(table, ())
        if self.format.settle(races) is not None:
            raise ResultRefused(f"table {table[1]} of round {table[0]} has its result: correct it, if it is wrong")
        if race != len(races) + 1:
            raise ResultRefused(f"table {table[1]} of round {table[0]} waits for race {len(races) + 1}, not for race {race}")
        return replace(self, races={**self.races, table: (*races, result)})

    def _correct(self, table: Table, race: int, result: Result | None) -> Tournament:
        self._pairing(table)
        races = self.races.get(table, ())
        if not 0 < race <= len(races):
            raise ResultRefused(f"race {race} of table {table[1]} of round {table[0]} has no result that could be corrected")
        # What was run after a struck race was run for it, and goes with it.
        corrected = races[: race - 1] if result is None else (*races[: race - 1], result, *races[race:])
        if table[0] < len(self.rounds):
            before, now = self.format.settle(races), self.format.settle(corrected)
            if now is None:
                raise ResultRefused(f"round {table[0] + 1} is paired already: a result of round {table[0]} can be changed, not taken away")
            if self.format.knock_out and before is not None and now.verdict != before.verdict:
                raise ResultRefused(f"round {table[0] + 1} is paired on that result: who went on stays")
        others = {key: value for key, value in self.races.items() if key != table}
        return replace(self, races=others | ({table: corrected} if corrected else {}))._forfeit_absent()


def replay(played: Format, log: Iterable[Decision]) -> Tournament:
    """The tournament that the log tells of. Raises Refused where a log holds what could not be decided."""
    return reduce(Tournament.after, log, Tournament(played))
