"""While the store cannot be written: players are told, no time passes for anybody, nothing is told that is not safe, no room is opened."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode, Refusal
from protocol.room_events import PlayerView, Progress, Result, Seated
from protocol.server_messages import Left
from protocol.views import RaceOptions
from server.store.availability import Outage
from tests.server.rooms.playing import Table

LONG_S = 3600


def out(since_s: float = 0.0) -> Outage:
    """An outage that began so many seconds ago."""
    return Outage(trio.current_time() - since_s, "the disk is full")


async def test_players_are_told_at_once_and_their_moves_go_on_when_it_is_over(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.hold()
    table.rooms.outage(out())
    ann.move(room)
    await table.settle()
    assert ann.codes == bob.codes == [ErrorCode.CANNOT_WRITE]
    assert not ann.all(PlayerView)
    table.rooms.outage(None)
    table.journal.release()
    await table.settle()
    assert ann.last(PlayerView).ply == 1
    assert bob.last(Progress).ply == 1
    assert ann.codes == [ErrorCode.CANNOT_WRITE]


async def test_the_time_of_an_outage_counts_for_neither_limit_nor_grace_nor_moves(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=0)
    room = await table.racing(ann, bob, time_limit_s=60, grace_s=30)
    await bob.vanish(room)
    await trio.sleep(10)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    assert not ann.all(Result)
    ann.move(room)
    table.rooms.outage(None)
    await trio.sleep(5)
    ann.move(room)
    await table.settle()
    # Fifteen seconds of the race have gone by, and half of Bob's grace.
    assert [message.elapsed_ms // 1000 for message in ann.all(PlayerView)] == [10, 15]
    assert room.summary.elapsed_ms(table.clock.now_ms()) // 1000 == 15
    assert room.summary.seats[1].state == "racing"
    await trio.sleep(16)
    assert room.core.race.seats[1].state == "forfeited"


async def test_time_from_before_an_outage_was_noticed_is_made_up_for(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=0)
    room = await table.racing(ann, bob)
    await trio.sleep(10)
    began = room.summary.elapsed_ms(table.clock.now_ms())
    await trio.sleep(3)
    table.rooms.outage(out(3))
    await trio.sleep(LONG_S)
    table.rooms.outage(None)
    for wait_s in (2, 3):
        await trio.sleep(wait_s)
        ann.move(room)
        await table.settle()
    # Never back, and in the end as long as there was time to play: five seconds.
    assert [message.elapsed_ms - began for message in ann.all(PlayerView)] == [3000, 5000]


async def test_a_countdown_stands_still_too(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob)
    ann.ready(room)
    bob.ready(room)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    assert room.core.race.phase == "countdown"
    table.rooms.outage(None)
    await trio.sleep(10)
    assert room.core.race.phase == "racing"


async def test_no_room_is_opened_and_those_there_are_can_be_entered(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = table.rooms.open(RaceOptions())
    ann.enter(room)
    table.rooms.outage(out())
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions())
    assert refused.value.code == ErrorCode.CANNOT_WRITE
    bob.enter(room)
    await table.settle()
    assert ann.last(Seated).name == "Bob"
    await trio.sleep(LONG_S)
    assert not ann.all(Left)
    table.rooms.outage(None)
    table.rooms.open(RaceOptions())


async def test_a_journal_with_more_to_do_than_it_can_takes_no_new_room(autojump_clock: MockClock, table: Table) -> None:
    table.journal.has_room = False
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions())
    assert refused.value.code == ErrorCode.SERVER_BUSY
