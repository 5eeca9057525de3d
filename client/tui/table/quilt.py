"""A quilt of cards, upright and sideways by turns, with their narrow ends towards each other's sides. Owns how the weave is drawn.

An upright card is narrow and as high as its cell; a sideways one is as wide as its cell and low. Cards with a free end are bright, the
others lie in the shade; a gap is the bare felt. Without colours the long sides are drawn as lines and a free card has a dot.
"""

from __future__ import annotations

from client.game.board import Board, is_upright
from client.game.moves import top_card
from client.text.width import fit
from client.tui.actions import Press
from client.tui.drawing import cards
from client.tui.drawing.cards import CardSize, Ink
from client.tui.drawing.picture import Hit, Line, Picture, Rect, Slot
from client.tui.drawing.theme import Theme
from client.tui.table.grid import letter_label
from client.tui.table.marks import Marks
from protocol.cards import FACE_DOWN

LABELS = 2
CELLS = (CardSize(14, 6, 0), CardSize(12, 5, 0), CardSize(10, 4, 0), CardSize(8, 3, 0), CardSize(6, 2, 0))
"""A cell's columns and rows, the largest first."""


def quilt_size(board: Board, width: int, height: int) -> CardSize:
    """The largest cells of which the whole quilt fits."""
    return next((cell for cell in CELLS if quilt_width(board, cell) <= width and quilt_height(board, cell) <= height), CELLS[-1])


def quilt_width(board: Board, cell: CardSize) -> int:
    return LABELS + board.columns * cell.width


def quilt_height(board: Board, cell: CardSize) -> int:
    return 1 + board.rows * cell.height


def quilt(marks: Marks, cell: CardSize, theme: Theme) -> Picture:
    """The quilt as a picture."""
    board = marks.board
    letters: Line = [("faint", " " * LABELS)]
    for letter in board.letters:
        letters.append(("cursor" if marks.cursor[:1] == letter else "faint", letter_label(letter).center(cell.width)))
    lines = [letters]
    for number in range(1, board.rows + 1):
        under = marks.cursor[1:] == str(number) and marks.cursor[:1] in board.letters
        label: Line = [("cursor" if under else "faint", fit(str(number), LABELS))]
        cells = [slot_lines(marks, f"{letter}{number}", cell, theme) for letter in board.letters]
        for at in range(cell.height):
            start = label if at == (cell.height - 1) // 2 else [("faint", " " * LABELS)]
            lines.append([*start, *(piece for drawn in cells for piece in drawn[at])])

    cells_at = {
        f"{letter}{down + 1}": Rect(LABELS + across * cell.width, 1 + down * cell.height, cell.width, cell.height)
        for across, letter in enumerate(board.letters)
        for down in range(board.rows)
    }
    hits = tuple(Hit(rect, Press(slot)) for slot, rect in cells_at.items())
    slots = tuple(Slot(slot, _card_rect(slot, rect), top_card(marks.view, slot)) for slot, rect in cells_at.items())
    return Picture(tuple(lines), hits, slots)


def _card_rect(slot: str, cell: Rect) -> Rect:
    """Where in its cell a card lies, with the column on either side of it in which the cursor stands."""
    if is_upright(slot):
        beside = _margin(cell.width) - 1
        return Rect(cell.column + beside, cell.row, cell.width - 2 * beside, cell.height)
    above = 1 if cell.height > 2 else 0
    return Rect(cell.column, cell.row + above, cell.width, max(cell.height - 2, 1))


def _margin(width: int) -> int:
    """Columns on either side of an upright card."""
    return max((width - 4) // 4, 1)


def slot_lines(marks: Marks, slot: str, cell: CardSize, theme: Theme) -> list[Line]:
    """One cell of the quilt."""
    cursor = marks.cursor == slot
    pile = marks.view.piles.get(slot, ())
    if not pile:
        return _gap(cell, theme, cursor=cursor)
    sign = marks.sign(slot, theme)
    if theme.bordered and sign == " " and marks.free is not None and slot in marks.free:
        sign = theme.glyphs.middle
    draw = _upright if is_upright(slot) else _sideways
    return draw(pile[-1], cell, theme, marks.look(slot), sign, cursor=cursor)


def _gap(cell: CardSize, theme: Theme, *, cursor: bool) -> list[Line]:
    lines: list[Line] = [[("gap", " " * (cell.width - 2))] for _ in range(cell.height)]
    lines[(cell.height - 1) // 2] = [("gap", theme.glyphs.middle.center(cell.width - 2))]
    return cards.edged(lines, theme, cursor=cursor)


def _upright(card: str, cell: CardSize, theme: Theme, look: Ink, sign: str, *, cursor: bool) -> list[Line]:
    margin = _margin(cell.width)
    rows = _rows(card, cell.width - 2 * margin, cell.height, theme, sign)
    left, right = _sides(theme, cursor=cursor, otherwise=theme.glyphs.frame.down if theme.bordered else " ")
    role = "cursor" if cursor else f"edge {look}" if theme.bordered else "felt"
    felt = " " * (margin - 1)
    return [[("felt", felt), (role, left), (f"{look} {card[1:]}", text), (role, right), ("felt", felt)] for text in rows]


def _sideways(card: str, cell: CardSize, theme: Theme, look: Ink, sign: str, *, cursor: bool) -> list[Line]:
    """One row lower than its cell where that is low, two where it is high; half a row more of the card where there are half blocks."""
    height = max(cell.height - 2, 1)
    left, right = _sides(theme, cursor=cursor, otherwise=" ")
    ground = f"{look} {card[1:]}"
    role = "cursor" if cursor else ground
    body: list[Line] = [[(role, left), (ground, text), (role, right)] for text in _rows(card, cell.width - 2, height, theme, sign)]
    edge = "edge back" if card == FACE_DOWN else f"edge {look}"
    above = [_rim(cell.width, theme, edge, cursor=cursor, top=True)] if cell.height > 2 else []
    return [*above, *body, _rim(cell.width, theme, edge, cursor=cursor, top=False)]


def _rim(width: int, theme: Theme, role: str, *, cursor: bool, top: bool) -> Line:
    """The row above or below a sideways card: its long side as a line, or half a row of the card itself."""
    glyphs = theme.glyphs
    if cursor:
        left, across, right = glyphs.cursor_top if top else glyphs.cursor_bottom
        return [("cursor", left + across * (width - 2) + right)]
    sign = glyphs.frame.across if theme.bordered else glyphs.lower if top else glyphs.upper
    return [(role, sign * width)]


def _sides(theme: Theme, *, cursor: bool, otherwise: str) -> tuple[str, str]:
    return theme.glyphs.cursor if cursor else (otherwise, otherwise)


def _rows(card: str, width: int, height: int, theme: Theme, sign: str) -> list[str]:
    """Rank and suit in two opposite corners, the sign in a third."""
    if card == FACE_DOWN:
        return [theme.glyphs.back * width] * height
    name = cards.card_name(card, theme)
    if height == 1:
        return [fit(name, width - 1) + sign]
    rows = [" " * width for _ in range(height)]
    rows[0] = fit(name, width - 1) + sign
    rows[-1] = name.rjust(width)
    if height > 3:
        rows[height // 2] = theme.glyphs.suits.get(card[1:], "?").center(width)
    return rows
