"""The two races of a swap: each seat plays one shuffle and then the other's, and the records say so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from protocol.errors import Refusal
from protocol.fairness import derive_seed
from protocol.record import BadRecord, Record, SeriesRecord, check_deal, sealed, seed_of
from protocol.views import RaceOptions, SeriesOptions
from server.race.audit import audit
from server.race.commands import GetReady, LoseConnection, ResignSeat, TakeSeat
from server.race.events import SeatFreed
from server.race.machine import Race
from server.race.replay import frames
from server.race.shuffles import SeriesPlace
from server.race.view import see
from server.rules.catalogue import rule_set
from tests.server.race import racing
from tests.server.race.racing import SECRET, Driven, greedy, nonce, options, played_and_stopped, started
from tests.server.race.test_secrecy import random_command
from tests.server.race.watching import Watch

SWAP = options(deal=None, series=SeriesOptions(format="swap", races=2), time_limit_s=60)
NONCES = (nonce(0), nonce(1))
PLACE = SeriesPlace(id="ABCDEF-1-00", number=2, nonces=NONCES)


@cache
def played(number: int) -> Driven:
    """One of the two races: some moves of each seat, and both stop."""
    return played_and_stopped(started(SWAP, place=PLACE if number == 2 else None))


def test_each_seat_plays_what_the_other_has_played() -> None:
    deals = [[rule_set("carpet").deal(derive_seed(SECRET, NONCES, k)) for k in order] for order in ((0, 1), (1, 0))]
    for number, dealt in enumerate(deals, 1):
        record = played(number).record
        audit(record)
        check_deal(record.deal)
        assert record.series == SeriesRecord(id="ABCDEF-1-00", format="swap", races=2, race=number)
        assert record.deal.nonces == tuple(each.hex() for each in NONCES)
        assert [rule_set("carpet").deal(seed_of(record, seat)) for seat in (0, 1)] == dealt
        replay = frames(record)
        assert replay.firsts == tuple(see(position) for position in dealt)
    assert played(1).record.deal == played(2).record.deal
    assert played(1).race.sealed
    assert not played(2).race.sealed


def test_nonces_that_are_sent_to_the_second_race_change_nothing() -> None:
    race = Race(race_id="x", room="ABCDEF", number=2, options=SWAP, secret=SECRET, software="", place=PLACE)
    for seat in (0, 1):
        race.apply(TakeSeat(f"player-{seat}", "P"), 0)
        race.apply(GetReady(seat, bytes([9]) * 16), 0)
    assert [seat.position for seat in race.seats] == [rule_set("carpet").deal(derive_seed(SECRET, NONCES, k)) for k in (1, 0)]


def test_only_the_time_limit_ends_the_race_before_both_have_ended() -> None:
    driven = started(SWAP)
    driven.do(ResignSeat(0), 5000)
    driven.play(1, driven.position(1).legal_moves()[:1], 50_000)
    driven.finish()
    assert driven.states() == ["forfeited", "out-of-time"]
    assert driven.record.ended_at_ms == 60_000
    audit(driven.record)


def test_a_win_leaves_the_other_the_time_to_play_its_own_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    # `greedy` wins the first of its two shuffles.
    monkeypatch.setattr(racing, "SECRET", bytes(32))
    driven = started(SWAP)
    while driven.states()[0] == "racing":
        driven.play(0, [greedy(driven.position(0))], 1000)
    driven.play(1, driven.position(1).legal_moves()[:1], 50_000)
    driven.finish()
    assert driven.states() == ["won", "out-of-time"]
    assert driven.record.ended_at_ms == 60_000
    audit(driven.record)


def test_while_a_later_race_waits_a_seat_is_held_for_the_grace_of_the_series() -> None:
    chosen = options(grace_s=30, series=SeriesOptions(format="best-of", races=3, grace_s=200))
    for place, grace_s in ((None, 30), (SeriesPlace(id="ABCDEF-1-00", number=2), 200)):
        driven = Driven(chosen, place)
        driven.do(TakeSeat("player-0", "P"), 0)
        driven.do(LoseConnection(0), 0)
        assert driven.advance(grace_s * 1000 - 1) == ()
        assert driven.advance(grace_s * 1000) == (SeatFreed(0),)


def test_in_a_later_race_that_runs_it_is_the_races_own_grace() -> None:
    chosen = options(grace_s=30, series=SeriesOptions(format="best-of", races=3, grace_s=200))
    driven = started(chosen, place=SeriesPlace(id="ABCDEF-1-00", number=2))
    driven.do(LoseConnection(1), 1000)
    driven.finish()
    assert driven.states() == ["stopped", "forfeited"]
    assert driven.seat(1).ended_at == 31_000


def with_series(**changes: Any) -> Callable[[Record], Record]:
    def forge(record: Record) -> Record:
        assert record.series is not None
        return replace(record, series=replace(record.series, **changes))

    return forge


@pytest.mark.parametrize(
    ("forge", "sentence"),
    [
        (with_series(race=2), "not legal"),
        (with_series(format="best-of"), "not legal"),
        (with_series(races=1), "a swap is two races of two seats"),
        (with_series(race=3), "race 3 of a series of 2"),
        (with_series(format="single"), "a single race belongs to no series"),
        (lambda record: replace(record, series=None), "not legal"),
        (lambda record: replace(record, rated=True), "only a race in which all play the same shuffle is rated"),
        (lambda record: replace(record, deal=replace(record.deal, winnable=True)), "a swap is played on seeds number 0 and 1"),
    ],
)
def test_each_forgery_is_named(forge: Callable[[Record], Record], sentence: str) -> None:
    with pytest.raises(BadRecord, match=sentence):
        audit(sealed(forge(played(1).record)))


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_told_what_is_not_theirs_to_know_of_the_first_race(seed: int) -> None:
    random = Random(f"swap {seed}")
    driven = Driven(options(deal=None, series=SWAP.series, grace_s=20, time_limit_s=120))
    watch = Watch(driven)
    at = -20_000
    while driven.race.phase != "over":
        at += random.choice([0, 40, 150, 900, 2500])
        watch.check(driven.advance(at), at)
        with suppress(Refusal):
            watch.check(driven.do(random_command(driven, random), at), at)
    assert driven.race.record is not None
    watch.check((), at)


def test_a_swap_never_counts_for_ratings() -> None:
    assert RaceOptions().counts
    assert RaceOptions(series=SeriesOptions(format="best-of", races=3)).counts
    assert not RaceOptions(series=SeriesOptions(format="swap", races=2)).counts
