"""The load generator: any number of processes, each with players on their own sockets, and their results added up.

`load_worker` has how one process plays and measures, `load_figures` what is measured; the command has what is shown of it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import secrets
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Final, TypeAlias

import msgspec

from client.connection.errors import Failure
from client.local.load_figures import LoadCounts, LoadResult, together
from client.local.load_worker import Plan, work

Progress: TypeAlias = Callable[[int, int, float | None], None]
"""Called with how many races run, of how many, and for how many seconds has been measured; None before that."""

Worker: TypeAlias = Callable[[Connection, Plan, float, str], None]
"""Like `load_worker.work`, for a server that speaks another protocol."""

FOUND_WITHIN: Final = 0.05
"""The search ends when the largest load that holds and the smallest that does not are this close."""


class LoadFailed(Failure):
    """The load could not be produced; the text says why."""


def run_load(plan: Plan, *, seconds: float, processes: int, progress: Progress, worker: Worker = work) -> LoadResult:
    """Set `plan` up over `processes` processes and measure for `seconds`. worker: what each process does. Raises LoadFailed."""
    processes = min(processes, plan.races)
    with _started(plan, processes, seconds, worker) as pipes:
        stands = dict.fromkeys(pipes, 0)
        waiting = set(pipes)
        while waiting:
            for pipe in wait(list(waiting)):
                assert isinstance(pipe, Connection)
                told = _heard(pipe)
                if told is None:
                    waiting.discard(pipe)
                else:
                    assert isinstance(told, int)
                    stands[pipe] = told
                    progress(sum(stands.values()), plan.races, None)
        for pipe in pipes:
            pipe.send(None)
        begun = time.monotonic()
        while not wait(list(pipes), 0.2) and time.monotonic() < begun + 2 * seconds + 10:
            progress(sum(stands.values()), plan.races, min(time.monotonic() - begun, seconds))
        tallies = [_heard(pipe) for pipe in pipes]
    return together([tally for tally in tallies if isinstance(tally, LoadCounts)])


def find_load(
    plan: Plan, *, bound_ms: float, seconds: float, processes: int, tell: Callable[[LoadResult], None], progress: Progress
) -> LoadResult | None:
    """The largest load whose p99 is within the bound: the races of `plan` are doubled until it is not, then bisected. If the server lets
    fewer in and those hold, the search ends there.

    tell: called with each trial that ran. Returns None if not even one race holds.
    """
    best: LoadResult | None = None
    races, holds, fails = plan.races, 0, 0
    while not fails or fails - holds > max(1, FOUND_WITHIN * fails):
        trial = msgspec.structs.replace(plan, races=races, fewer=True)
        try:
            result = run_load(trial, seconds=seconds, processes=processes, progress=progress)
        except LoadFailed:
            if best is None:
                raise
            fails = races
        else:
            tell(result)
            if not result.holds(bound_ms):
                fails = result.races
            elif result.races < races:
                return result if result.races > holds else best
            else:
                best, holds = result, races
        races = (holds + fails) // 2 if fails else 2 * holds
    return best


@contextlib.contextmanager
def _started(plan: Plan, processes: int, seconds: float, worker: Worker) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")
    running = []
    pipes: list[Connection] = []
    mark = secrets.token_hex(2)
    try:
        for number in range(processes):
            ours, theirs = context.Pipe()
            part = msgspec.structs.replace(
                plan, races=_share(plan.races, processes, number), watchers=_share(plan.watchers, processes, number)
            )
            process = context.Process(target=worker, args=(theirs, part, seconds, f"{mark}{number}."), daemon=True)
            process.start()
            theirs.close()
            running.append(process)
            pipes.append(ours)
        yield pipes
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.join()
        for pipe in pipes:
            pipe.close()


def _share(whole: int, parts: int, number: int) -> int:
    return whole * (number + 1) // parts - whole * number // parts


def _heard(pipe: Connection) -> object:
    try:
        told: object = pipe.recv()
    except (EOFError, ConnectionResetError) as error:
        # Reset, if the process had not read everything it was sent.
        raise LoadFailed("A process of the load generator died.") from error
    if isinstance(told, str):
        raise LoadFailed(told)
    return told
