"""Ratings: what places do to them, regardless of who sat where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from protocol.record import MoveRecord
from protocol.views import SeatState
from server.race.rating import NEW, Rating, Unratable, rate, rate_record
from server.race.report import LOOKED_ON_MOVES, LOOKED_ON_MS, SeatReport, have_raced
from tests.server.store.keeping import rated, won

ratings = st.builds(Rating, st.floats(0, 50), st.floats(1, 25 / 3), st.integers(0, 99))
fields = st.lists(st.tuples(st.integers(1, 4), ratings), min_size=2, max_size=8)


def test_a_new_player_is_worth_1000_and_the_first_race_is_told_in_round_numbers() -> None:
    assert NEW.worth == 1000
    assert [rating.worth for rating in rate([1, 2], [NEW, NEW])] == [1138, 927]
    assert [rating.worth for rating in rate([1, 2, 3], [NEW] * 3)] == [1130, 1062, 890]


@given(fields, st.randoms())
def test_who_sat_where_makes_no_difference_to_the_last_digit(field: list[tuple[int, Rating]], random: object) -> None:
    mixed = list(range(len(field)))
    random.shuffle(mixed)  # type: ignore[attr-defined]
    straight = rate(*zip(*field, strict=True))
    shuffled = rate(*zip(*[field[seat] for seat in mixed], strict=True))
    assert [straight[seat] for seat in mixed] == list(shuffled)


@given(fields)
def test_whoever_wins_alone_gains_who_is_last_alone_loses_and_nobody_gets_less_certain(field: list[tuple[int, Rating]]) -> None:
    places, before = zip(*field, strict=True)
    after = rate(places, before)
    for place, old, new in zip(places, before, after, strict=True):
        assert new.sigma <= old.sigma
        assert new.races == old.races + 1
        if place == min(places) and places.count(place) == 1:
            assert new.mu >= old.mu
            assert new.worth >= old.worth
        if place == max(places) and places.count(place) == 1:
            assert new.mu <= old.mu


@given(fields, ratings)
def test_equals_who_share_a_place_stay_equal(field: list[tuple[int, Rating]], twin: Rating) -> None:
    places, before = zip(*field, strict=True)
    one, other, *_ = rate([places[0], places[0], *places], [twin, twin, *before])
    assert one == other


@given(ratings, ratings)
def test_a_draw_moves_two_players_towards_each_other(one: Rating, other: Rating) -> None:
    higher, lower = sorted((one, other), key=lambda rating: rating.mu, reverse=True)
    after_higher, after_lower = rate([1, 1], [higher, lower])
    assert after_higher.mu <= higher.mu
    assert after_lower.mu >= lower.mu


def test_however_often_two_equals_draw_neither_is_worth_more() -> None:
    pair = [NEW, NEW]
    for _ in range(40):
        pair = list(rate([1, 1], pair))
    assert [rating.worth for rating in pair] == [1000, 1000]


def test_places_alone_count_not_their_distance() -> None:
    assert rate([1, 2], [NEW, NEW]) == rate([1, 8], [NEW, NEW])


def test_a_record_is_rated_from_what_is_known_of_its_players_and_new_for_the_rest() -> None:
    known = Rating(30, 5, 7)
    ann, ben = rate_record(rated("r", ann=2, ben=1), {"ann": known, "eve": NEW})
    assert (ann.before, ben.before) == (known, NEW)
    assert (ann.after, ben.after) == rate([2, 1], [known, NEW])


def test_a_record_that_does_not_count_changes_nothing() -> None:
    assert rate_record(replace(rated("r", ann=2, ben=1), rated=False), {}) == ()
    assert rate_record(won(), {}) == ()


@pytest.mark.parametrize("players", [["ann"], ["ann", ""], ["ann", "ann"]])
def test_a_record_that_cannot_count_is_refused(players: list[str]) -> None:
    record = rated("r", ann=1)
    seats = tuple(replace(record.seats[0], player=player) for player in players)
    with pytest.raises(Unratable, match="two different players or more, and nobody else"):
        rate_record(replace(record, seats=seats), {})


@pytest.mark.parametrize(
    ("seats", "is_race"),
    [
        ([("racing", 0), ("forfeited", 0)], False),
        ([("stopped", 9), ("forfeited", 0)], False),
        ([("stopped", 0), ("stopped", 0)], False),
        ([("stopped", 1), ("forfeited", 1)], True),
        # Who leaves at once frees no other from a loss.
        ([("stopped", 37), ("forfeited", 20), ("forfeited", 0)], True),
        ([("stopped", 9), ("forfeited", 0), ("forfeited", 0)], False),
        # Who looks on without a move until another is done has lost.
        ([("won", 48), ("stopped", 0)], True),
        ([("stalled", 30), ("forfeited", 0)], True),
        # Or well ahead.
        ([("stopped", LOOKED_ON_MOVES), ("forfeited", 0)], True),
        ([("stopped", LOOKED_ON_MOVES), ("forfeited", 0), ("forfeited", 0)], True),
        ([("forfeited", LOOKED_ON_MOVES), ("stopped", 0)], False),
        ([("stopped", LOOKED_ON_MOVES - 1), ("stopped", 0)], False),
    ],
)
def test_it_was_a_race_when_two_have_moved_or_one_has_played_to_the_end(seats: list[tuple[SeatState, int]], is_race: bool) -> None:
    move = MoveRecord(0, "s", 100, 100, 0, 4)
    reports = tuple(
        SeatReport(name="Ann", bot=None, round_trip_ms=0, state=state, ended_at_ms=100, played=(move,) * plies) for state, plies in seats
    )
    assert have_raced(reports) is is_race


@pytest.mark.parametrize(
    ("ended_at_ms", "seats", "is_race"),
    [
        (LOOKED_ON_MS, [("stopped", 7), ("forfeited", 0)], True),
        (LOOKED_ON_MS - 1, [("stopped", 7), ("forfeited", 0)], False),
        (LOOKED_ON_MS, [("stopped", 7), ("stopped", 0), ("forfeited", 0)], True),
        (LOOKED_ON_MS, [("stopped", 7), ("out-of-time", 0)], True),
        (LOOKED_ON_MS - 1, [("stopped", 7), ("stopped", 0)], False),
        (LOOKED_ON_MS, [("stopped", 7), ("forfeited", 9), ("forfeited", 0)], True),
        # There is nobody for whom it could count.
        (LOOKED_ON_MS, [("stopped", 0), ("forfeited", 0)], False),
        (LOOKED_ON_MS, [("forfeited", 9), ("forfeited", 0)], False),
        (LOOKED_ON_MS, [("forfeited", 0), ("forfeited", 0)], False),
    ],
)
def test_whoever_makes_no_move_and_ends_just_before_another_wins_has_lost(
    ended_at_ms: int, seats: list[tuple[SeatState, int]], is_race: bool
) -> None:
    move = MoveRecord(0, "s", 100, 100, 0, 4)
    reports = tuple(
        SeatReport(name="Ann", bot=None, round_trip_ms=0, state=state, ended_at_ms=ended_at_ms, played=(move,) * plies)
        for state, plies in seats
    )
    assert have_raced(reports) is is_race
