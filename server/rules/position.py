"""The port of the rules: what a rule set and a position are to the rest of the server.

Owns the two base classes, RuleSet and Position, and what follows from them alone: how a move is checked, and the text form. Must not
know any family of rules.

A position shows everything, even the order of the stock. Only server/race/view.py decides what a player may see of it. So
neither a position's text nor the text of an IllegalMove is for a player's eyes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import force_setattr

from protocol.cards import CARD_TEXT, DECK_SIZE, Card, fresh_deck
from protocol.shuffle import DEAL_LABEL, shuffle

_COLUMN_LETTERS: Final = "abcdefghij"


class Family(StrEnum):
    CARPET = "carpet"
    TWIN = "twin"
    QUILT = "quilt"


class Difficulty(StrEnum):
    """How many deals a naive player wins, as tests/bench/rules_odds.py measures it: half or more, a tenth or more, fewer.

    A naive player sends home whatever goes and otherwise moves at random; thinking wins more. A row that deviates says why.
    """

    EASY = "easy"
    MODERATE = "moderate"
    HARD = "hard"


class Position(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """One state of one deal. A value: playing a move gives another position and leaves this one unchanged.

    Fields that begin with an underscore cache what follows from the others. They are not part of the value, and the only fields that are
    written, by `force_setattr`. A struct, because a race makes one for each move, and a frozen dataclass takes ten times as long.
    """

    _legal_moves: tuple[str, ...] | None = None
    _pile_texts: dict[str, tuple[str, ...]] | None = None

    # ---- what each family has in its own way

    @property
    @abstractmethod
    def rules(self) -> "RuleSet":
        """The row of the catalogue that is being played."""

    @property
    @abstractmethod
    def piles(self) -> Mapping[str, tuple[Card, ...]]:
        """The cards of each slot by name, in slot order, then of the reserves p1 …; bottom card first."""

    @property
    @abstractmethod
    def waste(self) -> tuple[Card, ...]:
        """Bottom card first. The last one is the top, and the only one that can be played."""

    @property
    @abstractmethod
    def stock(self) -> tuple[Card, ...]:
        """Next card first."""

    @property
    @abstractmethod
    def foundations(self) -> dict[str, int]:
        """How many cards lie on each foundation: `S H D C`, or `S+ S- H+ H- D+ D- C+ C-` with two decks."""

    @property
    def pending(self) -> str | None:
        """The slot of a gap that has to be refilled first, if the player can choose how."""
        return None

    @property
    def redeals_left(self) -> int:
        """How many redeals the player may still make; a redeal is a legal move only in some positions."""
        return 0

    @property
    @abstractmethod
    def home(self) -> int:
        """Cards on the foundations, lifted ones included."""

    @abstractmethod
    def play_unchecked(self, move: str) -> Self:
        """`play` for a move known to be legal. For any other move the behaviour is undefined."""

    @abstractmethod
    def _find_legal_moves(self) -> tuple[str, ...]: ...

    # ---- what follows from it

    def legal_moves(self) -> tuple[str, ...]:
        """Every legal move as text, in ASCII order. Computed once for a position and kept."""
        moves = self._legal_moves
        if moves is None:
            moves = self._find_legal_moves()
            force_setattr(self, "_legal_moves", moves)
        return moves

    @property
    def pile_texts(self) -> dict[str, tuple[str, ...]]:
        """`piles` as messages carry them. Made once for a position and shared, so do not change it."""
        texts = self._pile_texts
        if texts is None:
            texts = {slot: tuple([CARD_TEXT[card] for card in pile]) for slot, pile in self.piles.items()}
            force_setattr(self, "_pile_texts", texts)
        return texts

    def forget_derived(self) -> None:
        """Drop what is cached, for a position that is no longer the current one: the caches are larger than it, and can be rebuilt."""
        force_setattr(self, "_legal_moves", None)
        force_setattr(self, "_pile_texts", None)

    def _value(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name[0] != "_")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and type(self) is type(other) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def play(self, move: str) -> Self:
        """The position after a move and the refills it forces. Raises IllegalMove; this position never changes."""
        if move not in self.legal_moves():
            raise IllegalMove(move, self)
        return self.play_unchecked(move)

    @property
    def is_over(self) -> bool:
        """No move is legal."""
        return not self.legal_moves()

    @property
    def is_won(self) -> bool:
        """Every card is home."""
        return self.home == self.rules.deck_size

    @property
    def text(self) -> str:
        """The canonical one-line form; see position_text."""
        return position_text(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class IllegalMove(Exception):
    """The move is not legal in the position, which is unchanged. The text names the stock, so it is for logs only."""

    def __init__(self, move: str, position: Position) -> None:
        super().__init__(f"{move!r} is not legal under {position.rules.id}: {position.text}")
        self.move = move
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet(ABC):
    """One row of the catalogue. A family adds its own columns, and how a deck is laid out."""

    id: str
    name: str
    explanation: str
    """One paragraph for a player who has never seen the game."""
    family: Family
    source: str
    """The document that the rules come from."""
    difficulty: Difficulty
    decks: int
    columns: int
    rows: int
    reserves: int = 0
    redeals: int = 0
    visible_stock: int = 0
    """How many of the next stock cards a player is shown."""
    solvable: bool = False
    """Whether a race can ask for winnable deals: the search (server/solver) finds a win in most deals, in about a second."""
    move_limit: int | None = None
    """The number of moves after which a seat is stopped, if cards could go round in circles."""

    @property
    def has_waste(self) -> bool:
        """Whether there ever is a waste, so that a board leaves room for it."""
        return True

    @property
    def reshuffles(self) -> bool:
        """Whether a redeal puts the cards into an order that nobody knows yet."""
        return self.redeals > 0

    @property
    def lanes(self) -> bool:
        """Whether a quilt's card is free only with a whole lane to the edge, so that a board can show which are."""
        return False

    @abstractmethod
    def lay_out(self, deck: tuple[Card, ...], seed: bytes) -> Position:
        """The first position from a shuffled deck. The seed is only for later redeals."""

    def deal(self, seed: bytes) -> Position:
        """The first position of the deal with this seed (32 bytes, else ValueError)."""
        return self.lay_out(shuffle(fresh_deck(self.decks), seed, DEAL_LABEL), seed)

    @property
    def deck_size(self) -> int:
        return DECK_SIZE * self.decks

    @property
    def slots(self) -> tuple[str, ...]:
        return slot_names(self.columns, self.rows)


@lru_cache
def slot_names(columns: int, rows: int) -> tuple[str, ...]:
    """The slots, named column letter then row number, in the order in which cards are dealt, row by row: `a1 b1 … a2 …`."""
    return tuple(f"{column}{row}" for row in range(1, rows + 1) for column in _COLUMN_LETTERS[:columns])


def position_text(position: Position) -> str:
    """A position as one line: seven fields separated by spaces, with everything but the seed of later redeals:

    1. the rule set's id;
    2. the piles in slot order, separated by commas, each with its cards from the bottom up;
    3. the waste, from the bottom up;
    4. the stock, next card first;
    5. the foundations' heights, like `S1,H4,D1,C1` or `S+1,S-1,…`;
    6. the slot of the pending gap;
    7. the number of redeals left.

    Anything empty or absent is written `-`.
    """
    fields = (
        position.rules.id,
        ",".join(_cards_text(pile) for pile in position.piles.values()),
        _cards_text(position.waste),
        _cards_text(position.stock),
        ",".join(f"{foundation}{height}" for foundation, height in position.foundations.items()),
        position.pending or "-",
        str(position.redeals_left),
    )
    return " ".join(fields)


def _cards_text(cards: tuple[Card, ...]) -> str:
    return "".join(CARD_TEXT[card] for card in cards) or "-"
