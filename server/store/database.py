"""A store in a database: a SQLite file, or PostgreSQL. Keeps its connections open, and opens them again after an error."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from server.store import schema
from server.store.connections import FileLock, ReadingConnections, connect_to_checkpoint, connect_to_write, open_private, translated
from server.store.errors import StoreBusy, StoreFull, StoreUnavailable
from server.store.locations import Location, check_log, default_path, locate
from server.store.schema import Upgraded
from server.store.sql import Sql
from server.store.store import Store
from server.store.takeover import adopt

logger = logging.getLogger("carpet.store")

NODES_SINCE: Final = "0010"

_PROBES: Final = {
    "sqlite": "SELECT 0 AS is_read_only",
    # Its host may have made it so, as some do when its disk is nearly full, or it has become the copy of another server.
    "postgresql": "SELECT current_setting('transaction_read_only') = 'on' AS is_read_only",
}


def _check_folder(path: Path) -> None:
    """Make the usual folder. Any other one has to be there: somebody named it, and with a typing error a club would begin anew."""
    folder = path.parent
    if path == default_path():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not folder.is_dir():
        raise StoreUnavailable(f"there is no folder {folder} for the database: make it, or correct the path")


class DatabaseStore(Store):
    """A store that only this process writes to while it is open. `upgraded` says what opening did to the tables."""

    waits = True
    _is_shared = False

    def __init__(self, location: Location) -> None:
        """Creates what is missing and upgrades what is old. Raises StoreInUse, StoreTooNew, StoreForeign and the other store errors."""
        super().__init__(str(location))
        self._location = location
        self._lock: FileLock | None = None
        self._file: tuple[int, int] | None = None
        self._writer: Sql | None = None
        self._checkpointer: Sql | None = None
        self._readers = ReadingConnections(location)
        try:
            with translated(location):
                if location.path is not None:
                    _check_folder(location.path)
                    self._lock = FileLock(location.path)
                    check_log(location.path)
                    # Readable by its owner only: it holds the secrets of deals that are being played.
                    os.close(open_private(location.path))
                with self._writing() as sql:
                    self.upgraded: Upgraded = self._prepare(sql)
        except BaseException:
            self.close()
            raise
        if self.upgraded.before is None:
            # A path with a typing error shows by this.
            logger.info("a new database was made")
        elif self.upgraded.steps:
            logger.info("the tables were upgraded, and an older carpet-server can no longer use them: %s", self.upgraded)
        logger.info("races and players are kept in %s", location)

    def _prepare(self, sql: Sql) -> Upgraded:
        upgraded = schema.upgrade(sql, self._location)
        if upgraded.now >= NODES_SINCE:
            # A cluster may have used it before.
            adopt(sql)
        return upgraded

    def close(self) -> None:
        self._readers.close()
        self._drop_checkpointer()
        self._hang_up()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @contextmanager
    def _writing(self) -> Iterator[Sql]:
        # Outside the `try`, so that the connection stays open: it may be all that is left of a removed file.
        self._check_file()
        try:
            with translated(self._location):
                if self._writer is None:
                    self._writer = connect_to_write(self._location, shared=self._is_shared)
                yield self._writer
        except (StoreBusy, StoreFull):
            raise
        except BaseException:
            # The next call connects again.
            self._hang_up()
            raise

    def _check_file(self) -> None:
        """Make sure that the open file is still the one at its path, which the next server will open."""
        path = self._location.path
        if path is None:
            return
        try:
            found = path.stat()
        except OSError as error:
            raise StoreUnavailable(
                f"{path} is gone: it was moved or removed while the server runs on it; put it back ({error.strerror})"
            ) from error
        if self._file is None:
            self._file = found.st_dev, found.st_ino
        elif self._file != (found.st_dev, found.st_ino):
            raise StoreUnavailable(
                f"{path} is another file than the one that the server runs on: put that one back, or start the server again"
            )

    def probe(self) -> None:
        with self._writing() as sql:
            row = sql.row(_PROBES[sql.dialect])
            if row is None or row.is_read_only:
                raise StoreUnavailable(f"{self._location} is read-only just now")

    def checkpoint(self) -> bool:
        path = self._location.path
        if path is None:
            return False
        self._check_file()
        try:
            with translated(self._location):
                if self._checkpointer is None:
                    self._checkpointer = connect_to_checkpoint(path)
                # PASSIVE: as far as possible without waiting for anybody.
                self._checkpointer.rows("PRAGMA wal_checkpoint(PASSIVE)")
        except BaseException:
            self._drop_checkpointer()
            raise
        return True

    def _drop_checkpointer(self) -> None:
        checkpointer, self._checkpointer = self._checkpointer, None
        if checkpointer is not None:
            checkpointer.close()

    def _hang_up(self) -> None:
        writer, self._writer = self._writer, None
        # What `_batches` knows held only under the lock of that connection.
        self._batches = None
        if writer is not None:
            writer.close()

    def _reading(self) -> AbstractContextManager[Sql]:
        return self._readers.reading()


def open_database(where: str | None) -> DatabaseStore:
    """The store at a path or URL, or in the usual place. Raises StoreError."""
    return DatabaseStore(locate(where))
