"""One race after another in the same room: a rematch needs everybody."""

from __future__ import annotations

import pytest
import trio

from protocol.errors import ErrorCode
from protocol.record import check_deal
from protocol.room_events import Dealt, PlayerReady, RematchAsked, Result, Room
from protocol.views import SeriesOptions
from server.rooms.driver import Room as ServedRoom
from tests.server.rooms.playing import Guest, Table
from tests.server.rooms.test_journal import come_back, restart


async def test_when_all_have_asked_the_next_race_opens_with_the_same_seats_and_another_deal(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    bob.rematch(room)
    bob.rematch(room)
    await table.settle()
    assert [asked.seat for asked in ann.all(RematchAsked)] == [1]
    assert room.core.race.number == 1
    ann.rematch(room)
    await table.settle()
    snapshots = [ann.last(Room), bob.last(Room)]
    assert [(snapshot.race, snapshot.phase, snapshot.seat, snapshot.view, snapshot.record) for snapshot in snapshots] == [
        (2, "waiting", 0, None, None),
        (2, "waiting", 1, None, None),
    ]
    assert not any(seat.ready or seat.again for seat in snapshots[0].seats)
    await table.begin(room, ann, bob)
    first, second = (dealt.view for dealt in ann.all(Dealt))
    assert first != second
    ann.stop(room)
    bob.stop(room)
    await table.settle()
    one, two = (result.record for result in ann.all(Result))
    assert (one.race, two.race) == (1, 2)
    assert one.deal.secret != two.deal.secret
    check_deal(two.deal)


async def test_a_rematch_cannot_be_asked_for_while_the_race_runs_nor_for_another_race(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.rematch(room)
    await table.settle()
    ann.stop(room)
    bob.stop(room)
    await table.settle()
    ann.rematch(room, race=2)
    await table.settle()
    assert ann.codes == [ErrorCode.RACE_RUNNING, ErrorCode.WRONG_RACE]


async def test_with_somebody_gone_for_good_no_rematch_is_to_be_had(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    ann.rematch(room)
    bob.leave(room)
    await table.settle()
    ann.rematch(room)
    await table.settle()
    assert ann.codes == [ErrorCode.ROOM_CLOSED]
    assert room.core.race.number == 1


async def test_whoever_asked_and_then_lost_their_connection_is_away_in_the_next_race_and_can_come_back(table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.over(ann, bob, grace_s=30)
    bob.rematch(room)
    await table.settle()
    await bob.vanish(room)
    ann.rematch(room)
    await table.settle()
    assert [seat.connected for seat in ann.last(Room).seats] == [True, False]
    await trio.sleep(20)
    bob.enter(room)
    await table.settle()
    assert isinstance(bob.heard[-1], Room)
    await table.begin(room, ann, bob)


async def test_whoever_does_not_come_back_to_the_next_race_loses_their_seat_in_it(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.over(ann, bob, grace_s=30)
    bob.rematch(room)
    await table.settle()
    await bob.vanish(room)
    ann.rematch(room)
    await trio.sleep(31)
    assert room.core.race.seats[1].player is None
    assert table.rooms.of(bob.player.id) is None
    eve.enter(room)
    await table.settle()
    await table.begin(room, ann, eve)


async def again(table: Table, room: ServedRoom, *guests: Guest, loser: Guest | None = None) -> None:
    """A race, and that the next one opens. loser: who resigns; otherwise everybody stops at once, which is a draw."""
    await table.begin(room, *guests)
    for guest in [loser] if loser is not None else guests:
        guest.resign(room) if loser is not None else guest.stop(room)
    # A forfeit ends the race once no earlier move can arrive any more.
    await trio.sleep(1)
    for guest in guests:
        guest.rematch(room)
    await table.settle()


async def test_with_each_rematch_everybody_is_told_what_each_has_won_here(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    assert ann.last(Room).won == ()
    for loser in (None, bob, ann, bob):
        await again(table, room, ann, bob, loser=loser)
    assert [told.won for told in bob.all(Room)[-4:]] == [(0, 0), (1, 0), (1, 1), (2, 1)]


async def test_a_series_that_is_won_here_counts_once(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=SeriesOptions(format="best-of", races=3))
    for _ in range(2):
        await table.begin(room, ann, bob)
        bob.resign(room)
        await trio.sleep(1)
    assert ann.last(Room).won == ()
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    assert ann.last(Room).won == (1, 0)


async def test_nothing_is_said_to_be_won_against_somebody_else(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.seated(ann, bob, public=True)
    await again(table, room, ann, bob, loser=bob)
    bob.leave(room)
    eve.enter(room)
    await table.settle()
    assert eve.last(Room).won == ()
    await again(table, room, ann, eve, loser=ann)
    assert eve.last(Room).won == (0, 1)


@pytest.mark.parametrize("phase", ["waiting", "over", "with another"])
async def test_what_each_has_won_here_outlives_the_server(table: Table, ann: Guest, bob: Guest, eve: Guest, phase: str) -> None:
    room = await table.seated(ann, bob, public=True)
    await again(table, room, ann, bob, loser=bob)
    other = bob
    if phase == "over":
        await table.begin(room, ann, bob)
        bob.resign(room)
        await trio.sleep(1)
    elif phase == "with another":
        bob.leave(room)
        eve.enter(room)
        other = eve
    await table.settle()
    new, resumed = await restart(table, room)
    ann, other = await come_back(new, resumed, ann, other)
    assert other.last(Room).won == (() if phase == "with another" else (1, 0))
    if phase == "over":
        for guest in (ann, other):
            guest.rematch(resumed)
        await new.settle()
        assert other.last(Room).won == (2, 0)


async def test_house_bots_ask_for_the_rematch_and_are_ready_for_it(table: Table, ann: Guest) -> None:
    room = await table.racing(ann, bots=("random", "greedy"), seats=3)
    ann.stop(room)
    await trio.sleep(600.5)
    assert room.core.race.phase == "over"
    ann.rematch(room)
    await table.settle()
    assert room.core.race.number == 2
    assert {ready.seat for ready in ann.all(PlayerReady)[-2:]} == {1, 2}
    await table.begin(room, ann)


async def test_what_was_said_stays_for_the_next_race(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    for number in range(60):
        ann.say(room, f"line {number}")
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    assert [line.text for line in bob.last(Room).chat] == [f"line {number}" for number in range(10, 60)]


@pytest.mark.parametrize("public", [False, True])
async def test_a_seat_that_is_freed_before_a_rematch_of_a_private_race_is_for_nobody_new(table: Table, public: bool) -> None:
    """The code of a race that is over can be read in its record and in histories."""
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.over(ann, bob, public=public)
    for guest in (ann, bob):
        guest.rematch(room)
    await table.settle()
    bob.leave(room)
    await table.settle()
    eve = table.guest("Eve")
    eve.enter(room)
    await table.settle()
    if public:
        assert eve.last(Room).seat == 1
        return
    assert eve.codes == [ErrorCode.ROOM_FULL]
    assert table.rooms.of(eve.player.id) is None
    bob.enter(room)
    await table.settle()
    assert bob.last(Room).seat == 1
