"""The strategy that thinks ahead over cards it cannot see, for the rule sets of the carpet family in which a gap can wait.

Owns how a table's one question (server/bots/table.py) is answered, and how the answer becomes a move. `Deep` orders the unseen cards at
random many times, plays each order out by the simple rule after each possible answer, and takes the answer that wins most often. All
answers are tried on the same orders, so that none is luckier than another.
"""

from typing import Final

from protocol.cards import DECK_SIZE
from protocol.shuffle import shuffle
from protocol.views import View
from server.bots.plain import Greedy, seed_bytes
from server.bots.strategy import Strategy
from server.bots.table import Code, Table, code, unseen
from server.rules.carpet import CarpetRules, Refill, Turning
from server.rules.moves import REDEAL, STOCK, WASTE
from server.rules.position import RuleSet

SAMPLES: Final = 160

_WIN: Final = 1000
"""What a win counts for, in cards home: so much that cards home only decide between answers that win equally often."""
_CODES: Final = 64


def _plays_ahead(rules: CarpetRules) -> bool:
    """Whether there is something to think about that a table can model: gaps can wait, and the stock can be turned at any time.

    If the waste fills a gap at once, there is nothing to choose: a card that can go home brings the next card of the waste into play
    wherever it lies, so all orders lead to the same result.
    """
    return rules.refill is not Refill.WASTE_FIRST and rules.turning is Turning.ANY_TIME


def deep(rules: RuleSet, seed: int, *, samples: int = SAMPLES) -> Strategy:
    """The strategy for a rule set; Greedy if there is nothing to think about. samples: stock orders tried per decision, at least 1."""
    if isinstance(rules, CarpetRules) and _plays_ahead(rules):
        return Deep(seed, holds_back=rules.refill is Refill.CHOICE, samples=samples)
    return Greedy(seed)


class Deep:
    """Plays what cannot be wrong, and thinks when a gap can be filled from the waste: see the module.

    Stateless: the same view and seed give the same move, however the view was reached.
    """

    def __init__(self, seed: int, *, holds_back: bool, samples: int = SAMPLES) -> None:
        """holds_back: a playable carpet card stays until its slot is needed, because a gap would be filled at once."""
        if samples < 1:
            raise ValueError(f"at least one sample, not {samples!r}")
        self._holds_back = holds_back
        self._seed = seed_bytes(seed)
        self._samples = samples

    def choose(self, view: View) -> str:
        moves = view.moves
        if len(moves) == 1:
            return moves[0]
        if WASTE in moves:
            return WASTE
        if view.pending is not None:
            source = WASTE if self._fills(view) else STOCK
            return f"{source}:{view.pending}"
        homeward = [move for move in moves if move in view.piles]
        if homeward and not self._holds_back:
            return homeward[0]
        fillings = homeward or [move for move in moves if move.startswith(f"{WASTE}:")]
        onward = next((move for move in (STOCK, REDEAL) if move in moves), None)
        if onward is None:
            return fillings[0]
        if not fillings or not view.waste:
            return onward
        return fillings[0] if self._fills(view) else onward

    def _fills(self, view: View) -> bool:
        table = Table.of(view)
        # The waste's top can go home as soon as the carpet's cards have, so it takes up a gap only briefly.
        goes_home = len(table.waste) < len(view.waste)
        return goes_home or self.fills(table, view)

    def fills(self, table: Table, view: View) -> bool:
        """Whether to lay the waste's top into a gap (both exist) or to go on: turn, redeal, or fill the pending gap unseen."""
        answers = [table]
        while answers[-1].can_fill:
            answers.append(answers[-1].filled())
        if answers[-1].home == DECK_SIZE:
            return True
        scores = [0] * len(answers)
        shown = tuple(code(card) for card in view.stock_next)
        hidden = unseen(view)
        for sample in range(self._samples):
            name = b"%d:%d:%d" % (view.stock, view.home, sample)
            order = shown + shuffle(hidden, self._seed, b"deep:" + name)
            priority = shuffle(range(_CODES), self._seed, b"deep redeal:" + name) if view.redeals else ()
            for number, answer in enumerate(answers):
                home = _try(answer, order, priority, view, blind=number == 0 and view.pending is not None)
                scores[number] += home if home < DECK_SIZE else home + _WIN
        return max(scores[1:]) > scores[0]


def _try(answer: Table, order: tuple[Code, ...], priority: tuple[int, ...], view: View, *, blind: bool) -> int:
    """Cards home at the end if the stock comes in this order. blind: its first card goes into a gap, whatever it is."""
    if blind:
        answer = answer.filled_with(order[0])
        order = order[1:]
    if not view.redeals:
        return answer.play_out(order)
    if order or blind:
        return answer.play_out_redealing(order, view.redeals, priority)
    # The stock is used up, so what comes next is the redeal itself.
    bare = Table(answer.carpet[:], answer.gaps, answer.wanted[:], [])
    return bare.play_out_redealing(sorted(answer.waste, key=priority.__getitem__), view.redeals - 1, priority)
