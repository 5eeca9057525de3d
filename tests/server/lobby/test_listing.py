"""The listing and the closest races, compared with a look at all rooms."""

from __future__ import annotations

import random

import pytest
import trio

from server.lobby.listing import Listing
from server.rooms.driver import Room
from tests.server.rooms.playing import Guest, Table, closest_first

pytestmark = pytest.mark.usefixtures("autojump_clock")


def check(listing: Listing, table: Table) -> None:
    rooms = list(table.rooms)
    waiting = [room for room in rooms if room.options.public and room.core.race.phase == "waiting"]
    assert set(listing.open) == {room for room in waiting if any(seat.player is None for seat in room.core.race.seats)}
    assert listing.running == sum(room.core.race.phase in ("countdown", "racing") for room in rooms)
    assert table.rooms.closest.look() == list(table.rooms.closest) == closest_first(table)


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
