"""The listing, compared with a look at all rooms."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
import trio

from server.lobby import listing as listing_module
from server.lobby.listing import Listing
from server.rooms.driver import Room
from server.rooms.summary import LeadRank, SeatSummary, lead_rank
from tests.server.rooms.playing import Guest, Table

pytestmark = pytest.mark.usefixtures("autojump_clock")


def closest(table: Table) -> list[Room]:
    ranked = [(rank, room.code, room) for room in table.rooms if room.options.public and (rank := room.summary.lead_rank) is not None]
    return [room for _, _, room in sorted(ranked)]


def check(listing: Listing, table: Table) -> None:
    rooms = list(table.rooms)
    waiting = [room for room in rooms if room.options.public and room.core.race.phase == "waiting"]
    assert set(listing.open) == {room for room in waiting if any(seat.player is None for seat in room.core.race.seats)}
    assert listing.running == sum(room.core.race.phase in ("countdown", "racing") for room in rooms)
    assert listing.closest(100) == closest(table)


async def test_whatever_happens_it_is_what_a_look_at_all_rooms_finds(nursery: trio.Nursery) -> None:
    table = Table(nursery, max_rooms=200)
    chance = random.Random(1)
    listing = Listing()
    table.rooms.on_room_change.append(listing.changed)
    seated: list[tuple[Room, Guest, Guest]] = []
    ran = closed = False
    for number in range(600):
        if number % 12 == 0:
            ann, bob = table.guest(f"Ann {number}"), table.guest(f"Bob {number}")
            room = await table.seated(ann, seats=2, public=chance.random() < 0.7, deal="143")
            seated.append((room, ann, bob))
        room, ann, bob = chance.choice(seated)
        one = chance.choice((ann, bob))
        match chance.randrange(20):
            case 0 | 1 | 2 if room.summary.holds(ann.player.id) and not room.summary.holds(bob.player.id):
                bob.enter(room)
            case 3 | 4 | 5 | 6 if room.core.race.phase == "waiting" and all(room.summary.holds(each.player.id) for each in (ann, bob)):
                await table.begin(room, ann, bob)
            case 7 | 8 | 9 | 10 | 11 | 12 if room.core.race.phase == "racing" and room.summary.holds(one.player.id):
                assert one.view is not None
                one.move(room, chance.choice(one.view.moves))
            case 13 | 14 if room.core.race.phase == "racing" and room.summary.holds(one.player.id):
                one.stop(room)
            case 15 if room.summary.holds(one.player.id) and not room.is_closed:
                one.leave(room)
            case 16 | 17 if room.core.race.phase == "over" and not room.is_closed:
                for each in (ann, bob):
                    if room.summary.holds(each.player.id):
                        each.rematch(room)
            case _:
                pass
        await table.settle()
        check(listing, table)
        ran, closed = ran or listing.running > 1, closed or len(table.rooms) < len(seated)
    assert ran
    assert closed


async def test_a_look_ranks_so_many_races_however_many_there_are_and_all_of_them_in_turn(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[object] = []

    def noted(seats: Iterable[SeatSummary]) -> LeadRank:
        ranked.append(seats)
        return lead_rank(seats)

    table = Table(nursery, max_rooms=100)
    listing = Listing()
    table.rooms.on_room_change.append(listing.changed)
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"), deal="143") for number in range(12)]
    monkeypatch.setattr(listing_module, "RANKED", 3)
    monkeypatch.setattr("server.rooms.summary.lead_rank", noted)
    listing.closest(2)
    last = closest(table)[-1]
    first = table.guests[2 * rooms.index(last)]
    assert first.view is not None
    first.move(last, next(move for move in first.view.moves if move != "s"))
    await table.settle()
    assert closest(table)[0] is last, "the only one with a move"
    found: Sequence[Room] = ()
    for _ in range(5):
        ranked.clear()
        found = listing.closest(2)
        assert len(ranked) <= 3 + 2
    assert found == closest(table)[:2]
    assert listing.closest(100) == closest(table)


async def test_what_is_listed_stays_so_and_only_the_closest_of_all_takes_a_place(nursery: trio.Nursery) -> None:
    table = Table(nursery, max_rooms=100)
    listing = Listing()
    table.rooms.on_room_change.append(listing.changed)
    chance = random.Random(2)
    rooms = [await table.racing(table.guest(f"Ann {number}"), table.guest(f"Bob {number}"), deal="143") for number in range(9)]
    listed = listing.closest(4)
    changes = 0
    for _ in range(150):
        number = chance.randrange(9)
        player = table.guests[2 * number + chance.randrange(2)]
        assert player.view is not None
        if rooms[number].core.race.phase == "racing" and player.view.moves:
            player.move(rooms[number], chance.choice(player.view.moves))
        await table.settle()
        before, listed = listed, listing.closest(4)
        order = closest(table)
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
    (newcomer,) = set(listing.closest(4)) - set(listed)
    assert newcomer is next(room for room in closest(table) if room not in listed)
