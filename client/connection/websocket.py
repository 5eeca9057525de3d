"""One connection to a server: a WebSocket from its handshake to its end, messages both ways, and the round trip.

The only importer of websockets in the client. Must not know of rooms, of what the messages mean, or that another connection may follow:
that is up to the link (`client.connection.client`).
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import trio
from msgspec import Struct
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

from client.connection.address import Address
from client.connection.errors import (
    LOST,
    TRY_SECURE,
    Ending,
    LinkError,
    NotCarpetServer,
    Unreachable,
    cannot_read,
    closed_by_server,
    closed_here,
    other_version,
    refused_by_http,
    unreachable,
)
from protocol.client_messages import ClientMessage
from protocol.codec import ENCODINGS, MAX_CLIENT_MESSAGE, MAX_SERVER_MESSAGE, Decoder, encode, server_message_decoder
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Hidden
from protocol.server_messages import ServerMessage

SEND_QUEUE = 64
"""Messages that wait for the socket. When full (a person cannot type that fast), nothing more is taken and `send` returns False."""
FRAMES = 16
"""Received frames that wait. Beyond that, the socket is not read, so that the server sees a slow reader."""
ROUND_TRIPS = 8
"""How many measurements the reported round trip is the smallest of: anything above it is waiting, not distance."""
OVERSLEPT_S = 1.0
"""A timer this many seconds late means that this machine or process was asleep."""

_log = logging.getLogger("carpet.net")
# Without a handler, Python prints errors on the terminal, in the middle of the screen.
_log.addHandler(logging.NullHandler())

Dial: TypeAlias = Callable[[], Awaitable[trio.abc.Stream]]


class ConnectionTimes(Struct, frozen=True):
    """Timeouts and intervals of a connection, in seconds.

    open_s: for name lookup, TCP, TLS and handshake together. close_s: for the goodbye: the last messages go out, then the close frames.
    ping_s: between two pings. pong_s: without a pong, after which a connection counts as dead though nobody closed it. deserted_s: the same
    in a place whose other servers soon take over from a silent one; also the longest wait for the first connection to one of them.
    """

    open_s: float = 10.0
    close_s: float = 2.0
    ping_s: float = 2.0
    pong_s: float = 10.0
    deserted_s: float = 4.0


class _Connection(ClientConnection):
    async def close_stream(self) -> None:
        await super().close_stream()
        # The library forgets that a full queue may hold up its reading task, which would then wait for ever, and with it everything that
        # waits for the end of the connection.
        if self.recv_flow_control is not None:
            self.resume_reading()


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow no redirection: it could lead anywhere, and the player's token would go there. Servers of one place say it by `Moved`."""
        return exc


@contextlib.asynccontextmanager
async def open_connection(
    address: Address, *, subprotocol: str, dial: Dial | None, times: ConnectionTimes
) -> AsyncIterator[ServerConnection]:
    """A connection after its handshake; closed when the block ends. dial: opens the byte stream, in place of TCP to the address.

    Raises LinkError if connecting fails.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            ws = await stack.enter_async_context(
                _Connect(
                    address.url,
                    stream=None if dial is None else await dial(),
                    subprotocols=[Subprotocol(subprotocol)],
                    compression=None,
                    # Proxies are for reaching the outside; they cannot reach a server on this machine.
                    proxy=None if address.is_loopback else True,
                    open_timeout=times.open_s,
                    close_timeout=times.close_s,
                    ping_interval=None,  # _measure does both: it measures round trips and finds a dead connection
                    max_size=MAX_SERVER_MESSAGE,
                    max_queue=FRAMES,
                    create_connection=_Connection,
                    logger=_log,
                )
            )
        except (OSError, WebSocketException, trio.BrokenResourceError, ImportError, UnicodeError) as error:
            raise _failure(error, address, subprotocol, times) from error
        if ws.subprotocol != subprotocol:
            raise NotCarpetServer(f"{address.url} is not a Carpet Race server: it agreed to no version of the protocol.")
        yield ServerConnection(ws, subprotocol, times)


class ServerConnection:
    """Made by `open_connection`."""

    def __init__(self, ws: ClientConnection, subprotocol: str, times: ConnectionTimes) -> None:
        self._ws = ws
        self._subprotocol = subprotocol
        self._times = times
        self.pong_s = times.pong_s
        """Seconds for which the server may be silent."""
        self._send_queue, self._to_write = trio.open_memory_channel[bytes](SEND_QUEUE)

    def send(self, message: ClientMessage) -> bool:
        """Never blocks. False if not taken: longer than MAX_CLIENT_MESSAGE bytes, more messages than SEND_QUEUE, or after `finish`."""
        data = encode(message, self._subprotocol)
        if len(data) > MAX_CLIENT_MESSAGE:
            return False
        try:
            self._send_queue.send_nowait(data)
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        return True

    def finish(self) -> None:
        """No more messages will be sent: say goodbye after the last one. `run` then ends."""
        self._send_queue.close()

    async def run(self, hear: Callable[[ServerMessage], Awaitable[None]], round_trip: Callable[[int], None]) -> Ending:
        """Carry messages until the connection ends. Returns why it ended. hear: called with each message. round_trip: called with the
        smallest of the last round trips, in ms.
        """
        silent = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write)
            nursery.start_soon(self._measure, round_trip, silent)
            ending = await self._read(hear)
            nursery.cancel_scope.cancel()
        if silent.is_set():
            return Ending(f"The server has not answered for {self.pong_s:.0f} seconds.", server_is_gone=True)
        return ending

    async def _write(self) -> None:
        text = not ENCODINGS[self._subprotocol].binary
        try:
            async for data in self._to_write:
                await self._ws.send(data, text=text)
        except ConnectionClosed:
            return  # _read reports why
        await self._ws.aclose()

    async def _measure(self, round_trip: Callable[[int], None], silent: trio.Event) -> None:
        ws, trips = self._ws, deque[float](maxlen=ROUND_TRIPS)
        try:
            while True:
                pong: trio.Event | None = None
                with trio.move_on_after(self.pong_s) as patience:
                    pong = await ws.ping()
                    await pong.wait()
                if patience.cancelled_caught:
                    overslept = trio.current_time() - patience.deadline > OVERSLEPT_S
                    # If nothing was read, the pong may be waiting. Another ping can follow only if this one went out whole.
                    if pong is not None and (overslept or ws.recv_flow_control is not None):
                        continue
                    silent.set()
                    # No goodbye: it would queue behind everything else that cannot be sent.
                    await trio.aclose_forcefully(ws.stream)
                    return
                trips.append(ws.latency)
                round_trip(round(min(trips) * 1000))
                await trio.sleep(self._times.ping_s)
        except ConnectionClosed:
            return

    async def _read(self, hear: Callable[[ServerMessage], Awaitable[None]]) -> Ending:
        decoder = server_message_decoder(self._subprotocol)
        try:
            while True:
                message = self._decoded(decoder, await self._ws.recv(decode=False))
                if message is not None:
                    await hear(message)
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
        # A newer server may send messages unknown here. A room event among them is one that this client cannot see: without its version,
        # the next event would seem to follow a gap, again after every join.
        version = ENCODINGS[self._subprotocol].unpack(data).get("version")
        return Hidden(version=version) if type(version) is int else None


def _ending(closed: ConnectionClosed) -> Ending:
    received, sent = closed.rcvd, closed.sent
    if received is not None and (sent is None or closed.rcvd_then_sent):
        return closed_by_server(received.code, received.reason)
    return closed_here(sent.code, sent.reason) if sent is not None else LOST


def _failure(error: BaseException, address: Address, subprotocol: str, times: ConnectionTimes) -> LinkError:
    """Why connecting failed, as the sentence that helps most."""
    match error:
        case InvalidStatus(response=response):
            return refused_by_http(response.status_code, bytes(response.body or b""), address.url, subprotocol)
        case InvalidProxy() | ProxyError():
            return Unreachable(f"The proxy on the way to {address.place} does not let you through: {error}.")
        case NegotiationError():
            return other_version(address.url, subprotocol)
        case InvalidHandshake():
            # A TLS server hangs up on plain bytes.
            end = "." if address.secure else f". Is that its port? If it speaks TLS, {TRY_SECURE}."
            return NotCarpetServer(f"{address.url} is not a Carpet Race server: what answers there does not speak WebSocket{end}")
        case TimeoutError():
            return Unreachable(f"There was no answer from {address.place} within {times.open_s:.0f} seconds.")
        case ImportError():
            return Unreachable(f"The proxy on the way to {address.place} is of a kind that this installation cannot use: {error}.")
    return unreachable(error, host=address.host, place=address.place)
