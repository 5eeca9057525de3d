"""The close of a race: what is still accepted after it, what is struck out again, and that the order of arrival decides nothing."""

from protocol.errors import ErrorCode
from server.race.audit import audit
from server.race.commands import LeaveSeat, LoseConnection, MeasureConnection, PlayMove, RegainConnection, ResignSeat, StopSeat
from server.race.events import SeatEnded
from tests.server.race.racing import WINNABLE, Driven, greedy_line, options, started

LINE = greedy_line(WINNABLE)
LAST = PlayMove(0, len(LINE) - 1, LINE[-1])
LAST_OF_1 = PlayMove(1, len(LINE) - 1, LINE[-1])


def one_move_from_home(*round_trips: int, seats: int = 2, time_limit_s: int = 600) -> Driven:
    """Every seat is one move away from its win, at one second."""
    driven = started(options(seats=seats, time_limit_s=time_limit_s), round_trips=round_trips)
    for seat in range(seats):
        driven.play(seat, LINE[:-1], 1000)
    return driven


def results(driven: Driven) -> list[tuple[str, int, int, int]]:
    """State, place, cards home and end of each seat, of a record that holds."""
    record = driven.finish()
    audit(record)
    return [(seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in record.seats]


def test_a_win_received_later_but_made_earlier_wins() -> None:
    driven = one_move_from_home(0, 300)
    driven.do(LAST, 5000)
    assert driven.states() == ["won", "racing"]
    events = driven.do(LAST_OF_1, 5149)
    assert events[1] == SeatEnded(0, "stopped", len(LINE) - 1, 4999, driven.position(0))
    assert results(driven) == [("stopped", 2, 51, 4999), ("won", 1, 52, 4999)]
    assert len(driven.record.moves) == 2 * len(LINE) - 1


def test_a_move_can_be_told_again_as_it_was_unless_it_was_struck_out_since() -> None:
    driven = one_move_from_home(0, 300)
    won, *_ = driven.do(LAST, 5000)
    first = driven.race.deal.firsts[0]
    retold = driven.seat(0).retold(len(LINE) - 1, first=first)
    assert list(retold) == [len(LINE) - 1, len(LINE)]
    assert retold[len(LINE)] == won
    other, *_ = driven.do(LAST_OF_1, 5149)
    assert driven.seat(0).retold(len(LINE), first=first) == {}
    assert driven.seat(1).retold(len(LINE), first=first) == {len(LINE): other}


def test_of_two_wins_read_at_one_moment_the_one_that_came_first_wins() -> None:
    driven = one_move_from_home(0, 0)
    driven.do(LAST, 5000)
    driven.do(PlayMove(1, len(LINE) - 1, LINE[-1], waited_ms=3), 5000)
    assert results(driven) == [("stopped", 2, 51, 4997), ("won", 1, 52, 4997)]


def test_no_move_came_before_the_last_one_of_its_seat() -> None:
    driven = one_move_from_home(0, 0)
    driven.do(PlayMove(0, len(LINE) - 1, LINE[-1], waited_ms=4), 1002)
    assert results(driven)[0] == ("won", 1, 52, 1000)


def test_a_win_made_later_is_refused() -> None:
    driven = one_move_from_home(0, 298)
    driven.do(LAST, 5000)
    assert driven.code(LAST_OF_1, 5150) is ErrorCode.RACE_OVER
    assert results(driven) == [("won", 1, 52, 5000), ("stopped", 2, 51, 5000)]


def test_a_move_refused_as_too_late_does_not_count_by_being_sent_again_over_a_slower_connection() -> None:
    driven = one_move_from_home(0, 20)
    driven.do(LAST, 5000)
    assert driven.code(LAST_OF_1, 5011) is ErrorCode.RACE_OVER
    driven.do(LoseConnection(1), 5020)
    driven.do(RegainConnection(1), 5030)
    driven.do(MeasureConnection(1, 300), 5040)
    assert driven.code(LAST_OF_1, 5050) is ErrorCode.RACE_OVER
    assert results(driven) == [("won", 1, 52, 5000), ("stopped", 2, 51, 5000)]


def test_a_move_too_late_for_the_time_limit_does_not_count_by_being_sent_again_either() -> None:
    driven = one_move_from_home(0, 0, time_limit_s=10)
    assert driven.code(LAST_OF_1, 10_001) is ErrorCode.RACE_OVER
    driven.do(MeasureConnection(1, 300), 10_002)
    assert driven.code(LAST_OF_1, 10_003) is ErrorCode.RACE_OVER


def test_after_the_close_a_connection_may_still_be_measured_faster_but_never_slower() -> None:
    driven = started(options(seats=3), round_trips=(0, 100))
    driven.play(0, LINE[:-1], 1000)
    driven.do(MeasureConnection(1, 120), 4999)
    assert driven.seat(1).round_trip_ms == 120
    driven.do(LAST, 5000)
    for measured, counts in ((300, 120), (80, 80), (100, 80)):
        driven.do(MeasureConnection(1, measured), 5000)
        assert driven.seat(1).round_trip_ms == counts
    driven.do(MeasureConnection(2, 40), 5001)
    assert driven.seat(2).round_trip_ms == 0, "never measured before the close: no credit"
    driven.finish()
    driven.do(MeasureConnection(1, 300), 700_000)
    assert driven.seat(1).round_trip_ms == 300, "nothing counts any more"


def test_wins_at_the_same_millisecond_share_the_first_place() -> None:
    driven = one_move_from_home(0, 300, 0, seats=3)
    driven.do(LAST, 5000)
    driven.do(LAST_OF_1, 5150)
    assert results(driven) == [("won", 1, 52, 5000), ("won", 1, 52, 5000), ("stopped", 3, 51, 5000)]


def test_what_was_played_after_the_close_is_struck_out_again() -> None:
    driven = started(round_trips=(300, 0))
    driven.play(0, LINE[:-1], 1000)
    for ply, move in enumerate(LINE[:30]):
        driven.do(PlayMove(1, ply, move), 4990 + ply)
    driven.do(LAST, 5150)
    assert driven.seat(1).ply == 30
    assert results(driven) == [("won", 1, 52, 5000), ("stopped", 2, 15, 5000)]
    assert driven.seat(1).ply == 11
    assert driven.position(1).home == 15
    assert driven.record.seats[1].home_at_ms == 5000


def test_an_end_after_the_close_is_struck_out_too() -> None:
    for end in (StopSeat(1), ResignSeat(1), LeaveSeat(1)):
        driven = one_move_from_home(300, 0)
        driven.do(end, 5100)
        driven.do(LAST, 5150)
        assert results(driven) == [("won", 1, 52, 5000), ("stopped", 2, 51, 5000)]


def test_an_end_at_the_very_moment_of_the_close_stands() -> None:
    driven = one_move_from_home(300, 0)
    driven.do(ResignSeat(1), 5000)
    driven.do(LAST, 5150)
    assert results(driven) == [("won", 1, 52, 5000), ("forfeited", 2, 51, 5000)]


def test_a_move_at_the_very_moment_of_the_close_counts() -> None:
    driven = started(round_trips=(0, 100))
    driven.play(0, LINE, 5000)
    driven.do(PlayMove(1, 0, LINE[0]), 5050)
    refusal = driven.refused(PlayMove(1, 1, LINE[1]), 5051)
    assert refusal.code is ErrorCode.RACE_OVER
    assert "decided before this move" in refusal.sentence
    assert results(driven) == [("won", 1, 52, 5000), ("stopped", 2, 5, 5000)]


def test_a_late_arrival_counts_up_to_150_ms_after_the_close() -> None:
    driven = started(round_trips=(0, 1000))
    driven.play(0, LINE, 5000)
    driven.do(PlayMove(1, 0, LINE[0]), 5150)
    assert driven.code(PlayMove(1, 1, LINE[1]), 5151) is ErrorCode.RACE_OVER
    driven.advance(5167)
    assert driven.phase() == "over"
    assert driven.record.seats[1].plies == 1


def test_a_late_arrival_counts_though_the_server_reads_it_a_long_tick_later() -> None:
    driven = started(round_trips=(0, 1000))
    driven.play(0, LINE, 5000)
    driven.do(PlayMove(1, 0, LINE[0], waited_ms=16), 5166)
    assert driven.code(PlayMove(1, 1, LINE[1], waited_ms=16), 5167) is ErrorCode.RACE_OVER
    assert driven.phase() == "over"
    (late,) = (move for move in driven.record.moves if move.seat == 1)
    assert (late.received_ms, late.at_ms) == (5150, 5000)


def test_a_win_before_a_forfeit_that_arrived_first_undoes_the_forfeit() -> None:
    driven = one_move_from_home(300, 0)
    driven.do(ResignSeat(1), 5000)
    driven.do(LAST, 5100)
    assert results(driven) == [("won", 1, 52, 4950), ("stopped", 2, 51, 4950)]


def test_what_the_last_seat_makes_after_the_forfeit_of_the_others_counts_no_more() -> None:
    driven = one_move_from_home(0, 0)
    driven.do(ResignSeat(1), 5000)
    assert driven.code(LAST, 5001) is ErrorCode.RACE_OVER
    assert results(driven) == [("stopped", 1, 51, 5000), ("forfeited", 2, 51, 5000)]


def test_both_resigning_at_once_have_both_forfeited_but_the_later_of_two_has_won() -> None:
    for later, ends in ((5000, [("forfeited", 1), ("forfeited", 1)]), (5001, [("forfeited", 2), ("stopped", 1)])):
        driven = started()
        driven.do(ResignSeat(0), 5000)
        driven.do(ResignSeat(1), later)
        assert [(state, place) for state, place, _, _ in results(driven)] == ends


def test_three_photo_finishes_in_a_row_leave_the_earliest() -> None:
    driven = one_move_from_home(0, 100, 300, seats=3)
    driven.do(LAST, 5000)
    driven.do(LAST_OF_1, 5040)
    driven.do(PlayMove(2, len(LINE) - 1, LINE[-1]), 5130)
    assert results(driven) == [("stopped", 3, 51, 4980), ("stopped", 2, 51, 4980), ("won", 1, 52, 4980)]


def test_a_move_made_in_time_counts_though_it_arrives_after_the_limit() -> None:
    driven = one_move_from_home(200, 0, time_limit_s=10)
    driven.do(LAST, 10_100)
    assert results(driven) == [("won", 1, 52, 10_000), ("out-of-time", 2, 51, 10_000)]


def test_a_win_in_time_that_arrives_after_the_limit_closes_the_race_before_it() -> None:
    driven = one_move_from_home(200, 0, time_limit_s=10)
    driven.do(LAST, 10_050)
    assert results(driven) == [("won", 1, 52, 9950), ("stopped", 2, 51, 9950)]


def test_a_move_made_after_the_limit_is_refused() -> None:
    driven = one_move_from_home(200, 0, time_limit_s=10)
    refusal = driven.refused(LAST, 10_101)
    assert refusal.code is ErrorCode.RACE_OVER
    assert "the time is up" in refusal.sentence
    assert results(driven) == [("out-of-time", 1, 51, 10_000), ("out-of-time", 2, 51, 10_000)]


def test_whoever_gives_up_after_the_limit_is_out_of_time() -> None:
    driven = one_move_from_home(0, 0, time_limit_s=10)
    driven.do(ResignSeat(0), 10_001)
    driven.do(StopSeat(1), 10_002)
    assert results(driven) == [("out-of-time", 1, 51, 10_000), ("out-of-time", 1, 51, 10_000)]


def test_a_grace_that_ends_after_the_close_is_no_forfeit() -> None:
    driven = started(options(grace_s=5))
    driven.do(LoseConnection(1), 1000)
    driven.play(0, LINE, 5900)
    (forfeited, *_) = driven.advance(6000)
    assert isinstance(forfeited, SeatEnded)
    assert forfeited.state == "forfeited"
    assert results(driven) == [("won", 1, 52, 5900), ("stopped", 2, 4, 5900)]


def test_the_earlier_of_two_with_the_same_count_is_placed_before_the_other() -> None:
    driven = started(round_trips=(0, 300))
    driven.play(0, LINE[:5], 2000)
    driven.play(1, LINE[:5], 2149)
    driven.do(StopSeat(0), 3000)
    driven.do(StopSeat(1), 3000)
    assert [(state, place) for state, place, _, _ in results(driven)] == [("stopped", 2), ("stopped", 1)]
