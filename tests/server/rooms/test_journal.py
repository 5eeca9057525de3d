"""Rooms and the journal: nobody is told what is not stored yet, and an earlier server's race goes on where it was."""

from __future__ import annotations

import time
from dataclasses import replace

import msgspec
import pytest
import trio

from protocol.errors import ErrorCode
from protocol.room_events import PlayerView, Presence, Progress, Result, Room, Said, Scored
from protocol.server_messages import CurrentView, Error, Left
from protocol.views import RaceOptions, SeriesOptions
from server.race.audit import audit
from server.race.commands import PlayMove
from server.rooms.abort_summary import seats_left, seats_readable
from server.rooms.clock import Clock
from server.rooms.driver import Room as ServedRoom
from server.store.availability import Outage
from server.store.errors import JournalClosed, LeaseLost, StoreFull
from server.store.port import CommandTaken, RaceAborted, RaceOpened, RaceOver
from server.store.replay import RunningRoom
from tests.server.rooms.playing import Guest, Notebook, Table

pytestmark = pytest.mark.usefixtures("autojump_clock")


def moved(by_s: float) -> Clock:
    """A server's clock on a wall that was set by so much since the table's began."""
    return Clock(time.time() + by_s)


async def restart(
    old: Table, room: ServedRoom, nursery: trio.Nursery | None = None, *, clock: Clock | None = None
) -> tuple[Table, ServedRoom]:
    """Another server, on what the journal of the first one has of the room. The first is forgotten as by a crash. nursery: where that
    of the first has ended."""
    # The wall goes on while no server runs, and it is virtual here: the one clock stands for both servers'.
    new = Table(nursery or old.nursery, seed=2, clock=clock or old.clock)
    new.journal.entries = list(old.journal.entries)
    new.rooms.resume(old.journal.left(room.code))
    await new.settle()
    return new, new.rooms.find(room.code)


async def come_back(new: Table, room: ServedRoom, *guests: Guest) -> list[Guest]:
    """The same players by lines to the new server, in the room again."""
    found = [new.guest(guest.player.name) for guest in guests]
    for guest, before in zip(found, guests, strict=True):
        guest.enter(room, version=before.version)
    await new.settle()
    return found


async def test_nobody_is_told_of_a_move_before_it_is_kept(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    table.journal.hold()
    ann.move(room)
    await table.settle()
    assert not ann.all(PlayerView)
    assert not bob.all(Progress)
    table.journal.release()
    await table.settle()
    assert ann.last(PlayerView).ply == 1
    assert bob.last(Progress).ply == 1


async def test_a_view_that_was_missed_is_made_up_for_only_when_what_it_shows_is_kept(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    table.journal.hold()
    ann.move(room)
    await table.settle()
    assert room.catch_up(ann.player.id, ann)
    assert len(ann.all(Room)) == 1
    table.journal.release()
    await table.settle()
    assert [message.view is not None for message in ann.all(Room)] == [False, True]


async def test_what_comes_while_the_journal_writes_is_decided_at_once_and_told_in_order(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    table.journal.hold()
    ann.move(room)
    bob.move(room)
    ann.phrase(room, "hello")
    assert [seat.ply for seat in room.core.race.seats] == [1, 1]
    assert [seat.home for seat in room.summary.seats] == [room.core.race.deal.firsts[0].home] * 2
    assert not ann.all(PlayerView)
    table.journal.release()
    assert [type(message) for message in ann.heard[-3:]] == [PlayerView, Progress, Said]
    assert [type(message) for message in bob.heard[-3:]] == [Progress, PlayerView, Said]


async def test_when_nothing_can_be_kept_the_race_ends_without_a_result_and_the_others_go_on(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    room = await table.racing(ann, bob)
    other = await table.racing(eve, zoe)
    table.journal.error = StoreFull("no space left")
    ann.move(room)
    await table.settle()
    table.journal.error = None
    for guest in (ann, bob):
        assert guest.last(Error).code == ErrorCode.NOT_KEPT
        assert guest.heard[-1] == Left(code=room.code, reason="failed")
        assert not guest.all(PlayerView)
        assert not guest.all(Result)
        assert table.rooms.of(guest.player.id) is None
    assert "no space left" in caplog.text
    eve.move(other)
    await table.settle()
    assert eve.ply == 1


async def test_that_a_lease_is_lost_is_no_error_of_each_room(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.error = LeaseLost("others answer for the races of this node")
    ann.move(room)
    await table.settle()
    assert ann.heard[-1] == Left(code=room.code, reason="failed")
    assert [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []


async def test_whoever_catches_up_while_a_failed_room_ends_is_not_told_what_could_not_be_kept(nursery: trio.Nursery) -> None:
    table = Table(nursery, bots_wait=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, bots=("greedy",), seats=3)
    snapshots = len(ann.all(Room))
    table.journal.error = StoreFull("no space left")
    ann.move(room)
    assert not room.catch_up(ann.player.id, ann)
    assert room.core.race.seats[0].ply == 1
    assert len(ann.all(Room)) == snapshots
    assert ann.heard[-1] == Left(code=room.code, reason="failed")


async def test_a_room_that_is_cancelled_while_the_journal_writes_tells_nothing_of_it() -> None:
    async with trio.open_nursery() as nursery:
        table = Table(nursery)
        ann, bob = table.guest("Ann"), table.guest("Bob")
        room = await table.racing(ann, bob)
        table.journal.hold()
        ann.move(room)
        await table.settle()
        assert room.core.race.seats[0].ply == 1
        nursery.cancel_scope.cancel()
    assert not ann.all(PlayerView)
    assert not bob.all(Progress)
    assert ann.heard[-1] == bob.heard[-1] == Left(code=room.code, reason="closed")


async def test_the_record_is_kept_together_with_the_move_that_ended_the_race(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    entries = table.journal.entries
    assert isinstance(entries[-2], CommandTaken)
    over = entries[-1]
    assert isinstance(over, RaceOver)
    assert over.record == ann.last(Result).record == room.core.race.record
    assert over.players == (ann.player.id, bob.player.id)


async def test_a_repeated_or_refused_move_is_not_kept_twice(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.move(room)
    await table.settle()
    before = len(table.journal.entries)
    kept = [entry.command for entry in table.journal.entries if isinstance(entry, CommandTaken)]
    (move,) = [command for command in kept if isinstance(command, PlayMove)]
    ann.move(room, move.move, ply=0)
    ann.move(room, "e4:w")
    await table.settle()
    assert len(table.journal.entries) == before


async def test_a_room_that_is_closed_before_the_start_leaves_no_race_that_is_running(table: Table, ann: Guest) -> None:
    room = await table.seated(ann, seats=2)
    ann.leave(room)
    await table.settle()
    opened, aborted = table.journal.entries[0], table.journal.entries[-1]
    assert isinstance(opened, RaceOpened)
    assert isinstance(aborted, RaceAborted)
    assert aborted.race == opened.race
    # A room that waited is no race, and nobody's history has it.
    assert aborted.seats == ()


@pytest.mark.parametrize("waited_s", [0.5, 5])
async def test_a_race_that_had_begun_is_aborted_with_its_seats_as_they_were(nursery: trio.Nursery, waited_s: float) -> None:
    table = Table(nursery, bots_wait=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob, seats=3, bots=("random",))
    ann.ready(room)
    bob.ready(room)
    await trio.sleep(waited_s)
    begun = waited_s > room.options.countdown_s
    if begun:
        ann.move(room)
        bob.stop(room)
        await table.settle()
    home = [seat.position.home for seat in room.core.race.seats if seat.position is not None]
    await table.rooms.stop()
    aborted = table.journal.entries[-1]
    assert isinstance(aborted, RaceAborted)
    assert aborted.reason == "its room was closed"
    assert [(seat.player, seat.name, seat.bot) for seat in aborted.seats] == [
        (ann.player.id, "Ann", None),
        (bob.player.id, "Bob", None),
        (None, "random", "random"),
    ]
    assert [seat.state for seat in aborted.seats] == (["racing", "stopped", "racing"] if begun else ["waiting"] * 3)
    assert [seat.home for seat in aborted.seats] == home
    assert [seat.place for seat in aborted.seats] == [None] * 3
    assert [seat.ended_at_ms is not None for seat in aborted.seats] == [False, begun, False]


async def test_of_a_race_that_cannot_be_made_again_the_seats_are_read_as_far_as_that_goes(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.move(room)
    await table.settle()
    running = table.journal.running(room.code)
    names = [seat.name for seat in seats_left(room.core.race)]
    assert names == ["Ann", "Bob"]
    assert seats_readable(running) == seats_left(room.core.race)
    last = running.commands[-1]
    wrong = msgspec.structs.replace(last, sequence=last.sequence + 1, command=PlayMove(0, 7, "s"))
    assert seats_readable(replace(running, commands=(*running.commands, wrong))) == seats_left(room.core.race)
    assert seats_readable(replace(running, commands=running.commands[:1])) == ()
    assert seats_readable(replace(running, opened=replace(running.opened, options=RaceOptions(rules="chess")))) == ()
    assert seats_readable(None) == ()


async def test_a_server_that_stops_leaves_its_races_to_the_next_one(nursery: trio.Nursery) -> None:
    table = Table(nursery, keeps=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    await table.rooms.stop()
    assert not ann.all(Left)
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    _, again = await restart(table, room)
    assert again.core.race.phase == "racing"


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_server_that_stops_tells_views_and_results_that_are_still_being_kept(nursery: trio.Nursery, *, keeps: bool) -> None:
    table = Table(nursery, keeps=keeps)
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    room, other = await table.racing(ann, bob), await table.racing(eve, zoe)
    table.journal.hold()
    ann.move(room)
    eve.stop(other)
    zoe.stop(other)
    nursery.start_soon(table.rooms.stop)
    await table.settle()
    assert not ann.all(PlayerView)
    assert not eve.all(Result)
    assert len(table.rooms) == 2
    table.journal.release()
    assert ann.last(PlayerView).ply == bob.last(Progress).ply == 1
    assert eve.last(Result).record == zoe.last(Result).record
    assert bool(ann.all(Left)) is not keeps
    await table.settle()
    assert len(table.rooms) == 0


async def test_a_room_whose_journal_takes_nothing_more_ends_and_no_other_hears_of_it(table: Table) -> None:
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    room, other = await table.racing(ann, bob), await table.racing(eve, zoe, time_limit_s=60)
    table.journal.closed = True
    ann.move(room)
    assert (ann.last(Error).code, ann.heard[-1]) == (ErrorCode.NOT_KEPT, Left(code=room.code, reason="failed"))
    assert not ann.all(PlayerView)
    await trio.sleep(100)
    assert eve.heard[-1] == Left(code=other.code, reason="failed")
    assert len(table.rooms) == 0


async def test_a_server_that_stops_in_an_outage_says_once_that_the_next_one_carries_on_with_its_races(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    people = [table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe")]
    await table.racing(*people[:2])
    await table.racing(*people[2:])
    table.rooms.outage(Outage(trio.current_time(), "no space left"))
    table.journal.error = JournalClosed("no space left")
    await table.rooms.stop()
    assert [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"] == [
        "the database could not be written before the end; the next server carries on with 2 races from what was acknowledged"
    ]


async def test_a_server_that_breaks_down_leaves_its_races_to_the_next_one_too(nursery: trio.Nursery) -> None:
    async with trio.open_nursery() as broken:
        table = Table(broken, keeps=True)
        ann, bob = table.guest("Ann"), table.guest("Bob")
        room = await table.racing(ann, bob)
        broken.cancel_scope.cancel()
    assert not ann.all(Left)
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    _, again = await restart(table, room, nursery)
    assert again.core.race.phase == "racing"


async def test_a_race_goes_on_after_a_crash_where_it_was_with_its_clock(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    for guest in (ann, bob, ann, ann):
        guest.move(room)
        await trio.sleep(1)
    seen = {guest: (guest.view, guest.ply, guest.version) for guest in (ann, bob)}
    await trio.sleep(20)
    new, again = await restart(table, room)
    assert again.core.race.starts_at == room.core.race.starts_at
    assert [seat.connected for seat in again.core.race.seats] == [False, False]
    for guest in (ann, bob):
        back = new.guest(guest.player.name)
        back.version = guest.version
        assert new.rooms.of(guest.player.id) is again
        back.enter(again)
        await new.settle()
        # A version of the earlier server is answered with everything, never with events.
        assert isinstance(back.heard[0], Room)
        assert (back.view, back.ply) == seen[guest][:2]
        assert back.version > seen[guest][2]
        # The time was noted every ten seconds, last four seconds before the crash; what came after that is forgiven.
        assert 13_000 <= back.last(Room).elapsed_ms < 25_000
        back.move(again)
        await new.settle()
        assert back.ply == seen[guest][1] + 1
        back.stop(again)
        await new.settle()
    audit(new.guests[0].last(Result).record)


async def test_whoever_does_not_come_back_after_a_crash_has_the_whole_grace_and_then_forfeits(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, grace_s=30)
    await trio.sleep(100)
    new, again = await restart(table, room)
    (back,) = await come_back(new, again, ann)
    await trio.sleep(29)
    assert (again.core.race.seats[1].state, back.all(Presence)) == ("racing", [])
    await trio.sleep(2)
    assert again.core.race.seats[1].state == "forfeited"
    audit(back.last(Result).record)


@pytest.mark.parametrize("by_s", [-86_400, 600, 86_400])
async def test_wherever_the_wall_was_set_meanwhile_clocks_and_grace_run_on_from_where_they_were(
    table: Table, ann: Guest, bob: Guest, by_s: float
) -> None:
    room = await table.racing(ann, bob, grace_s=30)
    await trio.sleep(4)
    ann.move(room)
    await table.settle()
    new, again = await restart(table, room, clock=moved(by_s))
    (back,) = await come_back(new, again, ann)
    before = back.last(Room).elapsed_ms
    await trio.sleep(10)
    back.move(again)
    await new.settle()
    assert 9_900 <= back.last(PlayerView).elapsed_ms - before <= 10_100
    await trio.sleep(19)
    states = [again.core.race.seats[1].state]
    await trio.sleep(2)
    states.append(again.core.race.seats[1].state)
    assert states == ["racing", "forfeited"]
    record = back.last(Result).record
    assert 34_000 <= record.ended_at_ms <= 36_000
    audit(record)


async def test_time_in_which_no_server_was_there_counts_for_no_time_limit(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, time_limit_s=60)
    entries = list(table.journal.entries)
    await trio.sleep(70)
    table.journal.entries = entries
    new, again = await restart(table, room)
    await come_back(new, again, ann, bob)
    await trio.sleep(59)
    phases = [again.core.race.phase]
    await trio.sleep(2)
    phases.append(again.core.race.phase)
    assert phases == ["racing", "over"]
    over = new.journal.entries[-1]
    assert isinstance(over, RaceOver)
    assert [seat.state for seat in over.record.seats] == ["out-of-time", "out-of-time"]
    audit(over.record)


async def test_whoever_resigned_and_watches_has_their_seat_after_a_crash_and_whoever_left_has_none(nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob, cyd, dan, eve = (table.guest(name) for name in ("Ann", "Bob", "Cyd", "Dan", "Eve"))
    room = await table.racing(ann, bob, cyd, dan, eve)
    bob.resign(room)
    cyd.leave(room)
    dan.resign(room)
    dan.leave(room)
    await table.settle()
    assert room.core.race.phase == "racing"
    new, again = await restart(table, room)
    assert [new.rooms.of(guest.player.id) for guest in (ann, bob, cyd, dan, eve)] == [again, again, None, None, again]


async def test_before_the_start_seats_and_readiness_come_back(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, seats=2)
    ann.ready(room)
    await table.settle()
    new, again = await restart(table, room)
    for guest in (ann, bob):
        back = new.guest(guest.player.name)
        back.enter(again)
        await new.settle()
        if guest is bob:
            back.ready(again)
    await new.settle()
    assert again.core.race.phase == "countdown"


@pytest.mark.parametrize("bot", ["random", "greedy"])
async def test_a_house_bot_plays_on_after_a_crash(nursery: trio.Nursery, bot: str) -> None:
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.racing(ann, bots=(bot,))
    await trio.sleep(10)
    played = room.core.race.seats[1].ply
    assert played > 3
    new, again = await restart(table, room)
    await trio.sleep(5)
    assert again.core.race.seats[1].ply > played
    assert new.journal.running(room.code).opened == table.journal.running(room.code).opened


async def test_a_race_that_cannot_be_made_again_is_refused_with_a_sentence(
    table: Table, ann: Guest, bob: Guest, nursery: trio.Nursery
) -> None:
    room = await table.racing(ann, bob)
    running = table.journal.running(room.code)
    new = Table(nursery, seed=2)
    wrong = CommandTaken(race=running.opened.race, sequence=1, at_ms=1, command=PlayMove(0, 0, "s"))
    with pytest.raises(ValueError, match="its commands cannot be taken again"):
        new.rooms.resume(RunningRoom(type(running)(running.opened, (wrong,))))
    with pytest.raises(ValueError, match="there is another race in room"):
        table.rooms.resume(RunningRoom(running))
    assert isinstance(new.journal, Notebook)
    assert not list(new.rooms)


async def test_a_rematch_is_a_race_of_its_own_in_the_journal(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.over(ann, bob)
    ann.rematch(room)
    bob.rematch(room)
    await table.settle()
    await table.begin(room, ann, bob)
    ann.move(room)
    await table.settle()
    opened = [entry for entry in table.journal.entries if isinstance(entry, RaceOpened)]
    assert [entry.number for entry in opened] == [1, 2]
    assert opened[0].race != opened[1].race
    assert opened[0].secret != opened[1].secret
    commands = table.journal.running(room.code).commands
    assert commands[-1].command == PlayMove(0, 0, room.core.race.seats[0].played[0].move)
    assert not ann.all(CurrentView)


async def test_a_private_room_goes_on_under_letters_that_are_not_its_code(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, public=False)
    first = room.core.race.id
    new, again = await restart(table, room)
    assert again.core.race.id == first
    guests = await come_back(new, again, ann, bob)
    for guest in guests:
        guest.stop(again)
    await new.settle()
    for guest in guests:
        guest.rematch(again)
    await new.settle()
    letters = again.core.race.id.partition("-")[0]
    assert again.core.race.number == 2
    assert letters == first.partition("-")[0] != again.code


async def test_a_server_that_dies_at_once_after_each_start_forfeits_nobody(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob, grace_s=10)
    for _ in range(10):
        await trio.sleep(9)
        table, room = await restart(table, room)
    assert [seat.state for seat in room.core.race.seats] == ["racing", "racing"]
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceOver)]


@pytest.mark.parametrize("comes_back", [False, True])
async def test_after_a_crash_whoever_was_done_and_had_left_is_not_led_back_unless_they_had_come_to_watch(
    nursery: trio.Nursery, comes_back: bool
) -> None:
    table = Table(nursery)
    ann, bob, eve = (table.guest(name) for name in ("Ann", "Bob", "Eve"))
    room = await table.racing(ann, bob, eve)
    ann.stop(room)
    eve.resign(room)
    for guest in (ann, eve):
        guest.leave(room)
    if comes_back:
        for guest in (ann, eve):
            guest.enter(room)
    await table.settle()
    new, again = await restart(table, room)
    theirs = again if comes_back else None
    assert [new.rooms.of(guest.player.id) for guest in (ann, bob, eve)] == [theirs, again, theirs]
    (other,) = await come_back(new, again, bob)
    other.stop(again)
    await new.settle()
    # Those who are left see who is there for a rematch.
    assert [seat.player is not None for seat in again.summary.seats] == [comes_back, True, comes_back]


async def test_a_series_that_somebody_had_given_up_in_the_race_before_a_crash_is_over_with_that_race(
    table: Table, ann: Guest, bob: Guest
) -> None:
    room = await table.racing(ann, bob, series=SeriesOptions(format="best-of", races=3))
    ann.stop(room)
    ann.leave(room)
    await table.settle()
    new, again = await restart(table, room)
    (back,) = await come_back(new, again, bob)
    back.stop(again)
    await new.settle()
    over = back.last(Scored).series
    assert (over.over, [seat.gone for seat in over.seats]) == (True, [True, False])
