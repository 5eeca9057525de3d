"""Which cards of a board lie face down for those who watch it. Pure.

The rule: no board shown to anybody tells of a card that a seat still racing on the same deal has not itself seen. Such a card lies face
down; the rest of the board is shown as it is. But a move to a place that takes only some cards tells of the card, although it lay face
down: a foundation says by its height which one it was. The board that such a move leads to is not shown at all (`CardTurns.told`).

That holds for boards alone. Everybody is told at once which foundation has grown, opponents too, so whoever sees a board besides can
sometimes name a card that lies face down there. Only a race without the opponents' foundations would prevent that.

Everybody who races on a deal turns its stock in the same order. So a card is told apart from its double by its *turn*: how far the stock
had been turned when the card came to light, 0 for what lay open at the start. A player who has turned the stock that far has seen the
card. Turns go on counting after a redeal that shuffles, since nobody has seen the new order; turning the waste over brings nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from protocol.cards import FACE_DOWN
from protocol.views import View
from server.race.view import see
from server.rules.moves import REDEAL, WASTE, parse_move
from server.rules.position import Position

Turn: TypeAlias = int

NOTHING_SEEN: Final[Turn] = -1

EVERYTHING_SEEN: Final[Turn] = 1_000_000
"""More than any stock has cards, however often it is dealt again."""

_ROUND: Final[Turn] = 1_000
"""The turns from one shuffled stock to the next; more than any stock has cards."""


@dataclass(frozen=True, slots=True)
class CardTurns:
    """The turn of every card of a position, laid out like its piles, waste and stock.

    told: the latest turn of a card of which a move has told: those that went home; where a card was built on another, both.
    """

    piles: Mapping[str, tuple[Turn, ...]]
    waste: tuple[Turn, ...]
    stock: tuple[Turn, ...]
    told: Turn = NOTHING_SEEN


def seen_by_player(position: Position) -> Turn:
    """How far the player of this position has seen the stock."""
    if _redealt(position) and not position.rules.reshuffles:
        return EVERYTHING_SEEN
    return _last_turn(position) - max(len(position.stock) - position.rules.visible_stock, 0)


def first_turns(position: Position) -> CardTurns:
    """The turns of a position from which a race starts: everybody who starts there has seen what lies open."""
    return CardTurns(
        piles={slot: (0,) * len(pile) for slot, pile in position.piles.items()},
        waste=(0,) * len(position.waste),
        stock=_stock_turns(position),
    )


def turns_after(turns: CardTurns, before: Position, move: str, after: Position) -> CardTurns:
    """The turns of the position that a legal move leads to. turns: those of the position before it."""
    if move == REDEAL:
        return CardTurns(turns.piles, (), _stock_turns(after) if after.rules.reshuffles else turns.waste, turns.told)
    source, target = (parsed := parse_move(move)).source, parsed.target
    drawn = len(before.stock) - len(after.stock)
    moved = list(zip(before.stock[:drawn], turns.stock[:drawn], strict=True))
    before_piles, after_piles = {**before.piles, WASTE: before.waste}, {**after.piles, WASTE: after.waste}
    piles = {**turns.piles, WASTE: turns.waste}
    changed = [slot for slot, cards in after_piles.items() if slot == source or cards != before_piles[slot]]
    for slot in changed:
        # The top card of the source has gone, even if its double has taken its place.
        cards = before_piles[slot][:-1] if slot == source else before_piles[slot]
        stayed = common_bottom(cards, after_piles[slot])
        moved += zip(before_piles[slot][stayed:], piles[slot][stayed:], strict=True)
        piles[slot] = piles[slot][:stayed]
    for slot in changed:
        for card in after_piles[slot][len(piles[slot]) :]:
            # If both copies of a card are on the move, take the one turned later: better to hide too much than too little.
            came = max(pair for pair in moved if pair[0] == card)
            moved.remove(came)
            piles[slot] = (*piles[slot], came[1])
    # What is left of those that moved has gone home. A gap takes any card; a card built on the waste follows the one below it.
    told = [turns.told, *(turn for _, turn in moved), *(piles[WASTE][-2:] if target == WASTE else ())]
    return CardTurns(waste=piles.pop(WASTE), piles=piles, stock=turns.stock[drawn:], told=max(told))


def see_face_down(position: Position, turns: CardTurns, seen: Turn) -> View:
    """What those who watch may see of a position. seen: how far every seat still racing on its deal has seen the stock.

    If a card lies face down no move is named, since a legal move can give the card away.
    """
    view = see(position)
    shown = turns.stock[: len(view.stock_next)]
    if all(turn <= seen for turns_of_pile in (*turns.piles.values(), turns.waste, shown) for turn in turns_of_pile):
        return view
    return msgspec.structs.replace(
        view,
        piles={slot: _covered(cards, turns.piles[slot], seen) for slot, cards in view.piles.items()},
        waste=_covered(view.waste, turns.waste, seen),
        stock_next=_covered(view.stock_next, shown, seen),
        moves=(),
    )


def _covered(cards: tuple[str, ...], turns: tuple[Turn, ...], seen: Turn) -> tuple[str, ...]:
    return tuple([card if turn <= seen else FACE_DOWN for card, turn in zip(cards, turns, strict=True)])


def _stock_turns(position: Position) -> tuple[Turn, ...]:
    last = _last_turn(position)
    return tuple(range(last - len(position.stock) + 1, last + 1))


def _last_turn(position: Position) -> Turn:
    """The turn of the last card of the stock."""
    return _ROUND * (1 + _redealt(position) if position.rules.reshuffles else 1)


def _redealt(position: Position) -> int:
    """How many redeals have been made."""
    return position.rules.redeals - position.redeals_left


def common_bottom(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    """How many cards, counted from the bottom, are the same."""
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length
