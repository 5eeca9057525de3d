"""A line on the terminal that says which server is being waited for. It appears when that takes long, and goes with the wait."""

from __future__ import annotations

import contextlib
import contextvars
import shutil
import sys
import threading
from collections.abc import Iterator
from typing import Final

from protocol.command_line import folded

NOTICE_S = 1.0
"""Seconds before the line appears. A server that can be reached has usually answered long before."""

_ANNOUNCED: Final = contextvars.ContextVar("announced", default=True)


@contextlib.contextmanager
def unannounced() -> Iterator[None]:
    """No line in this block, nor in threads that it starts: a screen is in the terminal, and says itself what it waits for."""
    before = _ANNOUNCED.set(False)
    try:
        yield
    finally:
        _ANNOUNCED.reset(before)


@contextlib.contextmanager
def connecting_to(place: str) -> Iterator[None]:
    """Show the line while the block waits for the server at `place` (`host:port`). Print nothing else in the block."""
    # Not sys.stderr: the start menu captures that, to show it once the command has ended.
    errors = sys.__stderr__
    if errors is None or not errors.isatty() or not _ANNOUNCED.get():
        # A program that reads the output has no use for a line that is erased again.
        yield
        return
    words = f"carpet: connecting to {place}..."[: shutil.get_terminal_size().columns - 1]
    said = False

    def say() -> None:
        nonlocal said
        with contextlib.suppress(OSError):
            errors.write(words)
            errors.flush()
            said = True

    # A thread, because some callers wait in a call that blocks.
    timer = threading.Timer(NOTICE_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said:
            with contextlib.suppress(OSError):
                errors.write(f"\r{' ' * len(words)}\r")
                errors.flush()


def tell_detour(sentence: str | None) -> None:
    """Say that the server that was asked for could not be reached, and another one was; nothing for None. Not to be called while the line
    of `connecting_to` may show.
    """
    if sentence is not None:
        sys.stderr.write(f"{folded(sentence, sys.stderr)}\n")
