"""Asking about tournaments over the link: answers among the news, refusals, and guests, over streams in memory."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace

from client.connection.client import open_link
from client.connection.errors import RequestRefused, Unreachable
from client.connection.events import Identity
from client.connection.hello import HELLO_REFERENCE
from client.connection.questions import QUESTION_REFERENCE
from protocol.client_messages import Hello
from protocol.errors import ErrorCode
from protocol.text import CHAT_LENGTH
from protocol.tournament_messages import Decided, FollowTournament, PauseTournament, Tournament
from server.rules.catalogue import RULE_SETS
from tests.client import tournament_scenes as tournaments
from tests.client.fake_server import FakeServer, welcome
from tests.client.scenes import refusal

URL = "ws://carpet.example:7777"
ANNA = Identity("anna")
PAUSE = PauseTournament(id=tournaments.ID)
FOLLOW = FollowTournament(id=tournaments.ID)


async def test_an_answer_is_found_among_the_news_of_the_tournament(server: FakeServer, nursery: trio.Nursery) -> None:
    decided = Decided(id=tournaments.ID, number=4, ref=QUESTION_REFERENCE + 1)

    async def serve() -> None:
        line = await server.greeted()
        assert await line.heard() == replace(FOLLOW, ref=QUESTION_REFERENCE)
        await line.say(tournaments.running(), replace(tournaments.told(), ref=QUESTION_REFERENCE))
        assert await line.heard() == replace(PAUSE, ref=QUESTION_REFERENCE + 1)
        await line.say(tournaments.running(), decided, tournaments.running(phase="paused"))

    nursery.start_soon(serve)
    async with open_link(URL, ANNA, dial=server.dial) as link:
        assert await link.ask(FOLLOW, Tournament) == replace(tournaments.told(), ref=QUESTION_REFERENCE)
        assert await link.ask(PAUSE, Decided) == decided


async def test_what_is_refused_is_the_servers_sentence(server: FakeServer, nursery: trio.Nursery) -> None:
    nursery.start_soon(server.answer, None, (tournaments.told(), refusal(ErrorCode.NOT_THE_DIRECTOR, QUESTION_REFERENCE)))
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match="Only the director of a tournament may do that"):
            await link.ask(PAUSE, Decided)


async def test_a_refusal_that_lists_what_there_is_is_read_to_its_end(server: FakeServer, nursery: trio.Nursery) -> None:
    listed = f"The server does not know that rule set. (no rule set 'nosuch'; there are: {', '.join(RULE_SETS)})"
    assert len(listed) > CHAT_LENGTH

    nursery.start_soon(server.answer, None, replace(refusal(ErrorCode.UNKNOWN_RULES, QUESTION_REFERENCE), message=listed))
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(RequestRefused, match=r"persian-rug\)$"):
            await link.ask(PAUSE, Decided)


async def test_a_server_that_says_nothing_is_not_waited_for(server: FakeServer, nursery: trio.Nursery) -> None:
    nursery.start_soon(server.answer, None, tournaments.told())
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(Unreachable, match="does not answer"):
            await link.ask(PAUSE, Decided)


async def test_what_keeps_a_server_from_answering_is_the_reason_why_nobody_waits_any_longer(
    server: FakeServer, nursery: trio.Nursery
) -> None:
    nursery.start_soon(server.answer, None, (tournaments.told(), refusal(ErrorCode.CANNOT_WRITE, 0)))
    async with open_link(URL, ANNA, dial=server.dial) as link:
        with pytest.raises(Unreachable, match="cannot save anything just now"):
            await link.ask(PAUSE, Decided)


async def test_a_guest_says_so_on_every_connection_and_is_kept_nowhere(server: FakeServer) -> None:
    kept: list[Identity] = []
    async with open_link(URL, None, watches=True, keep=kept.append, dial=server.dial) as link:
        for _ in range(2):
            line = await server.line()
            hello = await line.heard()
            assert isinstance(hello, Hello)
            assert (hello.name, hello.token, hello.watch, hello.ref) == ("", None, True, HELLO_REFERENCE)
            await line.say(replace(welcome(name="", token=""), player=""))
            await link.entered()
            await line.cut()
    assert kept == []
