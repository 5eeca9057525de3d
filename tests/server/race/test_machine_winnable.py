"""A race on a winnable deal: it waits for the deal's number, and everything follows from the command that brings it."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.fairness import derive_seed
from server.race.audit import audit
from server.race.commands import ChooseDeal, GetReady, LeaveSeat, LoseConnection, StopSeat, TakeSeat
from server.race.events import SeatFreed, SeatReady, StartSet
from server.race.race_deal import DealWanted
from server.rules.catalogue import rule_set
from tests.server.race.racing import SECRET, START, Driven, nonce, options, replayed, seated

CHOSEN = options(deal=None, winnable=True, rules="carpet-whist")


def all_ready() -> Driven:
    driven = seated(CHOSEN)
    for seat in (0, 1):
        driven.do(GetReady(seat, nonce(seat)), -9000 + seat)
    return driven


def test_when_all_are_ready_a_deal_is_wanted_and_nothing_starts() -> None:
    driven = seated(CHOSEN)
    driven.do(GetReady(0, nonce(0)), -9000)
    assert driven.race.deal_wanted is None
    assert driven.do(GetReady(1, nonce(1)), -8000) == (SeatReady(1),)
    assert driven.phase() == "waiting"
    assert driven.race.next_deadline() is None
    assert driven.race.deal_wanted == DealWanted("carpet-whist", SECRET, (nonce(0), nonce(1)))


def test_the_secret_is_not_in_what_a_log_would_show() -> None:
    wanted = all_ready().race.deal_wanted
    assert wanted is not None
    assert str(SECRET) not in repr(wanted)


def test_the_number_sets_the_countdown_and_the_deal() -> None:
    driven = all_ready()
    assert driven.do(ChooseDeal(7), -3000) == (StartSet(START, (0, 0)),)
    assert driven.race.deal_wanted is None
    driven.advance(0)
    seed = derive_seed(SECRET, [nonce(0), nonce(1)], 7)
    assert driven.position(0) == rule_set("carpet-whist").deal(seed)
    record = driven.finish()
    assert (record.deal.winnable, record.deal.k, record.deal.seed) == (True, 7, seed.hex())
    audit(record)


def test_a_number_that_was_not_asked_for_changes_nothing() -> None:
    for driven in (seated(CHOSEN), seated(options(deal=None))):
        assert driven.code(ChooseDeal(0), -9000) is ErrorCode.NOT_WAITING
    driven = all_ready()
    driven.do(ChooseDeal(1), -3000)
    assert driven.code(ChooseDeal(2), -2999) is ErrorCode.NOT_WAITING


def test_whoever_leaves_while_the_deal_is_looked_for_frees_their_seat_and_another_deal_is_wanted() -> None:
    driven = all_ready()
    before = driven.race.deal_wanted
    assert driven.do(LeaveSeat(1), -5000) == (SeatFreed(1),)
    assert driven.race.deal_wanted is None
    assert driven.code(ChooseDeal(0), -4900) is ErrorCode.NOT_WAITING
    driven.do(TakeSeat("another", "Another"), -4800)
    driven.do(GetReady(1, nonce(5)), -4700)
    assert driven.race.deal_wanted not in (None, before)


def test_whoever_is_away_too_long_while_the_deal_is_looked_for_loses_their_seat() -> None:
    driven = all_ready()
    driven.do(LoseConnection(0), -8000)
    assert driven.advance(driven.race.options.grace_s * 1000) == (SeatFreed(0),)
    assert driven.race.deal_wanted is None


def test_nobody_plays_or_stops_before_the_deal_is_found() -> None:
    assert all_ready().code(StopSeat(0), -5000) is ErrorCode.NOT_STARTED


def test_commands_and_times_give_the_race_again() -> None:
    driven = all_ready()
    driven.do(ChooseDeal(3), -3000)
    record = driven.finish()
    again = replayed(CHOSEN, driven.log)
    again.advance(START + CHOSEN.time_limit_s * 1000 + 167)
    assert again.record == record


@pytest.mark.parametrize("winnable", [False, True])
def test_without_a_search_the_number_is_0(winnable: bool) -> None:
    driven = seated(options(deal=None, winnable=winnable))
    for seat in (0, 1):
        driven.do(GetReady(seat, nonce(seat)), -3000)
    assert driven.phase() == ("waiting" if winnable else "countdown")
    if winnable:
        driven.do(ChooseDeal(0), -3000)
    assert driven.finish().deal.k == 0


def test_a_race_that_is_held_starts_once_all_are_ready_and_it_is_released_with_the_number_of_its_own_deal() -> None:
    driven = seated(options(deal=None))
    driven.race.held = True
    driven.do(GetReady(0, nonce(0)), -9000)
    assert driven.code(ChooseDeal(0), -8500) is ErrorCode.NOT_WAITING
    assert driven.do(GetReady(1, nonce(1)), -8000) == (SeatReady(1),)
    assert driven.race.is_held
    assert driven.race.deal_wanted is None
    assert driven.code(ChooseDeal(1), -7000) is ErrorCode.NOT_WAITING
    assert driven.do(ChooseDeal(0, wait_ms=2000), -5000) == (StartSet(START, (0, 0)),)
    assert driven.phase() == "countdown"
