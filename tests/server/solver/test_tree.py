"""The search that knows only the Position port, on small Carpet deals seen through that port."""

from random import Random

import pytest

from server.rules.carpet import CarpetPosition, CarpetRules, Refill
from server.solver.solution import Budget
from server.solver.tree import search_tree, tidiness
from tests.server.rules.changed import replace
from tests.server.solver.small_deals import ALL_COLUMNS, CARPET, played, small_deal, truth, walked
from tests.server.solver.test_solve import ending
from tests.server.solver.test_truth import label


@pytest.mark.parametrize("rules", [row for row in ALL_COLUMNS if row.refill is not Refill.FREE], ids=label)
def test_a_tree_looked_at_to_the_end_is_a_proof(rules: CarpetRules) -> None:
    choose = Random(label(rules))
    for _ in range(40):
        position = walked(small_deal(rules, choose, cards=6), choose, choose.randint(0, 2))
        known = truth(position)
        found = search_tree(position, Budget(100_000))
        assert (found.won, found.home, found.exact) == (known.won, known.home, True)
        assert played(position, found.moves).home == found.home


def test_a_budget_that_is_spent_proves_nothing() -> None:
    position = CARPET.deal(bytes(32))
    found = search_tree(position, budget := Budget(50))
    assert (found.won, found.exact, budget.nodes) == (False, False, 50)
    assert found.home > position.home


def test_lines_stay_below_the_move_limit() -> None:
    position = ending("carpet", carpet="KS", stock="JS QS")
    limited = _with_limit(position, 3)
    found = search_tree(limited, Budget(1_000))
    assert (found.won, found.exact) == (False, False)
    assert search_tree(_with_limit(position, 6), Budget(1_000)).won


def test_cards_that_lie_on_sooner_ones_count_against_a_position() -> None:
    heights = (9, 13, 13, 13)
    above = ending("carpet", carpet="KS", waste="JS TS", stock="QS", heights=heights)
    under = ending("carpet", carpet="KS", waste="TS JS", stock="QS", heights=heights)
    assert tidiness(above) == tidiness(under) + 1


def _with_limit(position: CarpetPosition, limit: int) -> CarpetPosition:
    return replace(position, rules=replace(position.rules, move_limit=limit))
