"""The port through which a room speaks to whoever is in it: a connection, a house bot, a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from protocol.errors import CloseCode
from server.rooms.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class PlayerName:
    """A player as rooms and lobby know them: their public id, and their name as cleaned."""

    id: str
    name: str


NOBODY: Final = PlayerName("", "")
"""Somebody who has no token: no player has an empty id, so they hold no seat anywhere."""


class Member(Protocol):
    """One connection to one player."""

    def post(self, outgoing: Outgoing) -> None:
        """Send it, some time. Never blocks and never raises: a connection that is slow or gone is the connection's own affair."""

    def post_together(self, outgoings: Sequence[Outgoing]) -> None:
        """The same with several, in their order."""
        for outgoing in outgoings:
            self.post(outgoing)

    @property
    def round_trip_ms(self) -> int | None:
        """The round trip as measured by now; None before the first measurement. A bot's is 0."""


class PlayerConnection(Member, Protocol):
    """A member that can be told to go."""

    def shut(self, code: CloseCode, reason: str) -> None:
        """Close the connection, some time soon. Never blocks."""
