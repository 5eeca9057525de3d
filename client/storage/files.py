"""Files that are replaced atomically, and JSON documents in them that several terminals may change.

After any crash, a reader finds the old text, the new one, or no file. A writer holds the folder's lock from reading to writing.
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
    """The whole content of a file. format: of the file, so that an older program sees that it cannot read it."""

    format: int = 1


Document = TypeVar("Document", bound=Versioned)

PRIVATE, USUAL = 0o600, 0o666
"""Modes of new files, before the umask: readable only by the user from the first moment, or as most programs create them."""

LOCK_PATIENCE_S = 2.0
"""Seconds to wait for another terminal's change, which takes a few milliseconds."""
PAUSE_S = 0.01

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def replace_file(path: Path, content: bytes, *, copy_mode: bool = False) -> None:
    """Write the whole file, replacing what is there. copy_mode: keep the mode of the existing file. Raises OSError, ValueError."""
    with _written(path, content, PRIVATE) as temporary:
        if copy_mode:
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)


def make_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a new file. Raises FileExistsError if there is one, even one made in the meantime; OSError, ValueError."""
    with _written(path, content, mode) as temporary:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # An empty file reserves the name until the real content replaces it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
            try:
                os.replace(temporary, path)
            except OSError:
                os.unlink(path)
                raise


@contextlib.contextmanager
def _written(path: Path, content: bytes, mode: int) -> Iterator[str]:
    """A file beside `path` with the content, safely on disk. It is deleted when the block ends, unless it was given another name."""
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
    """A JSON document in a file private to the user. Any problem with it raises `failure`, with one sentence that names the file.

    empty: the document if there is no file; its `format` is the newest that can be read. what, anew: for the sentences: what the file
    contains, and as what one begins without it. held: what it means for the user if another terminal does not release the lock.
    """

    def __init__(self, path: Path, empty: Document, *, failure: type[Failure], what: str, anew: str, held: str) -> None:
        self.path = path
        self._empty = empty
        self._failure = failure
        self._what = f"The file {path} with {what}"
        self._anew = anew
        self._held = held

    def read(self) -> Document:
        """The whole document."""
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
        """Replace the whole document atomically."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The file is private from the start: at no moment could others read it.
            replace_file(self.path, document_text(document))
        except OSError as error:
            raise self._failed("written", error) from error

    def change(self, to: Callable[[Document], Document]) -> None:
        """Replace the document by `to` of it. Nobody else writes in between. `to` may be called twice."""
        document = self.read()
        # Most visits change nothing, and then the file need not be writable. Compared as text, since the order of its parts may matter.
        if document_text(to(document)) == document_text(document):
            return
        with self.locked():
            self.write(to(self.read()))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep everybody else from changing documents in this folder. If the file system has no locks, none is taken."""
        with contextlib.ExitStack() as stack:
            try:
                is_ours = stack.enter_context(locked_folder(self.path.parent))
            except OSError as error:
                raise self._failed("written", error) from error
            if not is_ours:
                raise self._failure(f"{self._what} is being changed by another carpet command: {self._held}.")
            yield

    def _failed(self, done: str, error: OSError) -> Failure:
        return self._failure(f"{self._what} cannot be {done}: {error.strerror}; {HOME_VARIABLE} names another folder.")


def document_text(document: Versioned) -> bytes:
    """The document as indented JSON, as it is in the file."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """A lock on the folder, which is made if it is missing. Gives whether it could be had in time. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _take_lock(handle)
    finally:
        os.close(handle)


def _take_lock(handle: int) -> bool:
    until = time.monotonic() + LOCK_PATIENCE_S
    while not locked_at_once(handle):
        if time.monotonic() >= until:
            return False
        time.sleep(PAUSE_S)
    return True


def locked_at_once(handle: int) -> bool:
    """Lock an open file or folder, or say that somebody else has. It stays locked until all copies of the descriptor are closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # No locks on this file system: go on without.
        pass
    return True
