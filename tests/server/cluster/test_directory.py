"""What nodes know of each other through a Redis: the lobby, seats, and where a player is connected."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest
import trio

from protocol.server_messages import Lobby
from server.cluster.directory import Directory, Topic
from server.cluster.node import ClusterNode
from tests.server.cluster.redis_server import redis_server

pytestmark = pytest.mark.slow


@dataclass
class FakeNode:
    id: int
    alive: tuple[int, ...] = (1, 2)


@dataclass
class Listener:
    """One node with its directory."""

    directory: Directory
    lobby: Lobby
    seats: Mapping[str, str] = field(default_factory=dict)
    heard: Sequence[Lobby] = ()
    moved_on: list[str] = field(default_factory=list)
    told: Sequence[bytes] = ()

    async def run(self) -> None:
        topic = Topic("news", lambda: b"news of %d" % self.directory._node.id, self.hear_news)
        await self.directory.run(lambda: self.lobby, lambda: self.seats, self.hear, self.moved_on.append, [topic])

    def hear_news(self, told: Sequence[bytes]) -> None:
        self.told = told

    def hear(self, lobbies: Sequence[Lobby]) -> None:
        self.heard = lobbies


def lobby(*players: str) -> Lobby:
    return Lobby(
        players=players,
        players_here=len(players),
        races=(),
        races_open=0,
        ratings=tuple(None for _ in players),
        races_running=0,
        running=(),
    )


@asynccontextmanager
async def two_nodes(url: str) -> AsyncIterator[tuple[Listener, Listener]]:
    place = f"test-{os.getpid()}-{secrets.token_hex(4)}"
    listeners = [Listener(Directory(url, cast(ClusterNode, FakeNode(node)), place), lobby(name)) for node, name in ((1, "Ann"), (2, "Bob"))]
    async with trio.open_nursery() as nursery:
        for each in listeners:
            nursery.start_soon(each.run)
        yield listeners[0], listeners[1]
        nursery.cancel_scope.cancel()


async def until(holds: object) -> None:
    assert callable(holds)
    with trio.fail_after(20):
        while not holds():  # noqa: ASYNC110  (what another process keeps tells nobody)
            await trio.sleep(0.05)


async def test_nodes_see_each_others_lobby_seats_and_newer_connections_through_an_outage() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: [each.players for each in one.heard] == [("Bob",)] and two.heard)
            await until(lambda: (one.told, two.told) == ([b"news of 2"], [b"news of 1"]))
            one.seats = {"anna": "KWPRTM"}
            assert await one.directory.arrive("anna") is None

            async def seated() -> None:
                with trio.fail_after(20):
                    while await two.directory.arrive("anna") != "KWPRTM":  # noqa: ASYNC110  (as above)
                        await trio.sleep(0.1)

            await seated()
            assert (await two.directory.seat("anna"), await one.directory.seat("anna")) == ("KWPRTM", None)
            await until(lambda: one.moved_on == ["anna"])

            redis.stop()
            await until(lambda: not one.directory.available and not two.directory.available)
            assert await one.directory.arrive("anna") is None
            assert await two.directory.seat("anna") is None
            await until(lambda: not one.heard)
            assert one.told == ()
            redis.start()
            await until(lambda: one.directory.available and two.directory.available and one.heard)
            await seated()
            # It was forgotten where she was, so nobody hears that she has moved on.
            assert one.moved_on == ["anna"]
