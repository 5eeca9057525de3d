"""A race that is watched, as one frozen value, and the pure reducer that makes the next value from each event.

Everybody's progress comes at once and the boards come late: the progress is a room as somebody without a seat knows it (`store`), and the
boards stand beside it. Must not know what the screens do with them. All times are local.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from client.connection.events import LinkEvent
from client.game.moves import made
from client.state.room import Played, RoomModel, resumed, room_after, room_heard, with_points
from client.state.store import LocalEvent
from protocol.room_events import Ratings, Room, RoomEvent, Scored
from protocol.server_messages import ServerMessage
from protocol.views import LateBoard
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers

MOVES_KEPT = 80


class WatchModel(Struct, frozen=True):
    """room: what is known at once; None while there is nothing to watch. closest: whether the server leads from one race to the next.

    boards: the latest that may be shown, at most one per seat. played: their last moves, each with its seat.
    last: the room with the race before, while the next race of a series has not begun; None if there was none.
    """

    closest: bool
    room: RoomModel | None = None
    boards: tuple[LateBoard, ...] = ()
    played: tuple[tuple[int, Played], ...] = ()
    last: RoomModel | None = None

    def board(self, seat: int) -> LateBoard | None:
        """A seat's board, once one may be shown; None before."""
        return next((board for board in self.boards if board.seat == seat), None)


def watch_after(watch: WatchModel | None, event: ServerMessage | LinkEvent | LocalEvent, now_ms: int) -> WatchModel | None:
    """What is watched after `event`; None for nothing. Total: events of another race, or of none, change nothing."""
    match event:
        case Watched():
            return _snapshot(watch, event, now_ms)
        case Unwatched(reason="none" | "closed" as reason):
            # No race is running any more, or both players have left this one. The result of the last one stays on show.
            over = watch is not None and watch.room is not None and watch.room.phase == "over"
            return watch if over else WatchModel(closest=True) if reason == "none" else None
        case Unwatched():
            return None
    if watch is None or watch.room is None:
        return watch
    watched = (watch.room.code, watch.room.race)
    match event:
        case WatchedEvent(code=code, event=happened) if code == watched[0]:
            return _room_event(watch, happened, now_ms)
        case Board(code=code, race=race, board=board) if (code, race) == watched:
            others = tuple(each for each in watch.boards if each.seat != board.seat)
            return replace(watch, boards=(*others, board), played=_played(watch, board))
        case Watchers() | Talk():
            return replace(watch, room=room_heard(watch.room, event))
    return watch


def _room_event(watch: WatchModel, event: RoomEvent, now_ms: int) -> WatchModel:
    before = watch.room
    room = room_after(before, event, now_ms)
    if room is None or before is None or room is before:
        return watch
    if isinstance(event, Room):
        # The next race in the same room. Its snapshot has only the players' chat; keep what the watchers said too.
        last = before if before.ended else watch.last
        return replace(watch, room=replace(room, chat=before.chat, watchers=before.watchers), boards=(), played=(), last=last)
    return replace(watch, room=room, last=_still_last(watch.last, room, event))


def _played(watch: WatchModel, board: LateBoard) -> tuple[tuple[int, Played], ...]:
    """The last moves, including the one that led to this board. If several moves came at once, none of them is known."""
    before = watch.board(board.seat)
    move = made(before.view, board.view) if before is not None and before.ply + 1 == board.ply else None
    return watch.played if move is None else (*watch.played, (board.seat, Played(*move, board.elapsed_ms)))[-MOVES_KEPT:]


def _still_last(last: RoomModel | None, room: RoomModel, event: RoomEvent) -> RoomModel | None:
    """The previous race, updated with what has become known of it since; None once the next race runs."""
    match event:
        case Scored(series=series) if last is not None:
            return replace(last, series=series)
        case Ratings(seats=ratings) if last is not None:
            return replace(last, ratings=ratings)
        case _:
            return last if room.phase in ("waiting", "countdown") else None


def _snapshot(before: WatchModel | None, event: Watched, now_ms: int) -> WatchModel:
    room = resumed(before.room if before is not None else None, event.room, now_ms)
    room = room_heard(replace(room, watchers=event.watchers), Talk(code=room.code, lines=event.lines))
    points = tuple(tuple(zip(curve.at_ms, curve.home, strict=False)) for curve in event.curves)
    # Without full curves the snapshot only makes up for something missed, and the known curves go on.
    if len(points) == len(room.seats) and all(points):
        room = replace(room, points=points, heard_from_ms=0)
    return WatchModel(event.closest, with_points(room, now_ms), event.boards)
