"""Waiting for the lock of a file that several terminals change: who has it reads, writes and lets go, a few milliseconds later."""

from __future__ import annotations

import fcntl
import time

PATIENCE_S = 2.0
"""Seconds that another terminal's change is waited for; it takes a few milliseconds."""
PAUSE_S = 0.01


class LockHeld(Exception):
    """Somebody else has it, and did not let go of it in time."""


def wait_for_lock(handle: int, patience_s: float = PATIENCE_S) -> None:
    """Take the lock of an open file or folder; closing it lets go. Raises LockHeld. Where a file system has no locks, none is taken."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise LockHeld from error
            time.sleep(PAUSE_S)
        except OSError:
            # There it is as good as it can be.
            return
        else:
            return
