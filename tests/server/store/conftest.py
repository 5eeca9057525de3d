"""The stores that the contract is tested on: in memory, in a SQLite file, and in PostgreSQL.

PostgreSQL is expected at CARPET_TEST_POSTGRES, or else at its usual port on this machine. If no server answers, a section at the end of the
run says what was not tested; if the variable names one that does not answer, the tests fail.
A test that makes its own tables has a schema of its own. The others share one, whose tables are made once and emptied between tests.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.store.database import DatabaseStore, open_database
from server.store.memory import MemoryStore
from server.store.store import Store
from server.store.tables import IN_ORDER

VARIABLE = "CARPET_TEST_POSTGRES"
USUAL = "postgresql://postgres@127.0.0.1:5432/test"
NOT_REACHED = "no PostgreSQL answers"
PATIENCE_S = 60
EMPTYING = "; ".join(f"DELETE FROM {table}" for table in reversed(IN_ORDER))
"""Not TRUNCATE, which makes new files for each table."""


@contextmanager
def postgres_schema() -> Iterator[tuple[str, Any]]:
    """The URL of an empty schema, and a connection to it. Skips or fails the test if there is no server."""
    # An empty variable counts as unset: otherwise psycopg would use its defaults, and the store would take the rest of the URL for a path.
    named = os.environ.get(VARIABLE)
    base = named or USUAL
    psycopg = pytest.importorskip("psycopg", reason=f"{NOT_REACHED}: psycopg is not installed")
    try:
        administrator = psycopg.connect(base, autocommit=True, connect_timeout=PATIENCE_S)
    except psycopg.Error as error:
        if named:
            pytest.fail(f"{NOT_REACHED} at {VARIABLE}: {error}")
        pytest.skip(f"{NOT_REACHED} at {USUAL}")
    name = f"carpet_test_{os.getpid()}_{secrets.token_hex(4)}"
    with administrator:
        administrator.execute(f"CREATE SCHEMA {name}")
        administrator.execute(f"SET search_path = {name}")
        try:
            yield f"{base}{'&' if '?' in base else '?'}options=-csearch_path%3D{name}", administrator
        finally:
            administrator.execute(f"DROP SCHEMA {name} CASCADE")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [report.nodeid for report in terminalreporter.getreports("skipped") if NOT_REACHED in str(report.longrepr)]
    if skipped:
        terminalreporter.section("NOT TESTED: the store on PostgreSQL", sep="!", red=True, bold=True)
        terminalreporter.line(f"{NOT_REACHED}; name one in {VARIABLE}. {len(skipped)} tests were skipped:")
        for nodeid in skipped:
            terminalreporter.line(f"  {nodeid}")


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The path of a SQLite store that does not exist yet."""
    return str(tmp_path / "carpet.sqlite3")


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL store that does not exist yet."""
    with postgres_schema() as (url, _):
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest) -> str:
    """Where a store can be made in a database."""
    place: str = request.getfixturevalue(request.param)
    return place


@pytest.fixture(scope="session")
def made_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite store to copy: making one takes fifty times as long."""
    path = tmp_path_factory.mktemp("made") / "carpet.sqlite3"
    open_database(str(path)).close()
    return path


@pytest.fixture(scope="session")
def made_postgres() -> Iterator[tuple[str, Any]]:
    """A PostgreSQL store to empty and reuse, and a connection to empty it with."""
    with postgres_schema() as (url, administrator):
        open_database(url).close()
        yield url, administrator


@pytest.fixture
def empty_sqlite(made_sqlite: Path, sqlite: str) -> str:
    """The path of a SQLite store with empty tables."""
    shutil.copyfile(made_sqlite, sqlite)
    return sqlite


@pytest.fixture
def empty_postgres(made_postgres: tuple[str, Any]) -> str:
    """The URL of a PostgreSQL store with empty tables."""
    url, administrator = made_postgres
    administrator.execute(EMPTYING)
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest) -> str:
    """The path or URL of `database`."""
    place: str = request.getfixturevalue(f"empty_{request.param}")
    return place


@pytest.fixture
def database(empty: str) -> Iterator[DatabaseStore]:
    store = open_database(empty)
    yield store
    store.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    opened = open_database(request.getfixturevalue(f"empty_{request.param}"))
    yield opened
    opened.close()
