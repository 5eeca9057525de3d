"""A connection that asks for pages: HTTP/1.1, one request after another, until one of them opens a WebSocket.

A request is read when the one before it has been answered: pipelined requests wait in the kernel, and are answered in order. No body is
ever read. A request that has a body, or may have one, is answered and the connection then closed, so that nothing which a proxy takes for a
body is taken for a request here. An unreadable request is answered with 400.

A connection that waits for its next request is closed if its place is needed for another.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import trio
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from protocol.codec import SUBPROTOCOLS
from server.net.connection import Caller
from server.net.connection_limits import AdmissionOutcome, Ticket
from server.net.http import NoPage, problem
from server.net.stream import CLOSING_S, HANDSHAKE_S, SocketStream

IDLE_S: Final = 15.0
"""Seconds from an answer to the beginning of the next request."""

MOST_REQUESTS: Final = 1000
"""Requests on one connection, at most."""

HEAD_BYTES: Final = 64 * 1024
"""The most of a request's head that is read while its end is missing. Of a longer one, the library says what is too long."""

_TLS_HANDSHAKE = b"\x16\x03"
_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^\x00\r\n \x80-\xff]+ HTTP/1\.[01]")
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_OF_BODY = (b"content-length", b"transfer-encoding", b"expect")

Answer: TypeAlias = Callable[[Caller, Request], Awaitable[Response | None]]
"""Answers one request; None if it may open a WebSocket."""


class PageConnection(Caller):
    """stream: unread, apart from what it will give again by itself. socket_stream: the one below it, or the stream itself."""

    __slots__ = ("_closing", "_reading", "_received", "_socket_stream", "_stream")

    def __init__(self, stream: trio.abc.Stream, socket_stream: SocketStream | None) -> None:
        super().__init__()
        self._ticket = socket_stream.ticket if socket_stream is not None else Ticket()
        self._socket_stream = socket_stream
        self._stream = stream
        self._received = b""
        self._reading: trio.CancelScope | None = None
        self._closing = False

    @property
    def remote_address(self) -> Any:
        return self._socket_stream.peer_name if self._socket_stream is not None else None

    def close(self) -> None:
        """Close the connection: after the answer that is being given, or at once if there is none."""
        self._closing = True
        if self._reading is not None:
            self._reading.cancel()

    async def serve(self, answer: Answer) -> bytes:
        """Answer requests until one opens a WebSocket: returns that request and all that came after it. Returns nothing if the connection
        is to be cut. Raises the stream's errors.
        """
        for left in reversed(range(MOST_REQUESTS)):
            head = await self._next_head(is_first=left == MOST_REQUESTS - 1)
            if not head:
                return b""
            with trio.move_on_after(HANDSHAKE_S) as answering:
                response, ends = await self._answered(head, answer, is_last=not left)
                if not response:
                    return head + self._received
                await self._stream.send_all(response)
            if answering.cancelled_caught:
                return b""
            if ends:
                break
        await self._part()
        return b""

    async def _next_head(self, *, is_first: bool) -> bytes:
        """The next request's head with its empty line, or all that was read if that is too long for one; empty if no request will come."""
        searched = 0
        with trio.move_on_after(HANDSHAKE_S if is_first else IDLE_S) as reading:
            self._reading = reading
            if self._closing:
                reading.cancel()
            while (end := _END.search(self._received, max(searched - 3, 0))) is None and len(self._received) <= HEAD_BYTES:
                if self._received.startswith(_TLS_HANDSHAKE):
                    # Whoever asks a server without TLS for a secure connection would wait for an answer. Any other tells them.
                    break
                searched = len(self._received)
                is_resting = not (is_first or self._received)
                if is_resting:
                    self._ticket.rest(reading.cancel)
                try:
                    data = await self._stream.receive_some()
                finally:
                    self._ticket.wake()
                if not data:
                    return b""
                if is_resting:
                    reading.deadline = trio.current_time() + HANDSHAKE_S
                self._received += data
        self._reading = None
        if reading.cancel_called:
            return b""
        size = end.end() if end is not None else len(self._received)
        head, self._received = self._received[:size], self._received[size:]
        return head

    async def _answered(self, head: bytes, answer: Answer, *, is_last: bool) -> tuple[bytes, bool]:
        """The answer to a request, and whether the connection ends after it. The answer is empty if the request opens a WebSocket."""
        request_line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        if len(head) <= HEAD_BYTES and len(request_line) <= HEAD_BYTES // 8 and (fault := _fault(head, request_line, lines)):
            return _ending(problem(NoPage(HTTPStatus.BAD_REQUEST, fault)))
        headers = [(name.lower(), value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in lines)]
        has_body = any(name in _OF_BODY and (name, value) != (b"content-length", b"0") for name, value in headers)
        kept = [line for line, (name, _) in zip(lines, headers, strict=True) if name not in _OF_BODY]
        protocol = ServerProtocol(
            subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS], logger=logging.getLogger("carpet.net.websocket")
        )
        protocol.receive_data(b"\r\n".join([request_line, *kept, b"", b""]))
        events = protocol.events_received()
        if not events:
            return b"".join(protocol.data_to_send()), True
        request = events[0]
        assert isinstance(request, Request)
        response = await answer(self, request)
        if response is None:
            if has_body:
                return _ending(problem(NoPage(HTTPStatus.BAD_REQUEST, "A request for a WebSocket must not have a body.")))
            accepted = protocol.accept(request)
            _forget_tracebacks(protocol.handshake_exc)
            return (b"", False) if accepted.status_code == HTTPStatus.SWITCHING_PROTOCOLS else _ending(accepted)
        asked_to_end = any(name == b"connection" and b"close" in re.split(rb"[ \t,]+", value.lower()) for name, value in headers)
        ends = has_body or asked_to_end or is_last or self._closing or request.protocol != "HTTP/1.1"
        if ends or self.entry is not AdmissionOutcome.ADMITTED or response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            return _ending(response)
        response.headers["Connection"] = "keep-alive"
        return response.serialize(), False

    async def _part(self) -> None:
        # Closing with unread input would reset the connection, and the peer could lose the answer.
        with trio.move_on_after(CLOSING_S):
            if isinstance(self._stream, trio.abc.HalfCloseableStream):
                await self._stream.send_eof()
                while await self._stream.receive_some():
                    pass
            else:
                await self._stream.aclose()


def _forget_tracebacks(error: BaseException | None) -> None:
    """Tracebacks refer to the protocol that keeps the error: a cycle for each peer that is turned away."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def _ending(response: Response) -> tuple[bytes, bool]:
    if "Connection" in response.headers:
        del response.headers["Connection"]
    response.headers["Connection"] = "close"
    return response.serialize(), True


def _fault(head: bytes, request_line: bytes, lines: list[bytes]) -> str:
    """Why this is not a request; empty if it is one."""
    if not head.endswith(b"\r\n\r\n") or not _REQUEST_LINE.fullmatch(request_line):
        return "That is no request of HTTP/1.1."
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return "A header stands on one line here."
    if not all(_HEADER.fullmatch(line) for line in lines):
        return "A header is a name, a colon and a value."
    return ""
