"""Makes the record of a race that is over: ends, places and the document. Used by the race and by the audit of a record."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from operator import attrgetter
from typing import Final

from msgspec import Struct

from protocol.record import FORMAT, MoveRecord, Record, SeatRecord, sealed
from protocol.views import RaceOptions, SeatState
from server.race.placing import PlacedSeat, places
from server.race.race_deal import RaceDeal
from server.rules.position import Position

LOOKED_ON_MS: Final = 30_000
"""From the start. A player who stops or leaves earlier without a move did not race: it came to nothing, or their connection did. Later, an
opponent who plays is well ahead, and a player who ends without a move has seen by how far."""

LOOKED_ON_MOVES: Final = 10
"""So is an opponent who has made so many moves, however early. A quick one has half their cards home in half a minute."""

_HOME: Final = attrgetter("home")
_RECEIVED_MS: Final = attrgetter("received_ms")


class SeatReport(Struct, frozen=True):
    name: str
    bot: str | None
    round_trip_ms: int
    state: SeatState
    ended_at_ms: int
    played: tuple[MoveRecord, ...]
    player: str = ""


def home_and_when(played: tuple[MoveRecord, ...], first_home: int) -> tuple[int, int]:
    """Cards home at the end, and the moment at which that count was reached (0 if no move brought a card home)."""
    if not played or played[-1].home == first_home:
        return first_home, 0
    # No card ever leaves a foundation.
    return played[-1].home, played[bisect_left(played, played[-1].home, key=_HOME)].at_ms


def seat_records(seats: tuple[SeatReport, ...], firsts: tuple[Position, ...]) -> tuple[SeatRecord, ...]:
    """The seats with their places, which follow only from moves and ends. firsts: the position that each seat was dealt."""
    counts = [home_and_when(seat.played, first.home) for seat, first in zip(seats, firsts, strict=True)]
    standings = [PlacedSeat(seat.state == "forfeited", home, home_at_ms) for seat, (home, home_at_ms) in zip(seats, counts, strict=True)]
    return tuple(
        SeatRecord(
            name=seat.name,
            bot=seat.bot,
            round_trip_ms=seat.round_trip_ms,
            state=seat.state,
            place=place,
            home=home,
            plies=len(seat.played),
            home_at_ms=home_at_ms,
            ended_at_ms=seat.ended_at_ms,
            player=seat.player,
        )
        for seat, (home, home_at_ms), place in zip(seats, counts, places(standings), strict=True)
    )


def have_raced(seats: tuple[SeatReport, ...]) -> bool:
    """Whether it was a race: some seat played to its end, or two made a move, or one is well ahead of another who made none.

    It was not a race if it was given up before that. But a player who watches without a move until another has nearly won has lost, too.
    Two are enough however many seats there are: otherwise a third who leaves at once would free a friend from a race that they are losing.
    """
    if any(seat.state in ("won", "stalled") for seat in seats) or sum(bool(seat.played) for seat in seats) > 1:
        return True
    is_late = any(seat.ended_at_ms >= LOOKED_ON_MS for seat in seats if not seat.played)
    return any(seat.state != "forfeited" and len(seat.played) >= (1 if is_late else LOOKED_ON_MOVES) for seat in seats)


class RecordHead(Struct, frozen=True):
    """What a record says of a race regardless of how it goes. room: as it is shown to everybody. race: its number there."""

    id: str
    room: str
    race: int
    options: RaceOptions
    software: str

    def record(self, *, started_at_ms: int, deal: RaceDeal, nonces: tuple[bytes, ...], seats: tuple[SeatReport, ...]) -> Record:
        """The record of a settled race, with its digest. nonces: those of the seats, unless the deal has its own."""
        options = self.options
        # By arrival, then by seat (a stable sort of moves that come by seat); each seat's own stay in order.
        moves = sorted(chain.from_iterable(seat.played for seat in seats), key=_RECEIVED_MS)
        return sealed(
            Record(
                id=self.id,
                rated=options.counts and have_raced(seats),
                series=deal.place.entry(options),
                format=FORMAT,
                software=self.software,
                room=self.room,
                race=self.race,
                rules=options.rules,
                started_at_ms=started_at_ms,
                countdown_s=options.countdown_s,
                time_limit_s=options.time_limit_s,
                grace_s=options.grace_s,
                ended_at_ms=max(seat.ended_at_ms for seat in seats),
                deal=deal.record(nonces),
                seats=seat_records(seats, deal.firsts),
                moves=tuple(moves),
            )
        )
