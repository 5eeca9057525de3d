"""A position as it will look when a move has been played, as far as its player can know: what the server has not said yet is a back. Pure.

For the eye alone, until the answer is there: what can be played then only the server says.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.game.moves import destination, source, target, top_card
from protocol.cards import FACE_DOWN
from protocol.views import View


def preview(view: View, move: str) -> View:
    """The view behind a legal move of it; of its moves those that the move leaves alone."""
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
