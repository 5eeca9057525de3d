"""The course of a tournament: everything that was decided about it, and what it has come to. The rules of the file:

Log        A fold over `Chosen` decisions, each with its number, time and author. The pairing rules are `tournament`'s; here is what is
           around them: who the entrants are, check-in, pauses, bots, which race came of a table, and who says so.
Stages     registration → check-in → playing → over or ended. While playing, a round is being run as long as a counted table of the last one
           has no result. A pause is beside the stages.
Shuffles   Secrets are links of one chain (`protocol.fairness.chained`), so no decision tells one. A round's nonce is made of what the
           entrants at its tables have put in by the time it is paired. A race that has to be run again on a table (drawn, struck, or broken
           off after its start) gets the next number of the round's shuffle: the last one's cards are known to somebody.
Struck     A result can be struck only while its round is being run: afterwards the secret is told, and nothing can be raced on it.

A refused decision leaves the course as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import Final, Literal, assert_never

from msgspec.structs import replace as with_fields

from protocol.fairness import chained, shared_nonce
from protocol.tournaments import MAX_ROUNDS, TournamentOptions, TournamentPhase
from protocol.views import SharedDeal
from server.tournaments.choices import (
    BrokenOff,
    BrokenRace,
    CheckedIn,
    CheckInOpened,
    Choice,
    Chosen,
    Corrected,
    Entered,
    Finished,
    Left,
    Paired,
    Paused,
    Raced,
    Resumed,
    Returned,
)
from server.tournaments.decisions import CorrectResult, Enter, EnterResult, PairRound, Return, Withdraw
from server.tournaments.formats import format_of
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.rounds import Entrant, Pairing, Round
from server.tournaments.pairing.swiss import Swiss
from server.tournaments.tournament import Race, Refused, RoundRefused, Table, Tournament

USUAL_ATTEMPTS: Final = 5
"""Of a session whose maker has not said how many."""


class NotNow(Refused):
    """It does not fit the stage."""


class PlacesTaken(Refused): ...


# ---- the state


@dataclass(frozen=True, slots=True)
class Person:
    """Who an entrant is. nonce: what he has put into the shuffles, None while he has not."""

    id: str
    name: str
    rating: int | None
    bot: str | None
    checked_in: bool = False
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Of one round, as it is paired. nonces: in ascending order. over_at_ms: when the round had its last result; None before."""

    nonces: tuple[str, ...]
    paired_at_ms: int
    over_at_ms: int | None = None

    @property
    def nonce(self) -> str:
        return shared_nonce(map(bytes.fromhex, self.nonces)).hex()


Stage = Literal["registration", "check-in", "playing", "over", "ended"]


@dataclass(frozen=True, slots=True)
class Course:
    """root: 32 bytes, from which all secrets follow. director, director_name: whose it is.

    code: what entering asks for. length: rounds as settled, 0 while they are not or follow from the field. shuffles: one a round. numbers:
    of the shuffle by table, where it is not the first one. race_ids: by table. since_ms: when the stage or its going on began.
    """

    id: str
    options: TournamentOptions
    code: str | None
    director: str
    director_name: str
    root: bytes = field(repr=False)
    made_at_ms: int
    stage: Stage = "registration"
    since_ms: int = 0
    paused: bool = False
    length: int = 0
    people: Mapping[str, Person] = field(default_factory=dict)
    shuffles: tuple[Shuffle, ...] = ()
    numbers: Mapping[Table, int] = field(default_factory=dict)
    race_ids: Mapping[Table, tuple[str, ...]] = field(default_factory=dict)
    tournament: Tournament = field(default_factory=lambda: Tournament(RoundRobin()))
    log: tuple[Chosen, ...] = ()

    # ---- how it stands

    @property
    def phase(self) -> TournamentPhase:
        match self.stage:
            case "playing":
                return "paused" if self.paused else "running" if self.tournament.open_races else "between"
            case stage:
                return stage

    @property
    def is_closed(self) -> bool:
        return self.stage in ("over", "ended")

    @property
    def round(self) -> int:
        """The last one that is paired; 0 before the first."""
        return len(self.tournament.rounds)

    @property
    def is_round_over(self) -> bool:
        """Whether the last round has all its results; True before the first."""
        return not self.shuffles or self.shuffles[-1].over_at_ms is not None

    @property
    def next_due_ms(self) -> int | None:
        """When something is to be decided by the time alone; None when nothing is."""
        if self.stage == "check-in":
            return self.since_ms + 1000 * self.options.check_in_s
        if self.stage == "playing" and not self.paused and self.is_round_over:
            if self.is_played_out:
                return self.since_ms
            if self.options.pause_s is None:
                return None
            over_at = self.shuffles[-1].over_at_ms if self.shuffles else None
            return max(self.since_ms, over_at or 0) + 1000 * self.options.pause_s
        return None

    @property
    def all_checked_in(self) -> bool:
        return all(self.people[entrant].checked_in for entrant in self.tournament.active)

    @property
    def absent(self) -> tuple[str, ...]:
        """Who plays and has not checked in."""
        return tuple(entrant for entrant in self.tournament.active if not self.people[entrant].checked_in)

    @property
    def can_be_paired(self) -> bool:
        """Whether there are enough entrants for a first round."""
        return len(self.tournament.active) >= (1 if self.options.format == "session" else 2)

    def plays(self, entrant: str) -> bool:
        entry = self.tournament.entries.get(entrant)
        return entry is not None and entry.active

    def next_bot(self, bot: str) -> Entered:
        """The entrance of one more house bot of this name."""
        number = 1 + sum(person.bot == bot for person in self.people.values())
        return Entered(f"bot:{bot}:{number}", f"{bot} {number}", None, bot)

    def settled(self) -> tuple[Tournament, int]:
        """The tournament as its next round is to be paired, and its length: settled by the field where nobody has said it."""
        if self.round:
            return self.tournament, self.length
        field_size = len(self.tournament.active)
        length = self.options.rounds
        match self.options.format:
            case "swiss":
                length = length or max(1, ceil(log2(max(field_size, 2))))
            case "session":
                length = length or USUAL_ATTEMPTS
            case _:
                length = 0
        return replace(self.tournament, format=format_of(self.options, length)), length

    @property
    def is_played_out(self) -> bool:
        """Whether no round follows the last one, which is over."""
        if not self.shuffles or not self.is_round_over or self.stage != "playing":
            return False
        played = self.tournament.format
        if isinstance(played, Swiss):
            # Known without pairing, which takes long in a large field.
            return self.round >= played.rounds or len(self.tournament.active) < 2
        return self.tournament.next_round() is None

    # ---- shuffles

    @property
    def commitment(self) -> bytes:
        return chained(self.root, MAX_ROUNDS)

    def secret(self, number: int) -> bytes:
        """Of round `number`, which is to be told when the round is over, and not before."""
        return chained(self.root, MAX_ROUNDS - number)

    def deal_id(self, number: int) -> str:
        return f"{self.id}/{number}"

    def nonces_of(self, paired: Round) -> tuple[str, ...]:
        """What the entrants at its tables have put in, in ascending order."""
        at_tables = [self.people[entrant].nonce for pairing in paired.pairings for entrant in pairing.entrants]
        return tuple(sorted(nonce for nonce in at_tables if nonce is not None))

    def deal(self, number: int, table: int) -> SharedDeal:
        """What the race that is to be run at this table is dealt."""
        return SharedDeal(
            kind="round",
            id=self.deal_id(number),
            nonces=(self.shuffles[number - 1].nonce,),
            number=self.numbers.get((number, table), 1),
        )

    # ---- what is to be run

    def wanted(self) -> tuple[Race, ...]:
        """The races that are to be run now, by table: open ones of the last round, and its byes that count for nothing."""
        if self.stage != "playing" or self.is_round_over:
            return ()
        last = self.tournament.rounds[-1]
        byes = tuple(Race(last.number, pairing, 1) for pairing in last.pairings if not pairing.counted)
        return (*self.tournament.open_races, *byes)

    def pairing(self, number: int, table: int) -> Pairing | None:
        rounds = self.tournament.rounds
        if not (0 < number <= len(rounds) and 0 < table <= len(rounds[number - 1].pairings)):
            return None
        return rounds[number - 1].pairings[table - 1]

    # ---- what becomes of it

    def after(self, choice: Choice, *, at_ms: int, author: str | None = None) -> Course:
        """Raises Refused, of the kind that fits."""
        entry = Chosen(len(self.log) + 1, at_ms, author, choice)
        if self.is_closed and not isinstance(choice, Corrected):
            raise NotNow(f"the tournament is {self.stage}")
        changed = replace(self._taken(choice, at_ms), log=(*self.log, entry))
        # Once it is over a round stays so: its secret is told.
        if changed.shuffles and not changed.is_round_over and not changed.tournament.open_races:
            *before, last = changed.shuffles
            changed = replace(changed, shuffles=(*before, replace(last, over_at_ms=at_ms)))
        return changed

    def _taken(self, choice: Choice, at_ms: int) -> Course:
        match choice:
            case Entered():
                return self._enter(choice)
            case CheckInOpened():
                self._expect("registration")
                return replace(self, stage="check-in", since_ms=at_ms)
            case CheckedIn(entrant, nonce):
                return self._check_in(entrant, nonce)
            case Left(entrant):
                return replace(self, tournament=self.tournament.after(Withdraw(entrant)))
            case Returned(entrant):
                self._check_places()
                return replace(self, tournament=self.tournament.after(Return(entrant)))
            case Paired():
                return self._pair(choice, at_ms)
            case Raced():
                return self._raced(choice)
            case BrokenRace(number, table):
                return replace(self, numbers=self._next_number((number, table)))
            case Corrected():
                return self._correct(choice)
            case Paused():
                self._expect("playing")
                self._check_paused(False)
                return replace(self, paused=True)
            case Resumed():
                self._check_paused(True)
                return replace(self, paused=False, since_ms=at_ms)
            case Finished():
                self._expect("playing")
                return replace(self, stage="over", since_ms=at_ms, paused=False)
            case BrokenOff():
                return self._break_off(at_ms)
        assert_never(choice)

    def _expect(self, *stages: Stage) -> None:
        if self.stage not in stages:
            raise NotNow(f"the tournament is at another stage: {self.phase}")

    def _check_paused(self, expected: bool) -> None:
        if self.paused != expected:
            raise NotNow("the tournament is paused" if self.paused else "the tournament is not paused")

    def _check_places(self) -> None:
        if len(self.tournament.active) >= self.options.places:
            raise PlacesTaken(f"there are {self.options.places}")

    def _enter(self, entered: Entered) -> Course:
        self._check_places()
        tournament = self.tournament.after(Enter(Entrant(entered.entrant, entered.rating)))
        person = Person(entered.entrant, entered.name, entered.rating, entered.bot, checked_in=entered.bot is not None)
        return replace(self, tournament=tournament, people={**self.people, person.id: person})

    def _check_in(self, entrant: str, nonce: str) -> Course:
        if self.stage == "registration" and self.options.check_in_s:
            raise NotNow("the check-in is not open yet")
        person = self.people[entrant]
        checked_in = replace(person, checked_in=True, nonce=person.nonce or nonce)
        return replace(self, people={**self.people, entrant: checked_in})

    def _pair(self, choice: Paired, at_ms: int) -> Course:
        self._expect("registration", "check-in", "playing")
        self._check_paused(False)
        if self.round >= MAX_ROUNDS:
            raise RoundRefused(f"a tournament has {MAX_ROUNDS} rounds at most")
        settled, _ = self.settled()
        if choice.length and settled.format != format_of(self.options, choice.length):
            # The log has the last word, should this program ever settle lengths in another way.
            settled = replace(settled, format=format_of(self.options, choice.length))
        paired = replace(
            self,
            stage="playing",
            since_ms=at_ms,
            length=choice.length or self.length,
            tournament=settled.after(PairRound(choice.round)),
            shuffles=(*self.shuffles, Shuffle(self.nonces_of(choice.round), at_ms)),
        )
        return replace(paired, options=_with_length(paired.options, paired.length))

    def _raced(self, choice: Raced) -> Course:
        table = choice.round, choice.table
        before = len(self.tournament.races.get(table, ()))
        tournament = self.tournament.after(EnterResult(choice.round, choice.table, choice.result, choice.race))
        ids = (*self.race_ids.get(table, ()), choice.race_id) if choice.race_id else self.race_ids.get(table, ())
        again = len(tournament.races[table]) > before and tournament.result(*table) is None
        return replace(
            self,
            tournament=tournament,
            race_ids={**self.race_ids, table: ids} if ids else self.race_ids,
            numbers=self._next_number(table) if again else self.numbers,
        )

    def _correct(self, choice: Corrected) -> Course:
        table = choice.round, choice.table
        if choice.result is None and choice.round == self.round and self.is_round_over:
            raise RoundRefused(f"the shuffle of round {choice.round} is told, so nothing can be raced on it: give another result instead")
        if choice.result is not None and choice.race == len(self.tournament.races.get(table, ())) + 1:
            if self.is_closed:
                raise NotNow(f"the tournament is {self.stage}")
            return self._raced(Raced(choice.round, choice.table, choice.race, choice.result))
        tournament = self.tournament.after(CorrectResult(choice.round, choice.table, choice.result, choice.reason, choice.race))
        reopened = tournament.result(*table) is None
        if reopened and choice.round == self.round and self.is_round_over:
            raise RoundRefused(f"the shuffle of round {choice.round} is told, so its races cannot be run again")
        return replace(self, tournament=tournament, numbers=self._next_number(table) if reopened else self.numbers)

    def _break_off(self, at_ms: int) -> Course:
        told = tuple(shuffle if shuffle.over_at_ms is not None else replace(shuffle, over_at_ms=at_ms) for shuffle in self.shuffles)
        return replace(self, stage="ended", since_ms=at_ms, paused=False, shuffles=told)

    def _next_number(self, table: Table) -> dict[Table, int]:
        return {**self.numbers, table: self.numbers.get(table, 1) + 1}


def new_course(
    identity: str, options: TournamentOptions, *, code: str | None, director: str, director_name: str, root: bytes, made_at_ms: int
) -> Course:
    """A tournament as it is made. Raises ValueError for options that make none."""
    return Course(
        id=identity,
        options=options,
        code=code,
        director=director,
        director_name=director_name,
        root=root,
        made_at_ms=made_at_ms,
        since_ms=made_at_ms,
        tournament=Tournament(format_of(options, options.rounds)),
    )


def _with_length(options: TournamentOptions, length: int) -> TournamentOptions:
    """As the tournament is run."""
    return with_fields(options, rounds=length) if length and options.rounds != length else options
