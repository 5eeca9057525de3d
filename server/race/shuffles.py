"""Which shuffle each seat of a race is dealt, and what is known of the race's place in its series. Pure.

One shuffle for all seats, but in a swap: there each seat plays seed number 0 in one of two races and number 1 in the other, both of one
secret and of the nonces that were given before the first. So the second race cannot be dealt otherwise than the first has fixed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from protocol.fairness import derive_seed, named_seed, swap_number
from protocol.record import SeriesRecord
from protocol.views import RaceOptions


class SeriesPlace(Struct, frozen=True, kw_only=True):
    """Which race of which series a race is. id: the race id of the first one. number: from 1.

    nonces: of the first race of a swap, by which its second is dealt; none where a race's own are taken.
    """

    id: str
    number: int = 1
    nonces: tuple[bytes, ...] = ()

    def entry(self, options: RaceOptions) -> SeriesRecord | None:
        """What the record says of it."""
        series = options.series
        if series.format == "single":
            return None
        return SeriesRecord(id=self.id, format=series.format, races=series.races, race=self.number)


def seeds(options: RaceOptions, place: SeriesPlace, *, secret: bytes, nonces: Sequence[bytes], k: int) -> tuple[bytes, ...]:
    """Of each seat. nonces: one a seat, in seat order. k: the number of the one that all seats play, where they play one."""
    if options.deal is not None:
        return (named_seed(options.deal),) * options.seats
    if options.swaps:
        return tuple(derive_seed(secret, nonces, swap_number(seat, place.number)) for seat in range(options.seats))
    return (derive_seed(secret, nonces, k),) * options.seats
