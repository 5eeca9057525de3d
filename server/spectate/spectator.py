"""One spectator, and how many requests they may make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from server.rooms.member import PlayerConnection, PlayerName
from server.rooms.outgoing import Bundle
from server.runtime.token_bucket import Bucket

ASKS_A_SECOND: Final = 1.0
ASKS_AT_ONCE: Final = 5
"""Requests to watch a race that a spectator may make: each costs a snapshot. More are refused with `watch/too-often`."""

LINES_A_SECOND: Final = 0.5
LINES_AT_ONCE: Final = 3
"""Lines of chat of one spectator. More are refused with `watch/too-much-talk`."""


class SpectatorConnection(PlayerConnection, Protocol):
    """A connection that can be used for watching: it takes several messages at once."""

    def post_all(self, bundle: Bundle) -> None:
        """Send all of a bundle, not necessarily at once, or none of it if the peer is too slow. Never blocks and never raises."""


@dataclass(slots=True, eq=False)
class Spectator:
    """A connection by which somebody watches or has watched.

    closest: they follow the closest race, and are moved on when it is over. told_none: they know that there is none. whole: they see boards
    with every card face up. ref: the request that the next snapshot answers. joined: they have had their snapshot, and hear what follows.
    missed_at: when their outbox last overflowed, in Trio's seconds.
    """

    connection: SpectatorConnection
    player: PlayerName
    closest: bool = False
    told_none: bool = False
    whole: bool = False
    ref: int = 0
    joined: bool = False
    missed_at: float | None = None
    asks: Bucket = field(default_factory=lambda: Bucket(rate=ASKS_A_SECOND, burst=ASKS_AT_ONCE))
    lines: Bucket = field(default_factory=lambda: Bucket(rate=LINES_A_SECOND, burst=LINES_AT_ONCE))

    def take_ref(self) -> int:
        """The request to be answered; 0 if it has been answered already."""
        ref, self.ref = self.ref, 0
        return ref
