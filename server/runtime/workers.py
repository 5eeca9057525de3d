"""Worker processes that keep computation off the event loop: a bounded number, started when first needed and kept for the next job.

If the system can fork, workers are forks of a template process that loads all their code when the server starts. So a worker that starts an
hour later still runs its server's code, whatever has happened to the installed files since.

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
"""Seconds without a job after which a worker ends itself and gives its memory back."""

ENDING_S = 5.0
"""Seconds that idle workers have to end when the server ends, before they are killed."""


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
        """Run the function in a worker; returns or raises what it does. Waits its turn while all workers are busy.

        Cancelling kills the worker, so a job must be one that nobody will miss. Raises WorkerDied.
        """
        assert not kwargs, "arguments go by position"
        _leave_deleted_folder()
        try:
            # Jobs wait outside the limiter, so cancelling one that waits costs no worker.
            answer: Answer = await self._context.run_sync(function, *args, kill_on_cancel=True, limiter=self._limiter)
        except trio_parallel.BrokenWorkerError as error:
            raise WorkerDied(f"the worker process that ran {function.__name__} ended in the middle of it{_how(error)}") from error
        except (ImportError, AttributeError) as error:
            # The worker could not find the job's code: the job itself did not fail.
            raise WorkerDied(f"the worker process could not load {function.__module__}.{function.__name__}: {error}") from error
        return answer


def _leave_deleted_folder() -> None:
    """If this process's working directory is gone, change to the root: a worker starts in its parent's directory, and could not start."""
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir(os.sep)


def _how(error: trio_parallel.BrokenWorkerError) -> str:
    """How the process ended, as far as is known, to be added to a sentence."""
    status = getattr(error.args[-1] if error.args else None, "exitcode", None)
    if not isinstance(status, int):
        return ""
    if status >= 0:
        return f", with exit status {status}"
    name = next((known.name for known in signal.Signals if known == -status), f"signal {-status}")
    # Nobody but the system sends SIGKILL to a process of the server.
    return f", by {name}" + (" (the system may have run out of memory)" if name == "SIGKILL" else "")


@asynccontextmanager
async def open_workers(processes: int, *, code: Sequence[str] = ()) -> AsyncIterator[Workers]:
    """A pool of at most `processes` workers (1 or more); none is started yet. They are ended on exit, when all jobs must be over.

    code: the modules of all jobs. If the system can fork, they are loaded now, once for all workers that will ever be started.
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
        # Raised on exit if workers had to be killed: nothing is lost with them.
        logger.warning("workers did not end by themselves: %s", error)


def _start_template(code: Sequence[str]) -> None:
    from multiprocessing import forkserver

    _leave_deleted_folder()
    multiprocessing.set_forkserver_preload(list(code))
    forkserver.ensure_running()


@contextmanager
def _without_main_file() -> Iterator[None]:
    """Hide inside the context which file this program was started from: each new worker would run that file again."""
    main = sys.modules["__main__"]
    kept = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)
