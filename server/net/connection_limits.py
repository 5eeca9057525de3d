"""How many connections there may be, in all and from one address: bookkeeping, pure.

An address is what one host or household has: an IPv4 address, or the first 64 bits of an IPv6 one, of which anybody has as many as they
like. All of this machine are one, with a generous share. Who comes by a trusted proxy counts for the address that the proxy names.

A connection that rests, since a browser may ask once more, has a place as long as nobody else needs it.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import Final

REFUSED_AT_ONCE = 100
"""Connections that are being told that there are too many. When there are more, the next are closed without a word."""

THIS_MACHINE: Final = "this machine"
"""The place of all loopback addresses. It may have all connections but a fifth, which is kept for others."""


REMEMBERED: Final = 1024
"""Addresses that are not taken apart anew: a connection is counted by its address several times while it comes, and people come back."""


class AdmissionOutcome(Enum):
    ADMITTED = auto()
    FULL = auto()
    """There are too many connections in all: say so and close."""
    CROWDED = auto()
    """There are too many from this address: say so and close."""
    TURNED_AWAY = auto()
    """There are too many to say so: close."""


class Ticket:
    """What a connection has been given on coming, to be handed back when it ends.

    place: None where it counts for none. by_proxy: it comes from a trusted proxy, which says for whom.
    """

    __slots__ = ("_admission", "by_proxy", "entry", "place")

    def __init__(self, admission: Admission, entry: AdmissionOutcome, place: str | None, *, by_proxy: bool) -> None:
        self.entry = entry
        self.place = place
        self.by_proxy = by_proxy
        self._admission: Admission | None = admission

    def name_client(self, proxy: str, named: Sequence[str]) -> str:
        """The client's address, for which it counts from now on. named: by the proxies of its request, the nearest last."""
        if self._admission is None or not self.by_proxy:
            return proxy
        client = self._admission.proxies.client(proxy, named)
        self._admission.moved(self, client)
        return client

    def rest(self, give_way: Callable[[], None]) -> None:
        """Nothing is being asked. give_way: is called when the place has been given to another."""
        if self._admission is not None:
            self._admission.rested(self, give_way)

    def wake(self) -> None:
        """Something may be asked again."""
        if self._admission is not None:
            self._admission.woke(self)

    def hand_back(self) -> None:
        """Does nothing the second time."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.left(self)


class Admission:
    """most, most_per_address: connections at once; 0 for no limit of one address. All of a server's listeners share one of these."""

    def __init__(self, *, most: int, most_per_address: int, proxies: TrustedProxies | None = None) -> None:
        self.proxies = proxies or TrustedProxies()
        self.most = most
        self.most_per_address = most_per_address
        self.inside = 0
        self.elsewhere: Callable[[str], int] = lambda _: 0
        """Connections of an address at other servers of the place."""
        self.refusals: Counter[str] = Counter()
        """How many were not let in, by why."""
        self._refused = 0
        self._by_place: Counter[str] = Counter()
        # Who rests, the longest first, by place.
        self._resting: dict[str | None, dict[Ticket, Callable[[], None]]] = {}

    def enter(self, host: str) -> Ticket:
        """Somebody has come from the address `host`."""
        by_proxy = self.proxies.trusts(host)
        place = None if by_proxy else place_of(host)
        self._make_room(place)
        ticket = Ticket(self, self._judge(place), place, by_proxy=by_proxy)
        self._count(ticket)
        return ticket

    def moved(self, ticket: Ticket, host: str) -> None:
        """For `Ticket.name_client` alone."""
        if ticket.entry is AdmissionOutcome.ADMITTED and ticket.place != place_of(host):
            self.left(ticket)
            ticket.place = place_of(host)
            self._make_room(ticket.place)
            ticket.entry = self._judge(ticket.place)
            self._count(ticket)

    def _count(self, ticket: Ticket) -> None:
        if ticket.entry is AdmissionOutcome.ADMITTED:
            self.inside += 1
            if ticket.place is not None:
                self._by_place[ticket.place] += 1
            return
        self._refused += ticket.entry is not AdmissionOutcome.TURNED_AWAY
        self.refusals[ticket.entry.name.lower().replace("_", "-")] += 1

    def _crowded(self, place: str | None) -> bool:
        if place is None or not self.most_per_address:
            return False
        if place == THIS_MACHINE:
            return self.most - self.most // 5 <= self._by_place[place] < self.most
        return self.most_per_address <= self._by_place[place] + self.elsewhere(place)

    @property
    def by_place(self) -> Mapping[str, int]:
        """The connections of each address, this machine left out: what is on it is another one for each server."""
        return {place: number for place, number in self._by_place.items() if place != THIS_MACHINE}

    def _judge(self, place: str | None) -> AdmissionOutcome:
        crowded = self._crowded(place)
        if not crowded and self.inside < self.most:
            return AdmissionOutcome.ADMITTED
        if self._refused >= REFUSED_AT_ONCE:
            return AdmissionOutcome.TURNED_AWAY
        return AdmissionOutcome.CROWDED if crowded else AdmissionOutcome.FULL

    def rested(self, ticket: Ticket, give_way: Callable[[], None]) -> None:
        """For `Ticket.rest` alone."""
        if ticket.entry is AdmissionOutcome.ADMITTED:
            self._resting.setdefault(ticket.place, {})[ticket] = give_way

    def woke(self, ticket: Ticket) -> None:
        """For `Ticket.wake` alone."""
        resting = self._resting.get(ticket.place, {})
        resting.pop(ticket, None)
        if not resting:
            self._resting.pop(ticket.place, None)

    def _make_room(self, place: str | None) -> None:
        """For one more of this place."""
        while self._crowded(place) and place in self._resting:
            self._send_away(self._resting[place])
        while not self._crowded(place) and self.inside >= self.most and self._resting:
            self._send_away(next(iter(self._resting.values())))

    def _send_away(self, resting: dict[Ticket, Callable[[], None]]) -> None:
        ticket, give_way = next(iter(resting.items()))
        ticket.hand_back()
        give_way()

    def left(self, ticket: Ticket) -> None:
        """For `Ticket.hand_back` alone."""
        self.woke(ticket)
        if ticket.entry is not AdmissionOutcome.ADMITTED:
            self._refused -= ticket.entry is not AdmissionOutcome.TURNED_AWAY
            return
        self.inside -= 1
        if ticket.place is not None:
            self._by_place[ticket.place] -= 1
            if not self._by_place[ticket.place]:
                del self._by_place[ticket.place]


class TrustedProxies:
    """Networks whose word is taken for where a request comes from. Raises ValueError where one is none."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = tuple(ipaddress.ip_network(network, strict=False) for network in networks)

    def trusts(self, host: str) -> bool:
        address = _address(host) if self._networks else None
        return address is not None and any(address in network for network in self._networks)

    def client(self, proxy: str, named: Sequence[str]) -> str:
        """The last address that a trusted proxy vouches for: what stands before that, anybody may have written."""
        client = proxy
        for host in reversed(named):
            if not self.trusts(client) or _address(host) is None:
                break
            client = host
        return client


def named_by_proxies(forwarded_for: Sequence[str], forwarded: Sequence[str]) -> list[str]:
    """The addresses in the headers `X-Forwarded-For`, or else in `Forwarded` (RFC 7239), the nearest last."""
    if forwarded_for:
        return [_without_port(host) for host in ",".join(forwarded_for).split(",")]
    found = []
    for hop in ",".join(forwarded).split(","):
        pairs = [pair.partition("=") for pair in hop.split(";")]
        found += [_without_port(value) for name, _, value in pairs if name.strip().lower() == "for"]
    return found


def _without_port(text: str) -> str:
    text = text.strip().strip('"')
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


@lru_cache(REMEMBERED)
def place_of(host: str) -> str | None:
    """What of an address is counted as one; None for what is no IP address."""
    address = _address(host)
    if address is None:
        return None
    if address.is_loopback:
        return THIS_MACHINE
    return str(address if isinstance(address, ipaddress.IPv4Address) else ipaddress.ip_network((address, 64), strict=False))


@lru_cache(REMEMBERED)
def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped) or address
