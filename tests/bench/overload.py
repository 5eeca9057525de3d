"""A server at its full load, and as much again at the door: `python -m tests.bench.overload --races N` from the top of the tree.

N races run all the time. For a while there is also a crowd: N more races, whose players come as fast as they are let in, move too, and ask
again each second if they are told to wait; and --knocks connections a second that only open and close. Then the crowd leaves all at once.
What counts: how long the N races wait for their views before, during and after the crowd; what the crowd is told; what grows in the
server; and when it is back to normal.

With --pace the crowd does not hurry: that many players come each second, are dealt their cards and make no moves, which shows what coming
costs.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection as Pipe
from typing import Final
from urllib.request import urlopen

import msgspec

from client.connection.address import parse_address
from client.local import load_worker
from client.local.load import run_load
from client.local.load_figures import Histogram, LoadResult
from client.local.load_wire import Connection, Told
from client.local.load_worker import Load, Plan
from server.net.descriptors import raise_limit
from tests.bench.processes import held_up_s, processor_s, resident_kb
from tests.bench.side_by_side import NO_MOVES, SERVERS, settle, started

BEFORE_S: Final = 6
AFTER_S: Final = 12
SETTLING_S: Final = 1
"""This many seconds after the crowd has gone do not count as "after" yet."""
LOOK_S: Final = 0.5
BURST_S: Final = 0.02
COMMITS: Final = "journal_commits_total", "journal_commit_seconds_total"
AT_ONCE: Final = 200
"""How many races of the crowd are set up at the same time."""


class Knock:
    """A connection that is opened, and dropped once it is answered."""

    def __init__(self, load: Load, told: Counter[str]) -> None:
        self._told = told
        self.line = Connection(load.address, load.loop, self)

    def opened(self) -> None:
        self._told["let in"] += 1
        self.line.leave()

    def heard(self, message: Told, now: float) -> None:
        pass

    def closed(self, why: str) -> None:
        self._told[why] += 1


def crowd(pipe: Pipe, plan: Plan, knocks: float, pace: float) -> None:
    """The crowd's process: comes when it is told to, and never ends by itself.

    Each second it reports how many races stand, how often they were asked to wait, what failed, and what knocks led to.
    """
    # It shares a core with the players whose times are measured, and must not keep them waiting.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    load = Load(plan, parse_address(plan.url), "crowd")
    told: Counter[str] = Counter()

    def knock(due: float) -> None:
        for _ in range(max(round(knocks * BURST_S), 1)):
            try:
                Knock(load, told)
            except OSError as error:
                told[error.strerror or "no connection"] += 1
        load.loop.at(due + BURST_S, knock)

    def tell(due: float) -> None:
        with suppress(BrokenPipeError):
            pipe.send((load.stands, load.asked_to_wait, dict(load.errors), dict(told)))
        load.loop.at(due + LOOK_S, tell)

    # A knock that is refused keeps its descriptor until it hears so.
    raise_limit()
    load_worker.CONNECTING = AT_ONCE  # type: ignore[misc]
    pipe.recv()
    now = began = time.perf_counter()

    def come(due: float) -> None:
        load.plan = msgspec.structs.replace(plan, races=min(round((due - began) * pace / 2), plan.races))
        load.open_some()
        load.loop.at(due + BURST_S, come)

    if pace:
        come(now)
    else:
        load.open_some()
    if knocks:
        load.loop.at(now, knock)
    load.loop.at(now, tell)
    load.loop.run(lambda: math.inf)


@contextmanager
def crowded(plan: Plan, knocks: float = 0.0, pace: float = 0.0) -> Iterator[Pipe]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=crowd, args=(theirs, plan, knocks, pace), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()


class Watch(threading.Thread):
    """Looks at the server once a second: its memory, and the metrics that it publishes."""

    def __init__(self, pid: int, metrics: str) -> None:
        super().__init__(daemon=True)
        self._pid, self._metrics = pid, metrics
        self.most: dict[str, float] = {}
        self.last: dict[str, float] = {}
        self.memory_mb: list[float] = []
        self.looks: list[tuple[float, float, float, float]] = []
        """For each second: the share in which the server had its core, and in which others had it though it was ready; commits, ms each."""
        self.stop = threading.Event()

    def run(self) -> None:
        before: tuple[float, ...] = (0.0,) * 5
        while not self.stop.wait(LOOK_S):
            self.memory_mb.append(resident_kb(self._pid) / 1024)
            with urlopen(self._metrics) as page:
                found = re.findall(r"^carpet_(\S+) (\S+)$", page.read().decode(), re.MULTILINE)
            self.last = {name: float(figure) for name, figure in found}
            for name, figure in self.last.items():
                self.most[name] = max(self.most.get(name, 0.0), figure)
            now = time.monotonic(), processor_s(self._pid), held_up_s(self._pid), *map(self.last.__getitem__, COMMITS)
            if now[0] >= before[0] + 1:
                seconds, core, held_up, commits, commit_s = (there - here for here, there in zip(before, now, strict=True))
                self.looks.append((core / seconds, held_up / seconds, commits, commit_s / max(commits, 1) * 1000))
                before = now


def together(views: Iterable[Histogram]) -> Histogram:
    whole = Histogram()
    for each in views:
        whole.merge(each)
    return whole


def told(when: str, result: LoadResult, begin: int, end: int) -> str:
    views = together(views for second, views in result.by_second.items() if begin <= second < end)
    times = ", ".join(f"p{round(part * 100)} {views.quantile(part) or math.nan:.1f} ms" for part in (0.5, 0.9, 0.99))
    return f"{when:10} {times}, longest {views.most:.0f} ms, of {views.total:,} moves"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--crowd", type=int, help="as many races more, other than as many again")
    parser.add_argument("--knocks", type=float, default=100.0, help="connections a second that only knock")
    parser.add_argument("--pace", type=float, default=0.0, help="players a second; 0 for as many as are let in")
    parser.add_argument("--rate", type=float, default=1.0, help="moves a second of each player")
    parser.add_argument("--seconds", type=int, default=30, help="for which the crowd is there")
    parser.add_argument("--metrics-port", type=int, default=9477)
    chosen = parser.parse_args()
    settle(-1)
    metrics = f"127.0.0.1:{chosen.metrics_port}"
    with started(f"{SERVERS['sqlite']} --metrics {metrics}".replace("--database  --metrics", "--metrics"), postgres="") as (pid, url):
        watch = Watch(pid, f"http://{metrics}/metrics")
        plan = Plan(url=url, races=chosen.races, rate=chosen.rate, watchers=0, rules="carpet")
        crowd_rate = NO_MOVES if chosen.pace else chosen.rate
        more = Plan(url=url, races=chosen.races if chosen.crowd is None else chosen.crowd, rate=crowd_rate, watchers=0, rules="carpet")
        go = threading.Event()
        gone_at: list[float] = []
        heard: list[tuple[int, int, dict[str, int], dict[str, int]]] = []
        looks: dict[str, tuple[float, float, float]] = {}

        def look(when: str) -> None:
            looks[when] = time.monotonic(), processor_s(pid), held_up_s(pid)

        def come() -> None:
            one = Plan(url=url, races=1, rate=chosen.rate, watchers=0, rules="carpet")
            # Start both before measuring anything: that takes a second of the generator's core.
            with crowded(one) as newcomers:
                with crowded(more, chosen.knocks, chosen.pace) as pipe:
                    go.wait()
                    time.sleep(BEFORE_S)
                    look("come")
                    ends = time.monotonic() + chosen.seconds
                    pipe.send(None)
                    while (left := ends - time.monotonic()) > 0:
                        if pipe.poll(left):
                            heard.append(pipe.recv())
                look("gone")
                newcomers.send(None)
                while not newcomers.recv()[0]:
                    pass
                gone_at.append(time.monotonic() - looks["gone"][0])

        def measured(stands: int, of: int, since: float | None) -> None:
            if since is not None and not go.is_set():
                look("begin")
                go.set()

        watch.start()
        others = threading.Thread(target=come, daemon=True)
        others.start()
        result = run_load(plan, seconds=BEFORE_S + chosen.seconds + AFTER_S, processes=1, progress=measured)
        look("end")
        others.join(AFTER_S)
        watch.stop.set()
    gone_after = BEFORE_S + chosen.seconds
    phases = (("before", 0, BEFORE_S), ("meanwhile", BEFORE_S, gone_after), ("after", gone_after + SETTLING_S + 1, 10**9))
    for when, begin, end in phases:
        print(told(when, result, begin, end))
    print("p99 of each second, ms: " + " ".join(f"{views.quantile(0.99) or 0:.0f}" for _, views in sorted(result.by_second.items())))
    for (first, before), (last, after) in itertools.pairwise(looks.items()):
        seconds, core, held_up = (there - here for here, there in zip(before, after, strict=True))
        print(f"{first} to {last}: {core / seconds:.0%} of the core; kept waiting by others for {held_up / seconds:.1%}")
    looks_of = zip(*watch.looks, strict=True)
    for what, figures, form in zip(("its core", "held up", "commits", "ms a commit"), looks_of, (".0%", ".0%", ".0f", ".1f"), strict=True):
        print(f"{what}, each second: " + " ".join(format(figure, form) for figure in figures[1:]))
    stands, asked_to_wait, errors, knocked = heard[-1]
    if chosen.pace:
        (begin_at, begin_s, _), (come_at, come_s, _), (gone_at_, gone_s, _) = (looks[when] for when in ("begin", "come", "gone"))
        extra_s = gone_s - come_s - (come_s - begin_s) / (come_at - begin_at) * (gone_at_ - come_at)
        print(f"a new player: {extra_s / max(2 * stands, 1) * 1e6:.0f} µs of processor time")
    print(f"of {more.races} more races {stands} were opened, asked to wait {asked_to_wait} times; {errors or 'no errors'}")
    print(f"what knocks led to: {knocked}")
    print(f"a new race ran {gone_at[0]:.1f} s after the crowd had gone" if gone_at else "no new race ran afterwards")
    quarter = max(len(watch.memory_mb) // 4, 1)
    print("memory, MB, at each quarter: " + " ".join(f"{mb:.0f}" for mb in watch.memory_mb[::quarter]))
    for name in sorted(name for name in watch.most if "queue" in name or "refused" in name or name in ("connections", "rooms")):
        print(f"{name}: at most {watch.most[name]:g}, in the end {watch.last[name]:g}")
    print(f"running races: {result.errors or 'no errors'}; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
