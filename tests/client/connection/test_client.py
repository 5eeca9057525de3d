"""The link, over streams in memory and on the autojump clock, so that nothing waits; the sentences for first failures over real sockets."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import pytest
import trio
import trustme
from msgspec.structs import replace
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from client.connection.client import EVENTS, LONGEST_PAUSE, QUIET, NetLink, open_link
from client.connection.errors import LinkError, NotCarpetServer, NotTrusted, OtherVersion, RequestRefused, Unreachable
from client.connection.events import NO_SEAT, WATCH_REFERENCE, Back, Connected, Connecting, Identity, Lost, RoundTrip
from client.connection.hello import HELLO_REFERENCE
from client.connection.outbox import FIRST_NUMBER, Request
from client.connection.questions import QUESTION_REFERENCE
from client.connection.resync import REJOIN_REFERENCE
from client.connection.route import MOVES
from client.connection.websocket import FRAMES, OUTBOX, ConnectionTimes
from protocol import server_messages as said
from protocol.client_messages import FollowLobby, Hello, JoinRace, LeaveRace, Move, OpenRace, QuickMatch, Say, WhoAmI
from protocol.codec import JSON, MSGPACK
from protocol.errors import ERRORS, CloseCode, ErrorCode
from protocol.room_events import Hidden, Room, Said, Started
from protocol.server_messages import CurrentView, Left, WaitingMatch, WaitingOver, Welcome, YouAre
from protocol.views import ChatLine, RaceOptions
from protocol.watch_messages import Unwatched, Watched, WatchRace
from tests.client.fake_server import FakeServer, Line, room, seat, view, welcome
from tests.client.scenes import refusal

URL = "ws://carpet.example:7777"
ANNA = Identity("anna")

Kind = TypeVar("Kind")


async def next_of(link: NetLink, *kinds: type[Kind]) -> Kind:
    """The next event of one of these kinds; what comes before it is passed over."""
    while True:
        event = await link.events.receive()
        if isinstance(event, kinds):
            return event


@contextlib.asynccontextmanager
async def greeted(server: FakeServer, **options: Any) -> AsyncIterator[tuple[NetLink, Line]]:
    """A link, and the server's end of its first line behind the welcome. options: of `open_link`."""
    async with open_link(URL, ANNA, dial=server.dial, **options) as link:
        yield link, await server.greeted()


@contextlib.asynccontextmanager
async def raced(server: FakeServer) -> AsyncIterator[tuple[NetLink, Line]]:
    """The same in the middle of a race."""
    async with greeted(server) as (link, line):
        await line.say(race())
        await next_of(link, Room)
        yield link, line


VIEW = view("a1", "s")
CURRENT = CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=0, view=VIEW)
MOVE = Move(race=1, seat=0, ply=0, move="a1")


def race(version: int = 3, ply: int = 0, **fields: object) -> Room:
    """A snapshot of a race with cards on the table."""
    seats = (seat(0, "anna", state="racing", ply=ply), seat(1, "bert", state="racing"))
    return room(**{"version": version, "phase": "racing", "view": VIEW, "seats": seats, **fields})  # type: ignore[arg-type]


def numbered(request: Request, place: int = 1) -> Request:
    """The request as it goes out, as the one in this place of all that a link was asked to send."""
    return replace(request, ref=FIRST_NUMBER + place - 1)


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
    async with open_link(URL, ANNA, keep=kept.append, dial=server.dial) as link:
        line = await server.greeted(token="fresh")
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
        taken = [link.send(FollowLobby()) for _ in range(2 * OUTBOX)]
        assert OUTBOX - 1 <= taken.count(True) <= OUTBOX
        assert taken[-1] is False


async def test_a_message_no_server_takes_is_refused_at_once(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert not link.send(Say(text="x" * 5000))


# ---- being entered before the first screen


async def test_entered_waits_for_the_welcome_and_takes_nothing(server: FakeServer, nursery: trio.Nursery) -> None:
    nursery.start_soon(server.greeted)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert (await link.entered()).token == "token-1"
        assert (await link.entered()).token == "token-1"  # also long after
        assert isinstance(await link.events.receive(), Connecting)
        await next_of(link, Welcome)


async def test_entered_waits_for_the_race_and_takes_nothing(server: FakeServer, nursery: trio.Nursery) -> None:
    async def serve() -> None:
        line = await server.greeted()
        assert await line.heard() == JoinRace(code="abcdef", ref=QUESTION_REFERENCE)
        await line.say(room(ref=QUESTION_REFERENCE))

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await link.entered(JoinRace(code="abcdef"))
        await next_of(link, Welcome)
        assert await next_of(link, Room) == room(ref=QUESTION_REFERENCE)


async def test_a_race_not_to_be_entered_is_one_sentence(server: FakeServer, nursery: trio.Nursery) -> None:
    nursery.start_soon(server.answer, None, refusal(ErrorCode.ROOM_FULL, QUESTION_REFERENCE))
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match="Every seat of that race is taken"):
            await link.entered(JoinRace(code="abcdef"))


async def test_a_hello_that_is_refused_is_one_sentence(server: FakeServer, nursery: trio.Nursery) -> None:
    async def serve() -> None:
        line = await server.line()
        await line.refuse_hello(ErrorCode.BAD_NAME)

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match="choose another"):
            await link.entered()


@pytest.mark.parametrize("code", [ErrorCode.SERVER_BUSY, ErrorCode.CANNOT_WRITE, ErrorCode.NOT_KEPT])
async def test_a_first_hello_that_is_refused_for_the_moment_is_one_sentence_to_who_waits_and_is_said_again(
    server: FakeServer, nursery: trio.Nursery, code: ErrorCode
) -> None:
    async def serve() -> None:
        line = await server.line()
        await line.refuse_hello(code)
        line = await server.greeted()
        await line.heard()
        await line.say(room(ref=QUESTION_REFERENCE))

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match=re.escape(ERRORS[code].sentence)):
            await link.entered()
        # Whoever sits at a screen has heard nothing of it.
        assert isinstance(await next_of(link, Welcome, said.Error), Welcome)
        # And what is asked from here on has an answer of its own.
        assert (await link.entered(JoinRace(code="abcdef"))).token == "token-1"


async def test_a_seat_held_already_goes_before_a_new_race(server: FakeServer, nursery: trio.Nursery) -> None:
    async def serve() -> None:
        await (await server.line()).greet(room="OTHERS")

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert (await link.entered(JoinRace(code="abcdef"))).room == "OTHERS"


async def test_a_seat_in_a_race_that_is_over_is_given_up_for_another_race(server: FakeServer, nursery: trio.Nursery) -> None:
    async def serve() -> None:
        line = await server.greeted(room="OTHERS")
        assert await line.heard() == JoinRace(code="OTHERS", version=0, ref=REJOIN_REFERENCE)
        await line.say(race(code="OTHERS", phase="over"))
        assert await line.heard() == LeaveRace(ref=QUESTION_REFERENCE)
        await line.say(Left(code="OTHERS", reason="left", ref=QUESTION_REFERENCE))
        assert await line.heard() == JoinRace(code="abcdef", ref=QUESTION_REFERENCE + 1)
        await line.say(room(ref=QUESTION_REFERENCE + 1))

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert (await link.entered()).room == "OTHERS"
        assert (await link.leave_what_is_over(unless="ABCDEF")).room is None
        assert (await link.entered(JoinRace(code="abcdef"))).room is None
        assert [await next_of(link, Room, Left) for _ in range(3)] == [
            race(code="OTHERS", phase="over"),
            Left(code="OTHERS", reason="left", ref=QUESTION_REFERENCE),
            room(ref=QUESTION_REFERENCE + 1),
        ]


@pytest.mark.parametrize("code", [ErrorCode.ROOM_CLOSED, ErrorCode.NOT_IN_ROOM])
async def test_a_race_that_closes_before_it_can_be_left_stands_in_nobodys_way(
    server: FakeServer, nursery: trio.Nursery, code: ErrorCode
) -> None:
    nursery.start_soon(
        server.answer, "OTHERS", race(code="OTHERS", phase="over"), (Left(code="OTHERS", reason="idle"), refusal(code, QUESTION_REFERENCE))
    )
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await link.entered()
        assert (await link.leave_what_is_over()).room is None


@pytest.mark.parametrize("phase", ["waiting", "racing"])
async def test_a_seat_in_a_race_that_is_open_or_being_run_is_kept(server: FakeServer, nursery: trio.Nursery, phase: str) -> None:
    held = race(code="OTHERS", phase=phase)

    nursery.start_soon(server.answer, "OTHERS", held)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await link.entered()
        assert (await link.leave_what_is_over()).room == "OTHERS"
        assert await next_of(link, Room, Left) == held


async def test_a_race_that_is_over_is_not_left_by_who_wants_to_see_it(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await server.greeted(room="OTHERS")
        await link.entered()
        assert (await link.leave_what_is_over(unless="OTHERS")).room == "OTHERS"


async def test_a_seat_that_was_lost_meanwhile_stands_in_nobodys_way(server: FakeServer, nursery: trio.Nursery) -> None:
    nursery.start_soon(server.answer, "OTHERS", refusal(ErrorCode.NO_SUCH_ROOM, REJOIN_REFERENCE))
    async with open_link(URL, ANNA, dial=server.dial) as link:
        await link.entered()
        assert (await link.leave_what_is_over()).room is None


@pytest.mark.parametrize("closing", [True, False])
async def test_a_server_that_never_greets_is_one_sentence(server: FakeServer, closing: bool) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.line()
        if closing:
            await line.close(1001)
        with pytest.raises(Unreachable, match="going away" if closing else "does not answer"):
            await link.entered()


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


# ---- lost lines


async def test_a_lost_connection_is_tried_again_at_once_and_the_room_joined_from_the_last_version(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(token="t")
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
        assert "Press Enter to take it back" in lost.reason
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


# ---- nothing lost and nothing doubled


AGAIN = JoinRace(code="ABCDEF", version=3, ref=REJOIN_REFERENCE)


async def back_in_line(server: FakeServer, line: Line) -> Line:
    """The line is cut; the next one, on which the join has been heard."""
    await line.cut()
    line = await server.greeted(room="ABCDEF")
    assert await line.heard() == AGAIN
    return line


async def test_a_move_the_lost_connection_has_swallowed_is_sent_again_behind_the_answer_to_the_join(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        assert link.send(MOVE)
        assert await line.heard() == numbered(MOVE)
        line = await back_in_line(server, line)
        await line.say(Hidden(version=4))
        with trio.move_on_after(0.5):
            raise AssertionError(await line.heard())
        await line.say(CURRENT)
        with trio.fail_after(30):
            assert await line.heard() == numbered(MOVE)
        await next_of(link, Back)
        link.send(Say(text="here I am"))
        assert await line.heard() == numbered(Say(text="here I am"), 2), "and not the move once more"


async def test_a_line_of_talk_is_said_again_only_where_it_was_not_heard(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(Say(text="one"))
        link.send(Say(text="two"))
        line = await back_in_line(server, line)
        await line.say(Said(version=4, line=ChatLine(seat=0, name="anna", text="one"), ref=FIRST_NUMBER), CURRENT)
        assert await line.heard() == numbered(Say(text="two"), 2)
        await next_of(link, Back)
        link.send(LeaveRace())
        assert await line.heard() == numbered(LeaveRace(), 3)


async def test_where_something_was_dropped_unread_all_that_is_unanswered_is_said_again(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        link.send(Say(text="dropped"))
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        assert await next_of(link, said.Error) == refusal(ErrorCode.TOO_FAST, 0)
        line = await back_in_line(server, line)
        await line.say(CURRENT)
        assert [await line.heard(), await line.heard()] == [numbered(MOVE), numbered(Say(text="dropped"), 2)]


async def test_after_too_much_at_once_the_link_is_quiet_and_then_says_again_by_the_same_connection_what_is_unanswered(
    server: FakeServer,
) -> None:
    async with raced(server) as (link, line):
        for message in (MOVE, Say(text="heard"), Say(text="dropped")):
            link.send(message)
            await line.heard()
        told_at = trio.current_time()
        heard = Said(version=4, line=ChatLine(seat=0, name="anna", text="heard"), ref=FIRST_NUMBER + 1)
        await line.say(refusal(ErrorCode.TOO_FAST, 0), CURRENT, heard, Hidden(version=6), refusal(ErrorCode.TOO_FAST, 0))
        assert [await next_of(link, said.Error) for _ in range(2)] == [refusal(ErrorCode.TOO_FAST, 0)] * 2
        assert not link.send(Say(text="one more"))
        assert await line.heard() == JoinRace(code="ABCDEF", version=4, ref=REJOIN_REFERENCE)
        assert trio.current_time() - told_at == pytest.approx(QUIET)
        assert not link.send(MOVE)
        await line.say(Hidden(version=5), Hidden(version=6), CURRENT)
        assert [await line.heard(), await line.heard()] == [numbered(MOVE), numbered(Say(text="dropped"), 3)]
        assert [await next_of(link, Hidden, Back) for _ in range(2)] == [Hidden(version=5), Hidden(version=6)]
        link.send(Say(text="here I am"))
        assert await line.heard() == numbered(Say(text="here I am"), 4)


async def test_without_a_room_what_was_dropped_is_said_again_after_the_silence(server: FakeServer) -> None:
    opening = OpenRace(options=RaceOptions())
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        for message in (FollowLobby(), opening):
            link.send(message)
            await line.heard()
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        await next_of(link, said.Error)
        assert not link.send(opening)
        assert [await line.heard(), await line.heard()] == [FollowLobby(), numbered(opening)]
        await line.say(room())
        assert await next_of(link, Room, Back) == room()


async def test_a_watcher_who_asked_too_much_asks_for_the_race_again(server: FakeServer) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(WatchRace(code="ABCDEF", ref=7))
        await line.heard()
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        assert await line.heard() == WatchRace(code="ABCDEF", ref=WATCH_REFERENCE)


async def test_a_connection_that_is_lost_in_the_silence_is_come_back_from_as_ever(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        await line.say(refusal(ErrorCode.TOO_FAST, 0))
        await next_of(link, said.Error)
        line = await back_in_line(server, line)
        await line.say(CURRENT)
        assert await line.heard() == numbered(MOVE)
        await next_of(link, Back)
        with trio.move_on_after(0.9):
            raise AssertionError(await line.heard())


async def test_until_the_room_is_reached_again_nothing_is_taken_for_it(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        line = await back_in_line(server, line)
        assert not link.send(MOVE)
        await line.say(race(version=900))
        await next_of(link, Back)
        assert link.send(MOVE)
        assert await line.heard() == numbered(MOVE)


async def test_a_race_that_was_asked_for_over_a_dying_connection_is_asked_for_again(server: FakeServer) -> None:
    wanted = OpenRace(options=RaceOptions())
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(wanted)
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == numbered(wanted)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_the_search_for_an_opponent_goes_on_by_the_next_connection_unless_its_end_was_asked_for(
    server: FakeServer, cancelled: bool
) -> None:
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        link.send(QuickMatch(rules="colorado"))
        assert await line.heard() == numbered(QuickMatch(rules="colorado"))
        await line.say(WaitingMatch(rules="colorado", waited_ms=0, window=100, waiting=1, ref=FIRST_NUMBER))
        await next_of(link, WaitingMatch)
        if cancelled:
            link.send(QuickMatch(cancel=True))
            await line.heard()
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == QuickMatch(rules="colorado")
        if cancelled:
            assert await line.heard() == numbered(QuickMatch(cancel=True), 2), "the last word counts"
        await next_of(link, Back)
        await line.say(WaitingOver(reason="cancelled"))
        await next_of(link, WaitingOver)
        link.send(LeaveRace())
        assert await line.heard() == numbered(LeaveRace(), 3 if cancelled else 2)


async def test_what_another_player_has_asked_for_is_not_said_by_the_next(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        link.send(MOVE)
        await line.cut()
        line = await server.line()
        await line.refuse_hello(ErrorCode.UNKNOWN_TOKEN)
        await line.greet(token="another")
        assert await next_of(link, Left) == Left(code="ABCDEF", reason=NO_SEAT)
        link.send(FollowLobby())
        assert await line.heard() == FollowLobby()


async def test_a_seat_held_from_before_is_gone_back_to_by_the_link(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(room="ABCDEF")
        assert await line.heard() == JoinRace(code="ABCDEF", version=0, ref=REJOIN_REFERENCE)
        await line.say(race())
        assert await next_of(link, Room) == race()


async def test_entered_waits_for_the_race_to_watch_and_a_seat_elsewhere_is_no_answer(server: FakeServer, nursery: trio.Nursery) -> None:
    async def be_asked() -> None:
        line = await server.greeted(room="ABCDEF")
        assert await line.heard() == JoinRace(code="ABCDEF", version=0, ref=REJOIN_REFERENCE)
        await line.say(room())
        assert await line.heard() == WatchRace(code="OTHERS", ref=QUESTION_REFERENCE)
        await trio.sleep(1)
        await line.say(refusal(ErrorCode.OWN_RACE, QUESTION_REFERENCE))

    nursery.start_soon(be_asked)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match="You are part of that race"):
            await link.entered(WatchRace(code="OTHERS"))


async def test_a_watcher_comes_back_to_the_race_by_themselves(server: FakeServer) -> None:
    watched = Watched(room=room(code="OTHERS", seat=None), boards=(), watchers=1, lines=(), closest=False)
    async with greeted(server) as (link, line):
        await next_of(link, Welcome)
        assert link.send(WatchRace(code="OTHERS"))
        assert link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == WatchRace(code="OTHERS")
        await line.say(watched)
        await next_of(link, Watched)
        await line.cut()
        line = await server.greeted()
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        # Not answered: asked for again, and nothing else can be said to those who watch.
        assert not link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        await line.say(watched)
        assert await next_of(link, Watched, Back) == watched
        await next_of(link, Back)
        assert link.send(Say(text="Hello", code="OTHERS"))
        assert await line.heard() == numbered(Say(text="Hello", code="OTHERS"), 2)


async def watch_hello(line: Line) -> Hello:
    """Answer the hello of a player who comes with the token "known" only to watch."""
    asked = await line.heard()
    assert isinstance(asked, WhoAmI)
    assert asked.token == "known"
    await line.say(YouAre(player="p1", name="anna", ref=asked.ref))
    hello = await line.heard()
    assert isinstance(hello, Hello)
    await line.say(welcome(token="known"))
    return hello


async def test_whoever_watches_comes_by_a_second_connection_and_by_a_first_one_once_they_would_race(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "known"), watches=True, keep=kept.append, dial=server.dial) as link:
        line = await server.line()
        hello = await watch_hello(line)
        assert (hello.token, hello.watch) == ("known", True)
        await next_of(link, Welcome)
        assert kept == [Identity("anna", "known", "p1")]
        for message in (FollowLobby(), WatchRace(code="OTHERS")):
            assert link.send(message)
            assert await line.heard() == message
        await line.cut()
        line = await server.line()
        assert (await watch_hello(line)).watch
        assert await line.heard() == WatchRace(code="OTHERS", ref=WATCH_REFERENCE)
        await line.say(Unwatched(code="OTHERS", reason="closed"))
        await next_of(link, Back)
        assert link.send(JoinRace(code="MYRACE"))
        hello = await line.greet(token="known")
        assert (hello.name, hello.token, hello.watch) == ("anna", "known", False)
        assert await line.heard() == numbered(JoinRace(code="MYRACE"))
        await line.cut()
        assert not (await (await server.line()).greet(token="known")).watch


@pytest.mark.parametrize("token", [None, "forgotten"])
async def test_whoever_watches_and_is_not_known_becomes_a_player_who_can_talk(server: FakeServer, token: str | None) -> None:
    async with open_link(URL, Identity("anna", token), watches=True, dial=server.dial) as link:
        line = await server.line()
        if token is not None:
            asked = await line.heard()
            assert isinstance(asked, WhoAmI)
            await line.say(refusal(ErrorCode.UNKNOWN_TOKEN, asked.ref))
        hello = await line.greet(token="fresh")
        assert (hello.token, hello.watch) == (None, False)
        await next_of(link, Welcome)
        assert link.send(JoinRace(code="MYRACE"))
        assert await line.heard() == numbered(JoinRace(code="MYRACE")), "it has said hello already"


async def test_an_older_server_that_makes_a_guest_of_who_watches_changes_nothing_of_what_is_kept(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, Identity("anna", "known"), watches=True, keep=kept.append, dial=server.dial) as link:
        line = await server.line()
        asked = await line.heard()
        assert isinstance(asked, WhoAmI)
        await line.say(YouAre(player="p1", name="anna", ref=asked.ref))
        assert isinstance(await line.heard(), Hello)
        await line.say(replace(welcome(name="", token=""), player=""))
        await next_of(link, Welcome)
        assert kept == []


async def test_a_join_that_is_not_answered_is_asked_for_again_less_and_less_often(server: FakeServer) -> None:
    async with raced(server) as (link, line):
        line = await back_in_line(server, line)
        asked = [trio.current_time()]
        for _ in range(6):
            assert await line.heard() == AGAIN
            asked.append(trio.current_time())
        assert [later - earlier for earlier, later in itertools.pairwise(asked)] == pytest.approx([1, 2, 2, 2, 2, 2])
        await line.say(CURRENT)
        await next_of(link, Back)
        with trio.move_on_after(60):
            raise AssertionError(await line.heard())


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


# ---- first connections that fail


async def failure(url: str = URL, **options: object) -> LinkError:
    with pytest.raises(LinkError) as caught:
        async with open_link(url, ANNA, **options):  # type: ignore[arg-type]
            pass
    sentence = str(caught.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return caught.value


async def test_a_bad_address_is_one_sentence() -> None:
    assert "begins with ws:// or wss://" in str(await failure("ftp://carpet.example"))


async def test_a_refused_connection_is_one_sentence() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await failure(f"127.0.0.1:{unused.getsockname()[1]}")
    assert isinstance(error, Unreachable)
    assert "refused" in str(error)


async def test_an_unknown_host_is_one_sentence() -> None:
    async def no_such_name() -> trio.abc.Stream:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    error = await failure("ws://no.such.example:1", dial=no_such_name)
    assert isinstance(error, Unreachable)
    assert "no host named no.such.example" in str(error)


async def test_a_name_that_cannot_be_a_hosts_is_one_sentence() -> None:
    assert "no host named a..example" in str(await failure("ws://a..example:1"))


async def test_a_server_that_never_answers_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running() as silent:
        silent.silent = True
        error = await failure(dial=silent.dial)
    assert isinstance(error, Unreachable)
    assert "within 10 seconds" in str(error)


async def test_no_common_version_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running(["carpet.v2.msgpack"]) as newer:
        assert isinstance(await failure(dial=newer.dial), OtherVersion)


async def test_a_websocket_server_of_something_else_is_one_sentence(autojump_clock: MockClock) -> None:
    async with FakeServer.running([]) as other:
        assert isinstance(await failure(dial=other.dial), NotCarpetServer)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", NotCarpetServer),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", NotCarpetServer),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", NotCarpetServer),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Unreachable),
        (b"220 mail.example ESMTP\r\n", NotCarpetServer),
        (b"", NotCarpetServer),
    ],
)
async def test_what_is_no_carpet_server_is_one_sentence(
    autojump_clock: MockClock, nursery: trio.Nursery, answer: bytes, kind: type[LinkError]
) -> None:
    async def dial() -> trio.abc.Stream:
        ours, theirs = memory_stream_pair()

        async def answering() -> None:
            await theirs.receive_some()
            await theirs.send_all(answer)
            await theirs.aclose()

        nursery.start_soon(answering)
        return ours

    assert type(await failure(dial=dial)) is kind


async def serve_tls(nursery: trio.Nursery) -> int:
    """Until the nursery ends, with a certificate of nobody known, which nobody takes. Returns the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)

    async def handle(stream: trio.abc.Stream) -> None:
        with pytest.raises(trio.BrokenResourceError):
            await trio.SSLStream(stream, context, server_side=True).do_handshake()

    listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, handle, 0)
    return int(listeners[0].socket.getsockname()[1])


@pytest.mark.parametrize(
    ("file", "said"),
    [(None, "name its file: SSL_CERT_FILE=cert.pem"), ("nowhere.pem", "SSL_CERT_FILE names nowhere.pem, which does not exist")],
)
async def test_a_certificate_of_nobody_known_is_one_sentence_that_says_how_it_is_trusted(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, file: str | None, said: str
) -> None:
    if file is None:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    else:
        monkeypatch.setenv("SSL_CERT_FILE", file)
    error = await failure(f"wss://localhost:{await serve_tls(nursery)}")
    assert isinstance(error, NotTrusted)
    assert said in str(error)
    nursery.cancel_scope.cancel()


async def test_a_plain_server_behind_wss_is_one_sentence(nursery: trio.Nursery) -> None:
    async def handle(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listeners = await nursery.start(trio.serve_tcp, handle, 0)
    error = await failure(f"wss://localhost:{listeners[0].socket.getsockname()[1]}")
    assert isinstance(error, NotTrusted)
    assert "ws:// instead of wss://" in str(error)
    nursery.cancel_scope.cancel()


async def test_a_tls_server_behind_ws_is_one_sentence(nursery: trio.Nursery) -> None:
    error = await failure(f"ws://localhost:{await serve_tls(nursery)}")
    assert isinstance(error, NotCarpetServer)
    assert "wss:// instead of ws://" in str(error)
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirection_is_not_followed_since_the_token_would_go_there(nursery: trio.Nursery, status: str) -> None:
    reached = []

    async def elsewhere(stream: trio.abc.Stream) -> None:
        reached.append(await stream.receive_some())

    async def handle(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(f"HTTP/1.1 {status}\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode())

    other, here = [await nursery.start(trio.serve_tcp, each, 0) for each in (elsewhere, handle)]
    there = f"ws://localhost:{other[0].socket.getsockname()[1]}/"
    error = await failure(f"ws://localhost:{here[0].socket.getsockname()[1]}")
    assert isinstance(error, NotCarpetServer)
    assert f"sends you elsewhere (HTTP {status[:3]})" in str(error)
    assert not reached
    nursery.cancel_scope.cancel()


# ---- a place of several servers


async def test_the_link_goes_where_the_server_sends_it_and_asks_there_again(server: FakeServer) -> None:
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(token="known")
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
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(nodes=("ws://n2.carpet.example",))
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
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(nodes=("ws://n2.carpet.example", "ws://n3.carpet.example"))
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
    async with open_link(URL, ANNA, dial=server.dial) as link:
        line = await server.greeted(nodes=("ws://n2.carpet.example",))
        await next_of(link, Welcome)
        hosts = []
        for _ in range(3):
            await line.close(CloseCode.LET_GO)
            line = await server.line()
            hosts.append(line.host)
        assert hosts == ["n2.carpet.example", URL.removeprefix("ws://"), "n2.carpet.example"]
