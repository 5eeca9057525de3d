"""Sweeping the commands of races that are over out of the log, a little with each commit.

A pass begins when as many rows are dead as alive, and no fewer than `SWEPT_AT`, and goes through the log once, from its beginning. So each
row is looked at about twice in its life, and the log is about twice as long as what runs at most. Rows lie in the order of their numbers:
a step touches neighbouring pages only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, delete, exists, select

from server.store.tables import commands, races

SWEPT_AT: Final = 20_000
"""Commands of races that are over which may lie about in any case."""

SWEPT_AT_ONCE: Final = 1_000
"""Commands looked at in one commit, or twice those that it adds: few enough that no move waits, and enough to come to an end."""

_over = exists().where(races.c.id == commands.c.race, races.c.phase != "running")


class Sweep:
    def __init__(self, rows: int) -> None:
        """rows: commands that are there."""
        self._rows = rows
        self._look_at = 0
        self._from: int | None = None

    def step(self, connection: Connection, *, added: int, running: Mapping[str, int]) -> None:
        """After each batch, in its transaction. running: race to its number of commands."""
        self._rows += added
        if self._from is None and self._rows >= self._look_at:
            alive = sum(running.values())
            allowed = max(SWEPT_AT, alive)
            if self._rows - alive >= allowed:
                self._from = 0
            else:
                self._look_at = alive + allowed
        if self._from is not None:
            self._from = self._sweep(connection, self._from, max(SWEPT_AT_ONCE, 2 * added))

    def _sweep(self, connection: Connection, first: int, rows: int) -> int | None:
        """Look at so many rows from number `first` on; gives the number to go on from, or None at the end."""
        from_here = select(commands.c.number).where(commands.c.number >= first).order_by(commands.c.number)
        past = connection.scalar(from_here.offset(rows).limit(1))
        chosen = delete(commands).where(commands.c.number >= first, _over)
        if past is not None:
            chosen = chosen.where(commands.c.number < past)
        self._rows -= connection.execute(chosen).rowcount
        return past
