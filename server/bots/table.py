"""A bot's model of a carpet table, small and quick to play out; and the simple rule by which it is played out.

Owns how a view becomes such a table, the rule, and which cards the view does not show.
Must not know a position: all of it follows from what a player sees.

One model serves all rule sets in which a gap can wait. A playable card left on the carpet is as good as a gap, since it can be played at
any time to make room. And turning the next stock card, then laying it into a gap, is never worse than filling the gap with it unseen. So
carpet cards that can go home count as home and their slots as gaps, and one question is left between two turns: how many cards from the top
of the waste to lay into gaps.

A card is a number here: 16 times its suit plus its place in the suit (Ace 0), so that the number after a King is no card.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from protocol.cards import DECK_SIZE, SUIT_SIZE, SUITS, fresh_deck, parse_card
from protocol.views import View

Code: TypeAlias = int

_STRIDE: Final = 16
_CODES: Final[tuple[Code, ...]] = tuple(card + card // SUIT_SIZE * (_STRIDE - SUIT_SIZE) for card in fresh_deck())


def code(text: str) -> Code:
    return _CODES[parse_card(text)]


class Table:
    """Carpet, waste and foundations; never the stock, whose order is unknown here. Always settled: nothing can go home."""

    __slots__ = ("carpet", "gaps", "wanted", "waste")

    def __init__(self, carpet: bytearray, gaps: int, wanted: list[Code], waste: list[Code]) -> None:
        self.carpet = carpet
        """1 at the code of each card on the carpet; entries below `wanted` are stale."""
        self.gaps = gaps
        self.wanted = wanted
        """By suit, the card that the foundation takes next."""
        self.waste = waste
        for suit in range(len(SUITS)):
            self._settle_suit(suit)
        self._settle_waste()

    @classmethod
    def of(cls, view: View) -> Table:
        carpet = bytearray(_STRIDE * len(SUITS))
        gaps = 0
        for pile in view.piles.values():
            if pile:
                carpet[code(pile[-1])] = 1
            else:
                gaps += 1
        wanted = [_STRIDE * index + view.foundations[suit] for index, suit in enumerate(SUITS)]
        return cls(carpet, gaps, wanted, [code(card) for card in view.waste])

    @property
    def home(self) -> int:
        return _home(self.wanted)

    @property
    def can_fill(self) -> bool:
        return self.gaps > 0 and bool(self.waste)

    def copy(self) -> Table:
        return Table(self.carpet[:], self.gaps, self.wanted[:], self.waste[:])

    def filled(self) -> Table:
        """The table after the waste's top card has gone into a gap."""
        table = self.copy()
        table._fill(table.waste.pop())
        return table

    def filled_with(self, card: Code) -> Table:
        """The table after a card from elsewhere, neither carpet nor waste, has gone into a gap."""
        table = self.copy()
        table._fill(card)
        return table

    def play_out(self, order: Sequence[Code]) -> int:
        """Cards home at the end if the stock comes in this order and gaps are filled by the simple rule. Leaves the table as it is.

        The rule: the waste's top card goes into a gap if the cards that must go home before it are at most one more than there are gaps.
        """
        table = _play(self, order)
        return _drain(table)

    def play_out_redealing(self, order: Sequence[Code], redeals: int, priority: Sequence[int]) -> int:
        """The same with redeals left: each sorts the waste by the priority of the cards' codes."""
        table = _play(self, order)
        for _ in range(redeals):
            if _drain(table) == DECK_SIZE:
                break
            # Redeal before filling the gaps regardless of the rule: they are worth more with a whole stock to come.
            table = _play(Table(table.carpet, table.gaps, table.wanted, []), sorted(table.waste, key=priority.__getitem__))
        return _drain(table)

    def _fill(self, card: Code) -> None:
        self.carpet[card] = 1
        self.gaps -= 1
        self._settle_suit(card // _STRIDE)
        self._settle_waste()

    def _settle_suit(self, suit: int) -> None:
        card = self.wanted[suit]
        while card < _STRIDE * suit + SUIT_SIZE and self.carpet[card]:
            card += 1
            self.gaps += 1
        self.wanted[suit] = card

    def _settle_waste(self) -> None:
        while self.waste and self.waste[-1] == self.wanted[self.waste[-1] // _STRIDE]:
            suit = self.waste.pop() // _STRIDE
            self.wanted[suit] += 1
            self._settle_suit(suit)


def _home(wanted: list[Code]) -> int:
    return sum(wanted) - _STRIDE * sum(range(len(SUITS)))


def _play(table: Table, order: Sequence[Code]) -> Table:
    """The table after all of `order` has been turned. The bots' hot loop: only local variables, and no calls but a list's methods."""
    carpet, gaps, wanted, waste = table.carpet[:], table.gaps, table.wanted[:], table.waste[:]
    for turned in order:
        card = turned
        while True:
            missing = card - wanted[card >> 4]
            if not missing:
                suit = card >> 4
                card += 1
                while carpet[card]:
                    card += 1
                    gaps += 1
                wanted[suit] = card
            elif gaps and missing <= gaps + 1:
                carpet[card] = 1
                gaps -= 1
            else:
                waste.append(card)
                break
            if not waste:
                break
            card = waste.pop()
    played = Table.__new__(Table)
    played.carpet, played.gaps, played.wanted, played.waste = carpet, gaps, wanted, waste
    return played


def _drain(table: Table) -> int:
    """Cards home after laying the waste into the gaps for as long as there are any. Leaves the table as it is."""
    waste, gaps = table.waste, table.gaps
    if not waste:
        return _home(table.wanted)
    carpet, wanted = table.carpet[:], table.wanted[:]
    for card in reversed(waste):
        suit = card >> 4
        if card == wanted[suit]:
            card += 1
            while carpet[card]:
                card += 1
                gaps += 1
            wanted[suit] = card
        elif gaps:
            carpet[card] = 1
            gaps -= 1
        else:
            break
    return _home(wanted)


def unseen(view: View) -> tuple[Code, ...]:
    """The cards that the view does not show, in the order of a fresh deck, which says nothing about where they lie."""
    seen = {code(card) for pile in view.piles.values() for card in pile}
    seen.update(code(card) for card in (*view.waste, *view.stock_next))
    for index, suit in enumerate(SUITS):
        seen.update(range(_STRIDE * index, _STRIDE * index + view.foundations[suit]))
    return tuple(card for card in _CODES if card not in seen)
