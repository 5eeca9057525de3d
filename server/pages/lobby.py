"""What the lobby shows, for who is not in it."""

from __future__ import annotations

import trio

from protocol.codec import JSON
from server.lobby.lobby import Lobby
from server.net.http import Asked, Page, Route


def lobby_route(lobby: Lobby) -> Route:
    async def show(asked: Asked) -> Page:
        del asked
        await trio.lowlevel.checkpoint()
        return Page(lobby.latest().payload(JSON) + b"\n", cache="max-age=1")

    return Route("/races.json", show)
