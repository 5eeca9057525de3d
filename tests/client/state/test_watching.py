"""The reducer of a watched race: snapshots replace, gaps and other races are ignored, boards replace each other, curves grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.state.progress import Points
from client.state.watching import WatchModel, watch_after
from protocol.room_events import Countdown, Hidden, Ratings, Said, Started
from protocol.views import ChatLine, Curve, WatcherLine
from protocol.watch_messages import Talk, Unwatched, Watchers
from tests.client import scenes, watched
from tests.client.state.test_store import EVENTS
from tests.client.watched import NOW_MS, after, event, late, progress

LINE = WatcherLine(number=2, name="Grace", text="Go on!")


def points(watch: WatchModel | None) -> tuple[Points, ...]:
    """The curves of the race that is watched."""
    assert watch is not None
    assert watch.room is not None
    return watch.room.points


def test_a_snapshot_is_all_that_is_known_and_the_clock_is_anchored() -> None:
    watch = after(watched.watched())
    assert watch.room is not None
    assert (watch.room.code, watch.room.version, watch.room.watchers) == (scenes.CODE, 7, 12)
    assert watch.room.started_at_ms == NOW_MS - 42_300
    assert [line.text for line in watch.room.chat] == ["Anna is quick today."]
    assert [board.seat for board in watch.boards] == [0, 1]


def test_progress_counts_at_once_and_the_board_of_a_seat_replaces_the_one_before() -> None:
    watch = after(watched.watched(), progress(8, 1, 21), late(1, 22))
    assert watch.room is not None
    assert (watch.room.seats[1].home, watch.room.seats[1].ply) == (21, 40)
    board = watch.board(1)
    assert board is not None
    assert board.ply == 22
    assert len(watch.boards) == 2
    assert watch.board(5) is None


@pytest.mark.parametrize(
    "other",
    [
        progress(9, 1, 21),
        late(1, race=2),
        watched.event(Hidden(version=7)),
        Talk(code="OTHERS", lines=(LINE,)),
        Watchers(code="OTHERS", count=3),
        Hidden(version=8),
        scenes.room(version=8),
    ],
)
def test_what_is_out_of_order_or_of_something_else_is_no_news(other: object) -> None:
    assert after(watched.watched(), other) == after(watched.watched())


def test_whoever_watches_from_before_the_start_knows_what_was_dealt_home() -> None:
    before = watched.watched(boards=0, moves=0, phase="countdown")
    before = replace(before, room=replace(before.room, seats=(scenes.seat(0, "Anna"), scenes.seat(1, "Ben"))))
    dealt = {"S": 1, "H": 1, "D": 1, "C": 1}
    watch = after(before, event(Started(version=8, home=(4, 4), foundations=(dealt, {}))))
    assert watch.room is not None
    assert [(info.home, info.foundations) for info in watch.room.seats] == [(4, dealt), (4, {})]


def test_what_is_said_is_kept_in_its_order_and_a_repetition_is_none() -> None:
    said = event(Said(version=8, line=ChatLine(seat=0, name="Anna", text="Nice!", phrase="nice")))
    talk = Talk(code=scenes.CODE, lines=(WatcherLine(number=1, name="Grace", text="Anna is quick today."), LINE))
    watch = after(watched.watched(), said, talk, talk)
    assert watch.room is not None
    assert [line.text for line in watch.room.chat] == ["Anna is quick today.", "Nice!", "Go on!"]


def test_the_count_of_watchers_changes() -> None:
    watch = after(watched.watched(), Watchers(code=scenes.CODE, count=3))
    assert watch.room is not None
    assert watch.room.watchers == 3


def test_curves_have_a_point_for_each_change_from_when_on_one_watches() -> None:
    watch: WatchModel | None = after(watched.watched())
    homes = [line[0][1] for line in points(watch)]
    assert [line[0][0] for line in points(watch)] == [42_300, 42_300]
    for version, home in ((8, homes[1]), (9, homes[1] + 1)):
        watch = watch_after(watch, progress(version, 1, home), NOW_MS + 1000)
    assert points(watch)[0] == ((42_300, homes[0]),)
    assert points(watch)[1] == ((42_300, homes[1]), (43_300, homes[1] + 1))


def test_after_something_was_missed_the_curves_go_on_and_in_another_race_they_begin_anew() -> None:
    before = after(watched.watched(), progress(8, 1, 21))
    same = watch_after(before, watched.watched(), NOW_MS + 5000)
    assert points(same)[1][:-1] == points(before)[1]
    other = watch_after(before, watched.watched(code="OTHERS"), NOW_MS + 5000)
    assert [len(line) for line in points(other)] == [1, 1]


def test_the_next_race_of_the_room_has_no_boards_yet_and_what_was_said_stays() -> None:
    following = scenes.room(version=8, race=2, seat=None)
    watch = after(watched.watched(), event(following))
    assert watch.room is not None
    assert (watch.room.race, watch.room.phase, watch.boards, watch.room.points, watch.room.watchers) == (2, "waiting", (), (), 12)
    assert [line.text for line in watch.room.chat] == ["Anna is quick today."]


def test_where_nothing_is_run_the_last_result_stays_and_else_nothing_is_shown() -> None:
    none = Unwatched(code=None, reason="none")
    assert watch_after(None, none, 0) == WatchModel(closest=True)
    assert watch_after(watched.racing(), none, 0) == WatchModel(closest=True)
    assert watch_after(watched.over(), none, 0) == watched.over()


def test_when_a_room_is_closed_the_result_stays_and_a_race_without_one_does_not() -> None:
    closed = Unwatched(code=scenes.CODE, reason="closed")
    assert watch_after(watched.over(), closed, 0) == watched.over()
    assert watch_after(watched.racing(), closed, 0) is None


@pytest.mark.parametrize("reason", ["asked", "seated", "too-slow", "failed", "no-race", "anything"])
def test_whoever_is_told_that_they_watch_no_more_watches_nothing(reason: str) -> None:
    assert watch_after(watched.over(), Unwatched(code=scenes.CODE, reason=reason), 0) is None


@given(st.lists(EVENTS, max_size=15), st.integers(0, 10**7))
def test_no_sequence_of_events_is_an_error(events: list[object], start_ms: int) -> None:
    watch: WatchModel | None = replace(after(watched.watched()), closest=True)
    for number, happened in enumerate(events):
        wrapped = event(happened) if hasattr(happened, "version") else happened
        watch = watch_after(watch, wrapped, start_ms + number * 100)  # type: ignore[arg-type]
        watch = watch_after(watch, happened, start_ms + number * 100)  # type: ignore[arg-type]
        assert watch is not None


def test_whoever_comes_in_the_middle_has_the_whole_curves_and_a_new_snapshot_does_not_begin_them_anew() -> None:
    snapshot = watched.watched()
    homes = [info.home for info in snapshot.room.seats]
    curves = tuple(Curve(at_ms=(0, 20_000, 40_000), home=(4, 7, home)) for home in homes)
    watch = after(replace(snapshot, curves=curves), progress(8, 1, homes[1] + 1))
    assert points(watch)[0] == ((0, 4), (20_000, 7), (40_000, homes[0]))
    assert points(watch)[1] == ((0, 4), (20_000, 7), (40_000, homes[1]), (42_000, homes[1] + 1))
    # What was missed meanwhile is in the new one.
    again = watch_after(watch, replace(snapshot, curves=curves), NOW_MS)
    assert points(again) == tuple(tuple(zip(curve.at_ms, curve.home, strict=True)) for curve in curves)


def test_between_two_races_of_a_series_the_race_before_is_known_until_the_next_one_starts() -> None:
    watch = watched.between()
    assert watch.room is not None
    assert watch.last is not None
    assert (watch.room.phase, watch.room.race, watch.last.record) == ("waiting", 2, scenes.record())
    assert watch.last.series == scenes.standing((1, 0), 1)
    rated = watched.later(watch, event(Ratings(version=14, seats=scenes.RATINGS)))
    assert rated.last is not None
    assert rated.last.ratings == scenes.RATINGS
    started = watched.later(rated, event(Countdown(version=15, starts_in_ms=3000, round_trips_ms=(0, 0))), event(Started(version=16)))
    assert started.last is None
    assert started.room is not None
    assert started.room.ratings == ()
