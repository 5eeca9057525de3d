"""The link, over streams in memory and on the autojump clock, so that nothing waits: hello, messages, round trips, sleep."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from client.connection.client import EVENTS, open_link
from client.connection.events import Connected, Connecting, Identity, Lost, RoundTrip
from client.connection.hello import HELLO_REFERENCE
from client.connection.websocket import FRAMES, SEND_QUEUE, ConnectionTimes
from protocol import server_messages as said
from protocol.client_messages import FollowLobby, LeaveRace, Say, WhoAmI
from protocol.codec import JSON, MSGPACK
from protocol.errors import ErrorCode
from protocol.room_events import Hidden, Room
from protocol.server_messages import Welcome, YouAre
from tests.client import scenes
from tests.client.connection.linking import ANNA, URL, greeted, next_of, numbered
from tests.client.fake_server import FakeServer, room, welcome

# ---- hello, messages, goodbye


async def test_hello_is_the_first_message_and_the_welcome_comes_out(server: FakeServer) -> None:
    async with open_link(URL, Identity("anna", "known"), dial=server.dial) as link:
        assert link.url == URL
        line = await server.line()
        hello = await line.greet()
        assert (hello.name, hello.token) == ("anna", "known")
        assert hello.software.startswith("carpet-race ")
        assert [await link.events.receive(), await link.events.receive()] == [Connecting(1), Connected(URL, MSGPACK)]
        await next_of(link, Welcome)


@pytest.mark.parametrize("subprotocol", [MSGPACK, JSON])
async def test_messages_go_both_ways_in_either_encoding(server: FakeServer, subprotocol: str) -> None:
    async with greeted(server, subprotocol=subprotocol) as (link, line):
        assert link.send(Say(text="hej"))
        assert await line.heard() == numbered(Say(text="hej"))
        await line.say(room())
        assert await next_of(link, Room) == room()


async def test_a_new_token_is_handed_over_to_be_kept_and_a_known_one_is_not(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with greeted(server, token="fresh", keep=kept.append) as (link, line):
        await next_of(link, Welcome)
        assert kept == [Identity("anna", "fresh", "p1")]
        await line.cut()
        line = await server.line()
        hello = await line.greet(token="fresh")
        assert hello.token == "fresh"
        await next_of(link, Welcome)
        assert len(kept) == 1


async def test_the_name_that_the_server_gives_is_handed_over_with_a_known_token_too(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "known"), keep=kept.append, dial=server.dial) as link:
        line = await server.line()
        await line.heard()
        await line.say(welcome(name="Anna 2\x1b[31m", token="known"))
        await next_of(link, Welcome)
        assert kept == [Identity("Anna 2", "known", "p1")]
        await line.say(YouAre(player="p2", name="Somebody else", ref=0), YouAre(player="p1", name="Berta", ref=0))
        assert [await next_of(link, YouAre) for _ in range(2)][-1] == YouAre(player="p1", name="Berta", ref=0)
        assert kept[1:] == [Identity("Berta", "known", "p1")]
        await line.cut()
        hello = await (await server.line()).greet(token="known")
        assert hello.name == "Berta"


async def test_a_link_without_an_identity_says_no_hello(server: FakeServer) -> None:
    async with open_link(URL, None, dial=server.dial) as link:
        line = await server.line()
        assert link.send(WhoAmI(token="t"))
        assert await line.heard() == WhoAmI(token="t")


async def test_a_token_the_server_has_forgotten_is_dropped_and_hello_said_again(server: FakeServer) -> None:
    async with open_link(URL, Identity("anna", "old"), dial=server.dial) as link:
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        again = await line.greet()
        assert again.token is None
        assert isinstance(await next_of(link, Welcome, said.Error), Welcome)


async def test_a_server_that_forgets_again_and_again_or_gives_token_after_token_has_one_new_player_kept(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "old"), dial=server.dial, keep=kept.append) as link:
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        await line.greet(token="new")
        for number in range(3):
            await line.say(replace(welcome(name="anna", token=f"newer-{number}", room=None)))
            await line.say(scenes.refusal(ErrorCode.UNKNOWN_TOKEN, HELLO_REFERENCE))
            assert (await next_of(link, said.Error)).code == ErrorCode.UNKNOWN_TOKEN
    assert [identity.token for identity in kept] == ["new"]


async def test_a_token_longer_than_any_can_be_sent_back_is_refused(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.line()
        await line.greet(token="t" * 65)
        lost = await next_of(link, Lost)
    assert lost.retry_in_ms is None
    assert lost.reason == "The server sent something that this version cannot read: Expected `str` of length <= 64 at $.token."


async def test_what_was_sent_last_goes_out_before_the_goodbye(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(LeaveRace())
    assert await line.heard() == numbered(LeaveRace())
    await line.ws.wait_closed()
    assert line.ws.close_code == 1000


async def test_leaving_does_not_wait_for_a_server_that_says_nothing(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial):
        await server.line()
        began = trio.current_time()
    assert trio.current_time() - began <= 2.0


async def test_an_error_of_the_app_comes_out_as_it_is(server: FakeServer) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_link(URL, ANNA, dial=server.dial):
            raise ZeroDivisionError


async def test_send_never_blocks_and_says_when_the_outbox_is_full(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        # No checkpoint in between: nothing can leave. The hello may be in there still.
        taken = [link.send(FollowLobby()) for _ in range(2 * SEND_QUEUE)]
        assert SEND_QUEUE - 1 <= taken.count(True) <= SEND_QUEUE
        assert taken[-1] is False


async def test_a_message_no_server_takes_is_refused_at_once(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert not link.send(Say(text="x" * 5000))


# ---- the round trip


async def test_the_round_trip_is_measured_every_two_seconds_and_the_smallest_reported(server: FakeServer) -> None:
    async with greeted(server) as (link, _line):
        assert await next_of(link, RoundTrip) == RoundTrip(0)
        began = trio.current_time()
        assert await next_of(link, RoundTrip) == RoundTrip(0)
        assert trio.current_time() - began == pytest.approx(2.0)


async def test_a_connection_without_an_answer_for_ten_seconds_is_given_up(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, RoundTrip)
        line.ws.pause_reading()  # the peer is there but hears nothing
        lost = await next_of(link, Lost)
        assert "not answered for 10 seconds" in lost.reason
        assert lost.retry_in_ms == 0


# ---- asleep


async def test_a_machine_that_was_asleep_blames_nobody(mock_clock: MockClock, server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, RoundTrip)
        # The peer hears one more ping, and the next one only when this machine has slept.
        line.ws.pause_reading()
        for _ in range(2):
            mock_clock.jump(2.5)
            await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(20)
        await trio.testing.wait_all_tasks_blocked()
        line.ws.resume_reading()
        await line.say(room())
        assert isinstance(await next_of(link, Room, Lost), Room)
        assert isinstance(await next_of(link, RoundTrip, Lost), RoundTrip)


@pytest.mark.parametrize("ends", ["cut", "goodbye"])
async def test_a_connection_that_ends_while_nobody_hears_what_it_brought_has_ended(server: FakeServer, ends: str) -> None:
    async with greeted(server, times=ConnectionTimes(ping_s=0.5)) as (link, line):
        await next_of(link, Welcome)
        # More than is kept for the app and of the line together: the line is not read any more.
        for version in range(1, EVENTS + 3 * FRAMES):
            await line.say(Hidden(version=version))
        if ends == "cut":
            await line.cut()
        else:
            await line.close(1012)
        await trio.sleep(30)
        with trio.fail_after(30):
            lost = await next_of(link, Lost)
            assert lost.retry_in_ms is not None
            await (await server.line()).greet()
            await next_of(link, Welcome)
