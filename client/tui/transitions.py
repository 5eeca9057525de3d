"""What moves between two pictures: cards that lay at one place and lie at another. Pure: how far they are on their way comes in."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from client.tui.picture import Line, Picture, Rect, clip_line, cut_line, fit_line

GLIDE_MS = 120
"""How long a card is on its way."""
MOST = 3
"""More cards than these do not move: it is another table."""
FLASH_MS = 120
"""How long the place flashes where it has come to lie."""


class Glide(NamedTuple):
    """A card on its way. lines: how it looks, as it lay before."""

    start: Rect
    end: Rect
    lines: tuple[Line, ...]


def transitions(before: Picture, after: Picture) -> tuple[Glide, ...]:
    """The cards that lie on top of another place than before, each from where it lay to where it lies."""
    was = {slot.place: slot for slot in before.slots}
    gone = {slot.place for slot in after.slots if slot.place in was and was[slot.place].card != slot.card}
    came = {was[place].card: was[place] for place in gone if was[place].card}
    glides: list[Glide] = []
    for slot in after.slots:
        old = came.get(slot.card)
        if old is not None and slot.place in was and old.place != slot.place and was[slot.place].card != slot.card:
            glides.append(Glide(old.rect, slot.rect, _cut(before, old.rect)))
    return tuple(glides) if len(glides) <= MOST else ()


def _cut(picture: Picture, rect: Rect) -> tuple[Line, ...]:
    rows = picture.lines[rect.row : rect.row + rect.height]
    return tuple(clip_line(cut_line(fit_line(line, rect.column + rect.width), rect.column), rect.width) for line in rows)


def is_over(since_ms: int) -> bool:
    """Whether everything has come to rest, so long after it began."""
    return since_ms >= GLIDE_MS + FLASH_MS


def moving(picture: Picture, glides: tuple[Glide, ...], since_ms: int) -> Picture:
    """The picture so long after its cards have left: on their way, and then flashing where they have come to lie."""
    lines = list(picture.lines)
    share = min(since_ms / GLIDE_MS, 1.0)
    # Fast at first, and slower towards the end.
    share = 1 - (1 - share) ** 2
    for start, end, card in glides:
        if since_ms >= GLIDE_MS:
            _put(lines, end, tuple([("mark", text) for _, text in line] for line in _cut(picture, end)))
            continue
        column = round(start.column + (end.column - start.column) * share)
        row = round(start.row + (end.row - start.row) * share)
        _put(lines, Rect(column, row, start.width, start.height), card)
    return replace(picture, lines=tuple(lines))


def _put(lines: list[Line], rect: Rect, piece: tuple[Line, ...]) -> None:
    for at, part in enumerate(piece, rect.row):
        if 0 <= at < len(lines):
            lines[at] = [*fit_line(lines[at], rect.column), *part, *cut_line(lines[at], rect.column + rect.width)]
