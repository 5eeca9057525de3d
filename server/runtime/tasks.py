"""Tasks of one owner in a nursery that many owners share: they can be ended together, and one that fails harms no other owner."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio


class Tasks:
    """failed: called when a task raises an exception, which goes no further. It is logged with `complaint`, which takes the owner's name.
    ended: called when the last task is over.
    """

    __slots__ = ("_complaint", "_ended", "_failed", "_logger", "_nursery", "_owner", "_scopes")

    def __init__(
        self,
        nursery: trio.Nursery,
        owner: object,
        *,
        failed: Callable[[], None],
        ended: Callable[[], None] | None = None,
        logger: logging.Logger,
        complaint: str,
    ) -> None:
        self._nursery = nursery
        self._owner = owner
        self._failed = failed
        self._ended = ended or _forget
        self._logger = logger
        self._complaint = complaint
        self._scopes: list[trio.CancelScope] = []

    def start_soon(self, work: Callable[..., Awaitable[object]], *arguments: Any) -> trio.CancelScope:
        """Start a task; returns the scope that ends it early."""
        scope = trio.CancelScope()
        self._scopes.append(scope)
        self._nursery.start_soon(self._run, scope, partial(work, *arguments))
        return scope

    def cancel(self) -> None:
        """End all tasks for good, without telling anybody how they end. Forgets `failed`, so that no cycle with the owner remains."""
        self._failed = _forget
        for scope in self._scopes:
            scope.cancel()

    async def _run(self, scope: trio.CancelScope, work: Callable[[], Awaitable[object]]) -> None:
        try:
            with scope:
                await work()
        except Exception:
            self._logger.exception(self._complaint, self._owner)
            self._failed()
        finally:
            self._scopes.remove(scope)
            if not self._scopes:
                self._ended()


def _forget() -> None:
    pass
