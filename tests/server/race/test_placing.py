"""The places: examples in a table, and what must always hold."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.race.placing import PlacedSeat, places


@pytest.mark.parametrize(
    ("standings", "expected", "why"),
    [
        ([(False, 4, 0)], (1,), "alone"),
        ([(True, 4, 0)], (1,), "alone and forfeited"),
        ([(False, 20, 500), (False, 21, 900)], (2, 1), "more cards home"),
        ([(False, 20, 500), (False, 20, 499)], (2, 1), "the same count reached earlier"),
        ([(False, 20, 500), (False, 20, 500)], (1, 1), "nothing between them"),
        ([(True, 52, 1), (False, 4, 0)], (2, 1), "forfeited is behind"),
        ([(True, 20, 5), (True, 30, 5), (False, 4, 0)], (3, 2, 1), "forfeited ones among each other"),
        ([(False, 9, 1), (False, 9, 1), (False, 8, 0)], (1, 1, 3), "the place after a shared one is skipped"),
        ([(False, 8, 0), (False, 9, 1), (False, 8, 0), (False, 8, 0), (True, 9, 1)], (2, 1, 2, 2, 5), "shared in the middle"),
        ([], (), "nobody"),
    ],
)
def test_places(standings: list[tuple[bool, int, int]], expected: tuple[int, ...], why: str) -> None:
    assert places([PlacedSeat(*standing) for standing in standings]) == expected, why


tables = st.lists(st.builds(PlacedSeat, st.booleans(), st.integers(4, 7), st.integers(0, 3)), min_size=1, max_size=8)


@given(tables, st.randoms(use_true_random=False))
def test_places_do_not_depend_on_the_seats(table: list[PlacedSeat], random: Random) -> None:
    order = list(range(len(table)))
    random.shuffle(order)
    placed = places(table)
    assert places([table[seat] for seat in order]) == tuple(placed[seat] for seat in order)


@given(tables)
def test_a_place_is_one_more_than_the_number_of_better_seats(table: list[PlacedSeat]) -> None:
    placed = places(table)
    assert min(placed) == 1
    for place in placed:
        assert sum(other < place for other in placed) == place - 1
    for one, its in zip(table, placed, strict=True):
        for other, others in zip(table, placed, strict=True):
            assert (its == others) == (one == other)
