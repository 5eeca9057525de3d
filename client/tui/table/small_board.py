"""A board drawn so small that two fit side by side in eighty columns: grids as low cards, quilts and wide layouts as card names.

Decides how small a board is drawn; on a wide terminal it looks as on the race screen (`grid`, `quilt`). Nothing on it can be pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from client.game.board import Board, is_upright
from client.text.width import fit
from client.tui.drawing.cards import DRAWN, HUGE, LARGE, MEDIUM, NARROW, SMALL, TINY, CardSize, Ink, card_name
from client.tui.drawing.picture import Line, Picture, block, centred, fit_line, stacked
from client.tui.drawing.theme import Theme
from client.tui.scene import Scene
from client.tui.table.grid import grid, grid_height, grid_width
from client.tui.table.marks import Marks
from client.tui.table.quilt import CELLS, quilt, quilt_height, quilt_width
from protocol.cards import CARD_TEXT
from protocol.views import View

LOW: Final = CardSize(5, 2, 1)
BOXED: Final = CardSize(5, 3, 0)
"""As high as LOW with its free row, which cards with borders do not need."""
SMALL_LABELS: Final = 2
RESERVE: Final = 9
"""The columns of a reserve."""


def small_board(scene: Scene, marks: Marks, width: int, height: int) -> Picture:
    """The layout and the reserves below it, in at most this many columns and rows. The cursor of `marks` shows the marked place."""
    reserves = _reserves(marks, scene.theme, width)
    drawn = _layout(scene, marks, width, height - len(reserves))
    return stacked(drawn, block(reserves)) if reserves else drawn


def _layout(scene: Scene, marks: Marks, width: int, height: int) -> Picture:
    board = marks.board
    scene = replace(scene, ui=replace(scene.ui, cursor=marks.cursor))
    found = next((each for each in sizes(board, scene.theme) if each[1] <= width and each[2] <= height), None)
    if found is not None:
        drawn = quilt(marks, found[0], scene.theme) if board.family == "quilt" else grid(scene, marks, found[0])
    elif board.family == "quilt":
        drawn = block(_small_quilt(marks, scene.theme))
    else:
        cell_width = 4 if SMALL_LABELS + 4 * board.columns <= width else 3
        drawn = block(_fans(marks, scene.theme, cell_width, max((height - 1) // max(board.rows, 1), 1)))
    return centred(drawn, width)


def sizes(board: Board, theme: Theme) -> tuple[tuple[CardSize, int, int], ...]:
    """The card sizes that the layout can be drawn with, the largest first, each with the columns and rows it needs."""
    if board.family == "quilt":
        return tuple((cell, quilt_width(board, cell), quilt_height(board, cell)) for cell in CELLS)
    low = BOXED if theme.bordered else LOW
    able = (LARGE, MEDIUM, SMALL, NARROW) if board.is_wide else (HUGE, LARGE, MEDIUM, SMALL, NARROW, low, TINY)
    return tuple((size, grid_width(board, size), grid_height(board, size)) for size in able)


def reserve_rows(board: Board, width: int) -> int:
    """The number of rows that the reserves take."""
    return -(-len(board.reserves) // max(min(width // RESERVE, len(board.reserves)), 1))


def short_name(card: str, theme: Theme) -> str:
    """A card in two columns: `T♦`."""
    return card[0] + theme.glyphs.suits.get(card[1:], "?") if card in CARD_TEXT else card_name(card, theme)


def _letters(marks: Marks, width: int) -> Line:
    return [("faint", " " * SMALL_LABELS), *[("faint", fit(letter.center(width), width)) for letter in marks.board.letters]]


# ---- a quilt


def _small_quilt(marks: Marks, theme: Theme) -> list[Line]:
    """Slots of four columns: upright cards are narrow, sideways ones as wide as the slot."""
    lines = [_letters(marks, 4)]
    for number in range(1, marks.board.rows + 1):
        line: Line = [("faint", fit(str(number), SMALL_LABELS))]
        for letter in marks.board.letters:
            line += _quilt_slot(marks, f"{letter}{number}", theme)
        lines.append(line)
    return lines


def _quilt_slot(marks: Marks, slot: str, theme: Theme) -> Line:
    pile, marked = marks.view.piles.get(slot, ()), marks.cursor == slot
    sides, (left, right) = ("cursor", theme.glyphs.cursor) if marked else ("felt", (" ", " "))
    if not pile:
        return [(sides, left), ("gap", theme.glyphs.middle.center(2)), (sides, right)]
    ground = f"{marks.look(slot)} {pile[-1][1:]}" if pile[-1] in DRAWN else "felt"
    if not marked:
        sides = "felt" if is_upright(slot) else ground
        if theme.bordered and marks.free is not None and slot in marks.free:
            # Without colours, a border marks the cards that are free.
            left = right = theme.glyphs.frame.down if is_upright(slot) else theme.glyphs.frame.across
    return [(sides, left), (ground, short_name(pile[-1], theme)), (sides, right)]


# ---- a wide layout


def _fans(marks: Marks, theme: Theme, width: int, height: int) -> list[Line]:
    """Each pile as a column of names: its top card, and below it as many of those under it as fit, the next one first."""
    lines = [_letters(marks, width)]
    for number in range(1, marks.board.rows + 1):
        slots = [f"{letter}{number}" for letter in marks.board.letters]
        deepest = max((len(marks.view.piles.get(slot, ())) for slot in slots), default=0)
        columns = [_fan(marks, slot, theme, width, height) for slot in slots]
        for at in range(min(max(deepest, 1) + 1, height)):
            label: Line = [("faint", fit(str(number) if at == 0 else "", SMALL_LABELS))]
            lines.append([*label, *(piece for column in columns for piece in column[at])])
    return lines


def _fan(marks: Marks, slot: str, theme: Theme, width: int, height: int) -> list[Line]:
    pile, marked = marks.view.piles.get(slot, ()), marks.cursor == slot
    rows: list[Line] = [_top(pile, marks.look(slot), theme, marked=marked)]
    beneath = pile[-2::-1] if len(pile) > 1 else ()
    shown = len(beneath) if len(beneath) < height - 1 else max(height - 2, 0)
    rows += [[(f"suit {card[1:]}" if card in DRAWN else "faint", short_name(card, theme))] for card in beneath[:shown]]
    if shown < len(beneath) and height > 1:
        rows.append([("faint", f"+{len(beneath) - shown}")])
    return [fit_line(row, width) for row in [*rows, *[[] for _ in range(height - len(rows))]]]


def _top(pile: Sequence[str], look: Ink, theme: Theme, *, marked: bool) -> Line:
    mark: Line = [("cursor", theme.glyphs.cursor[1])] if marked else []
    if not pile:
        return [("gap", theme.glyphs.middle.center(2)), *mark]
    ground = f"{look} {pile[-1][1:]}" if pile[-1] in DRAWN else "felt"
    return [(ground, short_name(pile[-1], theme)), *mark]


# ---- reserves


def _reserves(marks: Marks, theme: Theme, width: int) -> list[Line]:
    """Each reserve with its top card and how many lie under it; as many in a row as fit."""
    names = marks.board.reserves
    if not names:
        return []
    across = max(min(width // RESERVE, len(names)), 1)
    lines: list[Line] = [[]]
    for number, name in enumerate(names):
        if number and number % across == 0:
            lines.append([])
        pile, marked = marks.view.piles[name], marks.cursor == name
        depth = f"+{len(pile) - 1}" if len(pile) > 1 else ""
        top = _top(pile, marks.look(name), theme, marked=False)
        lines[-1] += [("cursor" if marked else "faint", f"{name} "), *top, ("faint", fit(depth, RESERVE - 5))]
    return lines


def place_of_move(before: View, move: str) -> str:
    """The place to mark on the board after a move: where its card went if that is on the layout, else where it came from (or `w`, `s`)."""
    source, _, target = move.rstrip("+-").partition(":")
    return target if target in before.piles else source
