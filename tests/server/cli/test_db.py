"""`carpet-server db`: one line if all is well, one sentence for any error."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from server.cli.commands import app
from server.store.database import open_database
from server.store.port import RaceAborted
from server.store.schema import newest
from tests.server.store.keeping import made, opened, rated_over, write


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "carpet.sqlite3")


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["db", *arguments], env=environment)


def test_upgrade_makes_the_tables_then_has_nothing_to_do(file: str) -> None:
    assert run("upgrade", "--database", file).stdout.startswith(f"schema none → {newest()}: Make the tables")
    assert run("upgrade", CARPET_DATABASE=file).stdout == f"schema {newest()}: nothing to do\n"


def test_check_says_that_all_is_well(file: str) -> None:
    run("upgrade", "--database", file)
    result = run("check", "--database", file)
    assert (result.exit_code, result.stdout) == (0, f"sound: {file}, schema {newest()}: 0 players, 0 races running, 0 records\n")


def test_check_says_what_is_wrong_and_fails(file: str) -> None:
    run("upgrade", "--database", file)
    with closing(sqlite3.connect(file)) as database:
        database.execute("INSERT INTO records VALUES ('nowhere', '{}', '', 0, 1)")
        database.commit()
    result = run("check", "--database", file)
    assert (result.exit_code, result.stdout) == (1, "")
    files = "carpet.sqlite3, carpet.sqlite3-wal and carpet.sqlite3-shm"
    advice = f"if you have a backup, move {files} away, then run carpet-server db restore BACKUP"
    assert result.stderr.splitlines() == [
        "wrong: row 1 of records belongs to nothing in races",
        f"carpet-server: {file} is not sound; wrong in all: 1; {advice}",
    ]


def test_backup_says_where_the_copy_is(file: str, tmp_path: Path) -> None:
    run("upgrade", "--database", file)
    copy = tmp_path / "copy"
    result = run("backup", str(copy), "--database", file)
    assert (result.exit_code, result.stdout) == (0, f"{file} copied to {copy}, {copy.stat().st_size} bytes\n")
    again = run("backup", str(copy), "--database", file)
    assert (again.exit_code, again.stderr) == (1, f"carpet-server: {copy} exists already; choose another name\n")


def test_restore_says_what_the_new_database_has(file: str, tmp_path: Path) -> None:
    with closing(open_database(file)) as store:
        write(store, made("anna"))
    copy, new = str(tmp_path / "copy"), str(tmp_path / "new")
    run("backup", copy, "--database", file)
    result = run("restore", copy, "--database", new)
    assert (result.exit_code, result.stdout) == (0, f"sound: {new}, schema {newest()}: 1 player, 0 races running, 0 records\n")
    again = run("restore", copy, "--database", new)
    way = "move it away, with new-wal and new-shm if they are there, or let --database name another place"
    said = f"carpet-server: {new} is not empty: {way}\n"
    assert (again.exit_code, again.stderr) == (1, said)


@pytest.mark.parametrize("command", [["check"], ["backup", "copy"], ["ratings"], ["ratings", "--repair"]])
def test_what_is_not_there_is_said_in_one_sentence(file: str, command: list[str]) -> None:
    result = run(*command, "--database", file)
    assert (result.exit_code, result.stderr) == (1, f"carpet-server: there is no database at {file}\n")


def test_alone_it_shows_its_commands() -> None:
    result = run()
    assert result.exit_code == 0
    assert all(f"  {command} " in result.stdout for command in ("check", "backup", "upgrade", "ratings"))


def test_ratings_that_agree_are_said_to_and_one_that_was_changed_is_named_and_put_right(file: str) -> None:
    store = open_database(file)
    write(store, made("anna"), made("ben"), opened("r"), rated_over("r", {"anna": 1, "ben": 2}))
    store.close()
    agrees = f"agrees: {file}: rated races: 1, players: 2\n"
    assert (run("ratings", "--database", file).stdout, run("ratings", "--database", file, "--repair").stdout) == (agrees, agrees)
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE players SET mu = 40 WHERE id = 'ben'")
        database.commit()
    found = run("ratings", "--database", file)
    assert (found.exit_code, found.stdout) == (1, "")
    stored, due = "1632 (mu 40, sigma 8.0659, races 1)", "927 (mu 22.3646, sigma 8.0659, races 1)"
    wrong, said = found.stderr.splitlines()
    assert wrong == f"wrong: player ben (Ben): {stored} is stored, {due} follows from the records"
    assert said.startswith(
        f"carpet-server: the ratings in {file} are not those that follow from its records in this version; differences: 1;"
    )
    assert said.endswith("--repair writes those that follow")
    as_json = run("ratings", "--database", file, "--json")
    assert as_json.exit_code == 1
    document = json.loads(as_json.stdout)
    assert (document["agrees"], document["repaired"], document["races"], document["players"]) == (False, False, 1, 2)
    assert [wrong["player"] for wrong in document["players_wrong"]] == ["ben"]
    repaired = run("ratings", "--database", file, "--repair")
    assert (repaired.exit_code, repaired.stdout) == (0, f"repaired: {file}: rated races: 1, players: 2, rows written: 1\n")
    assert run("ratings", "--database", file).stdout == agrees


def test_prune_says_what_it_removed(file: str) -> None:
    store = open_database(file)
    write(store, made("anna"), opened("r"), RaceAborted(race="r", reason="no", at_ms=0))
    store.close()
    for gone in (1, 0):
        result = run("prune", "--older-than", "90d", "--database", file)
        assert (result.exit_code, result.stdout) == (0, f"removed: rooms without a race {gone}, players {gone}, challenges 0\n")


@pytest.mark.parametrize("age", ["", "90", "-1d", "1y", "d"])
def test_prune_wants_an_age(file: str, age: str) -> None:
    open_database(file).close()
    result = run("prune", "--older-than", age, "--database", file)
    assert result.exit_code == 2
    assert "such as 90d or 12w" in result.stderr


def test_a_player_is_given_all_about_them_and_forgotten_after_a_question(file: str) -> None:
    with closing(open_database(file)) as store:
        write(store, made("anna"), made("ben"), opened("r"), rated_over("r", {"anna": 1, "ben": 2}))
    told = json.loads(run("export", "anna", "--database", file).stdout)
    assert (told["player"]["name"], [row["place"] for row in told["races"]]) == ("Anna", [1])
    refused = run("forget", "Anna", "--database", file)
    assert (refused.exit_code, "Forget Anna for good?" in refused.stdout) == (1, True)
    declined = CliRunner().invoke(app, ["db", "forget", "Anna", "--database", file], input="n\n")
    assert (declined.exit_code, declined.stderr) == (1, "carpet-server: nothing was forgotten\n")
    assert json.loads(run("export", "anna", "--database", file).stdout) == told
    done = run("forget", "Anna", "--yes", "--database", file)
    assert re.match(r"Anna is called somebody [0-9a-f]{6} now\. Backups, ", done.stdout)
    assert run("forget", "Anna", "--yes", "--database", file).stderr == "carpet-server: there is no player 'Anna'\n"
    assert run("ratings", "--database", file).stdout.startswith("agrees: ")
