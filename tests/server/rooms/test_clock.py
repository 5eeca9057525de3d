"""The two clocks: dates follow the wall clock wherever it is set, and races do not."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from server.rooms import clock as clock_module
from server.rooms.clock import ASLEEP_S, AWAKE_LOOK_S, WALL_LOOK_S, Clock, Reason, SleepWatch

DAY_S = 86_400.0


class Wall:
    """A wall clock that somebody sets. Satisfies the part of `time` that is used."""

    def __init__(self) -> None:
        self.ahead_s = 1_700_000_000.0

    def time(self) -> float:
        return trio.current_time() + self.ahead_s


@pytest.mark.parametrize("by_s", [-DAY_S, -1.0, 600.0, DAY_S])
async def test_a_wall_clock_that_is_set_moves_dates_and_no_race(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, by_s: float
) -> None:
    wall = Wall()
    monkeypatch.setattr(clock_module, "time", wall)
    clock = Clock()
    now_ms, wall_ms = clock.now_ms(), clock.wall_ms()
    assert now_ms == wall_ms
    await trio.sleep(5)
    wall.ahead_s += by_s
    assert clock.now_ms() - now_ms == 5000
    assert clock.wall_ms() - wall_ms == 5000 + 1000 * by_s
    # Whoever waits for a date looks again in time to notice, and not before there is anything to see.
    due = clock.wall_deadline(clock.wall_ms() + int(1000 * DAY_S)) - trio.current_time()
    assert due == WALL_LOOK_S
    assert clock.wall_deadline(clock.wall_ms() + 3000) - trio.current_time() == pytest.approx(3.0005, abs=0.001)


@pytest.fixture
async def watch(mock_clock: MockClock, nursery: trio.Nursery) -> tuple[Clock, SleepWatch, list[int]]:
    """With what was told when the clock had been set right."""
    clock, told = Clock(), list[int]()

    async def set_clocks_right() -> None:
        await trio.lowlevel.checkpoint()
        told.append(clock.now_ms())

    watch = SleepWatch(clock, set_clocks_right)
    nursery.start_soon(watch.run)
    await trio.testing.wait_all_tasks_blocked()
    return clock, watch, told


async def test_time_in_which_the_process_was_stopped_is_left_out_and_told(
    mock_clock: MockClock, watch: tuple[Clock, SleepWatch, list[int]]
) -> None:
    clock, instrument, told = watch
    began_ms = clock.now_ms()
    instrument.before_io_wait(0.5)
    mock_clock.jump(30.5)
    instrument.after_io_wait(0.5)
    assert clock.now_ms() == began_ms + 500
    await trio.testing.wait_all_tasks_blocked()
    assert told == [began_ms + 500]
    mock_clock.jump(AWAKE_LOOK_S)
    await trio.testing.wait_all_tasks_blocked()
    assert told == [began_ms + 500], "once"


@pytest.mark.parametrize("asked_after", [False, True], ids=["at the end of it", "before the end of it"])
async def test_a_stop_in_the_middle_of_work_is_left_out_too_and_no_time_goes_back(
    mock_clock: MockClock, watch: tuple[Clock, SleepWatch, list[int]], asked_after: bool
) -> None:
    clock, _, _ = watch
    began_ms = clock.now_ms()
    mock_clock.jump(30)
    if asked_after:
        assert clock.now_ms() == began_ms + 30_000
    await trio.testing.wait_all_tasks_blocked()
    told_ms = began_ms + 30_000 * asked_after
    assert clock.now_ms() == told_ms
    mock_clock.jump(1)
    assert clock.now_ms() == max(told_ms, began_ms + 1000)


async def test_a_process_that_is_woken_a_little_late_has_not_been_stopped(
    mock_clock: MockClock, watch: tuple[Clock, SleepWatch, list[int]]
) -> None:
    clock, instrument, told = watch
    began_ms = clock.now_ms()
    instrument.before_io_wait(0.5)
    mock_clock.jump(0.5 + ASLEEP_S)
    instrument.after_io_wait(0.5)
    assert clock.now_ms() == began_ms + 2500
    await trio.testing.wait_all_tasks_blocked()
    assert told == []


async def test_a_stop_in_the_middle_of_an_outage_is_left_out_once(
    mock_clock: MockClock, watch: tuple[Clock, SleepWatch, list[int]]
) -> None:
    clock, instrument, _ = watch
    began_ms = clock.now_ms()
    clock.pause("nothing can be kept")
    mock_clock.jump(10)
    instrument.before_io_wait(0.5)
    mock_clock.jump(30)
    instrument.after_io_wait(0.5)
    mock_clock.jump(10)
    clock.resume("nothing can be kept")
    assert clock.now_ms() == began_ms
    mock_clock.jump(3)
    assert clock.now_ms() == began_ms + 3000


@pytest.mark.parametrize("first", ["nobody listens", "nothing can be kept"])
async def test_a_clock_that_stands_still_for_two_reasons_runs_once_neither_is_left(mock_clock: MockClock, first: Reason) -> None:
    clock = Clock()
    began_ms = clock.now_ms()
    clock.pause("nobody listens")
    mock_clock.jump(5)
    clock.pause("nothing can be kept")
    mock_clock.jump(5)
    clock.resume(first)
    mock_clock.jump(30)
    assert (clock.is_paused, clock.now_ms()) == (True, began_ms)
    clock.resume("nothing can be kept" if first == "nobody listens" else "nobody listens")
    mock_clock.jump(3)
    assert clock.now_ms() == began_ms + 3000
