"""Pairing the next round out of the way of the event loop: a large Swiss takes the interpreter for a second or two, which all rooms would
feel."""

from __future__ import annotations

import logging
from typing import Final

from server.runtime.workers import WorkerDied, Workers
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import Round
from server.tournaments.pairing.swiss import Swiss

logger = logging.getLogger("carpet.tournaments")

AT_ONCE: Final = 24
"""Entrants of a Swiss that are paired here and now, in some milliseconds; sending more to a worker costs less than waiting for them."""


def next_round(crosstable: Crosstable) -> Round | None:
    """For a worker: a function that can be imported."""
    return crosstable.next_round()


class Pairer:
    """Satisfies `server.tournaments.ports.PairNext` by its `pair_next`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    async def pair_next(self, crosstable: Crosstable) -> Round | None:
        if not isinstance(crosstable.format, Swiss) or len(crosstable.active) <= AT_ONCE:
            return crosstable.next_round()
        try:
            return await self._workers.run(next_round, crosstable)
        except WorkerDied as error:
            logger.error("pairing a round: %s; it is done here instead", error)
            return crosstable.next_round()
