"""Timers for all rooms: one heap for starts, one for everything else, and one task that wakes the rooms."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Final

import trio

from server.rooms.clock import Clock

AT_ONCE: Final = 8
"""Rooms woken in one go, before other tasks have a turn."""

LONG_S: Final = 0.0003
REST_S: Final = 0.004
"""If one go takes longer than LONG_S, rest this many seconds before the next. When a thousand players lose their connections together, all
their races end at once: written in a single commit, they would hold up everybody's moves."""


class Deadline:
    """The deadline of one room. `set` it as often as it changes. When it has passed, `wake` is called, which may set it again."""

    __slots__ = ("_deadlines", "_due_ms", "wake")

    def __init__(self, deadlines: Deadlines, wake: Callable[[], None]) -> None:
        self.wake: Callable[[], None] | None = wake
        self._deadlines = deadlines
        self._due_ms: int | None = None

    def set(self, due_ms: int | None, *, is_start: bool = False) -> None:
        """due_ms: by the server's clock. A later moment than before, or none, costs only one needless wake-up.

        is_start: somebody is dealt to then, or may play from then on. This does not wait for the ends of races in other rooms.
        """
        if due_ms is not None and (self._due_ms is None or due_ms < self._due_ms):
            self._due_ms = due_ms
            self._deadlines.push(due_ms, self, is_start=is_start)

    def clear(self) -> None:
        """Never wake again."""
        self.wake = None

    def passed(self, due_ms: int) -> None:
        """Called by the task of `Deadlines`."""
        if self._due_ms == due_ms and self.wake is not None:
            self._due_ms = None
            self.wake()


class Deadlines:
    """The deadlines of all rooms. `run` is its one task."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._starts: list[tuple[int, int, Deadline]] = []
        self._others: list[tuple[int, int, Deadline]] = []
        self._numbers = count()
        self._earlier = trio.Event()

    def push(self, due_ms: int, deadline: Deadline, *, is_start: bool) -> None:
        entry = (due_ms, next(self._numbers), deadline)
        heap = self._starts if is_start else self._others
        heappush(heap, entry)
        if heap[0] is entry:
            self._earlier.set()

    async def run(self) -> None:
        """Wake rooms until cancelled."""
        while True:
            self._earlier = trio.Event()
            first = min((heap[0][0] for heap in (self._starts, self._others) if heap), default=None)
            with trio.move_on_at(self._clock.deadline(first) if first is not None else float("inf")):
                await self._earlier.wait()
            now, woken, began = self._clock.now_ms(), 0, trio.current_time()
            while heap := self._passed(now):
                due_ms, _, deadline = heappop(heap)
                deadline.passed(due_ms)
                woken += 1
                if woken % AT_ONCE == 0:
                    rests = heap is self._others and trio.current_time() - began > LONG_S
                    await trio.sleep(REST_S if rests else 0)
                    now, began = self._clock.now_ms(), trio.current_time()

    def _passed(self, now: int) -> list[tuple[int, int, Deadline]]:
        """The heap that has something due, starts first; an empty one if nothing is."""
        if self._starts and self._starts[0][0] <= now:
            return self._starts
        return self._others if self._others and self._others[0][0] <= now else []
