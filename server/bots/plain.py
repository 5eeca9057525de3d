"""Two strategies that play any rule set from the text of its moves alone: one without a plan, one without foresight.

Must not know any rule set, nor what a family of them allows: `view.moves` says that.
"""

from typing import Final

from protocol.cards import SUIT_SIZE, SUITS, Card, parse_card, rank
from protocol.shuffle import SEED_BYTES, WordStream
from protocol.views import View
from server.rules.moves import WASTE, Move, parse_move

_RESERVE: Final = "p"
_NEVER: Final = 2 * SUIT_SIZE


def seed_bytes(seed: int) -> bytes:
    """Turn a strategy's seed, which may be any int, into the seed of a word stream."""
    return (seed % (1 << 8 * SEED_BYTES)).to_bytes(SEED_BYTES, "big")


class RandomMoves:
    """Plays any legal move, at random."""

    def __init__(self, seed: int) -> None:
        self._words = WordStream(seed_bytes(seed), b"random")

    def choose(self, view: View) -> str:
        return view.moves[self._words.below(len(view.moves))]


class Greedy:
    """Sends home whatever can go; otherwise fills, builds, turns or redeals, in this order. Never looks ahead."""

    def __init__(self, seed: int) -> None:
        self._words = WordStream(seed_bytes(seed), b"greedy")

    def choose(self, view: View) -> str:
        if len(view.moves) == 1:
            return view.moves[0]
        moves = {text: parse_move(text) for text in view.moves}
        urgency = {text: _urgency(move) for text, move in moves.items()}
        first = min(urgency.values())
        equals = [text for text in view.moves if urgency[text] == first]
        if first == _SHUFFLING_ABOUT:
            # Cards could go round in circles here, and only chance breaks a circle.
            return equals[self._words.below(len(equals))]
        if len(equals) > 1 and moves[equals[0]].target is not None:
            return max(equals, key=lambda text: _room(view, moves[text].target))
        return equals[0]


_SHUFFLING_ABOUT: Final = 7


def _urgency(move: Move) -> int:
    """How early to make this kind of move: 0 is first."""
    match move:
        case Move(source="w", target=None):
            return 0
        case _ if move.to_foundation:
            return 1
        case Move(source="w"):
            return 2
        case Move(source="s", target=str()):
            return 3
        case Move(source=source, target=str()) if not source.startswith(_RESERVE):
            return 4
        case Move(source="s"):
            return 5
        case Move(source="r"):
            return 6
        case _:
            return _SHUFFLING_ABOUT


def _room(view: View, target: str | None) -> int:
    """How long the pile at the target can be covered: until the first of its cards is wanted."""
    if target is None or target == WASTE:
        return 0
    return min((_wait(view, parse_card(card)) for card in view.piles.get(target, ())), default=_NEVER)


def _wait(view: View, card: Card) -> int:
    """How many cards must go home before this one can."""
    waits = []
    for foundation, height in view.foundations.items():
        if foundation[0] == SUITS[card // SUIT_SIZE]:
            place = SUIT_SIZE - rank(card) if foundation.endswith("-") else rank(card) - 1
            if place >= height:
                waits.append(place - height)
    return min(waits, default=_NEVER)
