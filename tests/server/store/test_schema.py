"""The version of the schema: created, upgraded, refused if it is newer; and the migrations lead to what `tables` says."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Barrier
from time import sleep
from unittest import mock

import pytest
from alembic.script import ScriptDirectory

from protocol.views import RaceOptions
from server.store import connections, schema, shared
from server.store.database import DatabaseStore, open_database
from server.store.documents import encode, encode_command
from server.store.errors import StoreInUse, StoreTooNew, StoreTooOld
from server.store.locations import locate
from server.store.memory import MemoryStore
from server.store.port import RaceAborted
from server.store.shared import open_shared
from server.store.sql import Sql
from server.store.tables import NAMES, VERSION
from tests.server.race.racing import SECRET
from tests.server.store.conftest import postgres_schema
from tests.server.store.keeping import NOW, made, opened, seat, taken, won, write

NEWEST = schema.newest()
LATER = f'''"""Give players a motto."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{NEWEST}"


def upgrade() -> None:
    op.add_column("players", sa.Column("motto", sa.Text))
'''
RACES = {"r": "running", "over": "over", "s": "running"}
BROKEN = LATER + '    op.execute("SELECT * FROM nowhere")\n'


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a later program, in a folder whose name needs care."""
    folder = tmp_path / "100% later"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v9999_mottos.py").write_text(LATER)
    return folder


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The migrations of the first program."""
    return until(1, tmp_path)


def until(last: int, folder: Path) -> Path:
    """The migrations of a program that had so many."""
    migrations = folder / str(last)
    later = (f"v{step}_*" for step in schema.versions() if int(step) > last)
    shutil.copytree(schema.MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__", *later))
    return migrations


def opened_by(migrations: Path, where: str) -> DatabaseStore:
    """A store as a program with these migrations opens it."""
    with mock.patch.object(schema, "MIGRATIONS", migrations):
        return DatabaseStore(locate(where))


def old_players(sql: Sql) -> None:
    players = [{"id": player, "token": player.encode()} for player in ("anna", "ben")]
    sql.run("INSERT INTO players VALUES (:id, :id, :id, :token, 1, 1, NULL, NULL, 0)", players)


def old_race(sql: Sql, race: str, record: str) -> None:
    """A race between Anna and Ben as the first program had it; the one that is called r is the newest."""
    values = {"race": race, "options": '{"rules": "carpet"}', "secret": b""}
    sql.run("INSERT INTO races VALUES (:race, 'ABCDEF', 1, :options, :secret, 'old', 1, 'over', NULL, NULL)", [values])
    sql.run(
        "INSERT INTO records VALUES (:race, :record, :digest, :at)", [{"race": race, "record": record, "digest": won().digest, "at": NOW}]
    )
    for number, player in enumerate(("anna", "ben")):
        seat = {"race": race, "seat": number, "player": player, "at": NOW + (race == "r")}
        sql.run("INSERT INTO seats VALUES (:race, :seat, :player, :player, NULL, 'stopped', 1, 9, :at)", [seat])


def shape(sql: Sql) -> dict[str, list[tuple[str, bool]]]:
    """The columns of our tables, and whether they may be empty."""
    if sql.dialect == "sqlite":
        return {name: [(row.name, not row.notnull) for row in sql.rows(f"PRAGMA table_info({name})")] for name in NAMES}
    columns = "SELECT column_name, is_nullable FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = :name"
    found = {name: sql.rows(f"{columns} ORDER BY ordinal_position", {"name": name}) for name in NAMES}
    return {name: [(row.column_name, row.is_nullable == "YES") for row in rows] for name, rows in found.items()}


def rules(sql: Sql) -> list[tuple[object, ...]]:
    """What SQLite sees to: types, keys, uniqueness, references, indexes."""
    seen: list[tuple[object, ...]] = [(name, *row) for name in sorted(NAMES) for row in sql.rows(f"PRAGMA table_info({name})")]
    # A reference is numbered by where it stands among the others, which says nothing.
    seen += [(name, *row[1:]) for name in sorted(NAMES) for row in sql.rows(f"PRAGMA foreign_key_list({name})")]
    for name in sorted(NAMES):
        for index in sql.rows(f"PRAGMA index_list({name})"):
            columns = [row.name for row in sql.rows(f"PRAGMA index_info({index.name})")]
            # What makes itself has another name in each.
            seen.append((name, index.name if index.origin == "c" else "", index.unique, index.partial, *columns))
    return sorted(seen, key=repr)


def test_a_new_database_gets_all_tables_and_an_up_to_date_one_is_left_alone(where: str) -> None:
    steps = (
        "Make the tables: players, races, commands, records, seats.",
        "Keep the seats of aborted races, without places, and when each seat ended.",
        "Number the records in the order of their writing; keep what a race did to ratings with its seats.",
        "Keep shuffles that several races share, and who has had their run of them.",
        "Keep who is still in the room of a race that is over.",
        "Keep tournaments, and the logs of what was decided about them.",
        "Keep the commands of each commit as one row of bytes, and number the commits.",
        "Keep whom the host keeps out.",
        "Say which node of a cluster runs a race, and know the nodes.",
        "Say which node of a cluster leads a tournament.",
        "Let public races that are over be found by their rule set.",
        "Find the races that were over in a room by its code.",
        "Give the place a name that no other has, whatever database server it is on.",
        "Keep who had left the room of a race before it was over.",
        "Find at once who is best rated, and whether a player is named anywhere.",
    )
    made = "Make the tables." if where.endswith("sqlite3") else " ".join(steps)
    for expected in (f"schema none → {NEWEST}: {made}", f"schema {NEWEST}: nothing to do"):
        store = open_database(where)
        store.close()
        assert str(store.upgraded) == expected


def test_the_migrations_make_the_tables_that_a_new_file_and_a_store_in_memory_have(where: str, first: Path) -> None:
    assert VERSION == NEWEST
    opened_by(first, where).close()
    with closing(open_database(where)) as store, store._reading() as sql, MemoryStore()._reading() as memory:
        assert shape(sql) == shape(memory)


def test_the_migrations_and_the_tables_of_a_new_file_have_the_same_types_keys_and_indexes(tmp_path: Path, first: Path) -> None:
    old, new = str(tmp_path / "old.sqlite3"), str(tmp_path / "new.sqlite3")
    opened_by(first, old).close()
    with closing(open_database(old)) as upgraded, closing(open_database(new)) as made, upgraded._reading() as sql, made._reading() as other:
        assert rules(sql) == rules(other)


def test_the_log_says_that_a_database_is_new_or_was_upgraded_and_nothing_of_one_that_is_up_to_date(
    where: str, later: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "carpet.store")
    told = []
    for opening in (open_database, open_database, partial(opened_by, later)):
        opening(where).close()
        told.append([record.getMessage() for record in caplog.records if record.name == "carpet.store"][:-1])
        caplog.clear()
    upgraded = "the tables were upgraded, and an older carpet-server can no longer use them: "
    assert told == [["a new database was made"], [], [f"{upgraded}schema {NEWEST} → 9999: Give players a motto."]]


def test_an_older_database_is_upgraded_and_keeps_what_it_has(where: str, later: Path) -> None:
    store = open_database(where)
    write(store, made("anna"), opened("r"), taken("r", 1))
    kept = (store.player("anna"), store.running())
    store.close()
    store = opened_by(later, where)
    assert str(store.upgraded) == f"schema {NEWEST} → 9999: Give players a motto."
    assert (store.player("anna"), store.running()) == kept
    store.close()


def test_a_database_of_the_first_tables_keeps_its_histories_and_learns_when_each_seat_ended(where: str, first: Path) -> None:
    with closing(opened_by(first, where)) as store, store.maintaining() as sql:
        old_players(sql)
        for race, record in (("r", encode(won())), ("damaged", "{"), ("damaged too", '{"seats": [{"ended_at_ms": "late"}]}')):
            old_race(sql, race, record)
    store = open_database(where)
    assert str(store.upgraded).startswith(f"schema 0001 → {NEWEST}: Keep the seats of aborted races")
    assert store.record("r") == won()
    ends = [seat.ended_at_ms for seat in won().seats]
    (played,) = store.history("ben", limit=1)
    assert (played.race, [seat.ended_at_ms for seat in played.seats]) == ("r", ends)
    assert [[seat.ended_at_ms for seat in race.seats] for race in store.history("anna", limit=9)] == [ends, [None, None], [None, None]]
    write(store, opened("s"), RaceAborted(race="s", reason="no", at_ms=NOW + 9, seats=(seat("anna"),)))
    assert store.history("anna", limit=1)[0].seats[0].place is None
    store.close()


def test_more_records_than_are_read_at_once_are_all_seen_to(sqlite: str, first: Path) -> None:
    with closing(opened_by(first, sqlite)) as store, store.maintaining() as sql:
        old_players(sql)
        for number in range(250):
            old_race(sql, f"r{number:03}", '{"seats": [{"ended_at_ms": 7}, {"ended_at_ms": 8}]}')
    store = open_database(sqlite)
    races = store.history("anna", limit=1000)
    assert len(races) == 250
    assert {tuple(seat.ended_at_ms for seat in race.seats) for race in races} == {(7, 8)}
    with store._reading() as sql:
        numbered = sql.rows("SELECT number, race FROM records ORDER BY number")
    assert numbered == [(number + 1, f"r{number:03}") for number in range(250)]
    store.close()


def test_races_that_ran_with_a_row_for_each_command_go_on(where: str, tmp_path: Path) -> None:
    with closing(opened_by(until(6, tmp_path), where)) as store, store.maintaining() as sql:
        rows = [{"id": race, "phase": phase, "options": encode(RaceOptions()), "secret": SECRET} for race, phase in RACES.items()]
        columns = "id, room, number, options, secret, software, opened_at_ms, phase"
        sql.run(f"INSERT INTO races ({columns}) VALUES (:id, 'ABCDEF', 1, :options, :secret, 'carpet-server 0', 1, :phase)", rows)
        each = [(race, command) for sequence in range(1, 702) for race in RACES for command in (taken(race, sequence),)]
        logged = [
            {"number": number, "race": race, "sequence": it.sequence, "at": it.at_ms, "command": encode_command(it.command).decode()}
            for number, (race, it) in enumerate(each, 1)
        ]
        sql.run("INSERT INTO commands VALUES (:number, :race, :sequence, :at, :command)", logged)
    store = open_database(where)
    assert [(race.opened.race, len(race.commands)) for race in store.running().races] == [("r", 701), ("s", 701)]
    assert store.running().races[1].commands == tuple(taken("s", sequence) for sequence in range(1, 702))
    write(store, taken("r", 702))
    assert len(store.running().races[0].commands) == 702
    store.close()


def test_races_that_were_over_before_are_found_by_their_rule_set(where: str, tmp_path: Path) -> None:
    store = opened_by(until(10, tmp_path), where)
    kinds = {"open": RaceOptions(rules="colorado"), "private": RaceOptions(rules="colorado", public=False), "other": RaceOptions()}
    with store.maintaining() as sql:
        columns = "id, room, number, options, secret, software, opened_at_ms, phase, ended_at_ms"
        rows = [{"id": race, "options": encode(options), "secret": SECRET} for race, options in kinds.items()]
        rows += [{"id": f"damaged{number:03}", "options": "{", "secret": SECRET} for number in range(600)]
        sql.run(f"INSERT INTO races ({columns}) VALUES (:id, 'ABCDEF', 1, :options, :secret, 'carpet-server 0', 1, 'over', 2)", rows)
    store.close()
    store = open_database(where)
    assert [race.race for race in store.races_listed("colorado", limit=9)] == ["open"]
    store.close()


def test_each_place_has_a_name_of_its_own_and_one_with_servers_keeps_what_these_know_it_by(tmp_path: Path) -> None:
    names = []
    for servers_before in (0, 0, 1):
        with postgres_schema() as (url, connection):
            if servers_before:
                opened_by(until(12, tmp_path), url).close()
                connection.execute("INSERT INTO nodes VALUES (1, 'ws://one', 1, 0)")
            store = open_shared(url)
            names.append((store.place(), connection.execute("SELECT CAST(CAST('nodes' AS regclass) AS oid)").fetchone()[0]))
            assert store.place() == names[-1][0]
            store.close()
    ids = [name.split("-")[2:] for name, _ in names]
    assert all(name.split("-")[1] == str(oid) for name, oid in names)
    assert [len(each) for each in ids] == [1, 1, 0]
    assert ids[0] != ids[1]


def test_who_had_left_before_the_end_of_an_older_race_is_not_known_and_who_was_there_is(where: str, tmp_path: Path) -> None:
    with closing(opened_by(until(13, tmp_path), where)) as store, store.maintaining() as sql:
        old_players(sql)
        race = {"options": encode(RaceOptions()), "secret": SECRET}
        columns = "id, room, number, options, secret, software, opened_at_ms, phase, ended_at_ms"
        sql.run(f"INSERT INTO races ({columns}) VALUES ('r', 'ABCDEF', 1, :options, :secret, 'carpet-server 0', 1, 'over', 2)", [race])
        sql.run("INSERT INTO records VALUES ('r', ?, ?, 2, 1)", [(encode(won()), won().digest)])
        columns = "race, seat, player, name, state, place, home, finished_at_ms, ended_at_ms, here"
        rows = [(seat, player, seat == 0) for seat, player in enumerate(("anna", None))]
        sql.run(f"INSERT INTO seats ({columns}) VALUES ('r', ?, ?, 'x', 'stopped', 1, 9, 2, 1, ?)", rows)
    store = open_database(where)
    (standing,) = store.standing()
    assert (standing.here, standing.gone) == (frozenset({0}), frozenset())
    store.close()


def test_a_newer_database_is_refused_by_name(where: str, later: Path) -> None:
    opened_by(later, where).close()
    with pytest.raises(StoreTooNew, match=f"schema 9999, made by a newer carpet-race; this one works with {NEWEST}: update it"):
        open_database(where)


def test_a_newer_server_of_a_place_does_not_upgrade_the_tables_beneath_an_older_one(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (connections, shared):
        monkeypatch.setattr(module, "BUSY_S", 1)
    old = until(int(NEWEST) - 1, tmp_path)
    with mock.patch.object(schema, "MIGRATIONS", old):
        older, beside = open_shared(postgres), open_shared(postgres)
    before = older.upgraded.now
    waited: list[float] = []

    def reconnect(seconds: float) -> None:
        """An older one, while the newer one waits for it to go."""
        connections.connect_to_write(locate(postgres), shared=True).close()
        waited.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(connections, "sleep", reconnect)
    for still_there in (beside, older):
        with pytest.raises(StoreInUse, match=r"another carpet-server uses postgresql://.*; stop it first"):
            open_shared(postgres)
        with still_there._reading() as sql:
            assert schema.version(sql) == before
        still_there.close()
    assert waited
    newer = open_shared(postgres)
    assert (newer.upgraded.before, newer.upgraded.now) == (before, NEWEST)
    # With nothing to do it minds nobody.
    open_shared(postgres).close()
    newer.close()


def test_of_two_newer_servers_that_start_at_the_same_moment_one_upgrades_and_the_other_waits(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock.patch.object(schema, "MIGRATIONS", until(int(NEWEST) - 1, tmp_path)):
        open_shared(postgres).close()
    looks, both, look = iter(range(2)), Barrier(2, timeout=60), schema.is_up_to_date

    def both_look(sql: Sql) -> bool:
        found = look(sql)
        if next(looks, None) is not None:
            # Each is connected, and has seen the older tables.
            both.wait()
        return found

    monkeypatch.setattr(schema, "is_up_to_date", both_look)
    with ThreadPoolExecutor(2) as threads:
        stores = list(threads.map(open_shared, [postgres] * 2))
    assert sorted(len(store.upgraded.steps) for store in stores) == [0, 1]
    for store in stores:
        store.close()


def test_an_upgrade_that_fails_changes_nothing(where: str, later: Path) -> None:
    open_database(where).close()
    (later / "versions" / "v9999_mottos.py").write_text(BROKEN)
    with pytest.raises(Exception, match="nowhere"):
        opened_by(later, where)
    store = open_database(where)
    assert store.upgraded.steps == ()
    with store._reading() as sql:
        assert "motto" not in dict(shape(sql)["players"])
    store.close()


def test_looking_at_an_old_database_does_not_upgrade_it(database: DatabaseStore, later: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with database._reading() as sql:
        assert schema.check(sql) == NEWEST
        monkeypatch.setattr(schema, "MIGRATIONS", later)
        with pytest.raises(StoreTooOld, match=f"has schema {NEWEST}, this program works with 9999: run carpet-server db upgrade"):
            schema.check(sql)


def test_the_names_of_the_files_are_the_versions_that_alembic_goes_by(later: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    script = ScriptDirectory(str(later))
    assert schema.versions() == [step.revision for step in reversed([*script.walk_revisions()])]
    assert schema.newest() == script.get_current_head()
