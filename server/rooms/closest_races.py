"""The public races that are being run, closest first, so that nobody has to look through all rooms for one to watch.

Moves do not count as changes of a room, yet they move its race up or down. So each look ranks the closest races again, and RANKED others in
turn. Up to so many races the order is exact; with more, a race that has become close is found a few looks later.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec

from server.cluster.bus import readable
from server.rooms.driver import Room
from server.rooms.summary import LeadRank

LISTED: Final = 100
"""How many of the closest are listed. The lobby lists no more of anything else either."""

RANKED: Final = 500
"""How many races beside the closest are ranked again in one look. They take less than a millisecond or two."""

TOLD: Final = 8
"""How many of its closest races a server tells the others about: more than one, because a spectator may hold a seat in some."""


class CloseRace(msgspec.Struct, array_like=True, frozen=True):
    """A race that is being run in public, on another server of the cluster. players: those who hold a seat in it."""

    rank: LeadRank
    code: str
    players: tuple[str, ...]


_Ranked: TypeAlias = tuple[LeadRank, str, Room]
"""Sorts the closest first. Codes are unique, so rooms are never compared."""

_HEARD = msgspec.msgpack.Decoder(list[CloseRace])


class ClosestRaces:
    """Knows each room as it was when `changed` was last called with it, or a look came to it."""

    def __init__(self) -> None:
        self._ranks: OrderedDict[Room, _Ranked] = OrderedDict()
        """In the order in which they were last ranked."""
        self._order: list[_Ranked] = []
        self._listed: list[Room] = []
        self._elsewhere: list[tuple[LeadRank, str, CloseRace]] = []
        self._has_told = False

    def changed(self, room: Room) -> None:
        """This room was opened or closed, or its seats or phase have changed."""
        rank = room.summary.lead_rank if room.is_listed else None
        before = self._ranks.pop(room, None)
        now = (rank, room.code, room) if rank is not None else None
        if now is not None:
            self._ranks[room] = now
        if before != now:
            if before is not None:
                del self._order[bisect_left(self._order, before)]
            if now is not None:
                insort(self._order, now)

    def look(self) -> list[Room]:
        """Rank races again. Returns those of this server that are listed, closest first.

        If there are more than LISTED, listed ones stay listed; otherwise the list would change with each move. Only the closest race of all
        may replace another, the least close one.
        """
        closest = (room for _, _, room in islice(self._order, LISTED))
        for room in {*self._listed, *closest, *islice(self._ranks, RANKED)}:
            self.changed(room)
        stay = sorted(self._ranks[room] for room in self._listed if room in self._ranks)[:LISTED]
        listed = {room for _, _, room in stay}
        if len(stay) == LISTED and self._order[0][2] not in listed:
            listed.discard(stay.pop()[2])
        others = (ranked for ranked in self._order if ranked[2] not in listed)
        stay += islice(others, LISTED - len(stay))
        self._listed = [room for _, _, room in sorted(stay)]
        return self._listed

    def __iter__(self) -> Iterator[Room | CloseRace]:
        """All of this server, as the last look left them, and those that other servers have told of, closest first."""
        ranked: Iterator[tuple[LeadRank, str, Room | CloseRace]] = merge(self._order, self._elsewhere, key=itemgetter(0, 1))
        return (race for _, _, race in ranked)

    def say(self) -> bytes:
        """The closest races of this server, for the other servers. Empty if they know already that there are none."""
        told = [CloseRace(rank, code, room.summary.holders) for rank, code, room in islice(self._order, TOLD)]
        is_news, self._has_told = bool(told) or self._has_told, bool(told)
        return msgspec.msgpack.encode(told) if is_news else b""

    def hear(self, texts: Sequence[bytes]) -> None:
        """texts: the closest races of the other servers, as each last reported them."""
        races = (race for told in readable(texts, _HEARD) for race in told)
        self._elsewhere = sorted(((race.rank, race.code, race) for race in races), key=itemgetter(0, 1))
