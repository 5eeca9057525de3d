"""Files that are written in one piece or not at all, and documents in them that several terminals change.

Whoever reads one, after any crash, finds the old text, the new one, or no file. Whoever holds a lock reads, writes and lets go.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from client.connection.errors import Failure
from protocol import HOME_VARIABLE


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """All that is in a file. format: of the file, so that an older program knows that it cannot read it."""

    format: int = 1


Document = TypeVar("Document", bound=Versioned)

PRIVATE, USUAL = 0o600, 0o666
"""Modes of new files, before the umask: for the user alone from the first moment, and as all programs make them."""

PATIENCE_S = 2.0
"""Seconds that another terminal's change is waited for; it takes a few milliseconds."""
PAUSE_S = 0.01

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def replace_file(path: Path, content: bytes, *, copy_mode: bool = False) -> None:
    """Write the file anew, over what is there. copy_mode: with the mode of the file that is there. Raises OSError, ValueError."""
    with _written(path, content, PRIVATE) as temporary:
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
    temporary = os.path.join(path.parent, f".carpet-{os.urandom(8).hex()}")
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


class DocumentFile(Generic[Document]):
    """A JSON document in a file that is the user's alone. Whatever is wrong with it is a `failure` that names it, in one sentence.

    empty: what it is where there is no file; it has a `format`, the newest that can be read. what, anew: what is in it, and as what one
    begins without it. held: what that means when another terminal does not let go of it.
    """

    def __init__(self, path: Path, empty: Document, *, failure: type[Failure], what: str, anew: str, held: str) -> None:
        self.path = path
        self._empty = empty
        self._failure = failure
        self._what = f"The file {path} with {what}"
        self._anew = anew
        self._held = held

    def read(self) -> Document:
        """All that is kept."""
        try:
            document = msgspec.json.decode(self.path.read_bytes(), type=type(self._empty))
        except FileNotFoundError:
            return self._empty
        except OSError as error:
            raise self._failed("read", error) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._failure(f"{self._what} is damaged ({error}): repair it, or delete it to begin {self._anew}.") from error
        if document.format > self._empty.format:
            raise self._failure(f"The file {self.path} is from a newer carpet-race: upgrade this one, or set {HOME_VARIABLE}.")
        return document

    def write(self, document: Document) -> None:
        """Replace all that is kept, in one piece."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Private from the start: there is no moment in which others could read it.
            replace_file(self.path, document_text(document))
        except OSError as error:
            raise self._failed("written", error) from error

    def change(self, to: Callable[[Document], Document]) -> None:
        """Make of what is kept what `to` makes of it, which may be asked twice. Nobody writes between."""
        document = self.read()
        # Most visits change nothing, and then nothing need be writable.
        if to(document) == document:
            return
        with self.locked():
            self.write(to(self.read()))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes anything in its folder. Where a file system has no locks, none is taken."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed("written", error) from error
        try:
            if not _take_lock(handle):
                raise self._failure(f"{self._what} is being changed by another carpet command: {self._held}.")
            yield
        finally:
            os.close(handle)

    def _failed(self, done: str, error: OSError) -> Failure:
        return self._failure(f"{self._what} cannot be {done}: {error.strerror}; {HOME_VARIABLE} names another folder.")


def document_text(document: Versioned) -> bytes:
    """The document as JSON with line breaks, as it is in the file."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _take_lock(handle: int) -> bool:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(PAUSE_S)
        except OSError:
            # There it is as good as it can be.
            return True
        else:
            return True
