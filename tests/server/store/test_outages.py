"""Databases that fail briefly while a journal writes: nothing is lost, nothing is written twice, and everything goes on by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from sqlalchemy.engine import make_url

from server.store.answers import RunningRace
from server.store.database import DatabaseStore, open_database
from server.store.errors import StoreError, StoreUnavailable
from server.store.journal import Journal
from tests.server.store.keeping import journalling, made, opened, taken, write


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.store.connections.BUSY_S", 1)
    monkeypatch.setattr("server.store.journal.RETRY_S", 0.1)
    monkeypatch.setattr("server.store.journal.PROBE_S", 0.02)


async def outage(journal: Journal, why: str) -> None:
    """Wait for one for this reason. On a busy machine it is known that nothing answers before it is known why."""
    with trio.fail_after(60):
        while journal.outage is None or why not in journal.outage.why:
            await trio.lowlevel.checkpoint()


class Faulty:
    """A driver's connection, of which one statement fails, before it is carried out or after."""

    def __init__(self, connection: Any, begins: str, *, after: bool) -> None:
        self._connection = connection
        self._begins = begins
        self._after = after

    def execute(self, statement: str, *values: Any) -> Any:
        if statement.startswith(self._begins):
            if self._after:
                self._connection.execute(statement, *values)
            self._connection.close()
            raise sqlite3.OperationalError("the line broke")
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("requests", "begins"),
    [([[taken("r", 1)], [taken("r", 3)]], "INSERT INTO batches"), ([[taken("r", 1)], [made("anna"), taken("r", 3)]], "COMMIT")],
    ids=["commands", "others"],
)
def test_a_batch_whose_answer_was_lost_is_written_once(
    database: DatabaseStore, requests: list[list[Any]], begins: str, after: bool
) -> None:
    write(database, opened("r"))
    assert database._writer is not None
    database._writer.connection = Faulty(database._writer.connection, begins, after=after)
    with pytest.raises(StoreUnavailable):
        database.write(requests)
    # Nobody but the writer knows it, and it asks again with the same batch.
    outcomes = database.write(requests)
    assert [outcome is None for outcome in outcomes] == [True, False]
    assert database.running().races == (RunningRace(opened("r"), (taken("r", 1),)),)
    write(database, taken("r", 2))
    assert len(database.running().races[0].commands) == 2


TERMINATE_WRITER = """
WITH lock AS (SELECT hashtext('carpet-race ' || current_schema())::bigint AS key)
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid), lock
WHERE locktype = 'advisory' AND classid = (key >> 32 & 4294967295)::oid AND objid = (key & 4294967295)::oid AND wait_event_type = 'Lock'
"""
"""The writer's connection is the one that holds the lock of the store. Terminated while it waits for a lock, and not before."""


async def test_a_connection_that_is_terminated_under_a_commit_loses_nothing(postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    told: list[StoreError | None] = []
    with (
        closing(open_database(postgres)) as store,
        psycopg.connect(postgres, autocommit=True) as other,
        psycopg.connect(postgres) as holder,
    ):
        async with journalling(store) as journal:
            journal.submit([opened("r")], told.append)
            for sequence in range(1, 201):
                is_terminated = sequence % 50 == 0
                if is_terminated:
                    await trio.to_thread.run_sync(holder.execute, "LOCK TABLE batches IN SHARE MODE")
                journal.submit([taken("r", sequence)], told.append)
                if is_terminated:
                    while not (await trio.to_thread.run_sync(other.execute, TERMINATE_WRITER)).rowcount:
                        pass
                    holder.commit()
                await trio.lowlevel.checkpoint()
            await journal.write(taken("r", 201))
        assert told == [None] * 201
        assert [command.sequence for command in store.running().races[0].commands] == [*range(1, 202)]
        assert journal.statistics.failed_commits >= 4


class Proxy:
    """A way to a server that can be cut, for all who are on it, and be opened again at the same port."""

    def __init__(self, connect: Callable[[], Awaitable[trio.SocketStream]]) -> None:
        self._connect = connect
        self.port = 0
        self._scope = trio.CancelScope()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        self._scope = trio.CancelScope()
        with self._scope:
            async with trio.open_nursery() as nursery:
                listeners = await nursery.start(trio.serve_tcp, self._pass_on, self.port)
                self.port = listeners[0].socket.getsockname()[1]
                task_status.started()

    def cut(self) -> None:
        self._scope.cancel()

    async def _pass_on(self, client: trio.SocketStream) -> None:
        async with await self._connect() as server, trio.open_nursery() as nursery:
            nursery.start_soon(_copy, client, server)
            await _copy(server, client)
            nursery.cancel_scope.cancel()


async def _copy(source: trio.SocketStream, target: trio.SocketStream) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in source:
            await target.send_all(data)


async def test_a_postgres_server_that_goes_and_comes_back_is_waited_for(postgres: str) -> None:
    url = make_url(postgres)
    folder, port = url.query.get("host"), url.port or 5432
    if folder:
        proxy = Proxy(partial(trio.open_unix_socket, f"{folder}/.s.PGSQL.{port}"))
    else:
        proxy = Proxy(partial(trio.open_tcp_stream, url.host or "127.0.0.1", port))
    told: list[StoreError | None] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(proxy.run)
        through = url.difference_update_query(["host"]).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        store = await trio.to_thread.run_sync(open_database, through)
        async with journalling(store) as journal:
            journal.submit([opened("r"), taken("r", 1)], told.append)
            proxy.cut()
            await outage(journal, "cannot use postgresql://")
            journal.submit([taken("r", 2)], told.append)
            await nursery.start(proxy.run)
            await journal.write(taken("r", 3))
            assert journal.available
        assert told == [None, None]
        assert len((await trio.to_thread.run_sync(store.running)).races[0].commands) == 3
        await trio.to_thread.run_sync(store.close)
        proxy.cut()


async def test_a_postgres_that_has_become_read_only_is_noticed_without_a_write_and_goes_on_when_it_is_no_more(postgres: str) -> None:
    store = await trio.to_thread.run_sync(open_database, postgres)
    async with journalling(store) as journal:
        # The next connection may write again.
        await journal.tidy(only_read, store)
        await outage(journal, "is read-only just now")
        await journal.write(made("anna"))
        assert journal.available
    await trio.to_thread.run_sync(store.close)


def only_read(store: DatabaseStore) -> None:
    with store._writing() as sql:
        sql.rows("SELECT set_config('default_transaction_read_only', 'on', false)")


async def test_a_file_that_is_locked_for_longer_than_a_statement_waits_is_waited_for(empty_sqlite: str) -> None:
    told: list[StoreError | None] = []
    with closing(open_database(empty_sqlite)) as store, closing(sqlite3.connect(empty_sqlite, isolation_level=None)) as other:
        async with journalling(store) as journal:
            await journal.write(opened("r"))
            other.execute("BEGIN IMMEDIATE")
            journal.submit([taken("r", 1)], told.append)
            await outage(journal, "another program has held")
            assert told == []
            other.execute("COMMIT")
            await journal.write(taken("r", 2))
        assert told == [None]
        assert len(store.running().races[0].commands) == 2


async def test_a_full_disk_is_waited_for(empty_sqlite: str) -> None:
    told: list[StoreError | None] = []
    with closing(open_database(empty_sqlite)) as store:
        write(store, opened("r"))
        with store._writing() as sql:
            ((pages,),) = sql.rows("PRAGMA page_count")
            sql.rows(f"PRAGMA max_page_count = {pages}")
        async with journalling(store) as journal:
            for sequence in range(1, 2000):
                journal.submit([taken("r", sequence)], told.append)
            await outage(journal, "no space is left")
            assert None not in told
            with store._writing() as sql:
                sql.rows("PRAGMA max_page_count = 100000")
        assert told == [None] * 1999


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replaced(path: Path) -> None:
    moved(path)
    path.touch()


@pytest.mark.parametrize(("harm", "said"), [(moved, "is gone: it was moved or removed"), (replaced, "is another file than the one")])
async def test_a_file_that_is_moved_away_is_noticed_without_a_write_and_goes_on_when_it_is_back(
    empty_sqlite: str, harm: Callable[[Path], None], said: str
) -> None:
    told: list[StoreError | None] = []
    path = Path(empty_sqlite)
    with closing(open_database(empty_sqlite)) as store:
        async with journalling(store) as journal:
            await journal.write(opened("r"))
            harm(path)
            await outage(journal, said)
            journal.submit([taken("r", 1)], told.append)
            await trio.testing.wait_all_tasks_blocked()
            assert told == []
            path.with_name("elsewhere").replace(path)
        assert told == [None]
        assert len(store.running().races[0].commands) == 1
