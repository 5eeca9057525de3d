"""The log of commands and its compaction: commands of races that are over are removed, a few with each commit.

A pass goes through the log once, from its beginning. It starts when at least as many commands are dead as alive, and at least
`COMPACTED_AT`. So each command is looked at about twice in its life, and the log is at most about twice as long as its live part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from server.store.documents import BadDocument, Taken, decode_commands, encode_commands
from server.store.nodes import LAST_NUMBER, numbers_of
from server.store.sql import Row, Sql

COMPACTED_AT: Final = 20_000
"""So many commands of finished races may always stay in the log."""

COMPACTED_AT_ONCE: Final = 250
"""Commands looked at in one commit, or twice those that it adds if that is more: no move waits for so few, and the pass still ends."""

READ_AT_ONCE: Final = 20
"""Batches in memory at a time."""

ROW: Final = 1
"""What a batch counts for beside its commands, because empty ones have to be removed too."""


def batches(sql: Sql, *, after: int = 0, until: int = LAST_NUMBER, at_once: int = READ_AT_ONCE) -> Iterator[Row]:
    """All batches with numbers above `after`, up to and including `until`, in order."""
    page = "SELECT number, commands FROM batches WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"
    while rows := sql.rows(page, (after, until, at_once)):
        yield from rows
        after = rows[-1].number


class Log:
    """The log of one node. last: the number of its last batch."""

    def __init__(self, sql: Sql, running: dict[bytes, int], *, node: int) -> None:
        """Reads the whole log. running: race to the sequence of its last command, which is filled in here."""
        self._first, self._end = numbers_of(node)
        self.last = self._first
        self._size = 0
        self._look_at = 0
        # The pass goes on after this number; None between passes.
        self._compacted_to: int | None = None
        for row in batches(sql, after=self._first, until=self._end):
            self.last = row.number
            commands = _readable(row)
            self._size += ROW + len(commands)
            for race, sequence, _, _ in commands:
                if race in running:
                    running[race] = sequence

    @property
    def is_compacting(self) -> bool:
        """Whether a pass is under way."""
        return self._compacted_to is not None

    def add(self, commands: int, running: Mapping[bytes, int]) -> None:
        """A batch has been written. commands: how many it has. running: race to its number of commands."""
        self.last += 1
        self._size += ROW + commands
        if self._compacted_to is None and self._size >= self._look_at:
            alive = sum(running.values())
            allowed = max(COMPACTED_AT, alive)
            if self._size - alive >= allowed:
                self._compacted_to = self._first
            else:
                self._look_at = alive + allowed

    def compact(self, sql: Sql, running: Mapping[bytes, int], *, added: int) -> None:
        """Take one step of the pass, if one is under way. running: the races that run. added: commands in the batch just written."""
        if self._compacted_to is None:
            return
        left = max(COMPACTED_AT_ONCE, 2 * added)
        # As many batches as will be looked at, if they are about as large as the one just written.
        at_once = min(max(left // (ROW + added), 1), READ_AT_ONCE)
        for row in batches(sql, after=self._compacted_to, until=self._end, at_once=at_once):
            # The last batch stays: its number has to be known.
            if row.number >= self.last or left <= 0:
                break
            self._compacted_to = row.number
            left -= self._compact_batch(sql, row, running)
        else:
            row = None
        if row is None or row.number >= self.last:
            self._compacted_to = None

    def _compact_batch(self, sql: Sql, row: Row, running: Mapping[bytes, int]) -> int:
        """Gives the size that the batch had before."""
        try:
            commands = decode_commands(row.commands)
        except BadDocument:
            # Left for `db check` to find, and for anybody who can still make something of it.
            return ROW
        kept = [command for command in commands if command[0] in running]
        if not kept:
            sql.run("DELETE FROM batches WHERE number = ?", [(row.number,)])
            self._size -= ROW + len(commands)
        elif len(kept) < len(commands):
            sql.run("UPDATE batches SET commands = ? WHERE number = ?", [(encode_commands(kept), row.number)])
            self._size -= len(commands) - len(kept)
        return ROW + len(commands)


def _readable(row: Row) -> list[Taken]:
    try:
        return decode_commands(row.commands)
    except BadDocument:
        return []
