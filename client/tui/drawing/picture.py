"""A screen as a value: lines of roles, the regions that can be clicked, where each place of the table lies. And its layout.

Small pictures are put beside and below each other to make larger ones. A line may be shorter than its screen: what it leaves free is
felt. Owns layout only; what is on a screen is the screens' business, and how a picture gets into a terminal is the adapter's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from client.text.width import clip, text_width
from client.tui.actions import Click, Do
from client.tui.drawing.theme import Markup, Theme
from client.tui.keymap import EVERYWHERE, QUIT, Command, Keys, key_text

Shown = TypeVar("Shown")

Size: TypeAlias = tuple[int, int]
"""Columns and rows."""
Line: TypeAlias = list[Markup]
"""One row of a screen, in pieces of one role each."""

UPPER = 30
"""Per cent of the free rows that lie above what is meant to be a little above the middle: where the eye looks for it."""
MIDDLE = 50


class Rect(NamedTuple):
    """Part of a picture, from its top left."""

    column: int
    row: int
    width: int
    height: int

    def has(self, column: int, row: int) -> bool:
        return self.column <= column < self.column + self.width and self.row <= row < self.row + self.height

    def moved(self, columns: int, rows: int) -> Rect:
        return self._replace(column=self.column + columns, row=self.row + rows)


class Hit(NamedTuple):
    """A region that can be clicked, and what a click on it does."""

    rect: Rect
    click: Click


class Slot(NamedTuple):
    """Where the card of a place lies, without the edges around it, and which card that is; none where it is a gap or not known."""

    place: str
    rect: Rect
    card: str = ""


class Large(NamedTuple):
    """Text in large letters, `LARGE_ROWS` high, in the middle of its rectangle, all of which has the role; the adapter has the letters."""

    rect: Rect
    role: str
    text: str


LARGE_ROWS = 4


class Bar(NamedTuple):
    """A bar that shows `value` of `total`. name: whose it is."""

    name: str
    rect: Rect
    value: int
    total: int
    role: str


class Falling(NamedTuple):
    """A card that falls over the table. lines: how it looks; start: where it begins."""

    start: Rect
    lines: tuple[Line, ...]


class Picture(Struct, frozen=True):
    """caret: column and row of the text cursor, where something is being typed. falls: cards that fall over it, in their order.

    focus: column and row where the terminal's cursor stands, hidden, while nothing is typed: screen readers and magnifiers follow it. Only
    a whole screen has one.
    """

    lines: tuple[Line, ...] = ()
    hits: tuple[Hit, ...] = ()
    slots: tuple[Slot, ...] = ()
    large: tuple[Large, ...] = ()
    bars: tuple[Bar, ...] = ()
    falls: tuple[Falling, ...] = ()
    caret: tuple[int, int] | None = None
    focus: tuple[int, int] = (0, 0)

    @property
    def height(self) -> int:
        return len(self.lines)

    def click_at(self, column: int, row: int) -> Click | None:
        """What a click there does."""
        return next((hit.click for hit in self.hits if hit.rect.has(column, row)), None)


EMPTY = Picture()


# ---- texts and lines


def printable(line: Line) -> Line:
    """A line without what is no sign: whatever has slipped through to here reaches no terminal."""
    return [(role, text if text.isprintable() else "".join(filter(str.isprintable, text))) for role, text in line]


def line_width(line: Line) -> int:
    """How many columns a line takes."""
    return sum(text_width(text) for _, text in line)


def clip_line(line: Line, width: int) -> Line:
    """A line in at most `width` columns."""
    kept: Line = []
    for role, text in line:
        text = clip(text, width)
        width -= text_width(text)
        kept.append((role, text))
    return kept


def fit_line(line: Line, width: int, role: str = "felt") -> Line:
    """A line in exactly `width` columns, clipped or filled in `role`; in none if there is less than no room."""
    width = max(width, 0)
    free = width - line_width(line)
    if free < 0:
        return fit_line(clip_line(line, width), width, role)
    return [*line, (role, " " * free)] if free else line


def cut_line(line: Line, start: int) -> Line:
    """A line from a column on."""
    kept: Line = []
    for role, text in line:
        if start > 0:
            passed = clip(text, start)
            start -= text_width(passed) if passed or not text else start
            text = text[len(passed) :]
        if text:
            kept.append((role, text))
    return kept


def spread(left: Line, right: Line, width: int, role: str) -> Line:
    """Two pieces of a row at its two ends; the left one is cut where they would meet."""
    room = max(width - line_width(right), 0)
    return [*fit_line(left, room, role), *right]


def wrap_text(text: str, width: int) -> list[str]:
    """Words on lines of at most `width` columns; a longer word is broken."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if text_width(joined) <= width:
            lines[-1] = joined
            continue
        while start := clip(word, width):
            lines.append(start)
            word = word[len(start) :]
    return [line for line in lines if line]


def window(items: Sequence[Shown], marked: int, rows: int) -> list[tuple[int, Shown]]:
    """As many as fit, each with its number, the marked one among them."""
    first = max(0, min(max(marked, 0) - rows + 1 + rows // 3, len(items) - rows))
    return list(enumerate(items))[first : first + max(rows, 0)]


# ---- pictures


def block(lines: Iterable[Line], width: int = 0, *, role: str = "felt", centred: bool = False) -> Picture:
    """Lines as a picture. width: of all of them, where what they leave free is drawn in another role, or they stand in the middle."""
    if not width:
        return Picture(tuple(lines))
    return Picture(
        tuple(fit_line(_indented(line, (width - line_width(line) + 1) // 2) if centred else line, width, role) for line in lines)
    )


def _indented(line: Line, columns: int) -> Line:
    return [("felt", " " * columns), *line] if columns > 0 else line


def hit(picture: Picture, click: Click, width: int = 0) -> Picture:
    """A picture that does something when it is clicked, on so many columns; else as wide as it is."""
    width = width or max(map(line_width, picture.lines), default=0)
    return replace(picture, hits=(Hit(Rect(0, 0, width, picture.height), click),))


def words_hit(line: Line, clicks: Mapping[str, Click]) -> Picture:
    """A line in which some words do something when they are clicked, where they stand in it."""
    text = "".join(text for _, text in line)
    starts = ((text.find(words), words) for words in clicks)
    hits = (Hit(Rect(text_width(text[:at]), 0, text_width(words), 1), clicks[words]) for at, words in starts if at >= 0)
    return Picture((line,), tuple(hits))


def shifted(picture: Picture, columns: int, rows: int = 0) -> Picture:
    """A picture to the right, and below so many free rows."""
    if not columns and not rows:
        return picture
    return Picture(
        (*[[] for _ in range(rows)], *(_indented(line, columns) for line in picture.lines)),
        tuple(Hit(rect.moved(columns, rows), click) for rect, click in picture.hits),
        tuple(slot._replace(rect=slot.rect.moved(columns, rows)) for slot in picture.slots),
        tuple(Large(rect.moved(columns, rows), role, text) for rect, role, text in picture.large),
        tuple(bar._replace(rect=bar.rect.moved(columns, rows)) for bar in picture.bars),
        picture.falls,
        None if picture.caret is None else (picture.caret[0] + columns, picture.caret[1] + rows),
    )


def centred(picture: Picture, width: int) -> Picture:
    """The picture in the middle of `width` columns."""
    return shifted(picture, max(width - max(map(line_width, picture.lines), default=0), 0) // 2)


def _joined(lines: Iterable[Line], parts: Sequence[Picture]) -> Picture:
    """The lines, and all else of the parts, which lie where they are to lie."""
    return Picture(
        tuple(lines),
        tuple(each for part in parts for each in part.hits),
        tuple(each for part in parts for each in part.slots),
        tuple(each for part in parts for each in part.large),
        tuple(each for part in parts for each in part.bars),
        tuple(each for part in parts for each in part.falls),
        next((part.caret for part in parts if part.caret is not None), None),
    )


def stacked(*parts: Picture) -> Picture:
    """Pictures one below the other."""
    placed, rows = [], 0
    for part in parts:
        placed.append(shifted(part, 0, rows))
        rows += part.height
    return _joined((line for part in parts for line in part.lines), placed)


def row(*cells: tuple[int, Picture]) -> Picture:
    """Cells of fixed widths side by side, at their tops."""
    height = max((part.height for _, part in cells), default=0)
    lines: list[Line] = [[] for _ in range(height)]
    placed, column = [], 0
    for width, part in cells:
        for at, line in enumerate(lines):
            line += fit_line(part.lines[at] if at < part.height else [], width)
        placed.append(shifted(part, column))
        column += width
    return _joined(lines, placed)


def placed(picture: Picture, height: int, above: int = 0) -> Picture:
    """A picture in so many rows. above: per cent of the free ones that lie above it. What is too high is cut at its end."""
    free = height - picture.height
    if free < 0:
        return replace(
            picture,
            lines=picture.lines[:height],
            hits=tuple(each for each in picture.hits if each.rect.row < height),
            slots=tuple(each for each in picture.slots if each.rect.row < height),
            large=tuple(each for each in picture.large if each.rect.row + each.rect.height <= height),
            bars=tuple(each for each in picture.bars if each.rect.row < height),
        )
    below = ((100 - above) * free * 2 + 100) // 200
    picture = shifted(picture, 0, free - below)
    return replace(picture, lines=(*picture.lines, *[[] for _ in range(below)]))


def screen(size: Size, head: Picture, body: Picture, *feet: Picture, above: int = 0) -> Picture:
    """A whole screen: head, what takes the rows that are left, and the feet. above: where in those it stands, see `placed`."""
    below = stacked(*feet)
    return stacked(head, placed(body, max(size[1] - head.height - below.height, 0), above), below)


def over(picture: Picture, below: Picture, size: Size, theme: Theme) -> Picture:
    """A picture as wide as its widest line over the middle of a screen, with its shadow; nothing else can be clicked then."""
    width = max(map(line_width, picture.lines), default=0)
    column, first = max(size[0] - width, 0) // 2, max(size[1] - picture.height, 0) // 2
    lines = list(below.lines)
    # Without colours it would be a hole in the cards.
    shaded = 0 if theme.bordered else picture.height
    for at in range(first + 1, min(first + shaded + 1, len(lines) - 1)):
        under = fit_line(lines[at], size[0])
        shadow = ("shadow", " " * max(min(width, size[0] - column - 2), 0))
        lines[at] = [*clip_line(under, column + 2), shadow, *cut_line(under, column + 2 + width)]
    for at, line in enumerate(picture.lines[: size[1]], first):
        under = fit_line(lines[at], size[0])
        lines[at] = [*clip_line(under, column), *line, *cut_line(under, column + width)]
    above = shifted(picture, column, first)
    large = tuple(each for each in below.large if each.rect.row >= first + picture.height or each.rect.row + each.rect.height <= first)
    return replace(above, lines=tuple(lines), large=large)


def put(lines: list[Line], rect: Rect, piece: Iterable[Line]) -> None:
    """Lay lines over others, as wide as the rectangle."""
    for at, part in enumerate(piece, rect.row):
        if 0 <= at < len(lines):
            lines[at] = [*fit_line(lines[at], rect.column), *part, *cut_line(lines[at], rect.column + rect.width)]


def framed(inside: Picture, theme: Theme, width: int, *, role: str, title: Line | None = None, below: str = "") -> Picture:
    """A picture within sides of a column, in so many columns between them. title: stands in the upper side, and `below` at the end of the
    lower one; both are cut where they are too long."""
    edge = theme.glyphs.rounded
    named = [] if title is None else [(role, f"{edge.across} "), *clip_line(title, width - 4), (role, " ")]
    top = [(role, edge.left_top), *named, (role, edge.across * (width - line_width(named)) + edge.right_top)]
    side = block([[(role, edge.down)]] * inside.height)
    end = f" {clip(below, width - 4)} {edge.across}" if below else ""
    bottom: Line = [(role, edge.left_bottom + edge.across * (width - text_width(end)) + end + edge.right_bottom)]
    return stacked(block([top]), row((1, side), (width, inside), (1, side)), block([bottom]))


def foot(
    keys: Keys,
    theme: Theme,
    width: int,
    *,
    without: frozenset[Command] = frozenset(),
    labels: Mapping[Command, str] = MappingProxyType({}),
    arrows: str = "",
) -> Picture:
    """The last row: the keys of this screen as buttons, as many as fit; help and quit always do, where they mean something.

    labels: what some are called just now. arrows: what left and right do, where that is not plain to see.
    """
    cells: list[tuple[int, Picture]] = []
    bindings = [binding for binding in (*keys, *EVERYWHERE, QUIT) if binding.shown and binding.command not in without]
    left = width
    signs: Line = [("key", " left right" if theme.is_ascii else " ←→"), ("foot", f" {arrows} ")] if arrows else []
    left -= line_width(signs)
    ends = sum(binding.command in (Command.HELP, Command.QUIT) for binding in bindings)
    for binding in sorted(bindings, key=lambda each: each.command not in (Command.HELP, Command.QUIT)):
        key, label = key_text(binding, ascii_only=theme.is_ascii).split(" ")[0], labels.get(binding.command, binding.label)
        button: Line = [("key", f" {key}"), ("foot", f" {label} ")]
        taken = line_width(button)
        if taken > left:
            continue
        left -= taken
        cells.append((taken, hit(block([button]), Do(binding.command))))
    # Help and quit were counted first to be sure of their room, but belong at the end.
    return row((line_width(signs), block([signs])), *cells[ends:], *cells[:ends], (left, block([[]], left, role="foot")))
