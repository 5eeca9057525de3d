"""Upkeep of a store on a disk while a server runs: checkpoints, and once a day the removal of what nobody will miss.

Like the journal, it knows the event loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import trio

from protocol.text import counted
from server.store.errors import StoreError
from server.store.journal import Journal

logger = logging.getLogger("carpet.store")

CHECKPOINT_S: Final = 2.0
"""Seconds from one checkpoint to the next, while there are commits."""

DAY_S: Final = 24 * 60 * 60


async def look_after(journal: Journal, *, now_ms: Callable[[], int], prune_after_days: int) -> None:
    """Run until cancelled. prune_after_days: remove what nobody has used for so long; 0 removes nothing."""
    if not journal.store.waits:
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_checkpoint, journal)
        if prune_after_days:
            nursery.start_soon(_prune, journal, now_ms, prune_after_days)


async def _checkpoint(journal: Journal) -> None:
    """Make checkpoints beside commits. SQLite's own way is inside a commit every so many pages; on a slow disk all moves wait seconds."""
    store, batches = journal.store, 0
    while True:
        await trio.sleep(CHECKPOINT_S)
        # In SQLite before 3.51.3 a checkpoint just after a complete one can corrupt the file if a commit restarts the log meanwhile. Once
        # there has been a commit in between, the log has already restarted.
        if journal.statistics.batches == batches:
            continue
        try:
            if await trio.to_thread.run_sync(store.checkpoint):
                # Little was committed meanwhile; only between two commits can the checkpoint be complete.
                await journal.tidy(store.checkpoint)
        except StoreError as error:
            logger.warning("no checkpoint could be made, so the log of the database grows: %s", error)
        batches = journal.statistics.batches


async def _prune(journal: Journal, now_ms: Callable[[], int], days: int) -> None:
    while True:
        before_ms = now_ms() - days * DAY_S * 1000
        try:
            gone = 0
            for table, keys in await journal.ask(journal.store.prunable, before_ms):
                gone += await journal.tidy(journal.store.remove, table, keys, before_ms)
            if gone:
                logger.info("removed rooms, players and challenges that were not used for %s: %d", counted(days, "day"), gone)
        except StoreError as error:
            logger.warning("unused rooms, players and challenges could not be removed: %s", error)
        await trio.sleep(DAY_S)
