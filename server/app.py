"""The composition root: makes the parts of a server, joins them, runs them and ends them in order."""

from __future__ import annotations

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
from server.workers import open_workers

SOFTWARE = f"carpet-race {protocol.__version__}"


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[str]:
    """A server inside the context; gives its URL. On leaving, rooms are closed, clients told, tasks ended, in this order.

    Raises AddressUnavailable, maybe in a group, and UnusableTlsFiles.
    """
    tls = None
    if settings.tls_cert is not None and settings.tls_key is not None:
        tls = tls_context(settings.tls_cert, settings.tls_key)
    async with open_workers(settings.workers) as workers, trio.open_nursery() as nursery:
        clock = Clock()
        rooms = Rooms(
            nursery,
            clock=clock,
            entropy=secrets.token_bytes,
            software=SOFTWARE,
            find_deal=DealFinder(workers).find,
            max_rooms=settings.max_rooms,
            bots_wait=settings.bots_wait,
        )
        players = Players(entropy=secrets.token_bytes)
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
        async with listening(dispatch, host=settings.host, port=settings.port, tls=tls, origins=settings.origins) as port:
            yield _url(settings.host, port, secure=tls is not None)
            await rooms.stop()
        nursery.cancel_scope.cancel()


def _url(host: str, port: int, *, secure: bool) -> str:
    scheme = "wss" if secure else "ws"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
