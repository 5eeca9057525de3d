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


async def pair_next(workers: Workers, crosstable: Crosstable) -> Round | None:
    """As of `server.tournaments.ports.PairNext`."""
    if isinstance(crosstable.format, Swiss) and len(crosstable.active) > AT_ONCE:
        try:
            return await workers.run(Crosstable.next_round, crosstable)
        except WorkerDied as error:
            logger.error("pairing a round in a worker: %s; doing it in this process instead", error)
    return crosstable.next_round()
