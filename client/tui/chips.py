"""Chips: a key for each playable card, drawn on the card. A card keeps its chip for as long as it is playable. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from client.game.moves import choices, source, top_card
from protocol.views import View

CHIPS: Final = "1234567890mnouvxyzDEFIJNOPQSUVWXYZ"
"""Keys that mean nothing else in a race, the handiest first. Cards beyond them have no chip, and are played by slot, cursor or mouse."""


class Chip(NamedTuple):
    """A key, with the place and the card that it stands for."""

    key: str
    place: str
    card: str


def dealt(chips: tuple[Chip, ...], view: View) -> tuple[Chip, ...]:
    """The chips of a view, for as many cards as there are keys. chips: those of the view before. Stock and waste have keys of their own."""
    begins = {source(move) for move in view.moves}
    cards = {place: top_card(view, place) for place in view.piles if place in begins}
    kept = {chip.place: chip for chip in chips if cards.get(chip.place) == chip.card}
    taken = {chip.key for chip in kept.values()}
    free = (key for key in CHIPS if key not in taken)
    fresh = (place for place in cards if place not in kept)
    # Cards that keep their chips come first.
    return (*kept.values(), *(Chip(key, place, cards[place]) for place, key in zip(fresh, free, strict=False)))


def keyed(chips: tuple[Chip, ...]) -> tuple[str, ...]:
    """The places of the chips in the order of their keys, the handiest first."""
    return tuple(chip.place for chip in sorted(chips, key=lambda chip: CHIPS.index(chip.key)))


def chips_of(chips: tuple[Chip, ...], view: View, held: str) -> tuple[Chip, ...]:
    """The chips that count now: while a card is held, those of the places where it may go."""
    if not held:
        return chips or dealt((), view)
    ends = choices(view, held)
    order = [place for place in (*view.piles, *view.foundations) if place in ends]
    return tuple(Chip(key, place, top_card(view, place)) for key, place in zip(CHIPS, order, strict=False))
