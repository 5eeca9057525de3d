"""How busy each server of a place is. The servers tell each other twice a second; what they say is a hint, up to a second old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from server.cluster.bus import readable

_CONNECTIONS_A_ROOM: Final = 10
"""Connections that together cost about as much as a room with a running race."""

MUCH: Final = 2.0
MORE: Final = 50.0
"""A server is much busier than another if its load is more than twice the other's plus 50 rooms. So nobody is sent back and forth: to send
them back, the other server would have to become much busier in its turn."""

_BESIDE: Final = 10.0
"""Rooms added to every server's load when the rooms of a dead server are divided: a server with fewer than these counts as idle."""

UNTOLD: Final = 4
"""The other servers are not told of an address with no more connections or rooms than this."""

PLACES: Final = 1_000
"""Addresses that the others are told of, at most."""


class Load(msgspec.Struct, frozen=True):
    """How busy one server is. rooms: how many are open there. takes: whether it takes new ones. writes: whether it reaches the database.
    places: connections and rooms by address, for addresses that have several."""

    node: int
    rooms: int
    connections: int
    takes: bool
    writes: bool
    places: dict[str, tuple[int, int]] = {}

    @property
    def weight(self) -> float:
        """The load in rooms."""
        return self.rooms + self.connections / _CONNECTIONS_A_ROOM


_DECODER: Final = msgspec.msgpack.Decoder(Load)


class Loads:
    """own: gives this server's current load. places: gives its `Load.places`, which take longer to compute."""

    def __init__(self, own: Callable[[], Load], places: Callable[[], dict[str, tuple[int, int]]] = dict) -> None:
        self.own = own
        self._places = places
        self.others: dict[int, Load] = {}
        """By node; empty while no other server can be heard."""
        self._connections, self._rooms = Counter[str](), Counter[str]()

    def say(self) -> bytes:
        return msgspec.msgpack.encode(replace(self.own(), places=self._places()))

    def hear(self, texts: Sequence[bytes]) -> None:
        """Take in what each of the others has said last."""
        told = readable(texts, _DECODER)
        self.others = {load.node: load for load in told}
        self._connections, self._rooms = Counter[str](), Counter[str]()
        for load in told:
            for place, (connections, rooms) in load.places.items():
                self._connections[place] += connections
                self._rooms[place] += rooms

    def less_busy(self) -> Load | None:
        """The server at which a room should rather be opened; None if it may as well open here."""
        best = min((load for load in self.others.values() if load.takes), key=lambda load: load.weight, default=None)
        own = self.own()
        return best if best is not None and (not own.takes or own.weight > MUCH * best.weight + MORE) else None

    @property
    def others_write(self) -> bool:
        """Whether any of the others reaches the database, even if it takes no rooms."""
        return any(load.writes for load in self.others.values())

    def takers(self) -> float:
        """Into how many parts to divide a dead server's rooms, of which this server takes one: the busier it is, the more parts."""
        own = self.own().weight + _BESIDE
        return sum(own / (load.weight + _BESIDE) for load in self.others.values()) + 1

    def meeting_point(self, nodes: Sequence[int]) -> int:
        """The node at which all who look for an opponent wait: the first that takes rooms and is not much busier than the least busy one.

        nodes: in an order on which all nodes agree. One that has not been heard counts as not busy.
        """
        known = {load.node: load for load in (self.own(), *self.others.values())}
        least = min((known[node].weight for node in nodes if node in known and known[node].takes), default=0.0)
        fits = (node for node in nodes if (load := known.get(node)) is None or (load.takes and load.weight <= MUCH * least + MORE))
        return next(fits, nodes[0])

    def connections_elsewhere(self, place: str) -> int:
        """Connections of this address at the other servers, as they last said."""
        return self._connections[place]

    def rooms_elsewhere(self, place: str) -> int:
        """Rooms opened from this address at the other servers, as they last said."""
        return self._rooms[place]


def places_told(connections: Mapping[str, int], rooms: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The connections and rooms by address that the others are told: only the largest, and none of just a few."""
    most = Counter({place: max(connections.get(place, 0), rooms.get(place, 0)) for place in {**connections, **rooms}}).most_common(PLACES)
    return {place: (connections.get(place, 0), rooms.get(place, 0)) for place, number in most if number > UNTOLD}
