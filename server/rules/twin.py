"""Family 2, twin foundations: two decks, 20 piles, and a foundation up from the Ace and one down from the King for each suit.

Owns the engine of the family and the columns by which its rule sets differ: how the stock is turned, whether an emptied
pile is refilled, whether cards may be spread onto empty piles. Must not know which rule sets exist, nor any of them by its
id.

The rules:
- A pile's top card, or the waste's card, goes to a foundation of its suit that wants it.
- As StockTurn says, `s` turns one card onto the waste, which has room for one, or deals a card onto every pile.
- Any waste card may go onto any pile, empty or not.
- If piles are refilled, a pile that becomes empty gets the next stock card as part of the same move.
- If cards may be spread, a top card may move to an empty pile once the stock is used up, unless it lies alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from protocol.cards import CARD_TEXT, Card
from server.rules.foundations import FOUNDATIONS, FOUNDED, Heights, HomeMoves, home_moves, lift_aces_and_kings, raised, wanted
from server.rules.moves import STOCK, WASTE
from server.rules.position import Family, Position, RuleSet

Pile: TypeAlias = tuple[Card, ...]


class StockTurn(Enum):
    """What `s` does."""

    ONE = auto()
    """It turns the next card onto the waste, which must be empty."""
    ROW = auto()
    """It deals a card onto every pile in slot order, as far as the stock reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinRules(RuleSet):
    """A rule set of the family."""

    family: Family = field(default=Family.TWIN, init=False)
    decks: int = field(default=2, init=False)
    turning: StockTurn
    refilled: bool
    """A pile that becomes empty gets the next stock card."""
    spread: bool
    """Once the stock is used up, top cards may move to empty piles."""

    @property
    def has_waste(self) -> bool:
        return self.turning is StockTurn.ONE

    def lay_out(self, deck: tuple[Card, ...], seed: bytes) -> "TwinPosition":
        rest = lift_aces_and_kings(deck)
        dealt = len(self.slots)
        return TwinPosition(self, tuple((card,) for card in rest[:dealt]), (), rest[dealt:], FOUNDED)


class _Texts(NamedTuple):
    """The move texts of a layout, indexed by the number of the pile."""

    number: dict[str, int]
    home: tuple[HomeMoves, ...]
    from_waste: tuple[str, ...]
    between: tuple[tuple[str, ...], ...]


@lru_cache
def _texts(slots: tuple[str, ...]) -> _Texts:
    return _Texts(
        number={slot: number for number, slot in enumerate(slots)},
        home=tuple(home_moves(slot) for slot in slots),
        from_waste=tuple(f"{WASTE}:{slot}" for slot in slots),
        between=tuple(tuple(f"{source}:{target}" for target in slots) for source in slots),
    )


_WASTE_HOME: Final = home_moves(WASTE)


class TwinPosition(Position, frozen=True, eq=False, gc=False):
    """A position of the family."""

    rules: TwinRules
    tableau: tuple[Pile, ...]
    """The pile of each slot in slot order, bottom card first."""
    waste: tuple[Card, ...]
    stock: tuple[Card, ...]
    heights: Heights

    @property
    def piles(self) -> Mapping[str, Pile]:
        return dict(zip(self.rules.slots, self.tableau, strict=True))

    @property
    def foundations(self) -> dict[str, int]:
        return dict(zip(FOUNDATIONS, self.heights, strict=True))

    @property
    def home(self) -> int:
        return sum(self.heights)

    def play_unchecked(self, move: str) -> "TwinPosition":
        if move == STOCK:
            return self._turned()
        number = _texts(self.rules.slots).number
        if move[0] == WASTE:
            (card,) = self.waste
            if move[1] == ":":
                target = number[move[2:]]
                return self._after(self.stock, self.heights, (target, (*self.tableau[target], card)))
            return self._after(self.stock, raised(self.heights, card, move[1]))
        source = number[move[:2]]
        rest, card = self.tableau[source][:-1], self.tableau[source][-1]
        if move[2] == ":":
            return self._after(self.stock, self.heights, (source, rest), (number[move[3:]], (card,)), waste=self.waste)
        heights = raised(self.heights, card, move[2])
        if rest or not (self.rules.refilled and self.stock):
            return self._after(self.stock, heights, (source, rest), waste=self.waste)
        return self._after(self.stock[1:], heights, (source, self.stock[:1]), waste=self.waste)

    def _find_legal_moves(self) -> tuple[str, ...]:
        texts = _texts(self.rules.slots)
        wants = wanted(self.heights)
        moves: list[str] = []
        for pile, home in zip(self.tableau, texts.home, strict=True):
            if pile and pile[-1] in wants:
                moves += home[wants[pile[-1]]]
        if self.waste:
            moves += _WASTE_HOME[wants.get(self.waste[-1], 0)]
            moves += texts.from_waste
        if self.stock:
            if self.rules.turning is StockTurn.ROW or not self.waste:
                moves.append(STOCK)
        elif self.rules.spread:
            moves += self._spreads(texts)
        moves.sort()
        return tuple(moves)

    def _spreads(self, texts: _Texts) -> list[str]:
        empty = [number for number, pile in enumerate(self.tableau) if not pile]
        if not empty:
            return []
        return [targets[number] for pile, targets in zip(self.tableau, texts.between, strict=True) if len(pile) > 1 for number in empty]

    def _turned(self) -> "TwinPosition":
        if self.rules.turning is StockTurn.ONE:
            return self._after(self.stock[1:], self.heights, waste=self.stock[:1])
        row = self.stock[: len(self.tableau)]
        covered = tuple((*pile, card) for pile, card in zip(self.tableau, row, strict=False))
        return TwinPosition(self.rules, covered + self.tableau[len(row) :], self.waste, self.stock[len(row) :], self.heights)

    def _after(self, stock: tuple[Card, ...], heights: Heights, *changed: tuple[int, Pile], waste: tuple[Card, ...] = ()) -> "TwinPosition":
        tableau, texts = self.tableau, self._pile_texts
        if changed:
            piles = list(tableau)
            texts = texts.copy() if texts is not None else None
            for number, pile in changed:
                piles[number] = pile
                if texts is not None:
                    texts[self.rules.slots[number]] = tuple([CARD_TEXT[card] for card in pile])
            tableau = tuple(piles)
        return TwinPosition(self.rules, tableau, waste, stock, heights, _pile_texts=texts)
