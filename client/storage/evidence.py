"""What this client saw of its last races and tournaments, kept so that a player who comes back in a new process can still check the deals.

Owns two files in the user's folder, `evidence.json` and `entries.json`. They hold a nonce before the server does: whatever happens then,
the deal can be checked against what was shown first.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from client.storage.files import locked_folder, replace_file
from protocol.views import View

KEPT: Final = 8
"""How many of the last races are kept. At most one race runs at a time at each server."""


class Entry(Struct, frozen=True, kw_only=True):
    """A check-in for a tournament. id, commitment: the tournament's, as it was shown then. nonce: what was given for its shuffles."""

    id: str
    commitment: str
    nonce: str


class SeenRace(Struct, frozen=True, kw_only=True):
    """url: of the server. For the rest see `client.state.evidence`."""

    url: str
    code: str
    race: int
    commitment: str
    nonce: str
    winnable: bool = False
    first_view: View | None = None


KEPT_ENTRIES: Final = 100
"""How many of the last check-ins are kept."""

Item = TypeVar("Item", SeenRace, Entry)


class EvidenceStore:
    """The files, which other terminals of the player write too. If one cannot be read it counts as empty; if it cannot be written, nobody
    is kept from racing.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "evidence.json"
        self._entries = folder / "entries.json"

    def last(self, url: str) -> SeenRace | None:
        """The last race at this server that the player was ready for."""
        return next((seen for seen in reversed(self.read()) if seen.url == url), None)

    def keep(self, seen: SeenRace) -> None:
        """Store it, replacing what was stored of the same race."""
        place = (seen.url, seen.code, seen.race)
        with contextlib.suppress(OSError), locked_folder(self._path.parent):
            others = [each for each in self.read() if (each.url, each.code, each.race) != place]
            replace_file(self._path, msgspec.json.encode([*others, seen][-KEPT:]))

    def read(self) -> list[SeenRace]:
        """The last races, oldest first."""
        return _read(self._path, SeenRace)

    def keep_entry(self, entry: Entry) -> None:
        """Store what was seen and given with a check-in."""
        with contextlib.suppress(OSError), locked_folder(self._entries.parent):
            replace_file(self._entries, msgspec.json.encode([*self.entries(), entry][-KEPT_ENTRIES:]))

    def entries(self) -> list[Entry]:
        """The last check-ins, oldest first."""
        return _read(self._entries, Entry)


def _read(path: Path, kind: type[Item]) -> list[Item]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[kind])  # type: ignore[valid-type]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
