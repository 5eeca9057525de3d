"""Long pauses of a server under load: `python -m tests.bench.pauses --races N --rate R` from the top of the tree.

It reports garbage collections, steps of Trio tasks longer than --longer milliseconds, and commits of the journal. Collections and steps are
measured in processor time, so that other work on the machine hardly matters. How long the machine itself kept the server waiting is given
too (the kernel's run-queue delay).
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from client.local.load import run_load
from client.local.load_worker import Plan
from tests.bench.processes import held_up_s, processor_s
from tests.bench.side_by_side import SERVERS, settle, started

SHOWN: Final = 12


class Step(msgspec.Struct, frozen=True):
    """A task's step: how long it took, and how much of that was garbage collection."""

    task: str
    ms: float
    collecting_ms: float


class Seen(msgspec.Struct):
    """A server's observations of itself. collections: by generation, milliseconds of each. commits: milliseconds of each, in real time."""

    collections: dict[int, list[float]] = {}
    steps: list[Step] = []
    task_ms: dict[str, float] = {}
    task_steps: dict[str, int] = {}
    commits: list[float] = []
    all_ms: float = 0.0
    objects: int = 0


class Instrument(trio.abc.Instrument):
    """Notes steps and collections. begin, end: signal handlers, so that the load can say when."""

    def __init__(self, longer_ms: float, into: Path) -> None:
        self._longer_ms = longer_ms
        self._into = into
        self._seen: Seen | None = None
        self._began = self._collecting_from = self._collected_s = 0.0

    def begin(self, *_: object) -> None:
        self._seen = Seen()

    def end(self, *_: object) -> None:
        seen, self._seen = self._seen, None
        assert seen is not None
        # To estimate what a full collection would take.
        seen.objects = len(gc.get_objects())
        began = time.thread_time()
        gc.collect()
        seen.all_ms = (time.thread_time() - began) * 1000
        self._into.write_bytes(msgspec.json.encode(seen))

    def collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_from = time.thread_time()
        elif self._seen is not None:
            took = time.thread_time() - self._collecting_from
            self._collected_s += took
            self._seen.collections.setdefault(info["generation"], []).append(took * 1000)

    def committed(self, seconds: float) -> None:
        if self._seen is not None:
            self._seen.commits.append(seconds * 1000)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._collected_s = 0.0
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if (seen := self._seen) is not None:
            took = (time.thread_time() - self._began) * 1000
            seen.task_ms[task.name] = seen.task_ms.get(task.name, 0.0) + took
            seen.task_steps[task.name] = seen.task_steps.get(task.name, 0) + 1
            if took > self._longer_ms:
                seen.steps.append(Step(task.name, took, self._collected_s * 1000))


def serve(arguments: Sequence[str], longer_ms: float, into: Path) -> None:
    """`carpet-server serve`, observed."""
    from server.cli import serve as command
    from server.cli.main import main as run_command
    from server.store.availability import CommitStatistics

    instrument = Instrument(longer_ms, into)
    signal.signal(signal.SIGUSR1, instrument.begin)
    signal.signal(signal.SIGUSR2, instrument.end)
    gc.callbacks.append(instrument.collected)
    count = CommitStatistics.count

    def counted(statistics: CommitStatistics, requests: Any, outcomes: Any, seconds: float) -> None:
        instrument.committed(seconds)
        count(statistics, requests, outcomes, seconds)

    run = command._serve

    async def observed(*given: Any) -> None:
        trio.lowlevel.add_instrument(instrument)
        await run(*given)

    CommitStatistics.count = counted  # type: ignore[assignment, method-assign]
    command._serve = observed  # type: ignore[assignment]
    sys.argv = ["carpet-server", *arguments]
    run_command()


def spread(figures: list[float]) -> str:
    ordered = sorted(figures)
    at = [ordered[min(int(part * len(ordered)), len(ordered) - 1)] for part in (0.5, 0.99)]
    return f"{len(ordered):6}, p50 {at[0]:.1f} ms, p99 {at[1]:.1f} ms, longest {ordered[-1]:.1f} ms, all {sum(ordered):.0f} ms"


def tell(seen: Seen, moves: int) -> None:
    for generation, took in sorted(seen.collections.items()):
        print(f"collections of generation {generation}: {spread(took)}")
    print(f"a look at all {seen.objects:,} objects: {seen.all_ms:.0f} ms")
    if seen.commits:
        print(f"commits: {spread(seen.commits)}")
    print("of each move, microseconds, and steps:")
    for task, ms in Counter(seen.task_ms).most_common(SHOWN):
        print(f"  {ms * 1000 / moves:6.1f} {seen.task_steps[task] / moves:6.2f}  {task}")
    print(f"{len(seen.steps)} long steps; the longest:")
    for step in sorted(seen.steps, key=lambda each: -each.ms)[:SHOWN]:
        print(f"  {step.ms:6.1f} ms, {step.collecting_ms:.1f} of it collecting: {step.task}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="sqlite", choices=("sqlite", "memory"))
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--longer", type=float, default=5.0, metavar="MS", help="which steps are told of")
    parser.add_argument("--serve", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve is not None:
        serve(chosen.serve, chosen.longer, chosen.into)
        return
    settle(-1)
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder, "seen.json")
        observed = f"-m tests.bench.pauses --longer {chosen.longer} --into {into} --serve"
        with started(SERVERS[chosen.server].replace("-m server.cli.main", observed), postgres="") as (pid, url):
            looks: list[tuple[float, float, float]] = []

            def look(stands: int, of: int, since: float | None) -> None:
                if since is not None and since < chosen.seconds:
                    if not looks:
                        os.kill(pid, signal.SIGUSR1)
                    looks.append((since, processor_s(pid), held_up_s(pid)))
                elif since is not None and not into.exists():
                    # The measurement ends here: now the players leave.
                    os.kill(pid, signal.SIGUSR2)

            plan = Plan(url=url, races=chosen.races, rate=chosen.rate, watchers=0, rules="carpet")
            result = run_load(plan, seconds=chosen.seconds, processes=1, progress=look)
            while not into.exists() or not into.stat().st_size:
                time.sleep(0.1)
        seconds, core, held_up = (after - before for before, after in zip(looks[0], looks[-1], strict=True))
        times = ", ".join(f"{which} {ms} ms" for which, ms in result.view_ms.items())
        print(f"{result.moves_s:,.0f} moves a second: {times}, {result.errors or 'no errors'}")
        print(f"{core / seconds:.0%} of the core; ready and kept waiting by others for {held_up / seconds:.1%}")
        tell(msgspec.json.decode(into.read_bytes(), type=Seen), result.moves)


if __name__ == "__main__":
    main()
