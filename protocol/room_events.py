"""The versioned events of a room, sent to its players and, in `watched-event`, to its watchers.

They carry `version`, from 1 up without gaps: a client that has version n and receives n + 2 has missed one, and joins again with `version`
n. `room` is the exception, which heals everything: it replaces all that a client knew.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.record import Record, SeatRecord
from protocol.views import (
    MAX_SEATS,
    ChatLine,
    GhostInfo,
    Hex32,
    HomeCount,
    Phase,
    RaceOptions,
    RoomCode,
    SeatInfo,
    SeatRating,
    SeatState,
    SeriesInfo,
    SharedDeal,
    View,
)


class Versioned(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every event has."""

    version: int


class Room(Versioned, frozen=True, kw_only=True, tag="room"):
    """A snapshot: everything this client may know about the room. It replaces what was known; never merge it.

    race: the number of the current race in this room, from 1. seat: this client's seat, or null. commitment: 64 hexadecimal digits.
    starts_in_ms: from now to the start; null except during the countdown. elapsed_ms: since the start, 0 before it.
    view: this seat's own view, once dealt. record: of a race that is over. chat: the last lines, oldest first.
    ratings: what the finished race did to the players' ratings, one for each seat; empty if it does not count, or has not been rated yet.
    series: the series this race belongs to; null for a single race, and in the snapshot of a room that was closed between two races.
    shared: the deal, if other races are dealt the same one. ended: the seats of such a race once it is over, as in its record; the record
    itself stays null while it is closed.
    ghosts: those who ran the deal before, each as far as they had come at this time on their own clock.
    away_ms: what is left of the grace of each seat, as in `Presence`; empty if nobody's is running out.
    won: the races, or the series where the race is part of one, that each seat won against the same players in this room, before this one;
    empty if there were none, and once another player may come. A first place that is shared or forfeited counts for nobody.
    ready_left_ms: as in `ReadyDue`; null while nobody is waited for.
    """

    code: RoomCode
    race: int
    phase: Phase
    options: RaceOptions
    commitment: Hex32
    seats: Annotated[tuple[SeatInfo, ...], Meta(min_length=1, max_length=MAX_SEATS)]
    seat: int | None
    starts_in_ms: int | None
    elapsed_ms: int
    view: View | None
    record: Record | None
    chat: tuple[ChatLine, ...]
    ratings: tuple[SeatRating, ...] = ()
    series: SeriesInfo | None = None
    shared: SharedDeal | None = None
    ended: tuple[SeatRecord, ...] = ()
    ghosts: tuple[GhostInfo, ...] = ()
    away_ms: tuple[int | None, ...] = ()
    won: tuple[int, ...] = ()
    ready_left_ms: int | None = None
    ref: int = 0


class Seated(Versioned, frozen=True, kw_only=True, tag="seated"):
    """Somebody sat down, before the start."""

    seat: int
    name: str
    bot: str | None


class Unseated(Versioned, frozen=True, kw_only=True, tag="unseated"):
    """A seat became free before the start, or its player left after the end."""

    seat: int


class Presence(Versioned, frozen=True, kw_only=True, tag="presence"):
    """A seated player lost their connection, or is back. away_ms: what is left of their grace while they are away, else null."""

    seat: int
    connected: bool
    away_ms: int | None


class PlayerReady(Versioned, frozen=True, kw_only=True, tag="player-ready"):
    """A seat's player is ready."""

    seat: int


class ReadyDue(Versioned, frozen=True, kw_only=True, tag="ready-due"):
    """Somebody is kept waiting: whoever is not ready `left_ms` after this was sent loses their seat. Until a seat becomes free."""

    left_ms: int


class Countdown(Versioned, frozen=True, kw_only=True, tag="countdown"):
    """Everybody is ready: the race starts `starts_in_ms` after this was sent. round_trips_ms: as measured, one for each seat."""

    starts_in_ms: int
    round_trips_ms: tuple[int, ...]


class Dealt(Versioned, frozen=True, kw_only=True, tag="dealt"):
    """One's own first view, sent half a round trip ahead of the start. The clock starts `starts_in_ms` after this was sent."""

    seat: int
    starts_in_ms: int
    view: View


class Started(Versioned, frozen=True, kw_only=True, tag="started"):
    """The clock is running. home, foundations: by seat, as dealt; an empty map for foundations that are not revealed."""

    home: tuple[HomeCount, ...] = ()
    foundations: tuple[dict[str, int], ...] = ()


class PlayerView(Versioned, frozen=True, kw_only=True, gc=False, tag="view"):
    """To the mover alone: their move was accepted and played. ply: moves they have made. state: racing, or how their part has ended."""

    seat: int
    ply: int
    move: str
    state: SeatState
    elapsed_ms: int
    view: View


class Progress(Versioned, frozen=True, kw_only=True, gc=False, tag="progress"):
    """How far a seat has come: sent to all others after its move, and to everybody if it ends without one."""

    seat: int
    ply: int
    home: HomeCount
    foundations: dict[str, int]
    state: SeatState
    elapsed_ms: int


class Ghost(Versioned, frozen=True, kw_only=True, tag="ghost"):
    """How far a ghost had come at this time on the clock of its own run."""

    ghost: GhostInfo


class Result(Versioned, frozen=True, kw_only=True, tag="result"):
    """The race is over. The record reveals the secret, nonces and seed, and has the places."""

    record: Record


class Ended(Versioned, frozen=True, kw_only=True, tag="ended"):
    """The race is over, but its record stays closed while others have yet to play its shuffle. seats: as in the record.

    Those still here then get `result`.
    """

    seats: tuple[SeatRecord, ...]


class Scored(Versioned, frozen=True, kw_only=True, tag="scored"):
    """A race of a series was scored, or somebody gave up the series. Unless it is over, `room` follows with its next race.

    record: of an earlier race, if it was sealed until now; else null.
    """

    series: SeriesInfo
    record: Record | None


class Ratings(Versioned, frozen=True, kw_only=True, tag="ratings"):
    """What the finished race did to its players' ratings, one for each seat. Follows the `result` of a race that counts."""

    seats: tuple[SeatRating, ...]


class RematchAsked(Versioned, frozen=True, kw_only=True, tag="rematch-asked"):
    """A seat's player asks for a rematch. Once all of them have asked, `room` follows with the next race."""

    seat: int


class Said(Versioned, frozen=True, kw_only=True, tag="said"):
    """A line of chat."""

    line: ChatLine
    ref: int = 0


class Hidden(Versioned, frozen=True, kw_only=True, tag="hidden"):
    """Something happened that this client may not see; only the version moves."""


RoomEvent: TypeAlias = (
    Room
    | Seated
    | Unseated
    | Presence
    | PlayerReady
    | ReadyDue
    | Countdown
    | Dealt
    | Started
    | PlayerView
    | Progress
    | Ghost
    | Result
    | Ended
    | Scored
    | Ratings
    | RematchAsked
    | Said
    | Hidden
)
