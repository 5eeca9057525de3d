"""How busy each server of a place is, as all tell each other twice a second. Nothing here is the truth of anything: it is a second old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from server.cluster.bus import readable

_CONNECTIONS_A_ROOM: Final = 10
"""Connections that cost about as much as a room in which a race is run."""

MUCH: Final = 2.0
MORE: Final = 50.0
"""A server is much busier than another that has less than half as much to do, 50 rooms left aside. Whoever is sent from one to the other
is not sent back: for that the other would need more than twice as much as the first one has."""

_BESIDE: Final = 10.0
"""Rooms: who has less than that is as good as idle, where the rooms of a server that is gone are divided."""

UNTOLD: Final = 4
"""Connections, or rooms, of one address of which the other servers are told nothing."""

PLACES: Final = 1_000
"""Addresses of which the others are told, at most."""


class Load(msgspec.Struct, frozen=True):
    """Of one server. rooms: that are open there. takes: whether it takes new ones. places: connections and rooms of what counts as one
    address, of those that have several. writes: whether it reaches the database; an older server does not
    say, but one that takes rooms does.
    """

    node: int
    rooms: int
    connections: int
    takes: bool
    places: dict[str, tuple[int, int]] = {}
    writes: bool = False

    @property
    def weight(self) -> float:
        """In rooms."""
        return self.rooms + self.connections / _CONNECTIONS_A_ROOM


_DECODER: Final = msgspec.msgpack.Decoder(Load)


class Loads:
    """own: how busy this server is now. places: as of `Load`, which takes longer to say."""

    def __init__(self, own: Callable[[], Load], places: Callable[[], dict[str, tuple[int, int]]] = dict) -> None:
        self.own = own
        self._places = places
        self.others: dict[int, Load] = {}
        """By node; empty while nobody can be heard."""
        self._connections, self._rooms = Counter[str](), Counter[str]()

    def say(self) -> bytes:
        return msgspec.msgpack.encode(replace(self.own(), places=self._places()))

    def hear(self, texts: Sequence[bytes]) -> None:
        """What each of the others has said last."""
        told = readable(texts, _DECODER)
        self.others = {load.node: load for load in told}
        self._connections, self._rooms = Counter[str](), Counter[str]()
        for load in told:
            for place, (connections, rooms) in load.places.items():
                self._connections[place] += connections
                self._rooms[place] += rooms

    def less_busy(self) -> Load | None:
        """Where to send who would open a room here; None where they may as well stay."""
        best = min((load for load in self.others.values() if load.takes), key=lambda load: load.weight, default=None)
        own = self.own()
        return best if best is not None and (not own.takes or own.weight > MUCH * best.weight + MORE) else None

    @property
    def others_write(self) -> bool:
        """Whether any of the others reaches the database, be it full or not."""
        return any(load.takes or load.writes for load in self.others.values())

    def takers(self) -> float:
        """Into how many parts the rooms of a server that is gone are divided where this one takes one part: the more, the busier it is."""
        own = self.own().weight + _BESIDE
        return sum(own / (load.weight + _BESIDE) for load in self.others.values()) + 1

    def meeting_point(self, nodes: Sequence[int]) -> int:
        """Where those who wait for each other meet: the first of these that takes rooms and is not much busier than the least busy one.

        nodes: in an order on which all agree; one that is not heard is taken for one that is not busy.
        """
        known = {load.node: load for load in (self.own(), *self.others.values())}
        least = min((known[node].weight for node in nodes if node in known and known[node].takes), default=0.0)
        fits = (node for node in nodes if (load := known.get(node)) is None or (load.takes and load.weight <= MUCH * least + MORE))
        return next(fits, nodes[0])

    def connections_elsewhere(self, place: str) -> int:
        """Of what counts as one address, at the other servers, as they have told last."""
        return self._connections[place]

    def rooms_elsewhere(self, place: str) -> int:
        """The same of rooms that were opened from there."""
        return self._rooms[place]


def places_told(connections: Mapping[str, int], rooms: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Of how many by address the others are told: those with most, and more than a few."""
    most = Counter({place: max(connections.get(place, 0), rooms.get(place, 0)) for place in {**connections, **rooms}}).most_common(PLACES)
    return {place: (connections.get(place, 0), rooms.get(place, 0)) for place, number in most if number > UNTOLD}
