"""Encodes messages to bytes and decodes them, in the two encodings that a WebSocket subprotocol name chooses between.

The only importer of msgpack. Decoding is the trust boundary: size, depth, tag and types are checked here, once. The result is a whole
message, or a `Refusal` that names the field.

MessagePack is read by msgpack, which looks at every byte of a message, even in unknown fields. It is written by msgspec, which encodes a
message directly: going through maps would make a view more than four times as expensive (`tests/bench/codec_speed.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

import msgpack
import msgspec

from protocol.client_messages import ClientMessage, Move
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import ServerMessage

MSGPACK = "carpet.v1.msgpack"
JSON = "carpet.v1.json"
SUBPROTOCOLS = (MSGPACK, JSON)
"""What a server accepts, best first. `v1` is the version of the wire: it changes only if old clients could no longer follow."""

MAX_CLIENT_MESSAGE = 4096
"""The most bytes in one message from a client."""
MAX_SERVER_MESSAGE = 1024 * 1024
"""The most bytes in one message from a server: a record of eight seats with 2,000 moves each is the largest."""
MAX_DEPTH = 8
"""How deep maps and lists may nest."""
_TOO_DEEP = f"at most {MAX_DEPTH} levels"

_PARSED_DEPTH = 256
"""JSON deeper than this is not parsed at all. It is below any interpreter's recursion limit, so that none shows on the wire."""

_WITHOUT_REF = 0x85
_PLAIN_MOVE = (b"\x85\xa4type\xa4move", b"\x86\xa4type\xa4move")
"""How nearly all messages begin: a map of the five fields that a move must have, or of these and its `ref`, the tag first. The tag is
checked here because msgspec, when asked for one type only, accepts a message without it."""

_AS_LONG_AS_A_SURROGATE = b" " * len(r"\ud800")

_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""A string, also one that is never closed. Nothing is tried twice: a peer could make that take a hundred thousand times as long."""

_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes({*range(256)} - {*_STEPS})

Incoming = TypeVar("Incoming")


def _unpack_msgpack(data: bytes) -> Any:
    try:
        return msgpack.unpackb(data, strict_map_key=True, ext_hook=_no_extension)
    except msgpack.StackError as error:
        raise RecursionError from error
    # Besides ValueError, msgpack raises unrelated exceptions of its own; a peer must not be able to choose among them.
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _unpack_json(data: bytes) -> Any:
    if data.count(b"[") + data.count(b"{") > _PARSED_DEPTH and _json_depth(data) > _PARSED_DEPTH:
        raise RecursionError
    # All its errors are ValueErrors, even those about UTF-8. The padding is for half a surrogate pair: if fewer bytes follow it than
    # the other half would take, msgspec reports that the text was cut off.
    return msgspec.json.decode(data + _AS_LONG_AS_A_SURROGATE)


def _json_depth(data: bytes) -> int:
    """How deep brackets nest in text that need not be JSON. No parser gets deeper before it finds out that it is not."""
    brackets = _JSON_STRING.sub(b"", data).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"extension type {code} ({len(data)} bytes) is not used on this wire")


class Encoding(NamedTuple):
    """One encoding of maps. binary: whether binary WebSocket frames carry it, or text frames. pack: gives the bytes of a message or a map.

    unpack: raises ValueError (or a subclass) for what is not one document, RecursionError if it is nested too deeply to tell.
    """

    name: str
    binary: bool
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


ENCODINGS: Final = {
    each.name: each
    for each in (
        Encoding(MSGPACK, True, msgspec.msgpack.Encoder().encode, _unpack_msgpack),
        Encoding(JSON, False, msgspec.json.Encoder().encode, _unpack_json),
    )
}


def encode(message: ClientMessage | ServerMessage, subprotocol: str) -> bytes:
    """The message as the bytes of one frame. The subprotocol is one of `SUBPROTOCOLS`."""
    return ENCODINGS[subprotocol].pack(message)


class Decoder(Generic[Incoming]):
    """Turns the bytes of one frame into one message of a direction, or raises a `Refusal` that says what is wrong and where."""

    def __init__(self, direction: Any, subprotocol: str) -> None:
        self._direction = direction
        # Given a whole union, msgspec would rebuild its type tree for each message, at a hundred times the cost of one type.
        self._types: dict[object, Any] = {kind.__struct_config__.tag: kind for kind in get_args(direction)}
        self._encoding = ENCODINGS[subprotocol]
        self.binary = self._encoding.binary
        self._move = msgspec.msgpack.Decoder(Move).decode if direction is ClientMessage and subprotocol == MSGPACK else None

    def decode(self, data: bytes) -> Incoming:
        """Raises Refusal with `wire/bad-frame`, `wire/too-deep`, `wire/unknown-type` or `wire/bad-message`."""
        if self._move is not None and data.startswith(_PLAIN_MOVE):
            try:
                move = self._move(data)
            except (msgspec.MsgspecError, UnicodeError):
                # The general way below finds out what is wrong.
                pass
            else:
                # The map has just as many fields as are known to be there: so there is no other, and none twice.
                if data[0] == _WITHOUT_REF or move.ref:
                    return move  # type: ignore[return-value]
        try:
            document = self._encoding.unpack(data)
        except ValueError as error:
            raise Refusal(ErrorCode.BAD_FRAME, _short(error)) from error
        except RecursionError as error:
            raise Refusal(ErrorCode.TOO_DEEP, _TOO_DEEP) from error
        if not isinstance(document, dict):
            raise Refusal(ErrorCode.BAD_FRAME, f"it is a {type(document).__name__}")
        _check_shape(document)
        tag = document.get("type")
        # An unknown tag, or one that is not text, is left to the union, whose error says what is wrong.
        kind = self._types.get(tag, self._direction) if type(tag) is str else self._direction
        try:
            message: Incoming = msgspec.convert(document, kind)
        except msgspec.ValidationError as error:
            raise _refusal(error) from error
        return message


def client_message_decoder(subprotocol: str) -> Decoder[ClientMessage]:
    """The decoder for a server. Raises KeyError for a subprotocol that is not one of `SUBPROTOCOLS`."""
    return Decoder(ClientMessage, subprotocol)


def server_message_decoder(subprotocol: str) -> Decoder[ServerMessage]:
    """The decoder for a client. A newer server may send types that this program does not know: ignore `wire/unknown-type`."""
    return Decoder(ServerMessage, subprotocol)


def reference(document_bytes: bytes, subprotocol: str) -> int:
    """The `ref` of a message that could not be decoded, if one can be made out; otherwise 0."""
    try:
        document = ENCODINGS[subprotocol].unpack(document_bytes)
    except (ValueError, RecursionError):
        return 0
    ref = document.get("ref", 0) if isinstance(document, dict) else 0
    return ref if type(ref) is int and 0 <= ref < 2**31 else 0


_TEXT = {str}
_SCALARS = frozenset((str, int, bool, float, type(None)))


def _check_shape(document: dict[Any, Any]) -> None:
    if {*map(type, document)} == _TEXT and _SCALARS.issuperset(map(type, document.values())):
        return
    # Level by level rather than by recursion, since the peer chooses the depth.
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                # MessagePack would also allow byte strings.
                if item and {*map(type, item)} != _TEXT:
                    raise Refusal(ErrorCode.BAD_FRAME, "the keys of a map are text")
                item = item.values()
            for value in item:
                kind = type(value)
                if kind is dict or kind is list:
                    below.append(value)
                elif kind is msgpack.Timestamp:
                    # The one extension type that msgpack decodes without asking `_no_extension`.
                    raise Refusal(ErrorCode.BAD_FRAME, "extension type -1 is not used on this wire")
        if not below:
            return
        level = below
    raise Refusal(ErrorCode.TOO_DEEP, _TOO_DEEP)


def _refusal(error: Exception) -> Refusal:
    # msgspec words its errors "what - at `$.path`". Split at the last " - at": the text may quote the peer, the path never does.
    what, at, where = str(error).rpartition(" - at `")
    what, path = (what, where.rstrip("`")) if at else (where, "$")
    kind: Literal[ErrorCode.UNKNOWN_TYPE, ErrorCode.BAD_MESSAGE]
    kind = ErrorCode.UNKNOWN_TYPE if path == "$.type" or "`type`" in what else ErrorCode.BAD_MESSAGE
    return Refusal(kind, _short(what), path=path)


def _short(error: object) -> str:
    text = str(error)
    return "".join(character if " " <= character <= "~" else "?" for character in text[:200])
