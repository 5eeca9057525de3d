"""A server that says what a test tells it to, over streams in memory: real WebSocket handshake and frames, but no socket and no game.

`FakeServer.dial` goes to `open_link(dial=...)`; each connection comes out of `FakeServer.line()` as a `Line`, or out of
`FakeServer.greeted()`.
"""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import AsyncIterator, Sequence

import trio
import trio.testing
from msgspec.structs import replace
from websockets.trio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from protocol.client_messages import ClientMessage, Hello
from protocol.codec import SUBPROTOCOLS, client_message_decoder, encode
from protocol.errors import ErrorCode
from protocol.room_events import Room
from protocol.server_messages import ServerMessage, Welcome
from protocol.views import BotInfo, RaceOptions, RulesInfo, SeatInfo, View
from tests.client import scenes

RULES = RulesInfo(
    id="carpet",
    name="Carpet",
    family="carpet",
    explanation="",
    source="",
    difficulty="easy",
    decks=1,
    columns=5,
    rows=4,
    reserves=0,
    has_waste=True,
    redeals=0,
    visible_stock=0,
    solvable=True,
)
NO_CARDS = {"S": 1, "H": 1, "D": 1, "C": 1}


class _NoSocket:
    """Enough of a socket for `serve` to log its address."""

    family = socket.AF_UNIX

    def getsockname(self) -> str:
        return "memory"


class _MemoryListener(trio.abc.Listener[trio.abc.HalfCloseableStream]):
    def __init__(self) -> None:
        self.socket = _NoSocket()
        self.dialled, self._accepted = trio.open_memory_channel[trio.abc.HalfCloseableStream](8)

    async def accept(self) -> trio.abc.HalfCloseableStream:
        return await self._accepted.receive()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


class Line:
    """The server's end of a connection."""

    def __init__(self, ws: ServerConnection) -> None:
        self.ws = ws
        self._decoder = client_message_decoder(str(ws.subprotocol))

    @property
    def host(self) -> str:
        """The server that the client means to speak to."""
        assert self.ws.request is not None
        return self.ws.request.headers["Host"]

    async def heard(self) -> ClientMessage:
        return self._decoder.decode(await self.ws.recv(decode=False))

    async def say(self, *messages: ServerMessage) -> None:
        for message in messages:
            await self.ws.send(encode(message, str(self.ws.subprotocol)), text=not self._decoder.binary)

    async def hello(self) -> Hello:
        hello = await self.heard()
        assert isinstance(hello, Hello)
        return hello

    async def greet(self, *, token: str = "token-1", room: str | None = None, nodes: tuple[str, ...] = ()) -> Hello:
        """Receive the hello and answer it."""
        hello = await self.hello()
        await self.say(replace(welcome(name=hello.name, token=token, room=room), nodes=nodes))
        return hello

    async def refuse_hello(self, code: ErrorCode) -> None:
        hello = await self.hello()
        await self.say(scenes.refusal(code, hello.ref))

    async def cut(self) -> None:
        """Cut the connection, as if the cable were pulled."""
        await trio.aclose_forcefully(self.ws.stream)

    async def close(self, code: int, reason: str = "") -> None:
        await self.ws.aclose(code, reason)


class FakeServer:
    """refusal: while set, dialling raises it. silent: while true, connections are accepted but nothing is answered."""

    def __init__(self) -> None:
        self._listener = _MemoryListener()
        self._opened, self._lines = trio.open_memory_channel[Line](8)
        self.refusal: Exception | None = None
        self.silent = False
        self.dialled_at: list[float] = []

    async def dial(self) -> trio.abc.Stream:
        self.dialled_at.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        if self.refusal is not None:
            raise self.refusal
        ours, theirs = trio.testing.memory_stream_pair()
        if not self.silent:
            self._listener.dialled.send_nowait(theirs)
        return ours

    async def line(self) -> Line:
        return await self._lines.receive()

    async def greeted(self, *, token: str = "token-1", room: str | None = None, nodes: tuple[str, ...] = ()) -> Line:
        """The next connection, after its hello has been answered."""
        line = await self.line()
        await line.greet(token=token, room=room, nodes=nodes)
        return line

    async def answer(self, room: str | None, *answers: ServerMessage | Sequence[ServerMessage]) -> None:
        """Greet the next connection as that of a player with a seat in `room`, and answer what it says then, one thing after the other."""
        line = await self.greeted(room=room)
        for answer in answers:
            await line.heard()
            await line.say(*(answer if isinstance(answer, Sequence) else [answer]))

    async def _handle(self, ws: ServerConnection) -> None:
        self._opened.send_nowait(Line(ws))
        await ws.wait_closed()

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, subprotocols: Sequence[str] = SUBPROTOCOLS) -> AsyncIterator[FakeServer]:
        server = cls()
        async with trio.open_nursery() as nursery:
            await nursery.start(
                functools.partial(
                    serve,
                    server._handle,
                    listeners=[server._listener],  # type: ignore[list-item]  # no socket, though `serve` says it wants one
                    subprotocols=[Subprotocol(each) for each in subprotocols] or None,
                    ping_interval=None,
                    close_timeout=1,
                )
            )
            yield server
            nursery.cancel_scope.cancel()


def welcome(*, name: str = "anna", token: str = "token-1", room: str | None = None, bots: Sequence[str] = ("random", "greedy")) -> Welcome:
    infos = tuple(BotInfo(name=bot, explanation="") for bot in bots)
    return Welcome(player="p1", name=name, token=token, software="fake", rules=(RULES,), bots=infos, room=room)


def seat(number: int, name: str | None = None, **fields: object) -> SeatInfo:
    return scenes.seat(number, name, **({"home": 4, "foundations": NO_CARDS} | fields))


def room(*, version: int = 1, code: str = "ABCDEF", **fields: object) -> Room:
    usual: dict[str, object] = {"options": RaceOptions(), "commitment": "0" * 64, "seats": (seat(0, "anna"), seat(1))}
    return scenes.room(**(usual | {"version": version, "code": code} | fields))


def view(
    *moves: str, piles: dict[str, tuple[str, ...]] | None = None, waste: Sequence[str] = (), pending: str | None = None, **fields: object
) -> View:
    values: dict[str, object] = {"stock": 20, "stock_next": (), "foundations": NO_CARDS, "redeals": 0, "home": 4}
    return View(piles=piles or {}, waste=tuple(waste), pending=pending, moves=tuple(sorted(moves)), **{**values, **fields})  # type: ignore[arg-type]
