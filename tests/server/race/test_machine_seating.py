"""Who sits where: taking a seat, leaving it, and races of every size."""

import pytest

from protocol.errors import ErrorCode
from server.race.audit import audit
from server.race.commands import (
    Command,
    GetReady,
    LeaveSeat,
    LoseConnection,
    MeasureConnection,
    PlayMove,
    RegainConnection,
    ResignSeat,
    StopSeat,
    TakeSeat,
)
from server.race.events import SeatFreed, SeatTaken
from server.rules.catalogue import UnknownRules
from tests.server.race.racing import Driven, counting_down, greedy_line, new_race, nonce, options, seated, started


def test_players_take_the_first_free_seat() -> None:
    driven = Driven(options(seats=3))
    assert driven.do(TakeSeat("a", "Ann"), -9000) == (SeatTaken(0, "Ann", None),)
    assert driven.do(TakeSeat("b", "Bob"), -9000) == (SeatTaken(1, "Bob", None),)
    driven.do(LeaveSeat(0), -8000)
    assert driven.do(TakeSeat("c", "Cat"), -7000) == (SeatTaken(0, "Cat", None),)
    found = driven.race.seat_of("c")
    assert found is not None
    assert found.number == 0
    assert driven.race.seat_of("a") is None


def test_a_bot_takes_the_seat_it_is_given_and_players_fill_the_others() -> None:
    driven = Driven(options(seats=3))
    assert driven.do(TakeSeat("bot:2", "Hasty", "hasty", 2), -9000) == (SeatTaken(2, "Hasty", "hasty"),)
    assert driven.code(TakeSeat("bot:9", "Hasty", "hasty", 2), -9000) is ErrorCode.ROOM_FULL
    assert driven.code(TakeSeat("bot:9", "Hasty", "hasty", 3), -9000) is ErrorCode.ROOM_FULL
    for player in "ab":
        driven.do(TakeSeat(player, player), -8000)
    assert [seat.player for seat in driven.race.seats] == ["a", "b", "bot:2"]


def test_nobody_finds_a_seat_in_a_race_that_is_full_or_has_begun() -> None:
    assert seated().code(TakeSeat("late", "Late"), -5000) is ErrorCode.ROOM_FULL
    assert counting_down().code(TakeSeat("late", "Late"), -1) is ErrorCode.ROOM_FULL
    assert started().code(TakeSeat("late", "Late"), 1) is ErrorCode.ROOM_FULL


def test_nobody_finds_a_seat_in_a_race_that_is_over() -> None:
    driven = started()
    driven.finish()
    driven.do(LeaveSeat(0), 700_000)
    assert driven.code(TakeSeat("late", "Late"), 700_001) is ErrorCode.RACE_OVER


def test_leaving_before_the_start_frees_the_seat_with_all_that_its_player_had_said() -> None:
    driven = seated(round_trips=(80, 80))
    driven.do(GetReady(0, nonce(0)), -9000)
    driven.do(LoseConnection(0), -8000)
    assert driven.do(LeaveSeat(0), -7000) == (SeatFreed(0),)
    seat = driven.seat(0)
    assert (seat.player, seat.name, seat.nonce, seat.round_trip_ms, seat.connected, seat.away_until) == (None, "", None, None, True, None)
    assert driven.race.next_deadline() is None


def test_a_freed_seat_keeps_the_race_from_starting_until_its_next_player_is_ready() -> None:
    driven = seated()
    driven.do(GetReady(0, nonce(0)), -9000)
    driven.do(LeaveSeat(0), -8000)
    driven.do(GetReady(1, nonce(1)), -7000)
    driven.do(TakeSeat("c", "Cat"), -6000)
    assert driven.phase() == "waiting"
    driven.do(GetReady(0, nonce(5)), -3000)
    assert driven.phase() == "countdown"
    driven.advance(0)
    assert driven.finish().deal.nonces == (nonce(5).hex(), nonce(1).hex())


def test_leaving_after_the_end_leaves_the_record_as_it_was() -> None:
    driven = started()
    record = driven.finish()
    assert driven.do(LeaveSeat(0), 700_000) == (SeatFreed(0),)
    assert driven.race.seat_of("player-0") is None
    assert driven.race.record is record
    assert driven.code(LeaveSeat(0), 700_001) is ErrorCode.NOT_YOUR_SEAT


@pytest.mark.parametrize(
    "command",
    [
        LeaveSeat(1),
        MeasureConnection(1, 30),
        GetReady(1, nonce(1)),
        PlayMove(1, 0, "s"),
        StopSeat(1),
        ResignSeat(1),
        LoseConnection(1),
        RegainConnection(1),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_seat_that_nobody_holds_does_nothing(command: Command) -> None:
    driven = Driven()
    driven.do(TakeSeat("a", "Ann"), -9000)
    driven.do(GetReady(0, nonce(0)), -9000)
    assert driven.code(command, -8000) is ErrorCode.NOT_YOUR_SEAT
    assert driven.phase() == "waiting"


def test_a_race_needs_rules_of_the_catalogue() -> None:
    with pytest.raises(UnknownRules):
        new_race(options(rules="no-such-rules"))


@pytest.mark.parametrize("seats", range(1, 9))
def test_one_to_eight_seats_race_on_the_same_deal(seats: int) -> None:
    driven = started(options(seats=seats))
    line = greedy_line("143")
    first = driven.position(0)
    assert all(driven.position(seat) == first for seat in range(seats))
    for seat in range(seats):
        driven.play(seat, line[: 10 + seat], 1000 + seat)
    driven.play(seats - 1, line[9 + seats :], 2000)
    record = driven.finish()
    audit(record)
    assert [seat.state for seat in record.seats] == ["stopped"] * (seats - 1) + ["won"]
    # Fewer cards home, later place.
    assert [seat.place for seat in record.seats] == [*range(seats, 1, -1), 1]
