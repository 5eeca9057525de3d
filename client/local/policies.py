"""How a scripted player chooses moves: from the view alone, since a player has no more.

Pure. Each policy names one of the view's legal moves, or None if all that is left would only push cards about. Both play to a foundation
whatever fits. They differ in when they fill a gap from the waste, which digs into the waste but leaves a useless card on the carpet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from client.game.moves import goes_home, source, target
from protocol.cards import RANKS, SUIT_SIZE
from protocol.views import View

Choice: TypeAlias = Callable[[View], str | None]


class Policy(NamedTuple):
    """A named way to play. choose: the next move for a view; None to stop."""

    name: str
    explanation: str
    choose: Choice


def wanted_in(view: View, card: str) -> int:
    """How many cards of its suit go home until `card` does, itself included: 1 if it fits now. With two foundations, by the nearer one."""
    number, suit = RANKS.index(card[0]) + 1, card[1]
    if suit in view.foundations:
        return number - view.foundations[suit]
    up = number - view.foundations.get(f"{suit}+", 0)
    down = SUIT_SIZE + 1 - number - view.foundations.get(f"{suit}-", 0)
    return min((distance for distance in (up, down) if distance > 0), default=1)


def gaps(view: View) -> int:
    """How many slots are empty, including one that waits to be filled."""
    return sum(not pile for pile in view.piles.values())


def greedy(view: View) -> str | None:
    """Fills a gap from the waste if that card fits at once or next."""
    return _choose(view, lambda view: 2)


def steady(view: View) -> str | None:
    """Fills a gap from the waste if that card is wanted within 2 plus the number of gaps."""
    return _choose(view, lambda view: 2 + gaps(view))


POLICIES: Mapping[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("greedy", "plays what fits; fills a gap from the waste for a card that fits at once or next", greedy),
        Policy("steady", "plays what fits; fills a gap from the waste for a card wanted soon, the later the more gaps there are", steady),
    )
}


def _choose(view: View, reach: Callable[[View], int]) -> str | None:
    homeward = [move for move in view.moves if goes_home(move)]
    if homeward:
        # Slots before the waste: a card that leaves the carpet makes room.
        return min(homeward, key=lambda move: source(move) == "w")
    from_waste = [move for move in view.moves if source(move) == "w"]
    if from_waste and wanted_in(view, view.waste[-1]) <= reach(view):
        return _least_harm(view, from_waste)
    for move in view.moves:
        if source(move) == "s":  # turn, or fill the gap from the stock
            return move
    if from_waste:
        return _least_harm(view, from_waste)
    if "r" in view.moves:
        return "r"
    # Moves between reserves could go round in circles for ever.
    return next((move for move in view.moves if not (move.startswith("p") and target(move).startswith("p"))), None)


def _least_harm(view: View, moves: list[str]) -> str:
    """Of moves that put a card somewhere, the one that buries nothing, or else the one that buries what is wanted last."""

    def soonest_buried(move: str) -> int:
        pile = view.piles.get(target(move), ())
        return min((wanted_in(view, card) for card in pile), default=2 * SUIT_SIZE)

    return max(moves, key=soonest_buried)
