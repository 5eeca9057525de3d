"""Who leads and since when, what somebody just did, and where a race was lost, derived from the curves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.state.progress import Lead, Points, Swing, curves, home_at, largest_swing, lead, measured
from tests.client import scenes

OWN: Points = ((0, 4), (5_000, 6), (9_000, 7), (30_000, 8))
OTHER: Points = ((0, 4), (7_000, 5), (31_000, 7), (32_000, 9), (33_000, 12))


def test_the_lead_is_told_with_the_moment_since_when() -> None:
    assert lead((OWN, OTHER), 4_000) == Lead((0, 1), 0, 0)
    assert lead((OWN, OTHER), 5_000) == Lead((0,), 2, 5_000)
    # It was one card at 7 s and two again at 9 s, but always the same seat's.
    assert lead((OWN, OTHER), 20_000) == Lead((0,), 2, 5_000)
    assert lead((OWN, OTHER), 40_000) == Lead((1,), 4, 32_000)
    assert lead((OWN,), 40_000) == Lead((), 0, 0)


def test_whoever_draws_level_with_the_leaders_shares_the_lead_from_then_on() -> None:
    third: Points = ((0, 4), (6_000, 7))
    assert lead((OWN, OTHER, third), 8_000) == Lead((2,), 1, 6_000)
    assert lead((OWN, OTHER, third), 10_000) == Lead((0, 2), 0, 9_000)
    assert lead((OWN, OTHER, third), 31_500) == Lead((0,), 1, 30_000)


def test_since_when_somebody_leads_is_not_told_where_the_moment_was_not_heard() -> None:
    assert lead((OWN, OTHER), 40_000, 32_000) == Lead((1,), 4, 0)
    assert lead((OWN, OTHER), 40_000, 31_999) == Lead((1,), 4, 32_000)


def test_a_race_is_lost_where_the_other_drew_away_the_most() -> None:
    assert largest_swing(OWN, OTHER) == Swing(30_999, 33_000, 3, -4)
    assert largest_swing(OWN, ((0, 4),)) is None


@given(st.lists(st.tuples(st.integers(1, 60_000), st.integers(0, 1), st.integers(1, 3)), max_size=30))
def test_a_swing_is_what_the_curves_say_at_its_ends(gains: list[tuple[int, int, int]]) -> None:
    homes, curves = [0, 0], [[(0, 0)], [(0, 0)]]
    for ms, seat, cards in sorted(gains):
        homes[seat] += cards
        curves[seat].append((ms, homes[seat]))
    own, other = (tuple(curve) for curve in curves)
    swing = largest_swing(own, other)
    assert swing is not None or homes[0] or not homes[1], "nobody can fall back who has nothing"
    if swing is not None:
        for ms, margin in ((swing.from_ms, swing.before), (swing.to_ms, swing.after)):
            assert home_at(own, ms) - home_at(other, ms) == margin


def test_a_curve_has_a_point_for_each_change_and_no_other() -> None:
    seats = [scenes.seat(0, "Anna", home=4), scenes.seat(1, "Ben", home=5)]
    first = measured((), seats, 0)
    assert first == (((0, 4),), ((0, 5),))
    assert measured(first, seats, 900) is first
    assert measured(first, [seats[0], scenes.seat(1, "Ben", home=6)], 1_000) == (((0, 4),), ((0, 5), (1_000, 6)))


def test_what_is_heard_late_has_its_point_where_it_was_played() -> None:
    first: tuple[Points, ...] = (((0, 4),), ((0, 5),))
    late = [scenes.seat(0, "Anna", home=4), scenes.seat(1, "Ben", home=6, elapsed_ms=700)]
    assert measured(first, late, 9_000) == (((0, 4),), ((0, 5), (700, 6)))


def test_curves_begin_with_what_lay_home_at_the_start_and_end_with_the_result() -> None:
    record = scenes.record()
    lines = curves(record)
    assert len(lines) == 2
    for line, seat in zip(lines, record.seats, strict=True):
        assert line[0] == (0, 4)
        assert line[-1] == (seat.ended_at_ms, seat.home)
        assert [at_ms for at_ms, _ in line] == sorted(at_ms for at_ms, _ in line)


def test_a_seat_without_moves_has_a_flat_curve() -> None:
    record = replace(scenes.record(), moves=())
    assert all(len(line) == 2 for line in curves(record))
