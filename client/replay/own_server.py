"""The server program of this installation, asked by its command line: a process that reads a document and answers on its output.

Client and server never import each other, so this is how the client has a record replayed, reviewed or checked.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

import protocol
from client.connection.errors import Failure

FALSE: Final = "not a true record: "
"""How a command begins to say what is wrong with a record, and with nothing else."""


class ServerFailed(Failure):
    """The server process ended by itself, or never listened; what it said last is in the text."""


class ServerNotStarted(ServerFailed):
    """There is no such program, or it cannot be run; the text is the system's."""


async def ask_server(arguments: Sequence[str], document: str, *, command: Sequence[str] | None = None) -> bytes:
    """What a command of `carpet-server` answers on its standard output when it reads `document`. Raises ServerFailed: its last words.

    It is a process of its own, and ends when this is cancelled. command: the whole command line, in place of the server's, for tests.
    """
    try:
        finished = await trio.run_process(
            list(command or server_command(arguments)),
            stdin=document.encode(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=server_environment() | {protocol.PROGRAM_VARIABLE: protocol.SERVER_PROGRAM},
            # Ctrl+C in the terminal is for the client, which then ends this process.
            start_new_session=True,
        )
    except (OSError, ExceptionGroup) as error:
        raise ServerNotStarted(str(error)) from error
    if finished.returncode != 0:
        raise ServerFailed(_last_line(finished.stderr) or "it said nothing")
    return finished.stdout


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").split("\n")
    last = next((line.strip().rstrip(".") for line in reversed(lines) if line.strip()), "")
    return last.removeprefix(f"{protocol.SERVER_PROGRAM}: ")


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command line of `carpet-server` in this very installation.

    -P: a folder named `server` where the user happens to stand is not the server.
    """
    return [sys.executable, "-P", "-m", "server.cli.main", *arguments]


def server_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which `server_command` finds the server, also in a source tree that is not installed."""
    root = Path(protocol.__file__).resolve().parent.parent
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    found = dict(environment)
    if root not in installed:
        found["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [environment.get("PYTHONPATH")])])
    return found
