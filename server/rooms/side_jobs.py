"""What goes on beside a room's requests and waits for something: searches, reads, bots. Its answers come back as requests."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

logger = logging.getLogger("carpet.rooms")


class SideJobs:
    """Of one room. failed: called in place of an exception that one of them raises."""

    __slots__ = ("_code", "_failed", "_nursery", "_scopes")

    def __init__(self, code: str, nursery: trio.Nursery, *, failed: Callable[[], None]) -> None:
        self._code = code
        self._nursery = nursery
        self._failed = failed
        self._scopes: set[trio.CancelScope] = set()

    def start(self, job: Callable[[], Awaitable[None]]) -> trio.CancelScope:
        """What ends it early."""
        scope = trio.CancelScope()
        self._scopes.add(scope)
        self._nursery.start_soon(self._run, scope, job)
        return scope

    def cancel(self) -> None:
        """End all of them, for good. Nobody is told how they end. Forgets `failed`, so that the room is in no cycle with this."""
        self._failed = _forget
        for scope in self._scopes:
            scope.cancel()

    async def _run(self, scope: trio.CancelScope, job: Callable[[], Awaitable[None]]) -> None:
        try:
            with scope:
                await job()
        except Exception:
            logger.exception("something beside room %s crashed", self._code)
            self._failed()
        finally:
            self._scopes.discard(scope)


def _forget() -> None:
    pass
