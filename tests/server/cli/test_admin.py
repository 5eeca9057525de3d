"""`carpet-server admin`: a table or a line for what was done, one sentence for any error."""

from __future__ import annotations

import json
import os
import re
import socket
from functools import partial
from pathlib import Path

import pytest
import trio
from typer.testing import CliRunner, Result
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect
from websockets.typing import Subprotocol

from protocol.codec import MSGPACK
from protocol.errors import CloseCode, ErrorCode
from server.app import running
from server.cli.commands import app
from server.config import Settings, admin_socket_of
from tests.server.net.wire import Client


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["admin", *arguments])


@pytest.mark.parametrize("noun", ["tournaments", "rooms", "players", "connections"])
def test_help_says_what_there_is(noun: str) -> None:
    assert f"admin {noun}" in run(noun).stdout
    assert "list" in run(noun).stdout


def test_the_list_of_tournaments_says_that_some_are_over() -> None:
    assert "those that are not over, and those that ended lately" in run("tournaments", "list", "--help").stdout.replace("\n", " ")


def test_what_is_undone_is_not_waited_for() -> None:
    assert "--undo and --wait exclude each other" in run("drain", "--undo", "--wait").stderr


def test_where_no_server_runs_it_is_said(tmp_path: Path) -> None:
    database = str(tmp_path / "races.sqlite3")
    result = run("rooms", "list", "--database", database)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith(f"no server is running there: there is no {database}-admin; --database or --socket names another\n")
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(f"{database}-admin")
    assert "was left by one that was killed" in run("rooms", "list", "--database", database).stderr
    assert "give --socket PATH" in run("rooms", "list", "--database", "memory").stderr
    (tmp_path / "file").touch()
    assert "is not a server's socket" in run("rooms", "list", "--socket", str(tmp_path / "file")).stderr
    assert "is neither" in run("rooms", "list", "--database", "mysql://x/y").stderr


def test_the_socket_is_named_as_the_server_was_told_it(tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    assert f"there is no {path}; " in run("rooms", "list", "--admin-socket", path).stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may use any socket")
def test_somebody_else_s_server_is_not_asked(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(tmp_path / "admin"))
        (tmp_path / "admin").chmod(0)
        assert "ask as the user who runs the server" in run("rooms", "list", "--socket", str(tmp_path / "admin")).stderr


def test_the_usual_place_is_beside_the_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    assert admin_socket_of(None) == tmp_path / "carpet.sqlite3-admin"
    assert admin_socket_of("races.sqlite3") == Path.cwd() / "races.sqlite3-admin"
    assert admin_socket_of("memory") is None


def test_each_postgresql_database_has_a_socket_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CARPET_HOME", str(tmp_path))
    usual = admin_socket_of("postgresql://u:one@h/n")
    assert usual is not None
    assert re.fullmatch("postgresql-[0-9a-f]{8}-admin", usual.name)
    same = ("postgresql://u:two@h/n", "postgres://other@H:5432/n", "postgresql+psycopg://u@/n?host=h")
    assert {admin_socket_of(where) for where in same} == {usual}
    others = ("postgresql://u@h/m", "postgresql://u@g/n", "postgresql://u@h:5433/n", "postgresql://u@h/n?options=-csearch_path%3Ds")
    assert len({usual, *map(admin_socket_of, others)}) == 1 + len(others)


async def test_a_host_ends_a_race_and_bans_for_longer_than_the_server_runs(tmp_path: Path) -> None:
    where = str(tmp_path / "races.sqlite3")
    settings = Settings(port=0, database=where, rate=1e6, burst=1_000_000, trusted_proxies=("127.0.0.1",))
    headers = {"X-Forwarded-For": "192.0.2.7"}

    async def ask(*arguments: str) -> str:
        result = await trio.to_thread.run_sync(partial(run, *arguments, "--database", where))
        assert result.exit_code == 0, result.stderr
        return result.stdout

    async with running(settings) as url, connect(url, subprotocols=[Subprotocol(MSGPACK)], additional_headers=headers) as line:
        ann = Client(line)
        await ann.hello("Ann")
        code = (await ann.open()).code
        titles, row = (await ask("rooms", "list")).splitlines()
        assert titles.split() == ["code", "phase", "race", "rules", "players", "public", "rated", "watchers"]
        assert row.split() == [code, "waiting", "1", "carpet", "Ann", "yes", "yes", "0"]
        (player,) = json.loads(await ask("players", "list", "--json"))
        assert (player["name"], player["room"], player["address"]) == ("Ann", code, "192.0.2.7")
        assert await ask("rooms", "end", code, "--reason", "it is late") == "ended; reason: it is late\n"
        assert (await ann.error()).message.endswith("(it is late)")
        # The room closes a moment after those in it were told.
        with trio.fail_after(60):
            while await ask("rooms", "list") != "no rooms\n":
                pass
        drained = await trio.to_thread.run_sync(partial(run, "drain", "--reason", "we move", "--wait", "--database", where))
        assert (drained.stdout, drained.stderr) == ("nothing new begins here; reason: we move\n", "nothing is under way\n")
        assert (await ann.error()).message.startswith("The host of this server has a message for everybody. (No new races")
        assert await ask("drain", "--undo") == "races and tournaments can begin here again\n"
        assert "connections closed: 1" in await ask("connections", "ban", "192.0.2.7", "--reason", "floods")
        assert (await ann.hear_end())[0] == CloseCode.BANNED
    async with running(settings) as url:
        async with connect(url, subprotocols=[Subprotocol(MSGPACK)], additional_headers=headers) as line:
            error = await Client(line).error()
            assert (error.code, error.message) == (ErrorCode.BANNED, "The host of this server has banned you. (floods)")
            with pytest.raises(ConnectionClosed):
                await line.recv()
        (banned,) = json.loads(await ask("connections", "list", "--banned", "--json"))
        assert (banned["subject"], banned["reason"]) == ("192.0.2.7", "floods")
        await ask("connections", "unban", "192.0.2.7")
        assert await ask("connections", "list", "--banned") == "nobody is banned\n"
        async with connect(url, subprotocols=[Subprotocol(MSGPACK)], additional_headers=headers) as line:
            await Client(line).hello("Ann", ann.welcome.token)
