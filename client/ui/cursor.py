"""Reaching a slot: the cursor's way over the table, and slot names as they are typed. Pure."""

from __future__ import annotations

from typing import NamedTuple

from client.keys import COLUMN_LETTERS, SLOT_STARTERS, Action
from protocol.views import View

NAMED = "'"
"""Begins a slot's name whose letter is a key of the cursor."""


def grid_of(view: View) -> tuple[int, int]:
    """Columns and rows of the layout, read off its slots' names."""
    slots = [slot for slot in view.piles if slot[:1].isalpha() and slot[1:].isdigit()]
    columns = max((ord(slot[0]) - ord("a") + 1 for slot in slots), default=0)
    return columns, max((int(slot[1:]) for slot in slots), default=0)


def moved(view: View, cursor: str, action: Action) -> str:
    """Where the cursor goes: round the carpet's rows; right of its last column lie the stock (`s`) and the waste (`w`)."""
    columns, rows = grid_of(view)
    last = chr(ord("a") + max(columns - 1, 0))
    middle = (rows + 1) // 2
    match cursor, action:
        case "s", Action.RIGHT:
            return "w"
        case "w", Action.LEFT:
            return "s"
        case "s", Action.LEFT:
            return f"{last}{middle}"
        case "w", Action.RIGHT:
            return f"a{middle}"
        case "s" | "w", _:
            return cursor
        case _:
            pass
    column, line = cursor[0], int(cursor[1:])
    match action:
        case Action.UP:
            return f"{column}{(line - 2) % max(rows, 1) + 1}"
        case Action.DOWN:
            return f"{column}{line % max(rows, 1) + 1}"
        case Action.LEFT:
            return "w" if column == "a" else f"{chr(ord(column) - 1)}{line}"
        case Action.RIGHT:
            return "s" if column == last else f"{chr(ord(column) + 1)}{line}"
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
