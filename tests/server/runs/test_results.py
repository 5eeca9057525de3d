"""Places, percentiles, days in a row, dates, and who becomes a ghost: in small tables, and for arbitrary runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.views import SeatState
from server.race.ghosts import MOST_GHOSTS
from server.race.placing import PlacedSeat, places
from server.runs import days
from server.runs.ghost_choice import BEST, Candidate, choose
from server.runs.results import Day, RunResult, Streak, percentile, rows, streak


def result(number: int, home: int, home_at_ms: int = 1000, state: SeatState = "stopped") -> RunResult:
    return RunResult(
        race=f"ROOMAA-{number}-00",
        player=f"p{number}",
        name=f"Runner {number}",
        state=state,
        home=home,
        plies=home,
        home_at_ms=home_at_ms,
        ended_at_ms=home_at_ms + 500,
    )


def test_a_board_is_placed_as_a_race_is() -> None:
    board = rows([result(1, 10), result(2, 20, 900), result(3, 20, 800), result(4, 10), result(5, 40, state="forfeited")], {})
    assert [(row.place, row.player, row.beats) for row in board] == [
        (1, "p3", 100),
        (2, "p2", 75),
        (3, "p1", 25),
        (3, "p4", 25),
        (5, "p5", 0),
    ]


def test_a_lone_run_beats_nobody_and_is_beaten_by_nobody() -> None:
    assert [row.beats for row in rows([result(1, 10)], {})] == [None]
    assert percentile(3, 1, 3) == 0
    assert percentile(201, 2, 1) == 99


@given(st.lists(st.builds(PlacedSeat, st.booleans(), st.integers(0, 5), st.integers(0, 5)), max_size=40))
def test_places_are_one_more_than_the_number_of_those_that_are_better(standings: list[PlacedSeat]) -> None:
    keys = [(standing.forfeited, -standing.home, standing.home_at_ms) for standing in standings]
    assert places(standings) == tuple(1 + sum(other < key for other in keys) for key in keys)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("", Streak(0, 0)),
        ("r", Streak(1, 0)),
        ("w", Streak(1, 1)),
        ("rw", Streak(2, 0)),
        ("wwr", Streak(3, 2)),
        ("ww-w", Streak(2, 2)),
        ("-ww", Streak(0, 0)),
    ],
)
def test_days_in_a_row_are_counted_backwards_from_the_last_one(table: str, expected: Streak) -> None:
    """The last day comes first: r is a run, w a win, - neither."""
    counted = [Day({"p"} if kind in "rw" else set(), {"p"} if kind == "w" else set()) for kind in table]
    assert streak("p", counted) == expected


def candidate(number: int, home: int, rating: int | None = None) -> Candidate:
    return Candidate(result(number, home), rating, ended_at_ms=number)


def test_the_ghosts_are_the_best_and_then_those_nearest_in_rating_in_the_order_of_their_ends() -> None:
    runs = [candidate(number, 10 + number, 1000 + 10 * number) for number in range(20)]
    chosen = choose(runs, rating=1052)
    assert [int(race.split("-")[1]) for race in chosen] == [4, 5, 6, 16, 17, 18, 19]


def test_without_a_rating_the_last_runs_are_the_nearest() -> None:
    runs = [candidate(number, 30 - number) for number in range(12)]
    assert [int(race.split("-")[1]) for race in choose(runs, rating=1000)] == [0, 1, 2, 3, 9, 10, 11]


@given(st.lists(st.tuples(st.integers(0, 52), st.none() | st.integers(500, 2000)), max_size=30), st.none() | st.integers(500, 2000))
def test_never_more_ghosts_than_there_is_room_for_and_the_best_among_them(runs: list[tuple[int, int | None]], rating: int | None) -> None:
    candidates = [candidate(number, home, rated) for number, (home, rated) in enumerate(runs)]
    chosen = choose(candidates, rating)
    assert len(chosen) == len(set(chosen)) == min(len(runs), MOST_GHOSTS)
    homes = {each.result.race: each.result.home for each in candidates}
    assert sorted((homes[race] for race in chosen), reverse=True)[:BEST] == sorted(homes.values(), reverse=True)[: min(BEST, len(chosen))]


def test_days_are_in_utc_and_follow_each_other() -> None:
    assert days.date_of(1_795_262_400_000) == "2026-11-21"
    assert days.begins_at_ms("2026-11-21") == 1_795_219_200_000
    assert days.date_of(days.ends_at_ms("2026-11-21") - 1) == "2026-11-21"
    assert days.date_of(days.ends_at_ms("2026-11-21")) == "2026-11-22"
    assert days.before("2028-03-01") == "2028-02-29"
    assert [days.is_date(text) for text in ("2026-11-21", "2026-11-31", "20261121", "", "2026-W47-6")] == [True, False, False, False, False]
