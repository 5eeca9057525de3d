"""Which shuffle each seat of a race is dealt, and the race's place in its series. Pure.

All seats get one shuffle, except in a swap: there each seat plays seed number 0 in one of the two races and number 1 in the other. Both
seeds come from the same secret and the nonces given before the first race, so the first race already fixes how the second is dealt.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from protocol.fairness import derive_seed, named_seed, swap_number
from protocol.record import SeriesRecord
from protocol.views import RaceOptions


class SeriesPlace(Struct, frozen=True, kw_only=True):
    """Which race of which series a race is. id: the race id of the series' first race. number: from 1.

    nonces: those of the first race of a swap, by which the second is dealt; empty if a race uses its own.
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
    """The seed of each seat. nonces: one per seat, in seat order. k: the number of the seed, if all seats play the same."""
    if options.deal is not None:
        return (named_seed(options.deal),) * options.seats
    if options.swaps:
        return tuple(derive_seed(secret, nonces, swap_number(seat, place.number)) for seat in range(options.seats))
    return (derive_seed(secret, nonces, k),) * options.seats
