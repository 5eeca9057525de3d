"""Listening: sockets, TLS, the handshake's terms, and the orderly end."""

from __future__ import annotations

import logging
import math
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, cast

import trio
from websockets.http11 import Request, Response
from websockets.trio.server import serve
from websockets.typing import Subprotocol

from protocol.codec import MAX_CLIENT_MESSAGE, SUBPROTOCOLS
from server.net.connection import PING_INTERVAL_S, PING_TIMEOUT_S
from server.net.connection_limits import Admission
from server.net.dispatch import Dispatch
from server.net.http import Site
from server.net.origins import Origins
from server.net.plain_connection import CLOSING_S, PlainConnection
from server.net.stream import SocketListener

STOPPING_S = 3.0
"""Seconds until the lines are cut of those who have not gone when the server stops: who does not read, or is still shaking hands."""

BACKLOG = 1024


@asynccontextmanager
async def listening(
    dispatch: Dispatch,
    *,
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    origins: Sequence[str],
    admission: Admission,
    site: Site | None = None,
) -> AsyncIterator[int]:
    """Accept connections inside the context, as many as `admission` lets in; gives the port (the one chosen, where `port` is 0).

    origins: of web pages that may connect, beside the server's own and whoever names none (a browser always does). site: the pages for who
    asks by plain HTTP. On leaving, every client is told with close code 1001. Raises AddressUnavailable.
    """
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except OSError as error:
        raise AddressUnavailable(error.strerror or str(error)) from error
    chosen: int = listeners[0].socket.getsockname()[1]
    if port == 0:
        # A host's other addresses were given other ports: clients can be told of only one.
        for listener in listeners[1:]:
            await listener.aclose()
        del listeners[1:]
    async with serving(
        dispatch, [SocketListener(listener.socket, admission) for listener in listeners], tls=tls, origins=origins, site=site
    ):
        yield chosen


@asynccontextmanager
async def serving(
    dispatch: Dispatch,
    listeners: Sequence[trio.abc.Listener[trio.abc.HalfCloseableStream]],
    *,
    tls: ssl.SSLContext | None = None,
    origins: Sequence[str] = (),
    site: Site | None = None,
) -> AsyncIterator[None]:
    """The same on listeners that are there already."""
    async with trio.open_nursery() as nursery:
        server = await nursery.start(
            partial(
                serve,
                # The library's annotations ask for its own classes; what it does with them is in the port of ours.
                cast(Any, PlainConnection.attend),
                listeners=cast(Any, list(listeners)),
                create_connection=cast(Any, partial(PlainConnection, dispatch=dispatch)),
                process_request=cast(Any, partial(_answer, site=site or Site(), origins=Origins(origins), secure=tls is not None)),
                ssl=tls,
                subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
                # Compression would cost memory and time a connection, and mix secrets with text that an enemy chooses.
                compression=None,
                server_header=None,
                ping_interval=PING_INTERVAL_S,
                ping_timeout=PING_TIMEOUT_S,
                close_timeout=CLOSING_S,
                max_size=MAX_CLIENT_MESSAGE,
                logger=logging.getLogger("carpet.net.websocket"),
            )
        )
        try:
            yield
        finally:
            # Where everything is being cancelled the server is too, and nobody would come to tell that it has ended.
            if trio.current_effective_deadline() > -math.inf:
                with trio.move_on_after(STOPPING_S, shield=True):
                    await server.aclose(reason="the server stops")
            nursery.cancel_scope.cancel()


async def _answer(connection: PlainConnection, request: Request, *, site: Site, origins: Origins, secure: bool) -> Response | None:
    response = await site.answer(connection, request, secure=secure)
    if response is None and not origins.admit(request.headers):
        return connection.respond(HTTPStatus.FORBIDDEN, "Pages from elsewhere may not connect here; the host can allow it with --origin.\n")
    return response


class AddressUnavailable(Exception):
    """Nobody can listen there: the address is not of this machine, or is taken. Says why."""


class UnusableTlsFiles(Exception):
    """The PEM files cannot be read, are none, or do not belong together. Says which files and why."""


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """A server's TLS context from PEM files. Raises UnusableTlsFiles."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UnusableTlsFiles(f"the TLS files {certificate} and {key} cannot be used: {reason}") from error
    return context


def _no_password() -> str:
    # Without this, OpenSSL would ask on the terminal for the password of an encrypted key.
    raise ValueError("the key is encrypted")
