"""What moves between two pictures: cards on their way, cards that turn, bars that grow, a table that lights up, cards that fall.

Pure: which picture is shown and how long ago it began to be comes in. A motion is drawn over the later picture, as it is at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from client.tui.bars import bar
from client.tui.picture import Bar, Falling, Line, Picture, Rect, clip_line, cut_line, fit_line, line_width
from client.tui.theme import Theme
from protocol.cards import FACE_DOWN

GLIDE_MS = 120
"""How long a card is on its way."""
MOST = 3
"""More cards than these do not move: it is another table."""
FLASH_MS = 120
"""How long the place flashes where it has come to lie."""
TURN_MS = 160
GROW_MS = 250
LIGHT_MS = 500
FALL_MS = 1500
_FALL_STEP_MS = 33


class Glide(NamedTuple):
    """A card on its way. lines: how it looks, as it lay before. under: what is seen at its end until it is there."""

    start: Rect
    end: Rect
    lines: tuple[Line, ...]
    under: tuple[Line, ...] = ()
    lasts_ms: int = GLIDE_MS + FLASH_MS


class Turn(NamedTuple):
    """A card that lay face down is turned over. lines: its back."""

    end: Rect
    lines: tuple[Line, ...]
    lasts_ms: int = TURN_MS


class Grow(NamedTuple):
    """A bar that was shorter or longer."""

    end: Bar
    value: int
    lasts_ms: int = GROW_MS


class Light(NamedTuple):
    """A table that was not there before lights up, from its top left."""

    places: tuple[Rect, ...]
    lasts_ms: int = LIGHT_MS


class Fall(NamedTuple):
    """Cards that fall over the table, and leave behind what they were drawn over."""

    cards: tuple[Falling, ...]
    lasts_ms: int = FALL_MS


Motion: TypeAlias = Glide | Turn | Grow | Light | Fall


def transitions(before: Picture, after: Picture) -> tuple[Motion, ...]:
    """All that moves from one to the other."""
    if after.falls:
        return () if before.falls else (Fall(after.falls),)
    if before.large and after.slots and not before.slots:
        return (Light(tuple(slot.rect for slot in after.slots)),)
    was = {each.name: each for each in before.bars}
    grows = [Grow(each, was[each.name].value) for each in after.bars if each.name in was and was[each.name].value != each.value]
    return (*_cards(before, after), *grows)


def _cards(before: Picture, after: Picture) -> tuple[Motion, ...]:
    """The cards that lie on top of another place than before, each from where it lay to where it lies; and those that were turned."""
    was = {slot.place: slot for slot in before.slots}
    gone = {slot.place: slot for slot in after.slots if slot.place in was and was[slot.place].card != slot.card}
    came = {was[place].card: was[place] for place in gone if was[place].card}
    if "s" in was:
        # What nobody has seen yet comes from the stock.
        came[FACE_DOWN] = was["s"]
    motions: list[Motion] = []
    for slot in after.slots:
        old, same = came.get(slot.card), was.get(slot.place)
        if same is None or same.card == slot.card:
            continue
        if same.card == FACE_DOWN and slot.card:
            motions.append(Turn(slot.rect, _cut(before, slot.rect)))
        elif old is not None and old.place != slot.place:
            motions.append(Glide(old.rect, slot.rect, _cut(before, old.rect), _cut(before, slot.rect)))
    return tuple(motions) if len(motions) <= MOST else ()


def _cut(picture: Picture, rect: Rect) -> tuple[Line, ...]:
    rows = picture.lines[rect.row : rect.row + rect.height]
    return tuple(clip_line(cut_line(fit_line(line, rect.column + rect.width), rect.column), rect.width) for line in rows)


class Moving(NamedTuple):
    """A motion that began at a moment."""

    from_ms: int
    motion: Motion

    def is_over(self, now_ms: int) -> bool:
        return now_ms >= self.from_ms + self.motion.lasts_ms


def begun(moving: Sequence[Moving], picture: Picture, motions: Iterable[Motion], now_ms: int) -> tuple[Moving, ...]:
    """What moves over a picture when more begins to. What has no place there any more is over.

    So is what moved at the same place, but for a card that is turned over once it is there.
    """
    places = {slot.rect for slot in picture.slots} | {each.rect for each in picture.bars}
    kept, new = [each for each in moving if not each.is_over(now_ms) and _belongs(each.motion, picture, places)], []
    for motion in motions:
        from_ms = now_ms
        if isinstance(motion, Turn):
            from_ms = max([now_ms, *(each.from_ms + GLIDE_MS for each in kept if _end(each.motion) == motion.end)])
        else:
            kept = [each for each in kept if _end(each.motion) != _end(motion)]
        new.append(Moving(from_ms, motion))
    return (*kept, *new)


def _belongs(motion: Motion, picture: Picture, places: set[Rect]) -> bool:
    if isinstance(motion, Fall):
        return bool(picture.falls)
    return _end(motion) in places or (isinstance(motion, Light) and set(motion.places) <= places)


def _end(motion: Motion) -> Rect | None:
    match motion:
        case Glide() | Turn():
            return motion.end
        case Grow():
            return motion.end.rect
        case _:
            return None


def moved(picture: Picture, moving: Iterable[Moving], now_ms: int, theme: Theme) -> Picture:
    """The picture with all that moves where it is by now."""
    lines = list(picture.lines)
    for from_ms, motion in moving:
        _draw(lines, picture, motion, min(max(now_ms - from_ms, 0), motion.lasts_ms), theme, waits=now_ms < from_ms)
    return replace(picture, lines=tuple(lines))


def _draw(lines: list[Line], picture: Picture, motion: Motion, since_ms: int, theme: Theme, *, waits: bool) -> None:
    share = since_ms / motion.lasts_ms
    match motion:
        case Glide(start, end, card, under) if since_ms < GLIDE_MS:
            _put(lines, end, under)
            _put(lines, _between(start, end, _eased(since_ms / GLIDE_MS)), card)
        case Glide(end=end):
            _put(lines, end, tuple([("mark", text) for _, text in line] for line in _cut(picture, end)))
        case Turn(end, card):
            # First the back gets narrower, then the face wider.
            seen = card if share < 0.5 else _cut(picture, end)
            width = end.width if waits else max(round(end.width * abs(1 - 2 * share)), 1)
            left = (end.width - width) // 2
            _put(lines, end, tuple([("felt", " " * end.width)] for _ in seen))
            _put(lines, end._replace(column=end.column + left, width=width), tuple(clip_line(cut_line(line, left), width) for line in seen))
        case Grow(end, value):
            # In hundredths of a card, so that it grows by eighths of a column.
            grown = round((value + (end.value - value) * _eased(share)) * 100)
            _put(lines, end.rect, (bar(grown, end.total * 100, end.rect.width, theme, end.role),))
        case Light(places):
            farthest = max((rect.column + 2 * rect.row for rect in places), default=0) or 1
            for rect in places:
                if (rect.column + 2 * rect.row) / farthest > share:
                    _put(lines, rect, tuple([("back", theme.glyphs.back * rect.width)] for _ in range(rect.height)))
        case Fall(cards):
            lines[:] = _fallen(lines, cards, since_ms)


def _eased(share: float) -> float:
    """Fast at first, and slower towards the end."""
    return 1 - (1 - share) ** 2


def _between(start: Rect, end: Rect, share: float) -> Rect:
    column = round(start.column + (end.column - start.column) * share)
    row = round(start.row + (end.row - start.row) * share)
    return Rect(column, row, start.width, start.height)


def _put(lines: list[Line], rect: Rect, piece: Iterable[Line]) -> None:
    for at, part in enumerate(piece, rect.row):
        if 0 <= at < len(lines):
            lines[at] = [*fit_line(lines[at], rect.column), *part, *cut_line(lines[at], rect.column + rect.width)]


# ---- cards that fall


def _fallen(lines: list[Line], cards: tuple[Falling, ...], since_ms: int) -> list[Line]:
    """The lines under all cards that have begun to fall by then, at every step of their ways: each leaves a trail."""
    width = max(map(line_width, lines), default=0)
    cells = [[(role, sign) for role, text in fit_line(line, width) for sign in text] for line in lines]
    apart_ms = FALL_MS * 0.8 / max(len(cards), 1)
    for number, (start, drawn) in enumerate(cards):
        steps = int((since_ms - number * apart_ms) // _FALL_STEP_MS)
        faces = [[(role, sign) for role, text in line for sign in text] for line in drawn]
        for column, row in _way(number, start, len(lines), max(steps, 0)):
            for at, face in enumerate(faces, row):
                if 0 <= at < len(cells) and column < width:
                    shown = face[max(-column, 0) : width - column]
                    cells[at][max(column, 0) : max(column, 0) + len(shown)] = shown
    return [[(role, "".join(sign for _, sign in run)) for role, run in groupby(row, key=lambda cell: cell[0])] for row in cells]


def _way(number: int, start: Rect, height: int, steps: int) -> Iterable[tuple[int, int]]:
    """Where a card is at each step: it springs to one side, falls, and bounces off the lowest row."""
    across = (1.3 + number * 7 % 5 * 0.35) * (-1 if number * 5 % 3 else 1)
    column, row, speed = float(start.column), float(start.row), -0.35 * (number % 3)
    for _ in range(steps):
        column, row, speed = column + across, row + speed, speed + 0.16
        if row > height - start.height:
            row, speed = float(height - start.height), -speed * 0.75
        yield round(column), round(row)
