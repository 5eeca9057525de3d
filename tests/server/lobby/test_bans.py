"""Bans take effect at once, whatever happens to the database meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import Refusal
from server.lobby.bans import Bans
from server.rooms.clock import Clock
from server.store.errors import EntryRefused, StoreError, StoreUnavailable
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.port import Banned, Entry

Answer = TypeVar("Answer")


class Store(MemoryStore):
    kept: tuple[Banned, ...] = ()

    def bans(self) -> tuple[Banned, ...]:
        return self.kept

    def bans_mark(self) -> tuple[int, int]:
        return len(self.kept), 0


class FakeJournal(Journal):
    def __init__(self, store: MemoryStore | None = None) -> None:
        super().__init__(store or MemoryStore())
        self.then: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    async def write(self, *entries: Entry) -> None:
        await self.then()

    async def ask(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        await trio.lowlevel.checkpoint()
        return call(*arguments)

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
        bans.check("player", "anna")
    with trio.move_on_after(20):
        await bans.lift("player", "anna")
    bans.check("player", "anna")


async def test_what_is_not_kept_yet_holds_whatever_the_store_says_meanwhile(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    store, told = Store(), list[str]()
    journal = FakeJournal(store)
    bans = Bans(journal=journal, clock=Clock())
    nursery.start_soon(bans.follow, lambda kind, subject, reason: told.append(subject))
    journal.then = trio.sleep_forever
    nursery.start_soon(bans.ban, "player", "anna", "")
    await trio.sleep(0.1)
    store.kept = (Banned(kind="player", subject="ben", reason="", at_ms=1),)
    await trio.sleep(1)
    for player in ("anna", "ben"):
        with pytest.raises(Refusal):
            bans.check("player", player)
    assert told == ["ben"]


async def test_a_ban_holds_that_is_made_and_kept_while_the_store_is_read(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    class SlowReader(FakeJournal):
        async def ask(self, call: Callable[..., Answer], *arguments: object) -> Answer:
            read = call(*arguments)
            await trio.sleep(0.2)
            return read

    store, told = Store(), list[str]()
    bans = Bans(journal=SlowReader(store), clock=Clock())
    ben = Banned(kind="player", subject="ben", reason="", at_ms=1)
    nursery.start_soon(bans.follow, lambda kind, subject, reason: told.append(subject))
    await trio.sleep(0.3)
    await bans.ban("player", "anna", "")
    store.kept = (Banned(kind="player", subject="anna", reason="", at_ms=2), ben)
    await trio.sleep(0.2)
    for _ in range(2):
        with pytest.raises(Refusal):
            bans.check("player", "anna")
        await trio.sleep(2)
    assert told == ["ben"]
    # What another server does to it is heard again from then on.
    store.kept = (ben,)
    await trio.sleep(2)
    bans.check("player", "anna")


async def test_what_can_never_be_kept_does_not_hold() -> None:
    journal = FakeJournal()
    bans = Bans(journal=journal, clock=Clock())
    journal.fails(StoreUnavailable("the server stops"))
    with pytest.raises(StoreUnavailable):
        await bans.ban("player", "anna", "")
    bans.check("player", "anna")
    journal.then = trio.lowlevel.checkpoint
    await bans.ban("player", "anna", "")
    journal.fails(StoreUnavailable("the server stops"))
    with pytest.raises(StoreUnavailable):
        await bans.lift("player", "anna")
    with pytest.raises(Refusal):
        bans.check("player", "anna")


async def test_a_ban_that_another_server_has_lifted_can_be_lifted_here() -> None:
    journal = FakeJournal()
    bans = Bans(journal=journal, clock=Clock())
    await bans.ban("player", "anna", "")
    journal.fails(EntryRefused("anna is not banned"))
    await bans.lift("player", "anna")
    bans.check("player", "anna")
