"""Looking up a player by their token, and renaming them: what is sent, and a sentence for every answer."""

from __future__ import annotations

import pytest
import trio

from client.connection.errors import Failure, LinkError, Unreachable
from client.connection.events import Identity
from client.connection.questions import QUESTION_REFERENCE
from client.connection.request import NotAnswered, NotKnown, rename, who_is
from protocol.client_messages import ClientMessage, Rename, WhoAmI
from protocol.errors import ErrorCode
from protocol.server_messages import Error, ServerMessage, YouAre
from tests.client import scenes
from tests.client.fake_server import FakeServer

URL = "ws://carpet.example:7777"
ANNA = Identity("anna", "secret", "p1")


async def answering(server: FakeServer, answer: ServerMessage | None) -> ClientMessage:
    """Take one line and answer what it says first, or close it."""
    line = await server.line()
    asked = await line.heard()
    if answer is None:
        await line.close(1001)
    else:
        await line.say(answer)
    return asked


def refusal(code: ErrorCode) -> Error:
    return scenes.refusal(code, QUESTION_REFERENCE)


async def test_the_server_is_asked_by_the_token_alone(server: FakeServer) -> None:
    async with trio.open_nursery() as nursery:
        asked: list[ClientMessage] = []

        async def serve() -> None:
            asked.append(await answering(server, YouAre(player="p1\x1b[2J", name="\x1b[31mBerta", ref=QUESTION_REFERENCE)))

        nursery.start_soon(serve)
        assert await who_is(URL, ANNA, dial=server.dial) == Identity("Berta", "secret", "p1")
    assert asked == [WhoAmI(token="secret", ref=QUESTION_REFERENCE)]


async def test_the_new_name_is_the_one_that_the_server_says(server: FakeServer) -> None:
    async with trio.open_nursery() as nursery:
        asked: list[ClientMessage] = []

        async def serve() -> None:
            asked.append(await answering(server, YouAre(player="p1", name="Berta", ref=QUESTION_REFERENCE)))

        nursery.start_soon(serve)
        assert await rename(URL, ANNA, "Berta ", dial=server.dial) == Identity("Berta", "secret", "p1")
    assert asked == [Rename(name="Berta ", token="secret", ref=QUESTION_REFERENCE)]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (refusal(ErrorCode.UNKNOWN_TOKEN), NotKnown, f"The server at {URL} does not know you as anna: it has started afresh"),
        (refusal(ErrorCode.NAME_TAKEN), NotAnswered, f"Another player at {URL} is called Berta: you are still anna."),
        (refusal(ErrorCode.UNKNOWN_TYPE), LinkError, "is older than this program"),
        (refusal(ErrorCode.NOT_KEPT), NotAnswered, "The server cannot save what happens"),
        (None, Unreachable, "The server is going away."),
    ],
    ids=["token", "name", "older", "not kept", "closed"],
)
async def test_every_other_answer_is_a_sentence(server: FakeServer, answer: Error | None, kind: type[Failure], said: str) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, server, answer)
        with pytest.raises(kind) as failed:
            await rename(URL, ANNA, "Berta", dial=server.dial)
    assert said in str(failed.value)
    assert "secret" not in str(failed.value)


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever(server: FakeServer) -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        await who_is(URL, ANNA, dial=server.dial)
    assert trio.current_time() < 20


async def test_a_refusal_to_say_who_one_is_is_not_told_as_one_of_a_name(server: FakeServer) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, server, refusal(ErrorCode.NOT_KEPT))
        with pytest.raises(NotAnswered, match="The server cannot save what happens"):
            await who_is(URL, ANNA, dial=server.dial)
