"""Running the real commands, as processes, with and without a terminal of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from client.server_process import server_environment

TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to. screen: what it drew on its terminal, if it had one."""

    status: int
    out: str
    err: str
    screen: str = ""

    @property
    def sentence(self) -> str:
        """The one line on standard error."""
        assert "Traceback" not in self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.strip()


def environment(home: Path) -> dict[str, str]:
    return {**server_environment(), "CARPET_HOME": str(home), "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}


def carpet(home: Path, *arguments: str, text: str = "") -> Ran:
    """Run `carpet` without a terminal."""
    ran = subprocess.run(
        [sys.executable, "-m", "client.cli", *arguments],
        input=text,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def carpet_on_terminal(home: Path, *arguments: str, interrupt_at: bytes | None = None) -> Ran:
    """Run `carpet` with a pseudo-terminal as its standard input and output, and nobody at the keys.

    interrupt_at: once this was drawn, the command gets a SIGINT. The terminal must be as it was in the end.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    modes = termios.tcgetattr(slave)
    drawn: list[bytes] = []

    def drain() -> None:
        with contextlib.suppress(OSError):  # how Linux says that the last one has closed the other side
            pending = interrupt_at
            while data := os.read(master, 4096):
                drawn.append(data)
                if pending is not None and pending in b"".join(drawn):
                    pending = None
                    process.send_signal(signal.SIGINT)

    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "client.cli", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            env=environment(home),
            text=True,
            start_new_session=True,
        )
        reader = threading.Thread(target=drain)
        reader.start()
        with process:
            try:
                _, err = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        assert termios.tcgetattr(slave) == modes
        os.close(slave)
        reader.join()
    finally:
        os.close(master)
    return Ran(process.returncode, "", err, b"".join(drawn).decode(errors="replace"))


@contextlib.contextmanager
def running_server(*options: str) -> Iterator[str]:
    """A `carpet-server serve` on a free port; gives its URL."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "server.cli",
            "serve",
            "--port",
            "0",
            "--database",
            "memory",
            "--exit-with-parent",
            "--log-level",
            "warning",
            *options,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=server_environment(),
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on ws://127.0.0.1:"), line
        try:
            yield line.removeprefix("listening on ").strip()
        finally:
            process.stdin.close()
            process.wait(TIMEOUT)
