"""Looks for a winnable deal before a race, in a worker process, so that only the room that wants it waits.

Owns how long the search appears to take. Must not know rooms, nor how a deal is searched.
"""

from __future__ import annotations

import logging
from math import ceil
from typing import Final

import trio

from server.race.race_deal import DealWanted
from server.rooms.ports import SearchFailed
from server.runtime.place_locks import PlaceLocks
from server.runtime.workers import WorkerDied, Workers
from server.solver.winnable import NoneWinnable, first_winnable

logger = logging.getLogger("carpet.rooms")

STEP_S: Final = 3.0
"""Answers are given only at multiples of this many seconds. Most searches take a fraction of it, so the timing does not give away how many
deals were looked at, nor how hard the one found is."""

PAUSES_S: Final = (0.0, 3.0, 6.0, 12.0, 24.0, 30.0, 30.0, 30.0)
"""Pauses before each attempt, as workers die one after another. A machine that is out of memory may recover in a minute or two."""


class DealFinder:
    """`find` is a `FindDeal`. Each place has one search at a time."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._locks = PlaceLocks()

    async def find(self, wanted: DealWanted, place: str | None) -> int | None:
        """The number of the first seed whose deal can be won; None if none was found. Cancel it when nobody wants the answer any more.

        Raises SearchFailed if worker after worker has died.
        """
        began = trio.current_time()
        async with self._locks.turn(place):
            k = await self._search(wanted)
        steps = max(ceil((trio.current_time() - began) / STEP_S), 1)
        await trio.sleep_until(began + steps * STEP_S)
        return k

    async def _search(self, wanted: DealWanted) -> int | None:
        for attempt, pause_s in enumerate(PAUSES_S, 1):
            await trio.sleep(pause_s)
            try:
                return await self._workers.run(first_winnable, wanted.rules, wanted.secret, wanted.nonces)
            except NoneWinnable as error:
                logger.error("no winnable deal: %s", error)
                return None
            except WorkerDied as error:
                logger.error("looking for a winnable deal, attempt %d of %d: %s", attempt, len(PAUSES_S), error)
        raise SearchFailed
