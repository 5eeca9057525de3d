"""Which of two races is closer, and so better to watch."""

from __future__ import annotations

from server.race.commands import GetReady, LoseConnection, ResignSeat, TakeSeat
from server.rooms.summary import LeadRank, RoomSummary, summarized
from tests.server.race.racing import WINNABLE, Driven, counting_down, greedy_line, nonce, options, seated, started

LINE = greedy_line(WINNABLE)


def at(*plies: int) -> Driven:
    """A race in which the seats have made so many moves of a line that brings a card home with each."""
    driven = started(options(seats=len(plies)))
    for seat, number in enumerate(plies):
        driven.play(seat, LINE[:number], 1000)
    return driven


def summary(driven: Driven) -> RoomSummary:
    return summarized(driven.race, spec=None, opened_at=0, ahead_ms=0, closed="")


def ranked(driven: Driven) -> LeadRank:
    rank = summary(driven).lead_rank
    assert rank is not None
    return rank


def test_the_first_two_count_and_then_how_far_they_are() -> None:
    even, far, near, three = at(3, 3), at(9, 9), at(9, 8), at(9, 1, 9)
    assert ranked(far) == ranked(three) < ranked(even) < ranked(near) < ranked(at(9, 4))


def test_whoever_has_forfeited_is_in_no_race() -> None:
    driven = at(9, 9, 2)
    driven.do(ResignSeat(1), 2000)
    assert ranked(driven) == ranked(at(9, 2))


def test_a_race_against_a_bot_or_alone_comes_after_all_between_people() -> None:
    driven = Driven(options())
    driven.do(TakeSeat("player-0", "Ann"), -10_000)
    driven.do(TakeSeat("bot:1", "random", "random", 1), -10_000)
    for seat in (0, 1):
        driven.do(GetReady(seat, nonce(seat)), -3000)
    driven.advance(0)
    driven.play(0, LINE[:1], 1000)
    assert ranked(at(20, 1)) < ranked(driven) < ranked(at(1))


def test_whoever_is_away_is_nobody_to_watch_and_nor_is_whoever_has_made_no_move() -> None:
    one_away, both_away = at(9, 9), at(9, 9)
    one_away.do(LoseConnection(1), 2000)
    for seat in (0, 1):
        both_away.do(LoseConnection(seat), 2000)
    assert ranked(at(20, 1)) < ranked(at(0, 0)) < ranked(one_away) < ranked(both_away)


def test_what_is_not_being_run_is_not_close() -> None:
    over = at(3, 3)
    over.finish()
    assert [summary(driven).lead_rank for driven in (seated(), counting_down(), over)] == [None, None, None]
