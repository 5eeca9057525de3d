"""Every message there and back in both encodings, with values generated from its field types; and what the two encodings share."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgpack
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from protocol.client_messages import ClientMessage, Hello, JoinRace, Move, OpenRace, QuickMatch, Ready, Rename, Say, WhoAmI
from protocol.codec import (
    JSON,
    MAX_CLIENT_MESSAGE,
    MAX_DEPTH,
    MAX_SERVER_MESSAGE,
    MSGPACK,
    SUBPROTOCOLS,
    client_message_decoder,
    encode,
    server_message_decoder,
)
from protocol.errors import ErrorCode, Fault, Refusal
from protocol.record import FORMAT, DealRecord, MoveRecord, Record, SeatRecord, sealed
from protocol.room_events import Result, RoomEvent
from protocol.server_messages import Error, ServerMessage
from protocol.tournament_messages import CreateTournament, RemoveEntrant
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from tests.protocol.test_codec import BOTH, PACK

EXACT = 2**53 - 1
"""Integers beyond this are not exact in every JSON library, and are in no message."""

# There are fifty kinds of messages, some of them large: fewer values each than Hypothesis would take.
MODEST = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

CLIENT = get_args(ClientMessage)
SERVER = get_args(ServerMessage)

DECODERS: dict[tuple[bool, str], Any] = {
    **{(True, subprotocol): client_message_decoder(subprotocol) for subprotocol in SUBPROTOCOLS},
    **{(False, subprotocol): server_message_decoder(subprotocol) for subprotocol in SUBPROTOCOLS},
}


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Any value of a field's type, limits observed."""
    match kind:
        case inspect.StrType(pattern=str(), max_length=int(digits)):
            return st.binary(min_size=digits // 2, max_size=digits // 2).map(bytes.hex)
        case inspect.StrType(min_length=least, max_length=most):
            return st.text(min_size=least or 0, max_size=most if most is not None else 20)
        case inspect.IntType(ge=ge, lt=lt, le=le):
            most = le if le is not None else lt - 1 if lt is not None else EXACT
            return st.integers(-EXACT if ge is None else ge, most)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.UnionType(types=types):
            return st.one_of(*map(values, types))
        case inspect.VarTupleType(item_type=item, min_length=least):
            return st.lists(values(item), min_size=least or 0, max_size=3).map(tuple)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=3)
        case inspect.LiteralType(values=texts):
            return st.sampled_from(texts)
        case inspect.EnumType(cls=cls):
            return st.sampled_from(list(cls))
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: values(field.type) for field in fields})
    raise AssertionError(f"no values for {kind}")


VALUES = {message_type: values(inspect.type_info(message_type)) for message_type in (*CLIENT, *SERVER)}


@pytest.mark.parametrize("message_type", [*CLIENT, *SERVER], ids=lambda message_type: message_type.__name__)
@MODEST
@given(data=st.data())
def test_what_is_encoded_is_decoded_to_the_same_message_and_both_encodings_carry_the_same_map(
    message_type: type, data: st.DataObject
) -> None:
    # One message for all of it: to think of it takes longer than to look at it.
    message = data.draw(VALUES[message_type])
    for subprotocol in SUBPROTOCOLS:
        decoded = DECODERS[message_type in CLIENT, subprotocol].decode(encode(message, subprotocol))
        assert type(decoded) is message_type
        assert decoded == message
    assert msgpack.unpackb(encode(message, MSGPACK)) == json.loads(encode(message, JSON))


def test_messages_are_frozen_tagged_by_type_and_know_no_other_names() -> None:
    for message_type in (*CLIENT, *SERVER):
        info = inspect.type_info(message_type)
        assert isinstance(info, inspect.StructType)
        assert message_type.__struct_config__.frozen
        assert info.tag_field == "type"
        assert all(field.name == field.encode_name for field in info.fields)
    tags = [message_type.__struct_config__.tag for message_type in (*CLIENT, *SERVER)]
    assert len(tags) == len(set(tags))


def test_every_client_message_has_a_reference_and_every_room_event_a_version() -> None:
    assert all("ref" in message_type.__struct_fields__ for message_type in CLIENT)
    assert all(("version" in message_type.__struct_fields__) == (message_type in get_args(RoomEvent)) for message_type in SERVER)


@BOTH
def test_what_a_client_may_leave_out_is_filled_in(subprotocol: str) -> None:
    pack = PACK[subprotocol]
    decode = client_message_decoder(subprotocol).decode
    assert decode(pack({"type": "hello", "name": "Ada"})) == Hello(name="Ada", token=None, software="", ref=0)
    assert decode(pack({"type": "who-am-i"})) == WhoAmI(token=None, ref=0)
    assert decode(pack({"type": "rename", "name": "Ada"})) == Rename(name="Ada", token=None, ref=0)
    assert decode(pack({"type": "join-race", "code": "abc"})) == JoinRace(code="abc", version=0)
    assert decode(pack({"type": "quick-match"})) == QuickMatch(rules=None, cancel=False, ref=0)
    assert decode(pack({"type": "open-race", "options": {}})) == OpenRace(options=RaceOptions(rules="carpet", seats=2, bots=()))


@BOTH
def test_fields_of_a_newer_wire_are_ignored(subprotocol: str) -> None:
    document = {"type": "hello", "name": "Ada", "hat": {"colour": ["green"]}, "age": 1.5}
    assert client_message_decoder(subprotocol).decode(PACK[subprotocol](document)) == Hello(name="Ada")


@BOTH
def test_an_error_code_of_a_newer_server_is_no_reason_to_refuse_the_error(subprotocol: str) -> None:
    error = Error(code="race/too-late-at-night", fault=Fault.STATE, message="Go to bed.", path="", ref=3)
    assert server_message_decoder(subprotocol).decode(encode(error, subprotocol)) == error


@BOTH
def test_a_message_type_of_a_newer_server_can_be_told_from_a_broken_message(subprotocol: str) -> None:
    document = {"type": "fireworks", "version": 3}
    with pytest.raises(Refusal) as caught:
        server_message_decoder(subprotocol).decode(PACK[subprotocol](document))
    assert (caught.value.code, caught.value.path) == (ErrorCode.UNKNOWN_TYPE, "$.type")


@BOTH
@pytest.mark.parametrize("nonce", ["0" * 31, "0" * 33, "0" * 32 + "\n", "\n" + "0" * 32, "A" * 32, "g" * 32, "٠" * 32, ""])
def test_a_nonce_is_32_lower_case_hexadecimal_digits_and_nothing_else(subprotocol: str, nonce: str) -> None:
    document = {"type": "ready", "race": 1, "nonce": nonce}
    with pytest.raises(Refusal) as caught:
        client_message_decoder(subprotocol).decode(PACK[subprotocol](document))
    assert (caught.value.code, caught.value.path) == (ErrorCode.BAD_MESSAGE, "$.nonce")


# ---- sizes


@BOTH
def test_the_longest_message_of_a_client_fits_the_limit(subprotocol: str) -> None:
    longest = "\U0001f0a1"
    options = RaceOptions(rules=longest * 32, deal=longest * 100, bots=(longest * 24,) * 8)
    messages: list[ClientMessage] = [
        Hello(name=longest * 200, token=longest * 64, software=longest * 64, ref=2**31 - 1),
        Rename(name=longest * 200, token=longest * 64, ref=2**31 - 1),
        OpenRace(options=options, ref=2**31 - 1),
        Ready(race=2**31 - 1, nonce="f" * 32, ref=2**31 - 1),
        Move(race=2**31 - 1, seat=7, ply=2**31 - 1, move=longest * 8, ref=2**31 - 1),
        Say(text=longest * 1000, ref=2**31 - 1),
        CreateTournament(options=TournamentOptions(name=longest * 200, rules=longest * 32, bot=longest * 24), code=longest * 32),
        RemoveEntrant(id=longest * 16, entrant=longest * 64, reason=longest * 400),
    ]
    for message in messages:
        assert len(encode(message, subprotocol)) <= MAX_CLIENT_MESSAGE


@BOTH
def test_the_longest_record_fits_one_message(subprotocol: str) -> None:
    seats = tuple(
        SeatRecord(
            name="\U0001f0a1" * 24,
            bot="\U0001f0a1" * 24,
            round_trip_ms=3_600_000,
            state="out-of-time",
            place=1,
            home=104,
            plies=2000,
            home_at_ms=10**7,
            ended_at_ms=10**7,
        )
        for _ in range(8)
    )
    moves = tuple(
        MoveRecord(seat=seat, move="p4:p7", at_ms=3_600_000, received_ms=3_600_150, credit_ms=150, home=104)
        for seat in range(8)
        for _ in range(2000)
    )
    deal = DealRecord(
        name="\U0001f0a1" * 100, commitment="f" * 64, secret="f" * 64, nonces=("f" * 32,) * 8, winnable=False, k=2**32 - 1, seed="f" * 64
    )
    record = sealed(
        Record(
            format=FORMAT,
            software="x" * 64,
            room="HKTRWM",
            race=2**31 - 1,
            rules="x" * 32,
            started_at_ms=2 * 10**12,
            countdown_s=10,
            time_limit_s=3600,
            grace_s=600,
            ended_at_ms=3_600_000,
            deal=deal,
            seats=seats,
            moves=moves,
        )
    )
    raw = encode(Result(version=2**31, record=record), subprotocol)
    assert len(raw) <= MAX_SERVER_MESSAGE
    assert server_message_decoder(subprotocol).decode(raw) == Result(version=2**31, record=record)


@MODEST
@given(data=st.data())
def test_no_message_is_nested_more_deeply_than_the_limit(data: st.DataObject) -> None:
    message_type = data.draw(st.sampled_from((*CLIENT, *SERVER)))
    document = msgspec.to_builtins(data.draw(VALUES[message_type]))

    def depth(value: Any) -> int:
        if isinstance(value, dict):
            return 1 + max(map(depth, value.values()), default=0)
        if isinstance(value, (list, tuple)):
            return 1 + max(map(depth, value), default=0)
        return 0

    assert depth(document) <= MAX_DEPTH
