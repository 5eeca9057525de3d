"""The port through which a room speaks to its members: a connection, a house bot, a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from protocol.errors import CloseCode
from server.rooms.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class PlayerName:
    """A player as rooms and lobby know them: their public id, and their cleaned name."""

    id: str
    name: str


NOBODY: Final = PlayerName("", "")
"""Somebody who has no token: no player has an empty id, so they hold no seat anywhere."""


class Member(Protocol):
    """One connection to one player."""

    def post(self, outgoing: Outgoing) -> None:
        """Send it eventually. Never blocks and never raises: a slow or broken connection takes care of itself."""

    def post_together(self, outgoings: Sequence[Outgoing]) -> None:
        """`post` for several messages, in their order."""
        for outgoing in outgoings:
            self.post(outgoing)

    @property
    def round_trip_ms(self) -> int | None:
        """The measured round trip; None before the first measurement. A bot's is 0."""


class PlayerConnection(Member, Protocol):
    """A member that can be told to go."""

    def shut(self, code: CloseCode, reason: str) -> None:
        """Close the connection soon. Never blocks."""


@dataclass(frozen=True, slots=True)
class BotSeat:
    """A house bot, which is a member like any other."""

    seat: int
    player: PlayerName
    member: Member
