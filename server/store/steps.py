"""How an entry is written: statements, one after the other; several of them within a savepoint.

A step is a statement that has to find or change at least one row where it says what its failure means; a kind's steps are taken in order.
The tables' own constraints judge the rest, and `clash` says what it means that one of them is broken. Which kinds there are: `entries`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from server.store.errors import EntryRefused
from server.store.sql import Row, Values


class WriteStep(NamedTuple):
    """refusal: what it means that it found or changed nothing; None where it may."""

    statement: str
    rows: Sequence[Values]
    refusal: str | None = None


Steps: TypeAlias = Generator[WriteStep, Row | None, None]
"""Each step is answered with the row that it found first, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """needs: the ids of players that have to be known. clash: what it means to break a constraint. is_single: whether all that the entry
    writes is one row.
    """

    steps: Callable[[Any], Steps]
    is_single: Callable[[Any], bool] = lambda entry: False
    needs: Callable[[Any], Sequence[str | None]] = lambda entry: ()
    clash: Callable[[Any, str], EntryRefused] = lambda entry, constraint: EntryRefused(f"an entry that cannot be stored: {constraint}")


def insert(table: str, *rows: Values) -> WriteStep:
    return WriteStep(_insertion(table, tuple(rows[0])), rows)


@cache
def _insertion(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(f':{column}' for column in columns)})"  # noqa: S608
