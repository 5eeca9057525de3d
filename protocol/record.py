"""The record of a race: one document with everything needed to replay and check it, and its canonical bytes and digest.

Owns the shape, not the judgement: the server's rules say whether the moves were legal (`carpet verify`). The digest covers every other
field, so that a record altered by accident or by hand differs from the one the server wrote; players keep the digest they were sent.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from protocol.fairness import HOUSE_NONCE, commitment, derive_seed, named_seed, swap_number
from protocol.views import MAX_SERIES_RACES, Hex16, Hex32, HomeCount, SeatNumber, SeatState, SeriesFormat, SharedDeal, UnixTime

FORMAT = 1
"""The version of the record's shape; a reader refuses a newer one."""

LONGEST_RECORD: Final = 8 * 2**20
"""The most bytes of a record as JSON: several times what eight seats need with all the moves that any rules allow. Readers read one byte
more, to notice a longer one.
"""


class PastPosition(Struct, frozen=True, kw_only=True):
    """The position that a race was played on from: one seat's in an earlier race. moves: those that led to it, from the deal on.

    race, digest: the id and digest of that race's record, against which the deal can be checked.
    """

    race: str
    digest: Hex32
    seat: SeatNumber
    moves: tuple[str, ...]


class DealRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the shuffle came from.

    For a random deal: `commitment` = SHA-256(`secret`), one nonce for each seat in seat order, `seed` = SHA-256(secret, nonces, k).
    winnable: only a deal that can be won was wanted, and k is the first number that gives one; otherwise k is 0.
    For a named deal: `name`, and `seed` = SHA-256("carpet deal " + name); the secret was not used.
    For a deal that several races share: `shared`, whose nonces replace the seats' own in the derivation; k is its number less 1.
    For a race played on from another: `past`, and the `seed` in that race's record; the secret was not used.
    """

    name: str | None
    commitment: Hex32
    secret: Hex32
    nonces: tuple[Hex16, ...]
    winnable: bool
    k: Annotated[int, Meta(ge=0, lt=2**32)]
    seed: Hex32
    shared: SharedDeal | None = None
    past: PastPosition | None = None


class SeatRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One seat: who sat there, how it ended, and where that put it.

    round_trip_ms: as measured for the start; the first view was sent half of it early, at most 150 ms. 0 for bots.
    place: 1 for the winner; tied seats share a place. home_at_ms: when `home` was reached.
    ended_at_ms: when the seat ended. Both are from the start, less the round-trip credit.
    player: the player's public id, empty for a bot. Names change; ratings follow the player.
    """

    name: str
    bot: str | None
    round_trip_ms: int
    state: SeatState
    place: int
    home: HomeCount
    plies: int
    home_at_ms: int
    ended_at_ms: int
    player: str = ""


class MoveRecord(Struct, frozen=True, array_like=True, gc=False):
    """One accepted move, written as a list of six in this order.

    at_ms: the moment that counts, from the start: received_ms less credit_ms, but never before the seat's previous move or the start.
    received_ms: when the server received it. credit_ms: half the measured round trip, at most 150. home: the seat's cards home after it.
    """

    seat: SeatNumber
    move: str
    at_ms: int
    received_ms: int
    credit_ms: int
    home: HomeCount


class SeriesRecord(Struct, frozen=True, kw_only=True):
    """Which race of which series it was. id: that of the first race's record. races: the most there could be. race: its number, from 1.

    In a `swap` the deal's `seed` is seed number 0; `seed_of` says which seat played that, and which seat number 1.
    """

    id: str
    format: SeriesFormat
    races: Annotated[int, Meta(ge=1, le=MAX_SERIES_RACES)]
    race: Annotated[int, Meta(ge=1, le=MAX_SERIES_RACES)]


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A race that is over. moves: in the order in which the server accepted them. started_at_ms: Unix time of the start.

    id: the one under which its server keeps it. rated: whether it counted for its players' ratings. series: null for a single race. Fields
    at their default are left out of the document, here and in `seats`, so that records older than such a field keep their digest.
    """

    format: Annotated[int, Meta(ge=1)]
    software: str
    room: str
    race: int
    rules: Annotated[str, Meta(min_length=1, max_length=32)]
    started_at_ms: UnixTime
    countdown_s: int
    time_limit_s: int
    grace_s: int
    ended_at_ms: Annotated[int, Meta(ge=0, lt=2**53)]
    deal: DealRecord
    seats: tuple[SeatRecord, ...]
    moves: tuple[MoveRecord, ...]
    id: str = ""
    rated: bool = False
    series: SeriesRecord | None = None
    digest: str = ""

    @property
    def swaps(self) -> bool:
        """Whether its seats played different shuffles."""
        return self.series is not None and self.series.format == "swap"


class _Versioned(Struct, frozen=True):
    """The part of any record, however new, that is read first."""

    format: Annotated[int, Meta(ge=1)]


class BadRecord(ValueError):
    """A document that is not a record, or whose parts do not belong together. Says which part."""


def canonical_bytes(record: Record) -> bytes:
    """The bytes that the digest is taken of: the record without its digest, as JSON with sorted keys and no spaces, in UTF-8."""
    # An empty digest is the default, so it is left out.
    return msgspec.json.encode(msgspec.structs.replace(record, digest=""), order="sorted")


def digest(record: Record) -> str:
    """SHA-256 of `canonical_bytes`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(record)).hexdigest()


def sealed(record: Record) -> Record:
    """The same record with its digest filled in."""
    return msgspec.structs.replace(record, digest=digest(record))


def to_json(record: Record) -> str:
    """The document as people save it: JSON with one field or move per line."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode()


def from_json(text: str | bytes) -> Record:
    """Read a record back. Raises a `BadRecord` that names the wrong field; checks only size, types and the format number."""
    if len(text) > LONGEST_RECORD:
        raise BadRecord(f"it is larger than {LONGEST_RECORD // 2**20} MiB")
    if not text:
        raise BadRecord("not a record of a race: it is empty")
    try:
        # The number first: a newer record may have any shape, and the reader should be told that it is newer, not that a field is missing.
        newest = msgspec.json.decode(text, type=_Versioned).format
        if newest > FORMAT:
            raise BadRecord(f"record format {newest} is newer than this program reads ({FORMAT}); update carpet-race")
        return msgspec.json.decode(text, type=Record)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadRecord(f"not a record of a race: {error}") from error


def seed_of(record: Record, seat: int) -> bytes:
    """The 32 bytes by which this seat's cards (from 0) were shuffled: the deal's seed, unless it played the other one of a swap."""
    if record.series is None or not record.swaps:
        return bytes.fromhex(record.deal.seed)
    nonces = [bytes.fromhex(nonce) for nonce in record.deal.nonces]
    return derive_seed(bytes.fromhex(record.deal.secret), nonces, swap_number(seat, record.series.race))


def check_nonces(record: Record) -> None:
    """Raise `BadRecord` unless every seat has one nonce, and house bots have the one that lets the host choose nothing."""
    nonces = record.deal.nonces
    if len(nonces) != len(record.seats):
        raise BadRecord(f"{len(nonces)} nonces for {len(record.seats)} seats")
    for number, (seat, nonce) in enumerate(zip(record.seats, nonces, strict=True), 1):
        if seat.bot is not None and nonce != HOUSE_NONCE.hex():
            raise BadRecord(f"seat {number}: a house bot's nonce is {HOUSE_NONCE.hex()}, so that the host cannot choose the deal by it")


def check_deal(deal: DealRecord) -> None:
    """Raise `BadRecord` unless the seed follows from the commitment and the contributions. Needs no rules of the game.

    Whether k is the first number that gives a winnable deal is left to the solver (`carpet verify`).
    """
    secret = bytes.fromhex(deal.secret)
    if commitment(secret).hex() != deal.commitment:
        raise BadRecord("the secret is not the one the server committed to: SHA-256(secret) differs from commitment")
    if deal.past is not None:
        if deal.name is not None or deal.shared is not None or deal.winnable or deal.k != 0:
            raise BadRecord("a race that is played on has the deal of an earlier one, and no other")
        return
    if deal.shared is not None:
        _check_shared(deal, deal.shared)
    elif deal.k != 0 and not deal.winnable:
        raise BadRecord("k is 0 unless only winnable deals were wanted: otherwise the host could choose among deals")
    if deal.name is not None:
        expected = named_seed(deal.name)
        if deal.winnable:
            raise BadRecord("a named deal is not chosen for being winnable")
    else:
        nonces = deal.shared.nonces if deal.shared is not None else deal.nonces
        expected = derive_seed(secret, [bytes.fromhex(nonce) for nonce in nonces], deal.k)
    if expected.hex() != deal.seed:
        raise BadRecord(
            "the seed does not follow from secret, nonces and k" if deal.name is None else "the seed is not the one of that name"
        )


def _check_shared(deal: DealRecord, shared: SharedDeal) -> None:
    if deal.name is not None or deal.winnable:
        raise BadRecord("a deal that several races share has no name, and is what it is, winnable or not")
    if shared.number != 1 and shared.kind != "round":
        raise BadRecord("only a table of a round races again, on another shuffle: otherwise the host could choose among deals")
    if deal.k != shared.number - 1:
        raise BadRecord(f"k is {deal.k}, but this is number {shared.number} of the shuffles that are shared")
