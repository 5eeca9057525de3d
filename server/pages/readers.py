"""Reads the store for HTTP requests: in threads, a few at a time, with an HTTP status for whatever goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeVar

import trio

from server.net.http import NoPage
from server.store.errors import StoreCorrupt, StoreError
from server.store.journal import Journal
from server.store.store import Store

logger = logging.getLogger("carpet.pages")

READING: Final = 2
"""How many pages read the store at once: half of a database's reading connections, because players who say hello need them too."""

WAITING: Final = 32
"""How many requests may wait for that. When full, the answer is 503, as it is after too long a wait."""

Answer = TypeVar("Answer")


class Readers:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._reading = trio.CapacityLimiter(READING)
        self._working = trio.CapacityLimiter(1)

    async def ask(self, read: Callable[[Store], Answer]) -> Answer:
        """The answer of `read`, which reads the store in a thread. Raises NoPage, also if the store fails."""
        return await self.wait(lambda: self._journal.ask(read, self._journal.store))

    async def wait(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """The same for an answer that reads the store several times, in its turn."""
        return await self._in_turn(self._reading, answer)

    async def work(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """The same for an answer that a worker makes. One at a time, so that many requests leave readers for others, and workers for
        races."""
        return await self._in_turn(self._working, answer)

    async def _in_turn(self, turns: trio.CapacityLimiter, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        if turns.statistics().tasks_waiting >= WAITING:
            sentence = "The server is looking up as much as it can; ask again in a moment."
            raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, sentence, retry_after_s=1)
        try:
            async with turns:
                return await answer()
        except StoreCorrupt as error:
            logger.error("%s", error)
            sentence = "What is kept of that is damaged; the host has to look into it."
            raise NoPage(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from error
        except StoreError as error:
            logger.warning("a page could not be read: %s", error)
            raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be read now; try again later.", retry_after_s=10) from error
