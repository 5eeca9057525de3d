"""WebSocket handshakes and frames by hand, for the most frequent cases: usual requests for a WebSocket, clients' whole small messages and
pongs, and all messages of the server. Pure.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Final, NamedTuple

from websockets.datastructures import Headers
from websockets.utils import accept_key

from protocol.codec import MAX_CLIENT_MESSAGE, SUBPROTOCOLS

try:
    from websockets.speedups import apply_mask
except ImportError:
    from websockets.utils import apply_mask

BINARY_FRAME: Final = 0x82
TEXT_FRAME: Final = 0x81
PONG_FRAME: Final = 0x8A
"""The first byte of a frame that holds a whole binary message, a whole text message, or a pong."""

_MASKED: Final = 0x80
_SHORT_HEADER: Final = 6
_SHORT_MORE: Final = _MASKED - _SHORT_HEADER
SHORT_FRAME: Final = _MASKED + 126
"""The second byte of a client's frame is below this if it holds the length itself, along with the bit for masking."""

_OPENING: Final = re.compile(rb"GET [!-~]+ HTTP/1\.1\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n){5,100}\r\n")
_ASKED: Final = "upgrade", "sec-websocket-version", "sec-websocket-key", "sec-websocket-protocol", "connection"
_asked = itemgetter(*_ASKED)
_NOT_ASKED: Final = frozenset(("content-length", "transfer-encoding", "expect"))
_LIST: Final = re.compile(r"[A-Za-z0-9._-]+(?:, ?[A-Za-z0-9._-]+)*")
_KEY: Final = re.compile(r"[A-Za-z0-9+/]{22}==")
_ACCEPTED: Final = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n"
)


class Opening(NamedTuple):
    """A request for a WebSocket. lines: name and value of each header. from_page: it has an `Origin`, so it is a web page's. answer: the
    response that opens the WebSocket.
    """

    lines: list[tuple[str, str]]
    from_page: bool
    subprotocol: str
    answer: bytes

    @property
    def headers(self) -> Headers:
        return Headers(self.lines)


def opening(head: bytes) -> Opening | None:
    """The request with this head, up to its empty line, if there is nothing odd about it; None if the library has to judge it."""
    if _OPENING.fullmatch(head) is None:
        return None
    lines = [(name, value.strip(" \t")) for name, _, value in [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:-2]]]
    headers = {name.lower(): value for name, value in lines}
    if len(headers) < len(lines) and any(sum(name.lower() == asked for name, _ in lines) > 1 for asked in _ASKED):
        return None
    try:
        upgrade, version, key, offered, connection = _asked(headers)
    except KeyError:
        return None
    if upgrade.lower() != "websocket" or version != "13" or not _KEY.fullmatch(key) or not _NOT_ASKED.isdisjoint(headers):
        return None
    names = _names(offered)
    subprotocol = next((name for name in SUBPROTOCOLS if name in names), None)
    if subprotocol is None or "upgrade" not in _names(connection.lower()):
        return None
    return Opening(lines, "origin" in headers, subprotocol, _ACCEPTED.format(accept_key(key), subprotocol).encode())


def _names(text: str) -> list[str]:
    return text.replace(" ", "").split(",") if _LIST.fullmatch(text) is not None else []


def _header(first: int, length: int) -> bytes:
    if length < 126:
        return bytes((first, length))
    if length < 2**16:
        return bytes((first, 126)) + length.to_bytes(2, "big")
    return bytes((first, 127)) + length.to_bytes(8, "big")


COMMON: Final = 1024
"""Nearly all of the server's messages have fewer bytes than this."""

_HEADERS: Final = tuple(_header(BINARY_FRAME, length) for length in range(COMMON))


def frame_size(data: bytes, start: int) -> int:
    """The size of the frame that starts there; 0 if too little of it has come to tell, -1 if no client may send such a frame."""
    if len(data) < start + 2:
        return 0
    length = data[start + 1] - _MASKED
    if length < 0:
        return -1
    header = 6
    if length > 125:
        header, digits = (8, 2) if length == 126 else (14, 8)
        if len(data) < start + 2 + digits:
            return 0
        length = int.from_bytes(data[start + 2 : start + 2 + digits], "big")
    return header + length if length <= MAX_CLIENT_MESSAGE else -1


def short_message(data: bytes) -> bytes | None:
    """The message, if the data is exactly one whole binary message in a short frame: nearly all input is. Otherwise None."""
    length = len(data)
    if length > _SHORT_HEADER and data[0] == BINARY_FRAME and length + _SHORT_MORE == data[1] < SHORT_FRAME:
        return apply_mask(data[_SHORT_HEADER:], data[2:_SHORT_HEADER])
    return None


def unmasked(frame: bytes) -> bytes:
    """The contents of a client's short frame."""
    return apply_mask(frame[_SHORT_HEADER:], frame[2:_SHORT_HEADER])


def is_utf8(data: bytes) -> bool:
    """Whether a text message may hold this. If not, the connection has to be failed: RFC 6455, 8.1."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def framed(payload: bytes, *, binary: bool) -> bytes:
    """A message of the server in one frame. It is not masked, so one frame serves everybody with the same encoding."""
    length = len(payload)
    if binary and length < COMMON:
        return _HEADERS[length] + payload
    return _header(BINARY_FRAME if binary else TEXT_FRAME, length) + payload
