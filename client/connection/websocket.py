"""One connection to a server: a WebSocket from its handshake to its end, messages out and in, and the round trip.

The only importer of websockets on this side. Must not know of rooms, of what is said on the connection, nor that there may be another one
after it: that is the link's (`client.connection.client`).
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

OUTBOX = 64
"""Messages that wait for the socket. When full the connection takes nothing (a person cannot type that fast): send says False."""
FRAMES = 16
"""Frames that wait for whoever hears them. When there are more the connection is not read, and the server finds a slow reader."""
ROUND_TRIPS = 8
"""Of so many measurements the smallest is reported: what is above it is waiting, not distance."""
OVERSLEPT_S = 1.0
"""A timer that is late by so much was not late: this machine was asleep, or this process was."""

_log = logging.getLogger("carpet.net")
# Without a handler, Python prints errors on the terminal, in the middle of the screen.
_log.addHandler(logging.NullHandler())

Dial: TypeAlias = Callable[[], Awaitable[trio.abc.Stream]]


class ConnectionTimes(Struct, frozen=True):
    """How long a connection is waited for, in seconds.

    open_s: name, connection, TLS and handshake together. close_s: saying goodbye: what was sent last goes out, then the close frames.
    ping_s: between two pings. pong_s: without a pong, after which a connection counts as dead, though nobody closed it.
    deserted_s: the same where the place has other servers: one of these soon has what the silent one had. So long one is waited for then.
    """

    open_s: float = 10.0
    close_s: float = 2.0
    ping_s: float = 2.0
    pong_s: float = 10.0
    deserted_s: float = 4.0


class _Connection(ClientConnection):
    async def close_stream(self) -> None:
        await super().close_stream()
        # The library forgets that its reading task may be held up by a full queue: it would wait for ever, and with it all that waits for
        # the end of the connection.
        if self.recv_flow_control is not None:
            self.resume_reading()


@contextlib.asynccontextmanager
async def open_connection(
    address: Address, *, subprotocol: str, dial: Dial | None, times: ConnectionTimes
) -> AsyncIterator[ServerConnection]:
    """A connection that has shaken hands, and is closed when the block ends. dial: opens the byte stream, in place of TCP to the address.

    Raises LinkError when it does not come about.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            ws = await stack.enter_async_context(
                connect(
                    address.url,
                    stream=None if dial is None else await dial(),
                    subprotocols=[Subprotocol(subprotocol)],
                    compression=None,
                    # A proxy is for getting out; it cannot reach a server on this machine.
                    proxy=None if address.is_loopback else True,
                    open_timeout=times.open_s,
                    close_timeout=times.close_s,
                    ping_interval=None,  # _measure does both: round trips and finding a dead connection
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
        """For so long the server may be silent."""
        self._outbox, self._to_write = trio.open_memory_channel[bytes](OUTBOX)

    def send(self, message: ClientMessage) -> bool:
        """Never blocks. False when it is not taken: over MAX_CLIENT_MESSAGE bytes, or one more than OUTBOX holds, or after `finish`."""
        data = encode(message, self._subprotocol)
        if len(data) > MAX_CLIENT_MESSAGE:
            return False
        try:
            self._outbox.send_nowait(data)
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        return True

    def finish(self) -> None:
        """Nothing more will be sent: say goodbye behind what was. `run` then comes to its end."""
        self._outbox.close()

    async def run(self, hear: Callable[[ServerMessage], Awaitable[None]], round_trip: Callable[[int], None]) -> Ending:
        """Carry messages until the connection ends; why it did. hear: one message after another. round_trip: the smallest of late, in
        ms.
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
            return  # read says why
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
                    # Where nothing was read, the pong may be lying there. Only a ping that went out whole can be followed by another.
                    if pong is not None and (overslept or ws.recv_flow_control is not None):
                        continue
                    silent.set()
                    # Without a goodbye: it would wait behind all else that cannot be sent.
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
        # A newer server may say more than is known here. Where that was an event of the room, it is one this client cannot see: without
        # its version the next event would look like the far side of a gap, again after every join.
        version = ENCODINGS[self._subprotocol].unpack(data).get("version")
        return Hidden(version=version) if type(version) is int else None


def _ending(closed: ConnectionClosed) -> Ending:
    received, sent = closed.rcvd, closed.sent
    if received is not None and (sent is None or closed.rcvd_then_sent):
        return closed_by_server(received.code, received.reason)
    return closed_here(sent.code, sent.reason) if sent is not None else LOST


def _failure(error: BaseException, address: Address, subprotocol: str, times: ConnectionTimes) -> LinkError:
    """The error of a connection that did not come about, as the sentence that helps most."""
    match error:
        case InvalidStatus(response=response):
            return refused_by_http(response.status_code, bytes(response.body or b""), address.url, subprotocol)
        case InvalidProxy() | ProxyError():
            return Unreachable(f"The proxy on the way to {address.place} does not let you through: {error}.")
        case NegotiationError():
            return other_version(address.url, subprotocol)
        case InvalidHandshake():
            # A server that wants TLS hangs up on plain bytes.
            end = "." if address.secure else "; try wss:// instead of ws://."
            return NotCarpetServer(f"{address.url} is not a Carpet Race server: what answers there does not speak WebSocket{end}")
        case TimeoutError():
            return Unreachable(f"There was no answer from {address.place} within {times.open_s:.0f} seconds.")
        case ImportError():
            return Unreachable(f"The proxy on the way to {address.place} is of a kind that this installation cannot use: {error}.")
    return unreachable(error, host=address.host, place=address.place)
