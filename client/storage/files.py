"""Files that are written in one piece or not at all, and the lock of a file that several terminals change.

Whoever reads one, after any crash, finds the old text, the new one, or no file. Whoever holds a lock reads, writes and lets go.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

PRIVATE, USUAL = 0o600, 0o666
"""Modes of new files, before the umask: for the user alone from the first moment, and as all programs make them."""

PATIENCE_S = 2.0
"""Seconds that another terminal's change is waited for; it takes a few milliseconds."""
PAUSE_S = 0.01

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def replace_file(path: Path, content: bytes, *, mode: int = PRIVATE, copy_mode: bool = False) -> None:
    """Write the file anew, over what is there. copy_mode: with the mode of the file that is there. Raises OSError, ValueError."""
    with _written(path, content, mode) as temporary:
        if copy_mode:
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)


def make_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a new file. Raises FileExistsError where there is one, also one that has come meanwhile; OSError, ValueError."""
    with _written(path, content, mode) as temporary:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # An empty file keeps others from the name until what was written has it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
            try:
                os.replace(temporary, path)
            except OSError:
                os.unlink(path)
                raise


@contextlib.contextmanager
def _written(path: Path, content: bytes, mode: int) -> Iterator[str]:
    """A file beside `path` with the content, safe on the disk; gone when the block ends, unless it was given another name."""
    temporary = os.path.join(path.parent, f".carpet-{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


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
