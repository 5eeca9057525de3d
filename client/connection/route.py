"""Which server of a place the link connects to next: the one that was asked for, or another that a server named.

Pure. If a place has several servers, each race is on one of them, and every server can say which (`Moved`). When a connection is lost and
its server does not answer, the link tries the others in turn.

The server that was asked for may be down from the start. Then the link tries those that this server itself named on an earlier visit, and
nothing that they name, until the one that was asked for has been reached: a server that it named long ago may be somebody else's by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from client.connection.address import Address, BadAddress, moved_address
from client.connection.errors import LinkError, NotCarpetServer, Unreachable

MOVES: Final = 4
"""Most redirections in a row that the link follows. More are a circle."""

REMEMBERED: Final = 8
"""Servers that are remembered for a place, at most. Each may cost a start some seconds if all are down."""


class Route:
    """current: where the next connection goes. home: the address that the player asked for; their token is kept under it.

    remembered: URLs of the servers that the one at `home` named on an earlier visit.
    """

    __slots__ = ("_failed", "_has_been_home", "_known", "_moves", "_sent_to", "current", "home", "moving")

    def __init__(self, home: Address, remembered: Iterable[str] = ()) -> None:
        self.home = self.current = home
        self.moving = False
        """Whether a server has sent us on and the connection there is not up yet."""
        self._known: tuple[Address, ...] = (home, *others(remembered, home))
        self._has_been_home = False
        self._sent_to: Address | None = None  # where a server whose word counts has sent the link last
        self._failed: list[LinkError] = []  # the first attempts
        self._moves = 0

    @property
    def is_home(self) -> bool:
        """Whether the connection is, or will be, to the server that was asked for."""
        return self.current == self.home

    @property
    def is_trusted(self) -> bool:
        """Whether what this server says of itself, and of others, counts like the word of the server that was asked for."""
        return self._has_been_home or self.is_home or self.current == self._sent_to

    @property
    def known(self) -> int:
        """How many servers the place is known to have."""
        return len(self._known)

    def told(self, nodes: Iterable[str]) -> None:
        """A server of the place has named the others."""
        if not self.is_trusted:
            return
        # From here on only servers are known that were named on this visit.
        self._has_been_home = True
        self._known = tuple(dict.fromkeys([self.current, *_open_to(nodes, self.current), self.home]))

    def move(self, url: str) -> None:
        """Go where the server says. Raises BadAddress if no client should follow."""
        if self._moves >= MOVES:
            raise BadAddress("The servers of this place send players round in a circle.")
        address = moved_address(url, by=self.current)
        if not self.is_trusted and address not in self._known:
            raise BadAddress(f"{self.current.place} sends its players to {address.place}, which {self.home.place} has never named.")
        if self.is_trusted:
            self._sent_to = address
        self.current = address
        self._moves += 1
        self.moving = True

    def stands(self) -> None:
        """The connection is up."""
        self.moving = False

    def arrived(self) -> None:
        """The link has reached the right server, or it has waited before it asks again."""
        self._moves = 0

    @property
    def has_others(self) -> bool:
        """Whether there are servers that have not been tried since the player came."""
        return len(self._failed) + 1 < self.known

    @property
    def detour(self) -> str | None:
        """A sentence for a player who comes in at a server that they did not ask for, because that one lets them in no more."""
        if not self._failed:
            return None
        return f"{self.home.place} {self._failed[0].why}; joined through {self.current.place}, one of its other servers."

    @property
    def shut_out(self) -> str | None:
        """A sentence for a player whom neither the server that they asked for nor any other lets in; None if no other was tried."""
        if not self._failed:
            return None
        return f"{self.home.place} {self._failed[0].why}, and none of its other servers let you in."

    def look_elsewhere(self, error: LinkError) -> None:
        """The server does not let in a player who has just come: choose the next one. Raises LinkError if there is none to try."""
        self._failed.append(error)
        first = self._failed[0]
        # A certificate that is not trusted, or another version, is an answer. Whoever sees it should hear of it.
        if self.known == 1 or not isinstance(first, Unreachable | NotCarpetServer):
            raise first
        if len(self._failed) == self.known:
            raise Unreachable(f"{first} None of its other servers could be reached either.") from first
        self.failed()

    def failed(self) -> None:
        """That server does not answer: choose the next one."""
        self.moving = False
        # A dead server may be named until another has taken over its races. That is not a circle.
        self._moves = 0
        known = self._known
        at = known.index(self.current) if self.current in known else -1
        self.current = known[(at + 1) % len(known)]


def others(named: Iterable[str], home: Address) -> tuple[Address, ...]:
    """The other servers of its place that the one at `home` has named, as far as a client may go there, and remember it."""
    return tuple(dict.fromkeys(address for address in _open_to(named, home) if address != home))[:REMEMBERED]


def _open_to(named: Iterable[str], by: Address) -> Iterator[Address]:
    """Where a client may go of what the server at this address has named."""
    for url in named:
        with suppress(BadAddress):
            yield moved_address(url, by=by)
