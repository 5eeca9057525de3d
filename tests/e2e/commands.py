"""Runs the real commands, as processes, with and without a terminal of their own."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from client.cli.main import main
from client.replay.own_server import server_command, server_environment
from server.app import running
from server.config import Settings
from server.rooms.clock import Clock
from tests.e2e.terminal import Terminal, terminal_environment

TIMEOUT = 180
SHAPES = ("carpet-strategy", "colorado", "twenty", "crazy-quilt", "persian-rug")
"""A rule set of each shape of board, and each way of moving."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command. screen: what it drew on its terminal, if it had one."""

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


def environment(home: Path, basis: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of somebody whose client keeps its files in `home`."""
    return {**server_environment(basis), "CARPET_HOME": str(home), "PYTHONIOENCODING": "utf-8"}


def carpet(home: Path, *arguments: str, text: str = "") -> Ran:
    """Run `carpet` without a terminal."""
    ran = subprocess.run(
        [sys.executable, "-m", "client.cli.main", *arguments],
        input=text,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def carpet_here(home: Path, *arguments: str) -> Ran:
    """Run `carpet` in this process, for commands where a process of its own would show nothing more: starting one takes half a second."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setenv("CARPET_HOME", str(home))
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    status = ended.value.code
    assert isinstance(status, int)
    return Ran(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def carpet_on_terminal(home: Path, *arguments: str, interrupt_at: str | None = None) -> Ran:
    """Run `carpet` with a pseudo-terminal as its standard input and output, and nobody at the keys.

    interrupt_at: once the screen shows this, the command gets a SIGINT. In the end the terminal must be as it was before.
    """
    command = [sys.executable, "-m", "client.cli.main", *arguments]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        Terminal(command, environment=environment(home, terminal_environment()), errors=errors) as terminal,
    ):
        if interrupt_at is not None:
            terminal.wait_for(interrupt_at)
            terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for_end(patience_s=TIMEOUT)
        assert terminal.given_back()
        errors.seek(0)
        return Ran(terminal.process.returncode, "", errors.read(), terminal.raw.decode(errors="replace"))


@contextlib.contextmanager
def running_server(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A `carpet-server serve` on a free port: its URL and its process.

    It must stop cleanly on SIGTERM, which the test or this function sends, and must never have shown a traceback.
    """
    command = server_command(["serve", "--port", "0", "--database", "memory", "--log-level", "warning", *options])
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=server_environment(), text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on ws://127.0.0.1:"), line
            yield line.removeprefix("listening on ").strip(), process
            process.terminate()
            assert process.wait(TIMEOUT) == 0
            log.seek(0)
            assert "Traceback" not in log.read()
        finally:
            process.kill()


class _Complaints(logging.Handler):
    """Collects what a server logs with a traceback, except what the library says about peers that are not WebSocket clients."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.name != "carpet.net.websocket":
            self.heard.append(self.format(record))


class HurriedClock:
    """A server's clock that runs so many times as fast: no test is to wait for countdowns, pauses and check-ins.

    How long a connection may be silent, how often a list is renewed and how fast bots play is measured by Trio's clock, and stays so.
    """

    def __init__(self, times: int, wall_s: float | None = None) -> None:
        self._clock = Clock(wall_s)
        self._times = times
        self._now, self._wall = self._clock.now_ms(), self._clock.wall_ms()

    def now_ms(self) -> int:
        return self._now + self._times * (self._clock.now_ms() - self._now)

    def wall_ms(self) -> int:
        return self._wall + self._times * (self._clock.wall_ms() - self._wall)

    def deadline(self, moment_ms: int) -> float:
        return self._clock.deadline(self._now + -(-(moment_ms - self._now) // self._times))

    def wall_deadline(self, moment_ms: int) -> float:
        return self._clock.wall_deadline(self._wall + -(-(moment_ms - self._wall) // self._times))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)


@contextlib.contextmanager
def serving(*, hurry: int = 3, wall_s: float | None = None, **settings: Any) -> Iterator[str]:
    """A server in a thread of this process, on a free port unless told otherwise: its URL.

    hurry: how many times as fast the time of races and tournaments passes, see `HurriedClock`. wall_s: the wall clock's time, as Unix time.
    It must stop cleanly and log no traceback. For what only a process has (options, signals and streams) use `running_server`.
    """
    said: queue.SimpleQueue[tuple[str, trio.lowlevel.TrioToken, trio.Event] | BaseException] = queue.SimpleQueue()

    async def serve() -> None:
        async with running(Settings(**{"port": 0, **settings})) as url:
            stop = trio.Event()
            said.put((url, trio.lowlevel.current_trio_token(), stop))
            await stop.wait()

    def run() -> None:
        try:
            trio.run(serve)
        except BaseException as error:  # noqa: BLE001  (raised again in the thread of the test)
            said.put(error)

    complaints = _Complaints()
    logging.getLogger().addHandler(complaints)
    thread = threading.Thread(target=run, name="server")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("server.app.Clock", partial(HurriedClock, hurry, wall_s))
            thread.start()
            started = said.get()
        if isinstance(started, BaseException):
            raise started
        url, token, stop = started
        try:
            yield url
        finally:
            trio.from_thread.run_sync(stop.set, trio_token=token)
            thread.join()
        if not said.empty():
            raise said.get()  # type: ignore[misc]
    finally:
        thread.join()
        logging.getLogger().removeHandler(complaints)
    assert complaints.heard == []


@contextlib.contextmanager
def serving_at_noon(**settings: Any) -> Iterator[str]:
    """The same with a wall clock that starts at noon: otherwise midnight might come between two runs of a day's deal."""
    with serving(wall_s=datetime.now(UTC).replace(hour=12, minute=0).timestamp(), **settings) as url:
        yield url
