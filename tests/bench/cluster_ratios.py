"""What a cluster costs against one server, as ratios: `python -m tests.bench.cluster_ratios watchers|moves`, from the top of the tree.

watchers: all watchers of a race at the server that has it, then the same number spread over three servers. For each it prints the processor
time of that server and of the others, in milliseconds a move; bytes through Redis a move; and the milliseconds from the first watcher's
getting a message to the last one's. moves: the same races by turns at a single server and at a node of a cluster, each with a PostgreSQL
database of its own; the processor time of the server and of PostgreSQL a move, and the server's less what it spends without any race.

Everything is on one machine. Other programs there change the times, but hardly the ratios of processor times: the turns are short.
"""

from __future__ import annotations

import argparse
import base64
import os
import statistics
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec
import trio

from tests.bench.cluster_cost import redis_bytes
from tests.bench.postgres import postgres
from tests.bench.processes import children, processor_s
from tests.bench.watchers import Pair, Told, answer, at, close, pair_of_players, program, race
from tests.e2e.nodes import NodeProcess
from tests.ports import held_ports
from tests.server.cluster.redis_server import RedisServer, redis_server

PAUSE_S: Final = 0.2
PAIRS: Final = 8
IDLE_S: Final = 15
OPTIONS: Final = ("--max-connections-per-address", "20000", "--rate", "1000000", "--burst", "1000000")


@asynccontextmanager
async def started(*place: NodeProcess) -> AsyncIterator[tuple[NodeProcess, ...]]:
    try:
        for node in place:
            await node.start()
        yield place
    finally:
        for node in place:
            node.forget()


def spent(node: NodeProcess) -> float:
    assert node.process is not None
    return processor_s(node.process.pid)


async def watched(pair: Pair, code: str, urls: list[str], size: int, place: tuple[NodeProcess, ...], redis: RedisServer) -> list[float]:
    """Milliseconds a move for the first server and for the others, bytes a move, and the last watcher's milliseconds, p50 and p99."""
    crowd = program("--crowd", ",".join(urls), code, str(size), core=-1)
    try:
        assert await trio.to_thread.run_sync(answer, crowd) == "ready"
        await trio.to_thread.run_sync(answer, crowd, "\n")
        before, carried = [spent(node) for node in place], redis_bytes(redis.url)
        moves = len(await race(pair, PAUSE_S))
        after, carried = [spent(node) for node in place], redis_bytes(redis.url) - carried
        told = msgspec.msgpack.decode(base64.b64decode(await trio.to_thread.run_sync(answer, crowd, "\n")), type=Told)
        if told.most > told.fewest:
            print(f"some watchers heard {told.most - told.fewest} messages more than others")
    finally:
        close(crowd)
    own, *others = (1000 * (later - earlier) / moves for earlier, later in zip(before, after, strict=True))
    spans = sorted(1000 * (last - first) for first, last in told.times.values())
    return [own, sum(others), carried / moves, at(spans, 0.5), at(spans, 0.99)]


async def watchers(size: int, rounds: int) -> None:
    with postgres() as server, redis_server() as redis, held_ports(3) as ports:
        database = server.empty()
        place = tuple(NodeProcess(database, redis.url, port, OPTIONS) for port in ports)
        async with started(*place), pair_of_players(place[0].url, 0) as (pair, code):
            urls = [node.url for node in place]
            print(f"{size} watchers        owner ms   others ms   Redis bytes   last p50 ms   last p99 ms   load average")
            rows: dict[str, list[list[float]]] = {"nobody": [], "at one": [], "over three": []}
            for _ in range(rounds):
                for what, found in rows.items():
                    number = 1 if what == "nobody" else size
                    told = await watched(pair, code, urls if what == "over three" else urls[:1], number, place, redis)
                    found.append(told)
                    print(f"{what:<20}" + "".join(f"{figure:12.1f}" for figure in told) + f"{os.getloadavg()[0]:12.0f}", flush=True)
            one, three = ([statistics.median(column) for column in zip(*rows[what], strict=True)] for what in ("at one", "over three"))
            print(f"owner, three to one: {three[0] / one[0]:.2f}; all servers: {sum(three[:2]) / sum(one[:2]):.2f}")


async def moves(rounds: int) -> None:
    with postgres() as server, redis_server() as redis, held_ports(2) as ports:
        alone = NodeProcess(server.empty(), "", ports[0], OPTIONS)
        node = NodeProcess(server.empty(), redis.url, ports[1], OPTIONS)
        async with started(alone, node), AsyncExitStack() as stack:
            pairs: dict[NodeProcess, list[Pair]] = {}
            for each in (alone, node):
                pairs[each] = [(await stack.enter_async_context(pair_of_players(each.url, number)))[0] for number in range(PAIRS)]
            costs: dict[NodeProcess, list[tuple[float, float, float]]] = {alone: [], node: []}
            idle: dict[NodeProcess, float] = {}
            for each in (alone, node):
                before_s = spent(each)
                await trio.sleep(IDLE_S)
                idle[each] = (spent(each) - before_s) / IDLE_S
            # The first round is not counted: caches are cold.
            for number in range(rounds + 1):
                for each in (alone, node) if number % 2 else (node, alone):
                    took: list[float] = []

                    async def run(pair: Pair, into: list[float]) -> None:
                        into += await race(pair, 0)

                    began = trio.current_time()
                    before = spent(each), sum(map(processor_s, children(server.postmaster)))
                    async with trio.open_nursery() as nursery:
                        for pair in pairs[each]:
                            nursery.start_soon(run, pair, took)
                    after = spent(each), sum(map(processor_s, children(server.postmaster)))
                    server_us, postgres_us = (1e6 * (later - earlier) / len(took) for earlier, later in zip(before, after, strict=True))
                    cost = server_us, postgres_us, server_us - 1e6 * idle[each] * (trio.current_time() - began) / len(took)
                    if number:
                        costs[each].append(cost)
                    what = "alone" if each is alone else "node"
                    print(f"{what:<8}{len(took):6} moves, server {cost[0]:6.0f} us, PostgreSQL {cost[1]:6.0f} us", flush=True)
            print(f"with no race, of a processor: {100 * idle[alone]:.1f} % alone, {100 * idle[node]:.1f} % as a node")
            for column, what in enumerate(("server", "PostgreSQL", "server, beyond what it spends on no race")):
                one, two = (statistics.median(cost[column] for cost in costs[each]) for each in (alone, node))
                print(f"{what}: {one:.0f} us alone, {two:.0f} us as a node: {two / one:.2f}; load average {os.getloadavg()[0]:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["watchers", "moves"])
    parser.add_argument("--watchers", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    if options.what == "watchers":
        trio.run(watchers, options.watchers, options.rounds)
    else:
        trio.run(moves, options.rounds)


if __name__ == "__main__":
    main()
