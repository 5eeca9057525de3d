"""The port through which a room tells those who watch it, whoever they are, in one call however many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from protocol.room_events import Room as RoomMessage
from protocol.room_events import RoomEvent
from protocol.views import Curve
from server.race.board_history import RaceHistory
from server.race.events import RaceEvent
from server.rooms.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of a room. message: what somebody without a seat is told of it. event: what it was in the race, None for a room's own.

    at_ms: the room's time of it. sealed: the race is on a deal that others have yet to play: its boards are not for everybody.
    """

    message: RoomEvent
    event: RaceEvent | None
    at_ms: int
    sealed: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What somebody without a seat may know at one moment. curves: how everybody got there. boards: how the boards did; None where that
    was not asked for. sealed: as of `Happened`.
    """

    room: RoomMessage
    curves: tuple[Curve, ...]
    boards: RaceHistory | None
    sealed: bool


class SpectatorPort(Protocol):
    """All who watch one room. Nothing here blocks or raises. What it is told is in the journal."""

    @property
    def count(self) -> int:
        """How many watch, those included who are about to."""

    def happened(self, what: Happened) -> None:
        """An event."""

    def starts_over(self, snapshot: RoomMessage) -> None:
        """Another race has begun."""

    def show_all_again(self) -> None:
        """Time has stood still: what they know of the race's clock is wrong."""

    def cannot_write(self) -> None:
        """Time stands still: nothing can be kept."""

    def closed(self, reason: str | None) -> None:
        """Nothing will happen any more. reason: of `unwatched`; None when the race goes on at the next server."""

    def greeting(self, *, racing: bool) -> Sequence[Outgoing]:
        """What a player who comes back needs to be told of them. racing: their race is being run."""
