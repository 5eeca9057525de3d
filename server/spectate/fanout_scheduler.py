"""Decides when messages are posted to spectators, and to how many at a time, so that players come first. The rules:

Slices   Messages are posted for SLICE_S, to however many connections that allows; then every other task of the server has its turn. All
         rooms share one `FanoutScheduler`, so a player waits for one slice at most.
Players  Serving a player may take several tasks, one after another. With a slice between any two the player would wait each time, so the
         next slice begins only when no other task has anything to do.
Patience If other tasks are always busy, the next slice begins after SLICE_PATIENCE_S anyway. So even a fully loaded server gives a sixth of
         its time to spectators; they hear less often, of more at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import trio

SLICE_S: Final = 0.001
"""Seconds of posting in one go; up to CHECKED connections may be posted to beyond that. Between two slices the event loop looks at every
socket, which costs as much as posting to ten."""

CHECKED: Final = 16
"""Connections posted to in one call, between two looks at the stopwatch. A look costs a tenth of posting to one."""

SLICE_PATIENCE_S: Final = 0.005
"""Seconds of the stopwatch that a slice waits for the server's other tasks, at most."""

QUIET: Final = 2
"""Steps of the posting task in a row without any other task being scheduled. A task scheduled just before the first has run by the last."""

Each = TypeVar("Each")


class FanoutScheduler:
    """stopwatch: the thread's processor time, in seconds: while other processes have the machine, nobody here is served."""

    def __init__(self, stopwatch: Callable[[], float] = time.thread_time) -> None:
        self._stopwatch = stopwatch
        self._one_at_a_time = trio.Lock()
        self._others = _Others()
        self._telling = 0

    async def tell(self, everybody: Sequence[Each], tell: Callable[[Sequence[Each]], bool]) -> None:
        """Call `tell` with everybody in order, a few at a time, until it returns False. It must not block or raise."""
        told = 0
        with self._others_counted():
            while told < len(everybody):
                async with self._one_at_a_time:
                    await self._let_others()
                    ends_at = self._stopwatch() + SLICE_S
                    while told < len(everybody):
                        if not tell(everybody[told : told + CHECKED]):
                            return
                        told += CHECKED
                        if self._stopwatch() >= ends_at:
                            break

    async def _let_others(self) -> None:
        """Let all other tasks do what they have to do."""
        until = self._stopwatch() + SLICE_PATIENCE_S
        others = self._others
        others.myself = trio.lowlevel.current_task()
        quiet = 0
        while quiet < QUIET and self._stopwatch() < until:
            others.scheduled = 0
            await trio.lowlevel.checkpoint()
            quiet = 0 if others.scheduled else quiet + 1

    @contextmanager
    def _others_counted(self) -> Iterator[None]:
        # Installed only while needed: it is called for every step of every task.
        if not self._telling:
            trio.lowlevel.add_instrument(self._others)
        self._telling += 1
        try:
            yield
        finally:
            self._telling -= 1
            if not self._telling:
                trio.lowlevel.remove_instrument(self._others)


class _Others(trio.abc.Instrument):
    """Counts how often tasks other than `myself` are scheduled. scheduled: the count since it was last set to 0."""

    def __init__(self) -> None:
        self.scheduled = 0
        self.myself: trio.lowlevel.Task | None = None

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        self.scheduled += task is not self.myself
