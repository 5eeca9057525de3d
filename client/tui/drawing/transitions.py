"""What moves between two pictures: cards on their way, cards that turn, bars that grow, a table that lights up, cards that fall.

Pure: which picture is shown and how long ago it began to be comes in. A motion is drawn over the later picture, as it is at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from client.tui.drawing.bars import bar
from client.tui.drawing.picture import Bar, Falling, Line, Picture, Rect, clip_line, cut_line, fit_line, line_width, put
from client.tui.drawing.theme import Theme
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
FALL_MS = 2400
_FALL_STEP_MS = 33


class Glide(NamedTuple):
    """A card on its way. lines: how it looks, as it lay before. under: what is seen at its end until it is there."""

    start: Rect
    end: Rect
    lines: tuple[Line, ...]
    under: tuple[Line, ...] = ()
    lasts_ms: int = GLIDE_MS + FLASH_MS


class Turn(NamedTuple):
    """A card that lay face down is turned over. lines: its back, if it had one of this size."""

    end: Rect
    lines: tuple[Line, ...]
    lasts_ms: int = TURN_MS


class Grow(NamedTuple):
    """A bar that was shorter or longer."""

    end: Bar
    value: int
    lasts_ms: int = GROW_MS


class Light(NamedTuple):
    """A table that was not there before lights up, from its top left.

    places: each with what is seen there until then, a back where that is nothing.
    """

    places: tuple[tuple[Rect, tuple[Line, ...]], ...]
    lasts_ms: int = LIGHT_MS

    def dark(self, since_ms: int) -> list[tuple[Rect, tuple[Line, ...]]]:
        """Those that it has not come to by then."""
        farthest = max((rect.column + 2 * rect.row for rect, _ in self.places), default=0) or 1
        return [each for each in self.places if (each[0].column + 2 * each[0].row) * self.lasts_ms > since_ms * farthest]


class Fall(NamedTuple):
    """Cards that fall over the table, and leave behind what they were drawn over."""

    cards: tuple[Falling, ...]
    lasts_ms: int = FALL_MS


Motion: TypeAlias = Glide | Turn | Grow | Light | Fall


def transitions(before: Picture, after: Picture) -> tuple[Motion, ...]:
    """All that moves from one to the other."""
    if after.falls:
        return () if before.falls else (Fall(after.falls),)
    if (before.large or after.large) and after.slots and not {slot.place for slot in before.slots} & {slot.place for slot in after.slots}:
        return (Light(tuple((slot.rect, _bare(after, slot.rect) if slot.card == FACE_DOWN else ()) for slot in after.slots)),)
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
            is_as_large = same.rect[2:] == slot.rect[2:]
            motions.append(Turn(slot.rect, _cut(before, same.rect) if is_as_large else ()))
        elif old is not None and old.place != slot.place:
            motions.append(Glide(old.rect, slot.rect, _cut(before, old.rect), _cut(before, slot.rect)))
    turned = tuple((each.end, ()) for each in motions if isinstance(each, Turn))
    if len(turned) > MOST:
        # A whole carpet, at the start of a race.
        return (Light(turned),)
    return tuple(motions) if len(motions) <= MOST else ()


def _bare(picture: Picture, rect: Rect) -> tuple[Line, ...]:
    """The table on which a back has yet to be laid, with whatever lies over it."""
    return tuple(
        [("felt", " " * len(text)) if role.startswith("back") or role.endswith((" ?", " back")) else (role, text) for role, text in line]
        for line in _cut(picture, rect)
    )


def _back(rect: Rect, theme: Theme) -> tuple[Line, ...]:
    return ([("back", theme.glyphs.back * rect.width)],) * rect.height


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
    return _end(motion) in places or (isinstance(motion, Light) and {rect for rect, _ in motion.places} <= places)


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
    lines, large = list(picture.lines), picture.large
    for from_ms, motion in moving:
        since_ms = min(max(now_ms - from_ms, 0), motion.lasts_ms)
        _draw(lines, picture, motion, since_ms, theme, waits=now_ms < from_ms)
        # The adapter lays large letters over the lines: over a card that lies face down there are none.
        hidden = [rect for rect, seen in motion.dark(since_ms) if not seen] if isinstance(motion, Light) else []
        large = tuple(each for each in large if not any(rect.has(each.rect.column, each.rect.row) for rect in hidden))
    return replace(picture, lines=tuple(lines), large=large)


def _draw(lines: list[Line], picture: Picture, motion: Motion, since_ms: int, theme: Theme, *, waits: bool) -> None:
    share = since_ms / motion.lasts_ms
    match motion:
        case Glide(start, end, card, under) if since_ms < GLIDE_MS:
            put(lines, end, under)
            put(lines, _between(start, end, _eased(since_ms / GLIDE_MS)), card)
        case Glide(end=end):
            put(lines, end, tuple([("mark", text) for _, text in line] for line in _cut(picture, end)))
        case Turn(end, card):
            # First the back gets narrower, then the face wider.
            seen = (card or _back(end, theme)) if share < 0.5 else _cut(picture, end)
            width = end.width if waits else max(round(end.width * abs(1 - 2 * share)), 1)
            left = (end.width - width) // 2
            put(lines, end, tuple([("felt", " " * end.width)] for _ in seen))
            put(lines, end._replace(column=end.column + left, width=width), tuple(clip_line(cut_line(line, left), width) for line in seen))
        case Grow(end, value):
            # In hundredths of a card, so that it grows by eighths of a column.
            grown = round((value + (end.value - value) * _eased(share)) * 100)
            put(lines, end.rect, (bar(grown, end.total * 100, end.rect.width, theme, end.role),))
        case Light():
            for rect, seen in motion.dark(since_ms):
                put(lines, rect, seen or _back(rect, theme))
        case Fall(cards):
            lines[:] = _fallen(lines, cards, since_ms)


def _eased(share: float) -> float:
    """Fast at first, and slower towards the end."""
    return 1 - (1 - share) ** 2


def _between(start: Rect, end: Rect, share: float) -> Rect:
    column = round(start.column + (end.column - start.column) * share)
    row = round(start.row + (end.row - start.row) * share)
    return Rect(column, row, start.width, start.height)


# ---- cards that fall


def _fallen(lines: list[Line], cards: tuple[Falling, ...], since_ms: int) -> list[Line]:
    """The lines under all cards that have begun to fall by then, at every step of their ways: each leaves a trail."""
    width = max(map(line_width, lines), default=0)
    cells = [[(role, sign) for role, text in fit_line(line, width) for sign in text] for line in lines]
    # The last one has time enough to reach the lowest row, and to bounce.
    apart_ms = FALL_MS * 0.5 / max(len(cards), 1)
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
