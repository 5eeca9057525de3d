"""The layout as a grid of cards or piles, for carpets and twin foundations. Draws the grid, not what lies beside it."""

from __future__ import annotations

from client.game.board import Board
from client.game.moves import top_card
from client.text.width import fit
from client.tui.actions import Press
from client.tui.drawing import cards
from client.tui.drawing.cards import EDGES, CardSize
from client.tui.drawing.picture import Hit, Line, Picture, Rect, Slot
from client.tui.keymap import CURSOR_LETTERS
from client.tui.scene import Scene
from client.tui.table.marks import Marks

LABELS = 3
"""The columns for the row numbers."""


def letter_label(letter: str) -> str:
    """A column's letter as it is typed: with an apostrophe before it if the letter alone moves the cursor."""
    return f"'{letter}" if letter in CURSOR_LETTERS else letter


def grid_size(board: Board, width: int, height: int) -> CardSize:
    """The largest card size with which the whole grid fits."""
    sizes = cards.PILE_SIZES if board.is_wide else cards.SIZES
    return next((size for size in sizes if grid_width(board, size) <= width and grid_height(board, size) <= height), cards.DENSE)


def grid_width(board: Board, card: CardSize) -> int:
    return LABELS + board.columns * (card.width + EDGES)


def grid_height(board: Board, card: CardSize) -> int:
    """Rows for the letters, the cards, in a wide grid what lies under them, and a free row below each row, for the cursor's frame."""
    return 1 + board.rows * (card.height + card.gap + board.is_wide)


def grid(scene: Scene, marks: Marks, card: CardSize) -> Picture:
    """The grid as a picture."""
    board = marks.board
    wide, tall = card.width + EDGES, card.height + board.is_wide
    lines = [_between(scene, board, 0, card)]
    for number in range(1, board.rows + 1):
        cells = [_slot_lines(scene, marks, f"{letter}{number}", card) for letter in board.letters]
        for at in range(tall):
            label = fit(f" {number}" if at == card.height // 2 else "", LABELS)
            lines.append([("faint", label), *(piece for drawn in cells for piece in drawn[at])])
        if card.gap:
            lines.append(_between(scene, board, number, card))

    cells_at = {
        f"{letter}{down + 1}": Rect(LABELS + across * wide, 1 + down * (tall + card.gap), wide, tall)
        for across, letter in enumerate(board.letters)
        for down in range(board.rows)
    }
    slots = tuple(
        Slot(slot, Rect(rect.column + 1, rect.row, card.width, card.height), top_card(marks.view, slot)) for slot, rect in cells_at.items()
    )
    return Picture(tuple(lines), tuple(Hit(rect, Press(slot)) for slot, rect in cells_at.items()), slots)


def _between(scene: Scene, board: Board, above: int, card: CardSize) -> Line:
    """The row between two rows of cards, or the one with the letters above the first: the cursor's frame goes through it."""
    line: Line = [("faint", " " * LABELS)]
    for letter in board.letters:
        label = letter_label(letter) if above == 0 else ""
        if card.gap and scene.ui.cursor == f"{letter}{above + 1}":
            line.append(("cursor", cards.cursor_edge(card, scene.theme, label, top=True)))
        elif card.gap and not board.is_wide and scene.ui.cursor == f"{letter}{above}":
            line.append(("cursor", cards.cursor_edge(card, scene.theme, label, top=False)))
        else:
            line.append(("faint", label.center(card.width + EDGES)))
    return line


def _slot_lines(scene: Scene, marks: Marks, slot: str, card: CardSize) -> list[Line]:
    theme, view = scene.theme, marks.view
    pile = view.piles.get(slot, ())
    beneath = pile[-2::-1] if len(pile) > 1 else ()
    if slot == view.pending:
        lines = cards.gap(slot, card, theme, waits=True)
    elif pile:
        inside = () if marks.board.is_wide else beneath
        lines = cards.face(pile[-1], card, theme, marks.look(slot), mark=marks.sign(slot, theme), beneath=inside)
    else:
        lines = cards.gap(slot, card, theme, open_for=theme.glyphs.takes if slot in marks.gaps else "")
    cursor = marks.cursor == slot
    drawn = cards.edged(lines, theme, cursor=cursor)
    return [*drawn, _depth(scene, beneath, card, cursor=cursor and bool(card.gap))] if marks.board.is_wide else drawn


def _depth(scene: Scene, beneath: tuple[str, ...], card: CardSize, *, cursor: bool) -> Line:
    """The row below a card, with what lies under it. cursor: draw it as the lower side of the cursor's frame."""
    role, (left, rest, right) = ("cursor", scene.theme.glyphs.cursor_bottom) if cursor else ("faint", (" ", " ", " "))
    pieces = cards.depth_text(beneath, card.width, scene.theme) if beneath else ()
    line: Line = [(f"suit {suit}" if suit else "faint", text) for suit, text in pieces]
    return [(role, left), *line, (role, rest * (card.width - sum(len(text) for _, text in pieces)) + right)]
