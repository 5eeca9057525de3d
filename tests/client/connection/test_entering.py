"""The link before the first screen: who waits for the welcome or for a seat, and which old seat is given up for it."""

from __future__ import annotations

import re

import pytest
import trio

from client.connection.client import open_link
from client.connection.errors import RequestRefused, Unreachable
from client.connection.events import Connecting
from client.connection.questions import QUESTION_REFERENCE
from client.connection.resync import REJOIN_REFERENCE
from protocol import server_messages as said
from protocol.client_messages import JoinRace, LeaveRace
from protocol.errors import ERRORS, ErrorCode
from protocol.room_events import Room
from protocol.server_messages import Left, Welcome
from tests.client.connection.linking import ANNA, URL, greeted, next_of, race
from tests.client.fake_server import FakeServer, room
from tests.client.scenes import refusal


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
    async with greeted(server, room="OTHERS") as (link, _):
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
