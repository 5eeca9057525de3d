"""Messages about watching: first from the client, then to watchers, each with the code of the room it is about."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.room_events import Room, RoomEvent
from protocol.views import Curve, LateBoard, Request, RoomCode, WatcherLine

BoardsKeyText = Annotated[str, Meta(max_length=64)]


class WatchRace(Request, frozen=True, kw_only=True, tag="watch-race"):
    """Watch a race without a seat in it, and stop watching any other. Answered by `watched`.

    code: its room's; null for the closest public race now running, then the next one when that is over.
    key: the boards' key, from `ask-boards-key`; with it, boards come with every card face up.
    """

    code: RoomCode | None = None
    key: BoardsKeyText = ""


class AskBoardsKey(Request, frozen=True, kw_only=True, tag="ask-boards-key"):
    """Ask for the key to a race's boards, as its host or the director of its tournament. Answered by `boards-key`."""

    code: RoomCode


class Unwatch(Request, frozen=True, kw_only=True, tag="unwatch"):
    """Stop watching. Answered by `unwatched`."""


WatchRequest: TypeAlias = WatchRace | AskBoardsKey | Unwatch

# ---- to watchers


class Watched(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched"):
    """A snapshot for a watcher: answers `watch-race`, and is sent unasked if the server moves them on or they missed something.

    room: as for somebody without a seat. boards: for each seat that has one, the latest that may be shown. lines: the watchers' last lines.
    closest: when this race is over, the server moves them on to another. curves: each seat's progress so far, in seat order; empty before
    the start and after the result.
    """

    room: Room
    boards: tuple[LateBoard, ...]
    watchers: int
    lines: tuple[WatcherLine, ...]
    closest: bool
    curves: tuple[Curve, ...] = ()
    ref: int = 0


class WatchedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched-event"):
    """A room event of the watched race, as sent to somebody without a seat. Its version is the room's."""

    code: str
    event: RoomEvent


class Board(Struct, frozen=True, kw_only=True, tag_field="type", tag="board"):
    """The board of one seat in race number `race`, late by the race's `delay_s`. It replaces the one before it."""

    code: str
    race: int
    board: LateBoard


class Watchers(Struct, frozen=True, kw_only=True, tag_field="type", tag="watchers"):
    """How many are watching: to players and watchers, at most once a second. whole: somebody sees boards with every card face up."""

    code: str
    count: int
    whole: bool = False


class Talk(Struct, frozen=True, kw_only=True, tag_field="type", tag="talk"):
    """What watchers say: to watchers at once, to players only between races. A line with a number already seen is a repetition."""

    code: str
    lines: tuple[WatcherLine, ...]


class Unwatched(Struct, frozen=True, kw_only=True, tag_field="type", tag="unwatched"):
    """This connection now watches nothing. code: of the room it was watching, if any.

    reason: asked, closed (the room is), seated (took a seat in it), none (no public race is running; `watched` comes when one is),
    too-slow (did not read, but holds a seat elsewhere) or failed (the server's fault).
    """

    code: str | None
    reason: str
    ref: int = 0


class BoardsKey(Struct, frozen=True, kw_only=True, tag_field="type", tag="boards-key"):
    """The key to a race's boards, for `watch-race` on a screen that its players cannot see. It is valid until the server stops."""

    code: str
    key: str
    ref: int = 0


WatchMessage: TypeAlias = Watched | WatchedEvent | Board | Watchers | Talk | BoardsKey | Unwatched
