"""Progress curves as a small text plot: cards home over time, one step line a seat.

With braille a cell holds two by four points; in ASCII it holds one, drawn as the seat's number. If lines meet in a cell, their points are
joined in the colour of the line drawn first, so draw the most important line first.
"""

from __future__ import annotations

from collections.abc import Sequence

from client.text.formatting import clock_text
from client.tui.drawing.picture import Line
from client.tui.drawing.theme import SHADED, Markup, Theme
from protocol.record import Record

Curve = Sequence[tuple[int, int]]
"""(ms, cards home) points in order of time. Between two points the count stays the same."""

AXIS = 4
"""Columns left of the plot for the scale."""

AREA_ROWS = 10
"""From this many rows on, while a race goes on, a filled area between the lines tells more than thin lines do."""

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BRAILLE = 0x2800


def plot(curves: Sequence[tuple[int, Curve]], width: int, height: int, theme: Theme, *, cards: int, area: bool) -> list[Line]:
    """`height` rows of `width` columns. curves: (number of the line's colour, curve), the most important one first.

    area: fill the area between two curves, in a shade of the one that was ahead, or the area below a single curve.
    """
    columns, rows = max(width - AXIS, 4), max(height - 1, 2)
    end_ms = max((curve[-1][0] for _, curve in curves if curve), default=0) or 1
    solid = area and curves and max(number for number, _ in curves) < SHADED and theme.shades and not theme.is_ascii
    drawn = _solid(curves, columns, rows, end_ms, cards) if solid else _dotted(curves, columns, rows, end_ms, cards, theme)
    lines: list[Line] = []
    for y, cells in enumerate(drawn):
        scale = {0: str(cards), rows // 2: str(cards // 2)}.get(y, "")
        free: Markup = ("panel faint", theme.glyphs.middle)
        row = [cell or (free if scale and x % 4 == 0 else ("panel faint", " ")) for x, cell in enumerate(cells)]
        lines.append([("panel faint", f"{scale:>{AXIS - 1}} "), *row])
    end = clock_text(end_ms, tenths=False)
    lines.append([("panel faint", f"{0:>{AXIS - 1}} 0:00" + end.rjust(columns - 4))])
    return lines


def colour_of(seat: int, own: int | None, theme: Theme) -> int:
    """The number of the colour of a seat's line. A player's own line has the first, the colour of their name and bar. In ASCII the number
    is the line itself, so it stays the seat's.
    """
    if own is None or theme.is_ascii:
        return seat
    return 0 if seat == own else own if seat == 0 else seat


def scale(record: Record, total: int) -> int:
    """The top of the plot of a finished race; see `scale_of`."""
    return scale_of(max((seat.home for seat in record.seats), default=0), total)


def scale_of(best: int, total: int) -> int:
    """The top of the plot: the best seat's cards home, rounded up to whole suits; at most all cards."""
    return max(min(total, -(-best // 13) * 13), 13)


def _dotted(
    curves: Sequence[tuple[int, Curve]], columns: int, rows: int, end_ms: int, cards: int, theme: Theme
) -> list[list[Markup | None]]:
    """The lines as dots, or in ASCII as their seats' numbers."""
    across, down = (1, 1) if theme.is_ascii else (2, 4)
    owner: dict[tuple[int, int], int] = {}
    dots: dict[tuple[int, int], int] = {}
    for number, curve in curves:
        for x, y in _points(_levels(curve, columns * across, rows * down, end_ms, cards)):
            cell = (x // across, y // down)
            owner.setdefault(cell, number)
            dots[cell] = dots.get(cell, 0) | _DOTS[x % across][y % down]
    cells: list[list[Markup | None]] = [[None] * columns for _ in range(rows)]
    for (x, y), number in owner.items():
        cells[y][x] = (f"line {number % 8}", str(number + 1) if theme.is_ascii else chr(_BRAILLE + dots[x, y]))
    return cells


def _solid(curves: Sequence[tuple[int, Curve]], columns: int, rows: int, end_ms: int, cards: int) -> list[list[Markup | None]]:
    """The lines and the area between two, in half cells: each half belongs to a line, an area or the panel."""
    halves = [["p"] * columns for _ in range(rows * 2)]
    first, one = curves[0]
    second, other = curves[1] if len(curves) > 1 else (first, ())
    levels = [_levels(curve, columns, rows * 2, end_ms, cards, beyond=True) for curve in (one, other)]
    for x, (upper, lower) in enumerate(zip(*levels, strict=True)):
        if upper is not None and lower is not None and len(curves) <= 2:
            for y in range(min(upper, lower), max(upper, lower)):
                halves[y][x] = f"a{first if upper < lower else second}"
    for number, curve in reversed(curves):
        # A line goes on after its end, as an edge of the area.
        for x, y in _points(_levels(curve, columns, rows * 2, end_ms, cards, beyond=len(curves) <= 2)):
            halves[y][x] = f"l{number}"
    cells: list[list[Markup | None]] = []
    for above, below in zip(halves[::2], halves[1::2], strict=True):
        pairs = zip(above, below, strict=True)
        cells.append([None if pair == ("p", "p") else (f"half {pair[0]} {pair[1]}", "▀") for pair in pairs])
    return cells


def _levels(curve: Curve, columns: int, rows: int, end_ms: int, cards: int, *, beyond: bool = False) -> list[int | None]:
    """The row of a step line in each column, counted from the top; None in columns where it is not drawn. beyond: go on after its end."""
    levels: list[int | None] = []
    at = 0
    for x in range(columns):
        # Take the count at the column's right edge, so that the last column shows how the race ended.
        moment = end_ms * (x + 1) // columns
        while at + 1 < len(curve) and curve[at + 1][0] <= moment:
            at += 1
        ended = bool(curve) and x > 0 and end_ms * x // columns >= curve[-1][0] and not beyond
        # There is nothing to draw before the first count that was heard.
        if ended or (curve and moment < curve[0][0]):
            levels.append(None)
            continue
        home = max(0, min(curve[at][1] if curve else 0, cards))
        levels.append(rows - 1 - home * (rows - 1) // max(cards, 1))
    return levels


def _points(levels: list[int | None]) -> list[tuple[int, int]]:
    """The points of a step line, given its rows, from the top left. Steps are filled in so that the line has no gaps."""
    points: list[tuple[int, int]] = []
    before: int | None = None
    for x, y in enumerate(levels):
        if y is not None:
            span = range(min(y, before), max(y, before) + 1) if before is not None else range(y, y + 1)
            points += [(x, each) for each in span]
            before = y
    return points
