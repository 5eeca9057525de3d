"""The error table: complete, stable in form, and printable."""

from __future__ import annotations

import re

import pytest

from protocol.errors import ERRORS, CloseCode, ErrorCode, Fault, Refusal


def test_every_code_has_a_row_in_the_order_of_the_codes() -> None:
    assert list(ERRORS) == list(ErrorCode)


@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_is_an_area_and_a_condition(code: ErrorCode) -> None:
    assert re.fullmatch(r"(wire|hello|server|room|race|run|watch|tournament)/[a-z]+(-[a-z]+)*", code)


@pytest.mark.parametrize("code", ErrorCode)
def test_a_sentence_is_one_line_for_a_person(code: ErrorCode) -> None:
    sentence = ERRORS[code].sentence
    assert re.fullmatch(r"[A-Z][ -~]{8,98}[.]", sentence)
    assert "|" not in sentence, "it would break the table of the specification"


def test_sentences_tell_the_codes_apart() -> None:
    assert len({kind.sentence for kind in ERRORS.values()}) == len(ERRORS)


def test_what_the_server_has_to_answer_for_is_its_own_fault() -> None:
    for code, kind in ERRORS.items():
        assert (kind.fault is Fault.SERVER) == code.startswith("server/")
        if code.startswith("wire/"):
            assert kind.fault is Fault.CLIENT


def test_close_codes_are_private_ones_and_different() -> None:
    assert all(4000 <= code <= 4999 for code in CloseCode)
    assert len(set(CloseCode)) == len(CloseCode.__members__)


def test_a_refusal_reads_as_its_sentence() -> None:
    refusal = Refusal(ErrorCode.ILLEGAL_MOVE)
    assert str(refusal) == refusal.sentence == "That move is not legal in this position."
    assert (refusal.fault, refusal.detail, refusal.path) == (Fault.CLIENT, "", "")


def test_a_refusal_has_its_detail_behind_the_sentence() -> None:
    refusal = Refusal(ErrorCode.STALE_PLY, "the next ply is 3, not 2", path="$.ply")
    assert str(refusal) == "That ply has been played already; here is the current view. (the next ply is 3, not 2)"
    assert (refusal.fault, refusal.path) == (Fault.STATE, "$.ply")
    assert "race/stale-ply" in repr(refusal)
