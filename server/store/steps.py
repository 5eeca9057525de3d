"""How an entry is written: statements in order, within a savepoint if they may well be refused.

A step is one statement. If it has a `refusal`, it has to find or change at least one row. The tables' constraints check the rest, and
`clash` says what a violation means. The kinds themselves are in `entries`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from server.store.errors import EntryRefused
from server.store.sql import Values


class WriteStep(NamedTuple):
    """refusal: the error if the statement finds or changes nothing; None if it may."""

    statement: str
    rows: Sequence[Values]
    refusal: str | None = None


Steps: TypeAlias = Generator[WriteStep, Any, None]
"""Each step is answered with the rows that it found, or the number of rows that it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """needs: ids of players that have to be known. clash: the error for a violated constraint. is_single: an entry writes only one row.
    is_sound: whether it is hardly ever refused (only after a fault in the program, or if two nodes draw the same code); then the tables'
    constraints alone check `needs`.
    """

    steps: Callable[[Any], Steps]
    is_single: bool = False
    is_sound: Callable[[Any], bool] = lambda entry: False
    needs: Callable[[Any], Sequence[str | None]] = lambda entry: ()
    clash: Callable[[Any, str], EntryRefused] = lambda entry, constraint: EntryRefused(f"an entry that cannot be stored: {constraint}")


def insert(table: str, *rows: Mapping[str, Any]) -> WriteStep:
    return WriteStep(insertion(table, *rows[0]), [tuple(row.values()) for row in rows])


@cache
def insertion(table: str, *columns: str) -> str:
    """An INSERT for rows given as tuples."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
