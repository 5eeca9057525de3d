"""The decoder at the edge: whatever a peer sends becomes a message, or a refusal that says what is wrong and where; no other exception."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from protocol.client_messages import ClientMessage, Hello, Move, OpenRace
from protocol.codec import (
    ENCODINGS,
    JSON,
    MAX_CLIENT_MESSAGE,
    MAX_DEPTH,
    MSGPACK,
    SUBPROTOCOLS,
    Decoder,
    client_message_decoder,
    encode,
    reference,
    server_message_decoder,
)
from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import ServerMessage
from protocol.views import RaceOptions

_ODD = st.one_of(st.integers(-1, 2**31), st.text(max_size=3), st.none(), st.floats(width=32), st.binary(max_size=2), st.booleans())
"""What a field may be sent as."""

BOTH = pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)

SAMPLES: list[ClientMessage] = [
    Hello(name="Zoë 🂡", token=None, software="client 1.0", ref=2**31 - 1),
    OpenRace(options=RaceOptions(deal="friday", bots=("random", "greedy")), ref=3),
    Move(race=1, seat=1, ply=17, move="s:b3"),
]
TAGS = [message_type.__struct_config__.tag for message_type in (*get_args(ClientMessage), *get_args(ServerMessage))]

PACK: dict[str, Callable[[Any], bytes]] = {
    MSGPACK: msgpack.packb,
    JSON: lambda document: json.dumps(document).encode(),
}


def refusal(decoder: Decoder[Any], raw: bytes) -> Refusal | None:
    """What is refused about the bytes, or None when they are a message. Whatever else is raised fails the test."""
    try:
        decoder.decode(raw)
    except Refusal as caught:
        return caught
    return None


def verdict(decoder: Decoder[Any], raw: bytes) -> tuple[ErrorCode, str] | None:
    """The code and path of what is refused."""
    refused = refusal(decoder, raw)
    return None if refused is None else (refused.code, refused.path)


def verdict_on(document: Any, subprotocol: str) -> tuple[ErrorCode, str] | None:
    return verdict(client_message_decoder(subprotocol), PACK[subprotocol](document))


def check(raw: bytes, subprotocol: str) -> None:
    for decoder in (client_message_decoder(subprotocol), server_message_decoder(subprotocol)):
        refused = refusal(decoder, raw)
        if refused is None:
            continue
        assert refused.code in (ErrorCode.BAD_FRAME, ErrorCode.BAD_MESSAGE, ErrorCode.UNKNOWN_TYPE, ErrorCode.TOO_DEEP)
        # A path where there is a document that it can lead into.
        assert refused.path.startswith("$") == (refused.code in (ErrorCode.BAD_MESSAGE, ErrorCode.UNKNOWN_TYPE))
        for text in (refused.detail, refused.path):
            assert text.isascii()
            assert text == "" or text.isprintable()
        assert len(refused.detail) <= 200
    assert 0 <= reference(raw, subprotocol) < 2**31


# ---- anything at all


@BOTH
@settings(max_examples=3 * settings().max_examples)
@given(raw=st.binary(max_size=200))
def test_random_bytes_are_a_message_or_refused(subprotocol: str, raw: bytes) -> None:
    check(raw, subprotocol)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(TAGS),
    st.binary(max_size=8),
)
field_names = st.sampled_from(sorted({name for kind in get_args(ClientMessage) for name in kind.__struct_fields__} | {"type"}))
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(field_names, scalars), inner, max_size=6)),
    # What comes out larger is thrown away and thought of again: twice as many leaves take six times as long, for half as many more.
    max_leaves=30,
)
maps = st.dictionaries(st.one_of(field_names, st.text(max_size=4)), documents, max_size=6)


def as_json(document: Any) -> bytes:
    """NaN and Infinity are written as such here: they are no JSON, and hostile."""

    def textual(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): textual(inner) for key, inner in value.items()}
        return [textual(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(textual(document), default=bytes.hex).encode()


@settings(max_examples=3 * settings().max_examples)
@given(document=maps, tag=st.sampled_from(TAGS))
def test_random_maps_are_messages_or_refused(document: dict[Any, Any], tag: str) -> None:
    # One document for both encodings: to think of it takes longer than to look at it.
    for value in (document, {**document, "type": tag}):
        check(msgpack.packb(value), MSGPACK)
        check(as_json(value), JSON)


@BOTH
@pytest.mark.parametrize("message", SAMPLES, ids=lambda message: type(message).__name__)
def test_every_truncation_is_a_bad_frame(subprotocol: str, message: ClientMessage) -> None:
    raw = encode(message, subprotocol)
    for length in range(len(raw)):
        check(raw[:length], subprotocol)
        assert verdict(client_message_decoder(subprotocol), raw[:length]) == (ErrorCode.BAD_FRAME, "")


@BOTH
@settings(max_examples=3 * settings().max_examples)
@given(message=st.sampled_from(SAMPLES), data=st.data())
def test_messages_with_a_byte_changed_are_messages_or_refused(subprotocol: str, message: ClientMessage, data: st.DataObject) -> None:
    raw = bytearray(encode(message, subprotocol))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(raw), subprotocol)


# ---- no frame at all


@BOTH
@pytest.mark.parametrize("document", [None, True, 7, "hello", [], ["type", "hello"]], ids=repr)
def test_a_frame_is_one_map(subprotocol: str, document: Any) -> None:
    assert verdict_on(document, subprotocol) == (ErrorCode.BAD_FRAME, "")


HELLO: bytes = msgpack.packb({"type": "hello", "name": "Ada"})


def hello_with(key: bytes, value: bytes) -> bytes:
    """A whole hello in MessagePack and one more field, whose bytes are the test's own."""
    return b"\x83" + HELLO[1:] + key + value


X = msgpack.packb("x")


NO_MESSAGEPACK = {
    "nothing": b"",
    "unused byte": b"\xc1",
    "trailing byte": HELLO + b"\x00",
    "two messages": HELLO + HELLO,
    "map of 2^32": b"\xdf\xff\xff\xff\xff",
    "list of 2^32": b"\xdd\xff\xff\xff\xff",
    "bytes of 2^32": b"\xc6\xff\xff\xff\xff",
    "text of 2^32": b"\xdb\xff\xff\xff\xff",
    "integer key": hello_with(msgpack.packb(1), X),
    "null key": hello_with(msgpack.packb(None), X),
    "map key": hello_with(b"\x80", X),
    "list key": hello_with(b"\x91\x01", X),
    "byte string key": hello_with(msgpack.packb(b"x"), X),
    "byte string key of a field": hello_with(msgpack.packb(b"name"), X),
    "byte string key within": hello_with(X, msgpack.packb({b"inner": 1})),
    "extension": hello_with(X, msgpack.packb(msgpack.ExtType(5, b"data"))),
    "timestamp": hello_with(X, msgpack.packb(msgpack.Timestamp(1, 1))),
    "timestamp within": hello_with(X, msgpack.packb([{"y": msgpack.Timestamp(1, 1)}])),
    "timestamp beyond nanoseconds": hello_with(X, b"\xc7\x0c\xff" + b"\xff" * 12),
    "timestamp of no length": hello_with(X, b"\xc7\x00\xff"),
    "broken UTF-8": hello_with(X, b"\xa2\xff\xfe"),
    "surrogate in UTF-8": hello_with(X, b"\xa3\xed\xa0\x80"),
}


@pytest.mark.parametrize("raw", NO_MESSAGEPACK.values(), ids=NO_MESSAGEPACK)
def test_what_is_no_frame_in_messagepack_is_a_bad_frame(raw: bytes) -> None:
    check(raw, MSGPACK)
    assert verdict(client_message_decoder(MSGPACK), raw) == (ErrorCode.BAD_FRAME, "")


NO_JSON = {
    "nothing": b"",
    "byte order mark": b"\xef\xbb\xbf{}",
    "two messages": b'{"type":"hello","name":"Ada"} {}',
    "trailing comma": b'{"type":"hello","name":"Ada",}',
    "single quotes": b"{'type':'hello'}",
    "not a number": b'{"type":"hello","name":NaN}',
    "infinity": b'{"type":"hello","name":"Ada","x":-Infinity}',
    "beyond floats": b'{"type":"hello","name":"Ada","x":1e999}',
    "lone surrogate": b'{"type":"hello","name":"\\ud800"}',
    "surrogates the wrong way round": b'{"type":"hello","name":"\\udc00\\ud800"}',
    "surrogate in UTF-8": b'{"type":"hello","name":"\xed\xa0\x80"}',
    "broken UTF-8": b'{"type":"hello","name":"\xff"}',
    "bare control character": b'{"type":"hello","name":"a\nb"}',
    "integer key": b'{"type":"hello",1:2}',
}


@pytest.mark.parametrize("raw", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_frame_in_json_is_a_bad_frame(raw: bytes) -> None:
    check(raw, JSON)
    assert verdict(client_message_decoder(JSON), raw) == (ErrorCode.BAD_FRAME, "")


@pytest.mark.parametrize("behind", [b'"}', b'","ref":1}', b'","software":"0123456789"}'])
def test_half_a_surrogate_pair_is_called_so_wherever_it_stands(behind: bytes) -> None:
    refused = refusal(client_message_decoder(JSON), b'{"type":"hello","name":"\\ud800' + behind)
    assert refused is not None
    assert "surrogate pair" in refused.detail


# ---- depth, duplicates, sizes


def nested(levels: int, *, lists: bool) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value] if lists else {"x": value}
    return value


@BOTH
@pytest.mark.parametrize("lists", [True, False], ids=["lists", "maps"])
def test_depth_is_counted_with_the_message_itself(subprotocol: str, lists: bool) -> None:
    assert verdict_on({"type": "hello", "name": "Ada", "x": nested(MAX_DEPTH - 1, lists=lists)}, subprotocol) is None
    assert verdict_on({"type": "hello", "name": "Ada", "x": nested(MAX_DEPTH, lists=lists)}, subprotocol) == (ErrorCode.TOO_DEEP, "")


@pytest.mark.parametrize(
    ("subprotocol", "raw"),
    [
        (MSGPACK, b"\x81\xa1x" + b"\x91" * 4000 + b"\xc0"),
        (MSGPACK, b"\x81\xa1x" * 1000 + b"\xc0"),
        (MSGPACK, b"\x81\xa1x" * 1300 + b"\xc0"),
        (JSON, b"[" * 4000),
        (JSON, b'{"x":' + b"[" * 2000 + b"]" * 2000 + b"}"),
        (JSON, b'{"x":' * 600 + b"0" + b"}" * 600),
    ],
    ids=["4,000 lists", "1,000 maps", "1,300 maps", "4,000 open lists", "2,000 lists in JSON", "600 maps in JSON"],
)
def test_a_whole_frame_of_depth_is_too_deep(subprotocol: str, raw: bytes) -> None:
    check(raw, subprotocol)
    assert verdict(client_message_decoder(subprotocol), raw) == (ErrorCode.TOO_DEEP, "")


@pytest.fixture
def recursion_limit() -> Iterator[Callable[[int], None]]:
    before = sys.getrecursionlimit()
    yield sys.setrecursionlimit
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("limit", [700, 1000, 40_000])
@pytest.mark.parametrize(
    ("raw", "code", "ref"),
    [
        (b"[" * 4000, ErrorCode.TOO_DEEP, 0),
        (b'{"ref":7,"x":' + b"[" * 1500 + b"]" * 1500 + b"}", ErrorCode.TOO_DEEP, 0),
        (b'{"ref":7,"x":' + b"[" * 200 + b"]" * 200 + b"}", ErrorCode.TOO_DEEP, 7),
        (b'{"ref":7,"x":' + b"[" * 200, ErrorCode.BAD_FRAME, 0),
        (b'{"ref":7,"x":"' + b'\\"[' * 1000 + b'"}', ErrorCode.UNKNOWN_TYPE, 7),
        (b'{"ref":7,"x":"' + b'\\"[' * 1000 + b"}", ErrorCode.BAD_FRAME, 0),
        (b'{"ref":7,"x":[' + b"[]," * 900 + b"1]}", ErrorCode.UNKNOWN_TYPE, 7),
    ],
    ids=["open lists", "lists", "few lists", "few open lists", "brackets in a string", "an open string of brackets", "lists in a row"],
)
def test_how_deep_json_may_be_does_not_depend_on_how_deep_the_interpreter_goes(
    recursion_limit: Callable[[int], None], raw: bytes, code: ErrorCode, ref: int, limit: int
) -> None:
    recursion_limit(limit)
    refused = refusal(client_message_decoder(JSON), raw)
    assert refused is not None
    assert (refused.code, reference(raw, JSON)) == (code, ref)


@pytest.mark.parametrize(
    "raw",
    [b"[" * 257 + b'"' + b'\\"' * 1900, b"[" * 257 + b'\\"' * 1900, b"[" * 4096, b"[]" * 2048, b'[""' * 1024, b'"' * 4096],
    ids=["open strings", "strings that would be open", "open lists", "lists", "strings", "quotes"],
)
def test_no_message_of_a_client_takes_long_to_refuse(raw: bytes) -> None:
    decoder = client_message_decoder(JSON)
    times = []
    for _ in range(5):
        began = time.thread_time()
        assert refusal(decoder, raw)
        times.append(time.thread_time() - began)
    # It takes less than a thousandth of a second; reading each string from each of its quotes took a hundred times that.
    assert min(times) < 0.02


@BOTH
def test_the_widest_message_of_a_client_is_decoded(subprotocol: str) -> None:
    wide: dict[str, object] = {"type": "hello", "name": "Ada", "x": [[]] * 500 + [{}] * 500}
    assert len(PACK[subprotocol](wide)) <= MAX_CLIENT_MESSAGE
    assert client_message_decoder(subprotocol).decode(PACK[subprotocol](wide)) == Hello(name="Ada")


def test_of_a_key_that_occurs_twice_the_last_counts_in_both_encodings() -> None:
    twice = b"\x83" + msgpack.packb("type") + msgpack.packb("hello") + (msgpack.packb("name") + b"%b") * 2
    raw = {
        MSGPACK: twice % (msgpack.packb("Ada"), msgpack.packb("Zoë")),
        JSON: '{"type":"hello","name":"Ada","name":"Zoë"}'.encode(),
    }
    for subprotocol in SUBPROTOCOLS:
        assert client_message_decoder(subprotocol).decode(raw[subprotocol]) == Hello(name="Zoë")


@pytest.mark.parametrize("number", [2**31, 2**53, 2**63, 2**64 - 1, 2**64, 10**400, -1, -(2**63), -(2**63) - 1])
def test_a_number_beyond_its_limits_is_refused_by_its_field(number: int) -> None:
    for subprotocol in SUBPROTOCOLS:
        if subprotocol == MSGPACK and not -(2**63) <= number < 2**64:
            continue  # MessagePack has no such number
        assert verdict_on({"type": "hello", "name": "Ada", "ref": number}, subprotocol) == (ErrorCode.BAD_MESSAGE, "$.ref")


@BOTH
@pytest.mark.parametrize("number", [5.0, 0.0, -0.0, 1e300, True, "5", None], ids=repr)
def test_only_an_integer_is_an_integer(subprotocol: str, number: Any) -> None:
    assert verdict_on({"type": "hello", "name": "Ada", "ref": number}, subprotocol) == (ErrorCode.BAD_MESSAGE, "$.ref")


def test_not_a_number_is_no_integer() -> None:
    assert verdict_on({"type": "hello", "name": "Ada", "ref": math.nan}, MSGPACK) == (ErrorCode.BAD_MESSAGE, "$.ref")


# ---- tags and types


@BOTH
@pytest.mark.parametrize(
    "tag", ["", "Hello", "welcome", "hello ", "x" * 4000, 5, None, True, [], {}, ["hello"]], ids=lambda tag: repr(tag)[:20]
)
def test_a_wrong_tag_is_named(subprotocol: str, tag: Any) -> None:
    assert verdict_on({"type": tag, "name": "Ada"}, subprotocol) == (ErrorCode.UNKNOWN_TYPE, "$.type")


@BOTH
@pytest.mark.parametrize("tag", ["x - at `$.evil", "` - at `$.name`", "\x1b[31m - at `$.\x1b[2J`", "type`", " - at `"], ids=repr)
def test_a_peer_cannot_write_the_path(subprotocol: str, tag: str) -> None:
    raw = PACK[subprotocol]({"type": tag, "name": "Ada"})
    check(raw, subprotocol)
    assert verdict(client_message_decoder(subprotocol), raw) == (ErrorCode.UNKNOWN_TYPE, "$.type")


def wrong_value(kind: inspect.Type) -> Any:
    """A value of no type that the field has."""
    match kind:
        case inspect.IntType():
            return "5"
        case inspect.BoolType():
            return "true"
        case inspect.UnionType(types=types):
            return wrong_value(next(each for each in types if not isinstance(each, inspect.NoneType)))
    return 5


@BOTH
@pytest.mark.parametrize("direction", [ClientMessage, ServerMessage], ids=["client", "server"])
def test_a_field_of_the_wrong_type_is_named(subprotocol: str, direction: Any) -> None:
    decoder = Decoder[Any](direction, subprotocol)
    # First in the map: types are checked in the order of the map, absent fields at its end.
    told = {
        (tag, field.encode_name): verdict(decoder, PACK[subprotocol]({"type": tag, field.encode_name: wrong_value(field.type)}))
        for message_type in get_args(direction)
        for tag in (message_type.__struct_config__.tag,)
        for field in inspect.type_info(message_type).fields  # type: ignore[attr-defined]
    }
    assert len(told) > 50
    assert told == {(tag, field): (ErrorCode.BAD_MESSAGE, f"$.{field}") for tag, field in told}


@BOTH
@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"type": "hello"}, "$"),
        ({"type": "open-race", "options": {"rules": ""}}, "$.options.rules"),
        ({"type": "open-race", "options": {"seats": 9}}, "$.options.seats"),
        ({"type": "open-race", "options": {"bots": ["random", 5]}}, "$.options.bots[1]"),
        ({"type": "move", "race": 0, "seat": 0, "ply": 0, "move": "s"}, "$.race"),
        ({"type": "move", "race": 1, "seat": 8, "ply": 0, "move": "s"}, "$.seat"),
        ({"type": "move", "race": 1, "seat": 0, "ply": 0, "move": ""}, "$.move"),
        ({"type": "move", "race": 1, "seat": 0, "ply": 0, "move": "b3:c2:d1x"}, "$.move"),
        ({"type": "say", "text": "x" * 1001}, "$.text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_names_the_field(subprotocol: str, document: dict[str, Any], path: str) -> None:
    assert verdict_on(document, subprotocol) == (ErrorCode.BAD_MESSAGE, path)


# ---- the rest of the port


@BOTH
def test_what_could_not_be_decoded_has_its_reference_or_none(subprotocol: str) -> None:
    pack = PACK[subprotocol]
    assert reference(pack({"type": "nonsense", "ref": 77}), subprotocol) == 77
    for strange in (-1, 2**31, True, 7.0, "7", None, [7]):
        assert reference(pack({"type": "hello", "ref": strange}), subprotocol) == 0
    assert reference(pack([1]), subprotocol) == reference(b"", subprotocol) == reference(b"\xff", subprotocol) == 0


def test_the_kind_of_frame_follows_from_the_subprotocol() -> None:
    assert {name: encoding.binary for name, encoding in ENCODINGS.items()} == {MSGPACK: True, JSON: False}
    assert client_message_decoder(MSGPACK).binary
    assert not server_message_decoder(JSON).binary
    for name, encoding in ENCODINGS.items():
        assert encoding.name == name


def test_there_is_no_decoder_for_a_subprotocol_that_is_not_one_of_ours() -> None:
    with pytest.raises(KeyError):
        client_message_decoder("carpet.v2.msgpack")


@given(
    st.fixed_dictionaries(
        {"type": st.just("move"), "race": st.just(1), "seat": _ODD, "ply": _ODD, "move": st.one_of(st.just("b3"), _ODD)},
        optional={"ref": _ODD, "more": st.recursive(_ODD, lambda inner: st.lists(inner, max_size=1), max_leaves=12)},
    ),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 255)),
)
def test_a_move_that_is_read_the_short_way_is_what_the_long_way_makes_of_it(document: dict[str, Any], place: int, byte: int | None) -> None:
    data = bytearray(msgpack.packb(document))
    if byte is not None and place < len(data):
        data[place] = byte
    short, long = client_message_decoder(MSGPACK), client_message_decoder(MSGPACK)
    long._move = None
    assert _outcome(short, bytes(data)) == _outcome(long, bytes(data))


def _outcome(decoder: Decoder[ClientMessage], data: bytes) -> object:
    try:
        return decoder.decode(data)
    except Refusal as refusal:
        return refusal.code, refusal.path, str(refusal)


MOVE = {"race": 1, "seat": 0, "ply": 0, "move": "b3"}


@BOTH
@pytest.mark.parametrize("document", [{"name": "Ada"}, MOVE, MOVE | {"ref": 7}, MOVE | {"more": 1}, MOVE | {"ref": 7, "more": 1}], ids=str)
def test_what_has_no_tag_is_of_no_type(subprotocol: str, document: dict[str, Any]) -> None:
    assert verdict_on(document, subprotocol) == (ErrorCode.UNKNOWN_TYPE, "$")
