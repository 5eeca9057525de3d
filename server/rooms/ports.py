"""What the rooms are given by the outside. Ports alone: nothing here does anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from server.race.ghosts import GhostLine
from server.race.race_deal import DealWanted
from server.race.rating import RatingChange
from server.store.errors import StoreError
from server.store.port import Entry


class SearchFailed(Exception):
    """A winnable deal could not be looked for. That says nothing of the deals."""


FindDeal: TypeAlias = Callable[[DealWanted], Awaitable[int | None]]
"""Finds the number of the first seed that gives a winnable deal, or None. May take long; cancelled when it is not wanted any more. Raises
SearchFailed."""

RatingChanges: TypeAlias = Callable[[str], Awaitable[tuple[RatingChange, ...]]]
"""What the race of this id, which is kept and counts, did to the ratings of its players, by seat. May raise StoreError."""

GhostLines: TypeAlias = Callable[["tuple[GhostWanted, ...]"], Awaitable[tuple[GhostLine, ...]]]
"""These lines, as far as their records can be had. May raise StoreError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostWanted:
    """Whose line is shown beside a race: a seat of the race of this id, from so many moves on."""

    race: str
    seat: int = 0
    from_ply: int = 0


class JournalPort(Protocol):
    """The part of `server.store.journal.Journal` that rooms need."""

    @property
    def has_room(self) -> bool:
        """Whether another room may be opened, as far as what waits to be written goes."""

    def submit(self, entries: Sequence[Entry], done: Callable[[StoreError | None], None]) -> None:
        """Have the entries kept, all of them together; never waits. Those of one race are kept in the order of their submission.

        done: called once they are safe, in that order, with None; or with why they can never be kept. Raises StoreError when nothing is
        kept any more.
        """
