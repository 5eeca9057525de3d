"""How an entry is written: statements, one after the other; within a savepoint where they may well be refused.

A step is a statement that has to find or change at least one row where it says what its failure means; a kind's steps are taken in order.
The tables' own constraints judge the rest, and `clash` says what it means that one of them is broken. Which kinds there are: `entries`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from server.store.errors import EntryRefused
from server.store.sql import Values


class WriteStep(NamedTuple):
    """refusal: what it means that it found or changed nothing; None where it may."""

    statement: str
    rows: Sequence[Values]
    refusal: str | None = None


Steps: TypeAlias = Generator[WriteStep, Any, None]
"""Each step is answered with the rows that it found, or with the number of those that it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """needs: the ids of players that have to be known. clash: what it means to break a constraint. is_single: all that an entry writes
    is one row. is_sound: whether it is hardly ever refused (by a fault in the program, or where two nodes draw one code),
    and the tables' constraints alone see to `needs`.
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
    """An INSERT of rows that are tuples."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
