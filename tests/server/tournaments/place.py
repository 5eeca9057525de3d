"""Several venues on one store, which form one place to play."""

from __future__ import annotations

import random
from collections.abc import Sequence

import trio

from server.store.memory import MemoryStore
from server.store.replay import by_room
from tests.server.tournaments.venue import Venue


class Place:
    """Servers on one store. Each hears from the others twice a second, for as long as it lives."""

    def __init__(self, nursery: trio.Nursery, *, spreads: bool = False) -> None:
        """spreads: tables are raced at any server; otherwise at the leading one, as if nobody knew how busy the others are."""
        self.lost = 0.0
        """The share of their messages to each other that are lost."""
        self._spreads = spreads
        self._chance = random.Random(7)
        self.store = MemoryStore()
        self.venues: list[Venue] = []
        self._nursery = nursery
        self._scopes: dict[Venue, trio.CancelScope] = {}

    async def open(self, number: int = 2) -> None:
        for _ in range(number):
            await self._nursery.start(self._run)
        for venue in self.venues:
            venue.others = [other for other in self.venues if other is not venue]
        self._nursery.start_soon(self._exchange)

    async def _run(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            number = len(self.venues)
            venue = Venue(nursery, store=self.store, seed=number, node=number + 1)
            await venue.open()
            self.venues.append(venue)
            self._scopes[venue] = nursery.cancel_scope
            task_status.started()

    async def _exchange(self) -> None:
        while True:
            await trio.sleep(0.5)
            for venue in self.venues:
                venue.tournaments.elsewhere.hear([other.tournaments.elsewhere.say() for other in venue.others if self._is_heard()])
                if venue.loads is not None and self._spreads:
                    venue.loads.hear([other.loads.say() for other in venue.others if other.loads is not None])

    def _is_heard(self) -> bool:
        return self._chance.random() >= self.lost

    def kill(self, venue: Venue) -> None:
        """Kill a server: nothing it does from now on reaches the store."""
        venue.journal.gate = trio.Event()
        self._scopes[venue].cancel()
        self.venues.remove(venue)
        for other in self.venues:
            other.others.remove(venue)

    def take_over(self, venue: Venue, tournaments: Sequence[str]) -> None:
        """Give a server all rooms that no server has, and the lead of these tournaments."""
        for left in by_room(self.store.running().races):
            if not any(other.rooms.has(left.running.opened.room) for other in self.venues):
                venue.rooms.resume(left)
        with self.store.maintaining() as sql:
            sql.run("UPDATE tournaments SET node = :node WHERE id = :id", [{"id": each, "node": venue.node} for each in tournaments])
        venue.tournaments.take_up(tournaments)
