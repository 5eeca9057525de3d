"""What a race that counts did to its players' ratings, read once its record is kept.

Ratings are the store's affair: they are made as the record is written. Where they cannot be read, nobody is told, and nothing else is lost.
"""

from __future__ import annotations

import logging

from protocol.record import Record
from server.race.rating import RatingChange
from server.rooms.ports import RatingChanges
from server.store.errors import StoreError

logger = logging.getLogger("carpet.rooms")


async def read_changes(record: Record, read: RatingChanges) -> tuple[RatingChange, ...]:
    """By seat; none where they cannot be had."""
    try:
        changes = await read(record.id)
    except StoreError as error:
        logger.error("what race %s did to ratings could not be read: %s", record.id, error)
        return ()
    if len(changes) != len(record.seats):
        logger.error("race %s has %d seats and %d changes of ratings in the store", record.id, len(record.seats), len(changes))
        return ()
    return changes
