"""The versioned events of a room, sent to its players and, in `watched-event`, to its watchers.

They carry `version`, from 1 up without gaps: a client that has version n and receives n + 2 has missed one, and joins again with `version`
n. `room` is the exception, which heals everything: it replaces all that a client knew.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from protocol.record import Record, SeatRecord
from protocol.views import ChatLine, GhostInfo, Phase, RaceOptions, SeatInfo, SeatRating, SeatState, SeriesInfo, SharedDeal, View


class Versioned(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every event has."""

    version: int


class Room(Versioned, frozen=True, kw_only=True, tag="room"):
    """A snapshot: everything this client may know of the room. It replaces what was known, it is never merged.

    race: the number of the current race in this room, from 1. seat: this client's seat, or null. commitment: 64 hexadecimal digits.
    starts_in_ms: from now to the start (countdown only, else null). elapsed_ms: since the start (0 before it).
    view: this seat's own view once it was dealt. record: of the race that is over. chat: the last lines, oldest first.
    ratings: what the race that is over did to them, one for each seat; empty for one that does not count, or not yet.
    series: of which the race is one; null for a single race. shared: the deal, where other races are dealt the same. ended: the seats of
    such a race that is over, as its record has them; the record itself is null while it is closed.
    ghosts: those who ran the deal before, as far as they had come when their clocks showed what the race's shows now.
    """

    code: str
    race: int
    phase: Phase
    options: RaceOptions
    commitment: str
    seats: tuple[SeatInfo, ...]
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
    ref: int = 0


class Seated(Versioned, frozen=True, kw_only=True, tag="seated"):
    """Somebody sat down, before the start."""

    seat: int
    name: str
    bot: str | None


class Unseated(Versioned, frozen=True, kw_only=True, tag="unseated"):
    """A seat is free again, before the start, or its player left after the end."""

    seat: int


class Presence(Versioned, frozen=True, kw_only=True, tag="presence"):
    """A seated player's line was lost or is back. away_ms: what is left of the grace while away, else null."""

    seat: int
    connected: bool
    away_ms: int | None


class PlayerReady(Versioned, frozen=True, kw_only=True, tag="player-ready"):
    """A seat's player is ready."""

    seat: int


class Countdown(Versioned, frozen=True, kw_only=True, tag="countdown"):
    """Everybody is ready: the race starts `starts_in_ms` after this was sent. round_trips_ms: as measured, a seat."""

    starts_in_ms: int
    round_trips_ms: tuple[int, ...]


class Dealt(Versioned, frozen=True, kw_only=True, tag="dealt"):
    """One's first view, sent half a round trip ahead of the start. The clock starts `starts_in_ms` after this was sent."""

    seat: int
    starts_in_ms: int
    view: View


class Started(Versioned, frozen=True, kw_only=True, tag="started"):
    """The clock runs. home, foundations: by seat, as dealt; of foundations that are not told, an empty map."""

    home: tuple[int, ...] = ()
    foundations: tuple[dict[str, int], ...] = ()


class PlayerView(Versioned, frozen=True, kw_only=True, gc=False, tag="view"):
    """To the mover alone: their accepted move is played. ply: moves they have made. state: racing, or how their part has ended."""

    seat: int
    ply: int
    move: str
    state: SeatState
    elapsed_ms: int
    view: View


class Progress(Versioned, frozen=True, kw_only=True, gc=False, tag="progress"):
    """To all others for a move, and to everybody when a seat ends without one: how far that seat is."""

    seat: int
    ply: int
    home: int
    foundations: dict[str, int]
    state: SeatState
    elapsed_ms: int


class Ghost(Versioned, frozen=True, kw_only=True, tag="ghost"):
    """A ghost has come so far, at the moment of its own run that the clock of this one shows now."""

    ghost: GhostInfo


class Result(Versioned, frozen=True, kw_only=True, tag="result"):
    """The race is over. The record reveals secret, nonces and seed; the places are in it."""

    record: Record


class Ended(Versioned, frozen=True, kw_only=True, tag="ended"):
    """The race is over, and its record is closed until nobody has to play its shuffle any more. seats: as the record has them.

    `result` follows then, to whoever is still there.
    """

    seats: tuple[SeatRecord, ...]


class Scored(Versioned, frozen=True, kw_only=True, tag="scored"):
    """A race of a series was scored, or the series was given up. Unless the series is over, `room` follows with its next race.

    record: of an earlier race, which was withheld till now; else null.
    """

    series: SeriesInfo
    record: Record | None


class Ratings(Versioned, frozen=True, kw_only=True, tag="ratings"):
    """What the race that is over did to its players' ratings, one for each seat. Follows the `result` of a race that counts."""

    seats: tuple[SeatRating, ...]


class RematchAsked(Versioned, frozen=True, kw_only=True, tag="rematch-asked"):
    """A seat's player would race again. When all of them would, `room` follows with the next race."""

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
