"""The search for a winnable deal on behalf of one room: at most one at a time, and none for a deal that is not wanted any more.

Must not know the race, nor how a deal is found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from server.race.machine import DealWanted
from server.rooms.clock import Clock
from server.rooms.ports import FindDeal
from server.rooms.requests import DealFound


class DealSearch:
    """Tells `tell` what came of the search for the deal that was last wanted."""

    def __init__(self, find_deal: FindDeal, clock: Clock, tell: Callable[[DealFound], Awaitable[None]]) -> None:
        self._find_deal = find_deal
        self._clock = clock
        self._tell = tell
        self._sought: DealWanted | None = None
        self._search = trio.CancelScope()

    def want(self, wanted: DealWanted | None, nursery: trio.Nursery) -> None:
        """Have a search running in `nursery` for just this deal; None for no search."""
        if wanted == self._sought:
            return
        self._search.cancel()
        self._sought = wanted
        if wanted is not None:
            self._search = trio.CancelScope()
            nursery.start_soon(self._seek, wanted, self._search)

    async def _seek(self, wanted: DealWanted, search: trio.CancelScope) -> None:
        with search:
            k = await self._find_deal(wanted)
            await self._tell(DealFound(wanted, k, self._clock.now_ms()))
