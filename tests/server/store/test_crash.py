"""`kill -9` in the middle of writing: everything that was acknowledged is there, and nothing is half there.

Loss of power cannot be tested here; instead a test checks that the connection is set to sync the log before a commit returns.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from server.store.database import DatabaseStore, open_database

ROOT = Path(__file__).parents[3]


def killed_after(lines: int, where: str, races: int) -> dict[int, int]:
    """The last acknowledged command of each race of a writer that was killed after that many acknowledgements."""
    command = [sys.executable, "-m", "tests.server.store.journal_writer", where, str(races)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as writer:
        assert writer.stdout is not None
        try:
            heard = [writer.stdout.readline() for _ in range(lines)]
        finally:
            writer.kill()
        # What it had said before it died may still be on its way.
        heard.extend(writer.stdout)
    acknowledged: dict[int, int] = {}
    for line in heard:
        race, sequence = map(int, line.split())
        assert acknowledged.get(race, 0) == sequence - 1
        acknowledged[race] = sequence
    assert len(acknowledged) > 0
    return acknowledged


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "races"), [(1, 1), (400, 7), (2000, 150)])
def test_what_was_acknowledged_survives_a_kill(where: str, lines: int, races: int) -> None:
    acknowledged = killed_after(lines, where, races)
    store = open_database(where)
    running = store.running()
    store.close()
    assert running.damaged == ()
    stored = {int(race.opened.race[1:]): len(race.commands) for race in running.races}
    assert all(stored[race] >= sequence for race, sequence in acknowledged.items())
    # At most the one command a race that was on its way.
    assert all(sequence - acknowledged.get(race, 0) <= 1 for race, sequence in stored.items())


def test_sqlite_syncs_its_log_at_every_commit(sqlite: str) -> None:
    store = open_database(sqlite)
    with store.maintaining() as sql:
        settings = {name: sql.rows(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "foreign_keys")}
    store.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_postgres_waits_for_its_log_even_where_it_was_told_not_to(postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    hasty = postgres.replace("options=", "options=-csynchronous_commit%3Doff%20")
    with psycopg.connect(hasty) as plain:
        assert plain.execute("SHOW synchronous_commit").fetchone() == ("off",)
    store: DatabaseStore = open_database(hasty)
    with store.maintaining() as sql:
        assert sql.rows("SHOW synchronous_commit") == [("on",)]
    store.close()
