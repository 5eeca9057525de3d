"""What a table has beside its cards: the grid of slots, reserves, stock and waste, and how the cards of a quilt lie. Pure.

The grid is read off the view, which is what is drawn. What a view cannot tell (is there ever a waste?) comes from the server's description
of the rule set; without one, a carpet is assumed.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from protocol.cards import RANKS
from protocol.views import RulesInfo, View

_SLOT = re.compile("[a-j][1-9]", re.ASCII)
_RESERVE = re.compile("p[1-9]", re.ASCII)


class Board(Struct, frozen=True):
    """columns, rows: of the grid, whose slots are named by column letter and row number. reserves: their names, in order.

    stock, waste, redeals: whether there ever is one. lanes: see RulesInfo.
    """

    family: Literal["carpet", "twin", "quilt"] = "carpet"
    columns: int = 0
    rows: int = 0
    reserves: tuple[str, ...] = ()
    stock: bool = True
    waste: bool = True
    lanes: bool = False
    redeals: bool = True

    @property
    def is_wide(self) -> bool:
        """Whether there are too many columns to leave room beside them, so that everything else is drawn below."""
        return self.columns > 8

    @property
    def letters(self) -> str:
        return "abcdefghij"[: self.columns]


def board_of(info: RulesInfo | None, view: View) -> Board:
    """The board for a view under a rule set."""
    slots = [slot for slot in view.piles if _SLOT.fullmatch(slot)]
    columns = max((ord(slot[0]) - ord("a") + 1 for slot in slots), default=0)
    rows = max((int(slot[1]) for slot in slots), default=0)
    reserves = tuple(pile for pile in view.piles if _RESERVE.fullmatch(pile))
    if info is None:
        return Board(columns=columns, rows=rows, reserves=reserves)
    waste = info.has_waste or bool(view.waste)
    # What is only dealt to reserves does not count as a stock.
    stock = waste or not reserves or view.stock > 0
    return Board(info.family, columns, rows, reserves, stock, waste, info.lanes, info.redeals > 0)


def is_upright(slot: str) -> bool:
    """Whether the card at a slot of a quilt lies upright: a1 does, its neighbours lie sideways, and so on in turn."""
    return (ord(slot[0]) - ord("a") + int(slot[1:]) - 1) % 2 == 0


def free_slots(board: Board, view: View) -> frozenset[str]:
    """The slots of a quilt whose card has a free narrow end: next to it is a gap or the edge; with lanes, only gaps up to the edge."""
    return frozenset(
        slot
        for slot, pile in view.piles.items()
        if pile and _SLOT.fullmatch(slot) and any(_is_clear(board, view, slot, step) for step in (-1, 1))
    )


def run_home(foundation: str) -> str:
    """The ranks in the order in which they come home: from the Ace up, or from the King down if the foundation's name ends in `-`."""
    return RANKS[::-1] if foundation.endswith("-") else RANKS


def top_home(foundation: str, count: int) -> str:
    """The top card of a foundation with `count` cards; an empty text if there are none."""
    return run_home(foundation)[min(count, len(RANKS)) - 1] + foundation[:1] if count > 0 else ""


def _is_clear(board: Board, view: View, slot: str, step: int) -> bool:
    column, row = ord(slot[0]) - ord("a"), int(slot[1]) - 1
    across, down = (0, step) if is_upright(slot) else (step, 0)
    column, row = column + across, row + down
    while 0 <= column < board.columns and 0 <= row < board.rows:
        if view.piles.get(f"{'abcdefghij'[column]}{row + 1}"):
            return False
        if not board.lanes:
            return True
        column, row = column + across, row + down
    return True
