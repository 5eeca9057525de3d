"""Server processes: single ones, or nodes of a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from tests.ports import held_ports

ROOT = Path(__file__).parents[2]
STARTS_S = 240
"""How long a server may take to start listening, or to end."""
_AHEAD = "import time; true = time.time; time.time = lambda: true() + {}; from server.cli.main import main; main()"


@dataclass(eq=False)
class NodeProcess:
    """One server. redis: empty for a server that is not a node. options: further ones for `serve`. ahead_s: how far its wall clock is
    ahead. process: None while it is not running.
    """

    database: str
    redis: str
    port: int
    options: tuple[str, ...] = ()
    ahead_s: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the server, and wait until it listens."""
        program = ["-c", _AHEAD.format(self.ahead_s)] if self.ahead_s else ["-m", "server.cli.main"]
        command = [sys.executable, *program, "serve", "--port", str(self.port), "--database", self.database]
        command += ["--cluster", self.redis, "--advertise", self.url] if self.redis else []
        command += ["--rate", "1000", "--burst", "1000", "--log-level", "error"]
        command += self.options
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)  # noqa: ASYNC220
        self.process = process
        assert process.stdout is not None
        with trio.fail_after(STARTS_S):
            line = (await trio.to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)).decode()
        assert line.startswith("listening on "), line

    async def end(self, number: signal.Signals) -> int:
        """Send this signal and wait for the end. Returns the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        with trio.fail_after(STARTS_S):
            status = await trio.to_thread.run_sync(self.process.wait, abandon_on_cancel=True)
        self.forget()
        return status

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def forget(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@asynccontextmanager
async def listening(node: NodeProcess) -> AsyncIterator[None]:
    """A server that listens; killed on leaving, if not before."""
    try:
        await node.start()
        yield
    finally:
        node.forget()


@asynccontextmanager
async def nodes(database: str, redis: str, number: int = 3) -> AsyncIterator[list[NodeProcess]]:
    """This many running servers, on ports that they keep even while they are stopped."""
    with held_ports(number) as ports:
        started = [NodeProcess(database, redis, port) for port in ports]
        try:
            async with trio.open_nursery() as nursery:
                for node in started:
                    nursery.start_soon(node.start)
            yield started
        finally:
            for node in started:
                node.forget()
