"""Players of a public race who do not get ready: how long the others wait for them, and for whom nobody waits."""

from __future__ import annotations

import pytest
import trio

from protocol.room_events import Countdown, ReadyDue, Room, Scored, Unseated
from protocol.server_messages import Left
from protocol.views import SeriesOptions
from server.rooms.driver import Room as ServedRoom
from server.rooms.effects import Unmatched
from server.rooms.ready_timeout import MATCH_READY_S, READY_S
from server.store.replay import RunningRoom, replay
from tests.server.rooms.playing import Guest, Table


async def test_whoever_keeps_a_player_waiting_loses_their_seat_to_the_next(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.seated(ann, bob, public=True)
    await trio.sleep(50)
    ann.ready(room)
    await trio.sleep(READY_S - 0.01)
    assert room.core.race.seat_of(bob.player.id) is not None
    await trio.sleep(0.02)
    assert bob.last(Left) == Left(code=room.code, reason="not-ready")
    assert bob.all(Unseated) == []
    assert ann.last(Unseated).seat == 1
    assert table.rooms.of(bob.player.id) is None
    assert room.core.race.seats[0].nonce is not None
    eve.enter(room)
    await table.settle()
    eve.ready(room)
    await table.settle()
    assert eve.last(Countdown).starts_in_ms == 3000


async def test_of_many_seats_all_that_are_waited_for_are_freed_and_their_players_may_come_again(table: Table) -> None:
    ann, bob, eve, bert = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Bert"))
    room = await table.seated(ann, bob, eve, bert, public=True, seats=5, bots=("random",))
    bob.ready(room)
    bert.ready(room)
    await bert.vanish(room)
    await trio.sleep(30)
    bert.enter(room)
    await trio.sleep(READY_S - 30 + 0.01)
    assert [seat.player is None for seat in room.core.race.seats] == [True, False, True, False, False]
    eve.enter(room)
    await table.settle()
    assert eve.last(Room).seat == 0


async def test_a_newcomer_has_the_whole_time_and_who_gets_ready_in_time_is_never_moved(table: Table) -> None:
    ann, bob, eve = table.guest("Ann"), table.guest("Bob"), table.guest("Eve")
    room = await table.seated(ann, bob, public=True)
    ann.ready(room)
    await trio.sleep(READY_S - 1)
    bob.leave(room)
    await table.settle()
    eve.enter(room)
    await trio.sleep(READY_S - 0.01)
    eve.ready(room)
    await trio.sleep(0.02)
    assert room.core.race.phase == "countdown"
    assert eve.all(Left) == []


async def test_how_long_they_have_is_told_when_the_wait_begins_and_to_whoever_comes_back(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, public=True)
    assert ann.last(Room).ready_left_ms is None
    ann.ready(room)
    await table.settle()
    for guest in (ann, bob):
        assert [due.left_ms for due in guest.all(ReadyDue)] == [READY_S * 1000]
    version = bob.version
    await bob.vanish(room)
    await trio.sleep(30)
    bob.enter(room, version=0)
    await table.settle()
    assert bob.last(Room).ready_left_ms == (READY_S - 30) * 1000
    older = bob.another_line()
    older.version = version - 1
    older.enter(room)
    await table.settle()
    assert older.last(ReadyDue).left_ms == (READY_S - 30) * 1000, "not as it was when it was told first"
    older.ready(room, race=1)
    await table.settle()
    assert older.last(Countdown).starts_in_ms == 3000
    assert len(ann.all(ReadyDue)) == 1


async def test_a_wait_that_begins_anew_is_told_anew(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.seated(ann, bob, public=True)
    ann.ready(room)
    await trio.sleep(30)
    bob.leave(room)
    eve.enter(room)
    await table.settle()
    assert [due.left_ms for due in ann.all(ReadyDue)] == [READY_S * 1000] * 2
    assert eve.last(ReadyDue).left_ms == READY_S * 1000


@pytest.mark.parametrize("case", ["private", "nobody ready", "a free seat", "alone with a bot"])
async def test_a_player_whom_nobody_waits_for_keeps_their_seat(table: Table, ann: Guest, bob: Guest, case: str) -> None:
    guests = (ann,) if case == "alone with a bot" else (ann, bob)
    options = {"bots": ("random",)} if case == "alone with a bot" else {"seats": 3} if case == "a free seat" else {}
    room = await table.seated(*guests, public=case != "private", **options)
    if case in ("private", "a free seat"):
        ann.ready(room)
    await trio.sleep(3 * READY_S)
    assert all(room.core.race.seat_of(guest.player.id) is not None for guest in guests)


async def test_in_a_rematch_too(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob, public=True)
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    bob.ready(room)
    await trio.sleep(READY_S + 0.01)
    assert ann.last(Left).reason == "not-ready"
    assert room.core.race.seats[1].player == bob.player.id


async def test_whoever_is_away_when_they_lose_their_seat_so_hears_of_it_when_they_come_back(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, public=True, grace_s=600)
    ann.ready(room)
    await bob.vanish(room)
    await trio.sleep(READY_S + 0.01)
    assert bob.all(Left) == []
    assert table.rooms.of(bob.player.id) is None
    again = bob.another_line()
    again.enter(room)
    await table.settle()
    assert again.last(Room).seat == 1


async def test_a_lost_seat_is_in_the_journal(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, public=True)
    ann.ready(room)
    await trio.sleep(READY_S + 0.01)
    brought_back = replay(table.journal.running(room.code))
    assert [seat.player for seat in brought_back.seats] == [ann.player.id, None]


async def test_in_a_private_series_whoever_never_gets_ready_gives_it_up_after_its_grace(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, public=False, series=SeriesOptions(format="best-of", races=3, grace_s=40))
    for guest in (ann, bob):
        guest.stop(room)
    assert room.core.race.number == 2
    ann.ready(room)
    await trio.sleep(39)
    assert room.core.race.seat_of(bob.player.id) is not None
    await trio.sleep(2)
    assert bob.last(Left).reason == "not-ready"
    assert ann.last(Scored).series.over


# ---- a quick match


def unmatched(table: Table) -> list[Unmatched]:
    """Those who are to look for another opponent, in the order in which that is told."""
    told: list[Unmatched] = []

    def tell(room: ServedRoom, each: Unmatched) -> None:
        assert table.rooms.of(each.player) is not room
        told.append(each)

    table.rooms.on_unmatched.append(tell)
    return told


async def test_after_a_quick_match_the_wait_is_short_and_whoever_was_ready_goes_on_looking(table: Table, ann: Guest, bob: Guest) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    ann.ready(room)
    await trio.sleep(MATCH_READY_S - 0.01)
    assert room.core.race.seat_of(bob.player.id) is not None
    await trio.sleep(0.02)
    assert bob.last(Left) == Left(code=room.code, reason="not-ready")
    assert ann.heard[-1] == Left(code=room.code, reason="no-opponent")
    assert [guest.all(Unseated) for guest in (ann, bob)] == [[], []], "each is told once"
    assert told == [Unmatched(ann.player.id, ann, *[frozenset({bob.player.id})] * 2)]
    assert room.is_closed, "nobody has a claim to it"
    assert len(table.rooms) == 0


async def test_if_neither_gets_ready_neither_is_moved(table: Table, ann: Guest, bob: Guest) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    await trio.sleep(3 * READY_S)
    assert all(room.core.race.seat_of(guest.player.id) is not None for guest in (ann, bob))
    assert told == []


@pytest.mark.parametrize("is_ready", [True, False])
async def test_an_opponent_who_leaves_before_the_race_is_not_waited_for(table: Table, ann: Guest, bob: Guest, is_ready: bool) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    if is_ready:
        ann.ready(room)
    bob.leave(room)
    await table.settle()
    assert len(told) == is_ready
    if not is_ready:
        await trio.sleep(60)
        assert ann.all(Left) == [], "they may not be there either"
        ann.ready(room)
        await table.settle()
    assert ann.last(Left).reason == "no-opponent"
    assert [each.player for each in told] == [ann.player.id]
    assert bob.last(Left).reason == "left"


async def test_whoever_is_away_goes_on_looking_once_they_are_back(table: Table, ann: Guest, bob: Guest) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    ann.ready(room)
    await ann.vanish(room)
    await trio.sleep(MATCH_READY_S + 0.01)
    assert bob.last(Left).reason == "not-ready"
    assert (told, table.rooms.of(ann.player.id)) == ([], room)
    again = ann.another_line()
    again.enter(room)
    await table.settle()
    assert [type(message) for message in again.heard] == [Room, Left]
    assert told == [Unmatched(ann.player.id, again, frozenset({bob.player.id}), frozenset())], "bob was not waited for meanwhile"


async def test_whoever_has_come_by_the_list_and_not_by_the_match_stays_where_they_are(
    table: Table, ann: Guest, bob: Guest, eve: Guest
) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    bob.leave(room)
    eve.enter(room)
    await table.settle()
    eve.ready(room)
    await trio.sleep(MATCH_READY_S + 0.01)
    assert ann.last(Left).reason == "not-ready"
    assert table.rooms.of(eve.player.id) is room
    assert eve.all(Left) == []
    assert told == []


async def test_a_rematch_of_a_quick_match_waits_as_long_as_any_race(table: Table, ann: Guest, bob: Guest) -> None:
    told, room = unmatched(table), await table.matched(ann, bob)
    await table.begin(room, ann, bob)
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    ann.ready(room)
    await trio.sleep(READY_S - 0.01)
    assert room.core.race.seat_of(bob.player.id) is not None
    await trio.sleep(0.02)
    assert bob.last(Left).reason == "not-ready"
    assert table.rooms.of(ann.player.id) is room
    assert told == []


async def test_the_next_server_waits_as_long_and_lets_whoever_was_ready_go_on_looking(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.matched(ann, bob)
    ann.ready(room)
    await table.settle()
    (later,) = (Table(table.nursery),)
    later.journal = table.journal
    told = unmatched(later)
    left = later.journal.left(room.code)
    assert isinstance(left, RunningRoom)
    later.rooms.resume(left)
    again = later.guest("Ann")
    again.enter(later.rooms.find(room.code))
    await trio.sleep(MATCH_READY_S + 0.01)
    assert again.last(Left).reason == "no-opponent"
    assert told == [Unmatched(ann.player.id, again, *[frozenset({bob.player.id})] * 2)]
    assert later.rooms.of(bob.player.id) is None
