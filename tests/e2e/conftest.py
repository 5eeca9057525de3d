"""Real servers for the tests that talk to one: processes on free ports, stopped as an operator would stop them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT = 30


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """A `serve` with these options; gives its URL. It must stop well on SIGTERM, and never have shown a traceback."""
    command = [sys.executable, "-m", "server.cli", "serve", "--port", "0", "--database", "memory", "--log-level", "warning", *options]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on ws://127.0.0.1:"), line
            yield line.removeprefix("listening on ").strip()
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT) == 0
            log.seek(0)
            assert "Traceback" not in log.read()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def fast_server() -> Iterator[str]:
    """Its house bots play as fast as they can, and so may everybody else."""
    with serving("--bot-pace", "full", "--rate", "1000", "--burst", "1000") as url:
        yield url


@pytest.fixture(scope="module")
def default_rate_server() -> Iterator[str]:
    """Its house bots play as fast as they can; everybody else at the rate of the specification."""
    with serving("--bot-pace", "full") as url:
        yield url


@pytest.fixture
def strict_server() -> Iterator[str]:
    """Takes so few messages that whoever does not pace himself has too many in any race, on a slow machine too."""
    with serving("--rate", "15", "--burst", "15") as url:
        yield url
