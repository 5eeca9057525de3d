"""What a race that counts did to its players' ratings, told once its record is kept: to the room, and to who shows ratings elsewhere.

Ratings are the store's affair: they are made as the record is written. Where they cannot be read, nobody is told, and nothing else is lost.
"""

from __future__ import annotations

import logging

from protocol.record import Record
from server.rooms.broadcast import SeatsRated
from server.rooms.ports import RatingChanges, RoomOwner
from server.store.errors import StoreError

logger = logging.getLogger("carpet.rooms")


class RatingNews:
    def __init__(self, changes: RatingChanges, owner: RoomOwner) -> None:
        self._changes = changes
        self._owner = owner
        self._expected: Record | None = None

    def expect(self, record: Record) -> None:
        """The race of this record is over, and the record about to be kept."""
        self._expected = record if record.rated else None

    async def fetch(self, race: str) -> SeatsRated | None:
        """After all is kept: what there is to tell. race: that the room speaks of; what came of an earlier one is told outside alone."""
        record, self._expected = self._expected, None
        if record is None:
            return None
        try:
            changes = await self._changes(record.id)
        except StoreError as error:
            logger.error("what race %s did to ratings could not be read: %s", record.id, error)
            return None
        if len(changes) != len(record.seats):
            logger.error("race %s has %d seats and %d changes of ratings in the store", record.id, len(record.seats), len(changes))
            return None
        for seat, change in zip(record.seats, changes, strict=True):
            self._owner.rated(seat.player, change.after)
        return SeatsRated(tuple(change.shown for change in changes)) if record.id == race else None
