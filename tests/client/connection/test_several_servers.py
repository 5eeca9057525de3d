"""The link at a place of several servers: where it is sent, and to which it goes by itself."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from client.connection.client import open_link
from client.connection.events import Back, Connecting, Lost
from client.connection.hello import HELLO_REFERENCE
from client.connection.outbox import FIRST_NUMBER
from client.connection.resync import REJOIN_REFERENCE
from client.connection.route import MOVES
from protocol import server_messages as said
from protocol.client_messages import Hello, JoinRace, QuickMatch
from protocol.errors import CloseCode, ErrorCode
from protocol.room_events import Room
from protocol.server_messages import WaitingMatch, Welcome
from tests.client.connection.linking import AGAIN, ANNA, CURRENT, URL, greeted, next_of, numbered, raced
from tests.client.fake_server import FakeServer, room
from tests.client.scenes import refusal


async def test_the_link_goes_where_the_server_sends_it_and_asks_there_again(server: FakeServer) -> None:
    async with greeted(server, token="known") as (link, line):
        await next_of(link, Welcome)
        link.send(JoinRace(code="ABCDEF", ref=5))
        assert await line.heard() == JoinRace(code="ABCDEF", ref=5)
        await line.say(said.Moved(url="ws://n2.carpet.example", code="ABCDEF", ref=5), refusal(ErrorCode.ELSEWHERE, 5))
        there = await server.line()
        hello = await there.greet(token="known")
        assert (hello.name, hello.token) == ("anna", "known")
        assert await there.heard() == JoinRace(code="ABCDEF", ref=5)
        await there.say(room())
        assert await next_of(link, Room) == room()
        assert link.url == URL


async def test_what_was_asked_for_and_is_elsewhere_is_answered_there(server: FakeServer) -> None:
    async with open_link(URL, ANNA, reconnect=False, dial=server.dial) as link, trio.open_nursery() as nursery:
        line = await server.greeted()
        answers: list[Room] = []

        async def join() -> None:
            answers.append(await link.ask(JoinRace(code="ABCDEF"), Room))

        nursery.start_soon(join)
        asked = await line.heard()
        assert isinstance(asked, JoinRace)
        await line.say(said.Moved(url="ws://n2.carpet.example", code="ABCDEF", ref=asked.ref))
        there = await server.greeted()
        again = await there.heard()
        assert again == asked
        await there.say(room(ref=asked.ref))
        await wait_all_tasks_blocked()
        assert answers == [room(ref=asked.ref)]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://127.0.0.2", "n2.carpet.example:7777", "ws://user@n2.carpet.example", f"ws://{'n' * 200}"]
)
async def test_the_link_does_not_go_to_what_is_no_server(server: FakeServer, url: str) -> None:
    async with greeted(server) as (link, line):
        link.send(JoinRace(code="ABCDEF", ref=5))
        await line.say(said.Moved(url=url, code="ABCDEF", ref=5), refusal(ErrorCode.ELSEWHERE, 5))
        error = await next_of(link, said.Error)
        assert error.code == ErrorCode.ELSEWHERE


async def test_whoever_waits_for_an_opponent_follows_from_server_to_server_as_often_as_the_place_changes(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        link.send(QuickMatch())
        assert await line.heard() == numbered(QuickMatch())
        for number in range(2 * MOVES):
            await line.say(WaitingMatch(rules=None, waited_ms=0, window=100, waiting=1, ref=FIRST_NUMBER))
            await next_of(link, WaitingMatch)
            await line.say(said.Moved(url=f"ws://n{2 + number % 2}.carpet.example", code=None, ref=0))
            line = await server.greeted()
            assert await line.heard() == QuickMatch()


async def test_whoever_is_put_back_in_the_queue_and_sent_on_at_once_asks_for_the_same_there(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        await line.say(
            said.Left(code="ABCDEF", reason="no-opponent"),
            WaitingMatch(rules="carpet", waited_ms=25_000, window=350, waiting=1),
            said.Moved(url="ws://n2.carpet.example", code=None, ref=0),
            refusal(ErrorCode.ELSEWHERE, 0),
            said.WaitingOver(reason="failed"),
        )
        there = await server.greeted()
        assert await there.heard() == QuickMatch(rules="carpet")
        await next_of(link, WaitingMatch)


async def test_servers_that_send_the_link_in_a_circle_are_left_alone(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        link.send(JoinRace(code="ABCDEF", ref=5))
        for number in range(MOVES):
            await line.say(said.Moved(url=f"ws://n{2 + number % 2}.carpet.example", code="ABCDEF", ref=5))
            line = await server.greeted()
        await line.say(said.Moved(url="ws://n2.carpet.example", code="ABCDEF", ref=5), refusal(ErrorCode.ELSEWHERE, 5))
        assert (await next_of(link, said.Error)).code == ErrorCode.ELSEWHERE


async def test_servers_that_have_sent_the_link_in_a_circle_are_followed_again_after_a_pause(server: FakeServer) -> None:
    async with raced(server) as (_link, line):
        await line.cut()
        line = await server.greeted(room="ABCDEF")
        # Each of them believes that the next has the race, which goes from one to another.
        for number in range(2 * MOVES):
            assert await line.heard() == AGAIN
            before = trio.current_time()
            if number == MOVES:
                await line.say(said.Moved(url="ws://n9.carpet.example", code="ABCDEF", ref=REJOIN_REFERENCE))
                assert await line.heard() == AGAIN
                assert trio.current_time() - before == pytest.approx(1)
            await line.say(said.Moved(url=f"ws://n{2 + number % 2}.carpet.example", code="ABCDEF", ref=REJOIN_REFERENCE))
            line = await server.greeted(room="ABCDEF")
        assert await line.heard() == AGAIN


async def test_a_room_is_asked_for_again_where_one_server_of_several_has_none(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await line.say(room())
        await next_of(link, Room)
        await line.cut()
        line = await server.greeted(nodes=("ws://n2.carpet.example",))
        join = await line.heard()
        assert isinstance(join, JoinRace)
        assert join.code == room().code


async def test_a_server_of_several_that_falls_silent_is_left_for_the_next_within_six_seconds(server: FakeServer) -> None:
    async with greeted(server, nodes=("ws://n2.carpet.example",)) as (link, line):
        await next_of(link, Welcome)
        # As a machine that stands still, or has lost its network: nobody hangs up. One more ping it hears.
        line.ws.pause_reading()
        await trio.sleep(2.1)
        before = trio.current_time()
        line = await server.line()
        assert trio.current_time() - before < 6
        assert line.host == "n2.carpet.example"


async def test_a_server_that_has_come_to_the_place_since_the_welcome_is_gone_to_like_one_that_was_there(server: FakeServer) -> None:
    async with greeted(server) as (_link, line):
        await line.say(said.Nodes(nodes=("ws://n2.carpet.example",)))
        await line.close(CloseCode.LET_GO)
        line = await server.line()
        assert line.host == "n2.carpet.example"


async def test_a_server_of_several_that_takes_no_hello_just_now_is_left_for_the_next(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        hosts = []
        for code in (ErrorCode.NOT_KEPT, ErrorCode.SERVER_BUSY):
            await line.cut()
            line = await server.greeted(room="ABCDEF", nodes=("ws://n2.carpet.example",))
            assert await line.heard() == AGAIN
            await line.say(CURRENT)
            await line.cut()
            line = await server.line()
            assert isinstance(await line.heard(), Hello)
            before = trio.current_time()
            await line.say(refusal(code, HELLO_REFERENCE))
            line = await server.line()
            assert trio.current_time() - before < 1
            hosts.append(line.host)
            await line.greet(room="ABCDEF")
            assert await line.heard() == AGAIN
        assert "n2.carpet.example" in hosts
        await line.say(CURRENT)
        # Whoever sits at the screen has heard nothing of it.
        assert not isinstance(await next_of(link, Back, said.Error), said.Error)


async def test_a_server_of_several_that_takes_connections_and_stands_still_is_not_waited_for_long(server: FakeServer) -> None:
    async with greeted(server, nodes=("ws://n2.carpet.example", "ws://n3.carpet.example")) as (link, line):
        await next_of(link, Welcome)
        server.silent = True
        await line.cut()
        lost: list[float] = []
        for _ in range(5):
            await next_of(link, Connecting)
            began = trio.current_time()
            await next_of(link, Lost)
            lost.append(trio.current_time() - began)
        # Only the first ones: there may be a line on which no server is reached sooner.
        assert lost == pytest.approx([4, 4, 4, 10, 10], abs=0.1)


async def test_a_server_that_lets_its_players_go_is_left_for_the_next_of_the_place(server: FakeServer) -> None:
    async with greeted(server, nodes=("ws://n2.carpet.example",)) as (link, line):
        await next_of(link, Welcome)
        hosts = []
        for _ in range(3):
            await line.close(CloseCode.LET_GO)
            line = await server.line()
            hosts.append(line.host)
        assert hosts == ["n2.carpet.example", URL.removeprefix("ws://"), "n2.carpet.example"]
