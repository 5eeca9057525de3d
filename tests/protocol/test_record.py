"""The record: its canonical bytes and digest, its saved form, and the check of the deal.

tests/data/records/format-1.json is a record as people save it, format-1.canonical.json the bytes that its digest is made from. They must
never change: a saved record of format 1 must keep its digest in every later release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from protocol.fairness import commitment, derive_seed, named_seed
from protocol.record import (
    FORMAT,
    BadRecord,
    DealRecord,
    PastPosition,
    Record,
    SeriesRecord,
    canonical_bytes,
    check_deal,
    check_nonces,
    digest,
    from_json,
    sealed,
    to_json,
)
from protocol.views import SharedDeal

RECORDS = Path(__file__).parents[1] / "data" / "records"
SAVED = (RECORDS / "format-1.json").read_text(encoding="utf-8")
CANONICAL = (RECORDS / "format-1.canonical.json").read_bytes()
RECORD = from_json(SAVED)
PAST = PastPosition(race="HKTRWM-1-0a1b2c3d4e5f", digest="5e" * 32, seat=1, moves=("a1", "s:a1"))

FULL = sealed(
    replace(
        RECORD,
        id="HKTRWM-1-0a1b2c3d4e5f",
        rated=True,
        series=SeriesRecord(id="HKTRWM-1-0a1b2c3d4e5f", format="best-of", races=3, race=2),
        deal=replace(RECORD.deal, shared=SharedDeal(kind="round", id="spring-open/1", nonces=("1b" * 16,), number=3), past=PAST),
        seats=tuple(replace(seat, player="8f3a5c7e9b1d2f40") for seat in RECORD.seats),
    )
)
"""With the fields that were left out of the first records too."""

Path_ = tuple[str | int, ...]


# ---- canonical bytes and digest


def test_the_canonical_bytes_of_format_1_are_for_ever() -> None:
    assert canonical_bytes(RECORD) == CANONICAL
    assert digest(RECORD) == hashlib.sha256(CANONICAL).hexdigest() == RECORD.digest


def test_the_canonical_bytes_are_what_the_specification_says() -> None:
    # By another program: the standard library's.
    document = json.loads(SAVED)
    del document["digest"]
    assert json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == CANONICAL


@given(text=st.text())
def test_text_of_any_kind_is_escaped_as_the_specification_says(text: str) -> None:
    record = replace(RECORD, software=text)
    document = msgspec.to_builtins(record)
    del document["digest"]
    assert canonical_bytes(record) == json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_the_digest_does_not_cover_itself() -> None:
    assert digest(replace(RECORD, digest="")) == digest(RECORD)
    assert sealed(replace(RECORD, digest="")) == sealed(sealed(RECORD)) == RECORD


def leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every value in a document that is not a map or list, and every list, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path, value
        if isinstance(value, list):
            for index, inner in enumerate(value):
                yield from leaves(inner, (*path, index))


def altered(value: Any) -> Any:
    """Another value that the same field can have."""
    match value:
        case bool():
            return not value
        case int():
            return value - 1 if value else 1
        case None:
            return "somebody"
        case "stopped":
            return "stalled"
        case "forfeited":
            return "won"
        case "best-of":
            return "session"
        case "round":
            return "daily"
        case str() if set(value) <= set("0123456789abcdef"):
            return ("1" if value[0] == "0" else "0") + value[1:]
        case str():
            return value + "x"
        case list():
            return value[:-1]
    raise AssertionError(value)


def with_leaf(path: Path_, value: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_json(FULL))
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


LEAVES = [
    (path, value)
    for path, value in leaves(json.loads(to_json(FULL)))
    if path not in (("digest",), ("format",)) and not isinstance(value, list)
]
LISTS = [("seats",), ("moves",), ("deal", "nonces"), ("deal", "past", "moves")]


@pytest.mark.parametrize(("path", "value"), LEAVES, ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else "")
def test_any_one_field_altered_changes_the_digest(path: Path_, value: Any) -> None:
    other = from_json(json.dumps(with_leaf(path, altered(value))))
    assert other != FULL
    assert digest(other) != other.digest


@pytest.mark.parametrize("path", LISTS, ids=lambda path: ".".join(path))
def test_an_item_lost_or_out_of_order_changes_the_digest(path: Path_) -> None:
    value: Any = json.loads(to_json(FULL))
    for step in path:
        value = value[step]
    for changed in (value[:-1], value[1:], [*value, value[0]], value[::-1]):
        other = from_json(json.dumps(with_leaf(path, changed)))
        assert digest(other) != other.digest


def test_every_field_of_the_record_was_walked() -> None:
    walked = {tuple(step for step in path if isinstance(step, str)) for path, _ in LEAVES}
    fields: set[tuple[str, ...]] = {(name,) for name in Record.__struct_fields__}
    fields |= {("deal", name) for name in DealRecord.__struct_fields__}
    fields |= {("series", name) for name in SeriesRecord.__struct_fields__}
    fields |= {("deal", "shared", name) for name in SharedDeal.__struct_fields__}
    fields |= {("deal", "past", name) for name in PastPosition.__struct_fields__}
    assert {("digest",), ("format",), ("deal",), ("deal", "shared"), ("deal", "past"), ("series",)} == fields - walked - {("seats",)}


# ---- saving and reading


def test_a_saved_record_is_read_back_the_same() -> None:
    assert from_json(to_json(RECORD)) == RECORD
    assert to_json(RECORD) + "\n" == SAVED


def test_the_layout_and_the_order_of_keys_do_not_matter() -> None:
    shuffled = json.dumps(dict(reversed(json.loads(SAVED).items())), indent=4, ensure_ascii=True)
    assert from_json(shuffled) == from_json(shuffled.encode()) == RECORD


def test_fields_of_a_later_release_are_ignored() -> None:
    assert from_json(json.dumps({**json.loads(SAVED), "weather": "rain"})) == RECORD


@pytest.mark.parametrize("newer", [FORMAT + 1, 2**31])
def test_a_newer_format_is_told_by_its_number(newer: int) -> None:
    with pytest.raises(BadRecord, match=rf"^record format {newer} is newer than this program reads \({FORMAT}\); update carpet-race$"):
        from_json(json.dumps(with_leaf(("format",), newer)))


def test_a_newer_format_is_told_also_when_nothing_else_can_be_read() -> None:
    with pytest.raises(BadRecord, match="format 2 is newer"):
        from_json('{"format": 2, "laps": "many", "moves": 5}')


@pytest.mark.parametrize("number", [0, -1, 1.5, "1", None])
def test_a_format_is_a_number_from_1_up(number: Any) -> None:
    with pytest.raises(BadRecord, match=r"^not a record of a race: .*\$\.format"):
        from_json(json.dumps(with_leaf(("format",), number)))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("deal", "secret"), "00", "$.deal.secret"),
        (("deal", "secret"), "g" * 64, "$.deal.secret"),
        (("deal", "secret"), "0" * 64 + "\n", "$.deal.secret"),
        (("deal", "seed"), "A" * 64, "$.deal.seed"),
        (("deal", "nonces", 1), "0" * 31, "$.deal.nonces[1]"),
        (("deal", "nonces", 0), "0" * 32 + "\n", "$.deal.nonces[0]"),
        (("deal", "k"), -1, "$.deal.k"),
        (("deal", "k"), 2**32, "$.deal.k"),
        (("seats", 0, "state"), "asleep", "$.seats[0].state"),
        (("seats", 1, "place"), "first", "$.seats[1].place"),
        (("moves", 2, 0), 8, "$.moves[2][0]"),
        (("moves", 0), [0, "a1", 1], "$.moves[0]"),
        (("moves", 0), {"seat": 0}, "$.moves[0]"),
        (("room",), 5, "$.room"),
    ],
    ids=lambda part: part if isinstance(part, str) and part.startswith("$") else "",
)
def test_what_is_no_record_is_told_by_its_field(path: Path_, value: Any, named: str) -> None:
    with pytest.raises(BadRecord, match="not a record of a race: ") as caught:
        from_json(json.dumps(with_leaf(path, value)))
    assert f"`{named}`" in str(caught.value)


@pytest.mark.parametrize("name", ["format", "rules", "deal", "seats", "moves"])
def test_a_missing_field_is_told(name: str) -> None:
    document = json.loads(SAVED)
    del document[name]
    with pytest.raises(BadRecord, match=f"missing required field `{name}`"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "7",
        "{",
        SAVED[:-5],
        b"\xff\xfe",
        b'{"format": 1, "software": "\xff"}',
        "[" * 100_000,
        '{"format": 1, "room": "\\ud800"}',
    ],
    ids=["nothing", "null", "list", "number", "open", "cut short", "not UTF-8", "not UTF-8 within", "deep", "lone surrogate"],
)
def test_what_is_no_document_is_no_record(text: str | bytes) -> None:
    with pytest.raises(BadRecord, match="not a record of a race: "):
        from_json(text)


@given(raw=st.binary(max_size=100))
def test_random_bytes_are_no_record(raw: bytes) -> None:
    with pytest.raises(BadRecord):
        from_json(raw)


def test_bad_records_are_value_errors() -> None:
    assert issubclass(BadRecord, ValueError)


# ---- the deal

SECRET = bytes(range(32))
NONCES = (b"a" * 16, b"b" * 16)


def random_deal(k: int = 0, *, winnable: bool = False) -> DealRecord:
    return DealRecord(
        name=None,
        commitment=commitment(SECRET).hex(),
        secret=SECRET.hex(),
        nonces=tuple(nonce.hex() for nonce in NONCES),
        winnable=winnable,
        k=k,
        seed=derive_seed(SECRET, NONCES, k).hex(),
    )


def named_deal(name: str = "friday") -> DealRecord:
    return replace(random_deal(), name=name, seed=named_seed(name).hex())


@pytest.mark.parametrize(
    "deal",
    [RECORD.deal, random_deal(), random_deal(0, winnable=True), random_deal(7, winnable=True), named_deal(), named_deal("Tapis n°1")],
)
def test_an_honest_deal_holds(deal: DealRecord) -> None:
    check_deal(deal)


OTHER = "0" * 64
BAD_SECRET = "the secret is not the one the server committed to: SHA-256(secret) differs from commitment"
BAD_K = "k is 0 unless only winnable deals were wanted: otherwise the host could choose among deals"
BAD_SEED = "the seed does not follow from secret, nonces and k"


@pytest.mark.parametrize(
    ("deal", "sentence"),
    [
        (replace(random_deal(), secret=OTHER), BAD_SECRET),
        (replace(random_deal(), commitment=OTHER), BAD_SECRET),
        (replace(named_deal(), secret=OTHER), BAD_SECRET),
        (replace(random_deal(), seed=OTHER), BAD_SEED),
        (replace(random_deal(winnable=True), k=1), BAD_SEED),
        (replace(random_deal(7, winnable=True), winnable=False), BAD_K),
        (replace(random_deal(), nonces=random_deal().nonces[::-1]), BAD_SEED),
        (replace(random_deal(), nonces=random_deal().nonces[:1]), BAD_SEED),
        (replace(random_deal(), nonces=("0" * 32, random_deal().nonces[1])), BAD_SEED),
        (replace(named_deal(), name=None), BAD_SEED),
        (replace(named_deal(), seed=OTHER), "the seed is not the one of that name"),
        (replace(named_deal(), name="Friday"), "the seed is not the one of that name"),
        (replace(random_deal(), name="friday"), "the seed is not the one of that name"),
        (replace(named_deal(), k=1), BAD_K),
        (replace(named_deal(), winnable=True), "a named deal is not chosen for being winnable"),
    ],
)
def test_a_deal_that_does_not_hold_is_told_in_one_sentence(deal: DealRecord, sentence: str) -> None:
    with pytest.raises(BadRecord) as caught:
        check_deal(deal)
    assert str(caught.value) == sentence


def test_the_nonces_of_a_named_deal_take_no_part() -> None:
    check_deal(replace(named_deal(), nonces=()))


def test_a_house_bot_whose_nonce_the_host_could_have_drawn_again_is_refused() -> None:
    record = from_json(SAVED)
    human, other = record.seats
    with_bot = replace(record, seats=(human, replace(other, bot="random")))
    with pytest.raises(BadRecord, match="seat 2: a house bot's nonce is 00"):
        check_nonces(with_bot)
    zero = replace(record.deal, nonces=(record.deal.nonces[0], "0" * 32))
    check_nonces(replace(with_bot, deal=zero))


def test_every_seat_has_one_nonce() -> None:
    record = from_json(SAVED)
    with pytest.raises(BadRecord, match="1 nonces for 2 seats"):
        check_nonces(replace(record, deal=replace(record.deal, nonces=record.deal.nonces[:1])))
