"""The time that counts for an act: examples in a table, and what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.race.timing import KEPT_ROUND_TRIPS, MAX_CREDIT_MS, RoundTrips, counted_at, credit


@pytest.mark.parametrize(
    ("round_trip_ms", "expected"),
    [(-5, 0), (0, 0), (1, 0), (2, 1), (81, 40), (299, 149), (300, 150), (301, 150), (10**9, 150)],
)
def test_the_credit_is_half_the_round_trip_and_at_most_150_ms(round_trip_ms: int, expected: int) -> None:
    assert credit(round_trip_ms) == expected


@pytest.mark.parametrize(
    ("received_ms", "round_trip_ms", "previous_ms", "expected", "why"),
    [
        (1000, 0, 0, 1000, "no credit"),
        (1000, 80, 0, 960, "half the round trip"),
        (1000, 900, 0, 850, "capped"),
        (1000, 80, 990, 990, "not before the seat's previous move"),
        (1000, 80, 960, 960, "at the previous move"),
        (30, 80, 0, 0, "not before the start"),
    ],
)
def test_a_move_counts_at_its_arrival_less_its_credit(
    received_ms: int, round_trip_ms: int, previous_ms: int, expected: int, why: str
) -> None:
    assert counted_at(received_ms=received_ms, credit_ms=credit(round_trip_ms), previous_ms=previous_ms) == expected, why


milliseconds = st.integers(0, 10**7)


@given(st.lists(st.tuples(milliseconds, milliseconds), max_size=30))
def test_the_moments_of_a_seat_never_go_back_and_never_lie_after_the_arrival(moves: list[tuple[int, int]]) -> None:
    previous = 0
    for received_ms, round_trip_ms in sorted(moves):
        at_ms = counted_at(received_ms=received_ms, credit_ms=credit(round_trip_ms), previous_ms=previous)
        assert previous <= at_ms <= received_ms
        assert received_ms - at_ms <= MAX_CREDIT_MS
        previous = at_ms


def test_a_connection_that_was_never_measured_has_no_best_round_trip() -> None:
    assert RoundTrips().best is None


@given(st.lists(milliseconds, min_size=1, max_size=40))
def test_the_smallest_of_the_last_round_trips_counts(measured: list[int]) -> None:
    line = RoundTrips()
    for round_trip_ms in measured:
        line.add(round_trip_ms)
    assert line.best == min(measured[-KEPT_ROUND_TRIPS:])


def test_a_round_trip_below_nothing_is_none() -> None:
    line = RoundTrips()
    line.add(-3)
    assert line.best == 0
