"""The composition root: makes the parts of a server, joins them, runs them and ends them in order."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

import protocol
from server.config import Settings
from server.lobby.lobby import Lobby
from server.lobby.players import Players
from server.net.dispatch import Dispatch
from server.net.listener import listening, tls_context
from server.rooms.clock import Clock
from server.rooms.dealing import DealFinder
from server.rooms.registry import Rooms
from server.store.journal import Journal
from server.store.opening import open_store
from server.store.port import RaceAborted, Store
from server.workers import open_workers

SOFTWARE = f"carpet-race {protocol.__version__}"


logger = logging.getLogger("carpet.app")


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[str]:
    """A server inside the context; gives its URL. On leaving, rooms are closed, clients told, tasks ended, in this order.

    Races that an earlier server on the same database left running go on. Raises AddressUnavailable, maybe in a group,
    UnusableTlsFiles, and StoreError when the database cannot be had.
    """
    tls = None
    if settings.tls_cert is not None and settings.tls_key is not None:
        tls = tls_context(settings.tls_cert, settings.tls_key)
    store = await trio.to_thread.run_sync(open_store, settings.database)
    try:
        async with open_workers(settings.workers) as workers, trio.open_nursery() as nursery:
            clock = Clock()
            journal = Journal(store)
            nursery.start_soon(journal.run)
            rooms = Rooms(
                nursery,
                clock=clock,
                entropy=secrets.token_bytes,
                software=SOFTWARE,
                journal=journal,
                keeps=store.waits,
                find_deal=DealFinder(workers).find,
                max_rooms=settings.max_rooms,
                bots_wait=settings.bots_wait,
            )
            players = Players(entropy=secrets.token_bytes, store=store, journal=journal, clock=clock)
            lobby = Lobby(rooms, players)
            nursery.start_soon(lobby.run)
            dispatch = Dispatch(
                rooms=rooms,
                players=players,
                lobby=lobby,
                clock=clock,
                software=SOFTWARE,
                rate=settings.rate,
                burst=settings.burst,
            )
            await _go_on(rooms, store, journal, clock)
            async with listening(dispatch, host=settings.host, port=settings.port, tls=tls, origins=settings.origins) as port:
                yield _url(settings.host, port, secure=tls is not None)
                await rooms.stop()
            journal.close()
            await journal.ended()
            nursery.cancel_scope.cancel()
    finally:
        # In no thread: whoever is cancelled here may wait for nothing any more, and closing a file takes no time.
        store.close()


async def _go_on(rooms: Rooms, store: Store, journal: Journal, clock: Clock) -> None:
    """Bring back the races of an earlier server. One that cannot be is ended as aborted, and keeps no other from it."""
    left = await journal.ask(store.running)
    lost = [(damaged.race, damaged.what) for damaged in left.damaged]
    for race in left.races:
        try:
            rooms.go_on(race)
        except ValueError as error:
            lost.append((race.opened.race, str(error)))
    for race_id, what in lost:
        logger.error("race %s cannot go on and is aborted: %s", race_id, what)
        await journal.write(RaceAborted(race=race_id, reason=what, at_ms=clock.now_ms()))
    if left.races or lost:
        logger.info("%d races of an earlier server go on, %d cannot", len(rooms), len(lost))


def _url(host: str, port: int, *, secure: bool) -> str:
    scheme = "wss" if secure else "ws"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
