"""A store that ends with its process, for tests and for a host who wants to keep nothing: the same tables in this process's memory."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from server.store.sql import Sql, sqlite
from server.store.store import Store
from server.store.tables import TABLES


class MemoryStore(Store):
    """Never waits: its calls may be made from the event loop."""

    waits = False

    def __init__(self) -> None:
        super().__init__("the store in memory")
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # Of one that is only dropped, Python would complain.
        weakref.finalize(self, connection.close)
        connection.executescript(TABLES)
        self._sql = sqlite(connection)

    @contextmanager
    def _writing(self) -> Iterator[Sql]:
        yield self._sql

    _reading = _writing

    def close(self) -> None:
        self._sql.close()
