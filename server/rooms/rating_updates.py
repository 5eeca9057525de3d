"""Reads how a race that counts changed its players' ratings, once its record is kept.

The store computes ratings as it writes the record. If they cannot be read, this asks again; if they never can, nobody is told, and nothing
else is lost.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from protocol.record import Record
from server.race.rating import RatingChange
from server.rooms.ports import RatingChanges
from server.store.errors import StoreError

logger = logging.getLogger("carpet.rooms")


AGAIN_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Seconds between one try and the next: a database that was restarted is back by then."""


async def read_changes(record: Record, read: RatingChanges) -> tuple[RatingChange, ...]:
    """The changes by seat; none if they cannot be read for minutes."""
    changes: tuple[RatingChange, ...] = ()
    for pause in (*AGAIN_S, None):
        try:
            changes = await read(record.id)
            break
        except StoreError as error:
            if pause is None:
                logger.error("cannot read the rating changes of race %s: %s", record.id, error)
                return ()
            logger.debug("cannot read the rating changes of race %s, trying again in %d s: %s", record.id, pause, error)
        await trio.sleep(pause)
    if len(changes) != len(record.seats):
        logger.error("race %s has %d seats and %d changes of ratings in the store", record.id, len(record.seats), len(changes))
        return ()
    return changes
