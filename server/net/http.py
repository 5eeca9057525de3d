"""Plain HTTP on the same port: whether the server is well, and a word for who comes with a browser."""

from __future__ import annotations

from http import HTTPStatus

from websockets.http11 import Request, Response

from server.net.connection import PeerConnection

_WELCOME = """\
This is a Carpet Race server: two people race at the patience game Carpet on the same shuffle, from their terminals.
To race here, install carpet-race and run: carpet home ws://THIS-ADDRESS
"""


def answer(connection: PeerConnection, request: Request) -> Response | None:
    """The answer to a request that is not for a WebSocket, or None for one that is."""
    path = request.path.partition("?")[0]
    if path == "/healthz":
        return connection.respond(HTTPStatus.OK, "ok\n")
    if "websocket" in (value.lower() for value in request.headers.get_all("Upgrade")):
        return None
    if path == "/":
        return connection.respond(HTTPStatus.OK, _WELCOME)
    return connection.respond(HTTPStatus.NOT_FOUND, "There is nothing here.\n")
