"""One who watches, and what of his requests is too much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from server.rooms.member import Line, PlayerName
from server.rooms.outgoing import Bundle
from server.runtime.token_bucket import Bucket

if TYPE_CHECKING:
    from server.spectate.hub import Hub

ASKS_A_SECOND: Final = 1.0
ASKS_AT_ONCE: Final = 5
"""Races that somebody may ask to watch: each costs a snapshot. More are refused with `watch/too-often`."""

LINES_A_SECOND: Final = 0.5
LINES_AT_ONCE: Final = 3
"""Lines of chat of one watcher. More are refused with `watch/too-much-talk`."""


class WatchingLine(Line, Protocol):
    """A line by which somebody can watch: it takes several messages at once."""

    def post_all(self, bundle: Bundle) -> None:
        """Send all of a bundle, some time, or nothing of it where the line is too slow. Never blocks and never raises."""


@dataclass(slots=True, eq=False)
class Watcher:
    """A line by which somebody watches or has watched. hub: of the room that he watches; None while he watches nothing.

    closest: he is moved on when a race is over. told_none: he knows that there is none.
    joined: he has had his snapshot, and hears all that follows it. missed_at: when his outbox last ran over, in Trio's seconds.
    ref: of a request that the next snapshot answers, else 0.
    """

    line: WatchingLine
    player: PlayerName
    hub: Hub | None = None
    closest: bool = False
    told_none: bool = False
    joined: bool = False
    missed_at: float | None = None
    ref: int = 0
    asks: Bucket = field(default_factory=lambda: Bucket(rate=ASKS_A_SECOND, burst=ASKS_AT_ONCE))
    lines: Bucket = field(default_factory=lambda: Bucket(rate=LINES_A_SECOND, burst=LINES_AT_ONCE))

    def take_ref(self) -> int:
        """The `ref` of the request that is being answered now; 0 from then on, for what comes unasked."""
        ref, self.ref = self.ref, 0
        return ref
