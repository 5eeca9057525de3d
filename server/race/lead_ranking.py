"""How close a race is, for whoever chooses one to watch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from msgspec import Struct

from protocol.views import SeatState

LeadRank: TypeAlias = tuple[int, bool, int, int]
"""Sorts the closest race first."""


class CloseRace(Struct, array_like=True, frozen=True):
    """One that is being run in public, at another server of the place. players: who holds a seat in it."""

    rank: LeadRank
    code: str
    players: tuple[str, ...]


class RankedSeat(Protocol):
    """ply: its moves. home: its cards home. connected: whether its player is there."""

    @property
    def bot(self) -> str | None: ...
    @property
    def state(self) -> SeatState: ...
    @property
    def ply(self) -> int: ...
    @property
    def home(self) -> int: ...
    @property
    def connected(self) -> bool: ...


def lead_rank(seats: Iterable[RankedSeat]) -> LeadRank:
    """Of a race that is being run. First come those between people who are there, last those in which there is nobody to watch; then
    those in which a move has been made; then the smallest lead in cards home; then the most cards home.

    A forfeited seat is out of the race. Whoever is left alone, or races alone, is in no close race: their lead is all they have home.
    """
    people = 0
    has_moved = False
    first = second = -1
    for seat in seats:
        if seat.state == "forfeited":
            continue
        people += seat.bot is None and seat.connected
        has_moved = has_moved or seat.ply > 0
        home = seat.home
        if home > first:
            first, second = home, first
        elif home > second:
            second = home
    return (max(2 - people, 0), not has_moved, first - second if second >= 0 else first + 1, -first)
