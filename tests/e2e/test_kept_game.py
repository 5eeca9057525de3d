"""`carpet play` in a real terminal that dies: the next one goes on with the game, and offers none that has ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.terminal import STOCK, Terminal, terminal_environment

pytestmark = pytest.mark.slow

OFFERED = "Your last game was broken off"


BEGUN = "4 cards home"


def playing(home: Path, *options: str) -> Terminal:
    command = [sys.executable, "-m", "client.cli.main", "play", *options]
    return Terminal(command, environment=terminal_environment(CARPET_HOME=str(home)))


def hang_up(terminal: Terminal) -> None:
    """As a closed window does: the process is told so, and its terminal takes nothing more."""
    os.kill(terminal.process.pid, signal.SIGHUP)


def crash(terminal: Terminal) -> None:
    os.kill(terminal.process.pid, signal.SIGKILL)


def what_is_kept(home: Path) -> set[str]:
    return {path.name for path in (home / "play").iterdir()} - {"lock"}


@pytest.mark.parametrize("die", [hang_up, crash])
def test_a_game_whose_terminal_dies_is_gone_on_with_or_left_for_another(tmp_path: Path, die: Callable[[Terminal], None]) -> None:
    with playing(tmp_path) as terminal:
        terminal.wait_for(BEGUN)
        terminal.type(STOCK)
        terminal.wait_for("waste 1")
        terminal.type(STOCK)
        terminal.wait_for("waste 2")
        die(terminal)
        terminal.wait_for_end()

    with playing(tmp_path) as terminal:
        terminal.wait_for(OFFERED)
        terminal.wait_for("waste 2")
        terminal.type(f"1{STOCK}")
        terminal.wait_for("waste 3")
        # A second terminal has a game of its own, and takes nothing from the first one's.
        with playing(tmp_path) as second:
            second.wait_for(BEGUN)
            second.wait_for_end_of(OFFERED)
        die(terminal)
        terminal.wait_for_end()

    with playing(tmp_path) as terminal:
        terminal.wait_for(OFFERED)
        terminal.wait_for("waste 3")
        terminal.type("2")
        terminal.wait_for("0 cards home")
        terminal.type("q")
        terminal.wait_for("Quit?")
        terminal.type("y")
        terminal.wait_for_end()
    assert what_is_kept(tmp_path) == set()


def test_a_game_whose_server_dies_ends_with_a_word_about_it_and_is_gone_on_with(tmp_path: Path) -> None:
    with playing(tmp_path) as terminal:
        terminal.wait_for(BEGUN)
        terminal.type(STOCK)
        terminal.wait_for("waste 1")
        threads = Path(f"/proc/{terminal.process.pid}/task").glob("*/children")
        (server,) = [int(child) for thread in threads for child in thread.read_text().split()]
        os.kill(server, signal.SIGKILL)
        said = "".join(terminal.wait_for_end().split())
    assert "Theserverofthisgamehasstopped;itsaidnothing.Whatwasplayediskept:carpetplaygoesonwithit." in said
    with playing(tmp_path) as terminal:
        terminal.wait_for(OFFERED)
        terminal.wait_for("waste 1")


def test_a_game_that_has_ended_is_not_offered(tmp_path: Path) -> None:
    with playing(tmp_path, "--alone") as terminal:
        terminal.wait_for(BEGUN)
        terminal.type("K")
        terminal.wait_for("Stop now")
        terminal.type("y")
        terminal.wait_for("race the clock again")
        crash(terminal)
        terminal.wait_for_end()
    with playing(tmp_path, "--alone") as terminal:
        terminal.wait_for(BEGUN)
        terminal.wait_for_end_of(OFFERED)


def test_a_kept_game_that_cannot_be_read_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "play").mkdir()
    (tmp_path / "play" / "game.db").write_text("not a database, but something else that is longer than a page\n" * 100)
    with playing(tmp_path) as terminal:
        said = "".join(terminal.wait_for_end().split())
    assert said.startswith("carpet:")
    assert str(tmp_path / "play" / "game.db") in said
