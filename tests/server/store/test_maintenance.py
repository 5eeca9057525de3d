"""Checking, copying and upgrading a store: what is said if it is sound, and if it is not."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from protocol.record import sealed
from server.race.commands import PlayMove
from server.store import connections
from server.store import maintenance as care
from server.store.connections import brief_reading
from server.store.database import DatabaseStore, open_database
from server.store.documents import encode
from server.store.errors import StoreBusy, StoreCorrupt, StoreError, StoreInUse, StoreTooOld, StoreUnavailable
from server.store.locations import locate
from server.store.port import RaceOver
from server.store.schema import newest, version
from server.store.tables import IN_ORDER
from tests.server.store import keeping
from tests.server.store.keeping import change_log, damage_records, logged, made, opened, taken, won, write
from tests.server.store.test_schema import old_players, old_race, opened_by, until


def over(race: str, *players: str | None) -> RaceOver:
    """As of a room that is called like the race."""
    return dataclasses.replace(keeping.over(race, *players), record=sealed(replace(won(), room=race)))


def change(store: str | Path, statement: str) -> None:
    """Behind the back of those who keep it."""
    with closing(sqlite3.connect(store)) as file:
        file.execute(statement)
        file.commit()


@pytest.fixture
def kept(empty: str, database: DatabaseStore) -> str:
    """A store with a player, a race that is over and one that runs, still open."""
    write(database, made("anna"), opened("over"), over("over", "anna", None))
    write(database, opened("runs"), *logged("runs")[:30])
    return empty


def test_a_sound_store_is_called_sound_while_a_server_runs_on_it(kept: str) -> None:
    checked = care.check(kept)
    assert checked.faults == ()
    assert (checked.schema, checked.players, checked.running, checked.records) == (newest(), 1, 1, 1)


def test_each_thing_that_is_wrong_is_named(kept: str, database: DatabaseStore) -> None:
    forged = sealed(replace(won(), software="forged"))
    cheated = sealed(replace(won(), room="cheated", moves=won().moves[1:]))
    write(database, opened("cheated"), over("cheated"), opened("forged"), over("forged"), opened("lost"), over("lost"))
    write(
        database, opened("moved"), over("moved"), opened("late"), over("late"), opened("illegal"), taken("illegal", 1, PlayMove(0, 0, "a1"))
    )
    write(database, opened("gap"), taken("gap", 1), taken("gap", 2), opened("orphan"), taken("orphan", 1))
    write(database, opened("seatless"), taken("seatless", 1, PlayMove(99, 0, "s")))
    with database.maintaining() as sql:
        sql.run("UPDATE records SET record = :record WHERE race = 'forged'", [{"record": encode(forged)}])
        altered = {"record": encode(cheated), "digest": cheated.digest}
        sql.run("UPDATE records SET record = :record, digest = :digest WHERE race = 'cheated'", [altered])
        sql.run("DELETE FROM records WHERE race = 'lost'")
        sql.run("UPDATE seats SET home = 3 WHERE race = 'moved' AND seat = 0")
        sql.run("UPDATE seats SET ended_at_ms = NULL WHERE race = 'late' AND seat = 1")
        change_log(sql, lambda taken: None if taken[:2] == (b"gap", 1) else taken)
        sql.run("DELETE FROM races WHERE id = 'orphan'")
    faults = care.check(kept).faults
    for fault in (
        "record of race forged: the record's digest is not that of its text: it was altered",
        "record of race cheated: move 2 (b2), of seat 1: home is 6",
        "race lost: it is over and has no record",
        "seats of race moved: they are not those of its record",
        "seats of race late: they are not those of its record",
        "race illegal cannot be brought back: ",
        "race seatless cannot be brought back: ",
        "race gap cannot be brought back: command 1 is missing",
        "commands of race orphan: there is no such race",
    ):
        assert sum(said.startswith(fault) for said in faults) == 1, (fault, faults)
    assert len(faults) == 9


def test_a_damaged_file_is_named(empty_sqlite: str) -> None:
    store = open_database(empty_sqlite)
    for number in range(20):
        write(store, opened(f"r{number}"), over(f"r{number}"))
    store.close()
    damage_records(empty_sqlite)
    faults = care.check(empty_sqlite).faults
    assert faults
    assert "damaged" in faults[0]


def test_what_belongs_to_nothing_is_named(empty_sqlite: str) -> None:
    change(empty_sqlite, "INSERT INTO records VALUES ('nowhere', '{}', '', 0, 1)")
    assert care.check(empty_sqlite).faults == ("row 1 of records belongs to nothing in races",)


# ---- copies


def test_a_copy_made_while_a_server_writes_is_whole_and_private(empty_sqlite: str, tmp_path: Path) -> None:
    store = open_database(empty_sqlite)
    write(store, made("anna"), opened("r"), taken("r", 1))
    target = tmp_path / "copy.sqlite3"
    done = care.backup(target, empty_sqlite)
    write(store, taken("r", 2))
    assert (done.target, done.size) == (target, target.stat().st_size)
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy.sqlite3"]
    store.close()
    copy = open_database(str(target))
    assert copy.running().races[0].commands == (taken("r", 1),)
    assert copy.player("anna") is not None
    copy.close()


def test_a_copy_overwrites_nothing(empty_sqlite: str, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    with pytest.raises(StoreUnavailable, match="precious exists already"):
        care.backup(target, empty_sqlite)
    assert target.read_text() == "precious"


def test_two_copies_to_one_file_at_the_same_moment_leave_each_other_alone(
    empty_sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    target = tmp_path / "copy"

    class Overtaken(sqlite3.Connection):
        def backup(self, *copy: Any, **options: Any) -> None:
            monkeypatch.undo()
            care.backup(target, empty_sqlite)
            super().backup(*copy, **options)

    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, factory=Overtaken, **options))
    care.backup(target, empty_sqlite)
    assert care.check(str(target)).faults == ()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == ["copy"]


def test_a_copy_that_cannot_be_written_leaves_nothing(empty_sqlite: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"cannot write .*nowhere/copy: No such file"):
        care.backup(tmp_path / "nowhere" / "copy", empty_sqlite)


def test_a_copy_for_which_there_is_no_space_is_blamed_and_not_the_database(
    empty_sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def cramped(path: Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, **options)
        if path.suffix == ".partial":
            connection.execute("PRAGMA max_page_count = 2")
        return connection

    monkeypatch.setattr(sqlite3, "connect", cramped)
    with pytest.raises(StoreUnavailable, match=r"cannot write .*copy: .*full$"):
        care.backup(tmp_path / "copy", empty_sqlite)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("copy")]


def test_a_database_that_cannot_be_read_any_further_is_blamed_and_not_the_copy(
    empty_sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    class OnABadDisk(sqlite3.Connection):
        def backup(self, *copy: Any, **options: Any) -> None:
            del copy, options
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
            raise error

    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, factory=OnABadDisk, **options))
    with pytest.raises(StoreUnavailable, match=f"^cannot read {empty_sqlite}: disk I/O error$"):
        care.backup(tmp_path / "copy", empty_sqlite)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("copy")]


def test_a_database_that_another_program_has_locked_is_blamed_and_not_the_copy(
    empty_sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_S", 0)
    with closing(sqlite3.connect(empty_sqlite, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusy, match=f"another program has held {empty_sqlite}"):
            care.backup(tmp_path / "copy", empty_sqlite)


def test_postgres_is_copied_by_its_own_program(postgres: str, tmp_path: Path) -> None:
    open_database(postgres).close()
    with pytest.raises(StoreError, match="pg_dump --format=custom"):
        care.backup(tmp_path / "copy", postgres)


# ---- restoring


@pytest.fixture
def copied(made_sqlite: Path, tmp_path: Path) -> Path:
    """A backup with a player, a race that is over, in whose room somebody still is, and one that runs."""
    old = tmp_path / "old.sqlite3"
    shutil.copyfile(made_sqlite, old)
    with closing(open_database(str(old))) as store:
        write(store, made("anna"), opened("over"), over("over", "anna", None))
        write(store, opened("runs"), *logged("runs")[:30])
        with store.maintaining() as sql:
            sql.run("UPDATE seats SET here = TRUE WHERE seat = 1")
    target = tmp_path / "copy.sqlite3"
    care.backup(target, str(old))
    return target


def all_of(where: str) -> dict[str, list[tuple[object, ...]]]:
    with closing(open_database(where)) as store, store.maintaining() as sql:
        return {table: sorted(sql.rows(f"SELECT * FROM {table}")) for table in IN_ORDER}


def test_a_backup_is_restored_whole_to_either_database(where: str, copied: Path) -> None:
    care.restore(copied, where)
    checked = care.check(where)
    assert (checked.faults, checked.players, checked.running, checked.records) == ((), 1, 1, 1)
    with closing(open_database(str(copied))) as store:
        (race,) = store.running().races
    with closing(open_database(where)) as store:
        assert store.running().races == (race,)


def test_a_restored_database_has_every_row_and_is_the_same_place(copied: Path, tmp_path: Path) -> None:
    care.restore(copied, str(tmp_path / "new"))
    assert all_of(str(tmp_path / "new")) == all_of(str(copied))


def test_nothing_is_restored_over_what_is_there(kept: str, database: DatabaseStore, copied: Path) -> None:
    database.close()
    before = all_of(kept)
    with pytest.raises(StoreUnavailable, match=r"is not empty: (move it away, with .*-wal and .*-shm|let --database)"):
        care.restore(copied, kept)
    assert all_of(kept) == before


def test_a_backup_that_is_damaged_restores_nothing_of_itself(copied: Path, sqlite: str) -> None:
    change(copied, "UPDATE records SET record = CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreCorrupt, match=r"copy.sqlite3 is damaged, in records: carpet-server db check --database .*copy.sqlite3"):
        care.restore(copied, sqlite)
    checked = care.check(sqlite)
    assert (checked.players, checked.running) == (0, 0)


def test_it_is_the_backup_that_is_called_damaged_or_empty_and_not_what_it_should_go_to(copied: Path, sqlite: str) -> None:
    damage_records(str(copied))
    with pytest.raises(StoreCorrupt, match=r"the backup .*copy.sqlite3 is damaged \(.*\), and nothing was restored: try an older one"):
        care.restore(copied, sqlite)
    with pytest.raises(StoreUnavailable, match=r"copy.sqlite3 is the backup itself: let --database name another place"):
        care.restore(copied, str(copied))
    empty = copied.with_name("empty.sqlite3")
    empty.touch()
    with pytest.raises(StoreUnavailable, match=r"empty.sqlite3 is empty, so it is no backup"):
        care.restore(empty, sqlite)


@pytest.fixture
def older(tmp_path: Path) -> str:
    """The path of a database that the first version of the program made, with two players and a race."""
    path = str(tmp_path / "older.sqlite3")
    with closing(opened_by(until(1, tmp_path), path)) as store, store.maintaining() as sql:
        old_players(sql)
        old_race(sql, "over", encode(won()))
    return path


def test_a_database_is_copied_as_it_is_before_its_tables_are_upgraded(older: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite3"
    care.backup(target, older)
    for file in (older, target):
        with brief_reading(locate(str(file))) as sql:
            assert version(sql) == "0001"
            assert [row.id for row in sql.rows("SELECT id FROM players ORDER BY id")] == ["anna", "ben"]


def test_a_backup_of_an_older_version_is_upgraded_where_it_is_restored_and_stays_as_it_is(older: str, where: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite3"
    care.backup(target, older)
    before = target.read_bytes()
    care.restore(target, where)
    with closing(open_database(where)) as store:
        assert store.upgraded.steps == ()
        assert store.record("over") == won()
        assert [played.race for played in store.history("ben", limit=9)] == ["over"]
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (before, 0o600)


def test_a_damaged_backup_of_an_older_version_is_called_that(older: str, sqlite: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite3"
    care.backup(target, older)
    damage_records(str(target))
    with pytest.raises(StoreCorrupt, match=r"the backup .*copy.sqlite3 is damaged, and nothing was restored: try an older one"):
        care.restore(target, sqlite)
    assert not Path(sqlite).exists()


# ---- upgrades, and what is not there


def test_upgrading_says_what_it_did(where: str) -> None:
    assert care.upgrade(where).before is None
    assert care.upgrade(where).steps == ()


def test_upgrading_waits_for_no_server(empty_sqlite: str) -> None:
    store = open_database(empty_sqlite)
    with pytest.raises(StoreInUse):
        care.upgrade(empty_sqlite)
    store.close()


def test_looking_makes_nothing(sqlite: str, tmp_path: Path) -> None:
    for look in (lambda: care.check(sqlite), lambda: care.backup(tmp_path / "copy", sqlite)):
        with pytest.raises(StoreUnavailable, match="there is no database at"):
            look()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_postgres_schema_is_not_checked_but_named(postgres: str) -> None:
    with pytest.raises(StoreTooOld, match="has no tables yet"):
        care.check(postgres)
