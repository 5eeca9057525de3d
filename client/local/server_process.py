"""A server of one's own while a command runs: a process of the same installation, which always ends with the command.

Client and server never import each other, so this is the only way from one to the other. The server's standard input is a pipe that nobody
writes to: however this process ends, the pipe closes, and the server stops by itself.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import trio

from client.replay.own_server import ServerFailed, server_command, server_environment

START_TIMEOUT = 60.0
"""Seconds within which the server must say where it listens. A new installation compiles itself at its first start, which takes 20 on a
busy or small machine."""
STOP_TIMEOUT = 5.0
"""Seconds between SIGTERM and SIGKILL."""
LISTENING = "listening on "
KEPT_LINES = 5
"""How many of its last lines on standard error are kept, to report if the server dies."""


@contextlib.asynccontextmanager
async def open_server(
    *,
    options: Sequence[str] = (),
    database: Path | None = None,
    lock: int | None = None,
    command: Sequence[str] | None = None,
    start_timeout: float = START_TIMEOUT,
) -> AsyncIterator[str]:
    """A server on a free port of this machine; yields its URL. options: more for `carpet-server serve`. Raises ServerFailed, also where it
    stops before the block ends.

    database: where it keeps everything, None for nowhere. lock: a file descriptor that it keeps open as long as it runs.
    command: the whole command line, in place of the server's, for tests.
    """
    arguments = (
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--database",
        str(database or "memory"),
        "--exit-with-parent",
        "--log-level",
        "warning",
        *options,
    )
    failure: Exception | None = None
    watching = trio.CancelScope()

    async def watch_over(server: _ServerProcess) -> None:
        nonlocal failure
        with watching:
            said = await server.ended()
            kept = ". What was played is kept: carpet play goes on with it." if database is not None else ""
            failure = ServerFailed(f"The server of this game has stopped{said}{kept}")
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        process = await trio.lowlevel.open_process(
            list(command or server_command(arguments)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=server_environment(),
            # The user's current directory may have been deleted, and is no business of the server's.
            cwd="/",
            pass_fds=() if lock is None else (lock,),
            # Ctrl+C in the terminal is for the client, which then ends the server. If the server died first, it would look like a fault.
            start_new_session=True,
        )
        try:
            server = _ServerProcess(process)
            nursery.start_soon(server.keep_errors)
            url = await server.listening(start_timeout)
            nursery.start_soon(server.drop_output)
            nursery.start_soon(watch_over, server)
            yield url
        except Exception as error:  # noqa: BLE001  (raised again below, out of the nursery's group)
            failure = error
        finally:
            watching.cancel()
            with trio.CancelScope(shield=True):
                await _stop(process)
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


class _ServerProcess:
    def __init__(self, process: trio.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._output = process.stdout
        self._errors = process.stderr
        self._last_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._all_said = trio.Event()

    async def keep_errors(self) -> None:
        rest = ""
        async for data in self._errors:
            *lines, rest = (rest + data.decode(errors="replace")).split("\n")
            self._last_lines.extend(line.strip() for line in lines if line.strip())
            rest = rest[-1000:]
        if rest.strip():
            self._last_lines.append(rest.strip())
        self._all_said.set()

    async def drop_output(self) -> None:
        # Nobody reads the output, but a full pipe would stop the server.
        async for _ in self._output:
            pass

    async def listening(self, timeout: float) -> str:  # noqa: ASYNC109  (how long belongs to the sentence that is raised)
        said = ""
        with trio.move_on_after(timeout) as patience:
            async for data in self._output:
                said += data.decode(errors="replace")
                for line in said.split("\n")[:-1]:
                    if line.startswith(LISTENING):
                        return line.removeprefix(LISTENING).strip()
        if patience.cancelled_caught:
            raise ServerFailed(f"The server did not start within {timeout:.0f} seconds{await self._last_words()}")
        with trio.move_on_after(STOP_TIMEOUT):
            await self._process.wait()
        raise ServerFailed(f"The server could not be started{await self._last_words()}")

    async def ended(self) -> str:
        """Wait until it has; returns what it said last, as the end of a sentence."""
        await self._process.wait()
        return await self._last_words()

    async def _last_words(self) -> str:
        with trio.move_on_after(0.5):
            await self._all_said.wait()
        return f"; it said: {' / '.join(self._last_lines)}" if self._last_lines else "; it said nothing"


async def _stop(process: trio.Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    if process.poll() is None:
        process.terminate()
        with trio.move_on_after(STOP_TIMEOUT):
            await process.wait()
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    await process.wait()
