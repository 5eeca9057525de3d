"""A store in memory, with the same tables, that ends with its process: for tests and for hosts who want to keep nothing."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from server.store.sql import Sql, sqlite
from server.store.store import Store
from server.store.tables import TABLES


class MemoryStore(Store):
    """Never blocks, so it may be called from the event loop."""

    waits = False

    def __init__(self) -> None:
        super().__init__("the store in memory")
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # Python would warn about a connection that is dropped without being closed.
        weakref.finalize(self, connection.close)
        connection.executescript(TABLES)
        self._sql = sqlite(connection)

    @contextmanager
    def _writing(self) -> Iterator[Sql]:
        yield self._sql

    _reading = _writing

    def close(self) -> None:
        self._sql.close()
