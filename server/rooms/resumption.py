"""Brings rooms back: those that an earlier server left in the store, and those that another node of a cluster left.

A race that cannot come back is ended as aborted, without keeping the others from coming back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from protocol.room_events import Room as RoomMessage
from protocol.text import counted
from server.rooms.abort_summary import seats_readable
from server.rooms.clock import Clock
from server.rooms.registry import Rooms
from server.store.answers import Running, StandingRace
from server.store.errors import EntryRefused, StoreError
from server.store.journal import Journal
from server.store.port import PlayersLeft, RaceAborted
from server.store.replay import by_room
from server.store.store import Store
from server.store.takeover import TakenOver

logger = logging.getLogger("carpet.rooms")

STANDS_S: Final = 900
"""How many seconds ago a room's last race may have ended for the room to be brought back. Its players meant to see the result and perhaps
race again; after longer, they do not expect to be led back there."""


class Resumption:
    def __init__(self, rooms: Rooms, store: Store, journal: Journal, clock: Clock) -> None:
        self._rooms = rooms
        self._store = store
        self._journal = journal
        self._clock = clock

    async def resume(self) -> None:
        """Bring back what is in the store. Raises StoreError."""
        left = await self._journal.ask(self._store.running)
        await self._resume_running(left)
        await self._resume_over(await self._journal.ask(self._store.standing))

    async def take_up(self, taken: TakenOver) -> None:
        """Bring back what was taken over from another node. Raises StoreError."""
        await self._resume_running(taken.running)
        if taken.standing:
            standing = await self._journal.ask(self._store.standing)
            await self._resume_over([race for race in standing if race.opened.race in taken.standing])

    async def over(self, code: str) -> RoomMessage | None:
        """The room with this code as it stood after its last race, if it is gone, and not for long. Also None if others may still run that
        deal, or the database does not answer.
        """
        try:
            left = await self._journal.ask(self._store.stood_last, code)
            if left is None or left.opened.spec is not None or left.ended_at_ms < self._clock.wall_ms() - STANDS_S * 1000:
                return None
            return self._rooms.look_back(left)
        except (StoreError, ValueError) as error:
            logger.warning("the result of the race in room %s cannot be sent: %s", code, error)
            return None

    async def _resume_running(self, left: Running) -> None:
        rooms = self._rooms
        before = len(rooms)
        lost = [(damaged.race, damaged.what, damaged.readable) for damaged in left.damaged]
        for room in by_room(left.races):
            try:
                rooms.resume(room)
            except ValueError as error:
                lost += [(race.opened.race, str(error), race) for race in (room.earlier, room.running) if race is not None]
        for race_id, what, readable in lost:
            logger.error("race %s cannot go on and is aborted: %s", race_id, what)
            aborted = RaceAborted(race=race_id, reason=what, at_ms=self._clock.wall_ms(), seats=seats_readable(readable))
            try:
                await self._journal.write(aborted)
            except EntryRefused:
                # If the log is damaged, the seats may be too: better no line in a history than no server.
                await self._journal.write(replace(aborted, seats=()))
        if left.races or lost:
            cannot = f"; {len(lost)} cannot be" if lost else ""
            logger.info("%s of an earlier server resumed%s", counted(len(rooms) - before, "race"), cannot)

    async def _resume_over(self, over: Sequence[StandingRace]) -> None:
        """Bring back rooms whose race is over and in which somebody still was; the newest first, since a player has only one seat."""
        before = len(self._rooms)
        gone: list[PlayersLeft] = []
        for standing in reversed(over):
            try:
                if standing.ended_at_ms < self._clock.wall_ms() - STANDS_S * 1000:
                    raise ValueError(f"it was over more than {STANDS_S // 60} minutes ago")
                self._rooms.resume(standing)
            except ValueError as error:
                logger.debug("the room of race %s is gone: %s", standing.opened.race, error)
                gone.append(PlayersLeft(race=standing.opened.race, seats=tuple(standing.here)))
        if gone:
            await self._journal.write(*gone)
        if kept := len(self._rooms) - before:
            logger.info("%s of an earlier server kept open, with the race over", counted(kept, "room"))
