"""The app in a real pseudo-terminal: what is drawn, keys and mouse as bytes, resizing, suspending, and the terminal given back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pyte
import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_S = 20.0
ALTERNATE_ON, ALTERNATE_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
MOUSE_ON, MOUSE_OFF = b"\x1b[?1000h", b"\x1b[?1000l"

pytestmark = pytest.mark.e2e


class Terminal:
    """A process in a pseudo-terminal and the screen it draws."""

    def __init__(self, columns: int = 80, rows: int = 24, **environment: str) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._ours, self._its = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self._its)
        base = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.client.ui.terminal_app"],
            cwd=ROOT,
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            env=base | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)} | environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read(self, timeout_s: float) -> None:
        ready, _, _ = select.select([self._ours], [], [], timeout_s)
        if ready:
            with contextlib.suppress(OSError):
                chunk = os.read(self._ours, 65536)
                self.raw += chunk
                self._stream.feed(chunk)

    def wait_for(self, text: str) -> None:
        """Until the screen shows `text`."""
        until = time.monotonic() + PATIENCE_S
        while not any(text in line for line in self.screen.display):
            assert time.monotonic() < until, "\n".join(self.screen.display)
            self.read(0.2)

    def wait_for_end(self) -> str:
        """The last of what it printed, when it has ended."""
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < until, "it does not end"
            self.read(0.05)
        self.read(0.2)
        return "\n".join(line.rstrip() for line in self.screen.display if line.strip())

    def given_back(self) -> bool:
        """The alternate screen and the mouse are off, and the line discipline is as it was."""
        pairs = ((ALTERNATE_ON, ALTERNATE_OFF), (MOUSE_ON, MOUSE_OFF))
        return all(self.raw.rfind(off) > self.raw.rfind(on) for on, off in pairs) and termios.tcgetattr(self._its) == self.modes

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._its)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    started = Terminal()
    yield started
    started.close()


def test_a_race_is_drawn_played_by_key_and_mouse_and_quit(terminal: Terminal) -> None:
    terminal.wait_for("3 cards can go home: c1, c2, a3.")
    assert terminal.screen.buffer[2][5].bg != "default"
    terminal.type("c1")
    terminal.wait_for("5♥")
    row = next(number for number, line in enumerate(terminal.screen.display) if " s stock" in line)
    column = terminal.screen.display[row].index(" s stock") + 4
    terminal.type(f"\x1b[<0;{column + 1};{row + 3}M\x1b[<0;{column + 1};{row + 3}m")
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
    plain = Terminal(NO_COLOR="1")
    try:
        plain.wait_for("cards home")
        assert any("┌─────┐" in line for line in plain.screen.display)
        colours = {cell.fg for row in plain.screen.buffer.values() for cell in row.values()}
        assert colours == {"default"}
        plain.type("qy")
        plain.wait_for_end()
    finally:
        plain.close()
