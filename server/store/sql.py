"""One text of SQL for both drivers, sqlite3 and psycopg: `:name` or `?` where a value goes, and rows with names. Knows no table."""

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
"""By their names, or in order, where the text has `?` for each: that is twice as fast with many columns."""
Row: TypeAlias = Any
"""A named tuple: what columns it has is the statement's."""

ASKED_AT_ONCE: Final = 500
"""Values in one IN (…)."""

_NAME: Final = re.compile(r":([a-z_0-9]+)")


class Contradiction(Exception):
    """A constraint of the tables forbids it. Its text names the constraint, or the table and its columns."""


class Sql:
    """A connection of a driver. Each statement is a transaction of its own, but for those within `transaction`."""

    def __init__(self, connection: Any, dialect: Dialect, *, begin: str, refusals: tuple[type[Exception], ...]) -> None:
        """refusals: the driver's errors that are about what was to be written, not about the database."""
        self.connection = connection
        self.dialect: Dialect = dialect
        self._begin = begin
        self.refusals = refusals
        self._text = _percent if dialect == "postgresql" else str

    def rows(self, statement: str, values: Values = {}) -> list[Row]:  # noqa: B006  (nobody changes it)
        return self.connection.execute(self._text(statement), values).fetchall()  # type: ignore[no-any-return]

    def row(self, statement: str, values: Values = {}) -> Row | None:  # noqa: B006
        """The first one."""
        return self.connection.execute(self._text(statement), values).fetchone()

    def rows_in(self, statement: str, wanted: Iterable[str | bytes]) -> Iterator[Row]:
        """The rows of a statement that reads `… IN :wanted …`, however many are wanted."""
        left = sorted(wanted)
        while left:
            now, left = left[:ASKED_AT_ONCE], left[ASKED_AT_ONCE:]
            yield from self.rows(statement.replace(":wanted", f"({', '.join('?' * len(now))})"), tuple(now))

    def run(self, statement: str, rows: Sequence[Values] = ({},)) -> int:
        """Once for each row of values. Gives how many rows of the table that touched."""
        if len(rows) == 1:
            return self.connection.execute(self._text(statement), rows[0]).rowcount  # type: ignore[no-any-return]
        cursor = self.connection.cursor()
        cursor.executemany(self._text(statement), rows)
        return cursor.rowcount  # type: ignore[no-any-return]

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Kept when the context is left without an error."""
        self.connection.execute(self._begin)
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            # Where the connection is broken, the server has done it.
            with suppress(Exception):
                self.connection.execute("ROLLBACK")
            raise

    def begin_anew(self) -> None:
        """Roll the transaction back, and begin it again."""
        self.connection.execute("ROLLBACK")
        self.connection.execute(self._begin)

    @contextmanager
    def look(self) -> Iterator[None]:
        """A transaction that only reads."""
        self.connection.execute(self._begin)
        try:
            yield
        finally:
            # A damaged file may not even let go.
            with suppress(Exception):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def part(self, *, is_single: bool) -> Iterator[None]:
        """A part of a transaction, of which a refusal leaves nothing; any other error is to end the transaction.

        is_single: one statement in it writes, and one row. Raises Contradiction.
        """
        # SQLite undoes a statement that is refused, and goes on; in PostgreSQL the whole transaction is over.
        is_marked = not is_single or self.dialect != "sqlite"
        refusals: tuple[type[Exception], ...] = EntryRefused, *self.refusals
        if is_marked:
            self.connection.execute("SAVEPOINT part")
        try:
            yield
        except refusals as error:
            if is_marked:
                # Where this cannot be done, none of the transaction may be kept: that error is the one that is raised.
                self.connection.execute("ROLLBACK TO SAVEPOINT part")
                self.connection.execute("RELEASE SAVEPOINT part")
            if isinstance(error, self.refusals):
                raise Contradiction(str(error)) from error
            raise
        if is_marked:
            self.connection.execute("RELEASE SAVEPOINT part")


@cache
def _percent(statement: str) -> str:
    """As psycopg wants it."""
    return _NAME.sub(r"%(\1)s", statement.replace("%", "%%")).replace("?", "%s")


def sqlite(connection: sqlite3.Connection, *, begin: str = "BEGIN") -> Sql:
    """connection: one that begins no transactions by itself."""
    connection.row_factory = _named_row
    # Text that is none is found when it is read as what it should be, and not before.
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    connection.execute("PRAGMA foreign_keys = ON")
    return Sql(connection, "sqlite", begin=begin, refusals=(sqlite3.IntegrityError,))


@cache
def _row_class(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)  # noqa: PYI024  (its columns are known when a statement has run)


def _named_row(cursor: Any, row: tuple[Any, ...]) -> Row:
    return _row_class(tuple(column[0] for column in cursor.description))(*row)
