"""Ends of races that could not be kept: written as soon as that can be, and by nobody's waiting."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.server_messages import Left
from server.rooms import abort_retry_queue as owed
from server.rooms.abort_retry_queue import AbortRetryQueue
from server.store.errors import EntryRefused, StoreFull
from server.store.port import RaceAborted
from tests.server.rooms.playing import Notebook, Table


def aborted(number: int) -> RaceAborted:
    return RaceAborted(race=f"race {number}", reason="for a test", at_ms=number)


async def test_a_race_that_failed_on_a_full_disk_is_aborted_once_there_is_space_again(autojump_clock: MockClock, table: Table) -> None:
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.error = StoreFull("no space left")
    ann.move(room)
    await trio.sleep(200)
    assert ann.heard[-1] == Left(code=room.code, reason="failed")
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    table.journal.error = None
    await trio.sleep(owed.LONGEST_PAUSE_S)
    (end,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    assert (end.race, end.reason, len(end.seats)) == (room.core.race.id, "the server could not go on with it", 2)


async def test_what_is_owed_is_tried_once_more_when_the_server_stops(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, keeps=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bob)
    table.journal.error = StoreFull("no space left")
    ann.move(room)
    await table.settle()
    table.journal.error = None
    await table.rooms.stop()
    assert isinstance(table.journal.entries[-1], RaceAborted)


async def test_a_server_that_stops_on_a_full_disk_does_not_wait_for_space(
    autojump_clock: MockClock, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    room = await table.racing(table.guest("Ann"), table.guest("Bob"))
    table.journal.error = StoreFull("no space left")
    table.guests[0].move(room)
    await table.settle()
    with trio.fail_after(0.5):
        await table.rooms.stop()
    assert "ends of races that could not be kept: 1" in caplog.text


async def test_what_the_store_has_no_use_for_is_forgotten(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    journal = Notebook()
    journal.error = EntryRefused("no race of that id runs")
    debt = AbortRetryQueue(nursery, journal)
    debt.add((aborted(1),))
    await trio.sleep(owed.FIRST_PAUSE_S + 1)
    assert len(debt) == 0


async def test_of_too_many_the_oldest_are_given_up(
    autojump_clock: MockClock, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(owed, "OWED", 2)
    journal = Notebook()
    debt = AbortRetryQueue(nursery, journal)
    for number in range(3):
        debt.add((aborted(number),))
    await trio.sleep(owed.FIRST_PAUSE_S + 1)
    assert journal.entries == [aborted(1), aborted(2)]
    assert "race 0" in caplog.text
    debt.add((aborted(3),))
    await trio.sleep(owed.FIRST_PAUSE_S + 1)
    assert journal.entries[-1] == aborted(3)
