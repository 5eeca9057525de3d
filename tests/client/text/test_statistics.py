"""Statistics over races: compared with hand counts, and consistent for any races."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.text.past_races import PastRace
from client.text.statistics import LONGEST_MS, MOST_CARDS, Opponent, Point, Tally, statistics
from protocol.pages import HistorySeat
from protocol.views import SeatRating
from tests.client.text.test_past_races import NOW, raced, seat


def ran(number: int, *seats: HistorySeat, **more: Any) -> PastRace:
    return raced(*seats, id=f"HKTRWM-{number}-0a1b2c3d4e5f", finished_at_ms=NOW + number, **more)


def anna(place: int | None, **more: Any) -> HistorySeat:
    return seat("Anna", place, **more)


def home(place: int, ms: int) -> HistorySeat:
    return anna(place, state="won", home=52, ended_at_ms=ms)


def bot(name: str, place: int = 2, **more: Any) -> HistorySeat:
    return seat(name, place, player=None, bot=name, **more)


# ---- counted by hand


def test_no_races_come_to_nothing() -> None:
    told = statistics([])
    assert told.whole == told.people == told.bots == told.solo
    assert told.whole == Tally(
        races=0,
        won=0,
        drawn=0,
        lost=0,
        alone=0,
        forfeited=0,
        all_home=0,
        cards_mean=None,
        cards_most=None,
        fastest_ms=None,
        median_ms=None,
    )
    assert (told.rules, told.opponents, told.cards, told.ratings, told.rating) == ((), (), (), (), None)


def test_races_are_counted_in_all_by_rule_set_and_by_who_was_there() -> None:
    told = statistics(
        [
            ran(1, home(1, 200_000), seat("Ben", 2)),
            ran(2, home(1, 100_000), bot("deep"), rules="colorado"),
            ran(3, anna(2, home=20, state="forfeited"), bot("deep", 1), seat("Ben", 1)),
            ran(4, anna(1, home=12), seat("Ben", 1)),
            ran(5, home(1, 150_001), bot("random", 3), bot("random", 2)),
            ran(6, anna(1, home=7)),
            ran(7, anna(None), seat("Ben", None), aborted="the power failed"),
            ran(8, anna(1), seat("Anna", 1), own=None),
        ]
    )
    assert told.whole == Tally(
        races=6,
        won=3,
        drawn=1,
        lost=1,
        alone=1,
        forfeited=1,
        all_home=3,
        cards_mean=32.5,
        cards_most=52,
        fastest_ms=100_000,
        median_ms=150_001,
    )
    assert (told.aborted, told.unknown) == (1, 1)
    assert [(rules, tally.races, tally.won) for rules, tally in told.rules] == [("carpet", 5, 2), ("colorado", 1, 1)]
    assert [tally.races for tally in (told.people, told.bots, told.solo)] == [3, 2, 1]
    assert [(each.name, each.bot, each.met, each.won, each.drawn, each.lost) for each in told.opponents] == [
        ("Ben", None, 3, 1, 1, 1),
        ("deep", "deep", 2, 1, 0, 1),
        ("random", "random", 1, 1, 0, 0),
    ]


def test_two_house_bots_of_one_name_are_met_once_in_a_race_and_the_better_one_counts() -> None:
    (told,) = statistics([ran(1, anna(2), bot("deep", 3), bot("deep", 1)), ran(2, anna(2), bot("deep", 1), bot("deep", 3))]).opponents
    assert (told.met, told.won, told.drawn, told.lost) == (2, 0, 0, 2)


def test_to_win_is_to_be_first_alone() -> None:
    assert statistics([ran(1, anna(1), seat("Ben", 1), seat("Cleo", 3))]).whole.drawn == 1
    assert statistics([ran(1, anna(2), seat("Ben", 1), seat("Cleo", 2))]).whole.lost == 1
    assert statistics([ran(1, anna(None), seat("Ben", 1))]).whole.lost == 1


def test_only_a_patience_that_came_out_has_a_time() -> None:
    told = statistics([ran(1, anna(1, state="stopped", ended_at_ms=5)), ran(2, anna(2, state="won", home=52, ended_at_ms=9))]).whole
    assert (told.all_home, told.fastest_ms, told.median_ms) == (1, 9, 9)


def test_an_opponent_is_the_same_under_another_name_and_is_called_as_the_last_time() -> None:
    told = statistics([ran(2, anna(1), seat("Benedikt", 2, player="b")), ran(1, anna(2), seat("Ben", 1, player="b"))])
    assert told.opponents == (Opponent(player="b", bot=None, name="Benedikt", met=2, won=1, drawn=0, lost=1),)


def test_a_house_bot_is_not_a_person_of_its_name_and_players_without_an_id_go_by_their_name() -> None:
    races = [
        ran(1, anna(1), bot("deep")),
        ran(2, anna(1), seat("deep", 2)),
        ran(3, anna(1), seat("deep", 2, player=None)),
        ran(4, anna(1), seat("deep", 2, player=None)),
    ]
    assert [(each.player, each.bot, each.met) for each in statistics(races).opponents] == [
        (None, None, 2),
        (None, "deep", 1),
        ("deep", None, 1),
    ]


def test_curves_go_from_the_oldest_race_to_the_newest_and_ratings_leave_out_what_does_not_count() -> None:
    rated = anna(1, home=9, rating=SeatRating(before=1000, after=1138))
    told = statistics(
        [
            ran(3, anna(2, home=5, rating=SeatRating(before=1138, after=1090)), seat("Ben", 1)),
            ran(2, anna(1, home=30), seat("Ben", 2)),
            ran(1, rated, seat("Ben", 2, rating=SeatRating(before=1000, after=927))),
        ]
    )
    assert told.ratings == (Point(NOW + 1, 1138), Point(NOW + 3, 1090))
    assert told.rating == 1090
    assert told.cards == (Point(NOW + 1, 9), Point(NOW + 2, 30), Point(NOW + 3, 5))


@pytest.mark.parametrize(("sign", "cards", "ms", "rating"), [(1, MOST_CARDS, LONGEST_MS, 99_999), (-1, 0, 0, -9999)])
def test_figures_that_no_race_has_are_cut(sign: int, cards: int, ms: int, rating: int) -> None:
    far = sign * 10**30
    told = statistics([ran(1, anna(1, state="won", home=far, ended_at_ms=far, rating=SeatRating(before=far, after=far)), seat("Ben", 2))])
    assert (told.whole.cards_most, told.whole.fastest_ms, told.rating) == (cards, ms, rating)


# ---- whatever they are

names = st.sampled_from(["Ben", "Cleo", "", "\x1b[31mBen", "deep"])
seats = st.builds(
    HistorySeat,
    player=st.none() | names,
    name=names,
    bot=st.none() | names,
    state=st.sampled_from(["won", "stalled", "stopped", "forfeited", "out-of-time"]),
    place=st.none() | st.integers(1, 3),
    home=st.integers(-5, 120),
    ended_at_ms=st.none() | st.integers(-5, 400_000),
    rating=st.none() | st.builds(SeatRating, before=st.integers(900, 1200), after=st.integers(900, 1200)),
)


@st.composite
def histories(draw: st.DrawFn) -> list[PastRace]:
    return [
        ran(
            number,
            *(there := draw(st.lists(seats, min_size=1, max_size=4))),
            own=draw(st.none() | st.integers(0, len(there) - 1)),
            rules=draw(st.sampled_from(["carpet", "colorado", "\x9b1m"])),
            aborted=draw(st.sampled_from([None, None, None, "why"])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


def added(tallies: list[Tally]) -> tuple[int, ...]:
    return tuple(
        sum(getattr(tally, field) for tally in tallies) for field in ("races", "won", "drawn", "lost", "alone", "forfeited", "all_home")
    )


@given(histories())
def test_sums_agree(races: list[PastRace]) -> None:
    told = statistics(races)
    whole = told.whole
    assert whole.races + told.aborted + told.unknown == len(races)
    assert added([tally for _, tally in told.rules]) == added([told.people, told.bots, told.solo]) == added([whole])
    for tally in (whole, told.people, told.bots, told.solo, *(tally for _, tally in told.rules)):
        assert tally.won + tally.drawn + tally.lost + tally.alone == tally.races
        assert (tally.cards_most is None) == (tally.cards_mean is None) == (tally.races == 0)
        if tally.fastest_ms is not None and tally.median_ms is not None:
            assert 0 <= tally.fastest_ms <= tally.median_ms
    assert all(each.won + each.drawn + each.lost == each.met for each in told.opponents)
    counted = [past for past in races if past.race.aborted is None and past.own is not None]
    assert sum(each.met for each in told.opponents) == sum(len(statistics([past]).opponents) for past in counted)
    assert len(told.cards) == whole.races
    assert list(told.cards) == sorted(told.cards, key=lambda point: point.at_ms)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_races_come_does_not_matter(races: list[PastRace], random: Random) -> None:
    mixed = list(races)
    random.shuffle(mixed)
    assert statistics(mixed) == statistics(races)
