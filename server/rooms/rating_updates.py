"""What a race that counts did to its players' ratings, read once its record is kept.

Ratings are the store's affair: they are made as the record is written. While they cannot be read they are asked for again; where they never
can, nobody is told, and nothing else is lost.
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
    """By seat; none where they cannot be had for minutes."""
    changes: tuple[RatingChange, ...] = ()
    for pause in (*AGAIN_S, None):
        try:
            changes = await read(record.id)
            break
        except StoreError as error:
            if pause is None:
                logger.error("what race %s did to ratings could not be read: %s", record.id, error)
                return ()
            logger.debug("what race %s did to ratings is asked for again in %d s: %s", record.id, pause, error)
        await trio.sleep(pause)
    if len(changes) != len(record.seats):
        logger.error("race %s has %d seats and %d changes of ratings in the store", record.id, len(record.seats), len(changes))
        return ()
    return changes
