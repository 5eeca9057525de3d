"""What comes out of a store: answers, as values. What goes into it is in `port`. Knows no database. Times are Unix time in milliseconds."""

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
    """opened and commands: as they were written; the commands from sequence 1 on, without gaps."""

    opened: RaceOpened
    commands: tuple[CommandTaken, ...]


@dataclass(frozen=True, slots=True)
class DamagedRace:
    """A race that was running and cannot be read. what: one sentence, for the log and for `RaceAborted`.

    readable: the race with its commands up to the damage; None where not even its opening can be read.
    """

    race: str
    what: str
    readable: RunningRace | None


@dataclass(frozen=True, slots=True)
class Running:
    """All races that are not over, by the time of their opening. One that is damaged does not keep the others from coming back."""

    races: tuple[RunningRace, ...]
    damaged: tuple[DamagedRace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRace:
    """A race that is over, and in whose room somebody was still.

    players: the id of each seat's player, None for a house bot. here: the seats of those who were in the room; gone: of those who had left
    it before the race was over. changes: what the race did to ratings, by seat; none where it did not count.
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
    """reason: why the race was aborted; None for one that was not.

    sealed_until_ms: before that nobody may see its record or result, since others have yet to play its deal; 0 for most, NEVER_MS while
    that moment is not known.
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
    """One line of a player's history. seat: their own, by number. seats: all, in seat order. aborted: why; None for a race with a record.

    sealed_until_ms: as of `RaceStatus`.
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
    """How far a tournament is. decisions: in its log. node: which leads it. is_led_here: by this one, or by this server alone."""

    tournament: str
    decisions: int
    node: int
    is_led_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A race on a shared deal. finished_at_ms: None while it runs. seats: of one that has ended, in seat order; as of `PlayedRace`."""

    race: str
    room: str
    rules: str
    spec: SharedDealSpec
    phase: RacePhase
    finished_at_ms: int | None
    seats: tuple[PlayedSeat, ...]
