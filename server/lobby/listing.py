"""Which rooms are open and which are run, and the closest of these: kept up as rooms change, so that nobody looks over all of them.

Moves are no change of a room, and yet move its race up or down. So with each look those that were listed are ranked anew, and RANKED others
in turn: up to so many races the list is exact; beyond, a race that has come close is found some looks later.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from itertools import islice
from typing import Final, TypeAlias

from server.race.lead_ranking import LeadRank
from server.rooms.driver import Room

RANKED: Final = 500
"""Races whose rank is found anew with one look, beside those that were listed: less than a millisecond or two."""

_Ranked: TypeAlias = tuple[LeadRank, str, Room]
"""Sorts the closest first; no two rooms have one code."""


class Listing:
    """Knows of a room what it was when `changed` was last called with it."""

    def __init__(self) -> None:
        self.open: dict[Room, None] = {}
        """Public rooms that wait and have a free seat; who has been open longest first."""
        self._running: set[Room] = set()
        self._ranks: OrderedDict[Room, _Ranked] = OrderedDict()
        self._order: list[_Ranked] = []
        self._listed: list[Room] = []

    @property
    def running(self) -> int:
        """How many races are counted down or run, those that are not public among them."""
        return len(self._running)

    def changed(self, room: Room) -> None:
        """This room was opened or closed, or is another one in its seats or phase."""
        phase = room.summary.phase if not room.summary.closed else "over"
        if phase in ("countdown", "racing"):
            self._running.add(room)
        else:
            self._running.discard(room)
        if phase == "waiting" and room.options.public and room.summary.has_free_seat:
            self.open.setdefault(room)
        else:
            self.open.pop(room, None)
        if phase == "racing" and room.is_listed:
            self._rank(room)
        else:
            self._forget(room)

    def closest(self, most: int) -> list[Room]:
        """The public races that are being run, the closest first."""
        for room in [*self._listed, *islice(self._ranks, RANKED)]:
            if room in self._ranks:
                self._rank(room)
                self._ranks.move_to_end(room)
        self._listed = [room for _, _, room in self._order[:most]]
        return self._listed

    def _rank(self, room: Room) -> None:
        rank = room.summary.lead_rank
        if rank is None:
            # Over by now; the news of it is on its way.
            self._forget(room)
            return
        ranked = (rank, room.code, room)
        if self._ranks.get(room) != ranked:
            self._forget(room)
            self._ranks[room] = ranked
            insort(self._order, ranked)

    def _forget(self, room: Room) -> None:
        ranked = self._ranks.pop(room, None)
        if ranked is not None:
            del self._order[bisect_left(self._order, ranked)]
