"""Maintenance of a store by its host: check it, back it up and restore it, upgrade its tables. Reports are values."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from protocol.errors import Refusal
from protocol.record import BadRecord, Record
from server.race.audit import audit
from server.store import schema
from server.store.compaction import batches
from server.store.connections import brief_reading, open_private, translated
from server.store.database import open_database
from server.store.documents import BadDocument, decode_commands, decode_record
from server.store.errors import StoreCorrupt, StoreError, StoreUnavailable
from server.store.locations import Location, existing, locate
from server.store.nodes import Node
from server.store.nodes import nodes as all_nodes
from server.store.port import room_shown
from server.store.pruning import Pruned
from server.store.replay import replay
from server.store.running import running_races
from server.store.schema import Upgraded
from server.store.sql import Sql
from server.store.store import records
from server.store.tables import IN_ORDER

Faults: TypeAlias = Iterator[str]

ROWS_AT_ONCE: Final = 500
"""Of a backup in memory, while it is restored."""

_OF_READING: Final = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""What can only be the database's fault while it is copied: nothing of the copy is read then, and nobody else knows of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCheck:
    """faults: what is wrong, one sentence each. notes: what is not wrong yet, but may become so."""

    where: str
    schema: str
    players: int
    running: int
    records: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    where: str
    target: Path
    size: int


def upgrade(where: str | None) -> Upgraded:
    """Create the database if there is none, and upgrade its tables to this program's version. Raises StoreInUse while a server uses it."""
    with closing(open_database(where)) as store:
        return store.upgraded


def check(where: str | None) -> StoreCheck:
    """Read all of it, also while a server uses it. Raises StoreError if there is nothing to check."""
    location = existing(where)
    with brief_reading(location) as sql:
        found = schema.check(sql)
        faults = tuple(_faults(sql, location))
        # In a damaged file counting may fail.
        counts = [0, 0, 0] if faults else [_count(sql, what) for what in _COUNTED]
        return StoreCheck(
            where=str(location),
            schema=found,
            players=counts[0],
            running=counts[1],
            records=counts[2],
            faults=faults,
            notes=tuple(_notes(sql)),
        )


def prune(before_ms: int, where: str | None) -> Pruned:
    """Remove older things that nobody will miss. Raises StoreInUse while a server uses it; the server does this by itself."""
    existing(where)
    with closing(open_database(where)) as store:
        return store.prune(before_ms)


def nodes(where: str | None) -> tuple[Node, ...]:
    """The servers that share it, each with the number of races that run there. Raises StoreError."""
    location = existing(where)
    if location.path is not None:
        raise StoreError("several servers share a PostgreSQL, and this is a SQLite file: --database names another")
    with brief_reading(location) as sql:
        schema.check(sql)
        return all_nodes(sql)


def backup(target: Path, where: str | None) -> BackedUp:
    """Copy a SQLite store, as it is at one moment, to a file that does not exist yet. A server may be using it meanwhile.

    Its pages are copied, so an older version of the tables stays that. The copy is a single file that only its owner can read, and is
    checked before it gets its name.
    """
    location = existing(where)
    if location.path is None:
        raise StoreError(f"PostgreSQL has a program of its own for this: pg_dump --format=custom --file={target} DATABASE")
    if target.exists():
        raise StoreUnavailable(f"{target} exists already; choose another name")
    # Its name is no other copy's, since two to one target may be under way.
    partial = target.with_name(f"{target.name}.{token_hex(4)}.partial")
    with brief_reading(location) as sql:
        schema.known(sql)
        try:
            # Private: it holds the secrets of deals.
            os.close(open_private(partial))
            _copy(sql, location, partial)
            partial.rename(target)
            _sync(target.parent)
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreUnavailable(f"cannot write {target}: {getattr(error, 'strerror', error)}") from error
        finally:
            partial.unlink(missing_ok=True)
    return BackedUp(where=str(location), target=target, size=target.stat().st_size)


def restore(source: Path, where: str | None) -> None:
    """Copy everything from a backup into an empty database, or nothing if that fails.

    It is copied row by row, not as a file. So it can also go into PostgreSQL, and a log that a killed server left beside the old file
    cannot spoil it. What an older version made is upgraded on the way.
    """
    origin = existing(str(source))
    if origin.path is not None and not origin.path.stat().st_size:
        raise StoreUnavailable(f"{source} is empty, so it is no backup")
    target = locate(where).path
    if target is not None and target.exists() and target.samefile(source):
        raise StoreUnavailable(f"{source} is the backup itself: let --database name another place")
    with ExitStack() as reading:
        old = reading.enter_context(brief_reading(origin))
        is_current = schema.known(old) == schema.newest()
        rows = old if is_current else reading.enter_context(_upgraded(source, origin))
        with closing(open_database(where)) as store, store.maintaining() as sql:
            # Creating the tables has given the place an id, which the backup's replaces.
            if any(table != "place" and _count(sql, table) for table in IN_ORDER):
                name = locate(where).path
                way = f"move it away, with {name.name}-wal and {name.name}-shm if they are there, or " if name else ""
                raise StoreUnavailable(f"{locate(where)} is not empty: {way}let --database name another place")
            sql.run("DELETE FROM place")
            for table in IN_ORDER:
                _fill(sql, table, rows, source)


# ---- backup


def _copy(sql: Sql, location: Location, target: Path) -> None:
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        try:
            # All pages in one step: one moment, and writers are not held up, because they write to the log.
            sql.connection.backup(copy)
        except sqlite3.OperationalError as error:
            # All else is the copy's, as for want of space.
            if error.sqlite_errorcode in _OF_READING:
                raise StoreUnavailable(f"cannot read {location}: {error}") from error
            raise
        # The copy is to be one file.
        copy.execute("PRAGMA journal_mode = DELETE")
        (said,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise StoreCorrupt(f"the copy is damaged, so the database may be too: {said}; run carpet-server db check")
    _sync(target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- restoring

_DAMAGED: Final = "the backup {} is damaged{}, and nothing was restored: try an older one"


@contextmanager
def _upgraded(source: Path, origin: Location) -> Iterator[Sql]:
    """A copy of an older backup, upgraded. The backup may be the only one, and what made it cannot read it once it is upgraded itself."""
    with translated(origin), TemporaryDirectory(prefix="carpet-") as folder:
        copy = Path(folder, source.name)
        try:
            backup(copy, str(source))
            upgrade(str(copy))
        except StoreCorrupt as error:
            raise StoreCorrupt(_DAMAGED.format(source, "")) from error
        with brief_reading(locate(str(copy))) as sql:
            yield sql


def _rows_of(backup: Sql, table: str, source: Path) -> Iterator[list[Any]]:
    """The rows of a table, some at a time. Raises StoreCorrupt that names the backup: what is written to is whole."""
    try:
        cursor = backup.connection.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield rows
    except sqlite3.DatabaseError as error:
        raise StoreCorrupt(_DAMAGED.format(source, f" ({error})")) from error


def _fill(sql: Sql, table: str, backup: Sql, source: Path) -> None:
    for rows in _rows_of(backup, table, source):
        if table == "seats":
            # SQLite knows truth as a number, PostgreSQL does not.
            rows = [row._replace(here=bool(row.here), gone=bool(row.gone)) for row in rows]
        columns = rows[0]._fields
        try:
            sql.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows)  # noqa: S608
        except UnicodeEncodeError as error:
            raise StoreCorrupt(f"{source} is damaged, in {table}: carpet-server db check --database {source} says more") from error


# ---- check

_COUNTED: Final = ("players", "races WHERE phase = 'running'", "records")


def _count(sql: Sql, what: str) -> int:
    return int(sql.rows(f"SELECT count(*) AS rows FROM {what}")[0].rows)  # noqa: S608


def _faults(sql: Sql, location: Location) -> Faults:
    looks: tuple[Callable[[Sql], Faults], ...] = (_storage_faults, _record_faults, _race_faults, _log_faults, _running_faults)
    for look in looks:
        try:
            with translated(location):
                found = list(look(sql))
        except StoreCorrupt as error:
            yield str(error)
            # If something cannot be read, whatever is checked after it is wrong, or looks so.
            return
        yield from found


def _storage_faults(sql: Sql) -> Faults:
    if sql.dialect != "sqlite":
        return
    for (said,) in sql.rows("PRAGMA integrity_check"):
        if said != "ok":
            yield f"the file is damaged: {said}"
    for table, row, parent, _ in sql.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} belongs to nothing in {parent}"


def _record_faults(sql: Sql) -> Faults:
    for row in records(sql):
        try:
            record = decode_record(row.record, row.digest)
            audit(record)
        except (BadDocument, BadRecord) as error:
            yield f"record of race {row.race}: {error}"
            continue
        if (record.room, record.race, row.phase) != (room_shown(row.race), row.race_number, "over"):
            yield f"record of race {row.race}: it is of race {record.race} of {record.room}, the race of that id is another, or not over"
        yield from _seat_faults(sql, row.race, record)


def _seat_faults(sql: Sql, race: str, record: Record) -> Faults:
    rows = sql.rows("SELECT * FROM seats WHERE race = :race ORDER BY seat", {"race": race})
    kept = [(row.seat, row.name, row.bot, row.state, row.place, row.home, row.ended_at_ms) for row in rows]
    true = [(seat.name, seat.bot, seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in record.seats]
    if kept != [(number, *seat) for number, seat in enumerate(true)]:
        yield f"seats of race {race}: they are not those of its record"


def _race_faults(sql: Sql) -> Faults:
    unrecorded = "SELECT id FROM races WHERE phase = 'over' AND NOT EXISTS (SELECT 1 FROM records WHERE records.race = races.id)"
    for row in sql.rows(unrecorded):
        yield f"race {row.id}: it is over and has no record"


def _log_faults(sql: Sql) -> Faults:
    known = {row.id.encode(errors="surrogateescape") for row in sql.rows("SELECT id FROM races")}
    strange: set[bytes] = set()
    for batch in batches(sql):
        try:
            strange.update(race for race, *_ in decode_commands(batch.commands) if race not in known)
        except BadDocument as error:
            yield f"batch {batch.number}: {error}"
    for race in sorted(strange):
        yield f"commands of race {race.decode(errors='backslashreplace')}: there is no such race"


def _running_faults(sql: Sql) -> Faults:
    running = running_races(sql)
    yield from (damaged.what for damaged in running.damaged)
    for race in running.races:
        try:
            replay(race)
        except (Refusal, LookupError, ValueError) as error:
            yield f"race {race.opened.race} cannot be brought back: {error}"


def _notes(sql: Sql) -> Iterator[str]:
    if sql.dialect == "postgresql":
        for setting in ("fsync", "full_page_writes"):
            (row,) = sql.rows("SELECT current_setting(:setting) AS value", {"setting": setting})
            if row.value != "on":
                yield f"the server runs with {setting} = off: what is written may be lost with the power"
