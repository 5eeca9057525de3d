"""Moves one by one: plies, what is refused, and the moment that counts."""

import pytest

from protocol.errors import ErrorCode
from server.race.audit import audit
from server.race.commands import MeasureConnection, PlayMove, StopSeat
from server.race.events import MovePlayed
from tests.server.race.racing import WINNABLE, greedy_line, options, started, state_of

LINE = greedy_line(WINNABLE)


def test_a_move_makes_a_new_position_for_its_seat_alone() -> None:
    driven = started()
    first = driven.position(0)
    (event,) = driven.do(PlayMove(0, 0, LINE[0]), 1500)
    after = first.play(LINE[0])
    assert event == MovePlayed(0, LINE[0], 1, 1500, "racing", after)
    assert driven.position(0) == after
    assert driven.position(1) == first


def test_a_repeated_move_is_no_event_and_changes_nothing() -> None:
    driven = started()
    driven.play(0, LINE[:3], 1000)
    before = state_of(driven.race)
    for ply in range(3):
        assert driven.do(PlayMove(0, ply, LINE[ply]), 1000) == ()
    assert state_of(driven.race) == before


def test_a_repeated_last_move_of_a_seat_that_has_ended_is_no_event_either() -> None:
    driven = started()
    driven.play(0, LINE, 1000)
    assert driven.states() == ["won", "racing"]
    assert driven.do(PlayMove(0, len(LINE) - 1, LINE[-1]), 1001) == ()


def test_another_move_for_a_ply_that_was_played_is_stale() -> None:
    driven = started()
    driven.play(0, LINE[:2], 1000)
    refusal = driven.refused(PlayMove(0, 0, "s"), 1001)
    assert (refusal.code, refusal.path) == (ErrorCode.STALE_PLY, "$.ply")
    assert "the next ply is 2, not 0" in refusal.sentence


def test_a_ply_ahead_is_refused() -> None:
    driven = started()
    refusal = driven.refused(PlayMove(0, 1, LINE[0]), 1000)
    assert (refusal.code, refusal.path) == (ErrorCode.FUTURE_PLY, "$.ply")


@pytest.mark.parametrize("text", ["", "x", "S", "a9", "k1", "s ", "a1\n", "a1:", "s:s", "r" * 500, "a1\0", "\u0430\u0031", "*", "w:w"])
def test_what_is_no_move_text_changes_nothing(text: str) -> None:
    driven = started()
    refusal = driven.refused(PlayMove(0, 0, text), 1000)
    assert (refusal.code, refusal.path) == (ErrorCode.BAD_MOVE, "$.move")


@pytest.mark.parametrize("move", ["w", "r", "w:a1", "s:a1", "a1:w", "a1:b1", "a1+", "j8", "p1"])
def test_a_move_that_is_not_legal_changes_nothing(move: str) -> None:
    driven = started()
    refusal = driven.refused(PlayMove(0, 0, move), 1000)
    assert (refusal.code, refusal.path) == (ErrorCode.ILLEGAL_MOVE, "$.move")


def test_a_refusal_says_nothing_of_the_stock() -> None:
    driven = started()
    position = driven.position(0)
    refusal = driven.refused(PlayMove(0, 0, "w"), 1000)
    assert refusal.sentence == "That move is not legal in this position."
    assert position.text not in refusal.sentence


def test_every_move_that_is_not_legal_is_refused_and_every_legal_one_taken() -> None:
    slots = [f"{column}{row}" for column in "abcde" for row in range(1, 5)]
    texts = ["s", "r", "w", *slots, *(f"w:{slot}" for slot in slots), *(f"s:{slot}" for slot in slots)]
    driven = started(options(seats=1))
    for move in LINE[:6]:
        legal = driven.position(0).legal_moves()
        ply = driven.seat(0).ply
        assert {text for text in texts if text not in legal} == {
            text for text in texts if text not in legal and driven.code(PlayMove(0, ply, text), 1000) is ErrorCode.ILLEGAL_MOVE
        }
        driven.do(PlayMove(0, ply, move), 1000)


def test_a_seat_that_has_ended_plays_no_more() -> None:
    driven = started()
    driven.do(StopSeat(0), 1000)
    refusal = driven.refused(PlayMove(0, 0, LINE[0]), 1001)
    assert refusal.code is ErrorCode.SEAT_ENDED
    assert "stopped" in refusal.sentence


def test_a_race_that_is_over_takes_no_move() -> None:
    driven = started(options(seats=1))
    driven.play(0, LINE, 1000)
    assert driven.phase() == "over"
    assert driven.code(PlayMove(0, 0, LINE[0]), 1001) is ErrorCode.RACE_OVER


def test_a_move_counts_half_the_round_trip_before_it_arrived() -> None:
    driven = started(round_trips=(81, 0))
    (event,) = driven.do(PlayMove(0, 0, LINE[0]), 1000)
    assert isinstance(event, MovePlayed)
    assert event.at_ms == 960
    move = driven.finish().moves[0]
    assert (move.at_ms, move.received_ms, move.credit_ms) == (960, 1000, 40)


def test_half_the_round_trip_counts_for_at_most_150_ms() -> None:
    driven = started(round_trips=(10_000, 0))
    driven.do(PlayMove(0, 0, LINE[0]), 1000)
    assert driven.seat(0).last_at == 850


def test_no_move_counts_before_the_start_or_before_the_one_before_it() -> None:
    driven = started(round_trips=(200, 0))
    driven.do(PlayMove(0, 0, LINE[0]), 60)
    assert driven.seat(0).last_at == 0
    driven.do(PlayMove(0, 1, LINE[1]), 500)
    driven.do(MeasureConnection(0, 300), 510)
    driven.do(PlayMove(0, 2, LINE[2]), 510)
    assert driven.seat(0).last_at == 400
    record = driven.finish()
    assert [(move.at_ms, move.received_ms, move.credit_ms) for move in record.moves] == [(0, 60, 100), (400, 500, 100), (400, 510, 150)]
    audit(record)


def test_measuring_a_connection_is_no_event() -> None:
    driven = started()
    assert driven.do(MeasureConnection(0, 77), 10) == ()
    assert driven.seat(0).round_trip_ms == 77
