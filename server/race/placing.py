"""The places of the seats in a race. The rules:

1. A forfeited seat stands behind every seat that is not.
2. More cards home is better. (A won seat has them all.)
3. Of equal counts, the one that was reached earlier is better.
4. Seats that are equal in all of this share a place; the places they fill are skipped (1, 1, 3).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class PlacedSeat(NamedTuple):
    """What placing looks at. home_at_ms: when the count `home` was reached."""

    forfeited: bool
    home: int
    home_at_ms: int


def places(standings: Sequence[PlacedSeat]) -> tuple[int, ...]:
    """The place of each standing, in the order given, from 1."""
    keys = [(standing.forfeited, -standing.home, standing.home_at_ms) for standing in standings]
    # Sorted once, since the board of a deal of the day has as many lines as there were players.
    ordered = sorted(keys)
    return tuple(1 + bisect_left(ordered, key) for key in keys)
