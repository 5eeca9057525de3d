"""Messages about watching: first from the client, then to watchers, each with the code of the room it is about."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.room_events import Room, RoomEvent
from protocol.views import Curve, LateBoard, Request, RoomCode, WatcherLine

BoardsKeyText = Annotated[str, Meta(max_length=64)]


class WatchRace(Request, frozen=True, kw_only=True, tag="watch-race"):
    """Watch a race without a seat in it, and no other one any more. Answered by `watched`.

    code: of its room; null for the closest race that is being run in public, and for the next one when that is over.
    key: of the boards, by `ask-boards-key`: then they come with every card open.
    """

    code: RoomCode | None = None
    key: BoardsKeyText = ""


class AskBoardsKey(Request, frozen=True, kw_only=True, tag="ask-boards-key"):
    """Ask for the key of a race's boards: for its host, or the director of its tournament. Answered by `boards-key`."""

    code: RoomCode


class Unwatch(Request, frozen=True, kw_only=True, tag="unwatch"):
    """Watch nothing any more. Answered by `unwatched`."""


WatchRequest: TypeAlias = WatchRace | AskBoardsKey | Unwatch

# ---- to watchers


class Watched(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched"):
    """A snapshot for a watcher: the answer to `watch-race`, and unasked when the server moves them on or when they missed something.

    room: as for somebody without a seat. boards: the latest that may be shown, of each seat that has one. lines: the last of the watchers.
    closest: the server moves them on to another race when this one is over. curves: what led to how far each seat is, in seat order; none
    before the start and after the result.
    """

    room: Room
    boards: tuple[LateBoard, ...]
    watchers: int
    lines: tuple[WatcherLine, ...]
    closest: bool
    curves: tuple[Curve, ...] = ()
    ref: int = 0


class WatchedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="watched-event"):
    """A room event of the race that is watched, as somebody without a seat is told it; its version is the room's."""

    code: str
    event: RoomEvent


class Board(Struct, frozen=True, kw_only=True, tag_field="type", tag="board"):
    """The board of one seat in race number `race`, as late as the race's options say; each replaces the one before it."""

    code: str
    race: int
    board: LateBoard


class Watchers(Struct, frozen=True, kw_only=True, tag_field="type", tag="watchers"):
    """How many watch: to players and watchers, at most once a second. whole: somebody sees boards with every card open."""

    code: str
    count: int
    whole: bool = False


class Talk(Struct, frozen=True, kw_only=True, tag_field="type", tag="talk"):
    """What watchers say: to watchers at once, to players while no race is being run. A line whose number is known is a repetition."""

    code: str
    lines: tuple[WatcherLine, ...]


class Unwatched(Struct, frozen=True, kw_only=True, tag_field="type", tag="unwatched"):
    """This connection watches nothing now. code: of the room it has watched, if any.

    reason: asked, closed (the room is), seated (took a seat in it), none (no race is being run in public; `watched` comes when one is),
    too-slow (did not read, and holds a seat elsewhere) or failed (a fault of the server).
    """

    code: str | None
    reason: str
    ref: int = 0


class BoardsKey(Struct, frozen=True, kw_only=True, tag_field="type", tag="boards-key"):
    """The key of a race's boards, for `watch-race`: for a screen that its players cannot see. It is good until the server ends."""

    code: str
    key: str
    ref: int = 0


WatchMessage: TypeAlias = Watched | WatchedEvent | Board | Watchers | Talk | BoardsKey | Unwatched
