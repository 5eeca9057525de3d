"""The two ways to reach a slot: moving the cursor over the table, and typing the slot's name. Pure."""

from __future__ import annotations

from typing import NamedTuple

from client.game.board import Board
from client.tui.keymap import COLUMN_LETTERS, SLOT_STARTERS, Command

NAMED = "'"
"""Typed before a slot's name whose letter also moves the cursor."""
ACROSS = (Command.LEFT, Command.RIGHT)


def moved(board: Board, cursor: str, action: Command) -> str:
    """Where an arrow takes the cursor: around the grid and what lies beside it, which is the column of reserves, or stock and waste.

    On a wide board stock and waste lie below the last row.
    """
    if board.columns == 0 or board.rows == 0:
        return cursor
    beside = _beside(board)
    if cursor in beside:
        return _from_beside(board, beside, cursor, action)
    column, row = board.letters.find(cursor[:1]), int(cursor[1:]) if cursor[1:].isdecimal() else 0
    if column < 0 or not 1 <= row <= board.rows:
        return "a1"
    by = _by(action)
    if action in ACROSS:
        to = column + by
        if not board.is_wide and beside and not 0 <= to < board.columns:
            return _level(board, beside, row, action)
        return f"{board.letters[to % board.columns]}{row}"
    to = row + by
    if board.is_wide and beside and not 1 <= to <= board.rows:
        return beside[0] if column < board.columns // 2 else beside[-1]
    return f"{cursor[0]}{(to - 1) % board.rows + 1}"


def _by(action: Command) -> int:
    return 1 if action in (Command.RIGHT, Command.DOWN) else -1


def _beside(board: Board) -> tuple[str, ...]:
    return board.reserves or (*(["s"] if board.stock else []), *(["w"] if board.waste else []))


def _level(board: Board, beside: tuple[str, ...], row: int, action: Command) -> str:
    """The place beside the grid that is reached from this row."""
    if board.reserves:
        return beside[min(row, len(beside)) - 1]
    return beside[0] if action is Command.RIGHT else beside[-1]


def _from_beside(board: Board, beside: tuple[str, ...], cursor: str, action: Command) -> str:
    at, edge = beside.index(cursor), board.letters[0 if action is Command.RIGHT else -1]
    to = at + _by(action)
    if board.reserves:
        return f"{edge}{min(at + 1, board.rows)}" if action in ACROSS else beside[to % len(beside)]
    if board.is_wide:
        if action in ACROSS:
            return beside[to % len(beside)]
        return f"{board.letters[board.columns // 2 - 1 + at]}{board.rows if action is Command.UP else 1}"
    if action not in ACROSS:
        return cursor
    return beside[to] if 0 <= to < len(beside) else f"{edge}{(board.rows + 1) // 2}"


class SlotTyped(NamedTuple):
    """The state after a key: what has been typed of a slot's name, the slot that is named, and whether the key was part of a name."""

    typed: str
    slot: str | None
    taken: bool


def type_slot(typed: str, key: str) -> SlotTyped:
    """Add a key to a slot's name. A key that does not continue the name discards it and is an ordinary key; esc only discards it."""
    if typed and typed != NAMED and key.isdigit():
        return SlotTyped("", typed + key, taken=True)
    if key in SLOT_STARTERS or (typed == NAMED and key in COLUMN_LETTERS):
        return SlotTyped(key, None, taken=True)
    return SlotTyped("", None, taken=bool(typed) and key == "esc")
