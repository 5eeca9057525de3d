"""What a room is given by the outside, and what it tells of itself there. Ports alone: nothing here does anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import trio

from protocol.record import Record
from server.race.ghosts import GhostLine
from server.race.machine import DealWanted
from server.race.rating import Rating, RatingChange
from server.race.shared_deal_spec import Occasion
from server.rooms.clock import Clock
from server.store.port import Entry

if TYPE_CHECKING:
    from server.rooms.room import Room

FindDeal: TypeAlias = Callable[[DealWanted], Awaitable[int | None]]
"""Finds the number of the first seed that gives a winnable deal, or None. May take long; cancelled when it is not wanted any more."""

RatingChanges: TypeAlias = Callable[[str], Awaitable[tuple[RatingChange, ...]]]
"""What the race of this id, which is kept and counts, did to the ratings of its players, by seat. May raise StoreError."""


GhostLines: TypeAlias = Callable[["tuple[GhostWanted, ...]"], Awaitable[tuple[GhostLine, ...]]]
"""These lines, as far as their records can be had. May raise StoreError."""


async def no_ghosts(races: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
    """Of a server that keeps no records to make them of."""
    del races
    await trio.lowlevel.checkpoint()
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """With what a room is opened that is not its opener's wish. secret: the shared deal's, which is known to be kept."""

    occasion: Occasion
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostWanted:
    """Whose line is shown beside a race: a seat of the race of this id, from so many moves on."""

    race: str
    seat: int = 0
    from_ply: int = 0


class RoomOwner(Protocol):
    """What a room tells of itself to whoever keeps the list of rooms."""

    def seat_taken(self, room: Room, player: str) -> None: ...

    def seat_left(self, room: Room, player: str) -> None: ...

    def changed(self, room: Room) -> None:
        """Seats, names or phase are not what they were."""

    def over(self, room: Room, record: Record) -> None:
        """The race that the room was opened for is over, and its record is kept."""

    def owe(self, entries: tuple[Entry, ...]) -> None:
        """The end of a room's race could not be kept, and has to be later."""

    def rated(self, player: str, rating: Rating) -> None:
        """A race has made this player's rating this one."""


class Journal(Protocol):
    """Where a room has its commands kept."""

    async def write(self, *entries: Entry) -> None:
        """Returns when the entries are safe, all of them. Raises StoreError when none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPorts:
    """What a room is given by the outside: time, randomness, owner, journal, ratings, how winnable deals are found, how bots play and
    think, the program's name for records, and the ghosts of earlier runs.

    keeps: what the journal has outlives this process, so that a race goes on when the next server has started.
    """

    clock: Clock
    entropy: Callable[[int], bytes]
    owner: RoomOwner
    journal: Journal
    keeps: bool
    rating_changes: RatingChanges
    find_deal: FindDeal
    bots_wait: bool
    thoughts: trio.CapacityLimiter
    software: str
    ghost_lines: GhostLines
