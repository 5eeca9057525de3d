"""The app in a real pseudo-terminal: what is drawn, keys and mouse as bytes, resizing, suspending, and the terminal given back."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.terminal import ALTERNATE_OFF, ALTERNATE_ON, ROOT, Terminal, terminal_environment

pytestmark = pytest.mark.slow


def start(**environment: str) -> Terminal:
    return Terminal(
        [sys.executable, "-m", "tests.client.tui.terminal_app"], environment=terminal_environment(PYTHONPATH=str(ROOT), **environment)
    )


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with start() as started:
        yield started


def test_a_race_is_drawn_played_by_key_and_mouse_and_quit(terminal: Terminal) -> None:
    terminal.wait_for("3 cards can go home: c1, c2, a3 (g: all).")
    assert terminal.screen.buffer[2][5].bg != "default"
    terminal.type("c1")
    terminal.wait_for("5♥")
    row = next(number for number, line in enumerate(terminal.lines()) if " s stock" in line)
    terminal.click(terminal.lines()[row].index(" s stock") + 4, row + 2)
    terminal.type("qy")
    said = terminal.wait_for_end()
    assert "'c1']" in said
    assert "outcome: quit KXQWZP" in said
    assert terminal.given_back()
    assert terminal.process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(terminal: Terminal, number: signal.Signals) -> None:
    terminal.wait_for("cards home")
    terminal.process.send_signal(number)
    assert "outcome: signal KXQWZP" in terminal.wait_for_end()
    assert terminal.given_back()


def test_ctrl_c_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.wait_for("cards home")
    terminal.type("\x03")
    assert "outcome: signal KXQWZP" in terminal.wait_for_end()
    assert terminal.given_back()


def test_resizing_redraws_and_too_small_keeps_running(terminal: Terminal) -> None:
    terminal.wait_for("cards home")
    terminal.resize(60, 20)
    terminal.wait_for("Too small")
    terminal.resize(120, 40)
    terminal.wait_for("3 cards can go home")
    terminal.type("qy")
    terminal.wait_for_end()
    assert terminal.given_back()


def test_suspending_gives_the_terminal_back_and_going_on_takes_it_again(terminal: Terminal) -> None:
    # Here nobody is left to say `fg`: the kernel lets a process of an orphaned group go on at once.
    terminal.wait_for("cards home")
    terminal.screen.reset()
    terminal.type("\x1a")
    terminal.wait_for("cards home")
    assert terminal.raw.count(ALTERNATE_ON) == 2
    assert terminal.raw.count(ALTERNATE_OFF) == 1
    terminal.type("qy")
    assert "outcome: quit" in terminal.wait_for_end()
    assert terminal.given_back()


def test_no_color_draws_borders_and_no_colours() -> None:
    with start(NO_COLOR="1") as plain:
        plain.wait_for("cards home")
        assert plain.shows("┌─────┐")
        colours = {cell.fg for row in plain.screen.buffer.values() for cell in row.values()}
        assert colours == {"default"}
        plain.type("qy")
        plain.wait_for_end()
