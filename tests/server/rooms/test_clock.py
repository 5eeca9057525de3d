"""The two clocks: dates follow the wall wherever it is set, and races do not."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from server.rooms import clock as clock_module
from server.rooms.clock import LOOK_S, Clock

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
    assert due == LOOK_S
    assert clock.wall_deadline(clock.wall_ms() + 3000) - trio.current_time() == pytest.approx(3.0005, abs=0.001)
