"""The tests' own terminal, which must never show half a drawing."""

from __future__ import annotations

import sys

from tests.e2e.terminal import Terminal, terminal_environment

DRAWS = r"""
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"before \x1b[?2026$p")
answer = b""
while not answer.endswith(b"y"):
    answer += os.read(0, 1)
assert answer == b"\x1b[?2026;2$y", answer
os.write(1, b"known \x1b[?20")
os.read(0, 1)
os.write(1, b"26h\x1b[Hbegun ")
os.read(0, 1)
os.write(1, b"whole\x1b[?2026l")
os.read(0, 1)
"""


def test_a_picture_that_is_drawn_in_pieces_is_seen_when_it_is_whole() -> None:
    with Terminal([sys.executable, "-c", DRAWS], environment=terminal_environment()) as terminal:
        terminal.wait_for("before known")
        terminal.type("x")
        terminal.wait_until(lambda _: b"begun" in terminal.raw, what="that the first piece has come")
        terminal.expect(lambda lines: lines[0].rstrip(), "before known")
        terminal.type("x")
        terminal.wait_for("begun whole")
        terminal.type("x")
        terminal.wait_for_end()
        assert terminal.process.returncode == 0
