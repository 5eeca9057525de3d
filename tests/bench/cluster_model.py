"""Simulates a cluster of many servers: `python -m tests.bench.cluster_model [FIGURES]`, with lines of `cluster_cost`.

The costs of a move, a commit and an entry come from the points with one server. Then each server's journal is simulated event by event:
requests come at random moments, one batch is committed at a time, requests that arrive meanwhile form the next one, and two shared batches
begin at least 4 ms apart. That gives the number of commits for a number of moves; the rest is multiplication. First it predicts the points
with several servers and prints measured beside predicted figures; then it predicts clusters that nobody has measured.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from protocol.codec import MSGPACK, encode
from protocol.server_messages import Lobby
from protocol.views import RunningRaceInfo, RunningSeatInfo
from server.cluster.bus import TICK_S
from server.cluster.directory import TICK_S as LOOK_S
from server.cluster.leases import BEAT_S
from server.rooms.closest_races import LISTED
from server.store.journal import FLOOR_S

Figures: TypeAlias = dict[str, float]

SIMULATED_S: Final = 10.0
FILLED: Final = 0.6
"""The share of a processor that a server may use: the rest is for bursts."""


@dataclass(frozen=True)
class Row:
    nodes: int
    races: int
    rate: float
    watchers: int
    cost: Figures


@dataclass(frozen=True)
class Linear:
    """The cost of something per second: a constant, plus a part for each commit and one for each request in it."""

    idle: float
    commit: float
    request: float

    def of(self, commits: float, requests: float) -> float:
        return self.idle + self.commit * commits + self.request * requests


@dataclass(frozen=True)
class Model:
    """costs: a server's, by name of the figure. a_move: what a move costs at the busiest point. delivery_s: processor time of one delivery
    to a watcher at another server. tick_bytes: through Redis, for a race that is watched from there.
    """

    costs: dict[str, Linear]
    a_move: dict[str, float]
    requests_a_move: float
    redis_idle: float
    delivery_s: float = 0.0
    tick_bytes: float = 0.0

    def foretell(self, nodes: int, moves: float, commit_s: float, *, players: int, races: int) -> Figures:
        """Predict the figures of all servers together, from each one's moves a second and part of the lobby, and the time of a commit."""
        requests = moves * self.requests_a_move
        commits, _ = simulated(requests, commit_s)
        told = {name: nodes * linear.of(commits, requests) for name, linear in self.costs.items()}
        # Each server sends its part, and receives those of all the others.
        parts = nodes * nodes * lobby_bytes(players, races) - nodes * lobby_bytes(0, 0)
        return {**told, "commits": nodes * commits, "redis_bytes": nodes * self.redis_idle + parts / LOOK_S}


def simulated(requests: float, commit_s: float, *, seed: int = 13) -> tuple[float, float]:
    """For one server with this many requests a second: commits a second, and p99 of the milliseconds from a request to its commit."""
    if not requests:
        return 0.0, 0.0
    generator = random.Random(seed)
    arrivals, at = [], 0.0
    while at < SIMULATED_S:
        at += generator.expovariate(requests)
        arrivals.append(at)
    commits, first, now, floor, waits = 0, 0, 0.0, 0.0, []
    while first < len(arrivals):
        now = max(now, arrivals[first])
        if first + 1 < len(arrivals) and arrivals[first + 1] <= max(now, floor):
            now = max(now, floor)
        last = first
        while last < len(arrivals) and arrivals[last] <= now:
            last += 1
        floor = now + FLOOR_S
        now += commit_s
        waits += [now - arrived for arrived in arrivals[first:last]]
        commits += 1
        first = last
    waits.sort()
    return commits / max(now, SIMULATED_S), waits[int(0.99 * len(waits))] * 1000


def lobby_bytes(players: int, races: int) -> int:
    """The bytes of one server's part of the lobby, with this many players and running public races."""
    seat = RunningSeatInfo(name="Somebody Else", bot=None, state="racing", home=20, rating=1500)
    running = RunningRaceInfo(
        code="KWPRTM", rules="carpet", seats=(seat, seat), watchers=3, elapsed_ms=100_000, time_limit_s=600, delay_s=10
    )
    listed, shown = min(players, LISTED), min(races, LISTED)
    names = tuple(f"Somebody {number}" for number in range(listed))
    lobby = Lobby(
        players=names,
        players_here=players,
        races=(),
        races_open=0,
        ratings=(1500,) * listed,
        races_running=races,
        running=(running,) * shown,
    )
    return len(encode(lobby, MSGPACK))


def read(path: Path) -> list[Row]:
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            rows.append(Row(**told["point"], cost=told["cost"]))
    return rows


def mean(rows: list[Row], name: str) -> float:
    return sum(row.cost[name] for row in rows) / len(rows)


def fitted(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """x and y, not negative, with x·c + y·q close to z at all points, by least squares of the relative errors."""
    scaled = [(c / z, q / z) for c, q, z in points]
    cc, qq, cq = (sum(a[i] * a[k] for a in scaled) for i, k in ((0, 0), (1, 1), (0, 1)))
    c1, q1 = (sum(each[i] for each in scaled) for i in (0, 1))
    determinant = cc * qq - cq * cq
    x, y = (c1 * qq - q1 * cq) / determinant, (q1 * cc - c1 * cq) / determinant
    if x < 0:
        return 0.0, q1 / qq
    return (c1 / cc, 0.0) if y < 0 else (x, y)


def calibrated(rows: list[Row]) -> Model:
    """A model from the points with one server, and from the one with watchers for what watchers at other servers cost."""
    alone = [row for row in rows if row.nodes == 1]
    idle, busy = [row for row in alone if not row.races], [row for row in alone if row.races]
    busiest = max(busy, key=lambda row: row.cost["moves"])
    costs, dearest = {}, {}
    for name in ("node_s", "postgres_s", "wal_bytes"):
        still = mean(idle, name)
        costs[name] = Linear(still, *fitted([(row.cost["commits"], row.cost["requests"], row.cost[name] - still) for row in busy]))
        dearest[name] = (busiest.cost[name] - still) / busiest.cost["moves"]
    model = Model(costs, dearest, mean(busy, "requests") / mean(busy, "moves"), mean(idle, "redis_bytes"))
    for row in rows:
        if row.watchers:
            unwatched = foretold(model, row)
            delivery_s = max(row.cost["node_s"] - unwatched["node_s"], 0.0) / row.cost["deliveries"]
            return replace(model, delivery_s=delivery_s, tick_bytes=max(row.cost["redis_bytes"] - unwatched["redis_bytes"], 0.0) * TICK_S)
    return model


def foretold(model: Model, row: Row) -> Figures:
    """Predicted figures for a row. The time of a commit is the row's own: on a shared machine it is mostly waiting for a processor."""
    commit_s = row.cost["commit_s"] / row.cost["commits"] if row.cost["commits"] else 0.0
    return model.foretell(row.nodes, row.cost["moves"] / row.nodes, commit_s, players=2 * row.races, races=0)


def print_checked(model: Model, rows: list[Row]) -> None:
    print(f"\n{'point':36} {'figure':12} {'measured':>12} {'foretold':>12} {'ratio':>6}")
    for row in rows:
        if row.nodes > 1 and row.races and not row.watchers:
            for name, foretells in sorted(foretold(model, row).items()):
                measured = row.cost[name]
                what = f"{row.nodes} servers, {row.cost['moves']:.0f} moves a second"
                print(f"{what:36} {name:12} {measured:12.3f} {foretells:12.3f} {foretells / measured:6.2f}")


def print_places(model: Model, commit_s: float) -> None:
    """A move costs what it did at the busiest point, although larger batches make it cheaper: nobody has measured how much."""
    heads = "servers", "commits/s", "p99 ms", "PG cores", "WAL MB/s", "Redis MB/s", "leases/s"
    print("\n    races", *(f"{head:>10}" for head in heads))
    for races in (10_000, 100_000, 1_000_000):
        moves = 2.0 * races
        nodes = math.ceil(moves * model.a_move["node_s"] / FILLED)
        commits, p99 = simulated(moves / nodes * model.requests_a_move, commit_s)
        lobby = nodes * nodes * lobby_bytes(LISTED, LISTED) / LOOK_S
        figures = nodes, nodes * commits, p99, moves * model.a_move["postgres_s"], moves * model.a_move["wal_bytes"] / 1e6, lobby / 1e6
        print(f"{races:>9,}", *(f"{each:>10,.{0 if each > 100 else 1}f}" for each in (*figures, nodes * nodes / BEAT_S)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("figures", type=Path, nargs="?", default=Path(__file__).with_name("cluster_figures.jsonl"))
    parser.add_argument("--commit-ms", type=float, default=3.0, help="how long a commit takes, of places that nobody has measured")
    asked = parser.parse_args()
    rows = read(asked.figures)
    model = calibrated(rows)
    for name, linear in model.costs.items():
        unit = 1 if name == "wal_bytes" else 1e6
        print(f"{name}: a move {model.a_move[name] * unit:.0f} where there is most to do;", end=" ")
        print(f"idle {linear.idle:.4g} a second, a commit {linear.commit * unit:.0f}, a request {linear.request * unit:.0f}")
    print(f"a move is {model.requests_a_move:.2f} requests; a full part of the lobby is {lobby_bytes(LISTED, LISTED)} bytes")
    print(f"a race watched elsewhere: {model.tick_bytes:.0f} bytes a tick; a delivery {model.delivery_s * 1e6:.0f} µs of a server")
    print_checked(model, rows)
    print_places(model, asked.commit_ms / 1000)


if __name__ == "__main__":
    main()
