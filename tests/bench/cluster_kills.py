"""Servers that are one place, blow after blow where most races are: killed, asleep for half a minute, stopped, their Redis stopped, their
PostgreSQL restarted; and what was lost. Players and a watcher of each race come in by any server.

    python -m tests.bench.cluster_kills --blows 100 --races 6 --nodes 5
    python -m tests.bench.cluster_kills --blows 20 --races 2 --entrants 64    # and tournaments of so many, one after another

Needs a redis-server or valkey-server, and PostgreSQL's own programs for a cluster on a free port (as root it is run by the user postgres).
Prints, for each kind of blow, the seconds from it to the next acknowledged move of the races that it hit, and at the end what the records
have of all moves that were acknowledged, whether any race was written to by a server that did not own it, and what the logs of the
tournaments have of all that was told.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
import trio

from protocol.tournaments import TournamentOptions
from tests.e2e.cluster import Ground, NodeProcess, begin_tournament, busiest, check, check_owners, check_tournament, keep_log, nodes
from tests.e2e.entrants import Entrant
from tests.server.cluster.redis_server import RedisServer, redis_server

AFTER_S: Final = {"kill": 12.0, "sleep": 36.0, "stop": 6.0, "redis": 6.0, "database": 8.0}
"""Seconds from a blow to the next one: long enough for what it does to be over."""

SLEEP_S: Final = 30.0

HOLDS_S: Final = 900
"""For what a tournament comes to."""


class Postgres:
    """A PostgreSQL of its own, whose durability is left as it is by default."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "postgres"
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda found: int(found.parent.name))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self._folder), *arguments]
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)  # type: ignore[call-overload]

    def make(self) -> None:
        self._folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
        self._run("initdb", "--username=postgres", "--auth=trust")
        self.start()

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")


@contextmanager
def postgres() -> Iterator[Postgres]:
    with TemporaryDirectory(prefix="carpet-bench-") as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder))
        server.make()
        try:
            yield server
        finally:
            server.stop()


@dataclass
class Blows:
    """pauses: kind of blow to the seconds without an acknowledged move of each race that it hit."""

    database: Postgres
    redis: RedisServer
    pauses: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in AFTER_S})
    dealt: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AFTER_S, 0))

    async def deal(self, kind: str, ground: Ground) -> None:
        node = await busiest(ground.place, self.database.url)
        hit = await trio.to_thread.run_sync(races_of, self.database.url, None if kind in ("redis", "database") else node.url)
        racing = [pair for pair in ground.begin_blow() if pair.room in hit]
        started = trio.current_time()
        await self._hit(kind, node)
        await trio.sleep(max(AFTER_S[kind] - (trio.current_time() - started), 0.0))
        self.pauses[kind] += ground.end_blow(racing)
        self.dealt[kind] += 1
        if node.process is None:
            await node.start()

    async def _hit(self, kind: str, node: NodeProcess) -> None:
        match kind:
            case "kill":
                await node.end(signal.SIGKILL)
            case "sleep":
                node.signal(signal.SIGSTOP)
                await trio.sleep(SLEEP_S)
                node.signal(signal.SIGCONT)
            case "stop":
                await node.end(signal.SIGTERM)
            case "redis":
                self.redis.stop()
                await trio.sleep(AFTER_S["redis"] / 2)
                await trio.to_thread.run_sync(self.redis.start)
            case _:
                await trio.to_thread.run_sync(self.database.stop)
                await trio.to_thread.run_sync(self.database.start)


def races_of(database: str, url: str | None) -> set[str]:
    """The rooms in which a race runs: on the server at this URL, or on all."""
    with psycopg.connect(database) as connection:
        running = "SELECT room, url FROM races JOIN nodes ON nodes.id = races.node WHERE phase = 'running'"
        return {room for room, where in connection.execute(running) if url in (None, where)}


@dataclass
class Tournaments:
    """Tournaments of so many, one after another. wrong: what was wrong with those that are over."""

    ground: Ground
    database: str
    entrants: int
    over: int = 0
    results: int = 0
    wrong: list[str] = field(default_factory=list)
    calm: trio.Lock = field(default_factory=trio.Lock)
    """Held during a blow, and while a tournament begins: what entrants ask for then is not asked again."""

    async def hold(self) -> None:
        """Until the ground is finished, and the last one over."""
        options = TournamentOptions(
            name="Bench",
            rounds=6,
            check_in_s=600,
            no_show_s=120,
            pause_s=0,
            countdown_s=1,
            grace_s=120,
            rated=False,
            time_limit_s=600,
            places=self.entrants,
        )
        while self.entrants and not self.ground.finished.is_set():
            entrants = [Entrant(f"entrant {number}", strength=20 + number % 13) for number in range(self.entrants)]
            with trio.move_on_after(HOLDS_S) as patience:
                async with trio.open_nursery() as nursery:
                    async with self.calm:
                        referee = await begin_tournament(nursery, self.ground.place, options, entrants)
                        await referee.until("running", round=1)
                    await referee.until("over")
                    nursery.cancel_scope.cancel()
            if patience.cancelled_caught:
                # Nothing more of it can be checked.
                self.wrong.append(f"a tournament was not over within {HOLDS_S} seconds")
                return
            self.wrong += await trio.to_thread.run_sync(check_tournament, referee, entrants, self.database)
            assert referee.seen is not None
            self.results += sum(found.tables for found in referee.seen.rounds)
            self.over += 1


async def campaign(database: Postgres, redis: RedisServer, options: argparse.Namespace) -> bool:
    generator, blows, races, entrants = random.Random(options.seed), options.blows, options.races, options.entrants
    dealt = Blows(database, redis)
    async with nodes(database.url, redis.url, options.nodes) as place:
        keep_log(database.url)
        ground = Ground(place, generator, is_watched=True)
        tournaments = Tournaments(ground, database.url, entrants)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ground.play, races)
            nursery.start_soon(tournaments.hold)
            await trio.sleep(5)
            for number in range(blows):
                kind = generator.choice(options.kinds)
                before = len(dealt.pauses[kind])
                async with tournaments.calm:
                    await dealt.deal(kind, ground)
                for line in ground.setbacks:
                    print(f"  {line}")
                ground.setbacks.clear()
                pauses = [round(pause, 1) for pause in dealt.pauses[kind][before:]]
                print(f"{number + 1}/{blows} {kind}: {pauses}, load average {os.getloadavg()[0]:.0f}", flush=True)
            ground.finished.set()
        for node in place:
            await node.end(signal.SIGTERM)
    await trio.to_thread.run_sync(check, ground, database.url)
    moved, owned = await trio.to_thread.run_sync(check_owners, database.url)
    for kind, pauses in dealt.pauses.items():
        worst = f", next move after p50 {statistics.median(pauses):.1f} s, worst {max(pauses):.1f} s" if pauses else ""
        print(f"{kind}: {dealt.dealt[kind]} blows, {len(pauses)} races hit{worst}")
    count = ground.count
    print(f"{count.races} races, {count.acknowledged} acknowledged moves, {len(count.lost)} lost or doubled, {count.untold} players untold")
    print(f"races went {moved} times to another server; {len(owned)} times one was written to by a server that did not own it, or twice")
    print(f"{ground.watchers} watchers saw the result, {len(ground.blind)} did not; {ground.told} messages to them")
    if entrants:
        print(f"{tournaments.over} tournaments of {entrants}, {tournaments.results} results, {len(tournaments.wrong)} things wrong")
    for line in (*count.lost, *ground.failures, *ground.blind, *owned, *tournaments.wrong):
        print(line)
    return not count.lost and not count.untold and not owned and not tournaments.wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blows", type=int, default=100)
    parser.add_argument("--races", type=int, default=6, help="at once")
    parser.add_argument("--entrants", type=int, default=0, help="of tournaments, which are held one after another; 0 for none")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=AFTER_S, default=list(AFTER_S), help="of blows; each as likely as the others")
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    with postgres() as database, redis_server() as redis:
        held = trio.run(campaign, database, redis, options)
    sys.exit(not held)


if __name__ == "__main__":
    main()
