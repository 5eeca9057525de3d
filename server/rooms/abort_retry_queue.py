"""Ends of races that could not be kept when they came about: they are written later, so that no race is brought back which its players were
told is over without a result.

A full disk ends a room, and the disk is as full for the word that it ended. What is owed so is tried again with growing pauses, and once
more when the server stops. A server that dies before, or stops on a disk that is still full, takes it along: the next one finds a race that
runs, cannot know what was told of it, and goes on with it, to a result in which who does not come back is out of time or has forfeited.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final, Protocol

import trio

from server.store.errors import EntryRefused, StoreError
from server.store.port import Entry

logger = logging.getLogger("carpet.rooms")

OWED: Final = 1_000
"""Ends that are remembered. When there are more the oldest is given up, and logged: the next server goes on with its race."""

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
"""Seconds between two tries, which double from one to the other."""


class WritingJournal(Protocol):
    async def write(self, *entries: Entry) -> None:
        """Returns when the entries are safe, all of them. Raises StoreError when none is."""


class AbortRetryQueue:
    """Its task runs in `nursery` for as long as something is owed."""

    def __init__(self, nursery: trio.Nursery, journal: WritingJournal) -> None:
        self._nursery = nursery
        self._journal = journal
        self._owed: deque[tuple[Entry, ...]] = deque()
        self._paying = False

    def __len__(self) -> int:
        return len(self._owed)

    def add(self, entries: tuple[Entry, ...]) -> None:
        """These, which belong together, are to be kept as soon as that can be."""
        if len(self._owed) >= OWED:
            logger.error("that a race was aborted is given up, there are too many such: %s", self._owed.popleft())
        self._owed.append(entries)
        if not self._paying:
            self._paying = True
            self._nursery.start_soon(self._pay)

    async def pay(self) -> None:
        """Try now to have all of it kept, and leave what cannot be."""
        while self._owed:
            entries = self._owed[0]
            try:
                await self._journal.write(*entries)
            except EntryRefused as error:
                # Its race was never kept, or is over: there is nothing to bring back.
                logger.warning("that a race was aborted need not be kept: %s", error)
            except StoreError:
                return
            # While it was written, others may have pushed it out.
            if self._owed and self._owed[0] is entries:
                self._owed.popleft()

    async def _pay(self) -> None:
        pause = FIRST_PAUSE_S
        try:
            while self._owed:
                await trio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                await self.pay()
        finally:
            self._paying = False
