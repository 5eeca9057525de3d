"""From the last seat to the start: readiness and nonces, the deal and its proof, the countdown and the staggered first views."""

from hashlib import sha256

import pytest

from protocol.errors import ErrorCode
from protocol.fairness import derive_seed, named_seed
from server.race.commands import GetReady, LeaveSeat, MeasureConnection, PlayMove, ResignSeat, StopSeat
from server.race.events import RaceStarted, SeatDealt, SeatEnded, SeatReady, StartSet
from server.rules.catalogue import rule_set
from tests.server.race.racing import SECRET, START, counting_down, nonce, options, seated, started


def test_the_start_is_set_when_the_last_seat_is_ready() -> None:
    driven = seated()
    assert driven.do(GetReady(1, nonce(1)), -6000) == (SeatReady(1),)
    assert driven.phase() == "waiting"
    assert driven.do(GetReady(0, nonce(0)), -3000) == (SeatReady(0), StartSet(START, (0, 0)))
    assert driven.phase() == "countdown"


def test_a_second_nonce_is_ignored() -> None:
    driven = seated(options(deal=None))
    driven.do(GetReady(0, nonce(0)), -6000)
    assert driven.do(GetReady(0, nonce(7)), -5000) == ()
    driven.do(GetReady(1, nonce(1)), -3000)
    assert driven.code(GetReady(1, nonce(7)), -2000) is ErrorCode.NOT_WAITING
    assert driven.finish().deal.nonces == (nonce(0).hex(), nonce(1).hex())


def test_the_seed_follows_from_the_committed_secret_and_the_nonces_in_seat_order() -> None:
    driven = seated(options(deal=None, seats=3))
    assert driven.race.commitment == sha256(SECRET).digest()
    for seat in (2, 0, 1):
        driven.do(GetReady(seat, nonce(seat)), -3000)
    driven.advance(0)
    seed = sha256(SECRET + nonce(0) + nonce(1) + nonce(2) + bytes(4)).digest()
    assert seed == derive_seed(SECRET, [nonce(0), nonce(1), nonce(2)], 0)
    assert driven.position(0) == rule_set("carpet").deal(seed)
    deal = driven.finish().deal
    assert (deal.name, deal.k, deal.seed, deal.secret) == (None, 0, seed.hex(), SECRET.hex())


def test_one_other_nonce_makes_another_deal() -> None:
    positions = []
    for last in (1, 2):
        driven = seated(options(deal=None))
        driven.do(GetReady(0, nonce(0)), -3000)
        driven.do(GetReady(1, nonce(last)), -3000)
        positions.append(driven.position(0))
    assert positions[0] != positions[1]


def test_a_named_deal_is_the_same_whatever_the_nonces_are() -> None:
    driven = started(options(deal="our café"))
    assert driven.position(0) == rule_set("carpet").deal(named_seed("our café"))
    deal = driven.finish().deal
    assert (deal.name, deal.seed) == ("our café", named_seed("our café").hex())


@pytest.mark.parametrize("countdown_s", [1, 3, 10])
def test_the_countdown_is_as_long_as_the_host_chose(countdown_s: int) -> None:
    driven = counting_down(options(countdown_s=countdown_s))
    assert driven.race.starts_at == START
    assert driven.advance(-1) == ()
    assert driven.phase() == "countdown"
    assert RaceStarted(driven.race.deal.firsts) in driven.advance(0)
    assert driven.phase() == "racing"


def test_each_first_view_goes_out_half_its_round_trip_early_and_at_most_150_ms() -> None:
    driven = counting_down(options(seats=5), round_trips=(0, 41, 120, 300, 5000))
    dealt: dict[int, list[int]] = {}
    while driven.phase() == "countdown":
        due = driven.race.next_deadline()
        assert due is not None
        for event in driven.advance(due - START):
            if isinstance(event, SeatDealt):
                dealt.setdefault(due - START, []).append(event.seat)
    assert dealt == {-150: [3, 4], -60: [2], -20: [1], 0: [0]}


def test_a_connection_that_was_never_measured_is_dealt_to_at_the_start() -> None:
    driven = counting_down()
    assert driven.advance(-1) == ()
    assert [type(event) for event in driven.advance(0)] == [SeatDealt, SeatDealt, RaceStarted]


def test_a_connection_measured_anew_in_the_countdown_does_not_move_its_first_view() -> None:
    driven = counting_down(round_trips=(100, 0))
    driven.do(MeasureConnection(0, 0), -2000)
    assert [event.seat for event in driven.advance(-50) if isinstance(event, SeatDealt)] == [0]


def test_nobody_is_ready_stops_or_plays_in_the_wrong_phase() -> None:
    driven = seated()
    for command in (StopSeat(0), ResignSeat(0), PlayMove(0, 0, "s")):
        assert driven.code(command, -5000) is ErrorCode.NOT_STARTED
    assert counting_down().code(PlayMove(0, 0, "s"), -1) is ErrorCode.NOT_STARTED
    assert started().code(GetReady(0, nonce(0)), 1) is ErrorCode.NOT_WAITING


def test_a_first_view_that_came_early_is_not_played_on_before_the_start() -> None:
    driven = counting_down(round_trips=(300, 0))
    driven.advance(-100)
    assert driven.states() == ["racing", "waiting"]
    assert driven.code(PlayMove(0, 0, "s"), -1) is ErrorCode.NOT_STARTED
    assert len(driven.do(PlayMove(0, 0, "s"), 0)) == 1


@pytest.mark.parametrize("command", [LeaveSeat(0), ResignSeat(0)], ids=["leaving", "resigning"])
def test_whoever_gives_up_in_the_countdown_has_forfeited_and_is_dealt_nothing(command: LeaveSeat | ResignSeat) -> None:
    driven = counting_down(options(seats=3))
    # Not even the counts of a position that nobody has seen yet.
    assert driven.do(command, -1000) == (SeatEnded(0, "forfeited", 0, 0, None),)
    assert driven.phase() == "countdown"
    assert [event.seat for event in driven.advance(0) if isinstance(event, SeatDealt)] == [1, 2]
    assert driven.states() == ["forfeited", "racing", "racing"]


def test_whoever_is_left_alone_by_forfeits_in_the_countdown_has_won_at_the_start() -> None:
    driven = counting_down()
    driven.do(LeaveSeat(1), -1000)
    driven.advance(166)
    assert driven.phase() == "racing"
    driven.advance(167)
    record = driven.record
    assert [(seat.state, seat.place, seat.ended_at_ms) for seat in record.seats] == [("stopped", 1, 0), ("forfeited", 2, 0)]
