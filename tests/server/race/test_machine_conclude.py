"""A race rebuilt from its record: it shows the same as the original."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as with_fields

from protocol.views import RaceOptions, SeriesOptions
from server.race.board_history import history_of
from server.race.commands import ChooseDeal, GetReady, LeaveSeat, ResignSeat, StopSeat
from server.race.machine import Race
from server.race.shuffles import SeriesPlace
from server.race.view import snapshot
from server.rules.position import IllegalMove
from tests.server.race.racing import Driven, new_race, nonce, options, seated, started

SWAP = RaceOptions(series=SeriesOptions(format="swap", races=2), time_limit_s=60)
SECOND = SeriesPlace(id="ABCDEF-1-00", number=2, nonces=(nonce(0), nonce(1)))
QUILT = options(seats=3, rules="crazy-quilt", deal=None)


def raced(chosen: RaceOptions, place: SeriesPlace | None = None) -> Driven:
    """Some moves of all seats; the first resigns, the last is out of time, or stopped by the close."""
    driven = started(chosen, round_trips=(0, 80), place=place)
    for at in range(1000, 6000, 500):
        for seat in range(chosen.seats):
            driven.play(seat, driven.position(seat).legal_moves()[:1], at + seat)
    driven.do(ResignSeat(0), 7000)
    if chosen.seats > 2:
        driven.do(StopSeat(1), 8000)
    driven.finish()
    return driven


def concluded(driven: Driven, place: SeriesPlace | None = None) -> Race:
    race = new_race(driven.race.options, place)
    race.conclude(driven.record, [seat.player for seat in driven.race.seats])
    return race


@pytest.mark.parametrize(("chosen", "place"), [(options(), None), (QUILT, None), (SWAP, None), (SWAP, SECOND)])
def test_it_shows_what_the_race_has_shown(chosen: RaceOptions, place: SeriesPlace | None) -> None:
    driven = raced(chosen, place)
    driven.race.reveal()
    race = concluded(driven, place)
    for viewer in (*range(chosen.seats), None):
        shown, was = (
            snapshot(each, version=1, viewer=viewer, now=driven.record.started_at_ms + 90_000, again=frozenset(), chat=())
            for each in (race, driven.race)
        )
        assert with_fields(shown, seats=()) == with_fields(was, seats=())
        # At the moment of the start the lines were what the record says, and people are away.
        assert [with_fields(seat, connected=True, round_trip_ms=0) for seat in shown.seats] == [
            with_fields(seat, connected=True, round_trip_ms=0) for seat in was.seats
        ]
        assert not any(seat.connected for seat in shown.seats)
        assert shown.record == driven.record
    assert history_of(race) == history_of(driven.race)
    assert race.next_deadline() is None
    assert race.apply(LeaveSeat(1), driven.record.started_at_ms + 99_000)
    assert race.seats[1].player is None


def test_a_race_on_a_winnable_deal_shows_that_deal() -> None:
    driven = seated(options(deal=None, winnable=True))
    for seat in (0, 1):
        driven.do(GetReady(seat, nonce(seat)), -9000)
    driven.do(ChooseDeal(7), -3000)
    driven.finish()
    assert [seat.position for seat in concluded(driven).seats] == [seat.position for seat in driven.race.seats]


def test_until_nobody_plays_its_shuffles_any_more_the_first_race_of_a_swap_is_sealed() -> None:
    driven = raced(SWAP)
    assert driven.race.sealed
    assert not concluded(driven).sealed


def test_of_a_seat_whose_player_is_gone_the_name_is_not_told() -> None:
    driven = raced(options())
    race = new_race(driven.race.options)
    race.conclude(driven.record, [None, "player-1"])
    shown = snapshot(race, version=1, viewer=1, now=driven.record.started_at_ms, again=frozenset(), chat=())
    assert [seat.name for seat in shown.seats] == [None, "Player 1"]


def test_a_record_of_another_race_is_refused() -> None:
    record = raced(options()).record
    with pytest.raises(ValueError, match="shorter"):
        new_race(options(seats=3)).conclude(record, ["a", "b", "c"])
    moved = with_fields(record, moves=(with_fields(record.moves[0], move="w:a1"),))
    with pytest.raises(IllegalMove):
        new_race(options()).conclude(moved, ["a", "b"])
