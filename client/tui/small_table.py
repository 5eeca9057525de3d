"""One player's table among others: who and how far, foundations, stock and waste in a row each, the small board, and a row below it.

Shared by all screens that show tables side by side. Nothing of it can be pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from client.game.board import Board
from client.tui.marks import Marks
from client.tui.panel import small_cards
from client.tui.picture import MIDDLE, Line, Picture, block, line_width, placed, row, shifted, spread, stacked
from client.tui.scene import Scene
from client.tui.small_board import rows_for_large, small_board
from client.tui.theme import Theme
from protocol.cards import RANKS
from protocol.text import counted
from protocol.views import View

BETWEEN = 2
"""Columns between two tables."""
OWN_ROWS = 5
"""Of a table: two of its bar, foundations, stock, and one below the cards."""
LEAST = 3
"""Rows of the curves, at least."""
WIDEST = 76
"""Columns of a table's own rows: farther apart its ends would not be read together."""


def width_of_each(tables: int, width: int) -> int:
    """Columns of each of so many tables side by side."""
    return min((width - 1 - BETWEEN * (tables - 1)) // tables, WIDEST)


def side_by_side(tables: Sequence[Picture], width: int) -> Picture:
    """Tables in the middle of so many columns."""
    each = width_of_each(len(tables), width)
    margin = max(width - each * len(tables) - BETWEEN * (len(tables) - 1), 0) // 2
    return shifted(row(*((each + BETWEEN, table) for table in tables[:-1]), (each, tables[-1])), margin)


def rows_below(board: Board, width: int, height: int, most: int) -> int:
    """How many of so many rows the curves have below the tables: large cards come before them, and small ones after."""
    large = rows_for_large(board, width)
    spare = height - OWN_ROWS - large if large is not None else -1
    return most if spare < 0 else 0 if spare < LEAST else min(spare, most)


def small_table(scene: Scene, marks: Marks, ply: int, above: list[Line], below: Line, *, width: int, height: int) -> Picture:
    """ply: the moves that led to the view. above: who it is, and how far. below: the row under the cards."""
    rows = [*above, _foundations(marks.view, ply, marks, scene.theme, width), _stock(marks.view, marks, scene.theme, width)]
    cards_room = height - len(rows) - 1
    body = placed(small_board(scene, marks, width, cards_room), cards_room, MIDDLE if height > 26 else 0)
    # Nothing of it can be pressed.
    return replace(stacked(block(rows), body, block([below])), hits=(), slots=())


def _foundations(view: View, ply: int, marks: Marks, theme: Theme, width: int) -> Line:
    """The top card of each foundation, those that are built up before those that are built down; and the moves made."""
    line: Line = []
    ways = (("+", theme.glyphs.playable), ("-", theme.glyphs.down)) if len(view.foundations) > 4 else (("", ""),)
    for sign, arrow in ways:
        line.append(("title", f"{' ' if line else ''}{arrow}"))
        for name, count in view.foundations.items():
            if not name.endswith(sign):
                continue
            run = RANKS[::-1] if sign == "-" else RANKS
            on_top = run[min(count, len(run)) - 1] if count > 0 else theme.glyphs.dash
            line += [(f"suit {name[:1]}", theme.glyphs.suits.get(name[:1], "?")), ("felt", f"{on_top}{'' if sign else ' '}")]
    return spread(line, [("faint", counted(ply, "move"))], width, "felt")


def _stock(view: View, marks: Marks, theme: Theme, width: int) -> Line:
    """How much stock is left, the waste from its top down, and redeals."""
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
