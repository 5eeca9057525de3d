"""What rooms need from the outside, as ports: nothing here does anything itself."""

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
    """A winnable deal could not be looked for. That says nothing about the deals."""


FindDeal: TypeAlias = Callable[[DealWanted, str | None], Awaitable[int | None]]
"""Finds the number of the first seed that gives a winnable deal, or None. May take long; cancelled when no longer wanted. Raises
SearchFailed. Also given: the place for which it is (`Room.place`)."""

RatingChanges: TypeAlias = Callable[[str], Awaitable[tuple[RatingChange, ...]]]
"""How the race with this id, which is kept and counts, changed its players' ratings, by seat. May raise StoreError."""

GhostLines: TypeAlias = Callable[["tuple[GhostWanted, ...]"], Awaitable[tuple[GhostLine, ...]]]
"""Reads these lines, as far as their records can be had. May raise StoreError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostWanted:
    """Whose line to show beside a race: that of a seat in the race with this id, from `from_ply` moves on."""

    race: str
    seat: int = 0
    from_ply: int = 0


class JournalPort(Protocol):
    """The part of `server.store.journal.Journal` that rooms need."""

    @property
    def has_room(self) -> bool:
        """Whether so little waits to be written that another room may be opened."""

    def submit(self, entries: Sequence[Entry], done: Callable[[StoreError | None], None]) -> None:
        """Have the entries kept, all or none; never waits. Those of one race are kept in the order of submission.

        done: called in that order, with None once they are safe, or with the reason why they can never be kept. Raises StoreError if
        nothing is kept any more.
        """
