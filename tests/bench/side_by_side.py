"""Our server beside others under the same load, in one run: `python -m tests.bench.side_by_side` from the top of the tree.

Each gets its load from `carpet load`, on a core of its own if there is one. What counts is its own processor time, so other work on the
machine hardly matters; the result is the ratio to the first server. Ours does everything that it does for players: it checks, limits,
journals and lets them come back. The others store nothing. They are a plain asyncio server with our rules, one on Node's `ws` with its own
rules, and the same race in Colyseus and boardgame.io, on their own wires (run `npm install --no-package-lock` in tests/bench/peers first).
--also measures any other server that speaks our wire. --find works only for servers that do.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client.local.load import LoadFailed, Worker, find_load, run_load
from client.local.load_figures import LoadResult
from client.local.load_worker import Plan, work
from tests.bench.peers.drivers import work_boardgame, work_colyseus
from tests.bench.processes import held_up_s, processor_s, resident_kb

PEERS: Final = Path(__file__).parent / "peers"
OURS: Final = (
    f"{sys.executable} -m server.cli.main serve --port {{port}} --host 127.0.0.1 --rate 1000000 --burst 1000000 "
    "--max-connections-per-address 1000000 --max-connections 100000 --max-rooms 50000 --workers 1 --log-level warning --database "
)
SERVERS: Final = {
    "sqlite": OURS + "{store}",
    "memory": OURS + "memory",
    "postgresql": OURS + "{postgres}",
    "asyncio": f"{sys.executable} {PEERS / 'asyncio_server.py'} {{port}}",
    "node": f"node {PEERS / 'node_server.mjs'} {{port}}",
    "colyseus": f"node {PEERS / 'colyseus_server.mjs'} {{port}}",
    "boardgame.io": f"node {PEERS / 'boardgame_server.cjs'} {{port}}",
}
DRIVERS: Final[dict[str, Worker]] = {"colyseus": work_colyseus, "boardgame.io": work_boardgame}
"""The drivers for servers with another wire."""
CORES: Final = sorted(os.sched_getaffinity(0))
SETUP_RACES: Final = 400
NO_MOVES: Final = 0.0001
"""Moves a second, to measure the set-up alone."""
CALM_S: Final = 3.0
FIRST: Final = -20
"""The niceness of the measured process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """us_move, us_player: microseconds of processor time for a move, and for a new player who is seated and dealt. kb: memory of a
    connection before the first move. moved_kb: at the end of the load, with its share of what is kept of the race. core, held_up: the
    shares of the time in which the server had its core, and in which others had it although the server was ready.
    """

    us_move: float
    us_player: float
    kb: float
    moved_kb: float
    core: float
    held_up: float
    load: LoadResult


@contextmanager
def started(command: str, *, postgres: str) -> Iterator[tuple[int, str]]:
    """A running server: its process and URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, _database(postgres, wanted="{postgres}" in command) as database:
        filled = command.format(port=port, store=f"{folder}/carpet.sqlite3", postgres=database)
        process = subprocess.Popen(
            shlex.split(filled), stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=lambda: settle(0)
        )
        try:
            assert process.stdout is not None
            if "listening" not in process.stdout.readline():
                raise SystemExit(f"it did not start: {filled}")
            yield process.pid, f"ws://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _database(url: str, *, wanted: bool) -> Iterator[str]:
    if not wanted:
        yield ""
        return
    import psycopg

    name = f"carpet_bench_{os.getpid()}"
    base = url.rpartition("/")[0]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{base}/{name}"
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def settle(core: int) -> None:
    """Pin this process and its children to one core, with priority over all others there if that is allowed.

    Real-time scheduling will not do: there a busy thread keeps the core for a tenth of a second while another thread of the same process
    waits, for instance the event loop for the journal's writer.
    """
    os.sched_setaffinity(0, {CORES[core]})
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)
        # This sets the priority between the processes of one session and those of others.
        with suppress(FileNotFoundError):
            Path("/proc/self/autogroup").write_text(str(FIRST))


def cost_of(command: str, *, races: int, rate: float, seconds: float, postgres: str, worker: Worker = work) -> Cost:
    with started(command, postgres=postgres) as (pid, url):
        plan = Plan(url=url, races=SETUP_RACES, rate=NO_MOVES, watchers=0, rules="carpet")
        empty_s, empty_kb = processor_s(pid), resident_kb(pid)
        full: list[tuple[float, float]] = []
        run_load(plan, seconds=0.5, processes=1, progress=lambda *_: full.append((processor_s(pid), resident_kb(pid))), worker=worker)
        # When eight hundred leave at once, our server asks others to wait a moment.
        time.sleep(CALM_S)
        plan = Plan(url=url, races=races, rate=rate, watchers=0, rules="carpet", fewer=True)
        load, core, held_up, moved_kb = loaded(pid, plan, seconds, worker)
    players = 2 * SETUP_RACES
    seated_s, full_kb = full[-1]
    return Cost(
        us_move=core / max(load.moves_s, 1e-9) * 1e6,
        us_player=(seated_s - empty_s) / players * 1e6,
        kb=(full_kb - empty_kb) / players,
        moved_kb=(moved_kb - empty_kb) / (2 * load.races),
        core=core,
        held_up=held_up,
        load=load,
    )


def loaded(pid: int, plan: Plan, seconds: float, worker: Worker = work) -> tuple[LoadResult, float, float, float]:
    """The result of a load, the shares of the time in which the server had its core and was held up by others, and its kB at the end."""
    looks: list[tuple[float, float, float, float]] = []

    def look(stands: int, races: int, since: float | None) -> None:
        if since is not None and since < seconds:
            looks.append((since, processor_s(pid), held_up_s(pid), resident_kb(pid)))

    result = run_load(plan, seconds=seconds, processes=1, progress=look, worker=worker)
    first, last = looks[0], looks[-1]
    seconds, busy, held_up = (after - before for before, after in zip(first[:3], last[:3], strict=True))
    return result, busy / seconds, held_up / seconds, last[3]


def most(command: str, *, races: int, rate: float, seconds: float, postgres: str, bound_ms: float) -> LoadResult | None:
    """The largest load that keeps the bound, searched from `races` on."""
    with started(command, postgres=postgres) as (pid, url):
        plan = Plan(url=url, races=races, rate=rate, watchers=0, rules="carpet")
        measured: list[tuple[float, float]] = []

        def look(stands: int, of: int, since: float | None) -> None:
            if since is not None and since < seconds:
                measured.append((since, held_up_s(pid)))

        def tell(result: LoadResult) -> None:
            held_up = (measured[-1][1] - measured[0][1]) / (measured[-1][0] - measured[0][0])
            measured.clear()
            times = ", ".join(f"{which} {ms} ms" for which, ms in result.view_ms.items())
            print(f"  {result.races} races: {times}, {held_up:.1%} held up, {result.errors or 'no errors'}", file=sys.stderr)
            # The players of a trial leave all at once.
            time.sleep(CALM_S)

        return find_load(plan, bound_ms=bound_ms, seconds=seconds, processes=1, tell=tell, progress=look)


def line(name: str, costs: Sequence[Cost], ours: float) -> str:
    """Medians over the rounds, and the single rounds of the main figure; of races the fewest, as a server may let in fewer."""
    move, a_second = (statistics.median(figures) for figures in zip(*((cost.us_move, cost.load.moves_s) for cost in costs), strict=True))
    quantiles = [statistics.median(cost.load.view_ms[which] or math.nan for cost in costs) for which in ("p50", "p99")]
    others = [statistics.median(figures) for figures in zip(*((cost.us_player, cost.kb, cost.moved_kb) for cost in costs), strict=True)]
    rounds = " ".join(f"{cost.us_move:.0f}" for cost in costs)
    busy = max(cost.load.busiest for cost in costs)
    errors = sum(sum(cost.load.errors.values()) for cost in costs)
    core, held_up = (statistics.median(figures) for figures in ([cost.core for cost in costs], [cost.held_up for cost in costs]))
    fewest = min(cost.load.races for cost in costs)
    return (
        f"{name:12} {fewest:6,} {move:7.0f} {move / ours:7.2f} {a_second:8,.0f} {quantiles[0]:8.1f} {quantiles[1]:8.1f}"
        f" {others[0]:8.0f} {others[1]:7.1f} {others[2]:6.1f}"
        f" {core:6.0%} {held_up:7.1%} {busy:9.0%} {errors:6}   {rounds}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", default=",".join(SERVERS), help="of " + ", ".join(SERVERS))
    parser.add_argument("--also", action="append", default=[], metavar="NAME=COMMAND", help="with {port}, and {store} for a new file")
    parser.add_argument("--races", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1.0, help="moves a second of each player; 0: the next when the last is answered")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgres", default=os.environ.get("CARPET_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres"))
    parser.add_argument("--find", type=float, metavar="MS", help="look for the most races whose p99 is below this, instead")
    chosen = parser.parse_args()
    commands = {name: SERVERS[name] for name in chosen.servers.split(",") if name}
    commands |= dict(each.split("=", 1) for each in chosen.also)
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    settle(-1)
    if chosen.find:
        given = {
            "races": chosen.races,
            "rate": chosen.rate,
            "seconds": chosen.seconds,
            "postgres": chosen.postgres,
            "bound_ms": chosen.find,
        }
        for name, command in commands.items():
            if name in DRIVERS:
                continue
            best = most(command, **given)
            told = f"{best.races} races, p50 {best.view_ms['p50']} ms, p99 {best.view_ms['p99']} ms" if best is not None else "none"
            print(f"{name:11} {told}, load average {os.getloadavg()[0]:.1f}", flush=True)
        return
    for number in range(chosen.rounds):
        for name, command in commands.items():
            given = {"races": chosen.races, "rate": chosen.rate, "seconds": chosen.seconds, "postgres": chosen.postgres}
            try:
                costs[name].append(cost_of(command, **given, worker=DRIVERS.get(name, work)))
            except LoadFailed as failed:
                print(f"{name}: {failed}", file=sys.stderr)
        print(f"round {number + 1} of {chosen.rounds}, load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    measured = {name: each for name, each in costs.items() if each}
    if not measured:
        sys.exit("no server could be measured: give fewer --races, or a lower --rate")
    print(
        f"{'server':12}  races us/move   ratio  moves/s   p50 ms   p99 ms us/player kB/line  moved   core held up generator errors   rounds"
    )
    ours = statistics.median(cost.us_move for cost in next(iter(measured.values())))
    for name, each in measured.items():
        print(line(name, each, ours))


if __name__ == "__main__":
    main()
