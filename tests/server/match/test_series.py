"""Series as the sum of their races: what the races are worth, when a series is decided, and that every one ends."""

from __future__ import annotations

from itertools import permutations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from protocol.record import Record, SeatRecord
from protocol.views import SeatState, SeriesFormat, SeriesOptions
from server.match.series import Series
from server.race.placing import PlacedSeat, places
from tests.client.scenes import record as two_seats

Outcome = tuple[SeatState, int, int]
"""state, home, home_at_ms"""

RECORD = two_seats()


def race(*outcomes: Outcome) -> Record:
    """A record in which all that a series looks at is as a race would have it."""
    placed = places([PlacedSeat(state == "forfeited", home, at_ms) for state, home, at_ms in outcomes])
    blank = RECORD.seats[0]
    seats: list[SeatRecord] = [
        replace(blank, name=f"P{number}", state=state, home=home, home_at_ms=at_ms, place=place)
        for number, ((state, home, at_ms), place) in enumerate(zip(outcomes, placed, strict=True))
    ]
    return replace(RECORD, seats=tuple(seats))


def series(format_: SeriesFormat, races: int, seats: int = 2) -> Series:
    return Series(options=SeriesOptions(format=format_, races=races), seats=seats)


def after(begun: Series, *records: Record) -> Series:
    for record in records:
        begun = begun.raced(record)
    return begun


FIRST = race(("stopped", 20, 900), ("stopped", 10, 800))
SECOND = race(("stopped", 10, 900), ("stopped", 20, 800))
DRAWN = race(("stopped", 10, 700), ("stopped", 10, 700))
RESIGNED = race(("forfeited", 30, 900), ("stopped", 4, 0))
BOTH_RESIGNED = race(("forfeited", 12, 900), ("forfeited", 4, 0))
AHEAD = race(("stopped", 45, 900), ("stopped", 10, 800))
BEATEN = race(("stopped", 4, 0), ("stopped", 5, 800))
WON = race(("won", 52, 90_000), ("stopped", 40, 80_000))


def test_best_of_three_is_over_when_it_is_decided() -> None:
    begun = series("best-of", 3)
    assert not begun.is_under_way
    assert begun.number == 1
    one = begun.raced(FIRST)
    assert (one.points, one.places, one.number, one.is_under_way, one.is_over) == ((1, 0), (1, 2), 2, True, False)
    assert one.raced(FIRST).is_over
    level = one.raced(SECOND)
    assert (level.points, level.is_over) == ((1, 1), False)
    assert (level.raced(RESIGNED).points, level.raced(RESIGNED).places) == ((1, 2), (2, 1))
    with pytest.raises(ValueError, match="the series is over"):
        level.raced(FIRST).raced(FIRST)


def test_a_drawn_race_of_a_best_of_counts_for_nobody_and_is_not_raced_again() -> None:
    drawn = after(series("best-of", 3), DRAWN, FIRST)
    assert (drawn.points, drawn.is_over) == ((1, 0), False)
    assert after(drawn, SECOND).places == (1, 1)
    assert after(drawn, SECOND).is_over
    assert after(series("best-of", 3), DRAWN, DRAWN, DRAWN).places == (1, 1)
    # Ahead by more than what is left.
    assert after(series("best-of", 5), DRAWN, FIRST, FIRST, DRAWN).is_over


def test_points_that_are_level_are_told_apart_by_cards_home() -> None:
    assert after(series("best-of", 3), DRAWN, FIRST, race(("stopped", 9, 1), ("stopped", 15, 1))).places == (1, 2)
    assert after(series("session", 2), FIRST, FIRST).places == (1, 2)


@pytest.mark.parametrize(
    ("format_", "records", "score", "places"),
    [
        pytest.param("best-of", (AHEAD, DRAWN, RESIGNED), (1, 1), (2, 1), id="whoever leads and leaves the last race has lost"),
        pytest.param("best-of", (AHEAD, DRAWN, BEATEN), (1, 1), (1, 2), id="whoever leads and stops in the last race keeps their cards"),
        pytest.param("best-of", (RESIGNED, AHEAD, DRAWN), (1, 1), (2, 1), id="an earlier forfeit counts as much"),
        pytest.param("best-of", (RESIGNED, AHEAD, BOTH_RESIGNED), (1, 1), (2, 1), id="so does each of several"),
        pytest.param("best-of", (AHEAD, BOTH_RESIGNED, BEATEN), (1, 1), (1, 2), id="if both forfeited as many, cards decide"),
        pytest.param("session", (AHEAD, RESIGNED, DRAWN), (0, 0), (2, 1), id="in a session too"),
        pytest.param("session", (WON, RESIGNED, DRAWN), (1, 0), (1, 2), id="points come first"),
    ],
)
def test_at_equal_points_whoever_forfeited_fewer_races_is_ahead_and_then_cards_decide(
    format_: SeriesFormat, records: tuple[Record, ...], score: tuple[int, ...], places: tuple[int, ...]
) -> None:
    over = after(series(format_, 3), *records)
    assert (over.is_over, over.points, over.places) == (True, score, places)


def test_of_three_players_those_who_stayed_come_before_the_one_who_left_with_as_many_points() -> None:
    first = race(("stopped", 40, 9), ("stopped", 10, 9), ("stopped", 9, 9))
    second = race(("stopped", 10, 9), ("stopped", 12, 9), ("stopped", 9, 9))
    last = race(("forfeited", 20, 9), ("stopped", 4, 9), ("stopped", 4, 9))
    over = after(series("best-of", 3, seats=3), first, second, last)
    assert (over.points, over.places) == ((1, 1, 0), (2, 1, 3))
    assert over.info is not None
    assert [(seat.forfeits, seat.home) for seat in over.info.seats] == [(1, 70), (0, 26), (0, 22)]


def test_whoever_has_forfeited_first_place_or_last_gets_no_point() -> None:
    both = race(("forfeited", 30, 900), ("forfeited", 20, 900))
    assert after(series("best-of", 3), both).points == (0, 0)


def test_in_a_session_a_patience_won_is_a_point_and_every_attempt_is_made() -> None:
    begun = after(series("session", 3), FIRST, WON)
    assert (begun.points, begun.home, begun.is_over) == ((1, 0), (72, 50), False)
    assert after(begun, SECOND).is_over
    alone = after(series("session", 2, seats=1), race(("won", 52, 1)), race(("stalled", 30, 1)))
    assert (alone.points, alone.home, alone.is_over) == ((1,), (82,), True)


def test_a_swap_compares_what_both_did_with_the_same_shuffle() -> None:
    # Seat 0 brings 30 of the first shuffle home and then 25 of the second; seat 1 brings 20 of the second and then 31 of the first.
    one = after(series("swap", 2), race(("stopped", 30, 900), ("stopped", 20, 800)))
    assert (one.points, one.home, one.is_over) == ((0, 0), (30, 20), False)
    assert one.nonces == RECORD.deal.nonces
    both = one.raced(race(("stopped", 25, 900), ("stopped", 31, 800)))
    assert (both.points, both.home, both.places, both.is_over) == ((1, 1), (55, 51), (1, 2), True)
    quicker = one.raced(race(("stopped", 20, 799), ("stopped", 30, 901)))
    assert quicker.points == (2, 0)
    same = one.raced(race(("stopped", 20, 800), ("stopped", 30, 900)))
    assert (same.points, same.places) == ((0, 0), (1, 1))
    gone = one.raced(race(("forfeited", 52, 1), ("stopped", 4, 0)))
    assert gone.points == (1, 1)


def test_a_series_that_is_given_up_is_over_and_its_player_stands_behind_the_others() -> None:
    ahead = after(series("best-of", 5), FIRST, FIRST).given_up(0)
    assert ahead.is_over
    assert ahead.points == (2, 0)
    assert ahead.places == (2, 1)
    assert ahead.given_up(0) == ahead
    info = ahead.info
    assert info is not None
    assert [(seat.name, seat.gone, seat.place) for seat in info.seats] == [("P0", True, 2), ("P1", False, 1)]


def test_a_single_race_is_a_series_of_one_that_is_not_told_of() -> None:
    one = series("single", 1).raced(FIRST)
    assert one.is_over
    assert one.info is None


def test_a_record_of_other_seats_is_refused() -> None:
    with pytest.raises(ValueError, match="a race of 1 seats in a series of 2"):
        series("session", 2).raced(race(("won", 52, 1)))


# ---- whatever is raced

STATES: tuple[SeatState, ...] = ("stalled", "stopped", "forfeited", "out-of-time")


@st.composite
def raced_series(draw: st.DrawFn) -> tuple[Series, list[list[Outcome]]]:
    """A series and more races than it can have."""
    format_: SeriesFormat = draw(st.sampled_from(get_args(SeriesFormat)))
    seats = 2 if format_ == "swap" else draw(st.integers(2 if format_ == "best-of" else 1, 4))
    races = {"single": 1, "swap": 2, "best-of": draw(st.integers(1, 4)) * 2 + 1, "session": draw(st.integers(2, 8))}[format_]
    outcome = st.tuples(st.sampled_from(STATES), st.integers(4, 6), st.integers(0, 2))
    outcomes = draw(st.lists(st.lists(outcome, min_size=seats, max_size=seats), min_size=races, max_size=races))
    for each in outcomes:
        winner = draw(st.none() | st.integers(0, seats - 1))
        if winner is not None:
            each[winner] = ("won", 52, each[winner][2])
    return series(format_, races, seats), outcomes


def play_out(begun: Series, outcomes: list[list[Outcome]]) -> Series:
    for each in outcomes:
        if begun.is_over:
            break
        begun = begun.raced(race(*each))
    return begun


@given(raced_series())
def test_every_series_ends_and_has_a_first_place(given_: tuple[Series, list[list[Outcome]]]) -> None:
    over = play_out(*given_)
    assert over.is_over
    assert len(over.results) <= over.options.races
    assert min(over.places) == 1
    assert sum(over.points) <= over.options.races
    ordered = sorted(range(over.seats), key=lambda seat: over.places[seat])
    assert [over.points[seat] for seat in ordered] == sorted(over.points, reverse=True)


@given(raced_series())
def test_what_a_series_comes_to_does_not_depend_on_who_sits_where(given_: tuple[Series, list[list[Outcome]]]) -> None:
    begun, outcomes = given_
    plain = play_out(begun, outcomes)
    for order in permutations(range(begun.seats)):
        turned = play_out(begun, [[each[seat] for seat in order] for each in outcomes])
        assert len(turned.results) == len(plain.results)
        assert turned.points == tuple(plain.points[seat] for seat in order)
        assert turned.places == tuple(plain.places[seat] for seat in order)


@given(raced_series(), st.data())
def test_nobody_gains_by_forfeiting_the_last_race_instead_of_stopping_in_it(
    given_: tuple[Series, list[list[Outcome]]], data: st.DataObject
) -> None:
    begun, outcomes = given_
    stopped = play_out(begun, outcomes)
    *before, last = outcomes[: len(stopped.results)]
    seat = data.draw(st.sampled_from(range(begun.seats)))
    state, home, home_at_ms = last[seat]
    if state == "forfeited":
        return
    given_up: Outcome = ("forfeited", home, home_at_ms)
    forfeited = play_out(begun, [*before, [given_up if number == seat else each for number, each in enumerate(last)]])
    assert forfeited.points[seat] <= stopped.points[seat]
    assert forfeited.places[seat] >= stopped.places[seat]


@given(raced_series(), st.data())
def test_nobody_can_lose_a_best_of_that_they_have_won_before_its_last_race(
    given_: tuple[Series, list[list[Outcome]]], data: st.DataObject
) -> None:
    begun, outcomes = given_
    over = play_out(begun, outcomes)
    if over.options.format != "best-of":
        return
    winner = over.places.index(1)
    rest = over.options.races - len(over.results)
    if rest:
        other = data.draw(st.sampled_from([seat for seat in range(over.seats) if seat != winner]))
        assert over.points[winner] > over.points[other] + rest
