"""The two ways to reach a slot: moving the cursor over the table, and typing the slot's name. Pure."""

from __future__ import annotations

from typing import NamedTuple

from client.game.board import Board
from client.tui.keymap import COLUMN_LETTERS, SLOT_STARTERS, Command

NAMED = "'"
"""Typed before a slot's name whose letter also moves the cursor."""


def moved(board: Board, cursor: str, action: Command) -> str:
    """Where the cursor goes: around the grid and what lies beside it, which is the column of reserves, or stock and waste.

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
    """The place beside the grid that is reached from this row."""
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
