"""What this client saw of its last races, kept so that a player who comes back in a new process can still check the deal.

Owns one file, `evidence.json` in the user's folder. It holds a nonce before the server does: whatever happens then, the deal can be checked
against what was shown first.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from client.storage.files import replace_file
from protocol.views import View

KEPT: Final = 8
"""How many of the last races are kept. At most one race runs at a time at each server."""


class SeenRace(Struct, frozen=True, kw_only=True):
    """url: of the server. For the rest see `client.state.evidence`."""

    url: str
    code: str
    race: int
    commitment: str
    nonce: str
    winnable: bool = False
    first_view: View | None = None


class EvidenceStore:
    """The file. If it cannot be read it counts as empty; if it cannot be written, nobody is kept from racing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "evidence.json"

    def last(self, url: str) -> SeenRace | None:
        """The last race at this server that the player was ready for."""
        return next((seen for seen in reversed(self.read()) if seen.url == url), None)

    def keep(self, seen: SeenRace) -> None:
        """Store it, replacing what was stored of the same race."""
        place = (seen.url, seen.code, seen.race)
        others = [each for each in self.read() if (each.url, each.code, each.race) != place]
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, msgspec.json.encode([*others, seen][-KEPT:]))

    def read(self) -> list[SeenRace]:
        """The last races, oldest first."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[SeenRace])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
