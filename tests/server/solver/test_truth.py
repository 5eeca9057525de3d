"""The solver against an exhaustive search, on thousands of small deals of every rule combination that the family allows."""

from random import Random

import pytest

from server.rules.carpet import CarpetRules
from server.solver.solve import best_home, solve
from tests.server.solver.small_deals import ALL_COLUMNS, played, small_deal, truth, walked

DEALS_A_ROW = 200
MOST_CARDS = (11, 8, 7)
"""By redeals: what can be searched to the end in a few milliseconds."""


def label(rules: CarpetRules) -> str:
    return f"{rules.refill.name}-{rules.turning.name}-{rules.redeals}".lower().replace("_", "-")


@pytest.mark.slow
@pytest.mark.parametrize("rules", ALL_COLUMNS, ids=label)
def test_solver_and_exhaustion_agree(rules: CarpetRules) -> None:
    choose = Random(label(rules))
    outcomes = {"won": 0, "lost": 0}
    for _ in range(DEALS_A_ROW):
        position = small_deal(rules, choose, cards=choose.randint(5, MOST_CARDS[rules.redeals]))
        position = walked(position, choose, choose.choice((0, 0, 1, 2, 5)))
        known = truth(position)
        solution, best = solve(position), best_home(position)
        assert (solution.outcome, solution.exact) == ("won" if known.won else "lost", True), position
        assert (best.home, best.exact) == (known.home, True), position
        assert played(position, solution.moves).is_won == known.won
        assert played(position, best.moves).home == known.home
        outcomes[solution.outcome] += 1
    assert min(outcomes.values()) > DEALS_A_ROW // 50
