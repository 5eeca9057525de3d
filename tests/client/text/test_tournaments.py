"""Points, tie-breaks, phases and results in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.text.tournaments import (
    decided_by,
    format_text,
    own_result_sentence,
    phase_sentence,
    points_text,
    quarters_text,
    result_text,
    title_text,
)
from protocol.tournaments import TableResult, TournamentOptions
from tests.client import tournament_scenes as tournaments


@pytest.mark.parametrize(
    ("quarters", "text", "plain"),
    [(0, "0", "0"), (1, "¼", "0.25"), (2, "½", "0.5"), (4, "1", "1"), (15, "3¾", "3.75"), (400, "100", "100")],
)
def test_quarters_are_fractions_or_decimals(quarters: int, text: str, plain: str) -> None:
    assert (quarters_text(quarters), quarters_text(quarters, plain=True)) == (text, plain)


def test_points_are_told_in_halves() -> None:
    assert [points_text(halves) for halves in range(4)] == ["0", "½", "1", "1½"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"format": "swiss", "rounds": 9}, "Swiss, 9 rounds"),
        ({"format": "swiss", "rounds": 1}, "Swiss, 1 round"),
        ({"format": "swiss"}, "Swiss"),
        ({"format": "session", "rounds": 5}, "session of 5"),
        ({"format": "round-robin", "double": True}, "double round robin"),
        ({"format": "elimination"}, "elimination"),
    ],
)
def test_a_format_is_told_with_what_it_is_played_with(options: dict[str, object], text: str) -> None:
    assert format_text(TournamentOptions(name="x", **options)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "left_ms", "text"),
    [
        ("registration", None, "Open to enter: 4 entered."),
        ("check-in", 61_000, "Check-in: 2 of 4 checked in. 1:01 left."),
        ("running", None, "Round 2 of 9 is being raced: 1 of 3 tables done."),
        ("between", 5_000, "Round 2 of 9 is over; the next one is paired in 0:05."),
        ("between", 0, "Round 2 of 9 is over; the next one is being paired."),
        ("between", None, "Round 2 of 9 is over; the director pairs the next one."),
        ("paused", None, "Paused: races go on, but no new one starts; 1 of 3 tables done."),
        ("over", None, "It is over: Benedikt won."),
        ("ended", None, "Called off before it was decided."),
    ],
)
def test_every_stage_is_a_sentence(phase: str, left_ms: int | None, text: str) -> None:
    assert phase_sentence(tournaments.running(phase=phase), left_ms) == text


def test_before_its_first_pairing_a_running_one_is_being_paired_and_shared_wins_are_shared() -> None:
    assert phase_sentence(tournaments.told("running"), None) == "The first round is being paired."
    first = tuple(replace(row, place=1) for row in tournaments.STANDINGS)
    for winners, names in ((2, "Benedikt and Anna"), (3, "Benedikt, Anna and greedy 1")):
        assert phase_sentence(tournaments.running(phase="over", standings=first[:winners]), None) == f"It is over: {names} won."


def test_results_say_points_and_cards_or_that_nobody_came() -> None:
    assert result_text(TableResult(verdict="second", first_home=31, second_home=52)) == "0 : 1 (31 : 52 cards)"
    assert result_text(TableResult(verdict="draw", first_home=31, second_home=31), plain=True) == "1/2 : 1/2 (31 : 31 cards)"
    assert result_text(TableResult(verdict="neither", forfeit=True)) == "0 : 0 by forfeit"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (TableResult(verdict="first", first_home=52, second_home=31), "You lost your table, 31 : 52 cards."),
        (TableResult(verdict="second", first_home=31, second_home=40), "You won your table, 40 : 31 cards."),
        (TableResult(verdict="second", first_home=5, second_home=5), "You won your table, 5 : 5 cards: you had them first."),
        (TableResult(verdict="first", first_home=5, second_home=5), "You lost your table, 5 : 5 cards: they had them first."),
        (TableResult(verdict="draw", first_home=31, second_home=31), "Your table is a draw, 31 : 31 cards."),
        (TableResult(verdict="second", forfeit=True), "You won your table by forfeit."),
        (TableResult(verdict="neither", forfeit=True), "Neither of you won your table: both forfeited."),
    ],
)
def test_a_player_is_told_their_own_result_and_with_as_many_cards_why_it_is_not_a_draw(result: TableResult, told: str) -> None:
    assert own_result_sentence(tournaments.table(1, "p2", tournaments.ANNA, result=result), tournaments.ANNA) == told


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (TableResult(verdict="first", first_home=11, second_home=11), "first to 11"),
        (TableResult(verdict="first", first_home=11, second_home=10), ""),
        (TableResult(verdict="draw", first_home=11, second_home=11), ""),
        (TableResult(verdict="first", first_home=11, second_home=11, ruled=True), "by ruling"),
        (TableResult(verdict="first", first_home=11, second_home=11, walkover=True), "walkover"),
        (TableResult(verdict="first", forfeit=True), ""),
    ],
)
def test_beside_a_result_stands_what_decided_it_if_not_the_cards(result: TableResult, told: str) -> None:
    assert decided_by(result) == told


def test_whoever_won_because_the_other_gave_up_had_no_need_to_be_first() -> None:
    result = TableResult(verdict="first", first_home=5, second_home=5, walkover=True)
    gave_up = tournaments.table(1, tournaments.ANNA, "p2", result=result, sides=(tournaments.side("p2", "Benedikt", state="forfeited"),))
    assert own_result_sentence(gave_up, tournaments.ANNA) == "You won your table, 5 : 5 cards, by walkover."


def test_alone_at_a_table_the_cards_home_are_the_result() -> None:
    alone = tournaments.table(1, tournaments.ANNA, None, result=TableResult(verdict="second", first_home=31))
    assert own_result_sentence(alone, tournaments.ANNA, alone=True) == "Your table is finished: 31 cards home."
    results = (TableResult(verdict="second", first_home=1), TableResult(verdict="second", forfeit=True))
    assert [result_text(result, alone=True) for result in results] == ["1 card home", "forfeited"]


def test_against_the_house_a_table_is_won_or_lost_like_any_other() -> None:
    bye = tournaments.table(1, tournaments.ANNA, None, result=TableResult(verdict="second", first_home=8, second_home=10))
    assert own_result_sentence(bye, tournaments.ANNA) == "You lost your table, 8 : 10 cards."


def test_a_title_cannot_touch_the_terminal_and_is_never_empty() -> None:
    assert title_text("\x1b[31mOpen\n") == "Open"
    assert title_text("\x1b\x07") == "nameless"
