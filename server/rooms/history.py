"""The last events of a room by version: a client that comes back is sent these instead of everything."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

KEPT_EVENTS = 8
"""Events kept. When it is full the oldest goes; a client that is further behind gets a snapshot, which is then the shorter answer."""


class History(Generic[Item]):
    """Versions run from 1 up without gaps; `version` is that of the last event, 0 before the first."""

    __slots__ = ("_items", "version")

    def __init__(self) -> None:
        self.version = 0
        self._items: deque[Item] = deque(maxlen=KEPT_EVENTS)

    def add(self, item: Item) -> int:
        """Keep one event; returns its version."""
        self.version += 1
        self._items.append(item)
        return self.version

    def forget(self) -> None:
        """Count one event that only a snapshot can tell, and drop all before it."""
        self.version += 1
        self._items.clear()

    def after(self, version: int) -> Iterator[tuple[int, Item]] | None:
        """All events after `version` with their versions, or None if some are gone: then send a snapshot."""
        missed = self.version - version
        if not 0 <= missed <= len(self._items):
            return None
        start = len(self._items) - missed
        return ((version + 1 + index, self._items[start + index]) for index in range(missed))
