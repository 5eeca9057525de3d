"""`carpet-server cluster status`: which servers there are, and whether every race has one responsible for it."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from server.cli.commands import app
from server.store.shared import open_shared
from tests.server.store.conftest import postgres_schema
from tests.server.store.keeping import opened, write


def test_the_status_lists_servers_and_says_where_races_have_none(tmp_path: Path) -> None:
    with postgres_schema() as (url, _):
        first, second = open_shared(url), open_shared(url)
        assert first.join("wss://n1.carpet.example")
        assert second.join("wss://n2.carpet.example")
        write(first, opened("r"))
        result = CliRunner().invoke(app, ["cluster", "status", "--database", url])
        assert result.exit_code == 0, result.output
        assert "1  wss://n1.carpet.example  epoch 1  lease for " in result.stdout
        assert result.stdout.endswith("2 servers of 2 running, 1 race\n")
        first.leave()
        result = CliRunner().invoke(app, ["cluster", "status", "--database", url, "--json"])
        assert result.exit_code == 1
        rows = json.loads(result.stdout)
        assert [(row["id"], row["alive"], row["races"]) for row in rows] == [(1, False, 1), (2, True, 0)]
        first.close()
        second.close()


def test_a_sqlite_file_is_no_place_of_several_servers(tmp_path: Path) -> None:
    file = tmp_path / "races.sqlite3"
    file.touch()
    result = CliRunner().invoke(app, ["cluster", "status", "--database", str(file)])
    assert result.exit_code == 1
    assert "several servers share a PostgreSQL" in result.stderr
