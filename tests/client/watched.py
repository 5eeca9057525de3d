"""Watched races, made from messages by the reducer, as in the app."""

from __future__ import annotations

from msgspec.structs import replace

from client.state.watching import WatchModel, watch_after
from protocol.room_events import PlayerReady, Progress, Result, Scored
from protocol.views import LateBoard, RaceOptions, SeatInfo, SeriesInfo, SeriesOptions, WatcherLine
from protocol.watch_messages import Board, Watched, WatchedEvent
from tests.client import scenes, tables

NOW_MS = 46_300
"""42.3 seconds into the race."""


def seats_of(rules: str, seats: int, moves: int) -> tuple[SeatInfo, ...]:
    room = tables.racing_at(rules, tables.view_after(rules, moves), seats=seats).room
    assert room is not None
    return room.seats


def board(seat: int, rules: str = "carpet", moves: int = 20) -> LateBoard:
    return LateBoard(seat=seat, ply=moves, elapsed_ms=31_400 + seat, state="racing", view=tables.view_after(rules, moves + seat))


def watched(rules: str = "carpet", seats: int = 2, *, moves: int = 24, boards: int = 8, **fields: object) -> Watched:
    """The snapshot of a running race. boards: how many seats have a board; the others have none yet."""
    values: dict[str, object] = {
        "version": 7,
        "phase": "racing",
        "seats": seats_of(rules, seats, moves),
        "seat": None,
        "elapsed_ms": 42_300,
        "options": RaceOptions(rules=rules, seats=seats),
    }
    return Watched(
        room=scenes.room(seats, **(values | fields)),
        boards=tuple(board(seat, rules, moves - 4) for seat in range(min(seats, boards))),
        watchers=12,
        lines=(WatcherLine(number=1, name="Grace", text="Anna is quick today."),),
        closest=False,
    )


def after(*events: object, now_ms: int = NOW_MS) -> WatchModel:
    watch: WatchModel | None = None
    for event in events:
        watch = watch_after(watch, event, now_ms)  # type: ignore[arg-type]
    assert watch is not None
    return watch


def event(happened: object) -> WatchedEvent:
    return WatchedEvent(code=scenes.CODE, event=happened)  # type: ignore[arg-type]


def late(seat: int, moves: int = 22, race: int = 1) -> Board:
    return Board(code=scenes.CODE, race=race, board=board(seat, moves=moves))


def progress(version: int, seat: int, home: int, ply: int = 40) -> WatchedEvent:
    counts = {"S": home, "H": 0, "D": 0, "C": 0}
    return event(Progress(version=version, seat=seat, ply=ply, home=home, foundations=counts, state="racing", elapsed_ms=42_000))


def racing(rules: str = "carpet", seats: int = 2, *, moves: int = 24, boards: int = 8, **fields: object) -> WatchModel:
    """A race that has been watched for some seconds, in which cards went home."""
    watch = after(watched(rules, seats, moves=moves, boards=boards, **fields), now_ms=NOW_MS - 20_000)
    assert watch.room is not None
    # Anchor the clock as if the spectator had come twenty seconds earlier.
    room = replace(watch.room, started_at_ms=NOW_MS - 42_300, points=tuple(((22_300, info.home - 3),) for info in watch.room.seats))
    changed: WatchModel | None = replace(watch, room=room)
    for number, info in enumerate(room.seats):
        made = progress(8 + number, info.seat, info.home + 1, info.ply)
        changed = watch_after(changed, made, NOW_MS - 9000 + 900 * number)
    assert changed is not None
    return changed


def over() -> WatchModel:
    watch = watch_after(racing(), event(Result(version=10, record=scenes.record())), NOW_MS)
    assert watch is not None
    return watch


def later(watch: WatchModel, *events: object, now_ms: int = NOW_MS) -> WatchModel:
    """A watched race after more events."""
    changed: WatchModel | None = watch
    for each in events:
        changed = watch_after(changed, each, now_ms)  # type: ignore[arg-type]
    assert changed is not None
    return changed


def in_series(series: SeriesInfo, *, boards: int = 8) -> WatchModel:
    """A running race of a series."""
    options = RaceOptions(series=SeriesOptions(format=series.format, races=series.races))
    return racing(boards=boards, race=series.raced + 1, series=series, options=options)


def between() -> WatchModel:
    """After the first race of a best of 5: one of the players is ready for the second."""
    score = scenes.standing((1, 0), 1)
    first = later(in_series(scenes.standing((0, 0), 0)), event(Result(version=10, record=scenes.record())))
    following = (Scored(version=11, series=score, record=None), scenes.next_race(12, score, seat=None), PlayerReady(version=13, seat=0))
    return later(first, *[event(each) for each in following])
