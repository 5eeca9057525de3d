"""One lock for each place, so that others do not wait for all that somebody asks for at once."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from weakref import WeakValueDictionary

import trio


class PlaceLocks:
    """A place is forgotten once nobody of it waits."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()

    def turn(self, place: str | None) -> AbstractAsyncContextManager[object]:
        """Waits until nobody else of the place has the turn. place: the part of an address that counts as one; None never waits."""
        return self._locks.setdefault(place, trio.Lock()) if place is not None else nullcontext()
