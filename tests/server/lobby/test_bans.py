"""Bans hold at once, whatever becomes of the database meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import Refusal
from server.lobby.bans import Bans
from server.rooms.clock import Clock
from server.store.errors import EntryRefused, StoreError, StoreUnavailable
from server.store.port import Entry


class FakeJournal:
    def __init__(self) -> None:
        self.then: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    async def write(self, *entries: Entry) -> None:
        await self.then()

    def fails(self, error: StoreError) -> None:
        async def fail() -> None:
            await trio.lowlevel.checkpoint()
            raise error

        self.then = fail


async def test_a_ban_holds_while_it_cannot_be_kept_yet_and_so_does_its_end(autojump_clock: MockClock) -> None:
    journal = FakeJournal()
    bans = Bans(journal=journal, clock=Clock())
    journal.then = trio.sleep_forever
    with trio.move_on_after(20):
        await bans.ban("player", "anna", "")
    with pytest.raises(Refusal):
        bans.check_player("anna")
    with trio.move_on_after(20):
        await bans.lift("player", "anna")
    bans.check_player("anna")


async def test_what_can_never_be_kept_does_not_hold() -> None:
    journal = FakeJournal()
    bans = Bans(journal=journal, clock=Clock())
    journal.fails(StoreUnavailable("the server stops"))
    with pytest.raises(StoreUnavailable):
        await bans.ban("player", "anna", "")
    bans.check_player("anna")
    journal.then = trio.lowlevel.checkpoint
    await bans.ban("player", "anna", "")
    journal.fails(StoreUnavailable("the server stops"))
    with pytest.raises(StoreUnavailable):
        await bans.lift("player", "anna")
    with pytest.raises(Refusal):
        bans.check_player("anna")


async def test_a_ban_that_another_server_has_lifted_can_be_lifted_here() -> None:
    journal = FakeJournal()
    bans = Bans(journal=journal, clock=Clock())
    await bans.ban("player", "anna", "")
    journal.fails(EntryRefused("anna is not banned"))
    await bans.lift("player", "anna")
    bans.check_player("anna")
