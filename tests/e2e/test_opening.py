"""What the terminal shows before the screens are loaded: it needs little, loses no key, and gives the terminal back on every way out."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.connection.events import Identity
from client.storage.identity import IdentityStore
from tests.e2e.commands import environment
from tests.e2e.terminal import PATIENCE_S, Terminal, terminal_environment

pytestmark = pytest.mark.slow

HEAVY = ("asyncio", "segno", "sqlalchemy", "ssl", "trio", "typer", "urwid", "wcwidth", "websockets")
MENU, TABLE = "Race a house bot", "Your table is being laid."

SHOWN = "import select, sys, types, client.cli.main as main\nmain._show_first({arguments!r})\n"


def opened(home: Path, code: str, *arguments: str) -> Terminal:
    """A process in which the first picture is shown, and then runs this code."""
    shown = SHOWN.format(arguments=[*arguments]) + code
    return Terminal([sys.executable, "-c", shown], environment=terminal_environment(HOME=str(home), XDG_DATA_HOME=str(home)))


@pytest.mark.parametrize(("arguments", "text"), [([], MENU), (["play"], TABLE)], ids=["menu", "play"])
def test_the_first_picture_needs_none_of_the_large_libraries(tmp_path: Path, arguments: list[str], text: str) -> None:
    code = f"loaded = sorted({set(HEAVY)!r} & sys.modules.keys())\nselect.select([0], [], [])\nmain.give_back()\nprint('loaded:', loaded)"
    with opened(tmp_path, code, *arguments) as terminal:
        terminal.wait_for(text)
        terminal.type("x")
        assert "loaded: []" in terminal.wait_for_end()


def test_what_is_typed_before_the_screens_are_there_is_not_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "select.select([0], [], [])\nmain.main([])") as terminal:
        terminal.wait_for(MENU)
        terminal.type("q")
        terminal.wait_for_end()
        assert terminal.process.returncode == 0
        assert terminal.given_back()
        assert terminal.raw.count(b"\x1b[?1049h") == 1, "it was switched on once, and never cleared"


def test_the_terminal_is_given_back_by_who_is_told_to_end_before_the_screens_are_there(tmp_path: Path) -> None:
    waits = "import signal\n"
    waits += "wait = lambda name, *_: (print('loading', flush=True), signal.pause()) if name == 'client.cli.commands' else None\n"
    waits += "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=wait))\nmain.main([])"
    with opened(tmp_path, waits) as terminal:
        # Here the picture is drawn ahead of `main`, and it is `main` that gives the terminal back.
        terminal.wait_for("loading")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait_for_end() == ""
        assert terminal.process.returncode == 130
        assert terminal.given_back()


def test_a_server_that_cannot_start_behind_the_table_ends_it_with_a_sentence(tmp_path: Path) -> None:
    dies = "import client.replay.own_server as own_server\n"
    dies += "own_server.server_command = lambda arguments: [sys.executable, '-c', 'raise SystemExit(\"no disk\")']\nmain.main(['play'])"
    with opened(tmp_path, dies, "play") as terminal:
        terminal.wait_for(TABLE)
        assert terminal.wait_for_end() == "carpet: The server could not be started; it said: no disk\n"
        assert terminal.process.returncode == 1
        assert terminal.given_back()


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener


def at_home(home: Path) -> dict[str, str]:
    return environment(home, terminal_environment(HOME=str(home)))


def place_of(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("command", [["home"], ["tournament", "watch"], ["races"], ["whoami"]], ids=" ".join)
def test_a_server_that_says_nothing_is_named_while_it_is_waited_for(tmp_path: Path, silent: socket.socket, command: list[str]) -> None:
    place = place_of(silent)
    IdentityStore(tmp_path).keep(f"ws://{place}", Identity("anna", "secret", "p1"), asked="anna")
    with Terminal([sys.executable, "-m", "client.cli.main", *command, place], environment=at_home(tmp_path)) as terminal:
        connection, _ = silent.accept()
        with connection:
            terminal.wait_for(f"carpet: connecting to {place}...")
        terminal.wait_for_end()
        assert terminal.process.returncode == 1
        terminal.wait_for("carpet: ")
        # The line has gone.
        terminal.wait_for_end_of("connecting")


def test_a_server_that_says_nothing_to_the_menu_is_named_and_then_noted(tmp_path: Path, silent: socket.socket) -> None:
    place = place_of(silent)
    with Terminal([sys.executable, "-m", "client.cli.main"], environment=at_home(tmp_path)) as terminal:
        terminal.wait_for("Race a friend")
        terminal.type("\x1b[B\x1b[B\r")
        terminal.wait_for("Server")
        terminal.type(f"{place}\r")
        terminal.wait_for("Your name, as others will see it")
        terminal.type("\r")
        connection, _ = silent.accept()
        with connection:
            terminal.wait_for(f"carpet: connecting to {place}...")
        terminal.wait_for("is not a Carpet Race server")
        # The note says how it ended.
        terminal.wait_for_end_of("connecting")
        terminal.type("q")
        terminal.wait_for_end()
