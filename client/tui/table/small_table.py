"""One player's table among others: who they are and how far, a row each for foundations and stock, the small board, and a row below it.

Shared by all screens that show tables side by side. Nothing on it can be pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from client.game.board import Board, top_home
from client.tui.drawing.cards import CardSize
from client.tui.drawing.picture import MIDDLE, Line, Picture, block, line_width, placed, row, shifted, spread, stacked
from client.tui.drawing.theme import Theme
from client.tui.scene import Scene
from client.tui.table.marks import Marks
from client.tui.table.panel import small_cards
from client.tui.table.small_board import RESERVE, reserve_rows, sizes, small_board
from protocol.text import counted
from protocol.views import View

BETWEEN = 2
"""Columns between two tables."""
OWN_ROWS = 5
"""The rows of a table besides its board: two for the bar, then foundations, stock, and one below the cards."""
OWN_COLUMNS = 44
"""The fewest columns of those rows."""
LEAST = 4
"""The fewest rows of the curves."""
SIDE_LEAST, SIDE_MOST = 34, 64
"""The fewest and the most columns of what stands at the side."""
WIDEST = 76
"""The most columns of a table's own rows: if the ends of a row were farther apart, nobody would read them together."""


class Arrangement(NamedTuple):
    """How tables stand: the columns and rows of each, whether they form a column, and columns at the side or rows below for curves."""

    width: int
    height: int
    is_column: bool = False
    side: int = 0
    below: int = 0


def arranged(board: Board, tables: int, width: int, height: int, theme: Theme, *, most: int) -> Arrangement:
    """The arrangement with the largest cards. most: the most rows of curves below the tables, if there is no room at the side."""
    each = Arrangement(min((width - 2 - BETWEEN * (tables - 1)) // tables, WIDEST), height)
    found = _fitting(board, each, theme)
    if board.is_wide and tables > 1:
        column = Arrangement(width - 1, height // tables, is_column=True)
        larger = _fitting(board, column, theme)
        each, found = (column, larger) if len(larger) > len(found) else (each, found)
    if not most or not found:
        return each
    _, columns, rows = found[0]
    own = max(columns, OWN_COLUMNS, RESERVE * len(board.reserves))
    # One free column on the left, one on the right.
    side = min(width - 2 - (own + BETWEEN) * (1 if each.is_column else tables), SIDE_MOST)
    if side >= SIDE_LEAST:
        return each._replace(width=own, side=side)
    spare = height - OWN_ROWS - reserve_rows(board, each.width) - rows
    below = min(spare, most) if spare >= LEAST and not each.is_column else 0
    return each._replace(width=min(each.width, max(columns, WIDEST)), height=each.height - below, below=below)


def _fitting(board: Board, each: Arrangement, theme: Theme) -> tuple[tuple[CardSize, int, int], ...]:
    """The card sizes that a table has room for, the largest first."""
    left = each.height - OWN_ROWS - reserve_rows(board, each.width)
    return tuple(found for found in sizes(board, theme) if found[1] <= each.width and found[2] <= left)


def beside_each_other(tables: Sequence[Picture], how: Arrangement, width: int, aside: Picture) -> Picture:
    """The tables as arranged, centred in `width` columns, with `aside` at their side."""
    cells = [(how.width + BETWEEN, stacked(*tables))] if how.is_column else [(how.width + BETWEEN, table) for table in tables]
    cells.append((how.side, aside))
    taken = sum(columns for columns, _ in cells) - (0 if how.side else BETWEEN)
    return shifted(row(*cells), max(width - taken, 0) // 2)


def small_table(scene: Scene, marks: Marks, ply: int, above: list[Line], below: Line, *, width: int, height: int) -> Picture:
    """ply: how many moves led to the view. above: who the player is, and how far they are. below: the row under the cards."""
    rows = [*above, _foundations(marks.view, ply, scene.theme, width), _stock(marks, scene.theme, width)]
    cards_room = height - len(rows) - 1
    body = placed(small_board(scene, marks, width, cards_room), cards_room, MIDDLE if height > 26 else 0)
    # Nothing on it can be pressed.
    return replace(stacked(block(rows), body, block([below])), hits=(), slots=())


def _foundations(view: View, ply: int, theme: Theme, width: int) -> Line:
    """The top card of each foundation, first those built up, then those built down; and the number of moves."""
    line: Line = []
    ways = (("+", theme.glyphs.playable), ("-", theme.glyphs.down)) if len(view.foundations) > 4 else (("", ""),)
    for sign, arrow in ways:
        line.append(("title", f"{' ' if line else ''}{arrow}"))
        for name, count in view.foundations.items():
            if not name.endswith(sign):
                continue
            on_top = top_home(name, count)[:1].replace("T", "10") or theme.glyphs.dash
            line += [(f"suit {name[:1]}", theme.glyphs.suits.get(name[:1], "?")), ("felt", on_top if sign else f"{on_top:2}")]
    return spread(line, [("faint", counted(ply, "move"))], width, "felt")


def _stock(marks: Marks, theme: Theme, width: int) -> Line:
    """What is left of the stock, the waste from its top down, and the redeals."""
    view = marks.view
    line: Line = []
    if marks.board.stock:
        line.append(("cursor" if marks.cursor == "s" else "faint", f"stock {view.stock}  "))
        if view.stock_next:
            line += [("faint", "next "), *small_cards(theme, view.stock_next), ("felt", " ")]
    if marks.board.waste:
        line.append(("cursor" if marks.cursor in ("w", "s") else "faint", f"waste {len(view.waste)} "))
        redeals: Line = [("faint", f"redeals {view.redeals}")] if view.redeals else []
        left = (width - line_width(line) - line_width(redeals)) // 4
        line += small_cards(theme, view.waste[: -left - 1 : -1] if left > 0 else ())
        return spread(line, redeals, width, "felt")
    return line
