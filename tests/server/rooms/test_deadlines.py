"""The heap of all rooms' deadlines: which rooms it wakes at once, and when it lets other tasks have a turn."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from server.rooms.clock import Clock
from server.rooms.deadlines import AT_ONCE, LONG_S, REST_S, Deadline, Deadlines


async def test_a_thousand_rooms_with_much_to_do_at_one_moment_leave_time_for_others(mock_clock: MockClock, nursery: trio.Nursery) -> None:
    woken = 0
    deadlines = Deadlines(Clock())

    def wake() -> None:
        nonlocal woken
        woken += 1
        mock_clock.jump(LONG_S)

    for _ in range(1000):
        Deadline(deadlines, wake).set(0)
    nursery.start_soon(deadlines.run)
    await wait_all_tasks_blocked()
    rests = 0
    while woken < 1000:
        assert woken == AT_ONCE * (rests + 1)
        mock_clock.jump(REST_S)
        await wait_all_tasks_blocked()
        rests += 1


async def test_a_start_waits_for_a_few_of_a_thousand_ends_that_were_due_before_it(mock_clock: MockClock, nursery: trio.Nursery) -> None:
    ends, before_start = 0, []
    deadlines = Deadlines(clock := Clock())

    def end() -> None:
        nonlocal ends
        ends += 1
        mock_clock.jump(LONG_S)

    for _ in range(1000):
        Deadline(deadlines, end).set(0)
    due_ms = clock.now_ms() + 50
    Deadline(deadlines, lambda: before_start.append((ends, clock.now_ms()))).set(due_ms, is_start=True)
    nursery.start_soon(deadlines.run)
    await wait_all_tasks_blocked()
    while ends < 1000:
        mock_clock.jump(REST_S)
        await wait_all_tasks_blocked()
    [(ended, started_ms)] = before_start
    assert 0 < ended < 500
    assert started_ms <= due_ms + (REST_S + AT_ONCE * LONG_S) * 1000


async def test_rooms_with_little_to_do_do_not_wait_for_one_another(mock_clock: MockClock, nursery: trio.Nursery) -> None:
    woken = 0
    deadlines = Deadlines(Clock())

    def wake() -> None:
        nonlocal woken
        woken += 1

    for _ in range(1000):
        Deadline(deadlines, wake).set(0)
    nursery.start_soon(deadlines.run)
    await wait_all_tasks_blocked()
    assert woken == 1000
