"""A race that is watched, as one frozen value, and the pure reducer that makes the next value out of what was heard of it.

How far everybody is comes at once, the boards come late: the one is a room as somebody without a seat knows it (`store`), the others
stand beside it. What the screens do with them is not known here. All times are local ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from client.connection.events import LinkEvent
from client.state.room import RoomModel, race_clock_ms, room_after, room_heard
from client.state.store import LocalEvent
from protocol.room_events import Ratings, Room, RoomEvent, Scored
from protocol.server_messages import ServerMessage
from protocol.views import LateBoard
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent, Watchers

Points: TypeAlias = tuple[tuple[int, int], ...]
"""(ms from the start, cards home) in order of time; of an older server from when on one has watched."""


@dataclass(frozen=True, slots=True)
class WatchModel:
    """room: what is known at once; None while there is nothing to watch. closest: the server leads from one race to the next.

    boards: the latest that may be shown, one at most for each seat. points: a curve for each seat.
    last: the room with the race before, where the next one of a series has not begun yet; None where there was none.
    """

    closest: bool
    room: RoomModel | None = None
    boards: tuple[LateBoard, ...] = ()
    points: tuple[Points, ...] = ()
    last: RoomModel | None = None

    def board(self, seat: int) -> LateBoard | None:
        """The board of a seat, once one may be shown."""
        return next((board for board in self.boards if board.seat == seat), None)


def watch_after(watch: WatchModel | None, event: ServerMessage | LinkEvent | LocalEvent, now_ms: int) -> WatchModel | None:
    """What is watched after `event`, None for nothing. Total: of another race, or of none, everything is no news."""
    match event:
        case Watched():
            return _snapshot(watch, event, now_ms)
        case Unwatched(reason="none"):
            # Nothing is being run any more: the result of what was shown last may be looked at until there is.
            over = watch is not None and watch.room is not None and watch.room.phase == "over"
            return watch if over else WatchModel(closest=True)
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
            return replace(watch, boards=(*others, board))
        case Watchers() | Talk():
            return replace(watch, room=room_heard(watch.room, event))
    return watch


def _room_event(watch: WatchModel, event: RoomEvent, now_ms: int) -> WatchModel:
    before = watch.room
    room = room_after(before, event, now_ms)
    if room is None or before is None or room is before:
        return watch
    if isinstance(event, Room):
        # The next race of the same room. A snapshot of it knows the players' lines alone; who watches has heard them too.
        last = before if before.ended else watch.last
        return replace(watch, room=replace(room, chat=before.chat, watchers=before.watchers), boards=(), points=(), last=last)
    return _measured(replace(watch, room=room, last=_still_last(watch.last, room, event)), now_ms)


def _still_last(last: RoomModel | None, room: RoomModel, event: RoomEvent) -> RoomModel | None:
    """The race before with what has become known of it since; nothing once the next one is run."""
    match event:
        case Scored(series=series) if last is not None:
            return replace(last, series=series)
        case Ratings(seats=ratings) if last is not None:
            return replace(last, ratings=ratings)
        case _:
            return last if room.phase in ("waiting", "countdown") else None


def _snapshot(before: WatchModel | None, event: Watched, now_ms: int) -> WatchModel:
    room = room_after(None, event.room, now_ms)
    assert room is not None
    room = room_heard(replace(room, watchers=event.watchers), Talk(code=room.code, lines=event.lines))
    points = tuple(tuple(zip(curve.at_ms, curve.home, strict=False)) for curve in event.curves)
    if len(points) != len(room.seats) or not all(points):
        same = before is not None and before.room is not None and (before.room.code, before.room.race) == (room.code, room.race)
        # It has come because something was missed: the curves go on.
        points = before.points if before is not None and same else ()
    return _measured(WatchModel(event.closest, room, event.boards, points), now_ms)


def _measured(watch: WatchModel, now_ms: int) -> WatchModel:
    """With a new point for each seat that has brought cards home, while the race is being run."""
    room = watch.room
    if room is None or room.phase != "racing":
        return watch
    elapsed_ms = max(race_clock_ms(room.started_at_ms, now_ms), 0)
    points = watch.points or ((),) * len(room.seats)
    counted = tuple(
        line if line and line[-1][1] == info.home else (*line, (elapsed_ms, info.home))
        for line, info in zip(points, room.seats, strict=False)
    )
    return watch if counted == watch.points else replace(watch, points=counted)
