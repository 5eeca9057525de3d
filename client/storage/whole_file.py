"""Files that are written in one piece or not at all: whoever reads one, after any crash, finds the old text, the new one, or no file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

PRIVATE, USUAL = 0o600, 0o666
"""Modes of new files, before the umask: for the user alone from the first moment, and as all programs make them."""

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
