"""The link over a WebSocket: connect, say hello, carry messages, measure the round trip, and after a loss come back by itself.

The only importer of websockets on this side. What has to be said to be in the same room again is decided in `client.resume`; here are the
line, its tasks and the times between tries. Must not know of the game or the screens.

One task, `run`, lives as long as the link and owns one line after another; the tasks of a line (write, measure) live inside it and read
ends them. Time is Trio's clock, chance the generator handed in: tests give both.
"""

from __future__ import annotations

import contextlib
import logging
import random
import ssl as tls
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

import trio
from msgspec.structs import replace
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidProxy,
    InvalidStatus,
    NegotiationError,
    ProxyError,
    WebSocketException,
)
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from client.address import Address, BadAddress, parse_address
from client.endings import (
    LOST,
    Ending,
    EntryRefused,
    LinkError,
    NotCarpetServer,
    OtherVersion,
    Unreachable,
    cannot_read,
    closed_by_server,
    closed_here,
    other_version,
    refused_by_http,
    unreachable,
)
from client.identity import Identity
from client.link import Connected, Connecting, LinkEvent, Lost, RoundTrip
from client.resume import Resume, Step
from protocol import __version__
from protocol.client_messages import ClientMessage, Hello, JoinRace, OpenRace
from protocol.codec import ENCODINGS, MAX_CLIENT_MESSAGE, MAX_SERVER_MESSAGE, MSGPACK, Decoder, encode, server_message_decoder
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import Error, Hidden, Room, ServerMessage, Welcome
from protocol.text import clean_chat

OUTBOX = 64
"""Messages that wait for the socket. When full the line takes nothing (a person cannot type that fast): send says False."""
EVENTS = 256
"""Events that wait for the app. When full the link stops reading, and the server finds a slow reader; round trips are dropped."""

HELLO_REFERENCE = 2**31 - 1
ENTRY_REFERENCE = 2**31 - 3
OPEN_TIMEOUT = 10.0
"""Seconds for name, connection, TLS and handshake together."""
CLOSE_TIMEOUT = 2.0
"""Seconds to say goodbye in: what was sent last goes out, then the close frames."""
PING_EVERY = 2.0
PONG_TIMEOUT = 10.0
"""Seconds without a pong after which a line counts as dead, though nobody closed it."""
ROUND_TRIPS = 8
"""Of so many measurements the smallest is reported: what is above it is waiting, not distance."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
JOIN_PAUSE = 1.0

_log = logging.getLogger("carpet.net")
# Without a handler, Python prints errors on the terminal, in the middle of the screen.
_log.addHandler(logging.NullHandler())

Dial = Callable[[], Awaitable[trio.abc.Stream]]


@contextlib.asynccontextmanager
async def open_link(
    url: str,
    identity: Identity,
    *,
    reconnect: bool = True,
    ssl: tls.SSLContext | None = None,
    subprotocol: str = MSGPACK,
    keep: Callable[[Identity], None] | None = None,
    generator: random.Random | None = None,
    dial: Dial | None = None,
) -> AsyncIterator[NetLink]:
    """A link to the server at `url` (any form `parse_address` takes), connected when the block begins and closed when it ends.

    keep: called with the identity whenever the server gives a token. generator: for the pauses between tries.
    dial: opens the byte stream, in place of TCP to the address. Raises LinkError when the first connection fails.
    """
    try:
        address = parse_address(url)
    except BadAddress as error:
        raise LinkError(str(error)) from error
    link = NetLink(
        address,
        identity,
        reconnect=reconnect,
        ssl=ssl,
        subprotocol=subprotocol,
        keep=keep or (lambda identity: None),
        generator=generator or random.Random(),  # noqa: S311  (spreads clients over time, keeps no secret)
        dial=dial,
    )
    # What the block raises must come out as it is and not in the nursery's group: the tasks in there raise nothing of their own.
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            await nursery.start(link.run)
            yield link
            await link.close()
        except Exception as error:  # noqa: BLE001  (raised again below)
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


class NetLink:
    """Satisfies client.link.Link. welcome: the last one, None before the first."""

    def __init__(
        self,
        address: Address,
        identity: Identity,
        *,
        reconnect: bool,
        ssl: tls.SSLContext | None,
        subprotocol: str,
        keep: Callable[[Identity], None],
        generator: random.Random,
        dial: Dial | None,
    ) -> None:
        self._address = address
        self._identity = identity
        self._reconnect = reconnect
        self._ssl = ssl
        self._subprotocol = subprotocol
        self._keep = keep
        self._generator = generator
        self._dial = dial
        self._resume = Resume()
        self._told, self._events = trio.open_memory_channel[ServerMessage | LinkEvent](EVENTS)
        self._outbox: trio.MemorySendChannel[bytes] | None = None
        self.welcome: Welcome | None = None
        self._entry: Room | Error | None = None  # the answer to hello, where that is an error, or to the request of `entered`
        self._news = trio.Event()  # set, and replaced, when one of these two has changed or a line has ended
        self._tries = 0  # since the last welcome
        self._closing = False
        self._ended = trio.Event()

    @property
    def url(self) -> str:
        return self._address.url

    @property
    def events(self) -> trio.MemoryReceiveChannel[ServerMessage | LinkEvent]:
        return self._events

    def send(self, message: ClientMessage) -> bool:
        """Also False for what no server would take: a message of more than MAX_CLIENT_MESSAGE bytes, or one more than OUTBOX holds."""
        data = encode(message, self._subprotocol)
        if self._outbox is None or self._closing or len(data) > MAX_CLIENT_MESSAGE:
            return False
        try:
            self._outbox.send_nowait(data)
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        return True

    async def entered(self, request: OpenRace | JoinRace | None = None) -> Welcome:
        """Wait until hello was answered, and `request` too, for a command that would rather end than begin with an error on the screen.

        Takes nothing from `events`. The request is kept back when the welcome names a race in which this player has a seat: that is
        the one to go on with. Raises LinkError.
        """
        with trio.move_on_after(OPEN_TIMEOUT):
            if self.welcome is None:
                await self._next_news()
            assert self.welcome is not None
            if request is None or self.welcome.room is not None:
                return self.welcome
            self._entry = None
            self.send(replace(request, ref=ENTRY_REFERENCE))
            while not self._is_answered():
                await self._next_news()
            return self.welcome
        raise Unreachable(f"The server at {self.url} does not answer.")

    def _is_answered(self) -> bool:
        return self._entry is not None

    async def _next_news(self) -> None:
        await self._news.wait()
        if isinstance(self._entry, Error):
            raise EntryRefused(clean_chat(self._entry.message) or self._entry.code)
        if self._outbox is None:
            raise Unreachable(f"The server at {self.url} has closed the line.")

    def _tell_news(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def close(self) -> None:
        """Let what was sent go out and say goodbye, as far as CLOSE_TIMEOUT allows."""
        self._closing = True
        self._events.close()
        if self._outbox is not None:
            self._outbox.close()
            with trio.move_on_after(CLOSE_TIMEOUT):
                await self._ended.wait()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """One line after another. Raises LinkError when the first does not come about; nothing else, ever."""
        stood = False

        def started() -> None:
            nonlocal stood
            if not stood:
                stood = True
                task_status.started()

        try:
            with self._told:
                while not self._closing:
                    self._tries += 1
                    await self._tell(Connecting(self._tries))
                    try:
                        ending = await self._line(started)
                    except LinkError as error:
                        if not stood:
                            raise
                        ending = Ending(str(error), final=isinstance(error, OtherVersion))
                    if ending.final or not self._reconnect or self._closing:
                        await self._tell(Lost(ending.reason, None))
                        return
                    pause = self._pause()
                    await self._tell(Lost(ending.reason, round(pause * 1000)))
                    await trio.sleep(pause)
        finally:
            self._ended.set()

    def _pause(self) -> float:
        """Seconds to the next try: none after a line that stood, then anything up to a bound that doubles.

        A line counts as standing from its welcome on: a server that accepts and drops at once is not asked again and again without pause.
        """
        if self._tries == 0:
            return 0.0
        return self._generator.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._tries, 16)))

    async def _tell(self, event: ServerMessage | LinkEvent) -> None:
        # The app may have left already; then nobody is there to tell.
        with contextlib.suppress(trio.BrokenResourceError):
            await self._told.send(event)

    # ---- one line

    async def _line(self, started: Callable[[], None]) -> Ending:
        async with contextlib.AsyncExitStack() as stack:
            try:
                ws = await stack.enter_async_context(await self._connecting())
            except (OSError, WebSocketException, trio.BrokenResourceError, ImportError) as error:
                raise _failure(error, self._address, self._subprotocol) from error
            if ws.subprotocol != self._subprotocol:
                raise NotCarpetServer(f"{self._address.url} is no Carpet Race server: it agreed to no version of the protocol.")
            await self._tell(Connected(self.url, self._subprotocol))
            try:
                return await self._talk(ws, started)
            finally:
                self._outbox = None
                self._tell_news()
        raise AssertionError("an exit stack swallows nothing")

    async def _connecting(self) -> connect:
        stream = None
        if self._dial is not None:
            stream = await self._dial()
        return connect(
            self._address.url,
            stream=stream,
            ssl=self._ssl if self._address.secure else None,
            subprotocols=[Subprotocol(self._subprotocol)],
            compression=None,
            # A proxy is for getting out; it cannot reach a server on this machine.
            proxy=None if self._address.is_loopback else True,
            open_timeout=OPEN_TIMEOUT,
            close_timeout=CLOSE_TIMEOUT,
            ping_interval=None,  # _measure does both: round trips and finding a dead line
            max_size=MAX_SERVER_MESSAGE,
            logger=_log,
        )

    async def _talk(self, ws: ClientConnection, started: Callable[[], None]) -> Ending:
        outbox, to_write = trio.open_memory_channel[bytes](OUTBOX)
        silent = trio.Event()
        self._outbox = outbox
        self._say_hello()
        started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write, ws, to_write)
            nursery.start_soon(self._measure, ws, silent)
            ending = await self._read(ws, nursery)
            nursery.cancel_scope.cancel()
        if silent.is_set():
            return Ending(f"The server has not answered for {PONG_TIMEOUT:.0f} seconds.")
        return ending

    def _say_hello(self) -> None:
        hello = Hello(name=self._identity.name, token=self._identity.token, software=f"carpet-race {__version__}", ref=HELLO_REFERENCE)
        self.send(hello)

    async def _write(self, ws: ClientConnection, to_write: trio.MemoryReceiveChannel[bytes]) -> None:
        text = not ENCODINGS[self._subprotocol].binary
        try:
            async for data in to_write:
                await ws.send(data, text=text)
        except ConnectionClosed:
            return  # read says why
        # The outbox was closed: the app is done, and all it said is on its way.
        await ws.aclose()

    async def _measure(self, ws: ClientConnection, silent: trio.Event) -> None:
        trips: deque[float] = deque(maxlen=ROUND_TRIPS)
        try:
            while True:
                with trio.move_on_after(PONG_TIMEOUT) as patience:
                    pong = await ws.ping()
                    await pong.wait()
                if patience.cancelled_caught:
                    silent.set()
                    # Without a goodbye: it would wait behind all else that cannot be sent.
                    await trio.aclose_forcefully(ws.stream)
                    return
                trips.append(ws.latency)
                with contextlib.suppress(trio.WouldBlock, trio.BrokenResourceError):
                    self._told.send_nowait(RoundTrip(round(min(trips) * 1000)))
                await trio.sleep(PING_EVERY)
        except ConnectionClosed:
            return

    async def _read(self, ws: ClientConnection, nursery: trio.Nursery) -> Ending:
        decoder = server_message_decoder(self._subprotocol)
        try:
            while True:
                message = self._decoded(decoder, await ws.recv(decode=False))
                if message is not None:
                    await self._handle(message, nursery)
        except ConnectionClosed as closed:
            return _ending(closed)
        except Refusal as refusal:
            where = f" at {refusal.path}" if refusal.path else ""
            return cannot_read(f"{refusal.detail}{where}")

    def _decoded(self, decoder: Decoder[ServerMessage], data: bytes) -> ServerMessage | None:
        try:
            return decoder.decode(data)
        except Refusal as refusal:
            if refusal.code is not ErrorCode.UNKNOWN_TYPE:
                raise
        # A newer server may say more than is known here. Where that was an event of the room, it is one this client cannot see: without
        # its version the next event would look like the far side of a gap, again after every join.
        version = ENCODINGS[self._subprotocol].unpack(data).get("version")
        return Hidden(version=version) if type(version) is int else None

    async def _handle(self, message: ServerMessage, nursery: trio.Nursery) -> None:
        if isinstance(message, Welcome):
            self._welcomed(message)
        elif (
            isinstance(message, Error)
            and message.ref == HELLO_REFERENCE
            and message.code == ErrorCode.UNKNOWN_TOKEN
            and self._identity.token is not None
        ):
            # The server has lost its memory, or it is another one: be a new player there.
            self._identity = Identity(self._identity.name)
            self._resume.start_over()
            self._say_hello()
            return
        await self._take(self._resume.take(message), nursery)
        if isinstance(message, Welcome):
            await self._take(self._resume.welcomed(message.room), nursery)

    async def _take(self, step: Step, nursery: trio.Nursery) -> None:
        for passed in step.pass_on:
            await self._tell(passed)
            if isinstance(passed, Room) or (isinstance(passed, Error) and passed.ref in (HELLO_REFERENCE, ENTRY_REFERENCE)):
                self._entry = passed
                self._tell_news()
        if step.retry or (step.send is not None and not self.send(step.send)):
            nursery.start_soon(self._rejoin_later)

    def _welcomed(self, welcome: Welcome) -> None:
        self._tries = 0
        self.welcome = welcome
        self._tell_news()
        if welcome.token != self._identity.token:
            self._identity = Identity(self._identity.name, welcome.token)
            self._keep(self._identity)

    async def _rejoin_later(self) -> None:
        # The server was too busy, or the outbox full: nothing more comes of the room until this has been said.
        while True:
            await trio.sleep(JOIN_PAUSE)
            join = self._resume.rejoin()
            if join is None or self.send(join):
                return


def _ending(closed: ConnectionClosed) -> Ending:
    received, sent = closed.rcvd, closed.sent
    if received is not None and (sent is None or closed.rcvd_then_sent):
        return closed_by_server(received.code, received.reason)
    return closed_here(sent.code, sent.reason) if sent is not None else LOST


def _failure(error: BaseException, address: Address, subprotocol: str) -> LinkError:
    """The error of a connection that did not come about, as the sentence that helps most."""
    match error:
        case InvalidStatus(response=response):
            return refused_by_http(response.status_code, bytes(response.body or b""), address, subprotocol)
        case InvalidProxy() | ProxyError():
            return Unreachable(f"The proxy on the way to {address.place} does not let you through: {error}.")
        case NegotiationError():
            return other_version(address, subprotocol)
        case InvalidHandshake():
            # A server that wants TLS hangs up on plain bytes.
            end = "." if address.secure else "; is it wss:// instead of ws://?"
            return NotCarpetServer(f"There is no Carpet Race server at {address.url}: what answers there does not speak WebSocket{end}")
        case TimeoutError():
            return Unreachable(f"There was no answer from {address.place} within {OPEN_TIMEOUT:.0f} seconds.")
        case ImportError():
            return Unreachable(f"The proxy on the way to {address.place} is of a kind that this installation cannot use: {error}.")
    return unreachable(error, address)
