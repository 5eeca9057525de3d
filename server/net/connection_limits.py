"""Limits the connections in all and from one address: how many there are, and how fast they come. Only bookkeeping; pure.

An address is what one host or household has: an IPv4 address, or the first 64 bits of an IPv6 address, since the rest can be chosen freely.
All loopback addresses count as one, with a generous share. A client behind a trusted proxy counts for the address that the proxy names.

A connection that rests (a browser keeps it in case it asks again) keeps its place as long as nobody else needs it.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import Final

REFUSED_AT_ONCE = 100
"""Connections that are being told at one time that there are too many. Beyond that, the next are closed without a word."""

SHARES_AT_ONCE: Final = 5
SHARE_RENEWED_S: Final = 4.0
"""As many connections as one address may have can come from it every SHARE_RENEWED_S, after SHARES_AT_ONCE times as many at once: a club
behind one address may come back in the same second, each with several connections of a browser."""

THIS_MACHINE: Final = "this machine"
"""The place of all loopback addresses. It may have all connections except a fifth, which is kept for others."""


REMEMBERED: Final = 1024
"""Addresses whose parsing is cached: a connection's address is looked up several times when it comes, and people come back."""


class AdmissionOutcome(Enum):
    ADMITTED = auto()
    FULL = auto()
    """There are too many connections in all: say so and close."""
    CROWDED = auto()
    """There are too many from this address: say so and close."""
    TURNED_AWAY = auto()
    """There are too many to say so, or they come too fast: close. Only where no request has been read: later they are told."""


class Ticket:
    """What a connection is given when it comes, and hands back when it ends.

    place: the address it counts for; None for none. by_proxy: it comes from a trusted proxy, which says for whom. By default, nobody
    counts the connection.
    """

    __slots__ = ("_admission", "_is_websocket", "by_proxy", "entry", "place")

    def __init__(self, admission: Admission | None = None, place: str | None = None, *, by_proxy: bool = False) -> None:
        self.entry = AdmissionOutcome.ADMITTED
        self.place = place
        self.by_proxy = by_proxy
        self._admission = admission
        self._is_websocket = False

    def name_client(self, proxy: str, named: Sequence[str]) -> str:
        """Count the connection for its client from now on; returns the client's address. named: by the proxies, the nearest last."""
        if self._admission is None:
            return proxy
        client = self._admission.proxies.client(proxy, named)
        self._admission.moved(self, client)
        return client

    def open_websocket(self, client: str) -> None:
        """It is to be a WebSocket of the client at this address. Afterwards `entry` says whether it may be."""
        if self._admission is not None and self.by_proxy and not self._is_websocket:
            self._is_websocket = True
            self._admission.opened(self, client)

    def rest(self, give_way: Callable[[], None]) -> None:
        """No request is being made. give_way: called when the connection's place has been given to another."""
        if self._admission is not None:
            self._admission.rested(self, give_way)

    def wake(self) -> None:
        """A request may be made again."""
        if self._admission is not None:
            self._admission.woke(self)

    def hand_back(self) -> None:
        """The connection has ended. Does nothing the second time."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.left(self)


class Admission:
    """Counts connections and decides which come in; all listeners of a server share one. most, most_per_address: connections at once; 0 for
    no limit per address. is_calm: whether one more may come from this address now; not asked about this machine.
    """

    def __init__(
        self,
        *,
        most: int,
        most_per_address: int,
        proxies: TrustedProxies | None = None,
        is_calm: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.proxies = proxies or TrustedProxies()
        self.most = most
        self.most_per_address = most_per_address
        self.inside = 0
        self.elsewhere: Callable[[str], int] = lambda _: 0
        """Gives the connections of an address at the other servers of the place."""
        self.on_refused: Callable[[Ticket], None] = lambda _: None
        """Called with each that is not let in."""
        self.refusals: Counter[str] = Counter()
        """How many connections were not let in, by reason."""
        self._is_calm = is_calm
        self._refused = 0
        self._by_place: Counter[str] = Counter()
        # The resting connections by place, those that have rested longest first.
        self._resting: dict[str | None, dict[Ticket, Callable[[], None]]] = {}

    def enter(self, host: str) -> Ticket:
        """A connection has come from the address `host`."""
        by_proxy = self.proxies.trusts(host)
        place = None if by_proxy else place_of(host)
        ticket = Ticket(self, place, by_proxy=by_proxy)
        if not self._comes_calmly(place, host):
            # A thousand of them a second would cost a fifth of a core if they were heard out, or told why not.
            ticket.entry = AdmissionOutcome.TURNED_AWAY
        else:
            self._make_room(place)
            ticket.entry = self._judge(place)
            if ticket.entry is not AdmissionOutcome.ADMITTED and self._refused >= REFUSED_AT_ONCE:
                ticket.entry = AdmissionOutcome.TURNED_AWAY
        self._count(ticket)
        return ticket

    def moved(self, ticket: Ticket, host: str) -> None:
        """For `Ticket.name_client` alone."""
        if ticket.entry is AdmissionOutcome.ADMITTED and ticket.place != place_of(host):
            self.left(ticket)
            ticket.place = place_of(host)
            self._make_room(ticket.place)
            # The request has been read, so the proxy is always told.
            ticket.entry = self._judge(ticket.place)
            self._count(ticket)

    def opened(self, ticket: Ticket, host: str) -> None:
        """For `Ticket.open_websocket` alone. A proxy may make a connection for each request, so that only those that stay are judged."""
        if ticket.entry is AdmissionOutcome.ADMITTED and not self._comes_calmly(ticket.place, host):
            self.left(ticket)
            ticket.entry = AdmissionOutcome.CROWDED
            self._count(ticket)

    def _comes_calmly(self, place: str | None, host: str) -> bool:
        return place is None or place == THIS_MACHINE or self._is_calm(host)

    def _count(self, ticket: Ticket) -> None:
        if ticket.entry is AdmissionOutcome.ADMITTED:
            self.inside += 1
            if ticket.place is not None:
                self._by_place[ticket.place] += 1
            return
        self._refused += ticket.entry is not AdmissionOutcome.TURNED_AWAY
        self.refusals[ticket.entry.name.lower().replace("_", "-")] += 1
        self.on_refused(ticket)

    def _crowded(self, place: str | None) -> bool:
        if place is None or not self.most_per_address:
            return False
        if place == THIS_MACHINE:
            return self.most - self.most // 5 <= self._by_place[place] < self.most
        return self.most_per_address <= self._by_place[place] + self.elsewhere(place)

    @property
    def by_place(self) -> Mapping[str, int]:
        """The connections of each address, except this machine, which is another machine for each server."""
        return {place: number for place, number in self._by_place.items() if place != THIS_MACHINE}

    def _judge(self, place: str | None) -> AdmissionOutcome:
        crowded = self._crowded(place)
        if not crowded and self.inside < self.most:
            return AdmissionOutcome.ADMITTED
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
        """Close resting connections if that is needed for one more of this place."""
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
    """Networks of proxies that are believed about where a request comes from. Raises ValueError if one is not a network."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = tuple(ipaddress.ip_network(network, strict=False) for network in networks)

    def trusts(self, host: str) -> bool:
        address = _address(host) if self._networks else None
        return address is not None and any(address in network for network in self._networks)

    def client(self, proxy: str, named: Sequence[str]) -> str:
        """The furthest address that a trusted proxy vouches for: anybody may have written those before it."""
        client = proxy
        for host in reversed(named):
            if not self.trusts(client) or _address(host) is None:
                break
            client = host
        return client


def named_by_proxies(forwarded_for: Sequence[str], forwarded: Sequence[str]) -> list[str]:
    """The addresses in the `X-Forwarded-For` headers, or else in `Forwarded` (RFC 7239), the nearest last."""
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
    """What this address counts as; None if it is not an IP address."""
    address = _address(host)
    if address is None:
        return None
    if address.is_loopback:
        return THIS_MACHINE
    return str(address if isinstance(address, ipaddress.IPv4Address) else ipaddress.ip_network((address, 64), strict=False))


def is_nearby(host: str) -> bool:
    """Whether this is an address of this machine or of a private network."""
    address = _address(host)
    return address is not None and address.is_private


@lru_cache(REMEMBERED)
def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped) or address
