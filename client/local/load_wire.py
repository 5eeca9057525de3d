"""The load generator's own WebSocket client: many non-blocking sockets in one loop, and as little work per message as possible.

With a library's connection for each player, the generator would be the bottleneck before the server. This client takes whole and split
frames, answers pings, and reads no more of a message than a load needs.
"""

from __future__ import annotations

import base64
import functools
import heapq
import os
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import msgspec

from client.connection.address import Address
from protocol.codec import MSGPACK

RECEIVE: Final = 256 * 1024
CONNECT_S: Final = 10.0

_WAITS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_encode = msgspec.msgpack.Encoder().encode


class Offered(msgspec.Struct):
    """A view, of which only the legal moves are read."""

    moves: tuple[str, ...]


class Told(msgspec.Struct):
    """Any message from the server, as far as a load needs it."""

    type: str
    code: str = ""
    phase: str = ""
    race: int = 0
    seat: int | None = None
    ply: int = 0
    retry_after_ms: int = 0
    state: str = ""
    view: Offered | None = None
    room: Any = None
    event: Told | None = None


class Peer(Protocol):
    """The user of a connection."""

    def opened(self) -> None: ...

    def heard(self, message: Told, now: float) -> None: ...

    def closed(self, why: str) -> None: ...


class Connection:
    """One WebSocket to the server: handshake, whole and split frames, pings. What the socket does not take waits in order."""

    decode: Callable[[bytes], Told] = staticmethod(msgspec.msgpack.Decoder(Told).decode)

    def __init__(self, address: Address, loop: Loop, peer: Peer) -> None:
        self._loop, self._peer = loop, peer
        self._upgraded = False
        self._in = bytearray()
        self._parts = bytearray()
        self._out: deque[bytes] = deque()
        self._socket = _connected(address)
        loop.watch(self._socket, self)
        path = address.path or "/"
        key = base64.b64encode(os.urandom(16)).decode()
        self._write(
            (
                f"GET {path} HTTP/1.1\r\nHost: {address.place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {MSGPACK}\r\n\r\n"
            ).encode()
        )

    def say(self, **message: Any) -> None:
        self.send(_encode(message))

    def send(self, payload: bytes, *, text: bool = False) -> None:
        self._write(_frame(0x1 if text else 0x2, payload))

    def readable(self) -> None:
        now = time.perf_counter()
        while True:
            try:
                data = self._socket.recv(RECEIVE)
            except _WAITS:
                return
            except OSError as error:
                self._end(error.strerror or "the connection broke")
                return
            if not data:
                self._end("the server closed the connection")
                return
            # Nearly always the data is one whole small frame, with nothing before it.
            if self._upgraded and not self._in and len(data) > 1 and data[0] == 0x82 and data[1] < 126 and len(data) == data[1] + 2:
                self._peer.heard(self.decode(data[2:]), now)
            else:
                self._in += data
                if not self._take(now):
                    return
            # TLS may hold more data than it has returned.
            if len(data) < RECEIVE and not isinstance(self._socket, ssl.SSLSocket):
                return

    def _take(self, now: float) -> bool:
        """Handle every whole frame. Returns False if the connection has ended."""
        if not self._upgraded:
            head, separator, rest = bytes(self._in).partition(b"\r\n\r\n")
            if not separator:
                return True
            if not head.startswith(b"HTTP/1.1 101"):
                self._end(f"the server answers {head[9:12].decode('ascii', 'replace')}")
                return False
            self._upgraded = True
            self._in = bytearray(rest)
            self._peer.opened()
            if self._socket.fileno() == -1:
                return False
        for opcode, payload in self._frames():
            if opcode == 0x2:
                self._peer.heard(self.decode(payload), now)
            elif opcode == 0x9:
                self._write(_frame(0xA, payload))
            elif opcode == 0x8:
                self._end(f"closed {int.from_bytes(payload[:2], 'big')}" if len(payload) > 1 else "closed")
                return False
        return True

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        """Whole messages and control frames; an incomplete one stays in the buffer."""
        data = self._in
        while len(data) >= 2:
            opcode, length, at = data[0] & 15, data[1] & 127, 2
            if length > 125:
                at = 4 if length == 126 else 10
                if len(data) < at:
                    return
                length = int.from_bytes(data[2:at], "big")
            if len(data) < at + length:
                return
            final, payload = data[0] & 0x80, bytes(data[at : at + length])
            del data[: at + length]
            if opcode >= 0x8:
                yield opcode, payload
            elif final:
                yield 0x2, bytes(self._parts) + payload
                self._parts.clear()
            else:
                self._parts += payload

    def _write(self, data: bytes) -> None:
        if self._socket.fileno() == -1:
            # The connection has ended, and its peer knows.
            return
        self._out.append(data)
        if len(self._out) == 1:
            self.drain()

    def drain(self) -> None:
        while self._out:
            try:
                sent = self._socket.send(self._out[0])
            except _WAITS:
                self._loop.want(self._socket, self, writing=True)
                return
            except OSError as error:
                self._end(error.strerror or "the connection broke")
                return
            if sent < len(self._out[0]):
                self._out[0] = self._out[0][sent:]
                continue
            self._out.popleft()
        self._loop.want(self._socket, self, writing=False)

    def leave(self) -> None:
        """Close without a goodbye."""
        self._out.clear()
        self._loop.forget(self._socket)
        self._socket.close()

    def _end(self, why: str) -> None:
        self.leave()
        self._peer.closed(why)


def _frame(opcode: int, payload: bytes) -> bytes:
    # Clients must mask frames; this mask changes nothing.
    length = len(payload)
    if length < 126:
        return bytes((0x80 | opcode, 0x80 | length)) + b"\0\0\0\0" + payload
    return bytes((0x80 | opcode, 0x80 | 126)) + length.to_bytes(2, "big") + b"\0\0\0\0" + payload


def _connected(address: Address) -> socket.socket:
    """A socket that is being connected; data written meanwhile waits. Blocks only for a TLS handshake."""
    if address.secure:
        plain = socket.create_connection((address.host, address.port), timeout=CONNECT_S)
        found: socket.socket = ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)
        found.setblocking(False)
    else:
        family, kind, protocol, _, place = _resolved(address.host, address.port)
        found = socket.socket(family, kind, protocol)
        found.setblocking(False)
        found.connect_ex(place)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


@functools.cache
def _resolved(host: str, port: int) -> tuple[Any, ...]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]


class Loop:
    """Waits for sockets that are ready and for calls that are due."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._writing: set[socket.socket] = set()
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = 0

    def watch(self, line: socket.socket, connection: Connection) -> None:
        self._selector.register(line, selectors.EVENT_READ, connection)

    def forget(self, line: socket.socket) -> None:
        self._writing.discard(line)
        self._selector.unregister(line)

    def want(self, line: socket.socket, connection: Connection, *, writing: bool) -> None:
        if writing != (line in self._writing):
            (self._writing.add if writing else self._writing.discard)(line)
            self._selector.modify(line, selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0), connection)

    def at(self, moment: float, call: Callable[[float], None]) -> None:
        """Call `call` at this moment, with it as the argument."""
        self._number += 1
        heapq.heappush(self._due, (moment, self._number, call))

    def run(self, until: Callable[[], float]) -> None:
        """Run until the moment that `until` returns; it is asked again each time round."""
        while (now := time.perf_counter()) < (end := until()):
            while self._due and self._due[0][0] <= now:
                moment, _, call = heapq.heappop(self._due)
                call(moment)
            wait = min(end, self._due[0][0] if self._due else end) - time.perf_counter()
            for key, events in self._selector.select(min(max(wait, 0.0), 0.1)):
                if events & selectors.EVENT_WRITE:
                    key.data.drain()
                if events & selectors.EVENT_READ and key.fileobj.fileno() != -1:  # type: ignore[union-attr]
                    key.data.readable()
