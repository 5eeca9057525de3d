"""The rate limiter's promises: never more than the limit, never less for a client that keeps to it, a warning before the end."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.net import limits
from server.net.limits import CODES_A_SECOND, CODES_AT_ONCE, TRIED_S, AddressRates, CodeGuesses, RateDecision, RateLimit, Seldom

RATES = st.floats(0.1, 1000)
BURSTS = st.integers(1, 100)


@given(rate=RATES, burst=BURSTS, pauses=st.lists(st.floats(0, 2), max_size=200), start=st.floats(0, 1e9))
def test_in_no_stretch_of_time_do_more_pass_than_the_burst_and_the_rate_allow(
    rate: float, burst: int, pauses: list[float], start: float
) -> None:
    limit = RateLimit(rate=rate, burst=burst)
    times = list(accumulate(pauses, initial=start))
    passed = [now for now in times if limit.judge(now) is RateDecision.PASS]
    for first, since in enumerate(passed):
        for count, until in enumerate(passed[first:], 1):
            assert count <= burst + (until - since) * rate + 1e-3 * rate + 1e-6


@given(rate=RATES, burst=BURSTS, asked=st.lists(st.tuples(st.floats(0, 2), st.integers(1, 30), st.floats(0, 40)), max_size=100))
def test_whatever_is_asked_for_is_paid_for(rate: float, burst: int, asked: list[tuple[float, int, float]]) -> None:
    """asked: for each request, the pause before it, its price, and the price of the answer."""
    limit = RateLimit(rate=rate, burst=burst)
    now = paid = 0.0
    for pause, price, sent in asked:
        now += pause
        if limit.judge(now, price) is RateDecision.PASS:
            paid += min(price, burst)
            assert paid <= burst + now * rate + 1e-6 * (1 + paid)
            limit.owe(now, min(sent, burst))
            # What was sent is owed, but no more than a bucket, and never forgotten while there is any.
            assert limit.tokens >= -burst


@given(rate=RATES, burst=BURSTS, pauses=st.lists(st.floats(0, 1), max_size=200))
def test_a_token_that_is_taken_while_nothing_was_too_fast_is_judged_the_same(rate: float, burst: int, pauses: list[float]) -> None:
    quick, judged = RateLimit(rate=rate, burst=burst), RateLimit(rate=rate, burst=burst)
    for now in accumulate(pauses):
        passes = (not quick.excess and quick.take(now)) or quick.judge(now) is RateDecision.PASS
        assert passes is (judged.judge(now) is RateDecision.PASS)
        assert (quick.excess, quick.tokens) == (judged.excess, judged.tokens)


def test_whoever_owes_waits_until_it_is_paid() -> None:
    limit = RateLimit(rate=10, burst=40)
    assert limit.judge(0, 20) is RateDecision.PASS
    limit.owe(0, 30)
    assert limit.judge(1, 1) is not RateDecision.PASS
    assert limit.judge(1.2, 1) is RateDecision.PASS


def test_what_is_owed_later_is_taken_from_what_has_come_in_since() -> None:
    limit = RateLimit(rate=10, burst=40)
    assert limit.judge(0, 40) is RateDecision.PASS
    limit.owe(2, 30)
    assert (limit.tokens, limit.judge(3, 1)) == (-10, RateDecision.TELL)
    limit.owe(9, 30)
    assert limit.tokens == 10


def test_a_peer_is_forgiven_once_half_the_burst_is_there_again() -> None:
    for since, told in ((2.5, RateDecision.DROP), (3, RateDecision.TELL)):
        limit = RateLimit(rate=1, burst=6)
        assert [limit.judge(0, 6), limit.judge(0)] == [RateDecision.PASS, RateDecision.TELL]
        assert [limit.judge(since, 2), limit.judge(since, 2)] == [RateDecision.PASS, told]


def test_of_too_many_addresses_the_one_unheard_of_for_longest_starts_afresh() -> None:
    rates = AddressRates(rate=0, burst=1, addresses=2)
    one, two, three = "192.0.2.1", "192.0.2.2", "192.0.2.3"
    assert [rates.allow(host, 0) for host in (one, two, one, three)] == [True, True, False, True]
    assert [rates.allow(host, 0) for host in (one, two)] == [False, True]
    assert [rates.allow("a socket of this machine", 0) for _ in range(2)] == [True, True]


def test_of_too_many_codes_the_oldest_costs_its_address_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRIED", 2)
    monkeypatch.setattr(limits, "CODES_AT_ONCE", 3)
    guesses = CodeGuesses()
    assert [guesses.allow("192.0.2.1", code, 0) for code in "ABCCBA"] == [True] * 5 + [False]


def test_a_price_beyond_the_burst_is_a_whole_burst() -> None:
    limit = RateLimit(rate=1, burst=3)
    assert [limit.judge(now, 20) for now in (0, 2, 3)] == [RateDecision.PASS, RateDecision.TELL, RateDecision.PASS]


@given(rate=RATES, burst=BURSTS, count=st.integers(0, 300))
def test_whoever_keeps_to_the_rate_is_never_refused(rate: float, burst: int, count: int) -> None:
    limit = RateLimit(rate=rate, burst=burst)
    assert all(limit.judge(1000 + number * 1.001 / rate) is RateDecision.PASS for number in range(count))


@given(rate=RATES, burst=BURSTS)
def test_a_flood_is_told_once_then_dropped_then_closed(rate: float, burst: int) -> None:
    limit = RateLimit(rate=rate, burst=burst)
    verdicts = [limit.judge(1.0) for _ in range(2 * burst + 1)]
    assert verdicts == [RateDecision.PASS] * burst + [RateDecision.TELL] + [RateDecision.DROP] * (burst - 1) + [RateDecision.CLOSE]


@given(rate=RATES, burst=BURSTS, floods=st.integers(2, 20))
def test_whoever_is_quiet_after_a_flood_is_forgiven_and_told_again_the_next_time(rate: float, burst: int, floods: int) -> None:
    limit = RateLimit(rate=rate, burst=burst)
    for number in range(floods):
        now = number * (burst + 1) / rate
        assert [limit.judge(now) for _ in range(burst + 1)] == [RateDecision.PASS] * burst + [RateDecision.TELL]


def test_whoever_goes_on_and_on_a_little_too_fast_is_closed_in_the_end() -> None:
    limit = RateLimit(rate=20, burst=40)
    verdicts = [limit.judge(number / 25) for number in range(3000)]
    assert verdicts.index(RateDecision.CLOSE) > 300


def test_what_happens_often_is_told_at_once_and_then_once_in_a_while_with_how_often() -> None:
    seldom = Seldom(60.0)
    assert [seldom.happened(now) for now in (5.0, 5.0, 64.9, 65.0, 65.1, 1000.0)] == [1, 0, 0, 3, 0, 2]


def test_each_address_guesses_for_itself_and_this_machine_as_much_as_it_likes() -> None:
    guesses = CodeGuesses()
    for host in ("192.0.2.1", "192.0.2.2"):
        assert [guesses.allow(host, f"G{number}", 0) for number in range(CODES_AT_ONCE + 1)] == [True] * CODES_AT_ONCE + [False]
    assert all(guesses.allow("127.0.0.1", f"G{number}", 0) for number in range(2 * CODES_AT_ONCE))


def test_a_code_that_is_tried_again_and_again_is_free_for_a_minute_and_no_longer() -> None:
    guesses = CodeGuesses()
    for number in range(CODES_AT_ONCE):
        guesses.allow("192.0.2.1", f"G{number}", 0)
    spent = int(TRIED_S * CODES_A_SECOND)
    tried = [guesses.allow("192.0.2.1", "G0", TRIED_S / 2), guesses.allow("192.0.2.1", "G0", TRIED_S)]
    assert tried == [True, True]
    # Each of these costs, G0 among them.
    later = [guesses.allow("192.0.2.1", f"G{number}", TRIED_S + 1) for number in range(CODES_AT_ONCE)]
    assert (later[0], later.count(True)) == (True, spent)
