"""What whoever waits for a server is told, when it takes long enough to wonder: one line, which goes when the wait does."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
from collections.abc import Iterator

NOTICE_S = 1.0
"""Servers that can be reached have answered long before."""


@contextlib.contextmanager
def connecting_to(place: str) -> Iterator[None]:
    """Say so on the terminal while the block waits for a server there. place: `host:port`. Nothing else may be printed meanwhile."""
    # Not sys.stderr: the start menu keeps what its commands say there, to show it once they have ended.
    errors = sys.__stderr__
    if errors is None or not errors.isatty():
        # A program that reads it has no use for a line that goes again.
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

    # A thread: some of those who wait do so in a call that blocks.
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
