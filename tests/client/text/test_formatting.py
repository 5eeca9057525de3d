"""Clocks, limits, ratings and series in words."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec.structs import replace as changed

from client.state.room import RoomModel
from client.text import formatting as reading
from protocol.server_messages import WaitingMatch
from protocol.views import RaceOptions, SeatState, SeriesInfo, SeriesOptions, SeriesSeat, Unrated
from tests.client import scenes


@pytest.mark.parametrize(("ms", "text"), [(0, "0:00.0"), (-5, "0:00.0"), (7_349, "0:07.3"), (760_000, "12:40.0"), (3_723_000, "1:02:03.0")])
def test_clock_text(ms: int, text: str) -> None:
    assert reading.clock_text(ms) == text
    assert reading.clock_text(ms, tenths=False) == text[:-2]


@pytest.mark.parametrize(("seconds", "text"), [(600, "10 min"), (45, "45 s"), (90, "1 min 30 s"), (3600, "60 min"), (0, "0 s")])
def test_limit_text(seconds: int, text: str) -> None:
    assert reading.limit_text(seconds) == text


def test_the_search_for_an_opponent_in_words() -> None:
    search = scenes.looking().search
    assert search is not None
    assert reading.search_sentence(search, "", 14_000) == "Looking for an opponent within 150 points (3 waiting, 0:20); esc stops."
    last = scenes.reduced(scenes.at_home(), WaitingMatch(rules="carpet", waited_ms=61_000, window=None, waiting=1)).search
    assert last is not None
    assert reading.search_sentence(last, "Carpet", 1000) == (
        "Looking for an opponent with any rating at Carpet (1 waiting, 1:01); esc stops."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Rated"),
        ({"seats": 8, "winnable": True}, "Rated"),
        ({"rated": False, "bots": ("Steady",)}, "Not rated: by the host's choice"),
        ({"seats": 1}, "Not rated: only one seat"),
        ({"seats": 3, "bots": ("Steady",)}, "Not rated: a house bot takes part"),
        ({"deal": "tuesday"}, "Not rated: named deal"),
        ({"series": SeriesOptions(format="swap")}, "Not rated: two different shuffles"),
        ({"delay_s": 9}, "Not rated: boards shown within 10 s"),
    ],
)
def test_whether_a_race_counts_and_why_not(options: dict[str, Any], sentence: str) -> None:
    assert reading.rated_sentence(RaceOptions(**options)) == sentence


def test_every_reason_for_which_a_race_does_not_count_has_words() -> None:
    assert tuple(reading.UNRATED) == get_args(Unrated)


def scored(*seats: tuple[str, int, int, int], winner: int | None, gone: tuple[int, ...] = ()) -> SeriesInfo:
    """A best of 3 that is over. seats: name, points, forfeits and cards home of each."""
    told = tuple(
        SeriesSeat(name=name, points=points, forfeits=forfeits, home=home, place=1 if winner in (None, number) else 2, gone=number in gone)
        for number, (name, points, forfeits, home) in enumerate(seats)
    )
    return SeriesInfo(format="best-of", races=3, raced=3, over=True, seats=told)


SCORES = [
    pytest.param(scored(("Anna", 2, 0, 60), ("Bert", 1, 1, 70), winner=0), "Anna has won the best of 3: Anna 2 : 1 Bert.", id="points"),
    pytest.param(
        scored(("Anna", 1, 0, 60), ("Bert", 1, 0, 50), winner=0),
        "Anna has won the best of 3: Anna 1 : 1 Bert (60 : 50 cards).",
        id="cards",
    ),
    pytest.param(
        scored(("Anna", 1, 1, 60), ("Bert", 1, 0, 50), winner=1),
        "Bert has won the best of 3: Anna 1 : 1 Bert (1 : 0 forfeits).",
        id="forfeits",
    ),
    pytest.param(
        scored(("Anna", 1, 1, 60), ("Bert", 1, 0, 50), ("Clara", 0, 0, 40), winner=1),
        "Bert has won the best of 3: Anna 1 (1 forfeit, 60 cards), Bert 1 (50 cards), Clara 0 (40 cards).",
        id="three players",
    ),
    pytest.param(
        scored(("Anna", 1, 0, 60), ("Bert", 0, 0, 50), winner=0, gone=(0, 1)),
        "Anna and Bert gave up the series. The score was Anna 1 : 0 Bert.",
        id="nobody stayed",
    ),
]


@pytest.mark.parametrize(("series", "sentence"), SCORES)
def test_the_end_of_a_series_is_said_with_what_decided_it(series: SeriesInfo, sentence: str) -> None:
    assert reading.series_sentence(series) == sentence


OWN_FIRST = [
    (scored(("Anna", 0, 0, 60), ("Bert", 2, 0, 70), winner=1), "You have won the best of 3: Bert 2 : 0 Anna."),
    (scored(("Anna", 1, 0, 60), ("Bert", 1, 0, 50), winner=0), "Anna has won the best of 3: Bert 1 : 1 Anna (50 : 60 cards)."),
    (
        scored(("Anna", 0, 0, 40), ("Bert", 1, 0, 50), ("Clara", 2, 0, 60), winner=2),
        "Clara has won the best of 3: Bert 1, Anna 0, Clara 2.",
    ),
    (changed(scored(("Anna", 1, 0, 60), ("Bert", 0, 0, 50), winner=0), raced=1, over=False), "Bert 0 : 1 Anna, best of 3, race 2 next"),
]


@pytest.mark.parametrize(("series", "sentence"), OWN_FIRST)
def test_a_player_reads_their_own_points_first(series: SeriesInfo, sentence: str) -> None:
    assert reading.series_sentence(series, own=1) == sentence


HALVES: list[tuple[tuple[SeatState, ...], str]] = [
    ((), "Race 1 of the swap is over. Cards home: Anna 48, Benedikt 33."),
    (("out-of-time", "out-of-time"), "Race 1 of the swap is over, time is up. Cards home: Anna 48, Benedikt 33."),
    (("out-of-time", "stopped"), "Race 1 of the swap is over: Anna 48 cards (time up), Benedikt 33 (stopped)."),
    (("stalled", "forfeited"), "Race 1 of the swap is over: Anna 48 cards (no moves), Benedikt 33 (forfeit)."),
]


@pytest.mark.parametrize(("half", "sentence"), HALVES)
def test_the_end_of_the_first_race_of_a_swap_is_said_with_how_it_came(half: tuple[SeatState, ...], sentence: str) -> None:
    assert reading.series_sentence(scenes.standing((0, 0), 1, format="swap", races=2), half) == sentence


def ended(*places: int, home: tuple[int, ...] = (40, 31), states: tuple[SeatState, ...] = ("stalled", "stalled")) -> RoomModel:
    """A race that is over, with these places. Each seat brought its last card home five seconds after the one before it."""
    seats = tuple(
        changed(seat, place=place, home=cards, state=state, home_at_ms=60_000 + 5_000 * number, ended_at_ms=60_000 + 5_000 * number)
        for number, (seat, place, cards, state) in enumerate(zip(scenes.record().seats, places, home, states, strict=True))
    )
    room = scenes.over().room
    assert room is not None
    return changed(room, record=None, told=seats)


WON = [
    pytest.param((), None, ended(1, 2), "", id="the first race"),
    pytest.param((2, 1), None, ended(2, 1), "Races won here: 2 by Anna, 2 by Benedikt.", id="another race"),
    pytest.param((2, 1), None, ended(1, 1), "Races won here: 2 by Anna, 1 by Benedikt.", id="a draw"),
    pytest.param((0, 0), None, ended(1, 1), "", id="nothing but draws"),
    pytest.param(
        (2, 1), None, ended(1, 2, states=("forfeited", "forfeited")), "Races won here: 2 by Anna, 1 by Benedikt.", id="both gave up"
    ),
    pytest.param((0, 1), scenes.standing((1, 0), 1), ended(1, 2), "Series won here: 0 by Anna, 1 by Benedikt.", id="a race of a series"),
    pytest.param((0, 1), scenes.standing((3, 0), 3, over=True), ended(1, 2), "Series won here: 1 by Anna, 1 by Benedikt.", id="a series"),
]


@pytest.mark.parametrize(("won", "series", "room", "sentence"), WON)
def test_what_each_has_won_in_a_room_is_said_with_what_they_have_just_won(
    won: tuple[int, ...], series: SeriesInfo | None, room: RoomModel, sentence: str
) -> None:
    assert reading.won_sentence(changed(room, won=won, series=series)) == sentence
