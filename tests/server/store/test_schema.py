"""The version of the tables: made, upgraded, refused when it is newer; and the migrations make what `tables` says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, select

from server.store import schema
from server.store.database import DatabaseStore, open_database
from server.store.documents import encode_record
from server.store.errors import StoreTooNew, StoreTooOld
from server.store.locations import locate
from server.store.port import RaceAborted
from server.store.tables import metadata, players, races, records, seats
from tests.server.store.keeping import NOW, made, opened, seat, taken, won, write

LATER = '''"""Give players a motto."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("players", sa.Column("motto", sa.Text))
'''
BROKEN = LATER + '    op.execute("SELECT * FROM nowhere")\n'


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a later program, in a folder whose name needs care."""
    folder = tmp_path / "100% later"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v0007_mottos.py").write_text(LATER)
    return folder


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The migrations of the first program."""
    folder = tmp_path / "first"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__", "v000[2-9]*"))
    return folder


def old_players(connection: Connection) -> None:
    for player in ("anna", "ben"):
        values = {"id": player, "name": player, "name_key": player, "token_hash": player.encode(), "created_at_ms": 1, "seen_at_ms": 1}
        connection.execute(insert(players).values(values))


def old_race(connection: Connection, race: str, record: str) -> None:
    """A race between Anna and Ben as the first program had it; the one that is called r is the newest."""
    connection.execute(
        insert(races).values(
            id=race, room="ABCDEF", number=1, options='{"rules": "carpet"}', secret=b"", software="old", opened_at_ms=1, phase="over"
        )
    )
    connection.execute(insert(records).values(race=race, record=record, digest=won().digest, finished_at_ms=NOW))
    for number, player in enumerate(("anna", "ben")):
        connection.execute(
            insert(seats).values(
                race=race, seat=number, player=player, name=player, state="stopped", place=1, home=9, finished_at_ms=NOW + (race == "r")
            )
        )


def test_a_new_database_gets_all_tables_and_an_up_to_date_one_is_left_alone(where: str) -> None:
    steps = (
        "Make the tables: players, races, commands, records, seats.",
        "Keep the seats of aborted races, without places, and when each seat ended.",
        "Number the records in the order of their writing; keep what a race did to ratings with its seats.",
        "Keep shuffles that several races share, and who has had his run of them.",
        "Keep who is still in the room of a race that is over.",
        "Keep tournaments, and the logs of what was decided about them.",
    )
    for expected in (f"schema none → 0006: {' '.join(steps)}", "schema 0006: nothing to do"):
        store = open_database(where)
        store.close()
        assert str(store.upgraded) == expected


def test_the_migrations_make_the_tables_that_the_program_uses(database: DatabaseStore) -> None:
    with database._reader.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE}), metadata) == []


def test_an_older_database_is_upgraded_and_keeps_what_it_has(where: str, later: Path) -> None:
    store = open_database(where)
    write(store, made("anna"), opened("r"), taken("r", 1))
    kept = (store.player("anna"), store.running())
    store.close()
    store = DatabaseStore(locate(where), migrations=later)
    assert str(store.upgraded) == "schema 0006 → 0007: Give players a motto."
    assert (store.player("anna"), store.running()) == kept
    store.close()


def test_a_database_of_the_first_tables_keeps_its_histories_and_learns_when_each_seat_ended(where: str, first: Path) -> None:
    store = DatabaseStore(locate(where), migrations=first)
    with store._writer.begin() as connection:
        old_players(connection)
        for race, record in (("r", encode_record(won())), ("damaged", "{"), ("damaged too", '{"seats": [{"ended_at_ms": "late"}]}')):
            old_race(connection, race, record)
    store.close()
    store = open_database(where)
    assert str(store.upgraded).startswith("schema 0001 → 0006: Keep the seats of aborted races")
    assert store.record("r") == won()
    ends = [seat.ended_at_ms for seat in won().seats]
    (played,) = store.history("ben", limit=1)
    assert (played.race, [seat.ended_at_ms for seat in played.seats]) == ("r", ends)
    assert [[seat.ended_at_ms for seat in race.seats] for race in store.history("anna", limit=9)] == [ends, [None, None], [None, None]]
    write(store, opened("s"), RaceAborted(race="s", reason="no", at_ms=NOW + 9, seats=(seat("anna"),)))
    assert store.history("anna", limit=1)[0].seats[0].place is None
    store.close()


def test_more_records_than_are_read_at_once_are_all_seen_to(sqlite: str, first: Path) -> None:
    store = DatabaseStore(locate(sqlite), migrations=first)
    with store._writer.begin() as connection:
        old_players(connection)
        for number in range(250):
            old_race(connection, f"r{number:03}", '{"seats": [{"ended_at_ms": 7}, {"ended_at_ms": 8}]}')
    store.close()
    store = open_database(sqlite)
    races = store.history("anna", limit=1000)
    assert len(races) == 250
    assert {tuple(seat.ended_at_ms for seat in race.seats) for race in races} == {(7, 8)}
    with store._reading() as connection:
        numbered = connection.execute(select(records.c.number, records.c.race).order_by(records.c.number)).all()
    assert numbered == [(number + 1, f"r{number:03}") for number in range(250)]
    store.close()


def test_a_newer_database_is_refused_by_name(where: str, later: Path) -> None:
    DatabaseStore(locate(where), migrations=later).close()
    with pytest.raises(StoreTooNew, match="schema 0007, made by a newer carpet-race; this one works with 0006: update it"):
        open_database(where)


def test_an_upgrade_that_fails_changes_nothing(where: str, later: Path) -> None:
    open_database(where).close()
    (later / "versions" / "v0007_mottos.py").write_text(BROKEN)
    with pytest.raises(Exception, match="nowhere"):
        DatabaseStore(locate(where), migrations=later)
    store = open_database(where)
    assert store.upgraded.steps == ()
    with store._reader.connect() as connection:
        columns = {column["name"] for column in schema.inspect(connection).get_columns("players")}
        assert "motto" not in columns
    store.close()


def test_looking_at_an_old_database_does_not_upgrade_it(database: DatabaseStore, later: Path) -> None:
    with database._reader.connect() as connection:
        assert schema.check(connection) == "0006"
        with pytest.raises(StoreTooOld, match="has schema 0006, this program works with 0007: run carpet-server db upgrade"):
            schema.check(connection, later)


def test_the_names_of_the_files_are_the_versions_that_alembic_goes_by(later: Path) -> None:
    script = ScriptDirectory(str(later))
    assert schema.versions(later) == [step.revision for step in reversed([*script.walk_revisions()])]
    assert schema.newest(later) == script.get_current_head()


def test_the_migrations_are_shipped_with_the_package() -> None:
    assert {path.name for path in (schema.MIGRATIONS / "versions").glob("v*.py")} == {
        "v0001_first_tables.py",
        "v0002_seats_of_aborted_races.py",
        "v0003_ratings.py",
        "v0004_shared_deals.py",
        "v0005_rooms_that_stand.py",
        "v0006_tournaments.py",
    }
    assert (schema.MIGRATIONS / "env.py").is_file()
