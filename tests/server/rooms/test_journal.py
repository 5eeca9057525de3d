"""What a room has kept of it: nobody is told of what is not safe, and an earlier server's race goes on where it was."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode
from protocol.server_messages import CurrentView, Error, Left, PlayerView, Presence, Progress, Result, Room
from server.race.audit import audit
from server.race.commands import PlayMove
from server.rooms.room import Room as ServedRoom
from server.store.errors import StoreFull
from server.store.port import CommandTaken, Entry, RaceAborted, RaceOpened, RaceOver
from tests.server.rooms.playing import Notebook, Table


async def restart(old: Table, room: ServedRoom, nursery: trio.Nursery) -> tuple[Table, ServedRoom]:
    """Another server, on what the journal of the first one has of the room. The first is forgotten as by a crash."""
    # The wall goes on while no server runs, and it is virtual here: the one clock stands for both servers'.
    new = Table(nursery, seed=2, clock=old.clock)
    new.journal.entries = list(old.journal.entries)
    new.rooms.go_on(old.journal.running(room.code))
    await new.settle()
    return new, new.rooms.find(room.code)


async def test_nobody_is_told_of_a_move_before_it_is_kept(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.gate = trio.Event()
    ann.move(room)
    await table.settle()
    assert not ann.all(PlayerView)
    assert not bob.all(Progress)
    table.journal.gate.set()
    await table.settle()
    assert ann.last(PlayerView).ply == 1
    assert bob.last(Progress).ply == 1


async def test_a_view_that_was_missed_is_made_up_for_only_when_what_it_shows_is_kept(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.gate = trio.Event()
    ann.move(room)
    await table.settle()
    assert room.catch_up(ann.player, ann)
    assert len(ann.all(Room)) == 1
    table.journal.gate.set()
    await table.settle()
    assert [message.view is not None for message in ann.all(Room)] == [False, True]


async def test_what_came_while_the_journal_wrote_is_written_together(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    requests: list[int] = []
    write = table.journal.write

    async def counted(*entries: Entry) -> None:
        requests.append(len(entries))
        await trio.lowlevel.checkpoint()
        await write(*entries)

    table.journal.write = counted  # type: ignore[method-assign]
    ann.move(room)
    bob.move(room)
    await table.settle()
    assert requests == [2]
    assert (ann.ply, bob.ply) == (1, 1)


async def test_when_nothing_can_be_kept_the_race_ends_without_a_result_and_the_others_go_on(
    autojump_clock: MockClock, table: Table, caplog: pytest.LogCaptureFixture
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


async def test_the_record_is_kept_together_with_the_move_that_ended_the_race(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.over(ann, bob)
    entries = table.journal.entries
    assert isinstance(entries[-2], CommandTaken)
    over = entries[-1]
    assert isinstance(over, RaceOver)
    assert over.record == ann.last(Result).record == room.race.record
    assert over.players == (ann.player.id, bob.player.id)


async def test_a_repeated_or_refused_move_is_not_kept_twice(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
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


async def test_a_room_that_is_closed_before_the_start_leaves_no_race_that_is_running(autojump_clock: MockClock, table: Table) -> None:
    ann = table.guest("Ann")
    room = await table.seated(ann, seats=2)
    ann.leave(room)
    await table.settle()
    opened, aborted = table.journal.entries[0], table.journal.entries[-1]
    assert isinstance(opened, RaceOpened)
    assert isinstance(aborted, RaceAborted)
    assert aborted.race == opened.race


async def test_a_server_that_stops_leaves_its_races_to_the_next_one(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, keeps=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    await table.rooms.stop()
    assert not ann.all(Left)
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    _, again = await restart(table, room, nursery)
    assert again.race.phase == "racing"


async def test_a_race_goes_on_after_a_crash_where_it_was_with_its_clock_running(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    for guest in (ann, bob, ann, ann):
        guest.move(room)
        await trio.sleep(1)
    seen = {guest: (guest.view, guest.ply, guest.version) for guest in (ann, bob)}
    await trio.sleep(20)
    new, again = await restart(table, room, nursery)
    assert again.race.starts_at == room.race.starts_at
    assert [seat.connected for seat in again.race.seats] == [False, False]
    for guest in (ann, bob):
        back = new.guest(guest.player.name)
        back.player = guest.player
        back.version = guest.version
        assert new.rooms.of(guest.player.id) is again
        back.enter(again)
        await new.settle()
        # A version of the earlier server is answered with everything, never with events.
        assert isinstance(back.heard[0], Room)
        assert (back.view, back.ply) == seen[guest][:2]
        assert back.version > seen[guest][2]
        assert back.last(Room).elapsed_ms >= 24_000
        back.move(again)
        await new.settle()
        assert back.ply == seen[guest][1] + 1
        back.stop(again)
        await new.settle()
    audit(new.guests[0].last(Result).record)


async def test_who_does_not_come_back_after_a_crash_has_the_whole_grace_and_then_forfeits(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    table = Table(nursery)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, grace_s=30)
    await trio.sleep(100)
    new, again = await restart(table, room, nursery)
    back = new.guest("Ann")
    back.player = ann.player
    back.enter(again)
    await trio.sleep(29)
    assert again.race.seats[1].state == "racing"
    assert [presence.seat for presence in back.all(Presence)] == []
    await trio.sleep(2)
    assert again.race.seats[1].state == "forfeited"
    audit(back.last(Result).record)


async def test_a_race_whose_time_ran_out_meanwhile_is_over_when_the_next_server_starts(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    table = Table(nursery)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob, time_limit_s=60)
    entries = list(table.journal.entries)
    await trio.sleep(70)
    table.journal.entries = entries
    new, again = await restart(table, room, nursery)
    assert again.race.phase == "over"
    over = new.journal.entries[-1]
    assert isinstance(over, RaceOver)
    assert [seat.state for seat in over.record.seats] == ["out-of-time", "out-of-time"]
    audit(over.record)


async def test_before_the_start_seats_and_readiness_come_back(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, seats=2)
    ann.ready(room)
    await table.settle()
    new, again = await restart(table, room, nursery)
    for guest in (ann, bob):
        back = new.guest(guest.player.name)
        back.player = guest.player
        back.enter(again)
        await new.settle()
        if guest is bob:
            back.ready(again)
    await new.settle()
    assert again.race.phase == "countdown"


@pytest.mark.parametrize("bot", ["random", "greedy"])
async def test_a_house_bot_plays_on_after_a_crash(autojump_clock: MockClock, nursery: trio.Nursery, bot: str) -> None:
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.racing(ann, bots=(bot,))
    await trio.sleep(10)
    played = room.race.seats[1].ply
    assert played > 3
    new, again = await restart(table, room, nursery)
    await trio.sleep(5)
    assert again.race.seats[1].ply > played
    assert new.journal.running(room.code).opened == table.journal.running(room.code).opened


async def test_a_race_that_cannot_be_made_again_is_refused_with_a_sentence(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    running = table.journal.running(room.code)
    new = Table(nursery, seed=2)
    wrong = CommandTaken(race=running.opened.race, sequence=1, at_ms=1, command=PlayMove(0, 0, "s"))
    with pytest.raises(ValueError, match="its commands cannot be taken again"):
        new.rooms.go_on(type(running)(running.opened, (wrong,)))
    with pytest.raises(ValueError, match="there is another race in room"):
        table.rooms.go_on(running)
    assert isinstance(new.journal, Notebook)
    assert not list(new.rooms)


async def test_a_rematch_is_a_race_of_its_own_in_the_journal(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
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
    assert commands[-1].command == PlayMove(0, 0, room.race.seats[0].played[0].move)
    assert not ann.all(CurrentView)
