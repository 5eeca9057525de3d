"""Reaching a slot: the cursor's way over the table, and slot names as they are typed. Pure."""

from __future__ import annotations

from typing import NamedTuple

from client.game.board import Board
from client.tui.keymap import COLUMN_LETTERS, SLOT_STARTERS, Command

NAMED = "'"
"""Begins a slot's name whose letter is a key of the cursor."""


def moved(board: Board, cursor: str, action: Command) -> str:
    """Where the cursor goes: round the grid and what is beside it, the reserves one below the other, or stock and waste.

    Under a wide board stock and waste lie below its last row.
    """
    if board.columns == 0 or board.rows == 0:
        return cursor
    beside = _beside(board)
    if cursor in beside:
        return _from_beside(board, beside, cursor, action)
    column, row = board.letters.find(cursor[:1]), int(cursor[1:]) if cursor[1:].isdecimal() else 0
    if column < 0 or not 1 <= row <= board.rows:
        return "a1"
    match action:
        case Command.UP | Command.DOWN:
            to = row - 1 if action is Command.UP else row + 1
            if board.is_wide and beside and not 1 <= to <= board.rows:
                return beside[0] if column < board.columns // 2 else beside[-1]
            return f"{cursor[0]}{(to - 1) % board.rows + 1}"
        case Command.LEFT | Command.RIGHT:
            to = column - 1 if action is Command.LEFT else column + 1
            if not board.is_wide and beside and not 0 <= to < board.columns:
                return _level(board, beside, row, action)
            return f"{board.letters[to % board.columns]}{row}"
        case _:
            return cursor


def _beside(board: Board) -> tuple[str, ...]:
    return board.reserves or (*(["s"] if board.stock else []), *(["w"] if board.waste else []))


def _level(board: Board, beside: tuple[str, ...], row: int, action: Command) -> str:
    """Of what lies beside the grid, what is reached from a row of it."""
    if board.reserves:
        return beside[min(row, len(beside)) - 1]
    return beside[0] if action is Command.RIGHT else beside[-1]


def _from_beside(board: Board, beside: tuple[str, ...], cursor: str, action: Command) -> str:
    at, first, last = beside.index(cursor), board.letters[0], board.letters[-1]
    if board.reserves:
        row = min(at + 1, board.rows)
        match action:
            case Command.UP | Command.DOWN:
                return beside[(at + (1 if action is Command.DOWN else -1)) % len(beside)]
            case Command.LEFT:
                return f"{last}{row}"
            case _:
                return f"{first}{row}"
    to = at + (1 if action is Command.RIGHT else -1)
    if action in (Command.LEFT, Command.RIGHT) and 0 <= to < len(beside):
        return beside[to]
    if board.is_wide:
        if action in (Command.LEFT, Command.RIGHT):
            return beside[to % len(beside)]
        column = board.letters[board.columns // 2 - 1 + at]
        return f"{column}{board.rows if action is Command.UP else 1}"
    middle = (board.rows + 1) // 2
    match action:
        case Command.LEFT:
            return f"{last}{middle}"
        case Command.RIGHT:
            return f"{first}{middle}"
        case _:
            return cursor


class Typed(NamedTuple):
    """After a key: what there is of a slot's name now, the slot that was named, and whether the key was part of a name at all."""

    typed: str
    slot: str | None
    taken: bool


def type_slot(typed: str, key: str) -> Typed:
    """One more key of a slot's name. A key that cannot go on with the name forgets it and is an ordinary key again; esc only forgets."""
    if typed and typed != NAMED and key.isdigit():
        return Typed("", typed + key, taken=True)
    if key in SLOT_STARTERS or (typed == NAMED and key in COLUMN_LETTERS):
        return Typed(key, None, taken=True)
    return Typed("", None, taken=bool(typed) and key == "esc")
