"""Three servers that are one place, blow after blow where most races are: killed, asleep, stopped, their Redis stopped; and what was lost.

    python -m tests.bench.cluster_kills --blows 100 --races 6

Needs a PostgreSQL (CARPET_TEST_POSTGRES, or the usual port) and a redis-server or valkey-server. Prints, for each kind of blow, the seconds
from it to the next acknowledged move of the races that it hit, and at the end what the records have of all moves that were acknowledged.
"""

from __future__ import annotations

import argparse
import random
import signal
import statistics
import sys
from dataclasses import dataclass, field
from typing import Final

import trio

from tests.e2e.cluster import Ground, NodeProcess, busiest, check, nodes
from tests.server.cluster.redis_server import RedisServer, redis_server
from tests.server.store.conftest import postgres_schema

AFTER_S: Final = {"kill": 12.0, "sleep": 16.0, "stop": 5.0, "redis": 6.0}
"""Seconds from a blow to the next one: long enough for what it does to be over."""

SLEEP_S: Final = 10.0


@dataclass
class Blows:
    """pauses: kind of blow to the seconds without an acknowledged move of each race that it hit."""

    database: str
    redis: RedisServer
    pauses: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in AFTER_S})
    dealt: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AFTER_S, 0))

    async def deal(self, kind: str, ground: Ground) -> None:
        node = await busiest(ground.place, self.database)
        racing = ground.begin_blow()
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
            case _:
                self.redis.stop()
                await trio.sleep(AFTER_S["redis"] / 2)
                await trio.to_thread.run_sync(self.redis.start)


async def campaign(database: str, redis: RedisServer, *, blows: int, races: int, seed: int) -> bool:
    generator = random.Random(seed)
    dealt = Blows(database, redis)
    async with nodes(database, redis.url) as place:
        ground = Ground(place, generator)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ground.play, races)
            await trio.sleep(5)
            for number in range(blows):
                kind = generator.choice(list(AFTER_S))
                await dealt.deal(kind, ground)
                print(f"{number + 1}/{blows} {kind}: {[round(pause, 1) for pause in dealt.pauses[kind]][-races:]}", flush=True)
            ground.finished.set()
        for node in place:
            await node.end(signal.SIGTERM)
    await trio.to_thread.run_sync(check, ground, database)
    for kind, pauses in dealt.pauses.items():
        worst = f", next move after p50 {statistics.median(pauses):.1f} s, worst {max(pauses):.1f} s" if pauses else ""
        print(f"{kind}: {dealt.dealt[kind]} blows, {len(pauses)} races hit for more than a second{worst}")
    count = ground.count
    print(f"{count.races} races, {count.acknowledged} acknowledged moves, {len(count.lost)} lost or doubled, {count.untold} players untold")
    for line in (*count.lost, *ground.failures):
        print(line)
    return not count.lost and not count.untold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blows", type=int, default=100)
    parser.add_argument("--races", type=int, default=6, help="at once")
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    with postgres_schema() as (database, _), redis_server() as redis:
        held = trio.run(lambda: campaign(database, redis, blows=options.blows, races=options.races, seed=options.seed))
    sys.exit(not held)


if __name__ == "__main__":
    main()
