"""Positions and rule sets made by hand from others, and the cards of a position."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from protocol.cards import SUIT_SIZE, SUITS, Card
from server.rules.position import Position, PositionBase

Value = TypeVar("Value")


def replace(value: Value, **changes: object) -> Value:
    """`dataclasses.replace` for positions too: what one has kept of what follows from its fields is found anew for the other."""
    if not isinstance(value, PositionBase):
        return dataclasses.replace(value, **changes)  # type: ignore[type-var]
    fields = {name: getattr(value, name) for name in value.__struct_fields__ if not name.startswith("_")}
    return type(value)(**fields | changes)


def cards_of(position: Position) -> list[Card]:
    """Every card in the position, those on the foundations too, sorted: always the whole deck."""
    cards = [*(card for pile in position.piles.values() for card in pile), *position.waste, *position.stock]
    for foundation, height in position.foundations.items():
        ace = SUITS.index(foundation[0]) * SUIT_SIZE
        beyond = ace + SUIT_SIZE
        cards += range(beyond - height, beyond) if foundation.endswith("-") else range(ace, ace + height)
    return sorted(cards)
