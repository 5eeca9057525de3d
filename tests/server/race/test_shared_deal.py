"""A race on a shuffle that other races share: how it is dealt, what its record says, and what nobody is told about it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from protocol.fairness import commitment, daily_nonce, derive_seed
from protocol.record import BadRecord, sealed
from protocol.room_events import Ended, Hidden, Progress, Result, Started
from protocol.views import Curve, SharedDeal
from server.race.audit import audit
from server.race.commands import StopSeat
from server.race.events import MovePlayed, RaceEnded
from server.race.replay import frames
from server.race.view import progress_curves, see, snapshot, tell
from server.rules.catalogue import rule_set
from tests.server.race.racing import SECRET, Driven, counting_down, options, played_and_stopped, started

NONCE = "7c" * 16
ROUND = SharedDeal(kind="round", id="spring-open/1", nonces=(NONCE,))


@cache
def raced(number: int = 1) -> Driven:
    """Two seats make moves and stop."""
    return played_and_stopped(started(options(deal=None, time_limit_s=60), shared=replace(ROUND, number=number)))


@pytest.mark.parametrize("number", [1, 2])
def test_it_is_dealt_by_the_nonces_that_were_settled_before_and_its_number(number: int) -> None:
    race = raced(number).race
    expected = see(rule_set("carpet").deal(derive_seed(SECRET, [bytes.fromhex(NONCE)], number - 1)))
    assert [see(first) for first in race.deal.firsts] == [expected] * 2
    record = raced(number).record
    audit(record)
    assert record.deal.shared == replace(ROUND, number=number)
    assert record.deal.commitment == commitment(SECRET).hex()
    assert len(set(record.deal.nonces)) == 2
    assert frames(record).first == expected


def test_a_day_gives_each_rule_set_a_shuffle_of_its_own() -> None:
    assert daily_nonce("2026-11-21", "carpet").hex() == "a4f51c640335ad4a3661f41d6a533575"
    assert len({daily_nonce(date, rules) for date in ("2026-11-21", "2026-11-22") for rules in ("carpet", "twenty")}) == 4


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("number", {"shared": replace(ROUND, number=2)}),
        ("only a table of a round races again", {"k": 1, "shared": replace(ROUND, kind="challenge", id="WUKMRT", number=2)}),
        ("seed does not follow", {"shared": replace(ROUND, nonces=("7d" * 16,))}),
        ("seed does not follow", {"shared": replace(ROUND, nonces=(NONCE, NONCE))}),
        ("has no name", {"name": "tuesday"}),
        ("winnable", {"winnable": True}),
        ("nonce is not that of", {"shared": replace(ROUND, kind="daily", id="2026-11-21")}),
    ],
)
def test_what_does_not_belong_together_is_found(what: str, changes: dict[str, Any]) -> None:
    record = raced().record
    with pytest.raises(BadRecord, match=what):
        audit(sealed(replace(record, deal=replace(record.deal, **changes))))


def test_nobody_is_told_by_which_cards_it_went_before_it_is_revealed() -> None:
    driven = raced(2)
    race = driven.race
    ended = next(event for event in driven.events if isinstance(event, RaceEnded))
    moved = next(event for event in driven.events if isinstance(event, MovePlayed) and event.seat == 0)
    assert race.sealed
    told = tell(ended, version=9, viewer=0, now=0, sealed=True)
    assert told == Ended(version=9, seats=driven.record.seats)
    progress = tell(moved, version=9, viewer=1, now=0, sealed=True)
    assert isinstance(progress, Progress)
    assert (progress.foundations, progress.home) == ({}, moved.position.home)
    for event in driven.events:
        # Not even at the start: in some rule sets the Aces that are met while dealing lie there.
        match tell(event, version=9, viewer=None, now=0, sealed=True):
            case Started(foundations=foundations):
                assert foundations == ({}, {})
            case Progress(foundations=foundations):
                assert foundations == {}
            case _:
                pass
    for viewer in (None, 0, 1):
        shown = snapshot(race, version=9, viewer=viewer, now=0, again=frozenset(), chat=())
        assert (shown.record, shown.ended, shown.shared) == (None, driven.record.seats, race.deal.shared)
        assert [bool(seat.foundations) for seat in shown.seats] == [viewer == 0, viewer == 1]


def test_who_comes_later_is_told_when_each_seat_brought_a_card_home_until_the_record_says_so() -> None:
    driven = raced()
    race = driven.race
    for curve, seat in zip(progress_curves(race), race.seats, strict=True):
        counts = [(0, 4), *((played.at_ms, played.home) for played in seat.played)]
        assert list(zip(curve.at_ms, curve.home, strict=True)) == [
            (at_ms, home) for (at_ms, home), (_, before) in zip(counts, [(0, 0), *counts], strict=False) if home > before
        ]
    racing = started(options())
    assert progress_curves(racing.race) == (Curve(at_ms=(0,), home=(4,)),) * 2
    assert progress_curves(counting_down(options()).race) == ()
    for number in (0, 1):
        racing.do(StopSeat(number), 1000)
    assert progress_curves(racing.race) == ()


def test_when_it_is_revealed_all_is_told() -> None:
    driven = started(options(deal=None, time_limit_s=60), shared=ROUND)
    for seat in (0, 1):
        driven.do(StopSeat(seat), 1000)
    driven.race.reveal()
    assert not driven.race.sealed
    told = tell(driven.events[-1], version=9, viewer=0, now=0, sealed=driven.race.sealed)
    assert told == Result(version=9, record=driven.record)
    shown = snapshot(driven.race, version=9, viewer=None, now=0, again=frozenset(), chat=())
    assert shown.record == driven.record
    assert not isinstance(told, Hidden)
