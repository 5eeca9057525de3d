"""`carpet play --plain` through a pipe: whole races, the end of input, an interruption; and on a terminal that cannot draw."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol import INTERRUPTED
from tests.e2e.commands import TIMEOUT, environment
from tests.e2e.terminal import Terminal, terminal_environment

pytestmark = pytest.mark.slow

KEPT = "The record of your race is "


class Pipe:
    """A command that reads and writes pipes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.heard: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def next_line(self) -> str | None:
        line = self._lines.get(timeout=TIMEOUT)
        if line is not None:
            self.heard.append(line)
        return line

    def wait_for(self, pattern: str) -> str:
        """The first line that begins with the pattern."""
        while (line := self.next_line()) is not None:
            if re.match(pattern, line):
                return line
        raise AssertionError("\n".join([f"never said: {pattern}", *self.heard]))

    def play_on(self) -> None:
        """Play by what the hints say, up to the result."""
        while (line := self.next_line()) is not None and not line.startswith("r: "):
            if re.match(r"(One card|\d+ cards) can go home|Every card goes home now", line):
                self.type("g")
            elif line.startswith("Fill the gap"):
                self.type("w" if "w with" in line else "s")
            elif line.startswith("Nothing fits"):
                self.type("s")

    def wait_for_end(self, *, typed: str = "") -> int:
        if typed:
            self.type(typed)
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self.next_line() is not None:
            pass
        return self.process.wait(TIMEOUT)


@contextmanager
def by_lines(home: Path, *options: str) -> Iterator[Pipe]:
    with subprocess.Popen(
        [sys.executable, "-m", "client.cli.main", "play", "--plain", "--name", "anna", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**environment(home), "TERM": "dumb"},
        text=True,
    ) as process:
        pipe = Pipe(process)
        try:
            yield pipe
        finally:
            process.kill()
            pipe.reader.join()


def test_a_race_and_its_rematch_are_played_to_the_end_by_lines(tmp_path: Path) -> None:
    with by_lines(tmp_path, "--alone", "--deal", "tuesday") as pipe:
        for _ in range(2):
            pipe.wait_for("Go! The clock runs")
            assert pipe.wait_for("Row 1: ").count(" of ") == 5
            pipe.play_on()
            assert any(re.match(r"You brought (every card|\d+ cards) home", line) for line in pipe.heard)
            assert any(re.match(r"1\. you: \d+ of 52 home, ", line) for line in pipe.heard)
            pipe.type("again")
        pipe.wait_for("Go! The clock runs")
        pipe.type("quit")
        pipe.wait_for("n: Go on racing")
        assert pipe.wait_for_end(typed="y") == 0
        assert pipe.heard[-1].startswith(KEPT)
    assert len(list((tmp_path / "races").glob("*.json"))) == 2


def test_the_next_race_of_a_series_follows_and_the_end_of_input_ends_it_all(tmp_path: Path) -> None:
    with by_lines(tmp_path, "--bot", "random", "--session", "2") as pipe:
        pipe.wait_for("Session of 2, race 1 next")
        pipe.wait_for("Go! The clock runs")
        pipe.type("stop")
        pipe.wait_for("n: Go on racing")
        pipe.type("y")
        pipe.wait_for("r: ready for race 2")
        pipe.type("ready")
        pipe.wait_for("Go! The clock runs")
        assert pipe.wait_for_end() == 0
        assert pipe.heard[-1].startswith(KEPT)


def test_an_interruption_keeps_the_game_for_the_next_time(tmp_path: Path) -> None:
    with by_lines(tmp_path, "--alone") as pipe:
        pipe.wait_for("Go! The clock runs")
        pipe.process.send_signal(signal.SIGINT)
        # Only then does the input end, which would give the game up.
        pipe.wait_for("Your game is kept: carpet play goes on with it")
        assert pipe.wait_for_end() == INTERRUPTED
    with by_lines(tmp_path, "--alone") as pipe:
        pipe.wait_for("Your last game was broken off")
        pipe.wait_for("2: ")
        pipe.type("1")
        pipe.wait_for("Nothing fits|.* can go home")
        assert pipe.wait_for_end() == 0


def test_a_terminal_that_cannot_draw_is_told_of_the_lines_and_takes_them(tmp_path: Path) -> None:
    env = terminal_environment(CARPET_HOME=str(tmp_path), TERM="dumb")
    command = [sys.executable, "-m", "client.cli.main"]
    for arguments, name in ((("play",), "carpet play"), ((), "carpet")):
        with Terminal([*command, *arguments], environment=env) as terminal:
            terminal.wait_for_end()
            assert b"\x1b" not in terminal.raw
            told = " ".join(" ".join(terminal.screen.display).split())
            assert told.startswith(
                f"carpet: {name} needs a terminal that can draw, and TERM is dumb; carpet play, host, join, match, watch and tournament"
            )
            assert terminal.process.returncode == 2
    with Terminal([*command, "play", "--plain"], environment=env) as terminal:
        terminal.wait_for("Home: ")
        terminal.type("quit\ny\n")
        terminal.wait_for_end()
        assert b"\x1b" not in terminal.raw
        assert terminal.process.returncode == 0
