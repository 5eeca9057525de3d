"""Rooms whose race was over when their server died: the next server brings them back, complete, for everybody who was there."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio
from msgspec.structs import replace as with_fields

from protocol.errors import ErrorCode
from protocol.room_events import PlayerReady, RematchAsked, Result, Room, Scored
from protocol.views import SeatInfo, SeriesOptions
from server.rooms.driver import Room as ServedRoom
from server.rooms.requests import CallOff, Reveal
from server.store.answers import StandingRace
from server.store.errors import StoreFull
from server.store.port import PlayersLeft, RaceOver
from tests.server.rooms.playing import Guest, Table
from tests.server.rooms.test_journal import come_back, restart
from tests.server.rooms.test_series import BEST_OF_3, SWAP, race
from tests.server.rooms.test_shared_deals import opened as shared_deal_room

pytestmark = pytest.mark.usefixtures("autojump_clock")


def without_line(seat: SeatInfo) -> SeatInfo:
    return with_fields(seat, connected=False, round_trip_ms=None)


def only(table: Table, room: ServedRoom) -> StandingRace:
    (standing,) = table.journal.standing(room.code)
    return standing


async def test_the_result_is_there_for_everybody_and_a_rematch_is_to_be_had(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    await race(table, room, ann, bob)
    late = ann.another_line()
    late.enter(room, version=0)
    await table.settle()
    told = late.last(Room)
    new, again = await restart(table, room)
    assert [new.rooms.of(guest.player.id) for guest in (ann, bob)] == [again, again]
    ann, bob = await come_back(new, again, ann, bob)
    shown = bob.last(Room)
    assert shown.version > told.version
    assert shown.record == told.record
    assert len(shown.ratings) == 2
    assert (shown.phase, shown.seat, shown.ratings, shown.options, shown.commitment) == (
        "over",
        1,
        told.ratings,
        told.options,
        told.commitment,
    )
    assert [without_line(seat) for seat in shown.seats] == [without_line(seat) for seat in told.seats]
    assert ann.last(Room).view == told.view
    ann.rematch(again)
    bob.rematch(again)
    await new.settle()
    assert bob.last(Room).race == 2
    assert new.journal.standing(again.code) == []
    await new.begin(again, ann, bob)
    for guest in (ann, bob):
        guest.stop(again)
    await new.settle()
    assert bob.last(Result).record.race == 2
    assert only(new, again).opened.number == 2


async def test_whoever_has_left_after_the_end_is_not_led_back(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    bob.leave(room)
    await table.settle()
    new, again = await restart(table, room)
    assert [new.rooms.of(guest.player.id) for guest in (ann, bob)] == [again, None]
    (ann,) = await come_back(new, again, ann)
    assert [seat.name for seat in ann.last(Room).seats] == ["Ann", None]
    ann.rematch(again)
    await new.settle()
    assert ann.codes == [ErrorCode.ROOM_CLOSED]
    ann.leave(again)
    await new.settle()
    assert not len(new.rooms)
    assert new.journal.standing(again.code) == []


async def test_whoever_left_while_others_raced_on_is_not_led_back_when_it_is_over(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob, cyd = (table.guest(name) for name in ("Ann", "Bob", "Cyd"))
    room = await table.racing(ann, bob, cyd)
    cyd.leave(room)
    await table.settle()
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert only(table, room).here == {0, 1}


async def test_a_house_bot_wants_the_rematch_again(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann = table.guest("Ann")
    room = await table.seated(ann, bots=("random",), time_limit_s=10)
    await table.begin(room, ann)
    ann.stop(room)
    await trio.sleep(11)
    assert room.core.race.phase == "over"
    new, again = await restart(table, room)
    (ann,) = await come_back(new, again, ann)
    assert [seat.again for seat in ann.last(Room).seats] == [False, True]
    ann.rematch(again)
    await new.settle()
    assert [asked.seat for asked in ann.all(RematchAsked)] == [0]
    assert (ann.last(Room).race, [ready.seat for ready in ann.all(PlayerReady)]) == (2, [1])


async def test_a_room_to_which_nobody_comes_back_is_closed_and_does_not_come_again(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    new, again = await restart(table, room)
    await trio.sleep(119)
    assert new.rooms.of(ann.player.id) is again
    await trio.sleep(2)
    assert new.rooms.of(ann.player.id) is None
    assert new.journal.entries[-1] == PlayersLeft(race=room.core.race.id, seats=(0, 1))


async def test_a_room_that_is_closed_does_not_come_again(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    await ann.vanish(room)
    await bob.vanish(room)
    await trio.sleep(121)
    assert not len(table.rooms)
    assert table.journal.standing(room.code) == []


@pytest.mark.parametrize("keeps", [True, False])
async def test_when_the_host_stops_rooms_stand_if_anything_outlives_the_server(nursery: trio.Nursery, keeps: bool) -> None:
    table = Table(nursery, keeps=keeps)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.over(ann, bob)
    await table.rooms.stop()
    assert len(table.journal.standing(room.code)) == keeps


async def test_whoever_has_taken_another_seat_is_not_led_back(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob, eve = (table.guest(name) for name in ("Ann", "Bob", "Eve"))
    room = await table.over(ann, bob)
    elsewhere = ann.another_line()
    other = await table.racing(elsewhere, eve)
    new = Table(nursery, seed=2, clock=table.clock)
    new.rooms.resume(table.journal.left(other.code))
    new.rooms.resume(table.journal.left(room.code))
    await new.settle()
    assert [new.rooms.of(guest.player.id) for guest in (ann, bob, eve)] == [
        new.rooms.find(code) for code in (other.code, room.code, other.code)
    ]
    assert PlayersLeft(race=room.core.race.id, seats=(0,)) in new.journal.entries
    (bob,) = await come_back(new, new.rooms.find(room.code), bob)
    assert [seat.name for seat in bob.last(Room).seats] == [None, "Bob"]


async def test_the_score_of_a_series_that_is_over_comes_back(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    for _ in range(2):
        await race(table, room, ann, bob)
    over = ann.last(Scored).series
    assert over.over
    new, again = await restart(table, room)
    ann, bob = await come_back(new, again, ann, bob)
    assert ann.last(Room).series == over
    bob.leave(again)
    await new.settle()
    assert ann.last(Room).series == over
    assert not ann.all(Scored)


async def test_whoever_leaves_after_a_series_was_given_up_has_not_given_it_up(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob, cyd = (table.guest(name) for name in ("Ann", "Bob", "Cyd"))
    room = await table.seated(ann, bob, cyd, series=BEST_OF_3)
    await table.begin(room, ann, bob, cyd)
    cyd.leave(room)
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    over = ann.last(Scored).series
    assert [seat.gone for seat in over.seats] == [False, False, True]
    bob.leave(room)
    await table.settle()
    stood = only(table, room)
    new, again = await restart(table, room, nursery)
    (ann,) = await come_back(new, again, ann)
    assert ann.last(Room).series == over
    ann.leave(again)
    await new.settle()
    # The same is told to whoever asks for the room when it is gone.
    assert not len(new.rooms)
    assert new.rooms.look_back(stood).series == over


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("series", [BEST_OF_3, SWAP])
async def test_a_series_that_was_given_up_between_two_races_is_shown_so_when_its_room_is_gone(
    table: Table, ann: Guest, bob: Guest, series: SeriesOptions, *, restarts: bool
) -> None:
    room = await table.seated(ann, bob, series=series)
    await race(table, room, ann, bob)
    code, journal = room.code, table.journal
    if restarts:
        table, room = await restart(table, room)
        ann, bob = await come_back(table, room, ann, bob)
    bob.leave(room)
    await table.settle()
    over = ann.last(Scored).series
    assert [seat.gone for seat in over.seats] == [False, True]
    ann.leave(room)
    await table.settle()
    assert not len(table.rooms)
    if restarts:
        journal.entries += table.journal.entries
    assert table.rooms.look_back(journal.stood_last(code)).series == over


async def test_nobody_is_told_the_score_of_a_series_whose_room_was_closed_between_two_races(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob, series=BEST_OF_3)
    await race(table, room, ann, bob)
    room.tell(CallOff(by_host="the host stops"))
    await table.settle()
    assert not len(table.rooms)
    shown = table.rooms.look_back(table.journal.stood_last(room.code))
    assert (shown.phase, shown.record, shown.series) == ("over", ann.last(Result).record, None)


@pytest.mark.parametrize("series", [BEST_OF_3, SWAP])
async def test_a_series_that_was_given_up_while_a_race_ran_comes_back_so(
    table: Table, ann: Guest, bob: Guest, series: SeriesOptions
) -> None:
    room = await table.seated(ann, bob, series=series)
    await table.begin(room, ann, bob)
    bob.leave(room)
    await table.settle()
    if room.core.race.phase == "racing":
        ann.stop(room)
        await table.settle()
    over = ann.last(Scored).series
    assert [seat.gone for seat in over.seats] == [False, True]
    new, again = await restart(table, room)
    (ann,) = await come_back(new, again, ann)
    shown = ann.last(Room)
    assert shown.series == over
    # Of a swap too: its other shuffle will be played by nobody.
    assert shown.record == only(table, room).record
    assert all(seat.foundations for seat in shown.seats)


async def test_the_record_of_a_race_on_a_shared_deal_stays_closed_until_it_is_revealed(table: Table, ann: Guest, bob: Guest) -> None:
    room = shared_deal_room(table, ann, bob)
    assert room.spec is not None
    for guest in (ann, bob):
        guest.enter(room)
    await table.settle()
    await table.begin(room, ann, bob)
    ann.move(room)
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    new, again = await restart(table, room)
    ann, bob = await come_back(new, again, ann, bob)
    shown, record = ann.last(Room), only(table, room).record
    assert (shown.phase, shown.record, shown.ended, shown.shared) == ("over", None, record.seats, room.spec.deal)
    assert not shown.seats[1].foundations
    ann.rematch(again)
    await new.settle()
    assert ann.codes == [ErrorCode.ONCE_ONLY]
    again.tell(Reveal())
    await new.settle()
    assert bob.last(Result).record == record


async def test_what_cannot_be_brought_back_is_said_in_a_sentence(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    room = await table.over(table.guest("Ann"), table.guest("Bob"))
    standing = only(table, room)
    new = Table(nursery, seed=2)
    other = replace(standing, opened=replace(standing.opened, options=with_fields(standing.opened.options, seats=3)))
    with pytest.raises(ValueError, match="cannot be taken again"):
        new.rooms.resume(other)
    with pytest.raises(ValueError, match="there is another race in room"):
        table.rooms.resume(standing)
    assert not len(new.rooms)


async def test_a_room_whose_leaving_cannot_be_kept_tells_of_no_end_that_was_not_kept(
    table: Table, ann: Guest, bob: Guest, caplog: pytest.LogCaptureFixture
) -> None:
    room = await table.over(ann, bob)
    table.journal.error = StoreFull("no space left")
    await ann.vanish(room)
    await bob.vanish(room)
    await trio.sleep(121)
    assert not len(table.rooms)
    assert "its closing could not be saved: no space left" in caplog.text
    # The next server brings it back, for a while.
    assert only(table, room).here == {0, 1}


async def test_of_a_race_whose_result_could_not_be_kept_nothing_is_said_to_stand(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.stop(room)
    await table.settle()
    table.journal.error = StoreFull("no space left")
    bob.stop(room)
    await table.settle()
    table.journal.error = None
    assert not len(table.rooms)
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceOver | PlayersLeft)]
    assert table.journal.running(room.code).commands
