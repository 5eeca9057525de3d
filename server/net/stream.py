"""TCP for a server of many small messages: a Trio stream with a `try_send` that never blocks, and a listener that makes such streams.

`trio.SocketStream` can only send by waiting. A room tells up to eight players one after another and must not wait for any of them. With
`try_send`, nearly every message goes to the kernel at once, without a task.
"""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import trio

from server.net.connection_limits import Admission, AdmissionOutcome, Ticket
from server.net.limits import Seldom

logger = logging.getLogger("carpet.net")

IN_A_ROW = 8
AGAIN_S = 0.004
"""Connections accepted in a row before other tasks have their turn, and seconds to the next look once none is left."""

SHORTAGE_S = 0.1
"""Seconds until the next attempt if the system has no descriptor or memory for another connection."""

TOLD_EVERY_S = 60.0
"""Seconds between two log lines about connections that could not be taken."""

HANDSHAKE_S = 10.0
"""Seconds that a peer has for its request; and that the server then has for its answer, until the kernel has taken all of it."""

CLOSING_S = 2.0
"""Seconds that a peer has, when its connection is being shut, to read what is left for it and to end its side."""

RECEIVE_BYTES = 8192
"""Bytes read at once: twice the largest message that a client may send."""

_GONE = (errno.EBADF, errno.ENOTSOCK)

_MIN_RTT_END = 152
"""Bytes of Linux's struct tcp_info up to the end of tcpi_min_rtt."""

_NO_RTT_YET = 2**32 - 1

_SO_TIMESTAMPNS = 35
"""Linux's value, which the standard library does not name."""

_STAMP = struct.Struct("@ll")
STAMP_BYTES = socket.CMSG_SPACE(_STAMP.size) if hasattr(socket, "CMSG_SPACE") else 0
"""The size of ancillary data to ask `recvmsg` for, for `waited_ms`."""

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)

# Errors of accept() that concern only the connection it was about to return (see accept(2)): the next one may be fine.
_NEXT_PLEASE = frozenset(
    getattr(errno, name)
    for name in (
        "EPERM",
        "ECONNABORTED",
        "EPROTO",
        "ENETDOWN",
        "ENOPROTOOPT",
        "EHOSTDOWN",
        "ENONET",
        "EHOSTUNREACH",
        "EOPNOTSUPP",
        "ENETUNREACH",
        "ENOSR",
        "ESOCKTNOSUPPORT",
        "EPROTONOSUPPORT",
        "ETIMEDOUT",
        "ECONNRESET",
    )
    if hasattr(errno, name)
)


def kernel_round_trip_ms(sock: socket.socket) -> int | None:
    """The smallest recent round trip that the kernel has seen on this TCP connection; None if it cannot say."""
    if sys.platform != "linux":
        return None
    try:
        # Raises for sockets of other families.
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT_END)
    except OSError:
        return None
    if len(info) < _MIN_RTT_END:
        return None
    microseconds = int.from_bytes(info[_MIN_RTT_END - 4 :], sys.byteorder)
    return None if microseconds == _NO_RTT_YET else (microseconds + 500) // 1000


def stamp_arrivals(sock: socket.socket) -> None:
    """Have the kernel say, with all that is received, when it came, if it can."""
    if sys.platform == "linux":
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def waited_ms(ancillary: Sequence[tuple[int, int, bytes]], limit_ms: int) -> int:
    """How long ago the data received with this came; 0 if the kernel does not say.

    limit_ms: the most that is returned. A client could otherwise send the end of a message before its beginning, and get the end's time.
    """
    for _, kind, data in ancillary:
        if kind == _SO_TIMESTAMPNS and len(data) == _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack(data)
            waited: int = time.time_ns() - seconds * 1_000_000_000 - nanoseconds
            if waited <= 0:
                return 0
            waited = (waited + 500_000) // 1_000_000
            return waited if waited < limit_ms else limit_ms  # noqa: FURB136  (several times as fast, and asked so often)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTripRule:
    """How much a measured round trip counts. A client can answer pings late, but it cannot make its kernel acknowledge everything late:
    for that, a cheat needs a network stack of their own.

    kernel_ms: gives the kernel's round trip of a socket. stamp: makes the kernel say when data came. trust_pings: believe pings if the
    kernel cannot know.
    """

    kernel_ms: Callable[[socket.socket], int | None] = kernel_round_trip_ms
    stamp: Callable[[socket.socket], None] = stamp_arrivals
    trust_pings: bool = False

    def worth(self, ping_ms: int, kernel_ms: int | None) -> int:
        """The milliseconds that count."""
        if kernel_ms is None:
            return ping_ms if self.trust_pings else 0
        return min(ping_ms, kernel_ms)


class SocketStream(trio.abc.HalfCloseableStream):
    """A connected, non-blocking stdlib socket as a Trio stream. It owns the socket, and the ticket with which it was let in.

    received: data that has been read already, and is to be read again. peer: the other end's address, if it is known.
    """

    def __init__(self, sock: socket.socket, ticket: Ticket | None = None, *, received: bytes = b"", peer: Any = None) -> None:
        sock.setblocking(False)
        is_tcp = isinstance(peer, tuple) or sock.family in (socket.AF_INET, socket.AF_INET6)
        if is_tcp:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self.ticket = ticket or Ticket()
        self.received = received
        self._sending = trio.Lock()
        self.peer_name: Any = (peer or sock.getpeername()) if is_tcp else None
        """The other end's address, also after closing; None if the socket has none."""

    def kernel_round_trip(self, of: Callable[[socket.socket], int | None]) -> int | None:
        """The round trip that `of` finds for its socket."""
        return of(self._socket)

    def try_send(self, data: bytes) -> int:
        """Give the kernel as much of `data` as it takes at once; returns how many bytes. Raises BrokenResourceError if the connection is
        gone, ClosedResourceError if it was closed.
        """
        with _translated():
            try:
                return self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                return 0

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        async with self._sending:
            rest = memoryview(data)
            while rest:
                with _translated():
                    try:
                        rest = rest[self._socket.send(rest) :]
                    except (BlockingIOError, InterruptedError):
                        await trio.lowlevel.wait_writable(self._socket)

    async def wait_send_all_might_not_block(self) -> None:
        async with self._sending:
            self._check_open()
            with _translated():
                await trio.lowlevel.wait_writable(self._socket)

    async def send_eof(self) -> None:
        async with self._sending:
            with _translated():
                self._socket.shutdown(socket.SHUT_WR)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self.received:
            await trio.lowlevel.checkpoint()
            received, self.received = self.received[:max_bytes], self.received[max_bytes:] if max_bytes else b""
            return received
        # Wait first: on a quiet connection a first recv would nearly always find nothing.
        while True:
            with _translated(), suppress(BlockingIOError, InterruptedError):
                self._check_open()
                await trio.lowlevel.wait_readable(self._socket)
                return self._socket.recv(max_bytes or RECEIVE_BYTES)

    def _check_open(self) -> None:
        # Otherwise Trio would wait for file descriptor -1, and remember it.
        if self._socket.fileno() == -1:
            raise trio.ClosedResourceError("this socket was closed")

    async def aclose(self) -> None:
        self.cut()
        await trio.lowlevel.checkpoint()

    def cut(self) -> None:
        """Close the socket now."""
        if self._socket.fileno() != -1:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self.ticket.hand_back()

    def detach(self) -> tuple[socket.socket, Ticket, bytes]:
        """Give up the socket and the ticket to another owner, with what is to be read again. The stream must not be used any more."""
        return self._socket, self.ticket, self.received


class TlsStream(trio.abc.HalfCloseableStream):
    """The server's side of TLS over a stream, for browsers, which end it without a word.

    received: data that has been read already, and is to be read again.
    """

    def __init__(self, below: trio.abc.HalfCloseableStream, context: ssl.SSLContext) -> None:
        self.below = below
        self.received = b""
        self._secured = trio.SSLStream(below, context, server_side=True, https_compatible=True)

    async def do_handshake(self) -> None:
        await self._secured.do_handshake()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._secured.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._secured.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        if self.received:
            await trio.lowlevel.checkpoint()
            received, self.received = self.received[:max_bytes], self.received[max_bytes:] if max_bytes else b""
            return received
        return await self._secured.receive_some(max_bytes)

    async def send_eof(self) -> None:
        """End the sending side, below TLS. Closing while something is unread would reset the connection, and the peer might miss what was
        sent last.
        """
        await self.below.send_eof()

    async def aclose(self) -> None:
        await self._secured.aclose()


class SocketListener(trio.abc.Listener[SocketStream]):
    """Accepts connections on a listening socket, which it owns. admission: counts the connections; None for no limit."""

    def __init__(self, listening: socket.socket, admission: Admission | None = None) -> None:
        listening.setblocking(False)
        self.socket = listening
        self._admission = admission
        self._accepted = 0  # connections, since it last had to wait
        self._short = Seldom(TOLD_EVERY_S)

    async def accept(self) -> SocketStream:
        """The next connection. If one has come already it is returned at once, without letting other tasks run, except for every eighth."""
        while True:
            if self._accepted % IN_A_ROW == IN_A_ROW - 1:
                await trio.lowlevel.checkpoint()
            try:
                sock, address = self.socket.accept()
            except BlockingIOError:
                await self._wait()
                continue
            except OSError as error:
                if error.errno in _GONE:
                    raise trio.ClosedResourceError from error
                if error.errno in _NEXT_PLEASE:
                    continue
                if error.errno not in _SHORT:
                    raise
                # Those who have come wait in the kernel's queue until somebody leaves. Trio would wait too, but log a traceback each time.
                if count := self._short.happened(trio.current_time()):
                    logger.warning("no connection can be accepted (%s, %d times); trying again", error.strerror, count)
                await trio.sleep(SHORTAGE_S)
                continue
            self._accepted += 1
            host = address[0] if isinstance(address, tuple) else ""
            ticket = self._admission.enter(host) if self._admission is not None else Ticket()
            try:
                if ticket.entry is not AdmissionOutcome.TURNED_AWAY:
                    return SocketStream(sock, ticket, peer=address)
            except OSError:
                # Gone again before it could be set up.
                pass
            sock.close()
            ticket.hand_back()

    async def _wait(self) -> None:
        # While connections keep coming, being woken for each costs more than looking again in a moment.
        if self._accepted:
            self._accepted = 0
            await trio.sleep(AGAIN_S)
            return
        try:
            await trio.lowlevel.wait_readable(self.socket)
        except OSError as error:
            raise trio.ClosedResourceError from error

    async def aclose(self) -> None:
        if self.socket.fileno() != -1:
            trio.lowlevel.notify_closing(self.socket)
            self.socket.close()
        await trio.lowlevel.checkpoint()


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the socket's errors into Trio's."""
    try:
        yield
    except OSError as error:
        if error.errno in _GONE:
            raise trio.ClosedResourceError("this socket was closed") from error
        raise trio.BrokenResourceError(str(error)) from error
