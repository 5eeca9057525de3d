"""The version of the tables: made, upgraded, refused when it is newer; and the migrations make what `tables` says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from server.store import schema
from server.store.database import DatabaseStore, open_database
from server.store.errors import StoreTooNew, StoreTooOld
from server.store.locations import locate
from server.store.tables import metadata
from tests.server.store.keeping import made, opened, taken, write

SECOND = '''"""Give players a motto."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("players", sa.Column("motto", sa.Text))
'''
BROKEN = SECOND + '    op.execute("SELECT * FROM nowhere")\n'


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a later program, in a folder whose name needs care."""
    folder = tmp_path / "100% later"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v0002_mottos.py").write_text(SECOND)
    return folder


def test_a_new_database_gets_all_tables_and_an_up_to_date_one_is_left_alone(where: str) -> None:
    for expected in ("schema none → 0001: Make the tables: players, races, commands, records, seats.", "schema 0001: nothing to do"):
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
    assert str(store.upgraded) == "schema 0001 → 0002: Give players a motto."
    assert (store.player("anna"), store.running()) == kept
    store.close()


def test_a_newer_database_is_refused_by_name(where: str, later: Path) -> None:
    DatabaseStore(locate(where), migrations=later).close()
    with pytest.raises(StoreTooNew, match="schema 0002, made by a newer carpet-race; this one works with 0001: update it"):
        open_database(where)


def test_an_upgrade_that_fails_changes_nothing(where: str, later: Path) -> None:
    open_database(where).close()
    (later / "versions" / "v0002_mottos.py").write_text(BROKEN)
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
        assert schema.check(connection) == "0001"
        with pytest.raises(StoreTooOld, match="has schema 0001, this program works with 0002: run carpet-server db upgrade"):
            schema.check(connection, later)


def test_the_migrations_are_shipped_with_the_package() -> None:
    assert {path.name for path in (schema.MIGRATIONS / "versions").glob("v*.py")} >= {"v0001_first_tables.py"}
    assert (schema.MIGRATIONS / "env.py").is_file()
