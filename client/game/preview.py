"""A position as it will look after a move, as far as its player can know: a card that the server has not shown yet is a back. Pure.

For display only, until the answer comes: only the server says what can be played next.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.game.moves import destination, source, target, top_card
from protocol.cards import FACE_DOWN
from protocol.views import View


def preview(view: View, move: str) -> View:
    """The view after one of its legal moves. Of its moves, only those that do not touch the same places remain."""
    place, end = source(move), target(move)
    if move == "r":
        return replace(view, waste=(), stock=len(view.waste), redeals=max(view.redeals - 1, 0), moves=())
    card = FACE_DOWN if place == "s" else top_card(view, place)
    if not card:
        return view
    piles, waste, foundations, home = dict(view.piles), view.waste, dict(view.foundations), view.home
    if place == "w":
        waste = waste[:-1]
    elif place in piles:
        piles[place] = piles[place][:-1]
    if end in piles:
        piles[end] = (*piles[end], card)
    elif end == "w" or (place == "s" and not end):
        waste = (*waste, card)
    elif (foundation := destination(view, move)) in foundations:
        foundations[foundation] += 1
        home += 1
    return replace(
        view,
        piles=piles,
        waste=waste,
        stock=max(view.stock - (place == "s"), 0),
        stock_next=view.stock_next[1:] if place == "s" else view.stock_next,
        foundations=foundations,
        home=home,
        pending=None if end and end == view.pending else view.pending,
        moves=tuple(each for each in view.moves if source(each) != place and not (end and target(each) == end)),
    )
