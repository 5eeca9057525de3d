"""Answers: the values that come out of a store (`port` has those that go in). Knows no database. Times are Unix time in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.record import Record
from server.race.rating import Rating, RatingChange
from server.race.shared_deal_spec import SharedDealSpec
from server.store.port import CommandTaken, PlayedSeat, RaceOpened, RacePhase


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """rating: None before the first rated race."""

    id: str
    name: str
    seen_at_ms: int
    rating: Rating | None


@dataclass(frozen=True, slots=True)
class RunningRace:
    """opened, commands: as they were written; the commands from sequence 1 on, without gaps."""

    opened: RaceOpened
    commands: tuple[CommandTaken, ...]


@dataclass(frozen=True, slots=True)
class DamagedRace:
    """A race that was running and cannot be read. what: one sentence, for the log and for `RaceAborted`.

    readable: the race with its commands up to the damage; None if not even its opening can be read.
    """

    race: str
    what: str
    readable: RunningRace | None


@dataclass(frozen=True, slots=True)
class Running:
    """All races that are not over, in the order of their opening. A damaged one does not keep the others from coming back."""

    races: tuple[RunningRace, ...]
    damaged: tuple[DamagedRace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRace:
    """A race that is over, and in whose room somebody was still.

    players: the id of each seat's player, None for a house bot. here: the seats of those who were in the room; gone: of those who had left
    it before the race was over, or gave its series up after it. changes: what the race did to ratings, by seat; none if it did not count.
    """

    opened: RaceOpened
    record: Record
    players: tuple[str | None, ...]
    here: frozenset[int]
    gone: frozenset[int]
    changes: tuple[RatingChange, ...]
    ended_at_ms: int


@dataclass(frozen=True, slots=True)
class RaceStatus:
    """reason: why the race was aborted; None if it was not.

    sealed_until_ms: until then nobody may see its record or result, because others have yet to play its deal. 0 for most races; NEVER_MS
    while the moment is not known.
    """

    phase: RacePhase
    reason: str | None
    sealed_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a page of history ended."""

    finished_at_ms: int
    race: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRace:
    """One line of a player's history. seat: the number of their own. seats: all, in seat order. aborted: why; None if it has a record.

    sealed_until_ms: see `RaceStatus`.
    """

    race: str
    room: str
    number: int
    rules: str
    finished_at_ms: int
    aborted: str | None
    seat: int
    seats: tuple[PlayedSeat, ...]
    sealed_until_ms: int = 0

    @property
    def mark(self) -> Mark:
        return Mark(self.finished_at_ms, self.race)


@dataclass(frozen=True, slots=True)
class TournamentHead:
    """How far a tournament is. decisions: how many its log has. node: which one leads it. is_led_here: this one, or a single server."""

    tournament: str
    decisions: int
    node: int
    is_led_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A race on a shared deal. finished_at_ms: None while it runs. seats: once it has ended, in seat order, as in `PlayedRace`.
    aborted: why; None if it was not.
    """

    race: str
    room: str
    rules: str
    spec: SharedDealSpec
    phase: RacePhase
    finished_at_ms: int | None
    seats: tuple[PlayedSeat, ...]
    aborted: str | None
