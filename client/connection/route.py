"""Which of the servers that are one place the link goes to next: the one that was asked for, or another that it was told of.

Pure. A place may be several servers: a race is on one of them, and any of them says which (`moved`). When the connection to one is lost
and it does not answer, the others are tried in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from client.connection.address import Address, BadAddress, moved_address

MOVES: Final = 4
"""So often in a row the link lets itself be sent on: more is a circle."""


class Route:
    """current: where the next connection goes. home: what the player asked for; their token is kept under that name."""

    __slots__ = ("_known", "_moves", "current", "home", "moving")

    def __init__(self, home: Address) -> None:
        self.home = self.current = home
        self.moving = False
        """A server has sent us on, and no connection there has come about yet."""
        self._known: tuple[Address, ...] = (home,)
        self._moves = 0

    @property
    def known(self) -> int:
        """How many servers the place is known to have."""
        return len(self._known)

    def told(self, nodes: Iterable[str]) -> None:
        """A server of the place has said which others there are."""
        known = [self.current]
        for url in nodes:
            with suppress(BadAddress):
                known.append(moved_address(url, by=self.current))
        self._known = tuple(dict.fromkeys([*known, self.home]))

    def move(self, url: str) -> None:
        """Go where the server says. Raises BadAddress for what no client should follow."""
        if self._moves >= MOVES:
            raise BadAddress("The servers of this cluster send players round in a circle.")
        self.current = moved_address(url, by=self.current)
        self._moves += 1
        self.moving = True

    def stands(self) -> None:
        """There is a connection."""
        self.moving = False

    def arrived(self) -> None:
        """What was wanted is where the link is, or was waited for."""
        self._moves = 0

    def failed(self) -> None:
        """Nobody answers there: another one is next."""
        self.moving = False
        # A server that is gone may be named until another has taken its races over: that is no circle.
        self._moves = 0
        known = self._known
        at = known.index(self.current) if self.current in known else -1
        self.current = known[(at + 1) % len(known)]
