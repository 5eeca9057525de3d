"""Can a position be won, and how many cards can be brought home, when every card is known, even the stock's order and later redeals?

Owns the choice of the search for a position and what its result means. Must not know how any search works.

A line always replays. For the Carpet family the answer is exact, whatever the columns of the rule set, unless the budget is spent. For the
other families the search is as good as its budget: a win is certain, a loss is reported only if every position was looked at, and anything
else is unknown.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from server.rules.carpet import CarpetPosition, Refill
from server.rules.position import Family, Position
from server.solver.carpet_tree import search_carpet_tree
from server.solver.gap_line import say
from server.solver.gap_search import search_gaps, trimmed
from server.solver.gaps import GapGame, is_game_of_gaps
from server.solver.solution import BestHome, Budget, Found, Solution
from server.solver.tree import search_tree

USUAL_BUDGET: Final[Mapping[Family, int]] = MappingProxyType({Family.CARPET: 1_000_000, Family.TWIN: 5_000, Family.QUILT: 5_000})
"""Positions that a search may look at by default: one second or a few. Those of Carpet are a hundred times cheaper."""


def solve(position: Position, *, budget: int | None = None, line: bool = True) -> Solution:
    """Whether a win can be reached from a position, and by which moves; under free refill, without needless fills.

    budget: positions to look at, USUAL_BUDGET by default. line: False if the moves are not wanted, which decides a carpet in a third of
    the time.
    """
    spent = _budget(position, budget)
    found = _search(position, spent, line=line)
    if found.won:
        return Solution("won", spent.nodes, found.moves if line else (), exact=True)
    return Solution("lost" if found.exact else "unknown", spent.nodes, (), exact=found.exact)


def best_home(position: Position, *, budget: int | None = None) -> BestHome:
    """The most cards that can be brought home from a position: all of them if it can be won. budget: as for solve."""
    spent = _budget(position, budget)
    found = _search(position, spent, line=True)
    return BestHome(found.home, spent.nodes, found.moves, found.exact)


def _budget(position: Position, budget: int | None) -> Budget:
    return Budget(USUAL_BUDGET[position.rules.family] if budget is None else budget)


def _search(position: Position, budget: Budget, *, line: bool) -> Found:
    if position.is_won:
        return Found(position.home, (), won=True, exact=True)
    if not isinstance(position, CarpetPosition):
        return search_tree(position, budget)
    if is_game_of_gaps(position):
        return _search_gaps(position, budget, line=line)
    if is_game_of_gaps(position, once_refilled=True):
        return _search_pending(position, budget, line=line)
    return search_carpet_tree(position, budget)


def _search_pending(position: CarpetPosition, budget: Budget, *, line: bool) -> Found:
    """Refill the pending gap, which the game of gaps needs first, in the better of the possible ways."""
    best: Found | None = None
    exact = True
    for move in position.legal_moves():
        found = _search_gaps(position.play_unchecked(move), budget, line=line)
        exact = exact and found.exact
        if best is None or found.home > best.home:
            best = Found(found.home, (move, *found.moves), found.won, exact=True)
        if found.won:
            return best
    assert best is not None, "a pending gap can be refilled"
    return Found(best.home, best.moves, won=False, exact=exact)


def _search_gaps(position: CarpetPosition, budget: Budget, *, line: bool) -> Found:
    game = GapGame(position)
    found = search_gaps(game, budget)
    plan = found.plan
    # Under other refills a slot may be refilled without a move of its own, so a line with fewer fills is seldom shorter.
    if line and found.won and position.rules.refill is Refill.FREE:
        plan = trimmed(game, plan)
    return Found(found.home, say(position, plan) if line else (), found.won, found.exact)
