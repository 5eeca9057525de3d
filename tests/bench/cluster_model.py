"""A place of many servers as a simulation: `python -m tests.bench.cluster_model FIGURES`, with the lines that `cluster_cost` printed.

What a move, a commit and an entry cost is taken from the points with one server. The journal of each server is then played, event by event:
requests come at random moments, one batch is committed at a time, what comes meanwhile is the next one, and two batches that are shared
begin 4 ms apart at least. That says how many commits so many moves become; the rest is multiplication. First it foretells the points with
several servers and prints measured figures beside foretold ones; then the same model is asked about places that nobody has measured.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from server.cluster.bus import TICK_S
from server.cluster.directory import TICK_S as LOOK_S
from server.cluster.leases import BEAT_S
from server.store.journal import FLOOR_S

Figures: TypeAlias = dict[str, float]

SIMULATED_S: Final = 20.0
FILLED: Final = 0.6
"""Of a processor, how much a server may use: the rest is for what comes at once."""


@dataclass(frozen=True)
class Row:
    nodes: int
    races: int
    rate: float
    watchers: int
    cost: Figures


@dataclass(frozen=True)
class Linear:
    """What something costs a second: always, for each commit, and for each request in it."""

    idle: float
    commit: float
    request: float

    def of(self, commits: float, requests: float) -> float:
        return self.idle + self.commit * commits + self.request * requests


@dataclass(frozen=True)
class Model:
    """costs: by name of the figure, a server's. commit_s, entry_s: how long a commit takes, and longer for each request in it."""

    costs: dict[str, Linear]
    commit_s: float
    entry_s: float
    requests_a_move: float
    redis_idle: float
    pair_bytes: float
    delivery_s: float
    tick_bytes: float

    def commits(self, requests: float, *, seed: int = 13) -> tuple[float, float]:
        """Of one server with so many requests a second: commits a second, and milliseconds from a request to its commit, p99."""
        if not requests:
            return 0.0, 0.0
        generator = random.Random(seed)
        commits, now, floor, waits = 0, 0.0, 0.0, []
        arrivals, at = [], 0.0
        while at < SIMULATED_S:
            at += generator.expovariate(requests)
            arrivals.append(at)
        first = 0
        while first < len(arrivals):
            now = max(now, arrivals[first])
            if first + 1 < len(arrivals) and arrivals[first + 1] <= max(now, floor):
                now = max(now, floor)
            last = first
            while last < len(arrivals) and arrivals[last] <= now:
                last += 1
            floor = now + FLOOR_S
            now += self.commit_s + self.entry_s * (last - first)
            waits += [now - arrived for arrived in arrivals[first:last]]
            commits += 1
            first = last
        waits.sort()
        return commits / max(now, SIMULATED_S), waits[int(0.99 * len(waits))] * 1000

    def foretell(self, nodes: int, moves: float) -> Figures:
        """Of all servers together, for so many moves a second at each."""
        requests = moves * self.requests_a_move
        commits, _ = self.commits(requests)
        told = {name: nodes * linear.of(commits, requests) for name, linear in self.costs.items()}
        return {**told, "commits": nodes * commits, "redis_bytes": nodes * self.redis_idle + nodes * (nodes - 1) * self.pair_bytes / LOOK_S}


def read(path: Path) -> list[Row]:
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            rows.append(Row(**told["point"], cost=told["cost"]))
    return rows


def mean(rows: list[Row], name: str) -> float:
    return sum(row.cost[name] for row in rows) / len(rows)


def solved(low: tuple[float, float, float], high: tuple[float, float, float]) -> tuple[float, float]:
    """x and y with x·c + y·q = z at both points; where noise makes one of them negative, all is the other's."""
    (c1, q1, z1), (c2, q2, z2) = low, high
    determinant = c1 * q2 - c2 * q1
    x, y = (z1 * q2 - z2 * q1) / determinant, (c1 * z2 - c2 * z1) / determinant
    if x < 0:
        return 0.0, z2 / q2
    return (z2 / c2, 0.0) if y < 0 else (x, y)


def calibrated(rows: list[Row]) -> Model:
    """From the points with one server, and what two more cost the Redis while nothing is done."""
    alone = [row for row in rows if row.nodes == 1]
    idle, low, high = ([row for row in alone if row.races == races] for races in sorted({row.races for row in alone}))
    several = [row for row in rows if row.nodes > 1 and not row.races]
    watched = [row for row in rows if row.watchers]
    costs = {}
    for name in ("node_s", "postgres_s", "wal_bytes"):
        still = mean(idle, name)
        points = [(mean(each, "commits"), mean(each, "requests"), mean(each, name) - still) for each in (low, high)]
        costs[name] = Linear(still, *solved(points[0], points[1]))
    per = [(1.0, mean(each, "requests") / mean(each, "commits"), mean(each, "commit_s") / mean(each, "commits")) for each in (low, high)]
    commit_s, entry_s = solved(per[0], per[1])
    nodes = several[0].nodes
    model = Model(
        costs=costs,
        commit_s=commit_s,
        entry_s=entry_s,
        requests_a_move=mean(high, "requests") / mean(high, "moves"),
        redis_idle=mean(idle, "redis_bytes"),
        pair_bytes=(mean(several, "redis_bytes") - nodes * mean(idle, "redis_bytes")) / (nodes * (nodes - 1)) * LOOK_S,
        delivery_s=0.0,
        tick_bytes=0.0,
    )
    if not watched:
        return model
    row = watched[0]
    unwatched = model.foretell(row.nodes, mean(watched, "moves") / row.nodes)
    deliveries = mean(watched, "deliveries")
    return Model(
        **{
            **model.__dict__,
            "delivery_s": max(mean(watched, "node_s") - unwatched["node_s"], 0.0) / deliveries,
            "tick_bytes": max(mean(watched, "redis_bytes") - unwatched["redis_bytes"], 0.0) * TICK_S,
        }
    )


def print_checked(model: Model, rows: list[Row]) -> None:
    print(f"{'point':34} {'figure':12} {'measured':>12} {'foretold':>12} {'ratio':>6}")
    for row in rows:
        if row.nodes == 1 or row.watchers:
            continue
        told = model.foretell(row.nodes, row.cost["moves"] / row.nodes)
        for name, foretold in sorted(told.items()):
            measured = row.cost[name]
            what = f"{row.nodes} servers, {row.races} races at each"
            print(f"{what:34} {name:12} {measured:12.3f} {foretold:12.3f} {foretold / measured if measured else 1.0:6.2f}")


def print_places(model: Model) -> None:
    print(
        f"\n{'races':>9} {'servers':>8} {'commits/s':>10} {'p99 ms':>7} {'PG cores':>9} {'WAL MB/s':>9} {'Redis MB/s':>11} {'leases/s':>9}"
    )
    for races in (10_000, 100_000, 1_000_000):
        moves = 2.0 * races
        at_each = 50.0
        # As full as they may be.
        while at_each < moves and model.foretell(1, at_each * 1.05)["node_s"] <= FILLED:
            at_each *= 1.05
        nodes = max(round(moves / at_each), 1)
        told = model.foretell(nodes, moves / nodes)
        _, p99 = model.commits(moves / nodes * model.requests_a_move)
        leases = nodes * nodes / BEAT_S
        print(
            f"{races:>9,} {nodes:>8,} {told['commits']:>10,.0f} {p99:>7.1f} {told['postgres_s']:>9.1f} {told['wal_bytes'] / 1e6:>9.1f}",
            end="",
        )
        print(f" {told['redis_bytes'] / 1e6:>11.1f} {leases:>11,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("figures", type=Path)
    rows = read(parser.parse_args().figures)
    model = calibrated(rows)
    for name, linear in model.costs.items():
        unit = 1 if name == "wal_bytes" else 1e6
        print(f"{name}: idle {linear.idle:.4g} a second, a commit {linear.commit * unit:.0f}, a request {linear.request * unit:.0f}")
    print(f"a commit takes {model.commit_s * 1000:.2f} ms, and {model.entry_s * 1000:.3f} ms for each request in it")
    print(f"a move is {model.requests_a_move:.2f} requests")
    print(f"Redis: {model.redis_idle:.0f} bytes a second for a server, {model.pair_bytes:.0f} for each look at another")
    print(f"a race watched elsewhere: {model.tick_bytes:.0f} bytes a tick; a delivery {model.delivery_s * 1e6:.0f} µs of a server")
    print_checked(model, rows)
    print_places(model)


if __name__ == "__main__":
    main()
