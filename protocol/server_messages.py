"""Every message a server may send, on one page: first those to one connection, then the versioned events of a room.

The tag is the field `type`. Room events carry `version`, from 1 up without gaps: a client that has version n and receives n + 2 has
missed one and joins again with `version` n. `room` is the exception that heals everything: it replaces all a client knew.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from protocol.errors import Fault
from protocol.record import Record
from protocol.views import (
    BotInfo,
    ChatLine,
    OpenRaceInfo,
    Phase,
    RaceOptions,
    RulesInfo,
    SeatInfo,
    SeatState,
    View,
)

# ---- to one connection


class Welcome(Struct, frozen=True, kw_only=True, tag_field="type", tag="welcome"):
    """The answer to `hello`.

    player: this player's public id. name: as cleaned. token: keep it, and say it in the next hello to be the same player.
    software: the server's name and version. room: code of a room in which this player holds a seat, or null: join it to go on.
    """

    player: str
    name: str
    token: str
    software: str
    rules: tuple[RulesInfo, ...]
    bots: tuple[BotInfo, ...]
    room: str | None


class Error(Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A message was refused and nothing has changed.

    code: one of the table, but not typed so: a newer server may have codes that this program does not know. fault: client, state or server.
    message: a sentence for a person. path: the field to blame, or empty. ref: the refused message's `ref`, or 0.
    """

    code: str
    fault: Fault
    message: str
    path: str
    ref: int


class Lobby(Struct, frozen=True, kw_only=True, tag_field="type", tag="lobby"):
    """Who is here and which public races have a free seat. At most 100 of each are listed; the counts are exact."""

    players: tuple[str, ...]
    players_here: int
    races: tuple[OpenRaceInfo, ...]
    races_open: int
    races_running: int


class Left(Struct, frozen=True, kw_only=True, tag_field="type", tag="left"):
    """This connection is in no room any more.

    reason: left (as asked), closed (the host stopped), idle (nobody came) or failed (a fault of the server).
    """

    code: str
    reason: str


class CurrentView(Struct, frozen=True, kw_only=True, tag_field="type", tag="current-view"):
    """One's own position as it is, outside of the versions: follows the error of every refused or repeated move."""

    race: int
    seat: int
    ply: int
    state: SeatState
    elapsed_ms: int
    view: View


# ---- room events, versioned


class Room(Struct, frozen=True, kw_only=True, tag_field="type", tag="room"):
    """A snapshot: everything this client may know of the room. It replaces what was known, it is never merged.

    race: the number of the current race in this room, from 1. seat: this client's seat, or null. commitment: 64 hexadecimal digits.
    starts_in_ms: from now to the start (countdown only, else null). elapsed_ms: since the start (0 before it).
    view: this seat's own view once it was dealt. record: of the race that is over. chat: the last lines, oldest first.
    """

    version: int
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


class Seated(Struct, frozen=True, kw_only=True, tag_field="type", tag="seated"):
    """Somebody sat down, before the start."""

    version: int
    seat: int
    name: str
    bot: str | None


class Unseated(Struct, frozen=True, kw_only=True, tag_field="type", tag="unseated"):
    """A seat is free again, before the start, or its player left after the end."""

    version: int
    seat: int


class Presence(Struct, frozen=True, kw_only=True, tag_field="type", tag="presence"):
    """A seated player's line was lost or is back. away_ms: what is left of the grace while away, else null."""

    version: int
    seat: int
    connected: bool
    away_ms: int | None


class PlayerReady(Struct, frozen=True, kw_only=True, tag_field="type", tag="player-ready"):
    """A seat's player is ready."""

    version: int
    seat: int


class Countdown(Struct, frozen=True, kw_only=True, tag_field="type", tag="countdown"):
    """Everybody is ready: the race starts `starts_in_ms` after this was sent. round_trips_ms: as measured, a seat."""

    version: int
    starts_in_ms: int
    round_trips_ms: tuple[int, ...]


class Dealt(Struct, frozen=True, kw_only=True, tag_field="type", tag="dealt"):
    """One's first view, sent half a round trip ahead of the start. The clock starts `starts_in_ms` after this was sent."""

    version: int
    seat: int
    starts_in_ms: int
    view: View


class Started(Struct, frozen=True, kw_only=True, tag_field="type", tag="started"):
    """The clock runs."""

    version: int


class PlayerView(Struct, frozen=True, kw_only=True, tag_field="type", tag="view"):
    """To the mover alone: his accepted move is played. ply: moves he has made. state: racing, or how his part has ended."""

    version: int
    seat: int
    ply: int
    move: str
    state: SeatState
    elapsed_ms: int
    view: View


class Progress(Struct, frozen=True, kw_only=True, tag_field="type", tag="progress"):
    """To all others for a move, and to everybody when a seat ends without one: how far that seat is."""

    version: int
    seat: int
    ply: int
    home: int
    foundations: dict[str, int]
    state: SeatState
    elapsed_ms: int


class Result(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """The race is over. The record reveals secret, nonces and seed; the places are in it."""

    version: int
    record: Record


class RematchAsked(Struct, frozen=True, kw_only=True, tag_field="type", tag="rematch-asked"):
    """A seat's player would race again. When all of them would, `room` follows with the next race."""

    version: int
    seat: int


class Said(Struct, frozen=True, kw_only=True, tag_field="type", tag="said"):
    """A line of chat."""

    version: int
    line: ChatLine


class Hidden(Struct, frozen=True, kw_only=True, tag_field="type", tag="hidden"):
    """Something happened that this client may not see; only the version moves."""

    version: int


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
    | Result
    | RematchAsked
    | Said
    | Hidden
)
ServerMessage: TypeAlias = Welcome | Error | Lobby | Left | CurrentView | RoomEvent
