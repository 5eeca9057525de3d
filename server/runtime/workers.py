"""Processes that compute, so that the event loop does not: a bounded number, started when first needed and kept for the next job.

The one importer of trio-parallel. Must not know what is computed: a job is a function that can be imported, with arguments and a result
that can be pickled.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

import trio
import trio_parallel

logger = logging.getLogger("carpet.workers")

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

IDLE_S = 60.0
"""A worker that had nothing to do for so long ends itself, and gives its memory back."""

ENDING_S = 5.0
"""Seconds that idle workers have to end when the server does, before they are killed."""


class WorkerDied(Exception):
    """The process ended in the middle of the job: killed from outside, or out of memory."""


class Workers:
    """Made by `open_workers`."""

    def __init__(self, context: trio_parallel.WorkerContext, processes: int) -> None:
        self._context = context
        self._limiter = trio.CapacityLimiter(processes)

    async def run(self, function: Callable[Parameters, Answer], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        """What the function returns or raises, from a process of its own. Waits its turn while all workers are busy.

        Cancelling kills the worker that does the job, so a job must be one that nobody misses. Raises WorkerDied.
        """
        assert not kwargs, "arguments go by position"
        try:
            # Within the limiter nothing is queued, so who is cancelled while he waits costs no worker.
            answer: Answer = await self._context.run_sync(function, *args, kill_on_cancel=True, limiter=self._limiter)
        except trio_parallel.BrokenWorkerError as error:
            raise WorkerDied(f"the worker process that ran {function.__name__} ended in the middle of it") from error
        return answer


@asynccontextmanager
async def open_workers(processes: int) -> AsyncIterator[Workers]:
    """Room for `processes` workers (1 or more); none is started yet. On leaving they are ended; jobs must be over by then."""
    try:
        async with trio_parallel.open_worker_context(idle_timeout=IDLE_S, grace_period=ENDING_S) as context:
            yield Workers(context, processes)
    except trio_parallel.BrokenWorkerError as error:
        # Said on the way out by workers that had to be killed: nothing is lost with them.
        logger.warning("workers did not end by themselves: %s", error)
