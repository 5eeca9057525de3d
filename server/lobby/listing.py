"""Keeps track of the open rooms and the running races, and of the closest of these, so that nobody has to look through all rooms.

Moves do not count as changes of a room, yet they move its race up or down. So each look ranks the listed races again, and RANKED others in
turn. Up to so many races the list is exact; with more, a race that has become close is found a few looks later.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from itertools import count, islice, zip_longest
from typing import Final, TypeAlias

from server.rooms.driver import Room
from server.rooms.summary import LeadRank

RANKED: Final = 500
"""How many races beside the listed ones are ranked again in one look. They take less than a millisecond or two."""

_Ranked: TypeAlias = tuple[LeadRank, str, Room]
"""Sorts the closest first. Codes are unique, so rooms are never compared."""


class Listing:
    """Knows each room as it was when `changed` was last called with it."""

    def __init__(self) -> None:
        self.open: dict[Room, int] = {}
        """Public rooms that wait and have a free seat, numbered in the order in which they became open."""
        self._by_place: dict[str | None, dict[Room, None]] = {}
        self._numbers = count()
        self._running: set[Room] = set()
        self._ranks: OrderedDict[Room, _Ranked] = OrderedDict()
        self._order: list[_Ranked] = []
        self.listed: list[Room] = []
        """The last answer of `closest`."""

    @property
    def running(self) -> int:
        """How many races are in their countdown or running, including those that are not public."""
        return len(self._running)

    def changed(self, room: Room) -> None:
        """This room was opened or closed, or its seats or phase have changed."""
        phase = room.summary.phase if not room.summary.closed else "over"
        if phase in ("countdown", "racing"):
            self._running.add(room)
        else:
            self._running.discard(room)
        if phase == "waiting" and room.options.public and room.summary.has_free_seat:
            if room not in self.open:
                self.open[room] = next(self._numbers)
                self._by_place.setdefault(room.place, {})[room] = None
        elif self.open.pop(room, None) is not None:
            theirs = self._by_place[room.place]
            del theirs[room]
            if not theirs:
                del self._by_place[room.place]
        if phase == "racing" and room.is_listed:
            self._rank(room)
        else:
            self._forget(room)

    def longest_open(self, most: int) -> list[Room]:
        """The open rooms, longest open first. If there are more than `most`, each place gets one before any gets two."""
        rows = zip_longest(*islice(self._by_place.values(), most))
        chosen = islice((room for row in rows for room in row if room is not None), most)
        return sorted(chosen, key=self.open.__getitem__)

    def closest(self, most: int) -> list[Room]:
        """The public running races, closest first.

        If there are more than `most`, listed ones stay listed; otherwise the list would change with each move. Only the closest race of all
        may replace another, the least close one.
        """
        for room in [*self.listed, *islice(self._ranks, RANKED)]:
            if room in self._ranks:
                self._rank(room)
                self._ranks.move_to_end(room)
        stay = sorted(self._ranks[room] for room in self.listed if room in self._ranks)[:most]
        listed = {room for _, _, room in stay}
        if len(stay) == most and self._order[0][2] not in listed:
            listed.discard(stay.pop()[2])
        for ranked in self._order:
            if len(stay) == most:
                break
            if ranked[2] not in listed:
                stay.append(ranked)
        self.listed = [room for _, _, room in sorted(stay)]
        return self.listed

    def _rank(self, room: Room) -> None:
        rank = room.summary.lead_rank
        if rank is None:
            # The race is over, and the news of that is on its way.
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
