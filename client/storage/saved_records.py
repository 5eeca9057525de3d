"""The records of this machine's races, kept as files that `carpet verify` reads.

So each player has their own copy of what the server said. Each race has a file under its id; the last one has another under a fixed name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from client.storage.files import replace_file
from protocol.pages import is_race_id
from protocol.record import LONGEST_RECORD, BadRecord, Record, digest, from_json, to_json

NAME: Final = "last-race.json"
FOLDER: Final = "races"
TAUGHT: Final = "taught"
"""A file beside them that says that the lessons are over."""

KEPT: Final = 200
"""Records kept in the folder; each new one beyond that replaces the oldest."""


def is_new(folder: Path) -> bool:
    """Whether nobody on this machine has raced or finished the lessons."""
    return not any((folder / name).exists() for name in (TAUGHT, NAME))


def keep_record(folder: Path, record: Record, *, late: bool = False) -> Path:
    """Write the record into `folder`, under its id and as the last one. Returns the former path. Raises OSError.

    late: the record was fetched some time after the race. So it goes where the race belongs among the others, and is the last one only if
    no later race is kept.
    """
    races = folder / FOLDER
    races.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = f"{to_json(record)}\n".encode()
    if not late:
        replace_file(folder / NAME, text)
    # The id comes from a server: it must not name a file unless it has the form of an id.
    path = races / f"{record.id if is_race_id(record.id) else digest(record)}.json"
    replace_file(path, text)
    if late:
        # The server's clock may be wrong: no race is from the future.
        ended_s = min((record.started_at_ms + record.ended_at_ms) / 1000, path.stat().st_mtime)
        os.utime(path, (ended_s, ended_s))
        if _by_age(races)[0] == path:
            replace_file(folder / NAME, text)
    for oldest in _by_age(races)[KEPT:]:
        oldest.unlink(missing_ok=True)
    return path


class SavedRecords:
    """Keeps each record as it comes, so that none is lost if the program ends. Prints nothing: the screen may be in use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.last: Path | None = None
        """Path of the last record, under its id."""
        self.error: OSError | None = None
        """Why the last record that could not be kept failed."""

    def keep(self, record: Record) -> None:
        """Write the record now, if possible."""
        try:
            self.last = keep_record(self._folder, record)
        except OSError as error:
            self.error = error


def kept_records(folder: Path) -> Iterator[Record]:
    """The kept records, newest first. Unreadable files are skipped."""
    yield from filter(None, map(_read, _by_age(folder / FOLDER)))


def kept_record(folder: Path, race: str) -> Record | None:
    """The record of a race; None if it is not kept, or cannot be read. race: an id, by `is_race_id`."""
    return _read(record_path(folder, race))


def _read(path: Path) -> Record | None:
    try:
        with path.open("rb") as file:
            return from_json(file.read(LONGEST_RECORD + 1))
    except (OSError, BadRecord):
        return None


def record_path(folder: Path, race: str | None) -> Path:
    """Where the record of a race is, if it is kept. race: an id, by `is_race_id`; None for the last race."""
    return folder / NAME if race is None else folder / FOLDER / f"{race}.json"


def _by_age(races: Path) -> list[Path]:
    """The files in the folder, newest first."""
    aged: list[tuple[int, Path]] = []
    for path in races.glob("*.json"):
        try:
            aged.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue
    return [path for _, path in sorted(aged, reverse=True)]
