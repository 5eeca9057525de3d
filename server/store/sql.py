"""Lets sqlite3 and psycopg share the text of a statement: `:name` or `?` for values, and rows with named columns. Knows no table."""

from __future__ import annotations

import re
import sqlite3
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from server.store.errors import EntryRefused

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Values: TypeAlias = Mapping[str, Any] | tuple[Any, ...]
"""By name, or in order if the text has `?` for each, which is twice as fast with many columns."""
Row: TypeAlias = Any
"""A named tuple with the statement's columns."""

ASKED_AT_ONCE: Final = 500
"""Values in one IN (…)."""

_NAME: Final = re.compile(r":([a-z_0-9]+)")


class Contradiction(Exception):
    """A constraint of the tables was violated. The text names the constraint, or the table and its columns."""


class Sql:
    """A driver's connection. Each statement is a transaction of its own, except within `transaction`."""

    def __init__(self, connection: Any, dialect: Dialect, *, begin: str, refusals: tuple[type[Exception], ...]) -> None:
        """refusals: those errors of the driver that are about what was to be written, not about the database."""
        self.connection = connection
        self.dialect: Dialect = dialect
        self._begin = begin
        self.refusals = refusals
        self._text = _percent if dialect == "postgresql" else str

    def rows(self, statement: str, values: Values = {}) -> list[Row]:  # noqa: B006  (nobody changes it)
        return self.connection.execute(self._text(statement), values).fetchall()  # type: ignore[no-any-return]

    def row(self, statement: str, values: Values = {}) -> Row | None:  # noqa: B006
        """The first row."""
        return self.connection.execute(self._text(statement), values).fetchone()

    def rows_in(self, statement: str, wanted: Iterable[str | bytes]) -> Iterator[Row]:
        """The rows of a statement with `… IN :wanted …`, however many are wanted."""
        left = sorted(wanted)
        while left:
            now, left = left[:ASKED_AT_ONCE], left[ASKED_AT_ONCE:]
            yield from self.rows(statement.replace(":wanted", f"({', '.join('?' * len(now))})"), tuple(now))

    def run(self, statement: str, rows: Sequence[Values] = ({},)) -> int:
        """Run the statement once for each row of values. Gives how many rows of the table it touched."""
        if len(rows) == 1:
            return self.connection.execute(self._text(statement), rows[0]).rowcount  # type: ignore[no-any-return]
        cursor = self.connection.cursor()
        cursor.executemany(self._text(statement), rows)
        return cursor.rowcount  # type: ignore[no-any-return]

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction, committed if the context is left without an error."""
        self.connection.execute(self._begin)
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            # If the connection is broken, the server has rolled back by itself.
            with suppress(Exception):
                self.connection.execute("ROLLBACK")
            raise

    def begin_anew(self) -> None:
        """Roll the transaction back and begin a new one."""
        self.connection.execute("ROLLBACK")
        self.connection.execute(self._begin)

    @contextmanager
    def look(self) -> Iterator[None]:
        """A transaction that only reads."""
        self.connection.execute(self._begin)
        try:
            yield
        finally:
            # In a damaged file even this may fail.
            with suppress(Exception):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def part(self, *, is_single: bool) -> Iterator[None]:
        """A part of a transaction. A refusal undoes the part; any other error has to end the whole transaction.

        is_single: the part writes one row with one statement. Raises Contradiction.
        """
        # SQLite undoes a refused statement and goes on; in PostgreSQL the whole transaction is over.
        is_marked = not is_single or self.dialect != "sqlite"
        refusals: tuple[type[Exception], ...] = EntryRefused, *self.refusals
        if is_marked:
            self.connection.execute("SAVEPOINT part")
        try:
            yield
        except refusals as error:
            if is_marked:
                # If this fails, the transaction must not be committed, so that error is raised instead.
                self.connection.execute("ROLLBACK TO SAVEPOINT part")
                self.connection.execute("RELEASE SAVEPOINT part")
            if isinstance(error, self.refusals):
                raise Contradiction(str(error)) from error
            raise
        if is_marked:
            self.connection.execute("RELEASE SAVEPOINT part")


@cache
def _percent(statement: str) -> str:
    """The statement with psycopg's placeholders."""
    return _NAME.sub(r"%(\1)s", statement.replace("%", "%%")).replace("?", "%s")


def sqlite(connection: sqlite3.Connection, *, begin: str = "BEGIN") -> Sql:
    """connection: one that begins no transactions by itself."""
    connection.row_factory = _named_row
    # Invalid text raises no error here, but where it is decoded as what it should be.
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    connection.execute("PRAGMA foreign_keys = ON")
    return Sql(connection, "sqlite", begin=begin, refusals=(sqlite3.IntegrityError,))


@cache
def _row_class(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)  # noqa: PYI024  (its columns are known when a statement has run)


def _named_row(cursor: Any, row: tuple[Any, ...]) -> Row:
    return _row_class(tuple(column[0] for column in cursor.description))(*row)
