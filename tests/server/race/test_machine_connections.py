"""Away and back: a connection lost and regained in every phase of a race."""

from protocol.errors import ErrorCode
from protocol.views import SeriesOptions
from server.race.audit import audit
from server.race.commands import GetReady, LeaveSeat, LoseConnection, PlayMove, RegainConnection, StopSeat, TakeSeat
from server.race.events import ConnectionChanged, MovePlayed, RaceStarted, SeatDealt, SeatEnded, SeatFreed
from server.race.machine import ALL_AWAY
from server.race.shuffles import SeriesPlace
from tests.server.race.racing import START, WINNABLE, Driven, counting_down, greedy_line, nonce, options, seated, started

LINE = greedy_line(WINNABLE)


def test_away_and_back_within_the_grace_costs_nothing() -> None:
    driven = started(options(grace_s=5))
    assert driven.do(LoseConnection(0), 1000) == (ConnectionChanged(0, connected=False, away_until=START + 6000),)
    assert driven.do(RegainConnection(0), 5999) == (ConnectionChanged(0, connected=True, away_until=None),)
    driven.advance(100_000)
    assert driven.states() == ["racing", "racing"]
    assert len(driven.do(PlayMove(0, 0, LINE[0]), 100_000)) == 1


def test_each_absence_has_a_grace_of_its_own() -> None:
    driven = started(options(grace_s=5))
    for at in (1000, 5000, 9000):
        assert driven.do(LoseConnection(0), at) == (ConnectionChanged(0, connected=False, away_until=START + at + 5000),)
        driven.do(RegainConnection(0), at + 3000)
    assert driven.states() == ["racing", "racing"]


def test_a_connection_lost_twice_or_regained_twice_is_one_event() -> None:
    driven = started(options(grace_s=5))
    assert driven.do(RegainConnection(0), 500) == ()
    driven.do(LoseConnection(0), 1000)
    assert driven.do(LoseConnection(0), 4000) == ()
    driven.advance(6000)
    assert driven.states() == ["forfeited", "racing"]
    assert driven.do(RegainConnection(0), 6001) == (ConnectionChanged(0, connected=True, away_until=None),)
    assert driven.do(RegainConnection(0), 6002) == ()


def test_whoever_races_alone_keeps_what_is_home_when_their_line_is_lost_for_longer_than_the_grace() -> None:
    driven = started(options(grace_s=5, seats=1))
    for ply, move in enumerate(LINE[:9]):
        driven.do(PlayMove(0, ply, move), 100 * ply + 100)
    home = driven.position(0).home
    driven.do(LoseConnection(0), 1000)
    driven.advance(6000)
    assert driven.record is not None
    (seat,) = driven.record.seats
    assert (seat.state, seat.home, seat.ended_at_ms) == ("stopped", home, 6000)
    audit(driven.record)


def test_coming_back_in_the_millisecond_in_which_the_grace_ends_is_too_late() -> None:
    driven = started(options(grace_s=5, seats=3))
    driven.do(LoseConnection(0), 1000)
    driven.do(RegainConnection(0), 6000)
    assert driven.states() == ["forfeited", "racing", "racing"]


def test_a_seat_whose_player_is_away_while_the_race_waits_is_freed_by_the_grace() -> None:
    driven = seated(options(grace_s=5))
    driven.do(GetReady(0, nonce(0)), -9000)
    assert driven.do(LoseConnection(0), -9000) == (ConnectionChanged(0, connected=False, away_until=START - 4000),)
    assert driven.advance(-4001) == ()
    assert driven.advance(-4000) == (SeatFreed(0),)
    driven.do(GetReady(1, nonce(1)), -3500)
    assert driven.phase() == "waiting"
    assert driven.code(RegainConnection(0), -3400) is ErrorCode.NOT_YOUR_SEAT
    driven.do(TakeSeat("c", "Cat"), -3300)
    assert driven.seat(0).connected
    assert driven.race.next_deadline() is None


def test_two_absent_players_lose_their_seats_in_the_order_in_which_they_went() -> None:
    driven = seated(options(grace_s=5))
    driven.do(LoseConnection(1), -9000)
    driven.do(LoseConnection(0), -8999)
    assert driven.advance(0) == (SeatFreed(1), SeatFreed(0))


def test_a_player_who_is_ready_and_away_is_dealt_to_all_the_same() -> None:
    driven = seated(options(grace_s=60))
    driven.do(GetReady(0, nonce(0)), -9000)
    driven.do(LoseConnection(0), -8000)
    driven.do(GetReady(1, nonce(1)), -3000)
    events = driven.advance(0)
    assert [event.seat for event in events if isinstance(event, SeatDealt)] == [0, 1]
    driven.do(RegainConnection(0), 1000)
    assert driven.states() == ["racing", "racing"]


def test_a_grace_that_ends_in_the_countdown_is_a_forfeit_before_the_start() -> None:
    driven = counting_down(options(seats=3, countdown_s=10, grace_s=5))
    driven.do(LoseConnection(0), -9000)
    assert driven.advance(-4000) == (SeatEnded(0, "forfeited", 0, 0, None),)
    driven.advance(0)
    assert driven.states() == ["forfeited", "racing", "racing"]
    assert driven.finish().seats[0].ended_at_ms == 0


def test_whoever_is_to_race_alone_forfeits_too_if_their_grace_ends_before_the_start() -> None:
    driven = counting_down(options(seats=1, countdown_s=10, grace_s=5))
    driven.do(LoseConnection(0), -9000)
    assert driven.advance(-4000) == (SeatEnded(0, "forfeited", 0, 0, None),)
    driven.advance(0)
    assert [seat.state for seat in driven.record.seats] == ["forfeited"]


def test_a_grace_that_ends_with_the_countdown_is_a_forfeit_just_after_the_start() -> None:
    driven = counting_down(options(grace_s=5, countdown_s=5, seats=3))
    driven.do(LoseConnection(0), -5000)
    events = driven.advance(0)
    assert [type(event) for event in events] == [SeatDealt, SeatDealt, SeatDealt, RaceStarted, SeatEnded]
    assert events[-1] == SeatEnded(0, "forfeited", 0, 0, driven.position(0))


def test_while_all_are_away_their_graces_are_longer_and_if_they_end_at_once_all_forfeit() -> None:
    driven = started(options(grace_s=5, seats=3))
    for seat in range(3):
        driven.do(LoseConnection(seat), 1000)
    until = START + 1000 + ALL_AWAY * 5000
    assert driven.advance(6000) == tuple(ConnectionChanged(seat, connected=False, away_until=until) for seat in range(3))
    driven.advance(1000 + ALL_AWAY * 5000 - 1)
    assert driven.states() == ["racing"] * 3
    driven.advance(1000 + ALL_AWAY * 5000)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 1)] * 3
    assert driven.race.next_deadline() is None


def test_whoever_comes_back_prolongs_no_other_absence_if_somebody_was_here_or_the_race_still_waits() -> None:
    driven = started(options(grace_s=5, seats=3))
    for seat in (0, 1):
        driven.do(LoseConnection(seat), 1000)
    assert driven.do(RegainConnection(0), 5000) == (ConnectionChanged(0, connected=True, away_until=None),)
    assert driven.advance(6000) == (SeatEnded(1, "forfeited", 0, 6000, driven.position(1)),)

    driven = seated(options(grace_s=5))
    for seat in (0, 1):
        driven.do(LoseConnection(seat), -9000)
    assert driven.do(RegainConnection(0), -5000) == (ConnectionChanged(0, connected=True, away_until=None),)
    assert driven.advance(-4000) == (SeatFreed(1),)


def test_whoever_goes_and_comes_back_in_one_millisecond_prolongs_no_other_absence_in_whatever_order_it_is_heard() -> None:
    gone, back = (LoseConnection(0), LoseConnection(2)), RegainConnection(2)
    for order in ((*gone, back), (*gone[::-1], back), (gone[1], back, gone[0])):
        driven = started(options(grace_s=5, seats=3))
        driven.do(LoseConnection(1), 1000)
        for command in order:
            driven.do(command, 5000)
        assert [seat.away_until for seat in driven.race.seats] == [START + 10_000, START + 6000, None]


def test_of_two_who_are_away_the_first_to_be_missed_too_long_loses() -> None:
    driven = started(options(grace_s=5))
    driven.do(LoseConnection(1), 1000)
    driven.do(LoseConnection(0), 1001)
    driven.advance(60_000)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("stopped", 1), ("forfeited", 2)]


def test_once_one_of_all_who_were_away_is_back_the_others_have_one_grace_more() -> None:
    driven = started(options(grace_s=5))
    driven.do(LoseConnection(0), 1000)
    driven.do(LoseConnection(1), 2000)
    # The first has had all of the usual grace by then, the second has some of it left.
    assert driven.do(RegainConnection(1), 6500) == (
        ConnectionChanged(1, connected=True, away_until=None),
        ConnectionChanged(0, connected=False, away_until=START + 11_500),
    )
    assert driven.do(LoseConnection(1), 11_000) == (ConnectionChanged(1, connected=False, away_until=START + 16_000),)
    driven.advance(11_500)
    assert driven.states() == ["racing", "racing"], "both are away again"
    assert driven.do(RegainConnection(0), 20_000) == (
        ConnectionChanged(0, connected=True, away_until=None),
        ConnectionChanged(1, connected=False, away_until=START + 25_000),
    )
    driven.advance(25_000)
    assert driven.states()[1] == "forfeited"
    assert [seat.place for seat in driven.finish().seats] == [1, 2]


def test_whoever_is_back_first_of_all_who_were_away_does_not_win_by_that_even_if_no_grace_was_over() -> None:
    driven = started(options(grace_s=5))
    for seat in range(2):
        driven.do(LoseConnection(seat), 1000)
    assert driven.do(RegainConnection(0), 5900) == (
        ConnectionChanged(0, connected=True, away_until=None),
        ConnectionChanged(1, connected=False, away_until=START + 10_900),
    )
    driven.do(RegainConnection(1), 8000)
    assert driven.states() == ["racing", "racing"]


def test_however_often_the_line_of_the_other_is_lost_an_absence_is_five_graces_at_most() -> None:
    driven = started(options(grace_s=5))
    driven.do(LoseConnection(0), 1000)
    for at in range(2000, 1000 + ALL_AWAY * 5000, 2000):
        driven.do(LoseConnection(1), at)
        driven.do(RegainConnection(1), at + 1000)
    assert driven.seat(0).away_until == START + 1000 + ALL_AWAY * 5000
    driven.advance(1000 + ALL_AWAY * 5000)
    assert driven.states()[0] == "forfeited"


def test_somebody_who_has_ended_and_looks_on_is_kept_waiting_and_a_bot_is_not() -> None:
    driven = started(options(grace_s=5, seats=3))
    driven.race.seats[2].bot = "greedy"
    driven.do(StopSeat(0), 1000)
    driven.do(LoseConnection(1), 1000)
    driven.advance(6000)
    assert driven.states()[1] == "forfeited"

    driven = started(options(grace_s=5, seats=3))
    driven.race.seats[2].bot = "greedy"
    for seat in range(2):
        driven.do(LoseConnection(seat), 1000)
    driven.advance(6000)
    assert driven.states() == ["racing"] * 3


def test_whoever_has_ended_may_go_without_a_grace() -> None:
    driven = started()
    driven.do(StopSeat(0), 1000)
    assert driven.do(LoseConnection(0), 2000) == (ConnectionChanged(0, connected=False, away_until=None),)
    driven.advance(500_000)
    assert driven.states() == ["stopped", "racing"]


def test_a_seat_that_ends_while_its_player_is_away_has_no_grace_left() -> None:
    driven = started(options(seats=3))
    driven.do(LoseConnection(0), 1000)
    driven.do(LoseConnection(1), 1000)
    # A move that was on its way when the line was lost.
    (event,) = driven.play(0, LINE, 1001)
    assert isinstance(event, MovePlayed)
    driven.do(LeaveSeat(1), 1002)
    assert [seat.away_until for seat in driven.race.seats] == [None, None, None]


def test_connections_change_after_the_end_without_any_consequence() -> None:
    driven = started()
    record = driven.finish()
    assert driven.do(LoseConnection(0), 700_000) == (ConnectionChanged(0, connected=False, away_until=None),)
    assert driven.race.next_deadline() is None
    assert driven.do(RegainConnection(0), 800_000) == (ConnectionChanged(0, connected=True, away_until=None),)
    assert driven.race.record is record


def test_an_absence_is_over_with_the_race() -> None:
    driven = started(options(seats=3))
    driven.do(LoseConnection(0), 1000)
    driven.do(StopSeat(0), 1500)
    driven.do(LoseConnection(1), 2000)
    driven.play(2, LINE, 3000)
    driven.advance(3167)
    assert driven.phase() == "over"
    assert [seat.away_until for seat in driven.race.seats] == [None, None, None]


def test_once_a_race_of_a_series_has_begun_its_own_grace_counts_for_whoever_is_away_since_before() -> None:
    series = SeriesOptions(format="best-of", races=3, grace_s=60)
    driven = Driven(options(grace_s=5, countdown_s=3, series=series), place=SeriesPlace(id="first", number=2))
    for seat in (0, 1):
        driven.do(TakeSeat(f"player-{seat}", f"Player {seat}"), -20_000)
    driven.do(GetReady(1, nonce(1)), -10_000)
    driven.do(LoseConnection(1), -9_000)
    assert driven.race.seats[1].away_until == START + 51_000
    driven.do(GetReady(0, nonce(0)), -3_000)
    assert driven.race.seats[1].away_until == START + 2_000
    driven.advance(2_000)
    assert driven.race.seats[1].state == "forfeited"
