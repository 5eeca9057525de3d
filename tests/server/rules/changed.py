"""Helpers for hand-made positions: change a position or rule set, read cards and moves from text, list a position's cards."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from protocol.cards import SUIT_SIZE, SUITS, Card, card_text, parse_card
from server.rules.position import Position

Value = TypeVar("Value")
Played = TypeVar("Played", bound=Position)


def replace(value: Value, **changes: object) -> Value:
    """`dataclasses.replace` that works for positions too: values cached from the old fields are worked out again."""
    if not isinstance(value, Position):
        return dataclasses.replace(value, **changes)  # type: ignore[type-var]
    fields = {name: getattr(value, name) for name in value.__struct_fields__ if not name.startswith("_")}
    return type(value)(**fields | changes)


def cards(text: str) -> tuple[Card, ...]:
    return tuple(map(parse_card, text.split()))


def after(position: Played, moves: str) -> Played:
    for move in moves.split():
        position = position.play(move)
    return position


def shown(position: Position, slot: str) -> str:
    return " ".join(card_text(card) for card in position.piles[slot])


def cards_of(position: Position) -> list[Card]:
    """All cards in the position, including the foundations, sorted: always the whole deck."""
    found = [*(card for pile in position.piles.values() for card in pile), *position.waste, *position.stock]
    for foundation, height in position.foundations.items():
        ace = SUITS.index(foundation[0]) * SUIT_SIZE
        beyond = ace + SUIT_SIZE
        found += range(beyond - height, beyond) if foundation.endswith("-") else range(ace, ace + height)
    return sorted(found)
