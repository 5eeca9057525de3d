"""When spectators are posted to: who comes first, and how much at a time. The rules of the file:

Slices   Connections are posted to for SLICE_S, however many that are; then every other task of the server has its turn. All rooms share one
         `FanoutScheduler`, so at most one slice lies between players and their views.
Players  What is done for a player may take more than one task, each of which runs when the one before it has: a slice between any two would
         be waited for each time. So the next slice begins when nobody else has anything to do.
Patience Where somebody always has something to do it begins after PATIENCE_S all the same. So a server that is as busy as it can be gives a
         sixth of its time to those who watch, and they hear less often, of more at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import trio

SLICE_S: Final = 0.001
"""Seconds of posting in one go; CHECKED connections more may be begun. Between two slices the event loop looks at every socket, which costs
as much as posting to ten."""

CHECKED: Final = 16
"""Connections between two looks at the stopwatch, which cost a tenth of posting to one, and in one call of who posts to them."""

PATIENCE_S: Final = 0.005
"""Seconds of them that a slice waits for the server's other tasks, at most."""

QUIET: Final = 2
"""Steps of the posting task between which nobody else was scheduled. Whoever was by the first of them, just before, has run by the last."""

Each = TypeVar("Each")


class FanoutScheduler:
    """stopwatch: seconds of processor time of the thread: where other processes have the machine, nobody here was served meanwhile."""

    def __init__(self, stopwatch: Callable[[], float] = time.thread_time) -> None:
        self._stopwatch = stopwatch
        self._one_at_a_time = trio.Lock()
        self._others = _Others()
        self._telling = 0

    async def tell(self, everybody: Sequence[Each], tell: Callable[[Sequence[Each]], bool]) -> None:
        """Call `tell` with everybody in their order, a few at a time, until it says False. It must not block or raise."""
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
        """Let everybody else do what there is to be done."""
        until = self._stopwatch() + PATIENCE_S
        others = self._others
        others.myself = trio.lowlevel.current_task()
        quiet = 0
        while quiet < QUIET and self._stopwatch() < until:
            others.scheduled = 0
            await trio.lowlevel.checkpoint()
            quiet = 0 if others.scheduled else quiet + 1

    @contextmanager
    def _others_counted(self) -> Iterator[None]:
        # Not for good: it is a call for every step of every task.
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
    """Counts whoever is to run beside the task `myself`. scheduled: since it was last set."""

    def __init__(self) -> None:
        self.scheduled = 0
        self.myself: trio.lowlevel.Task | None = None

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        self.scheduled += task is not self.myself
