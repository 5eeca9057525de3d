"""Locations of stores, parsed from what the host wrote: a path, a URL, or nothing for the usual place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from protocol import HOME_VARIABLE
from server.store.errors import StoreUnavailable

FILE_NAME = "carpet.sqlite3"

_WRITE_VERSION, _HAS_NO_LOG = 18, b"\x01"
"""Where the header of a SQLite file says how it is written, and what it says if that is without a log. https://www.sqlite.org/fileformat2.html
"""


@dataclass(frozen=True, slots=True)
class Location:
    """path: the file of a SQLite database; None for PostgreSQL."""

    url: URL
    path: Path | None

    def __str__(self) -> str:
        """For people: without the password."""
        return str(self.path) if self.path is not None else self.url.set(drivername="postgresql").render_as_string(hide_password=True)


def default_path() -> Path:
    """`carpet.sqlite3` in the user's data folder, or in the folder that CARPET_HOME names."""
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else user_data_path("carpet-race")) / FILE_NAME


def existing(where: str | None) -> Location:
    """The same, for a store that exists already; PostgreSQL is not asked yet. Raises StoreUnavailable."""
    location = locate(where)
    if location.path is not None:
        try:
            check_log(location.path)
            is_there = location.path.is_file()
        except OSError as error:
            raise StoreUnavailable(f"cannot use {error.filename or location}: {error.strerror or error}") from error
        if not is_there:
            raise StoreUnavailable(f"there is no database at {location}")
    return location


def check_log(path: Path) -> None:
    """Make sure that SQLite's log beside the file at this path, if there is one, belongs to it. Raises StoreUnavailable and OSError.

    The log of a killed server holds the last moves that it acknowledged. SQLite deletes a log that it finds without its file, and applies
    one that it finds beside another file to that file, which ruins it.
    """
    log = Path(f"{path.resolve()}-wal")
    if not log.is_file() or not log.stat().st_size:
        return
    if not path.is_file() or not path.stat().st_size:
        raise StoreUnavailable(
            f"{log} is the log of a killed server and holds its last moves, but {path.name} is gone:"
            " move the log to where that went, as NAME-wal"
        )
    with path.open("rb") as file:
        # A database with a log says so in its header. A backup says that it has none.
        if file.read(_WRITE_VERSION + 1)[_WRITE_VERSION:] == _HAS_NO_LOG:
            raise StoreUnavailable(
                f"{log} is the log of a killed server and belongs to another file than this {path.name}:"
                " move the log to where that went, as NAME-wal, or anywhere if that is overwritten"
            )


def locate(where: str | None) -> Location:
    """where: a path, `sqlite:///PATH` or `postgresql://…`. Raises StoreUnavailable for anything else."""
    if where is None or "://" not in where:
        path = Path(where).expanduser() if where else default_path()
        return Location(URL.create("sqlite+pysqlite", database=str(path)), path)
    try:
        url = make_url(where)
    except (ArgumentError, ValueError) as error:
        raise StoreUnavailable("that is not the URL of a database: it reads postgresql://USER:PASSWORD@HOST/NAME") from error
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:":
            return Location(url.set(drivername="sqlite+pysqlite"), Path(url.database))
        case "postgresql" | "postgres":
            return Location(url.set(drivername="postgresql+psycopg"), None)
        case name:
            raise StoreUnavailable(f"races are kept in a SQLite file or in PostgreSQL; {name}:// is neither")
