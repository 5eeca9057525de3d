"""The cards: numbers inside, two characters outside.

Owns the numbering of the 52 cards, their text and the order of a fresh deck. Must not know deals, rules or messages.

A card is a number 0 to 51, suit by suit in the order S H D C and by rank A to K within a suit; so the successor of a
card in its suit is that card plus one. The two copies of a card in a double deck are the same number. The text form is
rank then suit: `AS`, `TD`, `KC`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Card: TypeAlias = int

SUITS: Final = "SHDC"
RANKS: Final = "A23456789TJQK"
SUIT_SIZE: Final = 13
DECK_SIZE: Final = 52

FACE_DOWN: Final = "??"
"""Stands for a card that the viewer of a board may not know."""

CARD_TEXT: Final[tuple[str, ...]] = tuple(rank + suit for suit in SUITS for rank in RANKS)
_CARD_OF_TEXT: Final[Mapping[str, Card]] = MappingProxyType({text: card for card, text in enumerate(CARD_TEXT)})


def rank(card: Card) -> int:
    """1 for an Ace to 13 for a King."""
    return card % SUIT_SIZE + 1


def suit(card: Card) -> int:
    """Index of the suit in SUITS: 0 spades, 1 hearts, 2 diamonds, 3 clubs."""
    return card // SUIT_SIZE


def card_text(card: Card) -> str:
    """Two characters. Raises ValueError if the number is not a card (a negative one must not count from the end)."""
    if not 0 <= card < DECK_SIZE:
        raise ValueError(f"a card is a number from 0 to {DECK_SIZE - 1}, not {card!r}")
    return CARD_TEXT[card]


def parse_card(text: str) -> Card:
    """The inverse of card_text. Raises ValueError for anything else, lower case included."""
    card = _CARD_OF_TEXT.get(text)
    if card is None:
        raise ValueError(f"not a card: {text!r} (a rank of {RANKS} and then a suit of {SUITS}, like TD)")
    return card


def fresh_deck(decks: int = 1) -> tuple[Card, ...]:
    """The unshuffled list `AS 2S … KC`, once for each deck."""
    if decks < 1:
        raise ValueError(f"at least one deck, not {decks!r}")
    return tuple(range(DECK_SIZE)) * decks
