"""Database connections: how each database is set up so that a commit is durable, and what its errors mean.

One connection of a store writes, and a few read. Why an acknowledged move survives:

SQLite uses a write-ahead log with synchronous=FULL: a commit appends to the log and syncs it before it returns. `kill -9` loses nothing,
because the operating system already has what was written. Loss of power loses nothing, because what was synced is on the disk. (NORMAL
would sync at checkpoints only, which survives the first and not the second.) We trust what the disk reports; on a Mac, `fullfsync` makes
sure. PostgreSQL does the same with its own log while `synchronous_commit` is on; if it is off, it is switched on here. A server with
`fsync = off` cannot be helped from here; `check` reports it.

Only one server may use a store. It holds a lock while it runs: on a file beside SQLite's, or an advisory lock in PostgreSQL.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from server.store.errors import StoreAway, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreInUse, StoreUnavailable
from server.store.locations import Location
from server.store.sql import Sql, sqlite

BUSY_S: Final = 5
"""How long a statement waits for another program that holds the database before it fails."""

READERS: Final = 4
"""At most so many connections read at once. A further reader waits for `BUSY_S`; then the store is busy."""

KEPT_LOG_BYTES: Final = 64 * 1024 * 1024
"""SQLite's log is cut back to this after it grew because no checkpoint could be made. Beyond this size each commit makes one itself."""

_PAGE_BYTES: Final = 4096

_IN_USE: Final = "another carpet-server{} uses {}; stop it first"
_IN_USE_ALONE: Final = "a carpet-server without --cluster uses this database; stop it, or start it with --cluster too"
_LOCK_AGAIN_S: Final = 0.1
_LET_GO_S: Final = 4
"""PostgreSQL closes the connection of a node that falls asleep within a transaction. That frees its locks before its lease is over and
others want its races."""
_SAFE_COMMITS: Final = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
_LOCK: Final = "SELECT pg_try_advisory_lock{}(hashtext('carpet-race ' || current_schema())) AS taken"
_UNLOCK: Final = "SELECT pg_advisory_unlock{}(hashtext('carpet-race ' || current_schema()))"
_SHARED: Final = {False: "", True: "_shared"}


def connect_to_write(location: Location, *, shared: bool) -> Sql:
    """In PostgreSQL every such connection, also one made after a broken one, takes the lock of the store first.

    shared: only with the other nodes of a cluster.
    """
    if location.path is not None:
        # On some systems SQLite overwrites freed pages with zeros, and compacting the log frees hundreds. With FAST it does so only to
        # pages that are written anyway.
        checkpoints = f"wal_autocheckpoint = {KEPT_LOG_BYTES // _PAGE_BYTES}"
        pragmas = "journal_mode = WAL", f"journal_size_limit = {KEPT_LOG_BYTES}", checkpoints, "secure_delete = FAST"
        return sqlite(_connect_sqlite(location.path, *pragmas), begin="BEGIN IMMEDIATE")
    connection = _connect_postgres(location, _SAFE_COMMITS)
    sql = _postgres(connection, begin="BEGIN")
    try:
        lock(sql, location, shared=shared)
        if shared:
            connection.execute(f"SET idle_in_transaction_session_timeout = '{_LET_GO_S}s'")
    except Exception:
        connection.close()
        raise
    return sql


def lock(sql: Sql, location: Location, *, shared: bool) -> None:
    """Take the lock of a store in PostgreSQL, for as long as this connection stands or until `unlock`. Raises StoreInUse.

    A connection that has it in one way can take it in the other as well, if nobody else has it.
    """
    # The connection of a killed server may take a moment to go away.
    until = monotonic() + BUSY_S
    while not sql.rows(_LOCK.format(_SHARED[shared]))[0].taken:
        if monotonic() >= until:
            raise StoreInUse(_IN_USE_ALONE if shared else _IN_USE.format("", location))
        # Whoever waited for it within PostgreSQL would have all others wait behind them: also older nodes that lost their connection.
        sleep(_LOCK_AGAIN_S)


def unlock(sql: Sql, *, shared: bool) -> None:
    sql.rows(_UNLOCK.format(_SHARED[shared]))


def connect_to_checkpoint(path: Path) -> Sql:
    """For `PRAGMA wal_checkpoint` beside the connection that writes, and nothing else."""
    return sqlite(_connect_sqlite(path))


class ReadingConnections:
    """A pool of read-only connections. Each transaction sees one state of the store."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._pool = QueuePool(self._connect, pool_size=READERS, max_overflow=0, timeout=BUSY_S, reset_on_return=None)

    def _connect(self) -> Any:
        if self._location.path is not None:
            return sqlite(_connect_sqlite(self._location.path, "query_only = ON"))
        connection = _connect_postgres(self._location, "SET default_transaction_read_only = on")
        return _postgres(connection, begin="BEGIN ISOLATION LEVEL REPEATABLE READ")

    @contextmanager
    def reading(self) -> Iterator[Sql]:
        """A transaction. Errors within it are raised as StoreError."""
        with translated(self._location), ExitStack() as ending:
            pooled = self._connected(ending)
            try:
                assert isinstance(pooled.driver_connection, Sql)
                yield pooled.driver_connection
            except StoreError:
                raise
            except Exception:
                # The next reader gets a new connection.
                pooled.invalidate()
                raise

    def _connected(self, ending: ExitStack) -> PoolProxiedConnection:
        """A connection with a transaction under way, which `ending` ends.

        One that the server has dropped since its last use shows that only now. All of the pool may be so, and behind them comes a new one.
        """
        for has_spare in (*[True] * READERS, False):
            pooled = self._pool.connect()
            with ExitStack() as begun:
                begun.callback(pooled.close)
                assert isinstance(pooled.driver_connection, Sql)
                try:
                    begun.enter_context(pooled.driver_connection.look())
                except Exception:
                    pooled.invalidate()
                    if not has_spare:
                        raise
                    continue
                ending.enter_context(begun.pop_all())
                return pooled
        raise AssertionError("the last attempt gives a connection or raises")

    def close(self) -> None:
        self._pool.dispose()


@contextmanager
def brief_reading(location: Location) -> Iterator[Sql]:
    """The same for a single use: the connection is closed at the end."""
    with closing(ReadingConnections(location)) as readers, readers.reading() as sql:
        yield sql


def _connect_sqlite(path: Path, *pragmas: str) -> sqlite3.Connection:
    # isolation_level=None: the module's own transactions would start late, and leave the creation of tables out.
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_postgres(location: Location, statement: str) -> Any:
    try:
        import psycopg
        from psycopg.rows import namedtuple_row
    except ModuleNotFoundError as error:
        raise StoreUnavailable("PostgreSQL needs psycopg, which is not installed: pip install 'carpet-race[postgres]'") from error
    _, parameters = location.url.get_dialect()().create_connect_args(location.url)
    connection = psycopg.connect(
        **parameters,
        autocommit=True,
        row_factory=namedtuple_row,
        connect_timeout=BUSY_S,
        # Notices a server that vanished without closing the connection. The kernel alone would try for a quarter of an hour.
        tcp_user_timeout=4 * BUSY_S * 1000,
        application_name="carpet-race",
    )
    connection.execute(f"SET lock_timeout = '{BUSY_S}s'")
    connection.execute(statement)
    return connection


def _postgres(connection: Any, *, begin: str) -> Sql:
    import psycopg

    return Sql(connection, "postgresql", begin=begin, refusals=(psycopg.IntegrityError, psycopg.DataError))


# ---- one server a store


class FileLock:
    """Held until it is released or the process ends, however it ends. The file says which process holds it."""

    def __init__(self, database: Path) -> None:
        """Raises StoreInUse."""
        # The lock belongs to the resolved file, so that two names of one database share it.
        file = database.resolve()
        self._descriptor = open_private(file.with_name(f"{file.name}.lock"))
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._descriptor, 20).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise StoreInUse(_IN_USE.format(f" (process {holder})" if holder.isdecimal() else "", database)) from error
        # It serves people only, so it may fail on a full disk.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._descriptor)


def open_private(path: Path) -> int:
    """The descriptor of a file that only its owner can read; creates it if there is none. Raises OSError.

    Root gives a new file to the owner of its folder: the user of the service, who could not open it otherwise.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags, 0o600)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor


# ---- what errors mean


@contextmanager
def translated(location: Location) -> Iterator[None]:
    """Turn errors of the database and its driver into StoreError."""
    try:
        yield
    except StoreError:
        raise
    except PoolTimeout as error:
        raise StoreBusy(f"too much is asked of {location} at once") from error
    except OSError as error:
        # The file may be another one, such as that of the lock.
        raise StoreUnavailable(f"cannot use {error.filename or location}: {error.strerror or error}") from error
    except Exception as error:
        # SQLAlchemy's errors, which migrations raise, wrap the driver's.
        meant = getattr(error, "orig", None) or error
        if isinstance(meant, sqlite3.Error | SQLAlchemyError) or hasattr(meant, "sqlstate"):
            said = " ".join(str(meant).split())
            if isinstance(meant, sqlite3.Error):
                raise _sqlite_meaning(meant, said, location) from error
            raise _postgres_meaning(getattr(meant, "sqlstate", None), said, location) from error
        raise


_DAMAGED: Final = "{} is damaged ({}); {}"

_REFUSED: Final = re.compile('FATAL: .*("[^"]*" does not exist|authentication failed|no pg_hba.conf entry)|no password supplied')
"""What a server says that refuses the connection for good. psycopg gives no error code for a connection, so this goes by the English text;
in another language the server is waited for in vain."""


def how_to_restore(location: Location) -> str:
    """What the host does with a damaged database and a backup of it. Part of a sentence."""
    if location.path is None:
        return "restore a backup of it"
    name = location.path.name
    # A log that stays behind would be applied to the next file.
    return f"if you have a backup, move {name}, {name}-wal and {name}-shm away, then run carpet-server db restore BACKUP"


def _sqlite_meaning(error: sqlite3.Error, said: str, location: Location) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:
        # The file beside the database through which its readers and its writer share the log cannot be made as large as it has to be.
        code = sqlite3.SQLITE_FULL
    # The low byte is the primary error code; the rest is detail.
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"another program has held {location} for more than {BUSY_S} seconds; end it, then try again")
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"no space is left for {location}; make room on its disk")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(_DAMAGED.format(location, said, how_to_restore(location)))
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
            return StoreCorrupt(_DAMAGED.format(location, said, how_to_restore(location)))
        case "23", _:
            return StoreCorrupt(f"{location} contradicts what this server has written to it ({said}); does another program change it?")
        case "", _ if _REFUSED.search(said):
            return StoreUnavailable(f"cannot use {location}: {said}")
        case ("" | "08", _) | (_, "57P01" | "57P02" | "57P03"):
            return StoreAway(f"cannot use {location}: {said}")
        case _:
            return StoreUnavailable(f"cannot use {location}: {said}")
