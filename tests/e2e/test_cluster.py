"""Three servers that are one place: whoever comes in by any of them races; one is killed, one sleeps, one is stopped politely.

Many of each: `tests/bench/cluster_kills.py`.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

import pytest
import trio

from tests.e2e.cluster import Ground, busiest, check, nodes
from tests.server.cluster.redis_server import redis_server
from tests.server.store.conftest import postgres_schema


@pytest.fixture
def database() -> Iterator[str]:
    with postgres_schema() as (url, _):
        yield url


@pytest.mark.slow
async def test_races_outlive_a_server_that_is_killed_one_that_sleeps_and_one_that_goes(database: str) -> None:
    with redis_server() as redis:
        async with nodes(database, redis.url) as place:
            ground = Ground(place, random.Random(13))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ground.play, 4)
                await raced(ground, 4)

                # Each time where most races are.
                killed = await busiest(place, database)
                racing = ground.begin_blow()
                await killed.end(signal.SIGKILL)
                await ground.recovered(racing)
                assert ground.end_blow(racing), "no race was on the server that was killed"
                await killed.start()

                sleeper = await busiest(place, database)
                racing = ground.begin_blow()
                sleeper.signal(signal.SIGSTOP)
                await ground.recovered(racing)
                sleeper.signal(signal.SIGCONT)
                # It finds that its races are others' now.
                await trio.sleep(2)

                leaver = await busiest(place, database)
                racing = ground.begin_blow()
                assert await leaver.end(signal.SIGTERM) == 0
                await ground.recovered(racing)
                ground.finished.set()
            for node in place:
                if node is not leaver:
                    assert await node.end(signal.SIGTERM) == 0
    await trio.to_thread.run_sync(check, ground, database)
    assert ground.count.lost == []
    assert ground.count.untold == 0
    assert ground.count.acknowledged > 100


async def raced(ground: Ground, number: int) -> None:
    """Wait until so many pairs are racing."""
    with trio.fail_after(60):
        while len(ground.racing()) < number:  # noqa: ASYNC110  (players tell nobody when they have begun)
            await trio.sleep(0.1)
