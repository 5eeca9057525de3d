"""A series of races between the same seats: the races that are over, what they are worth, whether it is decided. The rules of the file:

Points     best-of: a race won, by the first place alone. Who shares it, or has forfeited, gets none, and the race counts as one of the N.
           session: a patience won: every card home. swap: a shuffle of the two, to whoever brought more of it home, or as much earlier.
Places     More points; then more cards home in all races; who is equal in both shares a place. Who has given the series up stands behind.
The end    best-of: when no other seat could reach the leader's points any more, else after N races. session: after N. swap: after two.
           Any: when a seat has given it up. So a series never has more races than its options say, whatever is drawn.

A single race is a series of one. What is compared comes from records alone, so nothing here depends on the order in which things were
heard. Must not know of rooms, nor who is there.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from protocol.record import Record
from protocol.views import SeatState, SeriesInfo, SeriesOptions, SeriesSeat


class SeatResult(Struct, frozen=True):
    """What a seat brought to a series by one race: its name then, and of its record what is compared."""

    name: str
    place: int
    home: int
    home_at_ms: int
    state: SeatState

    @property
    def forfeited(self) -> bool:
        return self.state == "forfeited"

    @property
    def worth(self) -> tuple[bool, int, int]:
        """Greater is better, on the same shuffle: as places in a race are given."""
        return (not self.forfeited, self.home, -self.home_at_ms)


class Series(Struct, frozen=True, kw_only=True):
    """id: the race id of its first race, empty before there is one. results: of the races that are over, each in seat order.

    gone: the seats that have given it up. nonces: of the first race of a swap, in hexadecimal digits: its second is dealt by them too.
    """

    options: SeriesOptions
    seats: int
    id: str = ""
    results: tuple[tuple[SeatResult, ...], ...] = ()
    gone: tuple[int, ...] = ()
    nonces: tuple[str, ...] = ()

    # ---- what becomes of it

    def raced(self, record: Record) -> Series:
        """The series with this race in it. ValueError where it is over, or the record has other seats."""
        if self.is_over:
            raise ValueError("the series is over")
        if len(record.seats) != self.seats:
            raise ValueError(f"a race of {len(record.seats)} seats in a series of {self.seats}")
        result = tuple(SeatResult(seat.name, seat.place, seat.home, seat.home_at_ms, seat.state) for seat in record.seats)
        nonces = record.deal.nonces if self.options.format == "swap" else ()
        return replace(self, results=(*self.results, result), nonces=nonces)

    def given_up(self, seat: int) -> Series:
        """The series without this seat's player (from 0), and therefore over."""
        return self if seat in self.gone else replace(self, gone=tuple(sorted((*self.gone, seat))))

    # ---- how it stands

    @property
    def number(self) -> int:
        """Of the race that runs or comes next, from 1."""
        return len(self.results) + 1

    @property
    def is_under_way(self) -> bool:
        """At least one race of it is over, and it is not."""
        return bool(self.results) and not self.is_over

    @property
    def is_over(self) -> bool:
        left = self.options.races - len(self.results)
        if self.gone or left <= 0:
            return True
        if self.options.format != "best-of":
            return False
        leader, *others = sorted(self.points, reverse=True)
        return leader > max(others, default=0) + left if others else leader > left

    @property
    def points(self) -> tuple[int, ...]:
        """Of each seat."""
        match self.options.format:
            case "single" | "best-of":
                winners = [_sole_winner(result) for result in self.results]
                return tuple(winners.count(seat) for seat in range(self.seats))
            case "session":
                return tuple(sum(result[seat].state == "won" for result in self.results) for seat in range(self.seats))
            case "swap":
                return _swap_points(self.results) if len(self.results) == 2 else (0,) * self.seats

    @property
    def home(self) -> tuple[int, ...]:
        """Cards home in all races, of each seat."""
        return tuple(sum(result[seat].home for result in self.results) for seat in range(self.seats))

    @property
    def places(self) -> tuple[int, ...]:
        """Of each seat, from 1. Equal ones share a place, and the places they fill are skipped."""
        keys = [(seat not in self.gone, points, home) for seat, (points, home) in enumerate(zip(self.points, self.home, strict=True))]
        return tuple(1 + sum(other > key for other in keys) for key in keys)

    @property
    def info(self) -> SeriesInfo | None:
        """As players are told of it; None for a single race, of which its record tells all."""
        if self.options.format == "single":
            return None
        names = [seat.name for seat in self.results[-1]] if self.results else [""] * self.seats
        seats = [
            SeriesSeat(name=name, points=points, home=home, place=place, gone=seat in self.gone)
            for seat, (name, points, home, place) in enumerate(zip(names, self.points, self.home, self.places, strict=True))
        ]
        return SeriesInfo(
            format=self.options.format, races=self.options.races, raced=len(self.results), over=self.is_over, seats=tuple(seats)
        )


def _sole_winner(result: tuple[SeatResult, ...]) -> int | None:
    first = [seat for seat, outcome in enumerate(result) if outcome.place == 1]
    return first[0] if len(first) == 1 and not result[first[0]].forfeited else None


def _swap_points(results: tuple[tuple[SeatResult, ...], ...]) -> tuple[int, ...]:
    points = [0, 0]
    first, second = results
    for seat in (0, 1):
        # The shuffle that this seat played first, and the other one after it.
        own, other = first[seat], second[1 - seat]
        if max(own.worth, other.worth)[0] and own.worth != other.worth:
            points[seat if own.worth > other.worth else 1 - seat] += 1
    return tuple(points)
