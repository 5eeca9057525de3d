"""Family 3, Quilt: two decks, 64 cards woven into a quilt, and a foundation up from the Ace and one down from the King for each suit.

Owns the engine of the family and the columns by which its rule sets differ: what a free end is, where the other 32 cards
lie, how the waste is dealt again. Must not know which rule sets exist, nor any of them by its id.

The rules:
- An available card of the quilt (see server/rules/weave.py), the waste's top or a reserve's top goes to a foundation of
  its suit that wants it.
- Without reserves the other cards are the stock: `s` turns the next one onto the waste; `r` turns the waste into a new
  stock, once the stock is used up and while a redeal is left.
- An available card goes onto the waste's top if it is of the same suit and the next rank up or down; there is no step
  between King and Ace. Nothing is built on an empty waste.
- With reserves the same holds for each reserve's top; the top of another reserve may be built there too; and an empty
  reserve takes any card except the only one of another reserve.
- Nothing fills a gap in the quilt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from msgspec.structs import force_setattr

from protocol.cards import CARD_TEXT, DECK_SIZE, Card, suit
from protocol.shuffle import redeal_label, shuffle
from server.rules.foundations import DOWN, FOUNDATIONS, FOUNDED, UP, Heights, lift_aces_and_kings, raised, wanted
from server.rules.moves import REDEAL, STOCK, WASTE
from server.rules.position import Family, Position, RuleSet, slot_names
from server.rules.weave import COLUMNS, GAP, ROWS, Clear, Quilt, available, available_after

Pile: TypeAlias = tuple[Card, ...]

_RESERVES: Final = 8
_RESERVE_NAMES: Final = tuple(f"p{number}" for number in range(1, _RESERVES + 1))
_SLOTS: Final = slot_names(COLUMNS, ROWS)
_SIZE: Final = len(_SLOTS)

# Numbers of sources: the 64 slots, the reserves, the waste. Numbers of targets: the reserves, the waste, the foundations up and down.
_SOURCES: Final = (*_SLOTS, *_RESERVE_NAMES, WASTE)
_SOURCE_NUMBER: Final = {source: number for number, source in enumerate(_SOURCES)}
_WASTE_SOURCE: Final = _SIZE + _RESERVES
_WASTE_TARGET: Final = _RESERVES
_ENDINGS: Final = (*(f":{pile}" for pile in (*_RESERVE_NAMES, WASTE)), UP, DOWN)
_MOVES: Final = tuple(tuple(source + ending for ending in _ENDINGS) for source in _SOURCES)
_UP_TARGET: Final = _WASTE_TARGET + 1
_ONE_TARGET: Final = tuple((target,) for target in range(len(_ENDINGS)))
# Indexed by the code that `wanted` gives a card.
_HOME_TARGETS: Final[tuple[tuple[int, ...], ...]] = ((), (_UP_TARGET,), (_UP_TARGET + 1,), (_UP_TARGET, _UP_TARGET + 1))
_NEIGHBOURS: Final[tuple[Pile, ...]] = tuple(
    tuple(other for other in (card - 1, card + 1) if 0 <= other < DECK_SIZE and suit(other) == suit(card)) for card in range(DECK_SIZE)
)
# A gap is number -1, which indexes the empty pile at the end.
_PILE_OF: Final[tuple[Pile, ...]] = (*((card,) for card in range(DECK_SIZE)), ())


class Redealing(Enum):
    """What happens to the waste at a redeal."""

    TURNED_OVER = auto()
    """Its bottom card becomes the stock's next."""
    SHUFFLED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuiltRules(RuleSet):
    """A rule set of the family. If there are reserves, there are eight, and neither stock nor waste."""

    family: Family = field(default=Family.QUILT, init=False)
    decks: int = field(default=2, init=False)
    columns: int = field(default=COLUMNS, init=False)
    rows: int = field(default=ROWS, init=False)
    clear: Clear = Clear.NEXT_SLOT
    redealing: Redealing = Redealing.TURNED_OVER

    @property
    def has_waste(self) -> bool:
        return not self.reserves

    @property
    def reshuffles(self) -> bool:
        return self.redeals > 0 and self.redealing is Redealing.SHUFFLED

    @property
    def lanes(self) -> bool:
        return self.clear is Clear.LANE

    def lay_out(self, deck: tuple[Card, ...], seed: bytes) -> "QuiltPosition":
        rest = lift_aces_and_kings(deck)
        quilt, others = rest[:_SIZE], rest[_SIZE:]
        reserves: tuple[Pile, ...] = ()
        if self.reserves:
            height = len(others) // self.reserves
            reserves = tuple(others[start : start + height] for start in range(0, len(others), height))
            others = ()
        return QuiltPosition(self, seed, quilt, reserves, (), others, FOUNDED, self.redeals)


class QuiltPosition(Position, frozen=True, eq=False, gc=False):
    """A position of the family."""

    rules: QuiltRules
    seed: bytes
    quilt: Quilt
    reserves: tuple[Pile, ...]
    """Each bottom card first; none if there is a stock."""
    waste: tuple[Card, ...]
    stock: tuple[Card, ...]
    heights: Heights
    redeals_left: int
    _available: tuple[int, ...] | None = None

    @property
    def piles(self) -> Mapping[str, Pile]:
        piles = {slot: _PILE_OF[card] for slot, card in zip(_SLOTS, self.quilt, strict=True)}
        piles.update(zip(_RESERVE_NAMES, self.reserves, strict=False))
        return piles

    @property
    def foundations(self) -> dict[str, int]:
        return dict(zip(FOUNDATIONS, self.heights, strict=True))

    @property
    def home(self) -> int:
        return sum(self.heights)

    def available(self) -> tuple[int, ...]:
        """The slots whose cards can be taken, in no particular order."""
        slots = self._available
        if slots is None:
            slots = available(self.quilt, self.rules.clear)
            force_setattr(self, "_available", slots)
        return slots

    def play_unchecked(self, move: str) -> "QuiltPosition":
        if move == STOCK:
            return self._turned((*self.waste, self.stock[0]), self.stock[1:], self.redeals_left)
        if move == REDEAL:
            return self._redealt()
        name, action = (WASTE, move[1:]) if move[0] == WASTE else (move[:2], move[2:])
        source = _SOURCE_NUMBER[name]
        quilt, reserves, waste, heights, texts, slots = (
            self.quilt,
            self.reserves,
            self.waste,
            self.heights,
            self._pile_texts,
            self._available,
        )
        if texts is not None and (source != _WASTE_SOURCE or reserves):
            # All but one or two piles are the same: copying them takes a tenth of the time of looking them up.
            texts = texts.copy()
        if source < _SIZE:
            card = quilt[source]
            quilt = (*quilt[:source], GAP, *quilt[source + 1 :])
            # Which cards are available follows from the quilt, but finding them again each time would be most of the work of a move.
            slots = available_after(self.available(), quilt, source, self.rules.clear)
            if texts is not None:
                texts[name] = ()
        elif source == _WASTE_SOURCE:
            card, waste = waste[-1], waste[:-1]
        else:
            card = reserves[source - _SIZE][-1]
            reserves = _with(reserves, source - _SIZE, reserves[source - _SIZE][:-1], texts)
        if action[0] != ":":
            heights = raised(heights, card, action)
        elif action[1:] == WASTE:
            waste = (*waste, card)
        else:
            target = _RESERVE_NAMES.index(action[1:])
            reserves = _with(reserves, target, (*reserves[target], card), texts)
        return QuiltPosition(
            self.rules, self.seed, quilt, reserves, waste, self.stock, heights, self.redeals_left, slots, _pile_texts=texts
        )

    def _find_legal_moves(self) -> tuple[str, ...]:
        quilt, waste = self.quilt, self.waste
        takers = self._takers()
        moves: list[str] = []
        for slot, card in [(slot, card) for slot in self.available() if (card := quilt[slot]) in takers]:
            moves += [_MOVES[slot][target] for target in takers[card]]
        if self.reserves:
            self._add_reserve_moves(takers, moves)
        if waste:
            moves += [_MOVES[_WASTE_SOURCE][target] for target in takers.get(waste[-1], ()) if target > _WASTE_TARGET]
        if self.stock:
            moves.append(STOCK)
        elif waste and self.redeals_left:
            moves.append(REDEAL)
        moves.sort()
        return tuple(moves)

    def _add_reserve_moves(self, takers: dict[Card, tuple[int, ...]], moves: list[str]) -> None:
        """Add the moves of the reserves' tops, and those onto empty reserves."""
        empty = [target for target, pile in enumerate(self.reserves) if not pile]
        for source, pile in enumerate(self.reserves, _SIZE):
            if pile:
                texts = _MOVES[source]
                if pile[-1] in takers:
                    moves += [texts[target] for target in takers[pile[-1]]]
                if empty and len(pile) > 1:
                    moves += [texts[target] for target in empty]
        if empty:
            moves += [_MOVES[slot][target] for slot in self.available() for target in empty]

    def _takers(self) -> dict[Card, tuple[int, ...]]:
        """The cards that can go to a foundation, or onto the top of the waste or a reserve, each with its targets."""
        takers = {card: _HOME_TARGETS[code] for card, code in wanted(self.heights).items()}
        for target, pile in enumerate(self.reserves):
            if pile:
                for card in _NEIGHBOURS[pile[-1]]:
                    takers[card] = takers.get(card, ()) + _ONE_TARGET[target]
        if self.waste:
            for card in _NEIGHBOURS[self.waste[-1]]:
                takers[card] = takers.get(card, ()) + _ONE_TARGET[_WASTE_TARGET]
        return takers

    def _redealt(self) -> "QuiltPosition":
        stock = self.waste
        if self.rules.redealing is Redealing.SHUFFLED:
            stock = shuffle(stock, self.seed, redeal_label(self.rules.redeals - self.redeals_left + 1))
        return self._turned((), stock, self.redeals_left - 1)

    def _turned(self, waste: tuple[Card, ...], stock: tuple[Card, ...], redeals_left: int) -> "QuiltPosition":
        """The position after a move that leaves quilt, reserves and foundations alone."""
        kept, texts = self._available, self._pile_texts
        return QuiltPosition(
            self.rules, self.seed, self.quilt, self.reserves, waste, stock, self.heights, redeals_left, kept, _pile_texts=texts
        )


def _with(piles: tuple[Pile, ...], number: int, pile: Pile, texts: dict[str, tuple[str, ...]] | None) -> tuple[Pile, ...]:
    """The reserves with one pile replaced; updates `texts`, if there are any, in place."""
    if texts is not None:
        texts[_RESERVE_NAMES[number]] = tuple([CARD_TEXT[card] for card in pile])
    return (*piles[:number], pile, *piles[number + 1 :])
