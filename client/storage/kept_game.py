"""The game at the player's own server (`carpet play`), kept until it has ended: whatever becomes of the terminal, it can be gone on with.

Owns the folder `play` in the user's data folder. In it are the server's database, in which every move is safe before it is answered, and
who the player is there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import trio

from client.connection.events import Identity
from client.storage.files import LOCK_PATIENCE_S, PAUSE_S, PRIVATE, locked_at_once
from client.storage.identity import IdentityError, IdentityStore

FOLDER: Final = "play"
LOCK: Final = "lock"
_HERE: Final = "ws://localhost"
"""Stands for the player's own server, whose port is another one each time."""


class KeptGame:
    """The folder, while this process alone has it. lock: the file descriptor that holds it, for the server to hold too."""

    def __init__(self, folder: Path, lock: int) -> None:
        self._folder = folder
        self._players = IdentityStore(folder)
        self.lock = lock
        self.database = folder / "game.db"

    def identity(self, name: str | None) -> Identity:
        """Who to be: the player of the kept game, or a new one if there is none of this name. Raises IdentityError."""
        return self._players.identity(_HERE, name)

    def keep(self, identity: Identity) -> None:
        """Remember who the player is. If that cannot be written, the game cannot be gone on with, but it can be played."""
        with contextlib.suppress(IdentityError):
            self._players.keep(_HERE, identity)

    def forget(self) -> None:
        """The game has ended."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if path.name != LOCK:
                    path.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def kept_game(home: Path) -> AsyncIterator[KeptGame | None]:
    """The kept game, or None if another terminal plays or nothing can be kept here."""
    folder = home / FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError:
        yield None
        return
    try:
        # The server of a terminal that has just died needs a moment to stop.
        with trio.move_on_after(LOCK_PATIENCE_S):
            while not locked_at_once(handle):  # noqa: ASYNC110  (another process has it, which tells nobody)
                await trio.sleep(PAUSE_S)
        yield KeptGame(folder, handle) if locked_at_once(handle) else None
    finally:
        os.close(handle)
