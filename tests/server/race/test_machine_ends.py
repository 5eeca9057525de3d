"""Every way a seat can end, and when that ends the race."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import pytest

from protocol.errors import ErrorCode
from protocol.record import BadRecord, sealed
from server.race.audit import audit
from server.race.commands import LeaveSeat, LoseConnection, PlayMove, ResignSeat, StopSeat
from server.race.events import MovePlayed, RaceEnded, SeatEnded
from server.rules import catalogue
from server.rules.carpet import CarpetPosition, CarpetRules
from server.rules.catalogue import rule_set
from server.rules.position import RuleSet
from tests.server.race.racing import STALLING, WINNABLE, Driven, counting_down, greedy_line, options, started
from tests.server.rules.changed import replace

LINE = greedy_line(WINNABLE)


def test_the_first_to_bring_every_card_home_wins_and_ends_the_race() -> None:
    driven = started()
    driven.play(1, LINE[:20], 1000)
    (event,) = driven.play(0, LINE, 5000)
    assert isinstance(event, MovePlayed)
    assert (event.state, event.at_ms) == ("won", 5000)
    driven.advance(5166)
    assert driven.phase() == "racing"
    assert [type(event) for event in driven.advance(5167)] == [SeatEnded, RaceEnded]
    record = driven.record
    assert [(seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in record.seats] == [
        ("won", 1, 52, 5000),
        ("stopped", 2, 24, 5000),
    ]
    assert record.ended_at_ms == 5000


def test_a_race_of_one_is_over_with_its_win() -> None:
    driven = started(options(seats=1))
    driven.play(0, LINE, 5000)
    assert driven.record.seats[0].place == 1


def test_a_seat_without_a_legal_move_is_stalled_and_the_others_go_on() -> None:
    driven = started(options(deal=STALLING))
    (event,) = driven.play(0, greedy_line(STALLING), 5000)
    assert isinstance(event, MovePlayed)
    assert event.state == "stalled"
    assert driven.phase() == "racing"
    assert driven.code(StopSeat(0), 5001) is ErrorCode.SEAT_ENDED
    driven.play(1, greedy_line(STALLING), 6000)
    record = driven.record
    assert [(seat.state, seat.place, seat.home) for seat in record.seats] == [("stalled", 1, 13), ("stalled", 2, 13)]


def test_a_seat_that_stops_keeps_its_cards_home() -> None:
    driven = started()
    driven.play(0, LINE[:10], 1000)
    driven.do(ResignSeat(1), 1500)
    record = driven.finish()
    assert [(seat.state, seat.place, seat.home) for seat in record.seats] == [("stopped", 1, 14), ("forfeited", 2, 4)]


def test_stopping_counts_when_it_arrives() -> None:
    driven = started(round_trips=(300, 0))
    (event,) = driven.do(StopSeat(0), 1000)
    assert event == SeatEnded(0, "stopped", 0, 1000, driven.position(0))


@pytest.mark.parametrize("command", [ResignSeat(0), LeaveSeat(0)], ids=["resigning", "leaving"])
def test_a_forfeited_seat_stands_behind_one_with_fewer_cards_home(command: ResignSeat | LeaveSeat) -> None:
    driven = started()
    driven.play(0, LINE[:30], 1000)
    (event,) = driven.do(command, 2000)
    assert event == SeatEnded(0, "forfeited", 30, 2000, driven.position(0))
    record = driven.finish()
    assert [(seat.state, seat.place, seat.home, seat.ended_at_ms) for seat in record.seats] == [
        ("forfeited", 2, 34, 2000),
        ("stopped", 1, 4, 2000),
    ]


def test_being_away_longer_than_the_grace_is_a_forfeit() -> None:
    driven = started(options(grace_s=5))
    driven.do(LoseConnection(0), 1000)
    assert driven.advance(5999) == ()
    assert driven.advance(6000) == (SeatEnded(0, "forfeited", 0, 6000, driven.position(0)),)
    assert driven.finish().ended_at_ms == 6000


def test_the_time_limit_ends_every_seat_that_still_races() -> None:
    driven = started(options(time_limit_s=10, seats=3))
    driven.play(0, LINE[:5], 1000)
    driven.do(StopSeat(1), 2000)
    driven.advance(10_166)
    assert driven.phase() == "racing"
    driven.advance(10_167)
    assert [(seat.state, seat.ended_at_ms, seat.place) for seat in driven.record.seats] == [
        ("out-of-time", 10_000, 1),
        ("stopped", 2000, 2),
        ("out-of-time", 10_000, 2),
    ]


def test_the_race_ends_with_its_last_seat() -> None:
    driven = started(options(seats=3))
    driven.do(StopSeat(0), 1000)
    driven.do(StopSeat(2), 2000)
    assert driven.phase() == "racing"
    events = driven.do(StopSeat(1), 3000)
    assert [type(event) for event in events] == [SeatEnded, RaceEnded]
    assert driven.race.next_deadline() is None


def test_forfeits_that_leave_one_seat_end_the_race_whatever_that_seat_has() -> None:
    driven = started(options(seats=3))
    driven.play(0, LINE[:20], 1000)
    driven.do(ResignSeat(0), 2000)
    assert driven.phase() == "racing"
    driven.do(ResignSeat(1), 3000)
    driven.advance(3167)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 2), ("forfeited", 3), ("stopped", 1)]


def test_a_seat_that_ended_otherwise_counts_among_those_that_are_left() -> None:
    driven = started(options(seats=3))
    driven.do(StopSeat(0), 1000)
    driven.do(ResignSeat(1), 2000)
    driven.advance(60_000)
    assert driven.phase() == "racing"
    driven.do(PlayMove(2, 0, LINE[0]), 60_000)
    driven.do(ResignSeat(2), 61_000)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("stopped", 1), ("forfeited", 3), ("forfeited", 2)]


@pytest.mark.parametrize("going", [ResignSeat, LeaveSeat], ids=["resigning", "leaving"])
@pytest.mark.parametrize("seats", [2, 3])
def test_whoever_is_left_alone_before_the_start_has_won_even_if_they_go_too(seats: int, going: type[ResignSeat | LeaveSeat]) -> None:
    driven = counting_down(options(seats=seats))
    for seat in range(seats):
        driven.do(going(seat), seat - 1000)
    driven.advance(0)
    audit(driven.record)
    states = [(seat.state, seat.place) for seat in driven.record.seats]
    assert states == [("forfeited", 2)] * (seats - 1) + [("stopped", 1)]


def test_whoever_is_left_alone_before_the_start_has_won_even_if_their_connection_is_lost() -> None:
    driven = counting_down(options(grace_s=5, countdown_s=10))
    driven.do(ResignSeat(0), -9000)
    driven.do(LoseConnection(1), -8000)
    driven.advance(0)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 2), ("stopped", 1)]


def test_where_nobody_was_ever_alone_before_the_start_nobody_has_won() -> None:
    driven = counting_down(options(grace_s=1, countdown_s=10))
    for seat in range(2):
        driven.do(LoseConnection(seat), -8000)
    driven.advance(0)
    audit(driven.record)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 1), ("forfeited", 1)]


def test_a_race_of_one_that_is_resigned_is_over() -> None:
    driven = started(options(seats=1))
    driven.do(ResignSeat(0), 1000)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 1)]


def test_leaving_after_the_end_of_the_own_part_forfeits_nothing() -> None:
    driven = started()
    driven.do(StopSeat(0), 1000)
    assert driven.do(LeaveSeat(0), 2000) == ()
    assert driven.states() == ["stopped", "racing"]


def test_nobody_ends_twice_and_nothing_ends_after_the_race() -> None:
    driven = started()
    driven.do(StopSeat(0), 1000)
    for command in (StopSeat(0), ResignSeat(0)):
        assert driven.code(command, 1001) is ErrorCode.SEAT_ENDED
    driven.finish()
    for command in (StopSeat(0), ResignSeat(1)):
        assert driven.code(command, 700_000) is ErrorCode.RACE_OVER


# ---- rule sets that the catalogue may come to have


class DeadDeal(CarpetRules):
    """Deals a position in which nothing can be done."""

    def lay_out(self, deck: tuple[int, ...], seed: bytes) -> CarpetPosition:
        first = super().lay_out(deck, seed)
        return replace(first, carpet=(-1,) * 20, stock=())


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, RuleSet]:
    carpet = rule_set("carpet")
    assert isinstance(carpet, CarpetRules)
    columns = {"name": "", "explanation": "", "source": "", "difficulty": carpet.difficulty, "aces": carpet.aces}
    dead = DeadDeal(id="dead", refill=carpet.refill, turning=carpet.turning, **columns)  # type: ignore[arg-type]
    rows = MappingProxyType({**catalogue.RULE_SETS, "short": replace(carpet, id="short", move_limit=5), "dead": dead})
    monkeypatch.setattr(catalogue, "RULE_SETS", rows)
    return rows


@pytest.mark.usefixtures("rules")
def test_a_seat_is_stopped_at_the_move_limit_of_its_rules() -> None:
    driven = started(options(rules="short"))
    driven.play(0, LINE[:4], 1000)
    assert driven.states() == ["racing", "racing"]
    driven.play(0, LINE[4:5], 2000)
    assert driven.states() == ["stopped", "racing"]
    assert driven.code(PlayMove(0, 5, LINE[5]), 2001) is ErrorCode.SEAT_ENDED
    record = driven.finish()
    audit(record)
    forged = msgspec.structs.replace(record.seats[0], state="forfeited", place=2)
    other = msgspec.structs.replace(record.seats[1], place=1)
    with pytest.raises(BadRecord, match="seat 1: stopped after 5 moves, not forfeited"):
        audit(sealed(msgspec.structs.replace(record, seats=(forged, other))))


@pytest.mark.usefixtures("rules")
def test_a_deal_without_a_legal_move_is_stalled_at_the_start() -> None:
    driven = started(options(rules="dead", seats=3))
    assert [(seat.state, seat.ended_at_ms, seat.place) for seat in driven.record.seats] == [("stalled", 0, 1)] * 3
    audit(driven.record)


@pytest.mark.usefixtures("rules")
def test_whoever_left_before_a_deal_without_a_legal_move_has_forfeited_all_the_same() -> None:
    driven: Driven = counting_down(options(rules="dead"))
    driven.do(LeaveSeat(0), -1)
    driven.advance(0)
    assert [(seat.state, seat.place) for seat in driven.record.seats] == [("forfeited", 2), ("stalled", 1)]
    audit(driven.record)
