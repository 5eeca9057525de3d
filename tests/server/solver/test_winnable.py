"""The first number whose deal can be won: found, and checkable by anybody who has the record."""

from __future__ import annotations

import pytest

from protocol.fairness import derive_seed
from server.rules.catalogue import RULE_SETS, UnknownRules, rule_set
from server.solver.solve import solve
from server.solver.winnable import BUDGET, MAX_SEEDS, FalseNumber, NoneWinnable, check_first_winnable, first_winnable

NONCES = (bytes(16), b"\x01" * 16)
WHIST = "carpet-whist"


def secret(number: int) -> bytes:
    return number.to_bytes(32, "big")


def won(rules: str, number: int, k: int) -> bool:
    return solve(rule_set(rules).deal(derive_seed(secret(number), NONCES, k)), budget=BUDGET[rule_set(rules).family]).outcome == "won"


LATE = next(number for number in range(100) if not any(won(WHIST, number, k) for k in range(2)))
"""A secret whose first two deals cannot be won."""


def test_the_first_deal_that_can_be_won_is_found_and_none_before_it_can() -> None:
    found = {number: first_winnable(WHIST, secret(number), NONCES) for number in (*range(12), LATE)}
    assert found[LATE] >= 2
    for number, k in found.items():
        assert [won(WHIST, number, earlier) for earlier in range(k + 1)] == [False] * k + [True]
        check_first_winnable(WHIST, secret(number), NONCES, k)


def test_the_same_is_found_again_and_another_for_other_nonces() -> None:
    assert first_winnable(WHIST, secret(LATE), NONCES) == first_winnable(WHIST, secret(LATE), list(NONCES))
    assert len({first_winnable(WHIST, secret(LATE), (bytes([n]) * 16,)) for n in range(8)}) > 1


def test_a_number_too_small_is_said_not_to_win() -> None:
    with pytest.raises(FalseNumber, match=r"^the deal of k = 0 cannot be won$"):
        check_first_winnable(WHIST, secret(LATE), NONCES, 0)


def test_a_number_too_great_has_passed_over_a_winnable_deal() -> None:
    k = first_winnable(WHIST, secret(LATE), NONCES)
    with pytest.raises(FalseNumber, match=rf"^the deal of k = {k} can be won, so that is the number and not {k + 1}$"):
        check_first_winnable(WHIST, secret(LATE), NONCES, k + 1)


def test_a_number_that_is_never_tried_is_not_searched_for() -> None:
    for k in (MAX_SEEDS, 2**32 - 1):
        with pytest.raises(FalseNumber, match="no more than 64 numbers"):
            check_first_winnable(WHIST, secret(0), NONCES, k)


def test_where_the_search_is_not_exhaustive_the_complaint_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.solver.winnable.BUDGET", dict.fromkeys(BUDGET, 5))
    with pytest.raises(FalseNumber, match="by the search of this version"):
        check_first_winnable("twenty", secret(0), NONCES, 0)


def test_a_search_without_a_win_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.solver.winnable.BUDGET", dict.fromkeys(BUDGET, 5))
    with pytest.raises(NoneWinnable, match="none of 64 deals of twenty was won"):
        first_winnable("twenty", secret(0), NONCES)


def test_rules_that_are_unknown_are_said_so() -> None:
    with pytest.raises(UnknownRules):
        first_winnable("chess", secret(0), NONCES)


def test_what_a_race_may_ask_for_is_a_column_of_the_catalogue() -> None:
    assert [row.id for row in RULE_SETS.values() if not row.solvable] == ["colorado", "crazy-quilt", "teppich"]
