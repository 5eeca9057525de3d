"""`carpet-server db`: one line for what is well, one sentence for whatever is wrong."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from server.cli import app


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "carpet.sqlite3")


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["db", *arguments], env=environment)


def test_upgrade_makes_the_tables_then_has_nothing_to_do(file: str) -> None:
    assert run("upgrade", "--database", file).stdout.startswith("schema none → 0001: Make the tables")
    assert run("upgrade", CARPET_DATABASE=file).stdout == "schema 0001: nothing to do\n"


def test_check_says_that_all_is_well(file: str) -> None:
    run("upgrade", "--database", file)
    result = run("check", "--database", file)
    assert (result.exit_code, result.stdout) == (0, f"sound: {file}, schema 0001: 0 players, 0 races running, 0 records\n")


def test_check_says_what_is_wrong_and_fails(file: str) -> None:
    run("upgrade", "--database", file)
    with closing(sqlite3.connect(file)) as database:
        database.execute("INSERT INTO records VALUES ('nowhere', '{}', '', 0)")
        database.commit()
    result = run("check", "--database", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "wrong: row 1 of records belongs to nothing in races",
        f"carpet-server: {file} is not sound; wrong in all: 1",
    ]


def test_backup_says_where_the_copy_is(file: str, tmp_path: Path) -> None:
    run("upgrade", "--database", file)
    copy = tmp_path / "copy"
    result = run("backup", str(copy), "--database", file)
    assert (result.exit_code, result.stdout) == (0, f"{file} copied to {copy}, {copy.stat().st_size} bytes\n")
    again = run("backup", str(copy), "--database", file)
    assert (again.exit_code, again.stderr) == (1, f"carpet-server: {copy} is there already; choose another name\n")


@pytest.mark.parametrize("command", [["check"], ["backup", "copy"]])
def test_what_is_not_there_is_said_in_one_sentence(file: str, command: list[str]) -> None:
    result = run(*command, "--database", file)
    assert (result.exit_code, result.stderr) == (1, f"carpet-server: there is no database at {file}\n")


def test_alone_it_shows_its_commands() -> None:
    result = run()
    assert result.exit_code == 0
    assert all(f"  {command} " in result.stdout for command in ("check", "backup", "upgrade"))
