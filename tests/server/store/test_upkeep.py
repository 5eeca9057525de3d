"""What a running server does for its store besides writing: checkpoints, for which no commit waits, and removing what nobody will miss."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from server.store.database import DatabaseStore, open_database
from server.store.errors import StoreBusy, StoreUnavailable
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.upkeep import CHECKPOINT_S, look_after
from tests.server.store.keeping import NOW, made, opened, taken, write

BATCHES = 100
"""Of a thousand commands: twice as much as SQLite lets its log grow to before one commit makes a checkpoint by itself."""


def write_much(store: DatabaseStore, race: str) -> None:
    write(store, opened(race))
    for batch in range(BATCHES):
        write(store, *[taken(race, 1000 * batch + number) for number in range(1, 1001)])


def races_in_file_alone(path: str, tmp_path: Path) -> int:
    """What who has the database's file without its log would find there."""
    copy = tmp_path / "alone.sqlite3"
    shutil.copy(path, copy)
    with closing(sqlite3.connect(f"file:{copy}?immutable=1", uri=True)) as alone:
        (count,) = alone.execute("SELECT count(*) FROM races").fetchone()
    return int(count)


def log_bytes(path: str) -> int:
    return Path(f"{path}-wal").stat().st_size


def test_what_is_committed_comes_into_the_file_by_a_checkpoint_and_by_no_commit(empty_sqlite: str, tmp_path: Path) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write_much(store, "r")
        assert races_in_file_alone(empty_sqlite, tmp_path) == 0
        assert store.checkpoint()
        assert races_in_file_alone(empty_sqlite, tmp_path) == 1


def test_after_a_checkpoint_between_two_commits_the_log_begins_anew(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write_much(store, "0")
        store.checkpoint()
        once = log_bytes(empty_sqlite)
        write_much(store, "1")
        store.checkpoint()
        assert log_bytes(empty_sqlite) < 1.2 * once


def test_a_checkpoint_of_a_file_that_is_gone_says_so_and_makes_none(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, opened("r"))
        moved = Path(empty_sqlite).rename(f"{empty_sqlite}.moved")
        with pytest.raises(StoreUnavailable, match="is gone"):
            store.checkpoint()
        assert not Path(empty_sqlite).exists()
        moved.rename(empty_sqlite)
        assert store.checkpoint()


def test_stores_without_a_log_of_their_own_need_no_checkpoint(empty_postgres: str) -> None:
    with closing(open_database(empty_postgres)) as store:
        assert not store.checkpoint()
    assert not MemoryStore().checkpoint()


class CountingStore(MemoryStore):
    """Its checkpoints fail while `failure` is set."""

    waits = True

    def __init__(self) -> None:
        super().__init__()
        self.checkpoints = 0
        self.failure: Exception | None = None

    def checkpoint(self) -> bool:
        self.checkpoints += 1
        if self.failure is not None:
            raise self.failure
        return True


@pytest.fixture
def without_threads(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock, which jumps, would not wait for one."""

    async def run_sync(call: Callable[..., object], *arguments: object, limiter: object = None) -> object:
        await trio.lowlevel.checkpoint()
        return call(*arguments)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_sync)


@pytest.mark.usefixtures("without_threads")
async def test_checkpoints_are_made_twice_after_commits_and_not_without_any() -> None:
    store = CountingStore()
    journal = Journal(store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(look_after, journal, now_ms=lambda: NOW, prune_after_days=0))
        for checkpoints in (0, 2, 4):
            await trio.sleep(10 * CHECKPOINT_S)
            assert store.checkpoints == checkpoints
            journal.statistics.batches += 1
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("without_threads")
async def test_a_checkpoint_that_fails_is_logged_and_made_after_the_next_commit(caplog: pytest.LogCaptureFixture) -> None:
    store = CountingStore()
    store.failure = StoreBusy("the disk is full")
    journal = Journal(store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(look_after, journal, now_ms=lambda: NOW, prune_after_days=0))
        journal.statistics.batches += 1
        await trio.sleep(10 * CHECKPOINT_S)
        assert store.checkpoints == 1
        assert caplog.messages == ["no checkpoint could be made, so the log of the database grows: the disk is full"]
        store.failure = None
        journal.statistics.batches += 1
        await trio.sleep(10 * CHECKPOINT_S)
        assert store.checkpoints == 3
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("without_threads")
@pytest.mark.parametrize("days", [1, 0])
async def test_what_nobody_will_miss_goes_after_so_many_days_unless_the_host_wants_all(empty_sqlite: str, days: int) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, made("anna"))
        async with trio.open_nursery() as nursery:
            later = NOW + 2 * 24 * 60 * 60 * 1000
            nursery.start_soon(partial(look_after, Journal(store), now_ms=lambda: later, prune_after_days=days))
            await trio.sleep(10 * CHECKPOINT_S)
            nursery.cancel_scope.cancel()
        assert (store.player("anna") is None) == bool(days)
