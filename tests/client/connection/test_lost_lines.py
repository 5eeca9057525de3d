"""The link after its connection was lost: when it tries again, when it does not, and where it comes back to."""

from __future__ import annotations

import random

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from client.connection.client import LONGEST_PAUSE, open_link
from client.connection.events import NO_SEAT, Back, Connected, Connecting, Lost
from client.connection.resync import REJOIN_REFERENCE
from protocol.client_messages import JoinRace, LeaveRace
from protocol.codec import JSON
from protocol.errors import CloseCode, ErrorCode
from protocol.room_events import Hidden, Room, Started
from protocol.server_messages import Left, Welcome
from tests.client.connection.linking import ANNA, CURRENT, URL, greeted, next_of, race, raced
from tests.client.fake_server import FakeServer, room, seat
from tests.client.scenes import refusal

# ---- lost lines


async def test_a_lost_connection_is_tried_again_at_once_and_the_room_joined_from_the_last_version(server: FakeServer) -> None:
    async with greeted(server, token="t") as (link, line):
        await line.say(race(version=4), Started(version=5))
        await next_of(link, Started)
        await line.cut()
        assert await next_of(link, Lost) == Lost("The connection to the server was lost.", 0)
        assert not link.send(LeaveRace())
        assert await link.events.receive() == Connecting(1)
        line = await server.line()
        assert (await line.greet(token="t", room="ABCDEF")).token == "t"
        assert await line.heard() == JoinRace(code="ABCDEF", version=5, ref=REJOIN_REFERENCE)
        await line.say(Hidden(version=6), CURRENT)
        assert await next_of(link, Hidden) == Hidden(version=6)
        assert [await link.events.receive(), await link.events.receive()] == [CURRENT, Back()]


async def test_pauses_between_tries_grow_with_full_jitter_up_to_ten_seconds(server: FakeServer) -> None:
    async with greeted(server, generator=random.Random(7)) as (link, line):
        await next_of(link, Welcome)
        server.refusal = ConnectionRefusedError()
        await line.cut()
        pauses: list[int] = []
        attempts: list[int] = []
        while len(pauses) < 40:
            event = await next_of(link, Lost, Connecting)
            if isinstance(event, Connecting):
                attempts.append(event.attempt)
            elif isinstance(event, Lost) and event.retry_in_ms is not None:
                pauses.append(event.retry_in_ms)
        assert pauses[0] == 0
        assert attempts == list(range(1, 40))
        for number, pause in enumerate(pauses):
            assert 0 <= pause <= min(LONGEST_PAUSE, 0.5 * 2**number) * 1000
        assert max(pauses[10:]) > 8000
        assert min(pauses[10:]) < 2000
        waited = [later - earlier for earlier, later in zip(server.dialled_at[1:], server.dialled_at[2:], strict=False)]
        assert waited == pytest.approx([pause / 1000 for pause in pauses[1 : len(waited) + 1]], abs=0.001)
        server.refusal = None
        await next_of(link, Connected)


async def test_while_there_is_a_race_to_come_back_to_the_server_is_tried_each_second(server: FakeServer) -> None:
    async with greeted(server, generator=random.Random(7)) as (link, line):
        await line.say(race())
        await next_of(link, Room)
        server.refusal = ConnectionRefusedError("not now")
        await line.cut()
        pauses = [(await next_of(link, Lost)).retry_in_ms for _ in range(30)]
        assert max(pause for pause in pauses if pause is not None) <= 1000


async def test_a_player_who_cannot_wait_has_the_server_tried_at_once(server: FakeServer) -> None:
    async with greeted(server, generator=random.Random(7)) as (link, line):
        server.refusal = ConnectionRefusedError("not now")
        await line.cut()
        for _ in range(12):
            await next_of(link, Lost)
        server.refusal = None
        begun = trio.current_time()
        link.hurry()
        await next_of(link, Connected)
        assert trio.current_time() - begun < 0.5


@pytest.mark.parametrize("takes_back", [True, False])
async def test_what_another_window_took_over_is_taken_back_only_when_that_is_asked_for(server: FakeServer, takes_back: bool) -> None:
    async with greeted(server, takes_back=takes_back) as (link, line):
        await line.close(CloseCode.TAKEN_OVER)
        lost = await next_of(link, Lost)
        assert lost.retry_in_ms is None
        assert "Press Enter to go on here" in lost.reason
        if takes_back:
            await trio.sleep(1000)
            assert len(server.dialled_at) == 1
            link.hurry()
            assert (await (await server.line()).greet()).token == "token-1"
            await next_of(link, Back)
        else:
            with pytest.raises(trio.EndOfChannel):
                await link.events.receive()


async def test_a_race_of_ones_own_that_nobody_joined_is_left_for_another_that_is_opened(server: FakeServer, nursery: trio.Nursery) -> None:
    async def serve() -> None:
        line = await server.greeted(room="OTHERS")
        await line.heard()
        await line.say(race(code="OTHERS", phase="waiting", seats=(seat(0), seat(1, name=None))))
        left = await line.heard()
        assert isinstance(left, LeaveRace)
        await line.say(Left(code="OTHERS", reason="left", ref=left.ref))

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await link.entered()
        assert (await link.leave_what_is_over(opens=True)).room is None


async def test_a_server_that_takes_and_drops_at_once_is_not_hammered(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial, generator=random.Random(1)) as link:
        for _ in range(12):
            await (await server.line()).cut()
            await next_of(link, Lost)
        assert trio.current_time() - server.dialled_at[0] > 10


async def test_without_reconnecting_a_lost_connection_is_the_end(server: FakeServer) -> None:
    async with open_link(URL, ANNA, reconnect=False, dial=server.dial) as link:
        await (await server.line()).cut()
        assert await next_of(link, Lost) == Lost("The connection to the server was lost.", None)
        with pytest.raises(trio.EndOfChannel):
            await link.events.receive()
        assert not link.send(LeaveRace())


@pytest.mark.parametrize("code", [CloseCode.TAKEN_OVER, CloseCode.FLOOD, CloseCode.TOO_MANY_ERRORS, CloseCode.HELLO_TIMEOUT])
async def test_these_close_codes_are_final(server: FakeServer, code: CloseCode) -> None:
    async with greeted(server) as (link, line):
        await line.close(code)
        lost = await next_of(link, Lost)
        assert lost.retry_in_ms is None
        assert lost.reason.endswith(".")
        with pytest.raises(trio.EndOfChannel):
            await link.events.receive()


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 1013, CloseCode.TOO_SLOW, 4999])
async def test_after_these_close_codes_the_link_comes_back(server: FakeServer, code: int) -> None:
    async with greeted(server) as (link, line):
        await line.close(code, "because\x1b[31m of it")
        lost = await next_of(link, Lost)
        assert lost.retry_in_ms == 0
        assert "\x1b" not in lost.reason
        await (await server.line()).greet()


async def test_bytes_that_are_no_message_end_the_link_with_a_sentence(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await line.ws.send(b"\xc1 nonsense")
        lost = await next_of(link, Lost)
        assert lost.reason.startswith("The server sent something that this version cannot read")
        assert lost.retry_in_ms is None


async def test_what_only_a_newer_server_says_is_passed_over_without_a_gap(server: FakeServer) -> None:
    async with greeted(server, subprotocol=JSON) as (link, line):
        await line.say(room(version=3))
        await line.ws.send('{"type": "weather", "sun": true}')
        await line.ws.send('{"type": "applause", "version": 4}')
        await line.say(Started(version=5))
        assert await next_of(link, Hidden, Started) == Hidden(version=4)
        assert await next_of(link, Hidden, Started) == Started(version=5)


async def test_a_message_larger_than_any_ends_the_link_with_a_sentence(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await line.ws.send(bytes(2_000_000))
        lost = await next_of(link, Lost)
        assert lost.reason.startswith("The server sent something that this version cannot read")
        assert lost.retry_in_ms is None


async def test_another_version_of_the_wire_after_a_restart_is_final(autojump_clock: MockClock) -> None:
    async with FakeServer.running() as old, FakeServer.running(["carpet.v2.msgpack"]) as new:
        servers = [old, new]

        async def dial() -> trio.abc.Stream:
            return await servers.pop(0).dial()

        async with open_link(URL, ANNA, dial=dial) as link:
            line = await old.line()
            await line.greet()
            await line.close(1012)
            await next_of(link, Lost)
            lost = await next_of(link, Lost)
            assert "does not speak carpet.v1.msgpack" in lost.reason
            assert lost.retry_in_ms is None


async def test_a_proxy_whose_server_is_down_is_not_said_to_be_something_else(server: FakeServer, nursery: trio.Nursery) -> None:
    is_down = False

    async def hang_up(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.aclose()

    async def dial() -> trio.abc.Stream:
        if not is_down:
            return await server.dial()
        ours, theirs = memory_stream_pair()
        nursery.start_soon(hang_up, theirs)
        return ours

    async with open_link(URL, ANNA, dial=dial) as link:
        line = await server.greeted()
        is_down = True
        await line.cut()
        await next_of(link, Lost)
        lost = await next_of(link, Lost)
        assert lost.reason == f"The server at {URL} does not answer."
        assert lost.retry_in_ms is not None


# ---- gaps


async def test_a_seat_that_is_lost_on_return_is_told_as_left_behind_the_welcome(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        await line.cut()
        await (await server.line()).greet(room=None)
        assert isinstance(await next_of(link, Welcome, Left), Welcome)
        assert await next_of(link, Left) == Left(code="ABCDEF", reason=NO_SEAT)
        assert await link.events.receive() == Back()


async def test_a_busy_server_is_asked_again_a_second_later(server: FakeServer) -> None:
    async with raced(server) as (_link, line):
        await line.cut()
        line = await server.greeted(room="ABCDEF")
        first = await line.heard()
        await line.say(refusal(ErrorCode.SERVER_BUSY, REJOIN_REFERENCE))
        asked = trio.current_time()
        assert await line.heard() == first
        assert trio.current_time() - asked == pytest.approx(1.0)
