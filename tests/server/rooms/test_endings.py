"""The end of a room: a crash, a server that stops, and what happens to requests that come too late."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode, Refusal
from protocol.server_messages import Error, Left
from protocol.views import RaceOptions
from server.race.machine import Race
from server.rooms.driver import Room
from server.rooms.requests import CallOff
from server.runtime import log_lines
from server.store.port import RaceAborted
from tests.server.rooms.playing import Guest, Table


def break_room(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(room.core._races, "race", Broken(room.core.race, fail))


class Broken:
    """A race in which every command fails."""

    def __init__(self, race: Race, fail: object) -> None:
        self._race = race
        self.apply = fail

    def __getattr__(self, name: str) -> object:
        return getattr(self._race, name)


async def test_a_crash_ends_one_room_tells_its_members_and_leaves_the_others_alone(
    table: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    room = await table.racing(ann, bob)
    other = await table.racing(eve, zoe)
    break_room(room, monkeypatch)
    ann.stop(room)
    await table.settle()
    for guest in (ann, bob):
        error, left = guest.heard[-2:]
        assert isinstance(error, Error)
        assert error.code == ErrorCode.INTERNAL
        assert left == Left(code=room.code, reason="failed")
        assert table.rooms.of(guest.player.id) is None
    assert "a bug" not in ann.last(Error).message
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [f"room {room.code} crashed"]
    eve.move(other)
    await table.settle()
    assert eve.ply == 1
    ann.version = 0
    await table.seated(ann, seats=2)


async def test_a_room_that_cannot_even_be_ended_leaves_no_word_of_its_race_to_later_lines_of_the_log(
    table: Table, ann: Guest, bob: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = await table.racing(ann, bob)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    for name in ("move", "fail"):
        monkeypatch.setattr(room.core, name, fail)
    with pytest.raises(RuntimeError):
        ann.move(room)
    assert log_lines.race.get() == ""
    table.rooms.gone(room)


async def test_whoever_asks_a_room_that_has_crashed_is_told_that_it_is_closed_and_bound_by_nothing(
    table: Table, ann: Guest, bob: Guest, eve: Guest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = await table.seated(ann, seats=4)
    break_room(room, monkeypatch)
    bob.enter(room)
    assert bob.codes == []
    asks: tuple[Callable[[], object], ...] = (lambda: eve.enter(room, ref=9), lambda: ann.say(room, "anybody there?"))
    for ask in asks:
        with pytest.raises(Refusal) as refused:
            ask()
        assert refused.value.code is ErrorCode.ROOM_CLOSED
    assert ann.codes == [ErrorCode.INTERNAL]
    assert [table.rooms.of(guest.player.id) for guest in (ann, bob, eve)] == [None, None, None]


async def test_whoever_enters_as_the_last_one_leaves_is_told_that_the_room_is_closed(table: Table, ann: Guest, bob: Guest) -> None:
    room = await table.seated(ann, seats=2)
    ann.leave(room)
    with pytest.raises(Refusal) as refused:
        bob.enter(room)
    assert refused.value.code is ErrorCode.ROOM_CLOSED
    assert table.rooms.of(bob.player.id) is None
    assert len(table.rooms) == 0


@pytest.mark.parametrize(
    ("reason", "kept"), [("fire alarm", "the host of the server ended it: fire alarm"), ("", "the host of the server ended it")]
)
async def test_a_race_that_the_host_ends_is_kept_with_their_reason_if_they_gave_one(table: Table, reason: str, kept: str) -> None:
    room = await table.racing(table.guest("Ann"), table.guest("Bob"))
    room.tell(CallOff(also_running=True, by_host=reason))
    await table.settle()
    (aborted,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    assert aborted.reason == room.summary.closed == kept


async def test_a_closed_room_takes_no_requests(table: Table, ann: Guest) -> None:
    room = await table.seated(ann, seats=2)
    ann.leave(room)
    await table.settle()
    with pytest.raises(Refusal) as refused:
        ann.say(room, "hello?")
    assert refused.value.code is ErrorCode.ROOM_CLOSED
    with pytest.raises(Refusal) as refused:
        ann.enter(room)
    assert refused.value.code is ErrorCode.ROOM_CLOSED
    assert table.rooms.of(ann.player.id) is None
    await ann.vanish(room)
    assert not room.catch_up(ann.player.id, ann)


async def test_stopping_tells_every_member_before_it_returns_and_opens_no_more(table: Table) -> None:
    pairs = [(table.guest(f"A{number}"), table.guest(f"B{number}")) for number in range(5)]
    rooms = [await table.racing(*pair, bots=("greedy",)) for pair in pairs]
    await table.rooms.stop()
    for room, pair in zip(rooms, pairs, strict=True):
        for guest in pair:
            assert guest.heard[-1] == Left(code=room.code, reason="closed")
    assert len(table.rooms) == 0
    with pytest.raises(Refusal) as refused:
        table.rooms.open(RaceOptions())
    assert refused.value.code is ErrorCode.SERVER_STOPPING
    await table.rooms.stop()


async def test_a_room_that_is_cancelled_tells_its_members(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        table = Table(nursery)
        ann: Guest = table.guest("Ann")
        room = await table.seated(ann, seats=2)
        nursery.cancel_scope.cancel()
    assert ann.heard[-1] == Left(code=room.code, reason="closed")
    assert len(table.rooms) == 0
