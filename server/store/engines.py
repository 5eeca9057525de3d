"""Connections: how each database is set up so that what is committed stays, and what its errors mean.

Two engines a store: one connection that writes, and a few that read. Why an acknowledged move survives:

SQLite, write-ahead log, synchronous=FULL. A commit appends to the log and syncs it before it returns. `kill -9` takes nothing, because what
was written is the operating system's by then; loss of power takes nothing, because what was synced is on the disk. (NORMAL would sync at
checkpoints only: proof against the one, not the other.) What a disk says of itself we believe; on a Mac it is asked twice (`fullfsync`).
PostgreSQL. The same by its own log, as long as `synchronous_commit` is on: it is switched on here where it was off. A server with
`fsync = off` cannot be helped from here; `check` reports it.

One server a store: it holds a lock while it runs, on a file beside SQLite's, or an advisory one in PostgreSQL.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from server.store.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreInUse,
    StoreUnavailable,
)
from server.store.locations import Location

BUSY_S: Final = 5
"""How long a statement waits for another program that holds the database, before it is an error."""

READERS: Final = 4
"""Connections that read at once, at most; a further one waits for `BUSY_S`, then the store is busy."""

_LOCK_NOT_AVAILABLE: Final = "55P03"

KEPT_LOG_BYTES: Final = 64 * 1024 * 1024
"""SQLite's log shrinks to this after a time in which it could not be folded into the database."""


def writing_engine(location: Location) -> Engine:
    """One connection, whose transactions write."""
    engine = _engine(location, pool_size=1)
    if location.path is not None:
        _set_up_sqlite(engine, begin="BEGIN IMMEDIATE", pragmas=("journal_mode = WAL", f"journal_size_limit = {KEPT_LOG_BYTES}"))
    else:
        _set_up_postgres(
            engine,
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        )
    return engine


def reading_engine(location: Location) -> Engine:
    """Connections that only read; each transaction sees one state of the store."""
    if location.path is not None:
        engine = _engine(location, pool_size=READERS)
        _set_up_sqlite(engine, begin="BEGIN", pragmas=("query_only = ON",))
    else:
        engine = _engine(location, pool_size=READERS, isolation_level="REPEATABLE READ")
        _set_up_postgres(engine, "SET default_transaction_read_only = on")
    return engine


@contextmanager
def brief_reading_engine(location: Location) -> Iterator[Engine]:
    """The same for one look: its connections are closed at the end."""
    engine = reading_engine(location)
    try:
        yield engine
    finally:
        engine.dispose()


def _engine(location: Location, *, pool_size: int, **more: Any) -> Engine:
    connect_args: dict[str, Any] = {"timeout": BUSY_S}
    if location.path is None:
        # A server that is gone without a word is noticed; the kernel would try for a quarter of an hour.
        connect_args = {"connect_timeout": BUSY_S, "tcp_user_timeout": 4 * BUSY_S * 1000, "application_name": "carpet-race"}
    try:
        return create_engine(
            location.url,
            poolclass=QueuePool,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=BUSY_S,
            connect_args=connect_args,
            **more,
        )
    except ModuleNotFoundError as error:
        raise StoreUnavailable("PostgreSQL needs psycopg, which is not installed: pip install 'carpet-race[postgres]'") from error


def _set_up_sqlite(engine: Engine, *, begin: str, pragmas: tuple[str, ...]) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: DBAPIConnection, record: object) -> None:
        del record
        # The module's own transactions would begin late and leave tables out of them.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("foreign_keys = ON", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", *pragmas):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


def _set_up_postgres(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: DBAPIConnection, record: object) -> None:
        del record
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = '{BUSY_S}s'")
        cursor.execute(statement)
        cursor.close()
        connection.commit()


# ---- one server a store


class FileLock:
    """Held until it is released or the process ends, however it ends."""

    def __init__(self, database: Path) -> None:
        """Raises StoreInUse."""
        # Of the file itself: two names of one database are one database.
        file = database.resolve()
        self._descriptor = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise StoreInUse(f"another carpet-server uses {database}; stop it, or choose another database") from error

    def release(self) -> None:
        os.close(self._descriptor)


def lock_with_connection(engine: Engine, location: Location) -> None:
    """PostgreSQL: every connection of this engine holds the lock from its beginning, the one made after a broken line too."""
    driver = engine.dialect.loaded_dbapi

    @event.listens_for(engine, "connect")
    def connected(connection: DBAPIConnection, record: object) -> None:
        del record
        cursor = connection.cursor()
        try:
            # Waits for `lock_timeout`: the connection of a server that was killed may take a moment to be gone.
            cursor.execute("SELECT pg_advisory_lock(hashtext('carpet-race ' || current_schema()))")
        except driver.Error as error:
            connection.close()
            if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                raise StoreInUse(f"another carpet-server uses {location}; stop it, or choose another database") from error
            raise
        cursor.close()
        connection.commit()


# ---- what errors mean


@contextmanager
def translated(location: Location) -> Iterator[None]:
    """Errors of database and driver come out as StoreError."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy(f"too much is asked of {location} at once") from error
    except DBAPIError as error:
        raise _meaning(error.orig or error, location) from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise _meaning(error, location) from error
    except OSError as error:
        raise StoreUnavailable(f"cannot use {location}: {error.strerror or error}") from error


def _meaning(error: BaseException, location: Location) -> StoreError:
    said = " ".join(str(error).split())
    if isinstance(error, sqlite3.Error):
        return _sqlite_meaning(error, said, location)
    state: str | None = getattr(error, "sqlstate", None)
    return _postgres_meaning(state, said, location)


def _sqlite_meaning(error: sqlite3.Error, said: str, location: Location) -> StoreError:
    # The low byte is the kind, the rest a detail.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"another program has held {location} for more than {BUSY_S} seconds; end it, then try again")
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"no space is left for {location}; make room on its disk")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(f"{location} is damaged ({said}); restore a backup of it, or choose another database")
        case sqlite3.SQLITE_CONSTRAINT:
            return StoreCorrupt(f"{location} contradicts what this server has written to it ({said}); does another program change it?")
        case _:
            return StoreUnavailable(f"cannot use {location}: {said}")


def _postgres_meaning(state: str | None, said: str, location: Location) -> StoreError:
    match (state or "")[:2], state:
        case _, "53100":
            return StoreFull(f"no space is left for {location}; make room on its server's disk")
        case ("53" | "40" | "55", _) | (_, "57014"):
            return StoreBusy(f"{location} has more to do than it can, or something holds it ({said}); try again")
        case "XX", "XX001" | "XX002":
            return StoreCorrupt(f"{location} is damaged ({said}); restore a backup of it, or choose another database")
        case "23", _:
            return StoreCorrupt(f"{location} contradicts what this server has written to it ({said}); does another program change it?")
        case _:
            return StoreUnavailable(f"cannot use {location}: {said}")
