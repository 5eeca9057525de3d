"""Opens the store that the host asked for: a database by path or URL, the usual file, or one that keeps nothing."""

from __future__ import annotations

from typing import Final

from server.store.memory import MemoryStore
from server.store.store import Store

NOTHING_KEPT: Final = "memory"
"""Given instead of a path or URL: a store that ends with the server."""


def open_store(where: str | None, *, shared: bool = False) -> Store:
    """shared: with the other nodes of a cluster. Raises StoreError, with one sentence that says what is wrong."""
    if shared:
        from server.store.shared import open_shared

        return open_shared(where)
    if where == NOTHING_KEPT:
        return MemoryStore()
    # Half of a server's imports are for this alone: without them it starts in half the time.
    from server.store.database import open_database

    return open_database(where)
