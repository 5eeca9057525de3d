"""The record of the last race that was seen to its end here, kept as a file that `carpet verify` reads.

Every player then holds his own copy of what the server said, and not only the server its own.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from protocol.record import Record, to_json

NAME = "last-race.json"


def keep_record(folder: Path, record: Record) -> Path:
    """Write the record into `folder`, in the place of the one before; the file's path. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / NAME
    handle, temporary = tempfile.mkstemp(prefix=".race-", dir=folder)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(to_json(record) + "\n")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path
