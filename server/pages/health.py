"""Readiness: whether the server can take players, for a proxy that routes them. `/healthz`, which touches nothing, tells if it is alive."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import trio

from server.net.http import TEXT_TYPE, Asked, NoPage, Page, Route
from server.rooms.registry import Rooms
from server.store.errors import StoreError
from server.store.journal import Journal

logger = logging.getLogger("carpet.store")

STORE_PATIENCE_S: Final = 2.0
"""How long the store may take to answer."""


def readiness_route(rooms: Rooms, journal: Journal, *, max_rooms: int, relief: Callable[[], str | None]) -> Route:
    """relief: the URL of another server of this place that takes what is new, if this one should not."""

    async def show(asked: Asked) -> Page:
        del asked
        with trio.move_on_after(STORE_PATIENCE_S) as waiting:
            reason = await _why_not(rooms, journal, max_rooms, relief)
        if waiting.cancelled_caught:
            reason = f"the store has not answered for {STORE_PATIENCE_S:.0f} seconds"
        if reason is not None:
            raise NoPage(HTTPStatus.SERVICE_UNAVAILABLE, f"Not ready: {reason}.", retry_after_s=5)
        return Page(b"ready\n", TEXT_TYPE, "no-store")

    return Route("/readyz", show)


async def _why_not(rooms: Rooms, journal: Journal, max_rooms: int, relief: Callable[[], str | None]) -> str | None:
    # A drained server with no other beside it stays ready: whoever comes may have lost the line to a race that goes on here.
    if rooms.draining is not None and relief() is not None:
        return "it is drained, and another server takes what is new"
    if len(rooms) >= max_rooms:
        return f"it holds {max_rooms} races, as many as it may"
    if journal.outage is not None:
        # Why is in the log: the address of the database is nothing for everybody to read.
        return "nothing can be written just now"
    if not journal.has_room:
        return "more is to be written than the store can take just now"
    try:
        await journal.ask(journal.store.player, "")
    except StoreError as error:
        logger.warning("not ready: %s", error)
        return "the store cannot be read just now"
    return None
