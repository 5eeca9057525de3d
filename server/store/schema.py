"""The version of the tables: which one a database has, which one the program needs, and the upgrade between them.

Alembic is imported only if an older database, or PostgreSQL, is not up to date: its import and the steps from the first tables on take a
quarter of a server's start.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from server.store.errors import StoreForeign, StoreTooNew, StoreTooOld
from server.store.locations import Location
from server.store.sql import Sql
from server.store.tables import NAMES, TABLES
from server.store.tables import VERSION as TABLES_VERSION

MIGRATIONS: Final = Path(__file__).parent / "migrations"
VERSION_TABLE: Final = "carpet_schema"
"""Not Alembic's usual name: another program that uses that may share the PostgreSQL schema."""

_TABLES: Final = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
}

_TOO_OLD: Final = "the database {}, this program works with {}: run carpet-server db upgrade"


@dataclass(frozen=True, slots=True)
class Upgraded:
    """before: None for a database without tables. steps: what was done, oldest first, one sentence each; may be empty."""

    before: str | None
    now: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        if not self.steps:
            return f"schema {self.now}: nothing to do"
        return f"schema {self.before or 'none'} → {self.now}: {' '.join(self.steps)}"


def version(sql: Sql) -> str | None:
    """The version of the database; None if it has none of our tables. Raises StoreForeign."""
    tables = {row.name for row in sql.rows(_TABLES[sql.dialect])}
    if VERSION_TABLE in tables:
        row = sql.row(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
        return str(row.version_num) if row is not None else None
    # A SQLite file belongs to one program; programs may share a PostgreSQL schema as long as their table names differ.
    in_the_way = tables if sql.dialect == "sqlite" else tables & NAMES
    if in_the_way:
        raise StoreForeign(f"there are tables of another program ({', '.join(sorted(in_the_way))}) in it")
    return None


def newest() -> str:
    """The version that this program needs."""
    return versions()[-1]


def versions() -> list[str]:
    """All versions that this program knows, oldest first, from the names of their files: `v0001_first_tables.py` is 0001."""
    return sorted(step.name[1:].partition("_")[0] for step in (MIGRATIONS / "versions").glob("v*_*.py"))


def check(sql: Sql) -> str:
    """The version of the database, if it is the one that this program needs. Raises StoreTooOld, StoreTooNew, StoreForeign."""
    found = known(sql)
    if found != newest():
        raise StoreTooOld(_TOO_OLD.format(f"has schema {found}", newest()))
    return found


def known(sql: Sql) -> str:
    """The version of the database, if it is this program's or older. Raises StoreTooOld if it has no tables, StoreTooNew, StoreForeign."""
    found = version(sql)
    _refuse_newer(found)
    if found is None:
        raise StoreTooOld(_TOO_OLD.format("has no tables yet", newest()))
    return found


def is_up_to_date(sql: Sql) -> bool:
    """Whether `upgrade` has nothing to do. Raises StoreTooNew, StoreForeign."""
    found = version(sql)
    _refuse_newer(found)
    return found == newest()


def upgrade(sql: Sql, location: Location) -> Upgraded:
    """Upgrade the tables to the newest version, all steps or none. Raises StoreTooNew, StoreForeign.

    sql: the connection that holds the lock of the store.
    """
    before = version(sql)
    _refuse_newer(before)
    head = newest()
    if before == head:
        return Upgraded(before, head, ())
    if before is None and location.path is not None and head == TABLES_VERSION:
        as_alembic_does = f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
        stamp = f"INSERT INTO {VERSION_TABLE} VALUES ('{head}')"  # noqa: S608
        sql.connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {as_alembic_does}; {stamp}; COMMIT")
        return Upgraded(before, head, ("Make the tables.",))
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    script = ScriptDirectory(str(MIGRATIONS))
    steps = tuple(step.doc for step in reversed(list(script.walk_revisions(before or "base", head))) if step.revision != before)
    engine = create_engine(location.url, poolclass=NullPool)
    if location.path is not None:

        @event.listens_for(engine, "connect")
        def connected(connection: Any, record: object) -> None:
            del record
            # The sqlite3 module's own transactions would leave out the creation of tables.
            connection.isolation_level = None

        @event.listens_for(engine, "begin")
        def begun(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.begin() as connection:
        config = Config(attributes={"connection": connection, "version_table": VERSION_TABLE})
        # The parser of this option interprets %.
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        command.upgrade(config, "head")
    return Upgraded(before, head, steps)


def _refuse_newer(found: str | None) -> None:
    if found is not None and found not in versions():
        raise StoreTooNew(f"the database has schema {found}, made by a newer carpet-race; this one works with {newest()}: update it")
