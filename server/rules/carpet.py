"""Family 1, Carpet: one deck, 20 slots of one card, four foundations built up in suit from Ace to King.

Owns the engine of the family and the columns by which its rule sets differ: what happens to the Aces at the deal, how a
gap is refilled, when the stock may be turned. Must not know which rule sets exist, nor any of them by its id.

The rules:
- A carpet card, or the waste's top card, goes to its foundation if it is the next one of its suit.
- A gap that this leaves is refilled as Refill says. If there is one possible source, the refill is part of the move that
  made the gap. If there are two, the gap is *pending*, and the only legal moves are the choice between them.
- `s` turns the next stock card onto the waste, if Turning allows it.
- `r` shuffles the waste into a new stock, once the stock is used up and while a redeal is left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from msgspec.structs import force_setattr

from protocol.cards import CARD_TEXT, DECK_SIZE, SUIT_SIZE, SUITS, Card, suit
from protocol.shuffle import redeal_label, shuffle
from server.rules.moves import REDEAL, STOCK, WASTE
from server.rules.position import Family, Position, RuleSet, slot_names

_COLUMNS: Final = 5
_ROWS: Final = 4
_GAP: Final = -1

_SLOTS: Final = slot_names(_COLUMNS, _ROWS)
_SLOT_INDEX: Final = {slot: index for index, slot in enumerate(_SLOTS)}
_WASTE_TO: Final = tuple(f"{WASTE}:{slot}" for slot in _SLOTS)
_CHOICES: Final = {slot: (f"{STOCK}:{slot}", f"{WASTE}:{slot}") for slot in _SLOTS}
# The card wanted next, by how many cards are on the suit's foundation. When all are, -2: no card has that number.
_SPADES, _HEARTS, _DIAMONDS, _CLUBS = ((*range(first, first + SUIT_SIZE), -2) for first in range(0, DECK_SIZE, SUIT_SIZE))
# A gap is number -1, which indexes the empty pile at the end.
_PILE_OF: Final[tuple[tuple[Card, ...], ...]] = (*((card,) for card in range(DECK_SIZE)), ())
_ACES: Final = frozenset(range(0, DECK_SIZE, SUIT_SIZE))
_PILE_TEXT_OF: Final[tuple[tuple[str, ...], ...]] = (*((text,) for text in CARD_TEXT), ())


class Aces(Enum):
    """What happens to the Aces when the cards are dealt."""

    LIFTED = auto()
    """All four start on the foundations."""
    IN_DECK = auto()
    """They are cards like any other."""
    SURFACING = auto()
    """An Ace that comes up while the carpet is dealt goes to its foundation, and the next card takes its slot."""


class Refill(Enum):
    """How a gap is filled."""

    CHOICE = auto()
    """At once, from the waste or the stock, as the player chooses."""
    WASTE_FIRST = auto()
    """At once, from the waste, or from the stock if the waste is empty."""
    FREE = auto()
    """Only from the waste, whenever the player likes."""


class Turning(Enum):
    """When the next stock card may be turned (never while a gap is pending)."""

    ANY_TIME = auto()
    WHEN_STUCK = auto()
    """Only when no card can go to a foundation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarpetRules(RuleSet):
    """A rule set of the family: Carpet itself, but for what its row says."""

    family: Family = field(default=Family.CARPET, init=False)
    decks: int = field(default=1, init=False)
    columns: int = field(default=_COLUMNS, init=False)
    rows: int = field(default=_ROWS, init=False)
    aces: Aces = Aces.LIFTED
    refill: Refill = Refill.CHOICE
    turning: Turning = Turning.ANY_TIME

    def lay_out(self, deck: tuple[Card, ...], seed: bytes) -> "CarpetPosition":
        heights = [0] * len(SUITS)
        if self.aces is Aces.LIFTED:
            heights = [1] * len(SUITS)
            deck = tuple([card for card in deck if card not in _ACES])
        dealt = 0 if self.aces is Aces.SURFACING else len(_SLOTS)
        carpet = [*deck[:dealt]]
        while len(carpet) < len(_SLOTS):
            card = deck[dealt]
            dealt += 1
            if card in _ACES:
                heights[suit(card)] = 1
            else:
                carpet.append(card)
        return CarpetPosition(self, seed, tuple(carpet), (), deck[dealt:], tuple(heights), None, self.redeals, sum(heights))


# Read for each move: a global is found faster than a class attribute.
_FREE: Final = Refill.FREE
_ANY_TIME: Final = Turning.ANY_TIME


class CarpetPosition(Position, frozen=True, eq=False, gc=False):
    """A position of the family."""

    rules: CarpetRules
    seed: bytes
    carpet: tuple[Card, ...]
    """The card of each slot in slot order, -1 for a gap."""
    waste: tuple[Card, ...]
    stock: tuple[Card, ...]
    heights: tuple[int, ...]
    """How many cards are on the foundation of each suit; also the index, within the suit, of the card wanted next."""
    pending: str | None
    redeals_left: int
    home: int
    """The sum of the heights."""
    _wanted_slots: tuple[str, ...] | None = None
    """The slots whose cards can go home, sorted."""

    @property
    def piles(self) -> Mapping[str, tuple[Card, ...]]:
        return {slot: _PILE_OF[card] for slot, card in zip(_SLOTS, self.carpet, strict=True)}

    @property
    def pile_texts(self) -> dict[str, tuple[str, ...]]:
        texts = self._pile_texts
        if texts is None:
            texts = dict(zip(_SLOTS, map(_PILE_TEXT_OF.__getitem__, self.carpet), strict=True))
            force_setattr(self, "_pile_texts", texts)
        return texts

    @property
    def foundations(self) -> dict[str, int]:
        spades, hearts, diamonds, clubs = self.heights
        return {"S": spades, "H": hearts, "D": diamonds, "C": clubs}

    def play_unchecked(self, move: str) -> "CarpetPosition":
        if move == STOCK:
            return self._after((*self.waste, self.stock[0]), self.stock[1:], self.heights)
        if move == WASTE:
            return self._after(self.waste[:-1], self.stock, _raised(self.heights, self.waste[-1]))
        if move == REDEAL:
            return self._redealt()
        index = _SLOT_INDEX.get(move)
        if index is not None:
            return self._after_gap_at(index)
        return self._refilled(_SLOT_INDEX[move[2:]], self.heights, from_waste=move[0] == WASTE)

    def _find_legal_moves(self) -> tuple[str, ...]:
        if self.pending is not None:
            return _CHOICES[self.pending]
        carpet, waste, stock, rules, slots = self.carpet, self.waste, self.stock, self.rules, self._wanted_slots
        if slots is None:
            spades, hearts, diamonds, clubs = self.heights
            wanted = {_SPADES[spades], _HEARTS[hearts], _DIAMONDS[diamonds], _CLUBS[clubs]}
            slots = tuple(sorted([_SLOTS[carpet.index(card)] for card in wanted.intersection(carpet)]))
            force_setattr(self, "_wanted_slots", slots)
        # In ASCII order.
        moves = [*slots]
        if waste and not stock and self.redeals_left:
            moves.append(REDEAL)
        is_top_wanted = bool(waste) and waste[-1] % SUIT_SIZE == self.heights[waste[-1] // SUIT_SIZE]
        if stock and (rules.turning is _ANY_TIME or not (slots or is_top_wanted)):
            moves.append(STOCK)
        if is_top_wanted:
            moves.append(WASTE)
        if waste and rules.refill is _FREE:
            moves += sorted([_WASTE_TO[index] for index, card in enumerate(carpet) if card == _GAP])
        return tuple(moves)

    def _after_gap_at(self, index: int) -> "CarpetPosition":
        """The card at the slot has gone home: refill the slot, or ask how, or leave it."""
        heights = _raised(self.heights, self.carpet[index])
        refill = self.rules.refill
        if refill is Refill.FREE or not (self.waste or self.stock):
            return self._after_at(index, _GAP, self.waste, self.stock, heights)
        if refill is Refill.CHOICE and self.waste and self.stock:
            return self._after_at(index, _GAP, self.waste, self.stock, heights, pending=_SLOTS[index])
        # WASTE_FIRST, or CHOICE with only one source: these refill alike.
        return self._refilled(index, heights, from_waste=bool(self.waste))

    def _refilled(self, index: int, heights: tuple[int, ...], *, from_waste: bool) -> "CarpetPosition":
        if from_waste:
            return self._after_at(index, self.waste[-1], self.waste[:-1], self.stock, heights)
        return self._after_at(index, self.stock[0], self.waste, self.stock[1:], heights)

    def _redealt(self) -> "CarpetPosition":
        label = redeal_label(self.rules.redeals - self.redeals_left + 1)
        stock = shuffle(self.waste, self.seed, label)
        return CarpetPosition(self.rules, self.seed, self.carpet, (), stock, self.heights, None, self.redeals_left - 1, self.home)

    def _after(self, waste: tuple[Card, ...], stock: tuple[Card, ...], heights: tuple[int, ...]) -> "CarpetPosition":
        """The position after a move that leaves the carpet alone; no gap is pending in it."""
        home, slots = (self.home, self._wanted_slots) if heights is self.heights else (self.home + 1, None)
        return CarpetPosition(
            self.rules, self.seed, self.carpet, waste, stock, heights, None, self.redeals_left, home, slots, _pile_texts=self._pile_texts
        )

    def _after_at(
        self,
        index: int,
        card: Card,
        waste: tuple[Card, ...],
        stock: tuple[Card, ...],
        heights: tuple[int, ...],
        *,
        pending: str | None = None,
    ) -> "CarpetPosition":
        """The position after a move that gives one slot of the carpet another card, or none."""
        carpet = (*self.carpet[:index], card, *self.carpet[index + 1 :])
        texts = self._pile_texts
        if texts is not None:
            # All but one are the same: copying them takes a tenth of the time of looking them up.
            texts = texts.copy()
            texts[_SLOTS[index]] = _PILE_TEXT_OF[card]
        home = self.home + (heights is not self.heights)
        return CarpetPosition(self.rules, self.seed, carpet, waste, stock, heights, pending, self.redeals_left, home, _pile_texts=texts)


def _raised(heights: tuple[int, ...], card: Card) -> tuple[int, ...]:
    after = list(heights)
    after[card // SUIT_SIZE] += 1
    return tuple(after)
