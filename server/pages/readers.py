"""Reading the store for who asks over HTTP: in threads, a few at a time, with a status for whatever is wrong with it."""

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
"""Pages that are read out of the store at once: half the connections that a database has for reading, as players say hello by them too."""

WAITING: Final = 32
"""Requests that may wait for one of these. When there are more, the answer is 503; after too long a wait too."""

Answer = TypeVar("Answer")


class Readers:
    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._reading = trio.CapacityLimiter(READING)
        self._working = trio.CapacityLimiter(1)

    async def ask(self, read: Callable[[Store], Answer]) -> Answer:
        """What `read` makes of the store, which it reads in a thread. Raises NoPage, also where the store fails."""
        return await self.wait(lambda: self._journal.ask(read, self._store))

    async def wait(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """The same for an answer that is made of several looks at the store, when it is its turn."""
        return await self._in_turn(self._reading, answer)

    async def work(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """The same for an answer that a worker makes: one at a time, so that who asks for many leaves the readers to others, and workers to
        those who race."""
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
