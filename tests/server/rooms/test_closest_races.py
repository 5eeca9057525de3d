"""The closest races, of which a look ranks some again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import msgspec
import pytest
import trio

from server.rooms import closest_races
from server.rooms.closest_races import CloseRace
from server.rooms.driver import Room
from server.rooms.summary import LeadRank, SeatSummary, lead_rank
from tests.server.rooms.playing import Table, closest_first

pytestmark = pytest.mark.usefixtures("autojump_clock")


async def test_a_look_ranks_so_many_races_however_many_there_are_and_all_of_them_in_turn(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[object] = []

    def noted(seats: Iterable[SeatSummary]) -> LeadRank:
        ranked.append(seats)
        return lead_rank(seats)

    table = Table(nursery, max_rooms=100)
    closest = table.rooms.closest
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"), deal="143") for number in range(16)]
    monkeypatch.setattr(closest_races, "RANKED", 3)
    monkeypatch.setattr(closest_races, "LISTED", 2)
    monkeypatch.setattr("server.rooms.summary.lead_rank", noted)
    closest.look()
    last = closest_first(table)[-1]
    first = table.guests[2 * rooms.index(last)]
    assert first.view is not None
    first.move(last, next(move for move in first.view.moves if move != "s"))
    await table.settle()
    assert closest_first(table)[0] is last, "the only one with a move"
    found: Sequence[Room] = ()
    for _ in range(6):
        ranked.clear()
        found = closest.look()
        assert len(ranked) <= 3 + 2 + 2
    assert found == closest_first(table)[:2]
    assert list(closest) == closest_first(table)


async def test_a_race_that_is_not_close_any_more_is_not_first_after_the_next_look(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    closest = table.rooms.closest
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"), deal="143") for number in range(8)]
    monkeypatch.setattr(closest_races, "RANKED", 0)
    monkeypatch.setattr(closest_races, "LISTED", 2)
    # One move each puts them first, and the later ones of one seat apart.
    for each in table.guests[4:8]:
        each.move(rooms[table.guests.index(each) // 2], "s")
    await table.settle()
    for room in rooms[2:4]:
        table.rooms.changed(room)
    assert list(closest)[:2] == closest_first(table)[:2] == sorted(rooms[2:4], key=lambda room: room.code)
    first = next(iter(closest))
    assert isinstance(first, Room)
    leader = table.guests[2 * rooms.index(first)]
    assert leader.view is not None
    leader.move(first, next(move for move in leader.view.moves if move != "s"))
    await table.settle()
    closest.look()
    assert next(iter(closest)) is closest_first(table)[0] is not first


async def test_those_of_other_servers_are_in_the_same_order(table: Table) -> None:
    room = await table.racing(table.guest("Ann"), table.guest("Bob"))
    rank = room.summary.lead_rank
    assert rank is not None
    people, _, lead, home = rank
    closer = CloseRace((people, False, lead, home), "ZZZZZZ", ("Cid",))
    # A room that has just moved here from a server which has told of it.
    moved = CloseRace(rank, room.code, room.summary.holders)
    less_close = CloseRace((people + 1, False, lead, home), "222222", ())
    closest = table.rooms.closest
    told = [msgspec.msgpack.encode(races) for races in ([moved], [closer, less_close], [moved])]
    closest.hear([b"not this", *told])
    assert list(closest) == [closer, room, moved, moved, less_close]


async def test_that_there_is_no_race_is_told_once(table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    closest = table.rooms.closest
    assert closest.say() == b""
    room = await table.racing(ann, bob)
    assert [race.code for race in msgspec.msgpack.decode(closest.say(), type=list[CloseRace])] == [room.code]
    for each in (ann, bob):
        each.stop(room)
    await table.settle()
    assert [closest.say(), closest.say()] == [msgspec.msgpack.encode([]), b""]


async def test_what_is_listed_stays_so_and_only_the_closest_of_all_takes_a_place(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closest_races, "LISTED", 4)
    closest = table.rooms.closest
    chance = random.Random(2)
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"), deal="143") for number in range(9)]
    listed = closest.look()
    changes = 0
    for _ in range(150):
        number = chance.randrange(9)
        player = table.guests[2 * number + chance.randrange(2)]
        assert player.view is not None
        if rooms[number].core.race.phase == "racing" and player.view.moves:
            player.move(rooms[number], chance.choice(player.view.moves))
        await table.settle()
        before, listed = listed, closest.look()
        order = closest_first(table)
        assert listed[0] is order[0]
        assert listed == [room for room in order if room in listed]
        come = set(listed) - set(before)
        assert come <= {order[0]}
        changes += len(come)
    assert 0 < changes < 60
    # One that is over leaves its place to the closest that are not listed.
    last = listed[-1]
    number = rooms.index(last)
    for player in table.guests[2 * number : 2 * number + 2]:
        player.stop(last)
    await table.settle()
    (newcomer,) = set(closest.look()) - set(listed)
    assert newcomer is next(room for room in closest_first(table) if room not in listed)
