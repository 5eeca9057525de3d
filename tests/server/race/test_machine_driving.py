"""What a driver relies on: `advance`, `apply` and `next_deadline`, and that a race depends on nothing but commands and times."""

import pytest

from protocol.errors import Refusal
from server.race.commands import LoseConnection, PassTime, PlayMove, ResignSeat, StopSeat
from server.race.events import RaceEnded, RaceStarted, SeatDealt, SeatEnded
from tests.server.race.racing import START, WINNABLE, Driven, counting_down, greedy_line, options, replayed, seated, started, state_of

LINE = greedy_line(WINNABLE)


def test_a_race_that_waits_for_its_players_has_no_deadline() -> None:
    assert Driven().race.next_deadline() is None
    assert seated().race.next_deadline() is None


def test_the_deadlines_are_the_first_views_the_start_the_graces_and_the_settling() -> None:
    driven = counting_down(options(seats=3, grace_s=5, time_limit_s=10), round_trips=(100, 60, 0))
    found: list[int] = []
    while (due := driven.race.next_deadline()) is not None:
        found.append(due - START)
        driven.advance(due - START)
        if due == START:
            driven.do(LoseConnection(0), 0)
    assert found == [-50, -30, 0, 5000, 10_167]


def test_what_is_due_is_done_in_the_order_in_which_it_was_due() -> None:
    driven = counting_down(options(seats=2, grace_s=5), round_trips=(100, 0))
    driven.do(LoseConnection(1), -1000)
    events = driven.advance(1_000_000)
    assert [type(event) for event in events] == [SeatDealt, SeatDealt, RaceStarted, SeatEnded, SeatEnded, RaceEnded]
    assert [(seat.state, seat.ended_at_ms) for seat in driven.record.seats] == [("stopped", 4000), ("forfeited", 4000)]


def test_advancing_in_one_step_or_in_many_comes_to_the_same() -> None:
    at_once, by_steps = (counting_down(options(time_limit_s=10, grace_s=5), round_trips=(100, 7)) for _ in range(2))
    for driven in (at_once, by_steps):
        driven.do(LoseConnection(1), -500)
    at_once.advance(20_000)
    for at in range(-500, 20_000, 37):
        by_steps.advance(at)
    assert at_once.record == by_steps.record
    assert at_once.events == by_steps.events


def test_advancing_again_to_the_same_moment_does_nothing() -> None:
    driven = counting_down()
    assert driven.advance(0) != ()
    before = state_of(driven.race)
    assert driven.advance(0) == ()
    assert state_of(driven.race) == before


def test_to_pass_the_time_does_what_is_due_and_no_more() -> None:
    told, untold = counting_down(), counting_down()
    assert told.race.apply(PassTime(), START) == untold.advance(0) != ()
    assert state_of(told.race)["seats"] == state_of(untold.race)["seats"]


def test_nothing_is_ever_due_after_it_was_done() -> None:
    driven = started(round_trips=(300, 0))
    driven.play(0, LINE[:-1], 1000)
    # The earliest close that a command can bring about is still ahead of the command.
    driven.do(PlayMove(0, len(LINE) - 1, LINE[-1], waited_ms=16), 5000)
    assert driven.race.next_deadline() == START + 5001
    driven.advance(5001)
    assert driven.race.next_deadline() is None
    assert driven.advance(10**9) == ()


def test_apply_does_what_is_due_before_the_command() -> None:
    driven = counting_down()
    events = driven.race.apply(StopSeat(0), START + 1000)
    assert [type(event) for event in events] == [SeatDealt, SeatDealt, RaceStarted, SeatEnded]


def test_a_refusal_loses_the_events_of_what_was_due_unless_advance_was_called_first() -> None:
    careless, careful = counting_down(), counting_down()
    with pytest.raises(Refusal):
        careless.race.apply(PlayMove(0, 5, "s"), START)
    assert careless.race.advance(START) == ()
    assert [type(event) for event in careful.race.advance(START)] == [SeatDealt, SeatDealt, RaceStarted]
    with pytest.raises(Refusal):
        careful.race.apply(PlayMove(0, 5, "s"), START)
    # Lost are the events alone: the races are in the same state.
    assert state_of(careless.race) == state_of(careful.race)


def test_elapsed_is_counted_from_the_start() -> None:
    assert seated().race.elapsed(START) == 0
    race = counting_down().race
    assert [race.elapsed(START + at) for at in (-1000, 0, 1234)] == [0, 0, 1234]


def test_the_same_commands_at_the_same_times_give_the_same_race() -> None:
    driven = started(options(deal=None, seats=3), round_trips=(20, 0, 300))
    for at in range(10):
        for seat in range(3):
            driven.play(seat, driven.position(seat).legal_moves()[:1], 1000 * at + seat)
    driven.do(LoseConnection(1), 20_000)
    driven.do(ResignSeat(2), 30_000)
    record = driven.finish()
    again = replayed(driven.race.options, driven.log)
    again.advance(START + 700_000)
    assert again.record == record
    assert state_of(again) == state_of(driven.race)


def test_a_race_is_over_when_its_time_and_its_window_are_over_whatever_happens() -> None:
    driven = started(options(seats=8, time_limit_s=10))
    assert not any(isinstance(event, RaceEnded) for event in driven.advance(10_166))
    assert isinstance(driven.advance(10_167)[-1], RaceEnded)
    assert driven.phase() == "over"
    assert all(seat.state == "out-of-time" for seat in driven.record.seats)
