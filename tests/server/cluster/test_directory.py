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


async def test_what_is_said_on_a_channel_is_heard_in_order_by_who_listens_and_again_after_an_outage() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            heard: list[tuple[list[bytes], bool]] = []
            here, there = one.directory.bus, two.directory.bus
            await until(lambda: here.is_up and there.is_up)
            there.listen("race:KWPRTM", lambda parts, follows: heard.append((parts, follows)))

            async def said(part: bytes) -> None:
                with trio.fail_after(20):
                    while not heard or part not in heard[-1][0]:
                        here.say("race:KWPRTM", part)
                        here.say("race:OTHERS", b"unheard")
                        await trio.sleep(0.2)

            await said(b"1")
            heard.clear()
            for number in range(5):
                here.say("race:KWPRTM", b"%d" % number)
            await until(lambda: heard)
            assert heard == [([b"0", b"1", b"2", b"3", b"4"], True)]
            redis.stop()
            await until(lambda: not here.is_up and not there.is_up)
            here.say("race:KWPRTM", b"lost")
            redis.start()
            await until(lambda: here.is_up and there.is_up)
            heard.clear()
            await said(b"2")
            assert not any(b"lost" in parts for parts, _ in heard)
            there.stop_listening("race:KWPRTM")
            await trio.sleep(0.3)
            heard.clear()
            here.say("race:KWPRTM", b"3")
            await trio.sleep(0.5)
            assert heard == []


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
