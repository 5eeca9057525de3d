"""Where the server's time goes under load, as text: `python -m tests.bench.where_time_goes` from the top of the tree; needs py-spy.

It prints the functions with the largest shares, alone and with everything they call, and the share of each package of the server.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from client.local.load import run_load
from client.local.load_worker import Plan
from tests.bench.side_by_side import NO_MOVES, SERVERS, settle, started


def sampled(command: str, *, races: int, rate: float, seconds: int, postgres: str, setup: bool) -> list[tuple[list[str], int]]:
    """Stacks, outermost function first, and how often each was met. setup: while the players come, and not while they move."""
    with started(command, postgres=postgres) as (pid, url), tempfile.NamedTemporaryFile() as found:
        record = ["py-spy", "record", "--gil", "-r", "250", "-f", "raw", "-p", str(pid), "-d", str(seconds), "-o", found.name]
        samplers: list[subprocess.Popen[bytes]] = []

        def begin(stands: int, of: int, since: float | None) -> None:
            if (since is not None or setup) and not samplers:
                samplers.append(subprocess.Popen(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        result = run_load(
            Plan(url=url, races=races, rate=rate, watchers=0, rules="carpet"), seconds=seconds + 1, processes=1, progress=begin
        )
        samplers[0].wait()
        lines = Path(found.name).read_text().splitlines()
    print(f"{result.players_s:,.0f} players/s, then {result.moves_s:,.0f} moves/s, p99 {result.view_ms['p99']} ms")
    stacks = []
    for line in lines:
        stack, _, count = line.rpartition(" ")
        stacks.append(([frame.rpartition(":")[0] for frame in stack.split(";")], int(count)))
    return stacks


def package_of(frame: str) -> str:
    path = frame.partition("(")[2].rstrip(")")
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "server" else parts[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="sqlite", choices=SERVERS)
    parser.add_argument("--races", type=int, default=400)
    parser.add_argument("--rate", type=float, default=5.0)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--setup", action="store_true", help="while the players come, instead of while they move")
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--postgres", default="postgresql://postgres@127.0.0.1:5432/postgres")
    chosen = parser.parse_args()
    settle(-1)
    rate = NO_MOVES if chosen.setup else chosen.rate
    stacks = sampled(
        SERVERS[chosen.server], races=chosen.races, rate=rate, seconds=chosen.seconds, postgres=chosen.postgres, setup=chosen.setup
    )
    alone, within, packages = Counter[str](), Counter[str](), Counter[str]()
    for frames, count in stacks:
        alone[frames[-1]] += count
        packages[package_of(frames[-1])] += count
        for frame in set(frames):
            within[frame] += count
    everything = alone.total()
    for title, counter in (("by package", packages), ("by itself", alone), ("with all that it calls", within)):
        print(f"-- {title}")
        for name, count in counter.most_common(chosen.lines):
            print(f"{count / everything:6.1%} {name}")


if __name__ == "__main__":
    main()
