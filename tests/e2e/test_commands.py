"""Failures on the player's command line, against real servers and on a real pseudo-terminal: one clear sentence each."""

from __future__ import annotations

import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from websockets.trio.server import serve
from websockets.typing import Subprotocol

from client.connection.client import open_link
from client.connection.events import Identity
from protocol.client_messages import OpenRace
from protocol.views import RaceOptions
from tests.e2e.commands import carpet, carpet_on_terminal, environment, serving
from tests.e2e.terminal import Terminal, terminal_environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


def test_a_refused_connection(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        ran = carpet_on_terminal(tmp_path, "home", f"127.0.0.1:{unused.getsockname()[1]}", "--name", "ada")
    assert ran.status == 1
    assert "the connection was refused" in ran.sentence
    assert ran.screen == ""


def test_a_code_nobody_has(url: str, tmp_path: Path) -> None:
    ran = carpet_on_terminal(tmp_path, "join", url, "ZZZZZZ", "--name", "bea")
    assert ran.status == 1
    assert "No race has that code" in ran.sentence
    assert ran.screen == ""


async def test_a_full_race(url: str, tmp_path: Path) -> None:
    async with open_link(url, Identity("anna")) as link:
        await link.entered(OpenRace(options=RaceOptions(seats=2, bots=("random",))))
        code = None
        async for event in link.events:
            if code := getattr(event, "code", None):
                break
        ran = await trio.to_thread.run_sync(carpet_on_terminal, tmp_path, "join", url, str(code), "--name", "cleo")
    assert ran.status == 1
    assert ran.err == f"carpet: Every seat of that race is taken. To watch it: carpet watch {url} {code}\n"
    assert ran.screen == ""


def test_rules_nobody_knows_are_told_with_those_there_are(tmp_path: Path) -> None:
    for ran in (carpet_on_terminal(tmp_path, "play", "--rules", "bridge"), carpet(tmp_path, "demo", "--fast", "--rules", "bridge")):
        assert ran.status == 1
        assert "There is no rule set 'bridge'; the rule sets are: carpet, " in ran.sentence
        assert "persian-rug" in ran.sentence


def test_a_winnable_deal_where_none_are_looked_for(url: str, tmp_path: Path) -> None:
    for command in (["play"], ["host", url, "--name", "emil"]):
        ran = carpet_on_terminal(tmp_path, *command, "--rules", "teppich", "--winnable")
        assert ran.status == 1
        assert "carpet: There are no winnable deals under 'teppich'; the rule sets with them are: carpet, " in ran.sentence
        # One's own server is not there yet when the table is shown.
        assert ("Your table is being laid." in ran.screen) if command == ["play"] else (ran.screen == "")


@pytest.mark.parametrize("command", ["play", "home"])
def test_an_interrupt_leaves_a_clean_terminal(url: str, tmp_path: Path, command: str) -> None:
    ran = carpet_on_terminal(tmp_path, *([command] if command == "play" else [command, url, "--name", "gus"]), interrupt_at="Carpet Race")
    assert (ran.status, ran.err) == (130, "")
    assert ran.screen.count("\x1b[?1049h") == ran.screen.count("\x1b[?1049l") == 1
    assert ran.screen.rindex("\x1b[?1049l") > ran.screen.rindex("Carpet")
    assert "Traceback" not in ran.screen


async def test_another_version_of_the_wire(nursery: trio.Nursery, tmp_path: Path) -> None:
    async def handle(ws: object) -> None:
        raise AssertionError("there is no handshake")

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    nursery.start_soon(lambda: serve(handle, listeners=listeners, subprotocols=[Subprotocol("carpet.v9.msgpack")]))
    ran = await trio.to_thread.run_sync(carpet_on_terminal, tmp_path, "home", f"ws://127.0.0.1:{port}", "--name", "hans")
    nursery.cancel_scope.cancel()
    assert ran.status == 1
    assert "does not speak carpet.v1.msgpack" in ran.sentence


def test_a_damaged_file_of_names(url: str, tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("{")
    ran = carpet_on_terminal(tmp_path, "home", url)
    assert ran.status == 1
    assert str(tmp_path / "identity.json") in ran.sentence


def test_a_record_that_is_none(tmp_path: Path) -> None:
    # Whether the server's part of the installation reads it or the player's own.
    for command in (("verify",), ("replay", "--text")):
        missing = carpet(tmp_path, *command, str(tmp_path / "none.json"))
        assert missing.status == 1
        assert missing.sentence == f"carpet: {tmp_path / 'none.json'} cannot be read: No such file or directory."
        empty = carpet(tmp_path, *command, "-")
        assert empty.status == 1
        assert empty.sentence == "carpet: standard input: not a record of a race: it is empty."


def test_a_player_is_asked_for_their_name_once_and_not_to_watch(url: str, tmp_path: Path) -> None:
    def visit(*arguments: str) -> Terminal:
        return Terminal([sys.executable, "-m", "client.cli.main", *arguments], environment=environment(tmp_path, terminal_environment()))

    with serving() as another, visit("watch", another) as terminal:
        terminal.wait_for("No public race is running")
    with visit("home", url) as terminal:
        terminal.wait_for("Your name, as others will see it [")
        # Nothing of this can be printed.
        terminal.type("\u202e\r")
        terminal.wait_until(lambda lines: "\n".join(lines).count("Your name") == 2)
        terminal.type("Cleo  the Great\r")
        terminal.wait_for("You are Cleo the Great.")
    with visit("home", url) as terminal:
        terminal.wait_for("You are Cleo the Great.")


def test_the_token_is_kept_for_the_next_time(url: str, tmp_path: Path) -> None:
    carpet_on_terminal(tmp_path, "join", url, "ZZZZZZ", "--name", "ida")
    file = tmp_path / "identity.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_text()
    assert '"ida"' in before
    carpet_on_terminal(tmp_path, "join", url, "ZZZZZZ")
    assert file.read_text() == before


def test_whoever_breaks_off_at_the_question_for_their_name_finds_the_shells_prompt_on_a_line_of_its_own(url: str, tmp_path: Path) -> None:
    with Terminal(
        [sys.executable, "-m", "client.cli.main", "home", url], environment=environment(tmp_path, terminal_environment())
    ) as terminal:
        terminal.wait_for("Your name, as others will see it [")
        terminal.type("\x03")
        assert terminal.wait_for_end().endswith("]: ^C\n")


def test_prose_is_broken_between_words_where_the_terminal_is_narrow(tmp_path: Path) -> None:
    told = carpet_on_terminal(tmp_path, "theme", "list").screen.replace("\r\n", "\n")
    assert "for colour-blind players: no need to tell red from green, on a blue\ntable\n" in told
