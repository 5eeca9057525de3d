"""What others see of a room: an immutable summary, published once what it tells of is safe. Nobody outside this package sees more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from protocol.views import Phase, RaceOptions, SeatState
from server.race.machine import Race
from server.race.seat import Seat
from server.race.shared_deal_spec import SharedDealSpec

LeadRank: TypeAlias = tuple[int, bool, int, int]
"""How close a race is, for choosing one to watch: the closest sorts first."""


class SeatSummary(msgspec.Struct, frozen=True, gc=False):
    """One seat of a room. player: None for a free seat. home: cards home, 0 before the start."""

    player: str | None
    name: str
    bot: str | None
    state: SeatState
    ply: int
    home: int
    connected: bool
    ready: bool


class RoomSummary(msgspec.Struct, frozen=True):
    """A room as others see it. race, number: those of the current race. spec: the shared deal for which the room was opened, if any.

    opened_at, starts_at: of the race, in the room's time, which is `ahead_ms` ahead of the server's clock; starts_at is None before the
    countdown. sealed: its record must not be shown yet. closed: why nothing will happen here any more; empty while the room is open.
    """

    options: RaceOptions
    spec: SharedDealSpec | None
    race: str
    number: int
    phase: Phase
    seats: tuple[SeatSummary, ...]
    opened_at: int
    starts_at: int | None
    ahead_ms: int
    sealed: bool
    closed: str = ""

    @property
    def lead_rank(self) -> LeadRank | None:
        """How close the race is; None if none is being run."""
        return lead_rank(self.seats) if self.phase == "racing" and not self.closed else None

    @property
    def has_free_seat(self) -> bool:
        return any(seat.player is None for seat in self.seats)

    @property
    def phrases_only(self) -> bool:
        """Others have yet to play the deal, so nobody here may describe it in words of their own."""
        return self.sealed and self.spec is not None and self.spec.watchable

    def elapsed_ms(self, now_ms: int) -> int:
        """Since the start, by the server's clock; 0 before it."""
        return max(now_ms + self.ahead_ms - self.starts_at, 0) if self.starts_at is not None else 0

    @property
    def holders(self) -> tuple[str, ...]:
        """The players who have a seat in the race."""
        return tuple(seat.player for seat in self.seats if seat.player is not None)

    def holds(self, player: str) -> bool:
        """Whether this player has a seat in the race."""
        return any(seat.player == player for seat in self.seats)


def lead_rank(seats: Iterable[SeatSummary]) -> LeadRank:
    """How close a race is that is being run. Sorts first by people present: two or more, one, none. Then races in which a move has been
    made come first, then those with the smallest lead in cards home, then those with the most cards home.

    A forfeited seat is out of the race. A seat that is alone is never in a close race: its lead is all the cards it has home.
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


def summarized(race: Race, *, spec: SharedDealSpec | None, opened_at: int, ahead_ms: int, closed: str) -> RoomSummary:
    return RoomSummary(
        race.options,
        spec,
        race.id,
        race.number,
        race.phase,
        tuple([_seat_summary(seat) for seat in race.seats]),
        opened_at,
        race.starts_at,
        ahead_ms,
        race.sealed,
        closed,
    )


def _seat_summary(seat: Seat) -> SeatSummary:
    played = seat.played
    home = played[-1].home if played else seat.position.home if seat.position is not None else 0
    return SeatSummary(seat.player, seat.name, seat.bot, seat.state, len(played), home, seat.connected, seat.nonce is not None)
