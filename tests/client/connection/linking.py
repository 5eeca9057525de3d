"""A link to a scripted server, as the tests of the link need it: greeted, or in the middle of a race."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from msgspec.structs import replace

from client.connection.client import NetLink, open_link
from client.connection.events import Identity
from client.connection.outbox import FIRST_NUMBER, Request
from client.connection.resync import REJOIN_REFERENCE
from protocol.client_messages import JoinRace, Move
from protocol.room_events import Room
from protocol.server_messages import CurrentView
from tests.client.fake_server import FakeServer, Line, seat, view
from tests.client.fake_server import room as room_of

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
async def greeted(
    server: FakeServer, *, token: str = "token-1", room: str | None = None, nodes: tuple[str, ...] = (), **options: Any
) -> AsyncIterator[tuple[NetLink, Line]]:
    """A link, and the server's end of its first line behind the welcome. token, room, nodes: of the welcome. options: of `open_link`."""
    async with open_link(URL, ANNA, dial=server.dial, **options) as link:
        yield link, await server.greeted(token=token, room=room, nodes=nodes)


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
AGAIN = JoinRace(code="ABCDEF", version=3, ref=REJOIN_REFERENCE)


def race(version: int = 3, ply: int = 0, **fields: object) -> Room:
    """A snapshot of a race with cards on the table."""
    seats = (seat(0, "anna", state="racing", ply=ply), seat(1, "bert", state="racing"))
    return room_of(**{"version": version, "phase": "racing", "view": VIEW, "seats": seats, **fields})  # type: ignore[arg-type]


def numbered(request: Request, place: int = 1) -> Request:
    """The request as it goes out, as the one in this place of all that a link was asked to send."""
    return replace(request, ref=FIRST_NUMBER + place - 1)
