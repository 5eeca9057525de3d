"""The lobby's lists, for those who are not connected."""

from __future__ import annotations

import gzip

import trio

from protocol.codec import JSON
from server.lobby.lobby import Lobby
from server.net.http import Asked, Page, Route
from server.rooms.outgoing import Outgoing


def lobby_route(lobby: Lobby) -> Route:
    kept: list[tuple[Outgoing, Page]] = []

    async def show(asked: Asked) -> Page:
        del asked
        await trio.lowlevel.checkpoint()
        latest = lobby.latest()
        if not kept or kept[0][0] is not latest:
            body = latest.payload(JSON) + b"\n"
            # Level 1 takes half a millisecond for forty kilobytes, at most twice a second.
            kept[:] = [(latest, Page(body, cache="max-age=1", zipped=gzip.compress(body, 1, mtime=0)))]
        return kept[0][1]

    return Route("/races.json", show)
