"""The stores that the contract is tested on: in memory, in a SQLite file, and in PostgreSQL.

PostgreSQL is looked for at CARPET_TEST_POSTGRES, or else at its usual port on this machine. Where none answers, what was not tested is said
in a section of its own at the end of the run; where the variable names one that does not answer, the tests fail.
Every test has a schema of its own there, which is dropped after it.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.store.database import DatabaseStore, open_database
from server.store.memory import MemoryStore
from server.store.store import Store

VARIABLE = "CARPET_TEST_POSTGRES"
USUAL = "postgresql://postgres@127.0.0.1:5432/test"
NOT_REACHED = "no PostgreSQL answers"
PATIENCE_S = 5


def postgres_schema() -> Iterator[str]:
    """The URL of an empty schema. Skips the test, or fails it, when there is no server."""
    # Set to nothing is not set: psycopg would find a server by its defaults, and the store take what is left of the URL for a path.
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
        try:
            yield f"{base}{'&' if '?' in base else '?'}options=-csearch_path%3D{name}"
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
    """The path of a SQLite store that is not there yet."""
    return str(tmp_path / "carpet.sqlite3")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite store, to be copied: to make one anew takes fifty times as long."""
    path = tmp_path_factory.mktemp("made") / "carpet.sqlite3"
    open_database(str(path)).close()
    return path


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL store that is not there yet."""
    yield from postgres_schema()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest) -> str:
    """Where a store in a database may be made."""
    place: str = request.getfixturevalue(request.param)
    return place


@pytest.fixture
def database(where: str, made: Path) -> Iterator[DatabaseStore]:
    if where.endswith(made.name):
        shutil.copyfile(made, where)
    store = open_database(where)
    yield store
    store.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, made: Path) -> Iterator[Store]:
    """One of each kind, empty."""
    if request.param == "memory":
        yield MemoryStore()
        return
    where: str = request.getfixturevalue(request.param)
    if request.param == "sqlite":
        shutil.copyfile(made, where)
    opened = open_database(where)
    yield opened
    opened.close()
