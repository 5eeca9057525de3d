"""A series of races between the same seats: the races that are over, what they are worth, and whether it is decided. The rules:

Points     best-of: one for each race won. A shared first place, or a forfeited one, earns none, and the race counts as one of the N.
           session: one for each game won (every card home). swap: one for each of the two shuffles, to the player who brought more cards
           of it home, or as many but earlier.
Places     More points; then fewer races forfeited; then more cards home in all races; equals in all three share a place. Seats that have
           given the series up come last. (Forfeits come before cards because a forfeit usually ends the race for the other player too:
           otherwise whoever is ahead on cards could level the points in the last race and win by leaving it.)
The end    best-of: when no other seat can reach the leader's points any more, or after N races. session: after N. swap: after two.
           Any: when a seat has given it up. So a series never has more races than its options say, however many are drawn.

A single race is a series of one. Everything compared comes from records, so nothing here depends on the order in which things were heard.
Must not know of rooms, nor who is there.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from protocol.record import Record
from protocol.views import SeatState, SeriesInfo, SeriesOptions, SeriesSeat


class SeatResult(Struct, frozen=True):
    """What a seat achieved in one race of a series: its name then, and the parts of the record that are compared."""

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
        """How good the result is on its shuffle, as in the places of a race: greater is better."""
        return (not self.forfeited, self.home, -self.home_at_ms)


class Series(Struct, frozen=True, kw_only=True):
    """One series. id: that of its first race, empty before there is one. results: those of the races that are over, each in seat order.
    last: the id of the last of these; empty before there is one.

    gone: the seats that have given it up. nonces: those of the first race of a swap, in hexadecimal digits: its second uses them too.
    """

    options: SeriesOptions
    seats: int
    id: str = ""
    results: tuple[tuple[SeatResult, ...], ...] = ()
    last: str = ""
    gone: tuple[int, ...] = ()
    nonces: tuple[str, ...] = ()

    # ---- what changes it

    def raced(self, record: Record) -> Series:
        """The series with this race added. Raises ValueError if it is over, or the number of seats does not match."""
        if self.is_over:
            raise ValueError("the series is over")
        if len(record.seats) != self.seats:
            raise ValueError(f"a race of {len(record.seats)} seats in a series of {self.seats}")
        result = tuple(SeatResult(seat.name, seat.place, seat.home, seat.home_at_ms, seat.state) for seat in record.seats)
        nonces = record.deal.nonces if self.options.format == "swap" else ()
        return replace(self, results=(*self.results, result), last=record.id, nonces=nonces)

    def given_up(self, seat: int) -> Series:
        """The series as given up by this seat (from 0), and therefore over."""
        return self if seat in self.gone else replace(self, gone=tuple(sorted((*self.gone, seat))))

    # ---- how it stands

    @property
    def number(self) -> int:
        """The number of the race that runs or comes next, from 1."""
        return len(self.results) + 1

    @property
    def is_under_way(self) -> bool:
        """At least one race is over, and the series is not."""
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
        """The points of each seat."""
        match self.options.format:
            case "single" | "best-of":
                winners = [_sole_winner(result) for result in self.results]
                return tuple(winners.count(seat) for seat in range(self.seats))
            case "session":
                return tuple(sum(result[seat].state == "won" for result in self.results) for seat in range(self.seats))
            case "swap":
                return _swap_points(self.results) if len(self.results) == 2 else (0,) * self.seats

    @property
    def forfeits(self) -> tuple[int, ...]:
        """How many races each seat has forfeited."""
        return tuple(sum(result[seat].forfeited for result in self.results) for seat in range(self.seats))

    @property
    def home(self) -> tuple[int, ...]:
        """The cards home of each seat, in all races."""
        return tuple(sum(result[seat].home for result in self.results) for seat in range(self.seats))

    @property
    def places(self) -> tuple[int, ...]:
        """The place of each seat, from 1. Equals share a place, and the places they fill are skipped."""
        columns = zip(self.points, self.forfeits, self.home, strict=True)
        keys = [(seat not in self.gone, points, -forfeits, home) for seat, (points, forfeits, home) in enumerate(columns)]
        return tuple(1 + sum(other > key for other in keys) for key in keys)

    @property
    def winner(self) -> int | None:
        """The seat that has won the series, or the single race; None if it is not over, or the first place is shared or was forfeited."""
        if not self.is_over or not self.results:
            return None
        if self.options.format == "single":
            return _sole_winner(self.results[0])
        first = [seat for seat, place in enumerate(self.places) if place == 1 and seat not in self.gone]
        return first[0] if len(first) == 1 else None

    @property
    def info(self) -> SeriesInfo | None:
        """As players are told of it; None for a single race, whose record says everything."""
        if self.options.format == "single":
            return None
        names = [seat.name for seat in self.results[-1]] if self.results else [""] * self.seats
        seats = [
            SeriesSeat(name=name, points=points, forfeits=forfeits, home=home, place=place, gone=seat in self.gone)
            for seat, (name, points, forfeits, home, place) in enumerate(
                zip(names, self.points, self.forfeits, self.home, self.places, strict=True)
            )
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
        # The shuffle that this seat played first, and the other seat second.
        own, other = first[seat], second[1 - seat]
        if max(own.worth, other.worth)[0] and own.worth != other.worth:
            points[seat if own.worth > other.worth else 1 - seat] += 1
    return tuple(points)
