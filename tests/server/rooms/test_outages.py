"""While the store cannot be written: players are told, no time passes for anybody, nothing unstored is told, no room is opened."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode, Refusal
from protocol.room_events import PlayerView, Progress, Result, Room, Seated
from protocol.server_messages import Left
from protocol.views import RaceOptions, SharedDeal
from server.race.shared_deal_spec import SharedDealSpec
from server.store.availability import Outage
from server.store.errors import StoreFull
from server.store.port import RaceOpened
from tests.server.rooms.playing import Guest, Table

LONG_S = 3600


def out(since_s: float = 0.0) -> Outage:
    """An outage that began so many seconds ago."""
    return Outage(trio.current_time() - since_s, "the disk is full")


async def test_players_are_told_at_once_and_their_moves_go_on_when_it_is_over(table: Table, ann: Guest, bob: Guest) -> None:
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


async def test_the_time_of_an_outage_counts_for_neither_limit_nor_grace_nor_moves(table: Table) -> None:
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


async def test_time_from_before_an_outage_was_noticed_is_made_up_for(table: Table) -> None:
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


async def test_everybody_is_told_how_long_the_race_has_run_once_it_goes_on(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=0)
    room = await table.racing(ann, bob)
    await trio.sleep(10)
    heard = len(ann.all(Room))
    table.rooms.outage(out(3))
    await trio.sleep(LONG_S)
    table.rooms.outage(None)
    await table.settle()
    # The clock stands a little longer, for the time before the outage was noticed.
    assert len(ann.all(Room)) == heard
    await trio.sleep(3.1)
    for guest in (ann, bob):
        assert guest.last(Room).elapsed_ms // 1000 == room.summary.elapsed_ms(table.clock.now_ms()) // 1000 == 10


async def test_who_is_away_when_it_goes_on_is_told_how_long_the_race_has_run_when_they_come_back(table: Table) -> None:
    ann, bob = table.guest("Ann", round_trip_ms=0), table.guest("Bob", round_trip_ms=0)
    room = await table.racing(ann, bob)
    await trio.sleep(10)
    await bob.vanish(room)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    table.rooms.outage(None)
    await trio.sleep(1)
    heard = len(bob.heard)
    # With what they knew: but for this, no more than the events since then would come.
    bob.enter(room)
    await table.settle()
    assert [type(message) for message in bob.heard[heard:]] == [Room]
    assert bob.last(Room).elapsed_ms // 1000 == room.summary.elapsed_ms(table.clock.now_ms()) // 1000 == 11


async def test_where_the_store_is_gone_again_nothing_is_said_of_the_clock(table: Table, ann: Guest, bob: Guest) -> None:
    await table.racing(ann, bob)
    await trio.sleep(10)
    heard = len(ann.all(Room))
    table.rooms.outage(out(3))
    table.rooms.outage(None)
    await trio.sleep(1)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    assert len(ann.all(Room)) == heard


async def test_a_countdown_stands_still_too(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    ann.ready(room)
    bob.ready(room)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    phases = [room.core.race.phase]
    table.rooms.outage(None)
    await trio.sleep(10)
    phases.append(room.core.race.phase)
    assert phases == ["countdown", "racing"]


async def test_no_room_is_opened_and_those_there_are_can_be_entered(table: Table, ann: Guest, bob: Guest) -> None:
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


async def test_who_has_opened_a_race_that_is_not_kept_yet_is_told_why_they_wait_and_has_it_afterwards(table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    table.journal.hold()
    room = table.rooms.open(RaceOptions())
    ann.enter(room)
    table.rooms.outage(out())
    bob.enter(room)
    await table.settle()
    assert ann.codes == [ErrorCode.CANNOT_WRITE]
    assert not ann.all(Room)
    assert not bob.all(Room)
    table.rooms.outage(None)
    table.journal.release()
    await table.settle()
    assert [guest.last(Room).seat for guest in (ann, bob)] == [0, 1]
    await table.begin(room, ann, bob)


async def test_a_room_that_waits_for_its_ghosts_as_the_clocks_are_set_right_is_kept_all_the_same(table: Table, ann: Guest) -> None:
    deal = SharedDeal(kind="challenge", id="a challenge", nonces=("7c" * 16,))
    spec = SharedDealSpec(deal=deal, invited=(ann.player.id,), ghosts=("ABCDEF-1-00",))
    room = table.rooms.open(RaceOptions(seats=1, public=False), spec=spec, secret=bytes(32))
    assert not room.has_begun
    room.set_clocks_right()
    await table.settle()
    assert [entry.room for entry in table.journal.entries if isinstance(entry, RaceOpened)] == [room.code]


async def test_who_has_opened_a_race_that_can_never_be_kept_is_told_so_and_free(table: Table, ann: Guest, bob: Guest) -> None:
    table.journal.hold()
    room = table.rooms.open(RaceOptions())
    ann.enter(room)
    bob.enter(room)
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    table.journal.error = StoreFull("the server stops, and its disk is full")
    table.journal.release()
    await table.settle()
    for guest in (ann, bob):
        assert guest.codes == [ErrorCode.CANNOT_WRITE, ErrorCode.NOT_KEPT]
        assert guest.heard[-1] == Left(code=room.code, reason="failed")
        assert not guest.all(Room)
        assert table.rooms.of(guest.player.id) is None
    assert len(table.rooms) == 0
    assert table.journal.entries == []
    table.rooms.outage(None)
    table.journal.error = None
    await table.seated(ann)


async def test_a_journal_with_more_to_do_than_it_can_takes_no_new_room(table: Table) -> None:
    table.journal.has_room = False
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions())
    assert refused.value.code == ErrorCode.SERVER_BUSY


@pytest.mark.parametrize("countdown", [False, True], ids=["racing", "countdown"])
async def test_house_bots_play_on_when_it_is_over(autojump_clock: MockClock, nursery: trio.Nursery, countdown: bool) -> None:
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.seated(ann, bots=("greedy", "random"))
    ann.ready(room)
    await trio.sleep(1 if countdown else 8)
    assert room.core.race.phase == ("countdown" if countdown else "racing")
    table.journal.hold()
    table.rooms.outage(out())
    await trio.sleep(LONG_S)
    table.rooms.outage(None)
    table.journal.release()
    await table.settle()
    plies = [seat.ply for seat in room.core.race.seats]
    await trio.sleep(15)
    assert all(seat.ply >= before + 5 for seat, before in zip(room.core.race.seats[1:], plies[1:], strict=True))
