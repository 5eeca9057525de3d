"""Searches the one game of the Carpet family that is not a game of gaps: turning only when stuck, with gaps refilled at once.

Owns what tells its positions apart and which moves need not be tried. Must not know how they are searched (tree.py).

*Which slot a card lies in does not matter*, nor which of two slots is empty. So a position is identified by its sets of cards, the order
of waste and stock, and whether a gap is pending.

*With no redeal left, a carpet card c that can go home may be sent home before anything else is tried.* The stock cannot be turned until c
has gone. So a line either ends before c goes, and then brings home no more than if c had gone first; or it plays c after other moves to
the foundations, each with its refill. Then c can be moved to the front of these, one step at a time:
- before another carpet card: the two are of different suits. The first refill, whatever its source, now fills c's slot, and the second
  the other card's; it does not matter which is which;
- before the waste's top card: c's slot is refilled with that card, which then goes home from the carpet, and the slot is refilled from
  where c's refill came. The same cards are home, and the same cards came from waste and stock.
Under Refill.WASTE_FIRST this leaves nothing to choose: without redeals, such a deal is won or lost when it is dealt, however it is played.
With a redeal left, redealing before c goes home is a choice too, and every move is tried.
"""

from collections.abc import Hashable, Sequence

from server.rules.carpet import CarpetPosition, Refill
from server.rules.moves import REDEAL, STOCK, WASTE
from server.rules.position import Position
from server.solver.solution import Budget, Found
from server.solver.tree import search_tree


def search_carpet_tree(position: CarpetPosition, budget: Budget) -> Found:
    if position.rules.refill is Refill.WASTE_FIRST and not position.redeals_left:
        return _play_on(position, budget)
    return search_tree(position, budget, key=_key, choices=_choices, promise=lambda position: position.home)


def _play_on(position: CarpetPosition, budget: Budget) -> Found:
    """Play the only line worth looking at to its end."""
    line: list[str] = []
    while budget.spend():
        moves = _choices(position)
        if not moves:
            return Found(position.home, tuple(line), position.is_won, exact=True)
        line.append(moves[0])
        position = position.play_unchecked(moves[0])
    return Found(position.home, tuple(line), won=False, exact=False)


def _key(position: Position) -> Hashable:
    on_carpet = frozenset(pile[0] for pile in position.piles.values() if pile)
    return on_carpet, position.waste, position.stock, position.pending is not None, position.redeals_left


def _choices(position: Position) -> Sequence[str]:
    moves = position.legal_moves()
    if not position.redeals_left and position.pending is None and moves and moves[0] not in (REDEAL, STOCK, WASTE):
        # Slots come first in ASCII order: this is a carpet card that goes home.
        return moves[:1]
    return moves
