"""A crowd is served a slice at a time, and only while nothing else is to be done. The stopwatch here is the test's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import pytest
import trio
import trio.testing

from server.spectate.fanout_scheduler import CHECKED, SLICE_PATIENCE_S, SLICE_S, FanoutScheduler

pytestmark = pytest.mark.usefixtures("autojump_clock")

A_SLICE = 2 * CHECKED
"""Lines that are told in one: the last one goes over its end."""

LINES = 6 * A_SLICE + 4

POST_S = SLICE_S / (A_SLICE - 0.5)


class Loop:
    """What was done in the order in which it was: `line` was told, or some `other` task had a step."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns = FanoutScheduler(lambda: self.now)
        self.done: list[str] = []
        self.lines: list[int] = []

    def tell(self, lines: Sequence[int]) -> bool:
        for line in lines:
            self.now += POST_S
            self.done.append("line")
            self.lines.append(line)
        return True

    async def tell_all(self, lines: int) -> None:
        await self.turns.tell(range(lines), self.tell)

    async def be_busy(self, takes_s: float, until: Callable[[], bool]) -> None:
        """Always have something to do, which takes so long."""
        while not until():
            self.now += takes_s
            self.done.append("other")
            await trio.lowlevel.checkpoint()

    @property
    def runs(self) -> list[tuple[str, int]]:
        return [(what, len(list(run))) for what, run in groupby(self.done)]

    @property
    def slices(self) -> list[int]:
        return [length for what, length in self.runs if what == "line"]


async def test_all_are_told_once_and_in_their_order() -> None:
    loop = Loop()
    await loop.tell_all(LINES)
    assert loop.lines == list(range(LINES))


async def test_telling_ends_with_who_says_so() -> None:
    told: list[int] = []

    def tell(lines: Sequence[int]) -> bool:
        told.extend(lines)
        return 3 * CHECKED not in lines

    await FanoutScheduler().tell(range(10 * CHECKED), tell)
    assert told == list(range(4 * CHECKED))


async def test_a_slice_has_a_length_in_time_and_then_others_have_their_turn() -> None:
    loop = Loop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.be_busy, SLICE_PATIENCE_S, lambda: len(loop.lines) == LINES)
        nursery.start_soon(loop.tell_all, LINES)
    assert loop.slices == [A_SLICE] * 6 + [4]


async def test_however_many_crowds_there_are_one_slice_at_most_is_between_two_turns_of_others() -> None:
    loop = Loop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.be_busy, SLICE_PATIENCE_S, lambda: len(loop.lines) == 5 * 4 * A_SLICE)
        for _ in range(5):
            nursery.start_soon(loop.tell_all, 4 * A_SLICE)
    assert max(loop.slices) == A_SLICE
    assert sorted(loop.lines) == sorted(5 * list(range(4 * A_SLICE)))


async def test_nobody_is_told_anything_while_others_have_something_to_do() -> None:
    loop = Loop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.tell_all, 20)
        await loop.be_busy(0, lambda: len(loop.done) == 50)
    assert loop.runs == [("other", 50), ("line", 20)]


async def test_what_goes_through_many_tasks_waits_for_one_slice_and_not_for_one_between_any_two() -> None:
    loop = Loop()
    hops = [trio.Event() for _ in range(10)]

    async def hop(number: int) -> None:
        await hops[number].wait()
        loop.done.append("other")
        if number + 1 < len(hops):
            hops[number + 1].set()

    def tell(lines: Sequence[int]) -> bool:
        for line in lines:
            loop.tell([line])
            if line == 3 * A_SLICE:
                loop.done.append("a move has come")
                hops[0].set()
        return True

    async with trio.open_nursery() as nursery:
        for number in range(len(hops)):
            nursery.start_soon(hop, number)
        await trio.testing.wait_all_tasks_blocked()
        await loop.turns.tell(range(LINES), tell)
    came = loop.runs.index(("a move has come", 1))
    assert loop.runs[came + 1 : came + 3] == [("line", A_SLICE - 1), ("other", len(hops))]


async def test_where_others_are_always_busy_they_leave_a_tenth_of_the_time() -> None:
    loop = Loop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.be_busy, SLICE_PATIENCE_S / 10, lambda: len(loop.lines) == LINES)
        nursery.start_soon(loop.tell_all, LINES)
    others = [length for what, length in loop.runs if what == "other"]
    # One step more while the lock is taken, and the order within a turn of the loop is by chance.
    assert all(9 <= length <= 13 for length in others[1:-1])
    assert loop.slices == [A_SLICE] * 6 + [4]


async def test_whoever_is_cancelled_while_they_wait_leaves_the_turn_to_others() -> None:
    loop = Loop()
    with trio.CancelScope() as scope:
        scope.cancel()
        await loop.tell_all(10)
    assert not loop.lines
    await loop.tell_all(10)
    assert loop.lines == list(range(10))
