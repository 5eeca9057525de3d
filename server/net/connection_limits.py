"""How many connections there may be, in all and from one address: bookkeeping, pure.

An address is what one host or household has: an IPv4 address, or the first 64 bits of an IPv6 one, of which anybody has as many as he
likes. Those of this machine are counted in all only: behind them are its own users, or a proxy with everybody behind it.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from enum import Enum, auto

REFUSED_AT_ONCE = 100
"""Connections that are being told that there are too many. When there are more, the next are closed without a word."""


class Entry(Enum):
    ADMITTED = auto()
    FULL = auto()
    """There are too many connections in all: say so and close."""
    CROWDED = auto()
    """There are too many from this address: say so and close."""
    TURNED_AWAY = auto()
    """There are too many to say so: close."""


class Ticket:
    """What a connection has been given on coming, to be handed back when it ends. place: None where it counts for none."""

    __slots__ = ("_admission", "entry", "place")

    def __init__(self, admission: Admission, entry: Entry, place: str | None) -> None:
        self.entry = entry
        self.place = place
        self._admission: Admission | None = admission

    def hand_back(self) -> None:
        """Does nothing the second time."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.left(self)


class Admission:
    """most, most_per_address: connections at once; 0 for no limit of one address. All of a server's listeners share one of these."""

    def __init__(self, *, most: int, most_per_address: int) -> None:
        self.most = most
        self.most_per_address = most_per_address
        self.inside = 0
        self._refused = 0
        self._by_place: Counter[str] = Counter()

    def enter(self, host: str) -> Ticket:
        """Somebody has come from the address `host`."""
        place = place_of(host)
        entry = self._judge(place)
        match entry:
            case Entry.ADMITTED:
                self.inside += 1
                if place is not None:
                    self._by_place[place] += 1
            case Entry.FULL | Entry.CROWDED:
                self._refused += 1
            case Entry.TURNED_AWAY:
                pass
        return Ticket(self, entry, place)

    def _judge(self, place: str | None) -> Entry:
        crowded = place is not None and 0 < self.most_per_address <= self._by_place[place]
        if not crowded and self.inside < self.most:
            return Entry.ADMITTED
        if self._refused >= REFUSED_AT_ONCE:
            return Entry.TURNED_AWAY
        return Entry.CROWDED if crowded else Entry.FULL

    def left(self, ticket: Ticket) -> None:
        """For `Ticket.hand_back` alone."""
        match ticket.entry:
            case Entry.ADMITTED:
                self.inside -= 1
                if ticket.place is not None:
                    self._by_place[ticket.place] -= 1
                    if not self._by_place[ticket.place]:
                        del self._by_place[ticket.place]
            case Entry.FULL | Entry.CROWDED:
                self._refused -= 1
            case Entry.TURNED_AWAY:
                pass


def place_of(host: str) -> str | None:
    """What of an address is counted as one; None for this machine's own and for what is no IP address."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return None if address.is_loopback else str(ipaddress.ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return None if address.is_loopback else str(address)
