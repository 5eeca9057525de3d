"""The list of rooms, and who is bound to which room."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest
import trio

from protocol.errors import ErrorCode, Refusal
from protocol.views import RaceOptions
from server.rooms.clock import Clock
from server.rooms.codes import ALPHABET, LENGTH, is_code
from server.rooms.registry import Rooms
from server.store.port import room_shown
from tests.server.rooms.playing import Notebook, Table, first_seed, no_ghosts

pytestmark = pytest.mark.usefixtures("autojump_clock")


async def test_a_room_is_found_by_its_code_however_it_is_typed(table: Table) -> None:
    room = table.rooms.open(RaceOptions())
    assert len(room.code) == LENGTH
    for typed in (room.code, room.code.lower(), f" {room.code[:3]}-{room.code[3:]} "):
        assert table.rooms.find(typed) is room


@pytest.mark.parametrize("code", ["", "AAAAAA", "\x1b[2J", "ß" * 16, "0"])
async def test_a_code_that_no_room_has_is_refused(table: Table, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        table.rooms.find(code)
    assert refused.value.code is ErrorCode.NO_SUCH_ROOM


@pytest.mark.parametrize("public", [True, False])
async def test_what_is_kept_of_races_calls_a_public_room_by_its_code_and_a_private_one_by_letters_that_are_none(
    table: Table, public: bool
) -> None:
    room = table.rooms.open(RaceOptions(public=public))
    letters = room_shown(room.core.race.id)
    assert (letters == room.code) is is_code(letters) is public
    assert set(letters) <= set(ALPHABET)


async def test_two_rooms_never_have_the_same_code(nursery: trio.Nursery) -> None:
    # The second room's first code is the first room's. Between them as many bytes are drawn for the id of the first one's race.
    said = iter((bytes(LENGTH), bytes(LENGTH), bytes(LENGTH), bytes(range(LENGTH))))

    def entropy(length: int) -> bytes:
        return next(said, bytes(length)) if length == LENGTH else bytes(length)

    journal = Notebook()
    rooms = Rooms(
        nursery,
        clock=Clock(),
        entropy=entropy,
        software="test",
        journal=journal,
        find_deal=first_seed,
        rating_changes=journal.rating_changes,
        ghost_lines=no_ghosts,
    )
    assert [rooms.open(RaceOptions()).code for _ in range(2)] == ["AAAAAA", "ABCDEF"]


async def test_a_full_server_says_so_and_takes_the_next_race_when_one_has_ended(nursery: trio.Nursery) -> None:
    table = Table(nursery, max_rooms=2)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, seats=2)
    await table.seated(bob, seats=2)
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions())
    assert refused.value.code is ErrorCode.SERVER_FULL
    ann.leave(room)
    await table.settle()
    table.rooms.open(RaceOptions())


async def test_so_many_rooms_are_opened_from_one_address_whoever_asks(nursery: trio.Nursery) -> None:
    table = Table(nursery, max_rooms_per_place=2)
    ann = table.guest("Ann")
    room = table.rooms.open(RaceOptions(), place="192.0.2.1")
    ann.enter(room)
    table.rooms.open(RaceOptions(), place="192.0.2.1")
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions(), place="192.0.2.1")
    assert refused.value.code is ErrorCode.TOO_MANY_ROOMS
    # Of the host, or behind a proxy that nobody has named, nothing is known.
    for place in ("192.0.2.2", None, None, None):
        table.rooms.open(RaceOptions(), place=place)
    # At other servers of the place.
    table.rooms.elsewhere = {"192.0.2.1": 0, "192.0.2.2": 1}.__getitem__
    with pytest.raises(Refusal):
        table.rooms.open(RaceOptions(), place="192.0.2.2")
    ann.leave(room)
    await table.settle()
    table.rooms.open(RaceOptions(), place="192.0.2.1")


async def test_leaving_one_room_late_does_not_unbind_from_the_next(table: Table) -> None:
    one, two = table.rooms.open(RaceOptions()), table.rooms.open(RaceOptions())
    table.rooms.seat_taken(one, "player")
    table.rooms.seat_taken(two, "player")
    table.rooms.seat_left(one, "player")
    assert table.rooms.of("player") is two
    table.rooms.seat_left(two, "player")
    assert table.rooms.of("player") is None


async def test_listeners_hear_of_rooms_and_seats_but_not_of_moves(table: Table) -> None:
    changes = 0

    def count() -> None:
        nonlocal changes
        changes += 1

    listener: Callable[[], None] = count
    table.rooms.on_change.append(listener)
    ann = table.guest("Ann")
    room = await table.racing(ann)
    assert changes > 0
    before = changes
    ann.move(room)
    ann.say(room, "hm")
    await table.settle()
    assert changes == before
    ann.leave(room)
    await table.settle()
    assert changes > before


async def test_nothing_of_a_room_that_is_gone_is_left_to_the_collection_of_garbage(table: Table) -> None:
    ann, bob, cid, dan = (table.guest(name) for name in ("Ann", "Bob", "Cid", "Dan"))
    gc.disable()
    try:
        waiting, over = await table.seated(ann, bob), await table.over(cid, dan)
        for guest, room in ((ann, waiting), (bob, waiting), (cid, over), (dan, over)):
            guest.leave(room)
        await table.settle()
        refs = weakref.ref(waiting), weakref.ref(over)
        del waiting, over, room
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()
