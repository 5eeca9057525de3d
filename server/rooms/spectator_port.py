"""The port through which a room tells its spectators what happens: one call, however many they are."""

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
    """One event of a room. message: what somebody without a seat is told of it. event: the race's event, None for one of the room's own.

    at_ms: when it happened, in the room's time. sealed: others have yet to play the race's deal, so its boards are not for everybody.
    """

    message: RoomEvent
    event: RaceEvent | None
    at_ms: int
    sealed: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What somebody without a seat may know at one moment. curves: the progress of every seat so far. boards: the history of the boards;
    None if it was not asked for. sealed: as in `Happened`.
    """

    room: RoomMessage
    curves: tuple[Curve, ...]
    boards: RaceHistory | None
    sealed: bool


class SpectatorPort(Protocol):
    """All who watch one room. Nothing here blocks or raises. Everything told here is in the journal already."""

    @property
    def count(self) -> int:
        """How many watch, including those who are about to."""

    def happened(self, what: Happened) -> None:
        """An event has happened."""

    def starts_over(self, snapshot: RoomMessage) -> None:
        """Another race has begun."""

    def show_all_again(self) -> None:
        """Time stood still: what the spectators know of the race's clock is wrong."""

    def cannot_write(self) -> None:
        """Time stands still: nothing can be kept."""

    def closed(self, reason: str | None) -> None:
        """The room is closed. reason: for `unwatched`; None if the race goes on at the next server."""

    def greeting(self, *, racing: bool) -> Sequence[Outgoing]:
        """What a player who comes back needs to be told about the spectators. racing: whether their race is being run."""
