"""Coming back: the missed versions and nothing else, or a snapshot; nobody hears versions with a gap."""

from __future__ import annotations

import random

import pytest
import trio

from protocol.codec import JSON, MSGPACK
from protocol.phrases import PHRASES
from protocol.room_events import Dealt, Hidden, PlayerView, Presence, Progress, Result, Room, Said
from protocol.server_messages import CurrentView
from server.rooms.history import KEPT_EVENTS
from tests.server.rooms.playing import Guest, Table


async def test_whoever_comes_back_is_told_exactly_what_they_missed(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    await bob.vanish(room)
    ann.move(room)
    ann.phrase(room, "one-moment")
    await table.settle()
    known, heard = bob.version, len(bob.heard)
    bob.enter(room)
    await table.settle()
    missed = bob.heard[heard:]
    assert [type(message) for message in missed] == [Presence, Progress, Said, Presence, CurrentView]
    assert [message.version for message in missed[:-1]] == list(range(known + 1, ann.version + 1))  # type: ignore[union-attr]
    assert missed[-1] == CurrentView(race=1, seat=1, ply=0, state="racing", elapsed_ms=0, view=bob.all(Dealt)[0].view)


async def test_their_own_moves_come_again_as_their_views(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    for _ in range(3):
        bob.move(room)
        ann.move(room)
        await table.settle()
    before = bob.all(PlayerView)
    newer = bob.another_line()
    # As a client that had heard everything before the first move.
    newer.version = before[0].version - 1
    newer.enter(room)
    await table.settle()
    assert newer.all(PlayerView) == before
    assert len(newer.all(Progress)) == 3
    assert newer.last(CurrentView).view == before[-1].view
    assert newer.all(Room) == []


async def test_whoever_knows_nothing_gets_a_snapshot(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    bob.move(room)
    await table.settle()
    newer = bob.another_line()
    newer.enter(room, version=0)
    await table.settle()
    assert [type(message) for message in newer.heard] == [Room]
    snapshot = newer.last(Room)
    assert (snapshot.view, snapshot.seats[1].ply, snapshot.version) == (bob.last(PlayerView).view, 1, ann.version)


async def test_a_version_that_never_was_gets_a_snapshot(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    bob.enter(room, version=2**52)
    await table.settle()
    assert isinstance(bob.heard[-1], Room)


async def test_what_is_too_old_is_told_by_a_snapshot_and_what_is_just_young_enough_by_events(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    while ann.version < KEPT_EVENTS + 20:
        ann.phrase(room, "hello")
        # So fast and no faster they may say it.
        await trio.sleep(1)
    for behind, events in ((KEPT_EVENTS, KEPT_EVENTS), (KEPT_EVENTS + 1, 0)):
        newer = bob.another_line()
        newer.version = ann.version - behind
        newer.enter(room)
        await table.settle()
        assert len(newer.all(Room)) == (not events)
        assert len(newer.all(Said)) + len(newer.all(Presence)) == events


async def test_moves_after_very_many_others_are_told_by_a_snapshot(
    table: Table, ann: Guest, bob: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.rooms.broadcast.RETOLD_MOVES", 3)
    room = await table.racing(ann, bob)
    for plies, told in ((3, PlayerView), (4, Room)):
        known = bob.version
        while len(bob.all(PlayerView)) < plies:
            bob.move(room)
            await table.settle()
        newer = bob.another_line()
        newer.version = known
        newer.enter(room)
        await table.settle()
        assert len(newer.all(told)) == (3 if told is PlayerView else 1)
        assert len(newer.all(Room)) == (told is Room)
        bob.enter(room)
        await table.settle()


async def test_a_deal_that_was_missed_is_dealt_again_and_the_others_stay_hidden(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, bob)
    ann.ready(room)
    bob.ready(room)
    await table.settle()
    await bob.vanish(room)
    await trio.sleep(4)
    bob.enter(room)
    await table.settle()
    assert [dealt.seat for dealt in bob.all(Dealt)] == [1]
    assert len(bob.all(Hidden)) == 1
    assert bob.last(Dealt).view == ann.last(Dealt).view


async def test_whoever_missed_the_end_gets_the_record(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.racing(ann, bob)
    await bob.vanish(room)
    ann.stop(room)
    await trio.sleep(61)
    bob.enter(room)
    await table.settle()
    assert bob.last(Result).record == ann.last(Result).record
    newer = bob.another_line()
    newer.enter(room, version=0)
    await table.settle()
    assert newer.last(Room).record == ann.last(Result).record


async def test_after_missed_messages_a_member_catches_up_in_one_step(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = await table.racing(ann, bob)
    ann.move(room)
    await table.settle()
    heard = len(bob.heard)
    assert room.catch_up(bob.player.id, bob)
    assert [type(message) for message in bob.heard[heard:]] == [Room]
    assert bob.last(Room).version == ann.version
    assert not room.catch_up(eve.player.id, eve)
    assert not room.catch_up(bob.player.id, eve)
    assert eve.heard == []


@pytest.mark.parametrize("seed", range(6))
async def test_in_whatever_way_connections_come_and_go_nobody_hears_a_gap_and_all_see_the_same(table: Table, seed: int) -> None:
    chance = random.Random(seed)
    lines = {name: table.guest(name, encoding=chance.choice((MSGPACK, JSON))) for name in ("Ann", "Bob", "Eve")}
    room = await table.seated(*lines.values(), grace_s=600)
    everything: dict[int, object] = {}
    here = dict(lines)
    for step in range(150):
        name = chance.choice(list(lines))
        guest = lines[name]
        match chance.randrange(6):
            case 0 if name in here:
                await guest.vanish(room)
                del here[name]
            case 1 if name not in here:
                guest.enter(room)
                here[name] = guest
            case 2:
                newer = guest.another_line()
                newer.version = 0 if chance.random() < 0.5 else guest.version
                newer.race, newer.seat, newer.ply, newer.view = guest.race, guest.seat, guest.ply, guest.view
                newer.enter(room)
                lines[name] = here[name] = newer
            case 3 if name in here and room.core.race.phase == "waiting" and step > 20:
                guest.ready(room, race=1)
            case 4 if name in here and guest.view is not None and guest.view.moves and room.core.race.phase == "racing":
                guest.move(room, chance.choice(guest.view.moves))
            case _ if name in here:
                guest.phrase(room, chance.choice(list(PHRASES)))
        await table.settle()
        if chance.random() < 0.3:
            await trio.sleep(chance.random())
    for name, guest in lines.items():
        if name not in here:
            guest.enter(room)
    await table.settle()
    assert len({guest.version for guest in lines.values()}) == 1
    for guest in table.guests:
        for message in guest.heard:
            match message:
                case Said() | Presence(connected=True) | Result():
                    assert everything.setdefault(message.version, message) == message
                case _:
                    pass
    for guest in lines.values():
        seat = guest.seat_in(room)
        assert (guest.seat, guest.ply) == (seat.number, seat.ply)
