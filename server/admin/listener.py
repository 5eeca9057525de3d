"""Listens for the host's commands on a Unix socket. The file's permissions, 0600, let only its owner use it."""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import trio

from server.admin.messages import ANSWER_S, LONGEST_QUESTION, ROWS_AT_ONCE, Answer, Question

logger = logging.getLogger("carpet.admin")

AT_ONCE: Final = 8
"""How many commands may be under way; more wait in the kernel's queue."""

ACCEPT_AGAIN_S: Final = 0.5

QUESTION_S: Final = 5.0
"""Seconds that a question may take to arrive."""


class SocketUnavailable(Exception):
    """The socket cannot be created there. Says why in one sentence."""


@contextmanager
def administered(nursery: trio.Nursery, path: Path, answer: Callable[[Question], Awaitable[Answer]]) -> Iterator[None]:
    """Answer the host's commands inside the context, in tasks of this nursery. Raises SocketUnavailable at once."""
    listening = trio.socket.from_stdlib_socket(_listening(path))
    made = os.stat(path, follow_symlinks=False)
    scope = trio.CancelScope()
    nursery.start_soon(_accept, scope, listening, answer)
    try:
        yield
    finally:
        scope.cancel()
        listening.close()
        with suppress(OSError):
            # Not the socket of a server that has started since.
            if os.path.samestat(os.stat(path, follow_symlinks=False), made):
                path.unlink()


def _listening(path: Path) -> socket.socket:
    try:
        _clear(path)
        with ExitStack() as unless_done:
            listening = unless_done.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(os.fspath(path))
            # Before `listen`, so before anybody can connect.
            path.chmod(0o600)
            listening.listen(AT_ONCE)
            listening.setblocking(False)
            unless_done.pop_all()
    except OSError as error:
        # If the path is too long, there is no strerror.
        why = error.strerror or f"{error}; choose another place with --admin-socket"
        raise SocketUnavailable(f"cannot listen for the host's commands at {path}: {why}") from error
    return listening


def _clear(path: Path) -> None:
    """Remove the socket of a killed server. Raises OSError and SocketUnavailable."""
    try:
        mode = os.stat(path, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketUnavailable(f"there is a file at {path} that is not a socket; choose another place with --admin-socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise SocketUnavailable(f"another server answers at {path}; choose another place with --admin-socket")


async def _accept(scope: trio.CancelScope, listening: trio.socket.SocketType, answer: Callable[[Question], Awaitable[Answer]]) -> None:
    free = trio.Semaphore(AT_ONCE)
    with scope, suppress(trio.ClosedResourceError):
        async with trio.open_nursery() as nursery:
            while True:
                await free.acquire()
                try:
                    accepted, _ = await listening.accept()
                except OSError as error:
                    # Too many files are open, or the asker has gone. Races matter more than any command, so go on.
                    logger.warning("a connection for a host's command could not be accepted: %s", error.strerror or error)
                    free.release()
                    await trio.sleep(ACCEPT_AGAIN_S)
                    continue
                nursery.start_soon(_serve, trio.SocketStream(accepted), answer, free.release)


async def _serve(stream: trio.SocketStream, answer: Callable[[Question], Awaitable[Answer]], served: Callable[[], None]) -> None:
    try:
        async with stream:
            with trio.move_on_after(QUESTION_S + 2 * ANSWER_S):
                await stream.send_all(await _encoded(await _answered(stream, answer)) + b"\n")
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        # The asker no longer waits for the answer.
        pass
    finally:
        served()


async def _answered(stream: trio.SocketStream, answer: Callable[[Question], Awaitable[Answer]]) -> Answer:
    try:
        with trio.fail_after(QUESTION_S):
            question = msgspec.json.decode(await _line(stream), type=Question)
    except trio.TooSlowError:
        return Answer(error=f"the command did not come within {QUESTION_S:.0f} seconds")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Answer(error=f"this version does not know that command: {error}")
    try:
        return await answer(question)
    except Exception:
        logger.exception("a command of the host failed: %r", question)
        return Answer(error="something went wrong on the server; its log says what")


async def _encoded(answer: Answer) -> bytes:
    rows: list[msgspec.Raw] = []
    for row in answer.rows:
        rows.append(msgspec.Raw(msgspec.json.encode(row)))
        if len(rows) % ROWS_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    return msgspec.json.encode({**msgspec.structs.asdict(answer), "rows": rows})


async def _line(stream: trio.SocketStream) -> bytes:
    received = b""
    while b"\n" not in received and len(received) <= LONGEST_QUESTION:
        some = await stream.receive_some()
        if not some:
            break
        received += some
    if len(received) > LONGEST_QUESTION:
        raise ValueError(f"it is longer than {LONGEST_QUESTION} bytes")
    return received
