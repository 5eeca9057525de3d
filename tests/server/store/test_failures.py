"""Full disks, locked, damaged and foreign files, unreachable servers: one clear error each, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from protocol import HOME_VARIABLE
from server.store import connections
from server.store.answers import RunningRace
from server.store.connections import READERS
from server.store.database import DatabaseStore, open_database
from server.store.errors import NameTaken, StoreAway, StoreBusy, StoreCorrupt, StoreForeign, StoreFull, StoreInUse, StoreUnavailable
from server.store.locations import locate
from server.store.maintenance import backup, check, upgrade
from server.store.opening import NOTHING_KEPT, open_store
from server.store.port import RaceAborted
from server.store.sql import Sql
from tests.server.store.keeping import change_log, damage_records, logged, made, opened, over, taken, won, write


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_S", 1)


def pragma(store: DatabaseStore, text: str) -> int:
    with store._writing() as sql:
        return int(sql.rows(f"PRAGMA {text}")[0][0])


def test_a_full_disk_is_said_and_what_was_there_stays(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, opened("r"), taken("r", 1))
        pragma(store, f"max_page_count = {pragma(store, 'page_count')}")
        much = [[taken("r", sequence)] for sequence in range(2, 2000)]
        for _ in range(2):
            with pytest.raises(StoreFull, match=r"no space is left for .*carpet\.sqlite3; make room"):
                store.write(much)
            assert store.running().races[0].commands == (taken("r", 1),)
        pragma(store, "max_page_count = 100000")
        assert set(store.write(much)) == {None}
        assert len(store.running().races[0].commands) == 1999


def test_nothing_of_a_refused_request_stays_where_it_cannot_be_undone_alone(empty_sqlite: str) -> None:
    def forbid(action: int, what: str | None, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_SAVEPOINT and what == "ROLLBACK" else sqlite3.SQLITE_OK

    with closing(open_database(empty_sqlite)) as store:
        write(store, made("anna"))
        half, whole = [made("ben"), made("thief", "ANNA")], [made("cleo")]
        with store._writing() as sql:
            sql.connection.set_authorizer(forbid)
        with pytest.raises(StoreUnavailable, match="not authorized"):
            store.write([half, whole])
        assert store.player("ben") is None
        # By a connection of its own.
        assert [type(outcome) for outcome in store.write([half, whole])] == [NameTaken, type(None)]
        assert [store.player(player) is None for player in ("ben", "cleo")] == [True, False]


def test_a_database_that_another_program_holds_is_busy_and_can_be_read(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, opened("r"))
        with closing(sqlite3.connect(empty_sqlite, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="another program has held"):
                write(store, taken("r", 1))
            assert store.running().races[0].commands == ()
        write(store, taken("r", 1))


def test_postgres_tables_that_another_program_holds_are_busy(postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with closing(open_database(postgres)) as store:
        write(store, opened("r"))
        with psycopg.connect(postgres) as other:
            other.execute("LOCK TABLE batches IN EXCLUSIVE MODE")
            with store._writing() as sql:
                sql.rows("SELECT set_config('lock_timeout', '1', false)")
            with pytest.raises(StoreBusy, match="try again"):
                write(store, taken("r", 1))
        write(store, taken("r", 1))


def test_a_postgres_connection_that_breaks_is_said_and_made_anew(postgres: str) -> None:
    with closing(open_database(postgres)) as store:
        write(store, opened("r"))
        with store._writing() as sql, store._reading() as reader:
            (process,) = sql.rows("SELECT pg_backend_pid() AS id")
            reader.rows(f"SELECT pg_terminate_backend({process.id}, 5000) AS done")
        with pytest.raises(StoreUnavailable, match="cannot use postgresql://"):
            write(store, taken("r", 1))
        write(store, taken("r", 1))
        assert store.running().races[0].commands == (taken("r", 1),)


def test_readers_that_a_postgres_has_dropped_since_their_last_use_are_made_anew_unseen(postgres: str) -> None:
    with closing(open_database(postgres)) as store:
        write(store, opened("r"))
        with ExitStack() as all_of_them:
            readers = [all_of_them.enter_context(store._reading()) for _ in range(READERS)]
            processes = [reader.rows("SELECT pg_backend_pid() AS id")[0].id for reader in readers]
        with store._writing() as sql:
            for process in processes:
                sql.rows(f"SELECT pg_terminate_backend({process}, 5000) AS done")
        for _ in range(READERS):
            assert [race.opened for race in store.running().races] == [opened("r")]


def test_a_file_that_is_no_database_is_damaged(sqlite: str) -> None:
    Path(sqlite).write_bytes(b"not a database at all, but long enough to be looked at " * 100)
    with pytest.raises(StoreCorrupt, match=r"carpet\.sqlite3 is damaged .*move carpet\.sqlite3, carpet\.sqlite3-wal and .*db restore"):
        open_database(sqlite)


def test_a_page_that_is_damaged_is_said_when_it_is_read(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        for number in range(20):
            write(store, opened(f"r{number}"), *logged(f"r{number}"), over(f"r{number}"))
    damage_records(empty_sqlite)
    with closing(open_database(empty_sqlite)) as store, pytest.raises(StoreCorrupt, match="is damaged"):
        store.record("r3")


def alter(where: str, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(where)) as file:
        file.execute(statement, values)
        file.commit()


def test_a_record_that_was_altered_is_not_given_out(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)) as store:
        write(store, opened("r"), over("r"))
    alter(empty_sqlite, "UPDATE records SET record = replace(record, ?, 'Mallory')", won().seats[0].name)
    with closing(open_database(empty_sqlite)) as store, pytest.raises(StoreCorrupt, match=r"record of race r cannot be read: .* altered"):
        store.record("r")


@pytest.mark.parametrize(
    ("damage", "what", "readable"),
    [
        (
            lambda sql: change_log(sql, lambda taken: None if taken[:2] == (b"bad", 2) else taken),
            "command 2 is missing: command 3 is in its place",
            RunningRace(opened("bad"), (taken("bad", 1),)),
        ),
        (
            lambda sql: change_log(sql, lambda taken: (*taken[:3], b'[1,"fly",{}]') if taken[:2] == (b"bad", 3) else taken),
            "command 3: a command 'fly'",
            RunningRace(opened("bad"), (taken("bad", 1), taken("bad", 2))),
        ),
        (lambda sql: sql.run("UPDATE races SET options = '[]' WHERE id = 'bad'"), "not the options of a race", None),
        (
            lambda sql: change_log(
                sql, lambda taken: (*taken[:3], b'[1,"play-move",{"move":"\xff"}]') if taken[:2] == (b"bad", 3) else taken
            ),
            "command 3: not a command",
            RunningRace(opened("bad"), (taken("bad", 1), taken("bad", 2))),
        ),
        (
            lambda sql: sql.run("UPDATE races SET options = CAST(x'7b22ff227d' AS TEXT) WHERE id = 'bad'"),
            "not the options of a race",
            None,
        ),
        (lambda sql: sql.run("UPDATE races SET software = CAST(x'ff' AS TEXT) WHERE id = 'bad'"), "where a name stood", None),
        (
            lambda sql: sql.run("UPDATE batches SET commands = CAST(x'c1' || commands AS BLOB) WHERE number = 4"),
            "batch 4, which has some of its commands, is damaged",
            RunningRace(opened("bad"), ()),
        ),
    ],
)
def test_a_damaged_race_does_not_keep_the_others_from_coming_back(
    empty_sqlite: str, damage: Callable[[Sql], None], what: str, readable: RunningRace | None
) -> None:
    with closing(open_database(empty_sqlite)) as store:
        for race in ("good", "bad"):
            write(store, opened(race))
            write(store, *[taken(race, sequence) for sequence in range(1, 4)])
        with store.maintaining() as sql:
            damage(sql)
    with closing(open_database(empty_sqlite)) as store:
        running = store.running()
        assert [race.opened.race for race in running.races] == ["good"]
        (damaged,) = running.damaged
        assert damaged.race == "bad"
        assert damaged.what.startswith("race bad cannot be brought back: ")
        assert what in damaged.what
        assert damaged.readable == readable
        # It is told of by name, and can be set aside.
        assert any("race bad cannot be brought back" in fault for fault in check(empty_sqlite).faults)
        write(store, RaceAborted(race="bad", reason=damaged.what, at_ms=0))
        assert store.running().damaged == ()


def test_one_server_a_store(where: str) -> None:
    with closing(open_database(where)), pytest.raises(StoreInUse, match=r"another carpet-server( \(process [0-9]+\))? uses"):
        open_database(where)
    with closing(open_database(where)):
        pass


def test_another_name_of_the_file_is_the_same_store(empty_sqlite: str, tmp_path: Path) -> None:
    with closing(open_database(empty_sqlite)):
        (tmp_path / "alias").symlink_to(empty_sqlite)
        with pytest.raises(StoreInUse):
            open_database(str(tmp_path / "alias"))


def test_a_database_of_another_program_is_left_alone(sqlite: str) -> None:
    alter(sqlite, "CREATE TABLE cookies (host TEXT)")
    with pytest.raises(StoreForeign, match="tables of another program \\(cookies\\)"):
        open_database(sqlite)


def test_a_folder_that_is_not_there_is_said_and_not_made_since_its_name_may_be_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("file", "clubb"):
        with pytest.raises(StoreUnavailable, match=rf"there is no folder .*/{folder} for the database: make it, or correct the path"):
            open_database(str(tmp_path / folder / "carpet.sqlite3"))
    assert not (tmp_path / "clubb").exists()


def test_the_usual_folder_is_made_and_one_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    open_database(None).close()
    assert (tmp_path / "home" / "carpet.sqlite3").is_file()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(StoreUnavailable, match=r"cannot use .*/file: "):
        open_database(None)


def test_whoever_finds_a_store_in_use_is_told_by_which_process(empty_sqlite: str) -> None:
    with closing(open_database(empty_sqlite)), pytest.raises(StoreInUse, match=rf"\(process {os.getpid()}\) uses"):
        open_database(empty_sqlite)


def test_the_file_that_cannot_be_opened_is_the_one_that_is_named(sqlite: str) -> None:
    Path(f"{sqlite}.lock").mkdir()
    with pytest.raises(StoreUnavailable, match=r"cannot use .*carpet\.sqlite3\.lock: "):
        open_database(sqlite)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files to others")
def test_what_the_superuser_makes_belongs_to_the_owner_of_its_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 2345)
    path = tmp_path / "carpet.sqlite3"
    with closing(open_database(str(path))) as store:
        write(store, made("anna"))
        made_files = sorted(tmp_path.iterdir())
        assert [file.name.removeprefix(path.name) for file in made_files] == ["", "-shm", "-wal", ".lock"]
        assert {(file.stat().st_uid, file.stat().st_gid) for file in made_files} == {(1234, 2345)}
    copy = backup(tmp_path / "copy", str(path)).target.stat()
    assert (copy.st_uid, copy.st_gid, copy.st_mode & 0o777) == (1234, 2345, 0o600)


# ---- the log of a killed server


@pytest.fixture
def killed(empty_sqlite: str, tmp_path: Path) -> Path:
    """What a killed server leaves: a file, and a log beside it with the last that was written."""
    place = tmp_path / "killed"
    place.mkdir()
    with closing(open_database(empty_sqlite)) as store:
        write(store, made("anna"))
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{empty_sqlite}{end}", place / f"carpet.sqlite3{end}")
    return place / "carpet.sqlite3"


@pytest.mark.parametrize("use", [open_database, check, upgrade])
@pytest.mark.parametrize("empty", [False, True])
def test_a_log_whose_file_was_moved_away_is_left_alone_and_named(killed: Path, use: Callable[[str], object], empty: bool) -> None:
    log = Path(f"{killed}-wal")
    before = log.read_bytes()
    killed.rename(killed.with_name("old"))
    if empty:
        killed.touch()
    with pytest.raises(StoreUnavailable, match=r"carpet\.sqlite3-wal is the log of a killed server .*is gone: move the log"):
        use(str(killed))
    assert log.read_bytes() == before
    log.rename(killed.with_name("old-wal"))
    assert check(str(killed.with_name("old"))).players == 1
    open_database(str(killed)).close()


@pytest.mark.parametrize("use", [open_database, check])
def test_a_log_is_not_applied_to_a_backup_that_was_copied_over_its_file(
    killed: Path, empty_sqlite: str, tmp_path: Path, use: Callable[[str], object]
) -> None:
    backup(tmp_path / "backup", empty_sqlite)
    shutil.copy(tmp_path / "backup", killed)
    with pytest.raises(StoreUnavailable, match=r"carpet\.sqlite3-wal is .* and belongs to another file than this carpet\.sqlite3"):
        use(str(killed))
    assert killed.read_bytes() == (tmp_path / "backup").read_bytes()
    Path(f"{killed}-wal").unlink()
    assert check(str(killed)).faults == ()


def test_the_log_of_a_killed_server_is_applied_to_its_own_file(killed: Path) -> None:
    assert check(str(killed)).players == 1


# ---- servers that refuse a connection


def test_a_server_that_is_not_there_is_said_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreUnavailable) as caught:
        open_database("postgresql://carpet:sesame@127.0.0.1:1/races")
    assert "postgresql://carpet:***@127.0.0.1:1/races" in str(caught.value)
    assert "sesame" not in str(caught.value)
    assert isinstance(caught.value, StoreAway)


@pytest.mark.parametrize(
    ("said", "lasts"),
    [
        ('failed: FATAL: database "nosuchdb" does not exist', True),
        ('failed: FATAL: role "nobody" does not exist', True),
        ('failed: FATAL: password authentication failed for user "carpet"', True),
        ('failed: FATAL: no pg_hba.conf entry for host "192.0.2.7"', True),
        ("failed: fe_sendauth: no password supplied", True),
        ("failed: FATAL: the database system is starting up", False),
        ("failed: FATAL: sorry, too many clients already", False),
        ('failed: connection to server at "db" failed: Connection refused', False),
    ],
)
def test_a_refusal_of_postgres_that_lasts_is_told_from_one_that_passes(said: str, lasts: bool) -> None:
    meant = connections._postgres_meaning(None, said, locate("postgresql://db/carpet"))
    assert isinstance(meant, StoreAway) is not lasts


def test_a_postgres_without_that_database_is_not_waited_for(postgres: str) -> None:
    with pytest.raises(StoreUnavailable, match="does not exist") as caught:
        open_database(postgres.partition("?")[0] + "_that_is_not_there")
    assert not isinstance(caught.value, StoreAway)


@pytest.mark.parametrize("where", ["mysql://host/races", "://", "http://example.org", "sqlite://", "sqlite:///:memory:"])
def test_a_place_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(StoreUnavailable):
        open_database(where)


def test_a_place_may_be_a_url_a_path_or_the_usual_one_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "carpet.store")
    monkeypatch.setenv("CARPET_HOME", str(tmp_path / "home"))
    for where, file in [(None, "home/carpet.sqlite3"), (str(tmp_path / "a b"), "a b"), (f"sqlite:///{tmp_path}/url", "url")]:
        store = open_store(where)
        write(store, made("anna"))
        store.close()
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600
        assert caplog.messages.pop() == f"races and players are kept in {tmp_path / file}"
    assert not open_store(NOTHING_KEPT).waits
