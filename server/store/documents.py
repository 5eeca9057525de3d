"""Encodes commands, options and records to the text that is stored, and the commands of a batch to bytes; and decodes them.

A command is stored in the form of `tagged_codec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from protocol.record import BadRecord, Record, digest, from_json
from protocol.views import RaceOptions
from server.match.series import Series
from server.race.commands import (
    ChooseDeal,
    Command,
    GetReady,
    LeaveSeat,
    LoseConnection,
    MeasureConnection,
    PassTime,
    PlayMove,
    RegainConnection,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.shared_deal_spec import SharedDealSpec
from server.race.start_position import StartPosition
from server.store.tagged_codec import TaggedCodec

VERSION: Final = 1

TAGS: Final[dict[str, type[Command]]] = {
    "take-seat": TakeSeat,
    "leave-seat": LeaveSeat,
    "measure-line": MeasureConnection,
    "get-ready": GetReady,
    "choose-deal": ChooseDeal,
    "play-move": PlayMove,
    "stop-seat": StopSeat,
    "resign-seat": ResignSeat,
    "lose-line": LoseConnection,
    "regain-line": RegainConnection,
    "pass-time": PassTime,
}


class BadDocument(ValueError):
    """Stored text is not what it should be. Says what it is instead."""


class Opened(NamedTuple):
    """What a race was opened with."""

    options: RaceOptions
    series: Series | None
    spec: SharedDealSpec | None
    start_position: StartPosition | None = None
    won: tuple[int, ...] = ()
    matched: tuple[str, ...] = ()


class _Beside(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored in the same text as the options. No option may ever have one of these names."""

    series_so_far: Series | None = None
    spec: SharedDealSpec | None = msgspec.field(default=None, name="occasion")
    played_on_from: StartPosition | None = None
    won_before: tuple[int, ...] = ()
    matched: tuple[str, ...] = ()


_ENCODER: Final = msgspec.json.Encoder()


Taken: TypeAlias = tuple[bytes, int, int, bytes]
"""A command in a batch: race, sequence, Unix time in milliseconds, and the command as text."""

_BATCH_ENCODER: Final = msgspec.msgpack.Encoder()
_BATCH: Final = msgspec.msgpack.Decoder(list[Taken])


def encode_commands(taken: Sequence[Taken]) -> bytes:
    """A MessagePack list in which each command is a separate byte string, so that a damaged one leaves the others readable."""
    return _BATCH_ENCODER.encode(taken)


def decode_commands(batch: bytes) -> list[Taken]:
    """Raises BadDocument."""
    try:
        return _BATCH.decode(batch)
    # TypeError: it is not even bytes any more.
    except (msgspec.DecodeError, TypeError) as error:
        raise BadDocument(f"not a batch of commands: {error}") from error


_COMMANDS: Final = TaggedCodec[Command](TAGS, version=VERSION, what="command", error=BadDocument)

# Bound methods, to save a call for each move.
encode_command: Final = _COMMANDS.encode
decode_command: Final = _COMMANDS.decode
"""Raises BadDocument."""
_KNOWN: Final = tuple(f'[{VERSION},"{tag}",'.encode() for tag in TAGS)


def is_newer(command: bytes) -> bool:
    """Whether this is a command that only a newer version of this program can have written."""
    return not command.startswith(_KNOWN) and _COMMANDS.is_newer(command)


def encode(document: RaceOptions | Record | tuple[str, ...]) -> str:
    """Options, a record, or the nonces of a deal."""
    return _ENCODER.encode(document).decode()


def decode_options(text: str) -> RaceOptions:
    """Raises BadDocument."""
    return decode_opening(text).options


def decode_nonces(text: str) -> tuple[str, ...]:
    """Raises BadDocument."""
    try:
        return msgspec.json.decode(text, type=tuple[str, ...])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadDocument(f"not the nonces of a deal: {error}") from error


def encode_opening(opening: Opened) -> str:
    """The options, and with them all else that is told of the opening."""
    beside = msgspec.to_builtins(_Beside(*opening[1:]))
    return _ENCODER.encode(msgspec.to_builtins(opening.options) | beside).decode()


def decode_opening(text: str) -> Opened:
    """Raises BadDocument."""
    try:
        beside = msgspec.json.decode(text, type=_Beside)
        options = msgspec.json.decode(text, type=RaceOptions)
        return Opened(options, beside.series_so_far, beside.spec, beside.played_on_from, beside.won_before, beside.matched)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadDocument(f"not the options of a race: {error}") from error


def decode_record(text: str, stored_digest: str) -> Record:
    """The record, if its digest matches both its text and the digest stored beside it. Raises BadDocument."""
    try:
        record = from_json(text)
    except BadRecord as error:
        raise BadDocument(str(error)) from error
    if not record.digest == digest(record) == stored_digest:
        raise BadDocument("the record's digest is not that of its text: it was altered")
    return record
