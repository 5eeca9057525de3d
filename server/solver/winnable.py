"""Finds the first seed of a race whose deal can be won: searched by a server before a race, and by anybody who checks its record.

Owns the budget that decides. Must not know races, nor when or where it is run.

The result depends only on the arguments. Under the one-deck rule sets the search is exhaustive, so every program that plays by the rules
finds the same number. Under the others it is the first number that this particular search wins. So if the search or its budget changes,
older records fail this check (`FalseNumber` says so).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from protocol.fairness import derive_seed
from server.rules.catalogue import rule_set
from server.rules.position import Family
from server.solver.solve import solve

BUDGET: Final[Mapping[Family, int]] = MappingProxyType({Family.CARPET: 1_000_000, Family.TWIN: 5_000, Family.QUILT: 5_000})
"""Positions looked at for each number. Part of what a record means: see protocol/README.md, "Fair deals"."""

MAX_SEEDS: Final = 64
"""Numbers tried for a race. If one deal in three is won, all of them fail once in 10¹¹ races."""


class NoneWinnable(Exception):
    """None of the MAX_SEEDS numbers gives a deal that the search wins."""


class FalseNumber(ValueError):
    """The number is not the first that gives a winnable deal. Says why."""


def first_winnable(rules: str, secret: bytes, nonces: Sequence[bytes]) -> int:
    """The first k whose deal the search wins within BUDGET. Raises NoneWinnable, UnknownRules, or ValueError for bytes of wrong length."""
    for k in range(MAX_SEEDS):
        if _is_won(rules, derive_seed(secret, nonces, k)):
            return k
    raise NoneWinnable(f"none of {MAX_SEEDS} deals of {rules} was won")


def check_first_winnable(rules: str, secret: bytes, nonces: Sequence[bytes], k: int) -> None:
    """Raise FalseNumber unless k is what first_winnable finds."""
    if k >= MAX_SEEDS:
        raise FalseNumber(f"k is {k}, but no more than {MAX_SEEDS} numbers are tried")
    row = rule_set(rules)
    for number in range(k + 1):
        won = _is_won(rules, derive_seed(secret, nonces, number))
        if won and number < k:
            raise FalseNumber(f"the deal of k = {number} can be won, so that is the number and not {k}{_caution(row.family)}")
        if not won and number == k:
            raise FalseNumber(f"the deal of k = {k} {'cannot be' if row.family is Family.CARPET else 'is not'} won{_caution(row.family)}")


def _is_won(rules: str, seed: bytes) -> bool:
    row = rule_set(rules)
    return solve(row.deal(seed), budget=BUDGET[row.family], line=False).outcome == "won"


def _caution(family: Family) -> str:
    return "" if family is Family.CARPET else " (by the search of this version; another version's may find more or less)"
