"""Shared by the tests of the wire: a whole server in memory, and clients that speak real WebSocket to it.

Connections are socket pairs, so that their buffers fill up like real ones. The clock is virtual. Nothing needs a port.
"""

from __future__ import annotations

import json
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import pytest
import trio
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from protocol.client_messages import ClientMessage, Hello, JoinRace, Move, OpenRace, Ready
from protocol.codec import ENCODINGS, MSGPACK, encode, server_message_decoder
from protocol.room_events import Dealt, PlayerView, Room, Started
from protocol.server_messages import CurrentView, Error, ServerMessage, Welcome
from protocol.views import RaceOptions, View
from server.lobby.bans import Bans
from server.lobby.lobby import Lobby
from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Players
from server.net.connection import Connection
from server.net.dispatch import Dispatch
from server.net.limits import CodeGuesses
from server.net.listener import serving
from server.net.origins import Origins
from server.net.overload import Overload
from server.net.stream import RoundTripRule, SocketStream
from server.pages.site import open_site
from server.rooms.clock import Clock
from server.rooms.driver import Room as ServedRoom
from server.rooms.registry import Rooms
from server.rooms.resumption import Resumption
from server.runs.ghost_lines import RecordedGhosts
from server.runs.service import RunService
from server.spectate.spectator_registry import SpectatorRegistry
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.replay import by_room
from server.store.store import Store
from server.tournaments.ports import Beside, PairNext, TournamentPorts
from server.tournaments.service import TournamentService
from tests.server.rooms.playing import at_once, first_seed, paired_here

Kind = TypeVar("Kind")

PLAIN_SOCKETS = False
"""Whether each connection of the server has a task of its own. The fixture `both_kinds` runs a test with both kinds."""

BESIDE: Beside = at_once
"""Where the work for large tournaments is done."""

PAIR_NEXT: PairNext = paired_here
"""Pairs the rounds of tournaments."""

_DECODERS = {name: server_message_decoder(name) for name in ENCODINGS}


class PairListener(trio.abc.Listener[SocketStream]):
    """A listener whose connections come from `dial`."""

    def __init__(self) -> None:
        # The library logs the address it listens on.
        self.socket = socket.socket(socket.AF_UNIX)
        self._accepted, self._waiting = trio.open_memory_channel[SocketStream](100)
        self._kernel_ms: dict[int, int] = {}

    async def accept(self) -> SocketStream:
        try:
            return await self._waiting.receive()
        except trio.ClosedResourceError:
            raise trio.ClosedResourceError from None

    async def aclose(self) -> None:
        self.socket.close()
        self._waiting.close()
        await trio.lowlevel.checkpoint()

    def dial(self, *, buffer: int | None = None, kernel_ms: int = 0) -> SocketStream:
        """The client's end of a new connection. buffer: roughly how many bytes from the server the kernel holds. kernel_ms: the round trip
        that the kernel reports."""
        ours, theirs = socket.socketpair()
        self._kernel_ms[theirs.fileno()] = kernel_ms
        if buffer is not None:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        self._accepted.send_nowait(SocketStream(theirs))
        return SocketStream(ours)

    def kernel_ms(self, sock: socket.socket) -> int | None:
        """Replaces the kernel's measurement."""
        return self._kernel_ms[sock.fileno()]


class Client:
    """One connection. It sends messages, or worse, and reads what comes when a test asks for it."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.heard: list[ServerMessage] = []
        self._welcome: Welcome | None = None
        self.room: Room | None = None
        self._view: View | None = None
        self.seat = self.ply = self.version = 0
        self.gaps = 0
        assert line.subprotocol is not None
        self.encoding: Subprotocol = line.subprotocol

    @property
    def welcome(self) -> Welcome:
        """The last one that was heard."""
        assert self._welcome is not None
        return self._welcome

    @property
    def view(self) -> View:
        """The last one of their own race."""
        assert self._view is not None
        return self._view

    async def say(self, message: ClientMessage) -> None:
        await self.say_document(encode(message, self.encoding))

    async def say_document(self, payload: bytes) -> None:
        await self.line.send(payload, text=not ENCODINGS[self.encoding].binary)

    async def say_map(self, document: dict[str, Any]) -> None:
        """Send any map, valid or not."""
        await self.say_document(ENCODINGS[self.encoding].pack(document))

    async def flood(self, message: ClientMessage, count: int) -> None:
        """Send a message `count` times, or until the server closes the connection."""
        with suppress(ConnectionClosed):
            for _ in range(count):
                await self.say(message)

    async def hear(self) -> ServerMessage:
        """The next message. Raises ConnectionClosed."""
        with trio.fail_after(100):
            message: ServerMessage = _DECODERS[self.encoding].decode(await self.line.recv(decode=False))
        self.heard.append(message)
        version = getattr(message, "version", None)
        if isinstance(version, int):
            self.gaps += not isinstance(message, Room) and version != self.version + 1
            self.version = version
        match message:
            case Welcome():
                self._welcome = message
            case Room(seat=seat, view=view):
                self.room, self.seat, self._view = message, seat or 0, view
            case Dealt(view=view):
                self._view, self.ply = view, 0
            case PlayerView(view=view, ply=ply) | CurrentView(view=view, ply=ply):
                self._view, self.ply = view, ply
            case _:
                pass
        return message

    async def hear_of(self, kind: type[Kind]) -> Kind:
        """Read until the first message of this kind."""
        while True:
            message = await self.hear()
            if isinstance(message, kind):
                return message

    async def ask(self, message: ClientMessage, kind: type[Kind]) -> Kind:
        """Send a message. Returns the answer of this kind."""
        await self.say(message)
        return await self.hear_of(kind)

    async def error_for(self, message: ClientMessage) -> Error:
        """Send a message. Returns the next error."""
        return await self.ask(message, Error)

    async def hear_end(self) -> tuple[int, str]:
        """Read until the connection ends. Returns the close code and reason."""
        try:
            while True:
                await self.hear()
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd is not None else (1006, "")

    async def error(self) -> Error:
        return await self.hear_of(Error)

    async def refusal(self) -> tuple[str, int]:
        """The code of the next error, and the ref of what it answers."""
        error = await self.error()
        return error.code, error.ref

    # ---- the usual steps

    async def hello(self, name: str = "Ann", token: str | None = None) -> Welcome:
        return await self.ask(Hello(name=name, token=token), Welcome)

    async def open(self, **options: Any) -> Room:
        return await self.ask(OpenRace(options=RaceOptions(**options)), Room)

    async def join(self, code: str, version: int = 0) -> Room:
        return await self.ask(JoinRace(code=code, version=version), Room)

    async def ready(self) -> None:
        await self.say(Ready(race=1, nonce="ab" * 16))

    async def move(self, move: str = "s", **changes: Any) -> None:
        await self.say(Move(**{"race": 1, "seat": self.seat, "ply": self.ply, "move": move, **changes}))

    async def play(self, move: str = "s", **changes: Any) -> PlayerView:
        """Make a move and wait until it is played."""
        await self.move(move, **changes)
        return await self.hear_of(PlayerView)


async def refused(line: connect) -> Response:
    """The answer to an opening handshake that is refused."""
    with pytest.raises(InvalidStatus) as refusal:
        async with line:
            pass
    return refusal.value.response


def request_bytes(encoding: str = MSGPACK) -> bytes:
    """The request of an opening handshake, for tests that send raw bytes."""
    lines = (
        "GET / HTTP/1.1",
        "Host: carpet.test",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: {encoding}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


def frame_bytes(opcode: Opcode, payload: bytes = b"", *, fin: bool = True) -> bytes:
    """One frame, masked like a client's."""
    return Frame(opcode, payload, fin=fin).serialize(mask=True)


async def head_received(stream: trio.abc.ReceiveStream) -> None:
    """Read up to the first blank line, and nothing after it."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        received += await stream.receive_some(1)


async def received_by(stream: trio.abc.ReceiveStream, *, within_s: float = 100) -> bytes:
    """Everything until the end of the connection."""
    with trio.fail_after(within_s):
        return b"".join([data async for data in stream])


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer by plain HTTP. headers: names in lower case, each once."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def read(cls, received: bytes) -> Answered:
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in lines]
        headers = {name.lower(): value for name, value in pairs}
        assert len(headers) == len(pairs)
        return cls(int(status.split(" ")[1]), headers, body)

    @property
    def document(self) -> Any:
        assert self.headers["content-type"] == "application/json; charset=utf-8"
        return json.loads(self.body)

    @property
    def problem(self) -> tuple[int, str]:
        """The status, and the one sentence that says why."""
        assert self.headers["cache-control"] == "no-store"
        document = self.document
        assert list(document) == ["error"]
        return self.status, document["error"]


class House:
    """A whole server, except that it has no port."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        rate: float,
        burst: int,
        max_rooms: int,
        connections_per_address: int,
        wall_s: float | None,
        store: Store | None,
    ) -> None:
        self.clock = Clock(wall_s)
        # A second server on the same store must not draw the same values.
        entropy = random.Random(5 if store is None else repr(self.clock.now_ms())).randbytes
        self.store = store or MemoryStore()
        self.computed: list[Callable[..., object]] = []
        self.journal = Journal(self.store)
        nursery.start_soon(self.journal.run)
        self.rooms = Rooms(
            nursery,
            clock=self.clock,
            entropy=entropy,
            software="test",
            journal=self.journal,
            find_deal=first_seed,
            rating_changes=partial(self.journal.ask, self.store.rating_changes),
            ghost_lines=RecordedGhosts(self.journal),
            max_rooms=max_rooms,
            bots_wait=False,
            keeps=store is not None,
        )
        nursery.start_soon(self.rooms.run)
        self.bans = Bans(journal=self.journal, clock=self.clock)
        self.bans.come_back(self.store.bans())
        self.players = Players(entropy=entropy, journal=self.journal, clock=self.clock, bans=self.bans)
        self.rooms.on_rated.append(self.players.rated)
        self.matchmaker = Matchmaker(self.rooms, clock=self.clock, rating=self.players.rating)
        self.lobby = Lobby(self.rooms, self.players, self.matchmaker, self.clock)
        over = Resumption(self.rooms, self.store, self.journal, self.clock).over
        self.spectators = SpectatorRegistry(nursery, self.rooms, self.clock, over=over)
        nursery.start_soon(self.spectators.run)
        self.runs = RunService(self.rooms, journal=self.journal, clock=self.clock, entropy=entropy, compute=self._compute)
        self.tournaments = TournamentService(
            TournamentPorts(
                clock=self.clock,
                entropy=entropy,
                rooms=self.rooms,
                players=self.players,
                journal=self.journal,
                store=self.store,
                pair_next=PAIR_NEXT,
                beside=BESIDE,
            )
        )
        nursery.start_soon(self.tournaments.run)
        self.overload = Overload(spread=lambda: 0.0)
        guesses = CodeGuesses() if connections_per_address else None
        self.dispatch = Dispatch(
            overload=self.overload,
            rooms=self.rooms,
            players=self.players,
            lobby=self.lobby,
            matchmaker=self.matchmaker,
            spectators=self.spectators,
            runs=self.runs,
            tournaments=self.tournaments,
            software="test",
            rate=rate,
            burst=burst,
            bans=self.bans,
            connections_per_address=connections_per_address,
            guesses=guesses,
        )
        self.site = open_site(
            rooms=self.rooms,
            lobby=self.lobby,
            runs=self.runs,
            tournaments=self.tournaments,
            bans=self.bans,
            journal=self.journal,
            clock=self.clock,
            compute=self._compute,
            max_rooms=max_rooms,
            relief=lambda: self.dispatch.forwarding.relief,
            guesses=guesses,
        )
        self.listener = PairListener()
        self._nursery = nursery

    @asynccontextmanager
    async def client(
        self, encoding: str = MSGPACK, *, stream: trio.abc.Stream | None = None, buffer: int | None = None, **options: Any
    ) -> AsyncIterator[Client]:
        """A connection after its handshake, over the given stream or a new one.

        It takes in messages and answers pings even while no test reads; max_queue=1 stops that.
        """
        fixed: dict[str, Any] = {"compression": None, "ping_interval": None, "close_timeout": 1, "proxy": None, "max_queue": None}
        stream = stream or self.listener.dial(buffer=buffer)
        async with connect("ws://carpet.test/", stream=stream, subprotocols=[Subprotocol(encoding)], **{**fixed, **options}) as line:
            try:
                yield Client(line)
            finally:
                # Otherwise the library would wait for ever to resume reading from a closed connection.
                if line.recv_flow_control is not None:
                    line.resume_reading()

    @asynccontextmanager
    async def guest(self, name: str = "Ann", encoding: str = MSGPACK, **options: Any) -> AsyncIterator[Client]:
        """A connection that has said hello."""
        async with self.client(encoding, **options) as client:
            await client.hello(name)
            yield client

    async def ask(self, target: str, *, method: str = "GET", headers: str = "") -> Answered:
        """The answer to a plain HTTP request, on a connection of its own."""
        async with self.listener.dial() as stream:
            await stream.send_all(f"{method} {target} HTTP/1.1\r\nHost: carpet.test\r\nConnection: close\r\n{headers}\r\n".encode())
            return Answered.read(await received_by(stream))

    async def _compute(self, function: Callable[..., Kind], *arguments: object) -> Kind:
        """Replaces a worker."""
        self.computed.append(function)
        await trio.lowlevel.checkpoint()
        return function(*arguments)

    @property
    def connections(self) -> list[Connection]:
        """The server's ends of all connections, oldest first."""
        return list(self.dispatch._visits)

    @property
    def only_room(self) -> ServedRoom:
        (room,) = self.rooms
        return room

    @asynccontextmanager
    async def race(self, *names: str, encoding: str = MSGPACK, **options: Any) -> AsyncIterator[tuple[Client, ...]]:
        """Clients in a race that has just begun."""
        async with self.guest(names[0], encoding) as first:
            code = (await first.open(seats=len(names), **options)).code
            if len(names) == 1:
                await self.start(first)
                yield (first,)
                return
            async with self.guest(names[1], encoding) as second:
                assert len(names) == 2
                await second.join(code)
                await self.start(first, second)
                yield first, second

    @staticmethod
    async def start(*clients: Client) -> None:
        for client in clients:
            await client.ready()
        for client in clients:
            await client.hear_of(Started)


@asynccontextmanager
async def open_house(
    *,
    rate: float = 1e6,
    burst: int = 1_000_000,
    max_rooms: int = 100,
    connections_per_address: int = 0,
    wall_s: float | None = None,
    store: Store | None = None,
    round_trip_rule: RoundTripRule | None = None,
) -> AsyncIterator[House]:
    """A server that runs inside the block, and is stopped like a real one. wall_s: the wall clock's time, as Unix time.

    store: one that outlives the server. Races that were left running in it go on.
    """
    async with trio.open_nursery() as nursery:
        house = House(
            nursery,
            rate=rate,
            burst=burst,
            max_rooms=max_rooms,
            connections_per_address=connections_per_address,
            wall_s=wall_s,
            store=store,
        )
        for left in by_room(house.store.running().races):
            house.rooms.resume(left)
        nursery.start_soon(house.lobby.run)
        nursery.start_soon(house.matchmaker.run)
        nursery.start_soon(house.runs.run)
        async with serving(
            house.dispatch,
            [house.listener],
            origins=Origins(),
            site=house.site,
            plain_sockets=PLAIN_SOCKETS,
            # The tests do not run on the kernel's clock.
            round_trip_rule=replace(round_trip_rule or RoundTripRule(kernel_ms=house.listener.kernel_ms), stamp=lambda _: None),
            overload=house.overload,
        ):
            yield house
            await house.rooms.stop()
        nursery.cancel_scope.cancel()
