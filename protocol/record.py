"""The record of a race: one document with all that is needed to replay and check it, and its canonical bytes and digest.

Owns the shape, not the judgement: whether the moves were legal is for the server's rules (`carpet verify`). The digest covers every
other field, so a record altered by accident or by hand is told from the one the server wrote, and players keep the digest they were sent.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from protocol.fairness import HOUSE_NONCE, commitment, derive_seed, named_seed
from protocol.views import Hex16, Hex32, SeatNumber, SeatState

FORMAT = 1
"""Version of the record's shape; a reader refuses a newer one."""


class DealRecord(Struct, frozen=True, kw_only=True):
    """Where the shuffle came from.

    For a random deal: `commitment` = SHA-256(`secret`), one nonce a seat in seat order, `seed` = SHA-256(secret, nonces, k).
    winnable: only a deal that can be won was wanted, and k is the first number that gives one; otherwise k is 0.
    For a named deal: `name`, and `seed` = SHA-256("carpet deal " + name); the secret took no part in it.
    """

    name: str | None
    commitment: Hex32
    secret: Hex32
    nonces: tuple[Hex16, ...]
    winnable: bool
    k: Annotated[int, Meta(ge=0, lt=2**32)]
    seed: Hex32


class SeatRecord(Struct, frozen=True, kw_only=True):
    """One seat: who sat there, how it ended, and where that put it.

    round_trip_ms: as measured for the start, by half of which (150 ms at most) its first view went out early; 0 for bots.
    place: 1 for the winner; seats that nothing sets apart share a place. home_at_ms: when `home` was reached.
    ended_at_ms: when the seat ended. Both are from the start, less the round-trip credit.
    """

    name: str
    bot: str | None
    round_trip_ms: int
    state: SeatState
    place: int
    home: int
    plies: int
    home_at_ms: int
    ended_at_ms: int


class MoveRecord(Struct, frozen=True, kw_only=True, array_like=True):
    """One accepted move, written as a list of six in this order.

    at_ms: the moment that counts, from the start: received_ms less credit_ms, never before the seat's previous move or the start.
    received_ms: when the server had it. credit_ms: half the measured round trip, at most 150. home: the seat's cards home after it.
    """

    seat: SeatNumber
    move: str
    at_ms: int
    received_ms: int
    credit_ms: int
    home: int


class Record(Struct, frozen=True, kw_only=True):
    """A race that is over. moves: in the order in which the server took them. started_at_ms: Unix time of the start."""

    format: Annotated[int, Meta(ge=1)]
    software: str
    room: str
    race: int
    rules: str
    started_at_ms: int
    countdown_s: int
    time_limit_s: int
    grace_s: int
    ended_at_ms: int
    deal: DealRecord
    seats: tuple[SeatRecord, ...]
    moves: tuple[MoveRecord, ...]
    digest: str = ""


class _Versioned(Struct, frozen=True):
    """What is read first of any record, however new."""

    format: Annotated[int, Meta(ge=1)]


class BadRecord(ValueError):
    """A document that is not a record, or whose parts do not belong together. Says which part."""


def canonical_bytes(record: Record) -> bytes:
    """The record without its digest as JSON with sorted keys and no spaces, in UTF-8: what the digest is taken of."""
    document = msgspec.to_builtins(record)
    del document["digest"]
    return msgspec.json.encode(document, order="sorted")


def digest(record: Record) -> str:
    """SHA-256 of `canonical_bytes`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(record)).hexdigest()


def sealed(record: Record) -> Record:
    """The same record with its digest filled in."""
    return msgspec.structs.replace(record, digest=digest(record))


def to_json(record: Record) -> str:
    """The document as people save it: JSON, a line a field, a move a line."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode()


def from_json(text: str | bytes) -> Record:
    """Read a record back. Raises `BadRecord` naming the field that is wrong; judges nothing beyond types and the format number."""
    try:
        # The number first: a newer record may have any other shape, and the reader should hear of its age, not of a missing field.
        newest = msgspec.json.decode(text, type=_Versioned).format
        if newest > FORMAT:
            raise BadRecord(f"record format {newest} is newer than this program reads ({FORMAT}); update carpet-race")
        return msgspec.json.decode(text, type=Record)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadRecord(f"not a record of a race: {error}") from error


def check_nonces(record: Record) -> None:
    """Raise `BadRecord` unless every seat has one nonce, and those of house bots are the nonce that lets the host choose nothing."""
    nonces = record.deal.nonces
    if len(nonces) != len(record.seats):
        raise BadRecord(f"{len(nonces)} nonces for {len(record.seats)} seats")
    for number, (seat, nonce) in enumerate(zip(record.seats, nonces, strict=True), 1):
        if seat.bot is not None and nonce != HOUSE_NONCE.hex():
            raise BadRecord(f"seat {number}: a house bot's nonce is {HOUSE_NONCE.hex()}, so that the host cannot choose the deal by it")


def check_deal(deal: DealRecord) -> None:
    """Raise `BadRecord` unless the seed follows from what was committed to and contributed. Needs no rules of the game.

    Whether k is the first number that gives a winnable deal is for the solver (`carpet verify`).
    """
    secret = bytes.fromhex(deal.secret)
    if commitment(secret).hex() != deal.commitment:
        raise BadRecord("the secret is not the one the server committed to: SHA-256(secret) differs from commitment")
    if deal.k != 0 and not deal.winnable:
        raise BadRecord("k is 0 unless only winnable deals were wanted: otherwise the host could choose among deals")
    if deal.name is not None:
        expected = named_seed(deal.name)
        if deal.winnable:
            raise BadRecord("a named deal is not chosen for being winnable")
    else:
        expected = derive_seed(secret, [bytes.fromhex(nonce) for nonce in deal.nonces], deal.k)
    if expected.hex() != deal.seed:
        raise BadRecord(
            "the seed does not follow from secret, nonces and k" if deal.name is None else "the seed is not the one of that name"
        )
