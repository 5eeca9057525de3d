"""Which of a cluster's servers the link connects to next: the one that was asked for, or another that a server named.

Pure. In a cluster each race is on one server, and every server can say which (`Moved`). When a connection is lost and its server does not
answer, the link tries the others in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from client.connection.address import Address, BadAddress, moved_address

MOVES: Final = 4
"""Most redirections in a row that the link follows. More are a circle."""


class Route:
    """current: where the next connection goes. home: the address that the player asked for; their token is kept under it."""

    __slots__ = ("_known", "_moves", "current", "home", "moving")

    def __init__(self, home: Address) -> None:
        self.home = self.current = home
        self.moving = False
        """Whether a server has sent us on and the connection there is not up yet."""
        self._known: tuple[Address, ...] = (home,)
        self._moves = 0

    @property
    def known(self) -> int:
        """How many servers the cluster is known to have."""
        return len(self._known)

    def told(self, nodes: Iterable[str]) -> None:
        """A server of the cluster has named the others."""
        known = [self.current]
        for url in nodes:
            with suppress(BadAddress):
                known.append(moved_address(url, by=self.current))
        self._known = tuple(dict.fromkeys([*known, self.home]))

    def move(self, url: str) -> None:
        """Go where the server says. Raises BadAddress if no client should follow."""
        if self._moves >= MOVES:
            raise BadAddress("The servers of this cluster send players round in a circle.")
        self.current = moved_address(url, by=self.current)
        self._moves += 1
        self.moving = True

    def stands(self) -> None:
        """The connection is up."""
        self.moving = False

    def arrived(self) -> None:
        """The link has reached the right server, or it has waited before it asks again."""
        self._moves = 0

    def failed(self) -> None:
        """That server does not answer: choose the next one."""
        self.moving = False
        # A dead server may be named until another has taken over its races. That is not a circle.
        self._moves = 0
        known = self._known
        at = known.index(self.current) if self.current in known else -1
        self.current = known[(at + 1) % len(known)]
