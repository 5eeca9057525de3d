"""Commands of finished races are removed from the log, those of running races never."""

from __future__ import annotations

import pytest

from server.store import compaction
from server.store.database import DatabaseStore, open_database
from server.store.documents import decode_commands
from server.store.port import RaceAborted
from tests.server.store.keeping import NOW, opened, over, taken, write


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "COMPACTED_AT", 30)
    monkeypatch.setattr(compaction, "COMPACTED_AT_ONCE", 7)


def rows(store: DatabaseStore) -> int:
    """Commands in the log."""
    with store._reading() as sql:
        return sum(len(decode_commands(row.commands)) for row in compaction.batches(sql))


def test_the_log_stays_as_small_as_what_runs(database: DatabaseStore) -> None:
    write(database, opened("long"))
    most = 0
    for number in range(1, 101):
        race = f"r{number}"
        write(database, opened(race), taken("long", number))
        for sequence in range(1, 6):
            write(database, taken(race, sequence))
        write(database, over(race) if number % 2 else RaceAborted(race=race, reason="no", at_ms=NOW))
        most = max(most, rows(database))
    # 600 commands went through; 100 of them are the long race's.
    assert most <= 2 * 105 + 30
    (running,) = database.running().races
    assert running.commands == tuple(taken("long", sequence) for sequence in range(1, 101))


def test_dead_commands_are_counted_when_a_store_is_opened_again(empty_sqlite: str) -> None:
    store = open_database(empty_sqlite)
    write(store, opened("dead"), *[taken("dead", sequence) for sequence in range(1, 46)])
    write(store, over("dead"), opened("live"))
    store.close()
    store = open_database(empty_sqlite)
    for sequence in range(1, 11):
        write(store, taken("live", sequence))
    assert rows(store) == 10
    assert len(store.running().races[0].commands) == 10
    store.close()


def test_large_batches_do_not_outrun_the_sweep(database: DatabaseStore) -> None:
    for number in range(40):
        race = f"r{number}"
        write(database, opened(race), *[taken(race, sequence) for sequence in range(1, 101)], over(race))
    assert rows(database) < 500
