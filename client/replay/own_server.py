"""Asking this installation's own `carpet-server`, by its command line: a process that reads a document and answers on its output.

Client and server never import each other, so this is how the client replays, reviews or checks a record. It puts no load on other people's
servers, and no screen waits for it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import trio

import protocol
from client.connection.errors import Failure
from client.replay.timeline import TimeLine, time_line
from protocol.record import Record, to_json
from protocol.replay import BadReplay, from_json
from protocol.text import clean_chat

FALSE: Final = "not a true record: "
"""How the server's error begins if a record is false, and only then."""

LIMIT_S: Final = 60.0
"""Seconds. Nobody looks at a screen for longer. Reviewing two decks takes a few seconds, on a slow machine a few times that."""


class ServerFailed(Failure):
    """The server process ended by itself or never listened; the text is the last thing it said."""


class ServerNotStarted(ServerFailed):
    """There is no such program, or it cannot be run; the text is the system's."""


class NoReplay(Failure):
    """The race cannot be replayed; the text says why."""


async def ask_server(arguments: Sequence[str], document: str) -> bytes:
    """What a `carpet-server` command prints on its standard output when it reads `document`. Raises ServerFailed with its last words.

    The process ends if this is cancelled.
    """
    try:
        finished = await trio.run_process(
            server_command(arguments),
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


async def replay_race(record: Record, *, limit_s: float = LIMIT_S) -> TimeLine:
    """The time line of a record, which is checked along the way. Raises NoReplay. Cancelling ends the process."""
    try:
        with trio.fail_after(limit_s):
            answer = await ask_server(("frames", "--json", "-"), to_json(record))
        return time_line(from_json(answer))
    except trio.TooSlowError:
        raise NoReplay(f"The replay took longer than {limit_s:.0f} seconds to make and was given up.") from None
    except ServerNotStarted as error:
        raise NoReplay(f"The replay could not be started: {error}.") from error
    except (ServerFailed, BadReplay) as error:
        # The process's words can quote the record.
        said = clean_chat(str(error))
        what = "That record is not true" if said.startswith(FALSE) else "There is no replay of that race"
        raise NoReplay(f"{what}: {said.removeprefix(FALSE)}.") from error


class GameReview(NamedTuple):
    """What was possible in a game, in sentences. slip: the number, from 1, of the move after which that was out of reach; None if it
    never was, or is not known. instead: the move that would have kept it. exact: whether all this is certain. failed: there is no review,
    and the sentence says why.
    """

    sentences: tuple[str, ...]
    slip: int | None = None
    instead: str = ""
    exact: bool = True
    failed: bool = False


async def review_game(record: Record, seat: int, *, limit_s: float = LIMIT_S) -> GameReview:
    """The review of the game of `seat` (from 0); if there is none, a sentence that says why. Cancelling ends the process."""
    arguments = ("review", "--json", "--seat", str(seat + 1), "-")
    with trio.move_on_after(limit_s):
        try:
            answer = await ask_server(arguments, to_json(record))
        except ServerNotStarted as error:
            return _no_review(f"The review could not be started: {error}.")
        except ServerFailed as error:
            return _no_review(f"There is no review: {error}.")
        try:
            (judged,) = msgspec.json.decode(answer, type=_Reviewed).seats
        except (msgspec.DecodeError, ValueError):
            judged = _Judged(())
        if not judged.sentences:
            return _no_review("There is no review: it said nothing.")
        return GameReview(judged.sentences, judged.move, judged.instead or "", judged.exact)
    return _no_review(f"The review took longer than {limit_s:.0f} seconds and was given up; carpet review takes all the time it needs.")


def _no_review(why: str) -> GameReview:
    return GameReview((why,), failed=True)


class _Judged(msgspec.Struct):
    sentences: tuple[str, ...]
    move: int | None = None
    instead: str | None = None
    exact: bool = True


class _Reviewed(msgspec.Struct):
    """What is read of the answer of `carpet-server review --json`."""

    seats: tuple[_Judged, ...]


async def verify_race(record: Record, *, limit_s: float = LIMIT_S) -> tuple[bool | None, str]:
    """Whether the record holds (None if it could not be checked), and if not, why. Cancelling ends the process."""
    with trio.move_on_after(limit_s):
        try:
            await ask_server(("verify", "-"), to_json(record))
        except ServerFailed as error:
            # The process's words can quote the record.
            said = clean_chat(str(error))
            return (False, said.removeprefix(FALSE)) if said.startswith(FALSE) else (None, said)
        return True, ""
    return None, f"it took longer than {limit_s:g} seconds"


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").split("\n")
    last = next((line.strip().rstrip(".") for line in reversed(lines) if line.strip()), "")
    return last.removeprefix(f"{protocol.SERVER_PROGRAM}: ")


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command line of `carpet-server` in this very installation.

    -P: a folder named `server` in the user's current directory is not the server.
    """
    return [sys.executable, "-P", "-m", "server.cli.main", *arguments]


def server_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which `server_command` finds the server, even in a source tree that is not installed."""
    root = Path(protocol.__file__).resolve().parent.parent
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    found = dict(environment)
    if root not in installed:
        found["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [environment.get("PYTHONPATH")])])
    return found
