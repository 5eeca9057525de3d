"""What each kind of viewer is told of each kind of event, and what a snapshot shows."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cards import CARD_TEXT
from protocol.room_events import (
    Countdown,
    Dealt,
    Hidden,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    Result,
    RoomEvent,
    Seated,
    Started,
    Unseated,
)
from server.race.commands import LeaveSeat, LoseConnection, PlayMove, StopSeat
from server.race.events import (
    ConnectionChanged,
    MovePlayed,
    RaceEnded,
    RaceEvent,
    RaceStarted,
    SeatDealt,
    SeatEnded,
    SeatFreed,
    SeatReady,
    SeatTaken,
    StartSet,
)
from server.race.view import Viewer, current_view, see, snapshot, tell
from server.rules.carpet import Aces, CarpetPosition, CarpetRules
from server.rules.catalogue import rule_set
from tests.server.race.racing import START, WINNABLE, counting_down, greedy_line, options, seated, started
from tests.server.rules.changed import replace

LINE = greedy_line(WINNABLE)
VIEWERS: tuple[Viewer, ...] = (0, 1, None)


def test_a_view_shows_the_layout_the_turned_cards_and_the_size_of_the_stock() -> None:
    position = rule_set("carpet").deal(bytes(32)).play("s").play("s")
    view = see(position)
    assert view.piles == {slot: tuple(CARD_TEXT[card] for card in pile) for slot, pile in position.piles.items()}
    assert view.waste == tuple(CARD_TEXT[card] for card in position.waste)
    assert (view.stock, view.stock_next) == (26, ())
    assert view.foundations == {"S": 1, "H": 1, "D": 1, "C": 1}
    assert (view.home, view.pending, view.redeals) == (4, None, 0)
    assert view.moves == position.legal_moves()


def test_a_rule_set_that_shows_three_stock_cards_shows_three_and_no_more() -> None:
    carpet = rule_set("carpet")
    assert isinstance(carpet, CarpetRules)
    position = replace(carpet, id="shown", visible_stock=3).deal(bytes(32))
    assert isinstance(position, CarpetPosition)
    assert see(position).stock_next == tuple(CARD_TEXT[card] for card in position.stock[:3])
    assert len(see(replace(position, stock=position.stock[:2])).stock_next) == 2


@given(st.integers(0, 3), st.integers(0, 40), st.randoms(use_true_random=False))
def test_a_view_does_not_depend_on_the_order_of_the_unseen_stock(shown: int, plies: int, random: Random) -> None:
    carpet = rule_set("carpet")
    assert isinstance(carpet, CarpetRules)
    position = replace(carpet, id="shown", visible_stock=shown, redeals=1).deal(random.randbytes(32))
    for _ in range(plies):
        if not position.is_over:
            position = position.play(random.choice(position.legal_moves()))
    assert isinstance(position, CarpetPosition)
    hidden = list(position.stock[shown:])
    random.shuffle(hidden)
    assert see(position) == see(replace(position, stock=(*position.stock[:shown], *hidden), seed=bytes(32)))


def test_what_is_told_to_all_alike() -> None:
    race = started()
    record = race.finish()
    first = race.position(0)
    now = START - 2000
    table: list[tuple[RaceEvent, RoomEvent]] = [
        (SeatTaken(1, "Bob", "hasty"), Seated(version=7, seat=1, name="Bob", bot="hasty")),
        (SeatFreed(1), Unseated(version=7, seat=1)),
        (ConnectionChanged(1, connected=False, away_until=START), Presence(version=7, seat=1, connected=False, away_ms=2000)),
        (ConnectionChanged(1, connected=False, away_until=now - 1), Presence(version=7, seat=1, connected=False, away_ms=0)),
        (ConnectionChanged(1, connected=True, away_until=None), Presence(version=7, seat=1, connected=True, away_ms=None)),
        (SeatReady(1), PlayerReady(version=7, seat=1)),
        (StartSet(START, (10, 20)), Countdown(version=7, starts_in_ms=2000, round_trips_ms=(10, 20))),
        (StartSet(now - 1, (10, 20)), Countdown(version=7, starts_in_ms=0, round_trips_ms=(10, 20))),
        (RaceStarted((first, first)), Started(version=7, home=(4, 4), foundations=(dict(first.foundations),) * 2)),
        (
            SeatEnded(1, "stopped", 3, 500, first),
            Progress(version=7, seat=1, ply=3, home=4, foundations=dict(first.foundations), state="stopped", elapsed_ms=500),
        ),
        (
            SeatEnded(1, "forfeited", 0, 0, None),
            Progress(version=7, seat=1, ply=0, home=0, foundations={}, state="forfeited", elapsed_ms=0),
        ),
        (RaceEnded(record), Result(version=7, record=record)),
    ]
    for event, message in table:
        for viewer in VIEWERS:
            assert tell(event, version=7, viewer=viewer, now=now) == message


def test_a_first_view_is_for_its_seat_and_the_others_get_its_version() -> None:
    position = rule_set("carpet").deal(bytes(32))
    event = SeatDealt(1, START, position)
    assert tell(event, version=7, viewer=1, now=START - 40) == Dealt(version=7, seat=1, starts_in_ms=40, view=see(position))
    for viewer in (0, None):
        assert tell(event, version=7, viewer=viewer, now=START - 40) == Hidden(version=7)


def test_a_move_is_a_view_for_its_seat_and_progress_for_the_others() -> None:
    position = rule_set("carpet").deal(bytes(32)).play("s")
    event = MovePlayed(1, "s", 1, 333, "racing", position)
    assert tell(event, version=7, viewer=1, now=START) == PlayerView(
        version=7, seat=1, ply=1, move="s", state="racing", elapsed_ms=333, view=see(position)
    )
    for viewer in (0, None):
        assert tell(event, version=7, viewer=viewer, now=START) == Progress(
            version=7, seat=1, ply=1, home=4, foundations=dict(position.foundations), state="racing", elapsed_ms=333
        )


def test_a_snapshot_of_a_race_that_waits_shows_who_is_there_and_who_is_ready() -> None:
    driven = seated(round_trips=(40, 50))
    driven.do(LoseConnection(1), -9000)
    room = snapshot(driven.race, version=3, viewer=0, now=START - 9000, again=frozenset({1}), chat=())
    assert (room.version, room.code, room.race, room.phase, room.seat) == (3, "ABCDEF", 1, "waiting", 0)
    assert (room.starts_in_ms, room.elapsed_ms, room.view, room.record) == (None, 0, None, None)
    assert room.commitment == driven.race.commitment.hex()
    assert [(seat.name, seat.connected, seat.ready, seat.again, seat.round_trip_ms) for seat in room.seats] == [
        ("Player 0", True, False, False, 40),
        ("Player 1", False, False, True, 50),
    ]


def test_a_snapshot_says_what_is_left_of_the_grace_of_each_seat_while_somebodys_runs_out() -> None:
    driven = started(options(grace_s=60))
    assert snapshot(driven.race, version=3, viewer=0, now=START, again=frozenset(), chat=()).away_ms == ()
    driven.do(LoseConnection(1), 1000)
    assert snapshot(driven.race, version=3, viewer=0, now=START + 21_000, again=frozenset(), chat=()).away_ms == (None, 40_000)


def test_an_empty_seat_has_no_name_and_no_connection() -> None:
    driven = seated()
    driven.do(LeaveSeat(1), -9000)
    seat = snapshot(driven.race, version=3, viewer=0, now=START, again=frozenset(), chat=()).seats[1]
    assert (seat.name, seat.connected, seat.ready, seat.state) == (None, False, False, "waiting")


@pytest.mark.parametrize("aces", list(Aces))
def test_before_the_start_a_snapshot_has_no_counts_of_any_seat(aces: Aces, monkeypatch: pytest.MonkeyPatch) -> None:
    carpet = rule_set("carpet")
    assert isinstance(carpet, CarpetRules)
    monkeypatch.setattr("server.race.machine.rule_set", lambda _: replace(carpet, aces=aces))
    driven = counting_down(options(seats=3), round_trips=(300, 0, 0))
    driven.do(LeaveSeat(2), -200)
    for at, own in ((-200, None), (-1, see(driven.position(0)))):
        driven.advance(at)
        for viewer in (0, 1, 2, None):
            room = snapshot(driven.race, version=3, viewer=viewer, now=START + at, again=frozenset(), chat=())
            assert room.starts_in_ms == -at
            assert [(seat.home, seat.foundations) for seat in room.seats] == [(0, {})] * 3
            # The first view of seat 0 went out 150 ms early, to seat 0.
            assert room.view == (own if viewer == 0 else None)


def test_while_racing_a_snapshot_shows_the_own_view_and_how_far_the_others_are() -> None:
    driven = started()
    driven.play(1, LINE[:3], 1000)
    for viewer, view in ((0, see(driven.position(0))), (1, see(driven.position(1))), (None, None)):
        room = snapshot(driven.race, version=3, viewer=viewer, now=START + 1500, again=frozenset(), chat=())
        assert (room.view, room.elapsed_ms, room.starts_in_ms, room.record) == (view, 1500, None, None)
        assert [(seat.state, seat.ply, seat.home, seat.elapsed_ms) for seat in room.seats] == [("racing", 0, 4, 0), ("racing", 3, 7, 1000)]
        assert room.seats[1].foundations == driven.position(1).foundations


def test_after_the_end_a_snapshot_has_the_record() -> None:
    driven = started()
    record = driven.finish()
    room = snapshot(driven.race, version=3, viewer=0, now=START + 700_000, again=frozenset(), chat=())
    assert (room.phase, room.record) == ("over", record)


def test_the_current_view_is_there_from_the_deal_on() -> None:
    driven = counting_down(round_trips=(300, 0))
    assert current_view(driven.race, driven.seat(0)) is None
    driven.advance(-150)
    assert current_view(driven.race, driven.seat(0)) is not None
    assert current_view(driven.race, driven.seat(1)) is None
    driven.do(PlayMove(0, 0, LINE[0]), 1000)
    driven.do(StopSeat(0), 2000)
    view = current_view(driven.race, driven.seat(0))
    assert view is not None
    assert (view.race, view.seat, view.ply, view.state, view.elapsed_ms) == (1, 0, 1, "stopped", 850)
    assert view.view == see(driven.position(0))
