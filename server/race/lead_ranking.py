"""How close a race is, for whoever chooses one to watch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from protocol.views import SeatState

LeadRank: TypeAlias = tuple[bool, int, int]
"""Sorts the closest race first."""


class RankedSeat(Protocol):
    """home: its cards home."""

    @property
    def bot(self) -> str | None: ...
    @property
    def state(self) -> SeatState: ...
    @property
    def home(self) -> int: ...


def lead_rank(seats: Iterable[RankedSeat]) -> LeadRank:
    """Of a race that is being run. Races between people come first; then the smallest lead in cards home; then the most cards home.

    A forfeited seat is out of the race. Whoever is left alone, or races alone, is in no close race: their lead is all they have home.
    """
    people = 0
    first = second = -1
    for seat in seats:
        if seat.state == "forfeited":
            continue
        people += seat.bot is None
        home = seat.home
        if home > first:
            first, second = home, first
        elif home > second:
            second = home
    return (people < 2, first - second if second >= 0 else first + 1, -first)
