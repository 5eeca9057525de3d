"""TCP as a server of many small messages wants it: a Trio stream whose `try_send` never blocks, and a listener that makes them.

`trio.SocketStream` can only send by waiting. A room tells eight players one after the other and may wait for none of them; with
`try_send` nearly every message goes to the kernel at once and without a task.
"""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import trio

from server.net.connection_limits import Admission, AdmissionOutcome, Ticket
from server.net.limits import Seldom

logger = logging.getLogger("carpet.net")

IN_A_ROW = 8
AGAIN_S = 0.004
"""Connections that are accepted before the other tasks have their turn; and seconds from when there was none left to the next look."""

SHORTAGE_S = 0.1
"""Seconds until the next try where the system has no descriptor or no memory for one more connection."""

TOLD_EVERY_S = 60.0
"""Seconds between two lines of the log about connections that could not be taken."""

HANDSHAKE_S = 10.0
"""Seconds that a peer has for its request, and then the server for its answer, until the kernel has taken all of it."""

CLOSING_S = 2.0
"""Seconds that a peer which is being shut has to take what is left for it, and to end its side."""

RECEIVE_BYTES = 8192
"""Read at once: twice the largest message a client may send."""

_GONE = (errno.EBADF, errno.ENOTSOCK)

_MIN_RTT_END = 152
"""Of the bytes that Linux gives of a connection (struct tcp_info), those up to the end of tcpi_min_rtt."""

_NO_RTT_YET = 2**32 - 1

_SO_TIMESTAMPNS = 35
"""Linux's, which the standard library does not name."""

_STAMP = struct.Struct("@ll")
STAMP_BYTES = socket.CMSG_SPACE(_STAMP.size) if hasattr(socket, "CMSG_SPACE") else 0
"""To be given to `recvmsg` for what `waited_ms` reads."""

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)

# What accept() reports of the connection it was about to give, by accept(2): the next one may be well.
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
    """The smallest round trip of late that the kernel has seen on this TCP connection; None where it cannot say."""
    if sys.platform != "linux":
        return None
    try:
        # A socket of another family knows of no such thing.
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT_END)
    except OSError:
        return None
    if len(info) < _MIN_RTT_END:
        return None
    microseconds = int.from_bytes(info[_MIN_RTT_END - 4 :], sys.byteorder)
    return None if microseconds == _NO_RTT_YET else (microseconds + 500) // 1000


def stamp_arrivals(sock: socket.socket) -> None:
    """Have the kernel say with what is received when it came, where it can."""
    if sys.platform == "linux":
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def waited_ms(ancillary: Sequence[tuple[int, int, bytes]], limit_ms: int) -> int:
    """For how long what was received with this has been here; 0 where the kernel does not say.

    limit_ms: at most that. A client that sends the end of a message before its beginning has the time of the end.
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
    """What a measured round trip is worth. A client can answer pings late, but not have its kernel acknowledge all that it is sent late.

    kernel_ms: what the kernel says of a socket. stamp: has it say when something came. trust_pings: believe the pings where it cannot know.
    """

    kernel_ms: Callable[[socket.socket], int | None] = kernel_round_trip_ms
    stamp: Callable[[socket.socket], None] = stamp_arrivals
    trust_pings: bool = False

    def worth(self, ping_ms: int, kernel_ms: int | None) -> int:
        """Milliseconds that count."""
        if kernel_ms is None:
            return ping_ms if self.trust_pings else 0
        return min(ping_ms, kernel_ms)


class SocketStream(trio.abc.HalfCloseableStream):
    """A connected, non-blocking stdlib socket as a Trio stream. It owns the socket, and the ticket with which it was let in.

    received: what has been read from it already, and is to be read again. peer: the other end's address, where that is known.
    """

    def __init__(self, sock: socket.socket, ticket: Ticket | None = None, *, received: bytes = b"", peer: Any = None) -> None:
        sock.setblocking(False)
        is_tcp = isinstance(peer, tuple) or sock.family in (socket.AF_INET, socket.AF_INET6)
        if is_tcp:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = sock
        self.ticket = ticket
        self.received = received
        self._sending = trio.Lock()
        self.peer_name: Any = (peer or sock.getpeername()) if is_tcp else None
        """The address of the other end, also after closing; None for a socket that has none."""

    def kernel_round_trip(self, of: Callable[[socket.socket], int | None]) -> int | None:
        """Of its socket, by the given way."""
        return of(self._socket)

    def try_send(self, data: bytes) -> int:
        """Give the kernel what it takes of `data` at once; how many bytes that were. Raises BrokenResourceError when the connection is
        gone.
        """
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            raise _translated(error) from error

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        async with self._sending:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[self._socket.send(rest) :]
                except (BlockingIOError, InterruptedError):
                    try:
                        await trio.lowlevel.wait_writable(self._socket)
                    except OSError as error:
                        raise _translated(error) from error
                except OSError as error:
                    raise _translated(error) from error

    async def wait_send_all_might_not_block(self) -> None:
        async with self._sending:
            self._check_open()
            try:
                await trio.lowlevel.wait_writable(self._socket)
            except OSError as error:
                raise _translated(error) from error

    async def send_eof(self) -> None:
        async with self._sending:
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError as error:
                raise _translated(error) from error

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self.received:
            await trio.lowlevel.checkpoint()
            received, self.received = self.received[:max_bytes], self.received[max_bytes:] if max_bytes else b""
            return received
        # Wait first: on a quiet connection the first recv would nearly always be for nothing.
        while True:
            try:
                self._check_open()
                await trio.lowlevel.wait_readable(self._socket)
                return self._socket.recv(max_bytes or RECEIVE_BYTES)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                raise _translated(error) from error

    def _check_open(self) -> None:
        # Trio would wait for file descriptor -1, and remember it.
        if self._socket.fileno() == -1:
            raise trio.ClosedResourceError("this socket was closed")

    async def aclose(self) -> None:
        self.cut()
        await trio.lowlevel.checkpoint()

    def cut(self) -> None:
        """Close it now."""
        if self._socket.fileno() != -1:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            if self.ticket is not None:
                self.ticket.hand_back()

    def detach(self) -> tuple[socket.socket, Ticket | None, bytes]:
        """What it owns, for another owner, and what has been read already. The stream must not be used any more."""
        return self._socket, self.ticket, self.received


class TlsStream(trio.abc.Stream):
    """TLS over a stream, the server's side, as browsers speak it: they end without a word.

    received: what has been read from it already, and is to be read again.
    """

    def __init__(self, below: trio.abc.Stream, context: ssl.SSLContext) -> None:
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

    async def aclose(self) -> None:
        await self._secured.aclose()


class SocketListener(trio.abc.Listener[SocketStream]):
    """Accepts on a listening socket, which it owns. admission: who counts the connections; None for no limit."""

    def __init__(self, listening: socket.socket, admission: Admission | None = None) -> None:
        listening.setblocking(False)
        self.socket = listening
        self._admission = admission
        self._accepted = 0  # since it had to wait for somebody
        self._short = Seldom(TOLD_EVERY_S)
        self._too_many = Seldom(TOLD_EVERY_S)

    async def accept(self) -> SocketStream:
        """The next one. Whoever has come meanwhile is given at once, without letting other tasks run, but for each eighth."""
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
                # Whoever has come waits in the kernel's queue until somebody leaves. Trio would wait too, with a traceback each time.
                if count := self._short.happened(trio.current_time()):
                    logger.warning("no connection can be accepted (%s, %d times); trying again", error.strerror, count)
                await trio.sleep(SHORTAGE_S)
                continue
            self._accepted += 1
            ticket = self._ticket(address)
            try:
                if ticket is None or ticket.entry is not AdmissionOutcome.TURNED_AWAY:
                    return SocketStream(sock, ticket, peer=address)
            except OSError:
                # Gone again before it could be set up.
                pass
            sock.close()
            if ticket is not None:
                ticket.hand_back()

    async def _wait(self) -> None:
        # To be woken for each costs more than to look again in a moment, where one comes after the other.
        if self._accepted:
            self._accepted = 0
            await trio.sleep(AGAIN_S)
            return
        try:
            await trio.lowlevel.wait_readable(self.socket)
        except OSError as error:
            raise trio.ClosedResourceError from error

    def _ticket(self, address: Any) -> Ticket | None:
        if self._admission is None:
            return None
        ticket = self._admission.enter(address[0] if isinstance(address, tuple) else "")
        if ticket.entry is not AdmissionOutcome.ADMITTED and (count := self._too_many.happened(trio.current_time())):
            logger.warning(
                "%d refused, the last from %s, with %d connections there: --max-connections is %d, --max-connections-per-address %d",
                count,
                ticket.place or "this machine",
                self._admission.inside,
                self._admission.most,
                self._admission.most_per_address,
            )
        return ticket

    async def aclose(self) -> None:
        if self.socket.fileno() != -1:
            trio.lowlevel.notify_closing(self.socket)
            self.socket.close()
        await trio.lowlevel.checkpoint()


def _translated(error: OSError) -> trio.ClosedResourceError | trio.BrokenResourceError:
    if error.errno in _GONE:
        return trio.ClosedResourceError("this socket was closed")
    return trio.BrokenResourceError(str(error))
