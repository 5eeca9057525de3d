"""The parts every screen is put together from: lines of roles, places to click, the head and the foot.

Owns layout helpers only; what is on a screen is the screens' own business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias, TypeVar

import urwid

from client.tui.keymap import Action, Place, key_text, shown_at
from client.tui.theme import Markup, Theme

Shown = TypeVar("Shown")

Line: TypeAlias = list[Markup]
"""One row of a screen, in pieces of one role each."""


class Hands(Protocol):
    """What the mouse can do; the controller implements it and keys end in the same calls."""

    def act(self, action: Action) -> None:
        """Do what the action's key does."""
        ...

    def place(self, place: str) -> None:
        """Play a slot, the waste or the stock."""
        ...

    def pick(self, index: int) -> None:
        """Take line `index` of a menu or a question."""
        ...

    def jump(self, t_ms: int) -> None:
        """Go to a moment of a replay."""
        ...


class Spot(urwid.WidgetWrap[urwid.Widget]):
    """A widget that does something when it is clicked."""

    def __init__(self, widget: urwid.Widget, press: Callable[[], None]) -> None:
        super().__init__(widget)
        self._press = press

    def mouse_event(self, size: tuple[()] | tuple[int] | tuple[int, int], event: str, button: int, col: int, row: int, focus: bool) -> bool:
        if event != "mouse press" or button != 1:
            return False
        self._press()
        return True


class Field(urwid.WidgetWrap[urwid.Widget]):
    """Many places to click in one widget, which is drawn in far less time than a widget for each. press: with the column and row in it."""

    def __init__(self, lines: Sequence[Line], press: Callable[[int, int], None]) -> None:
        super().__init__(lines_widget(lines))
        self._press = press

    def mouse_event(self, size: tuple[()] | tuple[int] | tuple[int, int], event: str, button: int, col: int, row: int, focus: bool) -> bool:
        if event != "mouse press" or button != 1:
            return False
        self._press(col, row)
        return True


def text_width(text: str) -> int:
    """How many columns a text takes."""
    return urwid.calc_width(text, 0, len(text))


def line_width(line: Line) -> int:
    """How many columns a line takes."""
    return sum(text_width(text) for _, text in line)


def clip(text: str, width: int) -> str:
    """`text` in at most `width` columns; wide characters count two, and one that would stick out is left out."""
    if width <= 0:
        return ""
    end, _ = urwid.calc_text_pos(text, 0, len(text), width)
    return text[:end]


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` columns, clipped or filled with spaces."""
    text = clip(text, width)
    return text + " " * (width - text_width(text))


def spread(left: Line, right: Line, width: int, role: str) -> Line:
    """Two pieces of a row at its two ends; the left one is cut where they would meet."""
    room = max(width - line_width(right), 0)
    kept: Line = []
    for piece_role, text in left:
        text = clip(text, room)
        room -= text_width(text)
        kept.append((piece_role, text))
    return [*kept, (role, " " * max(room, 0)), *right]


def lines_widget(lines: Sequence[Line], role: str = "felt", *, align: urwid.Align = urwid.LEFT) -> urwid.Widget:
    """Lines as a flow widget; what they leave free is drawn in `role`."""
    markup: list[Markup | str] = []
    for number, line in enumerate(lines):
        if number:
            markup.append("\n")
        markup.extend(line or [(role, "")])
    text = urwid.Text(markup or "", align=align, wrap=urwid.CLIP)
    return urwid.AttrMap(text, role)


def row(*cells: tuple[int, urwid.Widget]) -> urwid.Columns:
    """Cells of fixed widths side by side."""
    return urwid.Columns([(urwid.GIVEN, width, cell) for width, cell in cells], box_columns=[])


def button(key: str, label: str, press: Callable[[], None]) -> tuple[int, urwid.Widget]:
    """A key and its word, to be clicked or read; with its width."""
    text = [("key", f" {key}"), ("foot", f" {label} ")]
    return line_width(text), Spot(lines_widget([text], "foot"), press)


def foot(
    place: Place,
    hands: Hands,
    theme: Theme,
    width: int,
    *,
    without: frozenset[Action] = frozenset(),
    labels: Mapping[Action, str] = MappingProxyType({}),
) -> urwid.Widget:
    """The last row: the keys of this screen as buttons, as many as fit; help and quit always do. labels: what some are called just now."""
    cells: list[tuple[int, urwid.Widget]] = []
    bindings = [binding for binding in shown_at(place) if binding.action not in without]
    left = width
    for binding in sorted(bindings, key=lambda each: each.action not in (Action.HELP, Action.QUIT)):
        cell = button(
            key_text(binding, ascii_only=theme.is_ascii).split(" ")[0],
            labels.get(binding.action, binding.label),
            lambda action=binding.action: hands.act(action),  # type: ignore[misc]
        )
        if cell[0] > left:
            continue
        left -= cell[0]
        cells.append(cell)
    # Help and quit were counted first to be sure of their room, but belong at the end.
    cells = cells[2:] + cells[:2]
    cells.append((max(left, 0), urwid.AttrMap(urwid.Text(""), "foot")))
    return urwid.AttrMap(row(*[cell for cell in cells if cell[0] > 0]), "foot")


def stacked(*parts: urwid.Widget) -> urwid.Pile:
    """Flow widgets one below the other."""
    return urwid.Pile([(urwid.PACK, part) for part in parts])


class Screen(urwid.WidgetWrap[urwid.Widget]):
    """A whole screen: head, a box that takes what is left, and the feet, on felt."""

    def __init__(self, head: urwid.Widget, body: urwid.Widget, *feet: urwid.Widget) -> None:
        self._pile = urwid.Pile([(urwid.PACK, head), (urwid.WEIGHT, 1, body), *[(urwid.PACK, part) for part in feet]])
        super().__init__(urwid.AttrMap(self._pile, "felt"))

    def change_head(self, head: urwid.Widget) -> None:
        """Another head over the same screen, whose other parts need not be drawn again."""
        self._pile.contents[0] = (head, self._pile.options(urwid.PACK))


def top(widget: urwid.Widget) -> urwid.Widget:
    """A flow widget in a box, at its top; felt below."""
    return urwid.Filler(widget, valign=urwid.TOP)


def upper(widget: urwid.Widget) -> urwid.Widget:
    """A flow widget in a box, a little above its middle: where the eye looks for it on a large terminal."""
    return urwid.Filler(widget, valign=(urwid.RELATIVE, 30))


def window(items: Sequence[Shown], marked: int, rows: int) -> list[tuple[int, Shown]]:
    """As many as fit, each with its number, the marked one among them."""
    first = max(0, min(max(marked, 0) - rows + 1 + rows // 3, len(items) - rows))
    return list(enumerate(items))[first : first + max(rows, 0)]


def wrap_text(text: str, width: int) -> list[str]:
    """Words on lines of at most `width` columns."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if text_width(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(clip(word, width))
    return [line for line in lines if line]
