"""What nodes know of each other through a Redis: the lobby, seats, and where a player is connected."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import msgspec
import pytest
import trio
from coredis import Redis
from coredis.exceptions import RedisError

from protocol.server_messages import Lobby
from server.cluster.bus import MESSAGE_BYTES
from server.cluster.directory import Directory, Topic, reason_of
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
            there.subscribe("race:KWPRTM", lambda parts, follows: heard.append((parts, follows)))

            async def said(part: bytes) -> None:
                with trio.fail_after(20):
                    while not heard or part not in heard[-1][0]:
                        here.publish("race:KWPRTM", part)
                        here.publish("race:OTHERS", b"unheard")
                        await trio.sleep(0.2)

            await said(b"1")
            # Of what was said before anybody listened, more may be on its way still.
            here.publish("race:KWPRTM", b"last")
            await until(lambda: heard[-1][0][-1] == b"last")
            heard.clear()
            for number in range(5):
                here.publish("race:KWPRTM", b"%d" % number)
            await until(lambda: heard)
            assert heard == [([b"0", b"1", b"2", b"3", b"4"], True)]
            redis.stop()
            await until(lambda: not here.is_up and not there.is_up)
            here.publish("race:KWPRTM", b"lost")
            redis.start()
            await until(lambda: here.is_up and there.is_up)
            heard.clear()
            await said(b"2")
            assert not any(b"lost" in parts for parts, _ in heard)
            there.unsubscribe("race:KWPRTM")
            await trio.sleep(0.3)
            heard.clear()
            here.publish("race:KWPRTM", b"3")
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
            assert (await two.directory.claim("anna"), await one.directory.claim("anna")) == ("KWPRTM", None)
            await until(lambda: one.moved_on == ["anna"])

            redis.stop()
            await until(lambda: not one.directory.available and not two.directory.available)
            assert await one.directory.arrive("anna") is None
            assert await two.directory.claim("anna") is None
            await until(lambda: not one.heard)
            assert one.told == ()
            redis.start()
            await until(lambda: one.directory.available and two.directory.available and one.heard)
            await seated()
            # She was at the other one last, before the outage.
            assert one.moved_on == ["anna"]


async def test_of_two_nodes_that_are_to_seat_a_player_one_may_and_the_other_hears_of_it_until_they_are_not_seated() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: one.told and two.told)
            nodes, answers = (one, two), list[str | None]()

            async def claim(each: Listener) -> None:
                answers.append(await each.directory.claim("anna"))

            async with trio.open_nursery() as nursery:
                for each in nodes:
                    nursery.start_soon(claim, each)
            assert sorted(answers, key=str) == ["", None]

            async def broken(*arguments: object) -> object:
                raise anyio.ClosedResourceError

            # The connection to the engine breaks before it is known to be away.
            client = cast(Any, two.directory)._client
            telling, client.eval = client.eval, broken
            assert (await two.directory.claim("anna"), await two.directory.arrive("anna")) == (None, None)
            client.eval = telling

            async def told(each: Listener, code: str | None) -> None:
                with trio.fail_after(20):
                    while await each.directory.claim("anna") != code:  # noqa: ASYNC110  (as above)
                        await trio.sleep(0.1)

            # Neither has seated her.
            await told(one, None)
            one.seats = {"anna": "KWPRTM"}
            await told(two, "KWPRTM")
            # She leaves while the engine takes in nothing.
            redis.command(b"CONFIG SET maxmemory 1")
            await until(lambda: not one.directory.available and not two.directory.available)
            one.seats = {}
            redis.command(b"CONFIG SET maxmemory 0")
            await until(lambda: one.directory.available and two.directory.available)
            await told(two, None)


async def arrive_at_both(one: Listener, two: Listener, player: str) -> None:
    async with trio.open_nursery() as nursery:
        for each in (one, two):
            nursery.start_soon(each.directory.arrive, player)


@pytest.mark.parametrize("is_told_first", [True, False])
async def test_a_hello_told_twice_sends_nobody_away_whose_hello_was_later(is_told_first: bool) -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: one.directory.available and two.directory.available)
            client = cast(Any, one.directory)._client
            telling, is_on_its_way = client.eval, trio.Event()

            async def held_up(*arguments: object) -> object:
                await is_on_its_way.wait()
                return await telling(*arguments)

            client.eval = held_up
            here = cast(Any, one.directory)._here
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.directory.arrive, "anna")
                await until(lambda: "anna" in here)
                if is_told_first:
                    await until(lambda: here["anna"].is_known)
                await two.directory.arrive("anna")
                await until(lambda: one.moved_on == ["anna"])
                is_on_its_way.set()
            client.eval = telling
            await two.directory.arrive("bob")
            await one.directory.arrive("bob")
            await until(lambda: "bob" in two.moved_on)
            assert two.moved_on == ["bob"]


async def test_of_two_hellos_at_one_moment_at_two_nodes_one_wins_with_an_engine_that_is_there_slow_away_or_emptied() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: one.directory.available and two.directory.available)
            expected: set[str] = set()

            async def all_decided(player: str, number: int) -> None:
                expected.update(f"{player}{each}" for each in range(number))
                await until(lambda: {*one.moved_on, *two.moved_on} == expected)
                assert sorted([*one.moved_on, *two.moved_on]) == sorted(expected), "nobody is sent away by both"

            async with trio.open_nursery() as nursery:
                for number in range(50):
                    nursery.start_soon(arrive_at_both, one, two, f"together-{number}")
            await all_decided("together-", 50)

            # A hello that the engine has heard, and whose answer came too late.
            redis.pause()
            for number in range(3):
                await one.directory.arrive(f"slow-{number}")
            redis.go_on()
            await until(lambda: one.directory.available and two.directory.available)
            for number in range(3):
                await two.directory.arrive(f"slow-{number}")
            await all_decided("slow-", 3)
            assert not any(player.startswith("slow") for player in two.moved_on)

            redis.stop()
            await until(lambda: not one.directory.available and not two.directory.available)
            for first, second in ((one, two), (two, one)) * 3:
                number = len(expected) - 53
                await first.directory.arrive(f"away-{number}")
                # By more than two nodes may differ in how long ago that was.
                await trio.sleep(0.3)
                await second.directory.arrive(f"away-{number}")
                expected.add(f"away-{number}")
            redis.start()
            await all_decided("away-", 6)
            late = sorted(player for player in two.moved_on if player.startswith("away"))
            assert late == sorted(f"away-{number}" for number in range(1, 6, 2)), "the older connection goes"

            await one.directory.arrive("emptied-0")
            redis.command(b"FLUSHALL")
            await trio.sleep(1.5)
            await two.directory.arrive("emptied-0")
            await all_decided("emptied-", 1)
            assert one.moved_on[-1] == "emptied-0"


async def test_an_engine_that_is_full_is_as_one_that_is_away_until_there_is_room_again() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: one.heard and two.heard)
            redis.command(b"CONFIG SET maxmemory 1")
            await until(lambda: not one.directory.available and not two.directory.available)
            assert await one.directory.arrive("anna") is None
            await until(lambda: not one.heard)
            redis.command(b"CONFIG SET maxmemory 0")
            await until(lambda: one.heard and two.heard)


async def test_who_has_a_newer_connection_is_told_so_where_the_engine_is_full_at_that_moment() -> None:
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, _), Redis.from_url(redis.url) as engine:
            await until(lambda: one.directory.available)
            await one.directory.arrive("anna")
            async with engine.pipeline(transaction=True) as at_once:
                at_once.rpush(f"{one.directory._prefix}:moved-on:1", [f"anna {one.directory._here['anna'].name}:0"])
                at_once.config_set({"maxmemory": "1"})
            await until(lambda: not one.directory.available)
            assert one.moved_on == ["anna"]


async def test_what_an_enemy_writes_into_the_engine_stops_nobody() -> None:
    garbage = b"", b"\xff\xfe", b"1:2", b"\x91" * 10_000, b"\xc4\xff", b"x" * 2**20, b"99:1:1:99999999999999999999"
    with redis_server() as redis:
        async with two_nodes(redis.url) as (one, two):
            await until(lambda: one.heard and two.heard)
            prefix = one.directory._prefix
            heard: list[list[bytes]] = []
            two.directory.bus.subscribe("race:KWPRTM", lambda parts, follows: heard.append(parts))
            async with Redis.from_url(redis.url) as enemy:
                for text in garbage:
                    await enemy.set(f"{prefix}:lobby:1", text)
                    await enemy.set(f"{prefix}:player:anna", text)
                    await enemy.hset(f"{prefix}:seats:1", {"anna": text, "": text})
                    await enemy.rpush(f"{prefix}:moved-on:2", [text])
                    for channel in ("node:2", "race:KWPRTM", "leaving"):
                        await enemy.publish(f"{prefix}:{channel}", text)
                    await two.directory.arrive("anna")
                    await trio.sleep(0.6)
                monster = msgspec.msgpack.encode([b"enemy!", 1, [b"x" * (MESSAGE_BYTES + 1)]])
                await enemy.publish(f"{prefix}:race:KWPRTM", monster)
            await until(lambda: two.directory.available and [each.players for each in two.heard] == [("Ann",)])
            one.directory.bus.publish("race:KWPRTM", b"well")
            await until(lambda: [b"well"] in heard)
            assert two.moved_on == []
            assert heard == [[b"well"]]


def test_why_the_engine_is_gone_is_said_without_what_it_was_to_be_told() -> None:
    quoted = RedisError("Command # 1 (PUBLISH carpet:race:KXQWZP b'a board') of pipeline caused error: PUBLISH timed out after 1.0 seconds")
    assert reason_of(ExceptionGroup("", [ExceptionGroup("", [quoted])])) == "PUBLISH timed out after 1.0 seconds"
    assert reason_of(anyio.ClosedResourceError()) == "ClosedResourceError"
    assert reason_of(ConnectionResetError("nothing is heard any more")) == "nothing is heard any more"


async def test_that_the_engine_is_gone_is_no_news_of_a_server_that_ends(caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory("redis://localhost", cast(ClusterNode, FakeNode(1)), "place")
    with trio.CancelScope() as scope:  # noqa: ASYNC100  (what is asked about is the scope alone)
        scope.cancel()
        directory._lose(ExceptionGroup("", [anyio.ClosedResourceError()]))
    assert not caplog.records
    directory._lose(ExceptionGroup("", [anyio.ClosedResourceError()]))
    assert "does not answer" in caplog.text
