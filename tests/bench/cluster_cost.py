"""What races cost a cluster, its PostgreSQL and its Redis: `python -m tests.bench.cluster_cost`, from the top of the tree.

A point is a number of servers, of races at each, and of watchers who watch a race of the first server at the others. PostgreSQL and Redis
are the benchmark's own, PostgreSQL made with `initdb`. Each point runs `carpet load` against every server for a while, then reports SECONDS
of it: moves, commits, processor time of the servers, of PostgreSQL and of Redis, and bytes written and sent. The system counts processor
time, so other programs on the machine hardly matter. Each point prints a line of JSON for `cluster_model` to read.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

import psycopg
import trio

from client.connection.client import open_link
from protocol.watch_messages import WatchRace
from tests.bench.postgres import Postgres, postgres
from tests.bench.processes import children, processor_s
from tests.e2e.nodes import NodeProcess
from tests.ports import held_ports
from tests.server.cluster.redis_server import RedisServer, redis_server

SECONDS: Final = 10.0


@dataclass(frozen=True)
class Point:
    """nodes: servers. races: at each server, of two players with `rate` moves a second each. watchers: of one race, at other servers."""

    nodes: int
    races: int
    rate: float = 1.0
    watchers: int = 0


POINTS: Final = Point(1, 0), Point(1, 15), Point(1, 60, 4.0), Point(3, 0), Point(3, 20), Point(3, 20, 2.0), Point(3, 10, watchers=40)


@dataclass(frozen=True)
class Cost:
    """Per second, over all servers. *_s: seconds of processor time, but commit_s: seconds that commits took. deliveries: to watchers."""

    moves: float
    requests: float
    commits: float
    commit_s: float
    node_s: float
    postgres_s: float
    redis_s: float
    wal_bytes: float
    redis_bytes: float
    deliveries: float


@dataclass(frozen=True)
class Counts(Cost):
    """The same figures since each server began. at: when they were read."""

    at: float

    def until(self, later: Counts) -> Cost:
        seconds = later.at - self.at
        before, after = asdict(self), asdict(later)
        return Cost(**{name: (after[name] - before[name]) / seconds for name in before if name != "at"})


class Scene:
    """One point while it is measured."""

    def __init__(self, place: list[NodeProcess], metrics: list[int], database: str, postmaster: int, redis: RedisServer) -> None:
        self.place = place
        self.deliveries = 0
        self._metrics = metrics
        self._database = database
        self._postmaster = postmaster
        self._redis = redis

    def counts(self) -> Counts:
        told = [urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode() for port in self._metrics]
        with psycopg.connect(self._database) as connection:
            row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert row is not None
        return Counts(
            sum(figure(text, "moves") for text in told),
            sum(figure(text, "journal_requests") for text in told),
            sum(figure(text, "journal_commits") for text in told),
            sum(figure(text, "journal_commit_seconds") for text in told),
            sum(processor_s(node.process.pid) for node in self.place if node.process is not None),
            sum(map(processor_s, children(self._postmaster))),
            processor_s(self._redis.pid),
            float(row[0]),
            redis_bytes(self._redis.url),
            self.deliveries,
            time.monotonic(),
        )

    def races(self) -> list[str]:
        """The codes of running races, the first server's first."""
        with psycopg.connect(self._database) as connection:
            return [row[0] for row in connection.execute("SELECT room FROM races WHERE phase = 'running' ORDER BY node, id")]

    async def watch(self, url: str, code: str) -> None:
        async with open_link(url, None, watches=True) as link:
            link.send(WatchRace(code=code))
            async for _ in link.events:
                self.deliveries += 1


def redis_bytes(url: str) -> float:
    """The bytes that Redis has received and sent so far."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port or 6379)) as line:
        line.sendall(b"INFO stats\r\n")
        with line.makefile("rb") as answer:
            told = answer.read(int(answer.readline()[1:]))
    return sum(float(number) for number in re.findall(rb"total_net_(?:in|out)put_bytes:(\d+)", told))


def figure(text: str, name: str) -> float:
    found = re.search(rf"^carpet_{name}(?:_total)? (\S+)$", text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


async def measure(point: Point, server: Postgres) -> tuple[Cost, list[dict[str, object]]]:
    """What the point costs, and what each load generator reports."""
    with redis_server() as redis, held_ports(2 * point.nodes) as ports:
        database = server.empty()
        metrics = ports[point.nodes :]
        place = [
            NodeProcess(database, redis.url, port, ("--max-connections-per-address", "20000", "--metrics", str(other)))
            for port, other in zip(ports, metrics, strict=False)
        ]
        loads: list[subprocess.Popen[str]] = []
        try:
            for node in place:
                await node.start()
            scene = Scene(place, metrics, database, server.postmaster, redis)
            for node in place if point.races else ():
                command = [
                    sys.executable,
                    "-m",
                    "client.cli.main",
                    "load",
                    node.url,
                    "--races",
                    str(point.races),
                    "--rate",
                    str(point.rate),
                ]
                command += ["--seconds", str(SECONDS + 12 + 8 * (point.nodes - 1 - len(loads))), "--processes", "1", "--json"]
                loads.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))  # noqa: ASYNC220
                with trio.fail_after(120):
                    while len(scene.races()) < point.races * len(loads):  # noqa: ASYNC110  (nobody tells)
                        await trio.sleep(0.5)
            await trio.sleep(3)
            async with trio.open_nursery() as nursery:
                for number in range(point.watchers):
                    nursery.start_soon(scene.watch, place[1 + number % (point.nodes - 1)].url, scene.races()[0])
                await trio.sleep(3 if point.watchers else 0)
                before = await trio.to_thread.run_sync(scene.counts)
                await trio.sleep(SECONDS)
                after = await trio.to_thread.run_sync(scene.counts)
                nursery.cancel_scope.cancel()
            told = [json.loads((await trio.to_thread.run_sync(load.communicate))[0]) for load in loads]
            return before.until(after), told
        finally:
            processes: list[subprocess.Popen[str] | subprocess.Popen[bytes]] = [*loads]
            processes += [node.process for node in place if node.process is not None]
            for process in processes:
                process.kill()
                process.wait()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    rounds = parser.parse_args().rounds
    with postgres() as server:
        for _ in range(rounds):
            for point in POINTS:
                cost, told = await measure(point, server)
                views = [load.get("view_ms") for load in told]
                print(f"{point}: load average {os.getloadavg()[0]:.0f}; views {views}")
                print(json.dumps({"point": asdict(point), "cost": asdict(cost)}), flush=True)


if __name__ == "__main__":
    trio.run(main)
