"""The state of a tournament: a fold over its log of events. The rules of the file:

Stages     registration → check-in → playing → over or ended. While playing, a round is running as long as a counted table of the last one
           has no result. A pause can come at any time while playing.
Shuffles   Secrets are links of one chain (`protocol.fairness.chained`), so no event holds one. A round's nonce is made of those that the
           entrants at its tables have given by the time it is paired. A race that has to be run again at a table (drawn, struck, or aborted
           after its start) gets the next number of the round's shuffle, because somebody has seen the cards of the last one.
Struck     A result can be struck only while its round is running. Afterwards the secret is public, and nothing can be raced on it.
Forgotten  Those who left by themselves before they could be paired stay in the crosstable only while they are few. Otherwise whoever comes
           and goes under ever new names would fill it. They can come back, to the same row, as if they had never been away.

A refused event leaves the state as it was. Pairings and results belong to the crosstable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, assert_never

from msgspec.structs import replace as with_fields

from protocol.fairness import chained, shared_nonce
from protocol.tournaments import MAX_ROUNDS, TournamentOptions, TournamentPhase
from protocol.views import SharedDeal
from server.store.port import name_key
from server.tournaments.events import (
    BANNED,
    NO_CHECK_IN,
    BoardsKeyGiven,
    ByeGiven,
    CalledOff,
    CheckedIn,
    CheckInExtended,
    CheckInOpened,
    DirectorChanged,
    Entered,
    EntrantRenamed,
    Event,
    Finished,
    LoggedEvent,
    Paused,
    ResultCorrected,
    ResultEntered,
    Resumed,
    Returned,
    RoundPaired,
    TableRaceAborted,
    Withdrawn,
)
from server.tournaments.pairing.crosstable import Crosstable, EntrantRefused, Refused, RoundRefused, TableKey, TableRace
from server.tournaments.pairing.formats import format_of, settled_length
from server.tournaments.pairing.rounds import Entrant, RaceResult, Round
from server.tournaments.pairing.swiss import Swiss

LEAVERS_KEPT: Final = 32
"""So many of those who left by themselves before they could be paired stay in the crosstable, where others see them and the director can
let them back in. If there are more, those who entered first are forgotten."""


class NotNow(Refused):
    """The event does not fit the stage."""


class PlacesTaken(Refused): ...


@dataclass(frozen=True, slots=True)
class Person:
    """Who an entrant is. nonce: their contribution to the shuffles; None before they gave one. out, out_reason, entered_as: as in
    `TournamentEntrant`. own_decisions: how many events about themselves they have caused, since they were last forgotten."""

    id: str
    name: str
    rating: int | None
    bot: str | None
    checked_in: bool = False
    nonce: str | None = None
    out: str = ""
    out_reason: str = ""
    entered_as: str = ""
    own_decisions: int = 0


@dataclass(frozen=True, slots=True)
class Shuffle:
    """The shuffle of one round, as it is paired. nonces: in ascending order. over_at_ms: when the round got its last result, or None."""

    nonces: tuple[str, ...]
    paired_at_ms: int
    over_at_ms: int | None = None

    @property
    def nonce(self) -> str:
        return shared_nonce(map(bytes.fromhex, self.nonces)).hex()


Stage = Literal["registration", "check-in", "playing", "over", "ended"]

STAGE_SENTENCES: Final[dict[Stage, str]] = {
    "registration": "it has not started, and players can still enter",
    "check-in": "its check-in is open, and no round is paired yet",
    "playing": "it has started already",
    "over": "the tournament is over",
    "ended": "the tournament is called off",
}
"""Why something cannot be done that belongs to another stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentState:
    """root: 32 bytes from which all secrets follow. director, director_name: the player who directs it. directed: names of those who did
    before, by id.

    code: needed to enter. since_ms: when the stage began, or resumed after a pause. length: rounds as settled; 0 while they are not, or if
    they follow from the field. shuffles: one per round. numbers: of the shuffle, for tables that are past the first one. race_ids: by
    table. missed: the rounds in which each entrant has missed their table, since they last entered. people: everybody who ever entered, in
    that order. names: their `name_key`s. forgotten: the rows of the crosstable that it no longer has. own_decisions: those of all people,
    with the forgotten, without byes. given_away: the tables that were forfeited as their entrant withdrew, by the number of that event.
    called_before: names, by the number of the event that corrected them.
    """

    id: str
    options: TournamentOptions
    code: str | None
    director: str
    director_name: str
    root: bytes = field(repr=False)
    made_at_ms: int
    crosstable: Crosstable
    stage: Stage = "registration"
    since_ms: int = 0
    paused: bool = False
    length: int = 0
    people: Mapping[str, Person] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    directed: Mapping[str, str] = field(default_factory=dict)
    forgotten: Mapping[str, Entrant] = field(default_factory=dict)
    own_decisions: int = 0
    shuffles: tuple[Shuffle, ...] = ()
    numbers: Mapping[TableKey, int] = field(default_factory=dict)
    race_ids: Mapping[TableKey, tuple[str, ...]] = field(default_factory=dict)
    missed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    given_away: Mapping[int, TableKey] = field(default_factory=dict)
    called_before: Mapping[int, str] = field(default_factory=dict)
    log: tuple[LoggedEvent, ...] = ()

    # ---- what it says

    @property
    def phase(self) -> TournamentPhase:
        if self.stage != "playing":
            return self.stage
        return "paused" if self.paused else "running" if self.crosstable.open_races else "between"

    @property
    def is_closed(self) -> bool:
        return self.stage in ("over", "ended")

    @property
    def round(self) -> int:
        """The number of the last paired round; 0 before the first."""
        return len(self.crosstable.rounds)

    @property
    def is_round_over(self) -> bool:
        """Whether the last round has all its results; True before the first."""
        return not self.shuffles or self.shuffles[-1].over_at_ms is not None

    def next_due_ms(self, *, since_ms: int) -> int | None:
        """When something happens by the clock alone; None if nothing will. since_ms: time before that counts against nobody."""
        if self.stage == "check-in":
            return max(self.since_ms, since_ms) + 1000 * self.options.check_in_s
        if self.stage == "playing" and not self.paused and self.is_round_over:
            if self.is_played_out:
                return self.since_ms
            if self.options.pause_s is None:
                return None
            over_at = self.shuffles[-1].over_at_ms if self.shuffles else None
            return max(self.since_ms, over_at or 0, since_ms) + 1000 * self.options.pause_s
        return None

    @property
    def awaited(self) -> tuple[str, ...]:
        """Entrants whose check-in is open, and who are out if they miss it: not those who have a bye in the first round."""
        entrants = self.crosstable.active if self.stage == "check-in" else ()
        return tuple(entrant for entrant in entrants if not self.people[entrant].checked_in and (1, entrant) not in self.crosstable.byes)

    @property
    def can_be_paired(self) -> bool:
        """Whether there are enough entrants for a first round."""
        return self.crosstable.size >= (1 if self.options.format == "session" else 2)

    def settled(self) -> tuple[Crosstable, int]:
        """The crosstable for pairing the next round, and its length: settled by the size of the field if it was not chosen."""
        if self.round:
            return self.crosstable, self.length
        length = settled_length(self.options, self.crosstable.size)
        return replace(self.crosstable, format=format_of(self.options, length)), length

    @property
    def is_all_paired(self) -> bool:
        """Whether the last round is paired, where that is known, so that nobody who comes now would play."""
        return self.round > 0 and self.crosstable.format.is_all_paired(self.crosstable)

    @property
    def is_played_out(self) -> bool:
        """Whether the last round is over and no other follows."""
        if not self.shuffles or not self.is_round_over or self.stage != "playing":
            return False
        if isinstance(self.crosstable.format, Swiss):
            # Avoids pairing, which takes long in a large field.
            return self.is_all_paired or self.crosstable.size < 2
        return self.crosstable.next_round() is None

    def wanted(self) -> tuple[TableRace, ...]:
        """The races to run now, by table: the open ones of the last round, and its uncounted byes."""
        if self.stage != "playing" or self.is_round_over:
            return ()
        last = self.crosstable.rounds[-1]
        byes = tuple(TableRace(last.number, pairing, 1) for pairing in last.pairings if not pairing.counted)
        return (*self.crosstable.open_races, *byes)

    # ---- shuffles

    @property
    def commitment(self) -> bytes:
        return chained(self.root, MAX_ROUNDS)

    def secret(self, number: int) -> bytes:
        """The secret of round `number`. It is published when the round is over, not before."""
        return chained(self.root, MAX_ROUNDS - number)

    def deal_id(self, number: int) -> str:
        return f"{self.id}/{number}"

    def deal_number(self, key: TableKey) -> int:
        """The number of the round's shuffle on which the table races now."""
        return self.numbers.get(key, 1)

    def deal(self, number: int, table: int) -> SharedDeal:
        """The deal of the race at this table."""
        nonces = (self.shuffles[number - 1].nonce,)
        return SharedDeal(kind="round", id=self.deal_id(number), nonces=nonces, number=self.deal_number((number, table)))

    def _nonces_of(self, paired: Round) -> tuple[str, ...]:
        """The nonces of the entrants at its tables, in ascending order."""
        at_tables = [self.people[entrant].nonce for pairing in paired.pairings for entrant in pairing.entrants]
        return tuple(sorted(nonce for nonce in at_tables if nonce is not None))

    # ---- how it changes

    def after(self, event: Event, *, at_ms: int, author: str | None = None) -> TournamentState:
        """The state after this event. Raises the fitting kind of Refused."""
        if self.is_closed and not isinstance(event, ResultCorrected | EntrantRenamed):
            raise NotNow(STAGE_SENTENCES[self.stage])
        logged = LoggedEvent(len(self.log) + 1, at_ms, author, event)
        changed = replace(self._applied(event, at_ms, author), log=(*self.log, logged))
        # In older logs the last one to check in is also the author of what follows, such as bots that fill the seats.
        if author is not None and getattr(event, "entrant", None) == author:
            # Whoever was just forgotten counts as nobody when they come again.
            own = 0 if author in changed.forgotten else changed.people[author].own_decisions + 1
            people = {**changed.people, author: replace(changed.people[author], own_decisions=own)}
            # Whoever asks for byes and takes them back uses up nothing that others need.
            changed = replace(changed, people=people, own_decisions=self.own_decisions + (not isinstance(event, ByeGiven)))
        # Once over, a round stays over, because its secret is public.
        if changed.shuffles and not changed.is_round_over and not changed.crosstable.open_races:
            *before, last = changed.shuffles
            changed = replace(changed, shuffles=(*before, replace(last, over_at_ms=at_ms)))
        return changed

    def after_all(self, events: Iterable[Event], *, at_ms: int, author: str | None = None) -> TournamentState:
        """author: who asked for the first of them. What follows by itself from what an entrant does, such as bots that fill the seats, is
        nobody's. Raises Refused."""
        state = self
        for event in events:
            is_theirs = author == self.director or getattr(event, "entrant", None) == author
            state = state.after(event, at_ms=at_ms, author=author if is_theirs else None)
        return state

    def _applied(self, event: Event, at_ms: int, author: str | None) -> TournamentState:  # noqa: C901  (a case for each event)
        match event:
            case Entered():
                return self._entered(event)
            case CheckInOpened():
                self._expect("registration")
                return replace(self, stage="check-in", since_ms=at_ms)
            case CheckInExtended(more_s):
                self._expect("check-in")
                return replace(self, options=with_fields(self.options, check_in_s=self.options.check_in_s + more_s))
            case CheckedIn():
                return self._checked_in(event)
            case Withdrawn():
                return self._withdrawn(event, author)
            case Returned(entrant):
                self._check_places()
                found = self._remembered(entrant)
                return replace(found, crosstable=found.crosstable.readmit(entrant), people=self._with_out(entrant, "", ""))
            case EntrantRenamed():
                return self._renamed(event)
            case ByeGiven(entrant, number, half_points):
                return replace(self, crosstable=self.crosstable.give_bye(entrant, number, half_points))
            case RoundPaired():
                return self._paired(event, at_ms)
            case ResultEntered():
                return self._with_result(event)
            case TableRaceAborted(number, table):
                return replace(self, numbers=self._next_number((number, table)))
            case ResultCorrected():
                return self._corrected(event)
            case BoardsKeyGiven():
                return self
            case Paused():
                self._expect("playing")
                self._check_paused(False)
                return replace(self, paused=True)
            case Resumed():
                self._check_paused(True)
                return replace(self, paused=False, since_ms=at_ms)
            case DirectorChanged(player, name):
                directed = {**self.directed, self.director: self.director_name}
                return replace(self, director=player, director_name=name, directed=directed)
            case Finished():
                self._expect("playing")
                return replace(self, stage="over", since_ms=at_ms, paused=False)
            case CalledOff():
                return self._called_off(at_ms)
        assert_never(event)

    def _expect(self, *stages: Stage) -> None:
        if self.stage not in stages:
            raise NotNow(STAGE_SENTENCES[self.stage])

    def _check_paused(self, expected: bool) -> None:
        if self.paused != expected:
            raise NotNow("the tournament is paused" if self.paused else "the tournament is not paused")

    def _check_places(self) -> None:
        if self.crosstable.size >= self.options.places:
            raise PlacesTaken(f"there are {self.options.places}")

    def _entered(self, entered: Entered) -> TournamentState:
        self._check_places()
        person = Person(entered.entrant, entered.name, entered.rating, entered.bot, checked_in=entered.bot is not None)
        if person.id in self.forgotten:
            raise EntrantRefused(f"{person.id} has entered already")
        crosstable = self.crosstable.enter(entered.entrant, entered.rating)
        return replace(self, crosstable=crosstable, people={**self.people, person.id: person}, names=self.names | {name_key(person.name)})

    def _withdrawn(self, event: Withdrawn, author: str | None) -> TournamentState:
        crosstable, given_away = self.crosstable.withdraw(event.entrant), self.given_away
        if crosstable.races != self.crosstable.races:
            pairing = crosstable.rounds[-1].of(event.entrant)
            assert pairing is not None
            given_away = {**given_away, len(self.log) + 1: (self.round, pairing.table)}
        missed = {each: rounds for each, rounds in self.missed.items() if each != event.entrant}
        people = self._with_out(event.entrant, *_why_out(event, author))
        return replace(self, crosstable=crosstable, missed=missed, people=people, given_away=given_away)._without_old_leavers()

    def _without_old_leavers(self) -> TournamentState:
        rows = self.crosstable.entrants
        leavers = [row for row in rows.values() if not row.came and self.people[row.id].out == "withdrew"]
        old = {row.id: row for row in leavers[: max(len(leavers) - LEAVERS_KEPT, 0)]}
        if not old:
            return self
        kept = {entrant: row for entrant, row in rows.items() if entrant not in old}
        return replace(
            self,
            crosstable=replace(self.crosstable, entrants=kept),
            people={**self.people, **{entrant: replace(self.people[entrant], own_decisions=0) for entrant in old}},
            forgotten={**self.forgotten, **old},
        )

    def _remembered(self, entrant: str) -> TournamentState:
        """The state in which they have their row of the crosstable, if it was forgotten."""
        if entrant not in self.forgotten:
            return self
        rows = {**self.crosstable.entrants, entrant: self.forgotten[entrant]}
        # Equal seeds are in the order of entry.
        ordered = {each: rows[each] for each in self.people if each in rows}
        others = {each: row for each, row in self.forgotten.items() if each != entrant}
        return replace(self, crosstable=replace(self.crosstable, entrants=ordered), forgotten=others)

    def _with_out(self, entrant: str, out: str, reason: str) -> dict[str, Person]:
        return {**self.people, entrant: replace(self.people[entrant], out=out, out_reason=reason)}

    def _renamed(self, event: EntrantRenamed) -> TournamentState:
        person = self.people[event.entrant]
        renamed = replace(person, name=event.name, entered_as=person.entered_as or person.name)
        people = {**self.people, person.id: renamed}
        return replace(
            self,
            people=people,
            # In older logs others may have the name that this one gives up.
            names=frozenset(name_key(each.name) for each in people.values()),
            called_before={**self.called_before, len(self.log) + 1: person.name},
        )

    def _checked_in(self, event: CheckedIn) -> TournamentState:
        if self.stage == "registration" and self.options.check_in_s:
            raise NotNow("the check-in is not open yet")
        person = self.people[event.entrant]
        checked_in = replace(person, checked_in=True, nonce=person.nonce or event.nonce)
        return replace(self, people={**self.people, person.id: checked_in})

    def _paired(self, event: RoundPaired, at_ms: int) -> TournamentState:
        self._expect("registration", "check-in", "playing")
        self._check_paused(False)
        if self.round >= MAX_ROUNDS:
            raise RoundRefused(f"a tournament has {MAX_ROUNDS} rounds at most")
        settled, _ = self.settled()
        if event.length:
            # The length in the log counts, in case a later version of this program settles lengths differently.
            settled = replace(settled, format=format_of(self.options, event.length))
        length = event.length or self.length
        if event.length:
            # Of a field that has shrunk, some may have byes in rounds that do not come.
            settled = replace(settled, byes={key: points for key, points in settled.byes.items() if key[0] <= length})
        return replace(
            self,
            stage="playing",
            since_ms=at_ms,
            length=length,
            options=with_fields(self.options, rounds=length) if length else self.options,
            crosstable=settled.pair(event.round),
            shuffles=(*self.shuffles, Shuffle(self._nonces_of(event.round), at_ms)),
        )

    def _with_result(self, event: ResultEntered) -> TournamentState:
        key = event.round, event.table
        crosstable = self.crosstable.enter_result(*key, event.result, event.race)
        ids = (*self.race_ids.get(key, ()), event.race_id) if event.race_id else self.race_ids.get(key, ())
        return replace(
            self,
            crosstable=crosstable,
            race_ids={**self.race_ids, key: ids} if ids else self.race_ids,
            missed=self._missed_after(*key, event.result, is_raced=bool(event.race_id)),
            numbers=self._next_number(key) if crosstable.result(*key) is None else self.numbers,
        )

    def _missed_after(self, number: int, table: int, result: RaceResult | None, *, is_raced: bool) -> Mapping[str, frozenset[int]]:
        """result: None if it is struck."""
        pairing = self.crosstable.pairing(number, table)
        assert pairing is not None
        missed = dict(self.missed)
        for side, entrant in enumerate(pairing.entrants):
            rounds = missed.pop(entrant, frozenset()) - {number}
            if result is not None and result.forfeit and not is_raced and not result.points[side] and self.crosstable.plays(entrant):
                rounds |= {number}
            if rounds:
                missed[entrant] = rounds
        return missed

    @property
    def has_raced(self) -> bool:
        """Whether a race of the last round has a result."""
        return any(number == self.round for number, _ in self.race_ids)

    def missed_running(self, entrant: str) -> int:
        """In how many rounds in a row, up to the last one, they have missed their table. Rounds without one do not count."""
        running = 0
        for paired in reversed(self.crosstable.rounds):
            pairing = paired.of(entrant)
            if pairing is None or not pairing.counted:
                continue
            if paired.number not in self.missed.get(entrant, ()):
                break
            running += 1
        return running

    def _corrected(self, event: ResultCorrected) -> TournamentState:
        key = event.round, event.table
        is_told = event.round == self.round and self.is_round_over
        result = replace(event.result, ruled=True) if event.result is not None else None
        if result is None and is_told:
            raise RoundRefused(f"the shuffle of round {event.round} is told, so nothing can be raced on it: give another result instead")
        if result is not None and event.race == len(self.crosstable.races.get(key, ())) + 1:
            if self.is_closed:
                raise NotNow(STAGE_SENTENCES[self.stage])
            return self._with_result(ResultEntered(event.round, event.table, event.race, result))
        crosstable = self.crosstable.correct(*key, result, event.race)
        missed = self._missed_after(*key, result, is_raced=bool(self.race_ids.get(key)))
        reopened = crosstable.result(*key) is None
        if reopened and is_told:
            raise RoundRefused(f"the shuffle of round {event.round} is told, so its races cannot be run again")
        return replace(self, crosstable=crosstable, missed=missed, numbers=self._next_number(key) if reopened else self.numbers)

    def _called_off(self, at_ms: int) -> TournamentState:
        told = tuple(shuffle if shuffle.over_at_ms is not None else replace(shuffle, over_at_ms=at_ms) for shuffle in self.shuffles)
        return replace(self, stage="ended", since_ms=at_ms, paused=False, shuffles=told)

    def _next_number(self, key: TableKey) -> dict[TableKey, int]:
        return {**self.numbers, key: self.deal_number(key) + 1}


def _why_out(event: Withdrawn, author: str | None) -> tuple[str, str]:
    """`out` and `out_reason` of an entrant."""
    if event.reason == NO_CHECK_IN:
        # By whoever decided last before the first round.
        return "not-checked-in", ""
    if author == event.entrant:
        return "withdrew", ""
    if author is not None:
        return "removed", event.reason
    return ("banned", event.reason.removeprefix(BANNED).removeprefix(": ")) if event.reason.startswith(BANNED) else ("missed", "")


def new_state(
    identity: str, options: TournamentOptions, *, code: str | None, director: str, director_name: str, root: bytes, made_at_ms: int
) -> TournamentState:
    """A new tournament. Raises ValueError for options that are not possible."""
    return TournamentState(
        id=identity,
        options=options,
        code=code,
        director=director,
        director_name=director_name,
        root=root,
        made_at_ms=made_at_ms,
        since_ms=made_at_ms,
        crosstable=Crosstable(format_of(options, options.rounds)),
    )
