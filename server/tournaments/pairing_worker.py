"""Pairs the next round in a worker, because a large Swiss takes a second or two of computing, which would hold up all rooms."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from server.runtime.workers import WorkerDied, Workers
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import Round
from server.tournaments.pairing.swiss import Swiss

logger = logging.getLogger("carpet.tournaments")

AT_ONCE: Final = 24
"""A Swiss of up to so many entrants is paired right here, in a few milliseconds; for more, a worker costs less."""


async def pair_next(workers: Workers, crosstable: Crosstable) -> Round | None:
    """See `server.tournaments.ports.PairNext`."""
    if isinstance(crosstable.format, Swiss) and len(crosstable.active) > AT_ONCE:
        try:
            # A copy, because it is without the standings, which would take as long to send as all the rest.
            return await workers.run(Crosstable.next_round, replace(crosstable))
        except WorkerDied as error:
            logger.error("pairing a round in a worker: %s; doing it in this process instead", error)
    return crosstable.next_round()
