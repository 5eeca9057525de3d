"""The head of an HTTP request, before the WebSocket library reads it, which closes without a word on whatever is no handshake.

What is no readable request is answered with 400. Of one that is for no WebSocket the library gets the head alone: its body, and requests
sent behind it, are not read, since every page ends the connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import msgspec
from websockets.datastructures import Headers
from websockets.exceptions import InvalidMessage
from websockets.http11 import Response
from websockets.server import ServerProtocol

from protocol.pages import Problem

HEAD_BYTES: Final = 64 * 1024
"""Of a head that has no end. When it is longer, the library says what is too long about it."""

_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^\x00\r\n \x80-\xff]+ HTTP/1\.[01]")
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_OF_BODY = (b"content-length", b"transfer-encoding", b"expect")


class RequestHead:
    """Stands before `ServerProtocol.receive_data` until the request has been read."""

    def __init__(self, protocol: ServerProtocol) -> None:
        self._protocol = protocol
        self._receive: Callable[[bytes | bytearray], None] = protocol.receive_data
        self._head = b""
        protocol.receive_data = self.receive  # type: ignore[method-assign]

    def receive(self, data: bytes | bytearray) -> None:
        self._head += data
        end = _END.search(self._head)
        if end is None and len(self._head) <= HEAD_BYTES:
            return
        request, *headers = self._head[: end.start() if end is not None else None].split(b"\r\n")
        if end is None or len(request) > HEAD_BYTES // 8:
            self._pass_on(self._head)
        elif end.group() != b"\r\n\r\n" or not _REQUEST_LINE.fullmatch(request):
            self._refuse("That is no request of HTTP/1.1.")
        elif any(header[:1] in (b" ", b"\t") for header in headers):
            self._refuse("A header stands on one line here.")
        elif not all(_HEADER.fullmatch(header) for header in headers):
            self._refuse("A header is a name, a colon and a value.")
        elif any(header.lower().startswith(b"upgrade:") for header in headers):
            self._pass_on(self._head)
        else:
            kept = [header for header in headers if header.partition(b":")[0].lower() not in _OF_BODY]
            self._pass_on(b"\r\n".join([request, *kept, b"", b""]))
            # A body, or a request behind this one: nobody reads it.
            self._protocol.receive_data = _ignore  # type: ignore[method-assign]

    def _pass_on(self, data: bytes) -> None:
        self._protocol.receive_data = self._receive  # type: ignore[assignment,method-assign]
        self._receive(data)

    def _refuse(self, sentence: str) -> None:
        self._protocol.receive_data = self._receive  # type: ignore[assignment,method-assign]
        body = msgspec.json.encode(Problem(error=sentence)) + b"\n"
        headers = Headers(
            {
                "Date": formatdate(usegmt=True),
                "Connection": "close",
                "Content-Length": str(len(body)),
                "Content-Type": "application/json; charset=utf-8",
                "Cache-Control": "no-store",
            }
        )
        status = HTTPStatus.BAD_REQUEST
        self._protocol.handshake_exc = InvalidMessage(sentence)
        self._protocol.send_response(Response(status.value, status.phrase, headers, body))


def _ignore(data: bytes | bytearray) -> None:
    del data
