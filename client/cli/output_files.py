"""Files that commands write: never over another one, unless that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from client.cli.shared import fail


def there_already(target: object) -> NoReturn:
    fail(f"{target} is there already: name another file, or say --force to write over it.")


def write_new(path: Path, text: str, *, force: bool) -> None:
    """As `--force` says; ends the command where it cannot be."""
    try:
        _write(path, text, force=force)
    except FileExistsError:
        there_already(path)
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.")


def _write(path: Path, text: str, *, force: bool) -> None:
    """In one piece or not at all, and over nothing unless forced. Raises OSError, ValueError."""
    from client.storage.files import USUAL, make_file, replace_file

    try:
        make_file(path, text.encode(), mode=USUAL)
    except FileExistsError:
        if not force:
            raise
        if not path.is_file():
            fail(f"{path} is no file that could be written over; name another.")
        replace_file(path, text.encode(), copy_mode=True)
