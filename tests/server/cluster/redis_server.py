"""A Redis or Valkey server of a test's own, which keeps its port even while it is stopped. It saves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.ports import held_ports

PROGRAM = shutil.which("valkey-server") or shutil.which("redis-server")
NOT_HERE = "there is neither valkey-server nor redis-server"


class RedisServer:
    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        assert PROGRAM is not None
        command = [PROGRAM, "--port", str(self._port), "--save", "", "--appendonly", "no", "--daemonize", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(2400):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as line:
                line.sendall(b"PING\r\n")
                if line.recv(5) == b"+PONG":
                    return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        raise AssertionError("it does not answer")

    def command(self, text: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self._port), 60) as line:
            line.sendall(text + b"\r\n")
            answer = line.recv(100)
        assert answer == b"+OK\r\n", answer

    def pause(self) -> None:
        """Pause the server: it accepts connections and data, but answers nothing until `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """A server for the test. Skips the test if none is installed."""
    if PROGRAM is None:
        pytest.skip(NOT_HERE)
    with held_ports(1) as (port,):
        server = RedisServer(port)
        try:
            server.start()
            yield server
        finally:
            server.stop()
