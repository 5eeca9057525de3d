"""Processes that compute, so that the event loop does not: a bounded number, started when first needed and kept for the next job.

Where the system can fork, workers are forks of a template process that has loaded all their code when the server started. So a worker that
starts an hour later still runs the code of its server, whatever has become of the installed files since.

The one importer of trio-parallel. Must not know what is computed: a job is a function that can be imported, with arguments and a result
that can be pickled.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
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
    """The process could not do the job: it was killed from outside, ran out of memory, or did not find its code."""


class Workers:
    """Made by `open_workers`."""

    def __init__(self, context: trio_parallel.WorkerContext, processes: int) -> None:
        self._context = context
        self._limiter = trio.CapacityLimiter(processes)

    @property
    def waiting(self) -> int:
        """Jobs that wait for a worker."""
        return self._limiter.statistics().tasks_waiting

    async def run(self, function: Callable[Parameters, Answer], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        """What the function returns or raises, from a process of its own. Waits its turn while all workers are busy.

        Cancelling kills the worker that does the job, so a job must be one that nobody misses. Raises WorkerDied.
        """
        assert not kwargs, "arguments go by position"
        _leave_deleted_folder()
        try:
            # Within the limiter nothing is queued, so who is cancelled while they wait costs no worker.
            answer: Answer = await self._context.run_sync(function, *args, kill_on_cancel=True, limiter=self._limiter)
        except trio_parallel.BrokenWorkerError as error:
            raise WorkerDied(f"the worker process that ran {function.__name__} ended in the middle of it{_how(error)}") from error
        except (ImportError, AttributeError) as error:
            # Of a job that a worker cannot find: it is not the job that failed.
            raise WorkerDied(f"the worker process could not load {function.__module__}.{function.__name__}: {error}") from error
        return answer


def _leave_deleted_folder() -> None:
    """Where this process stands in a folder that is gone: a worker begins in the folder of its parent, and so could not begin."""
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir(os.sep)


def _how(error: trio_parallel.BrokenWorkerError) -> str:
    """What is known of the end of a process, to follow a sentence."""
    status = getattr(error.args[-1] if error.args else None, "exitcode", None)
    if not isinstance(status, int):
        return ""
    if status >= 0:
        return f", with exit status {status}"
    name = next((known.name for known in signal.Signals if known == -status), f"signal {-status}")
    # Nobody else sends that to a process of the server.
    return f", by {name}" + (" (the system may have run out of memory)" if name == "SIGKILL" else "")


@asynccontextmanager
async def open_workers(processes: int, *, code: Sequence[str] = ()) -> AsyncIterator[Workers]:
    """Room for `processes` workers (1 or more); none is started yet. On leaving they are ended; jobs must be over by then.

    code: the modules of all jobs. Where the system can fork they are loaded now, once, for all workers that will ever be started.
    """
    forks = bool(code) and "forkserver" in multiprocessing.get_all_start_methods()
    kind = trio_parallel.WorkerType.FORKSERVER if forks else trio_parallel.WorkerType.SPAWN
    try:
        with _without_main_file() if forks else nullcontext():
            if forks:
                await trio.to_thread.run_sync(_start_template, code)
            async with trio_parallel.open_worker_context(idle_timeout=IDLE_S, grace_period=ENDING_S, worker_type=kind) as context:
                yield Workers(context, processes)
    except trio_parallel.BrokenWorkerError as error:
        # Said on the way out by workers that had to be killed: nothing is lost with them.
        logger.warning("workers did not end by themselves: %s", error)


def _start_template(code: Sequence[str]) -> None:
    from multiprocessing import forkserver

    _leave_deleted_folder()
    multiprocessing.set_forkserver_preload(list(code))
    forkserver.ensure_running()


@contextmanager
def _without_main_file() -> Iterator[None]:
    """Meanwhile nobody can tell from which file this program was started: each new worker would run that file again."""
    main = sys.modules["__main__"]
    kept = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)
