"""Listens for connections: sockets, TLS, the terms of the handshake, and the orderly end."""

from __future__ import annotations

import logging
import math
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import trio
from websockets.frames import CloseCode as StandardCode
from websockets.http11 import Request, Response
from websockets.trio.server import serve
from websockets.typing import Subprotocol

from protocol.codec import MAX_CLIENT_MESSAGE, SUBPROTOCOLS
from protocol.text import counted
from server.net.connection import PING_INTERVAL_S, Caller, DispatchPort
from server.net.connection_limits import Admission, AdmissionOutcome, Ticket, is_nearby
from server.net.frames import Opening, opening
from server.net.http import Site, text_response
from server.net.hub import AVAILABLE as HUB_AVAILABLE
from server.net.hub import Hub, worked_s
from server.net.hub_connection import HubConnection
from server.net.limits import Seldom
from server.net.origins import Origins
from server.net.overload import BUSY_SENTENCE, LOAD_LOOK_S, UNTIRING, Overload
from server.net.page_connection import PageConnection
from server.net.plain_connection import PlainConnection
from server.net.stream import CLOSING_S, HANDSHAKE_S, TOLD_EVERY_S, RoundTripRule, SocketListener, SocketStream, TlsStream
from server.net.traffic import Traffic

STOPPING_S = 3.0
"""Seconds after which connections that are still open when the server stops are cut: of peers that do not read, or still shake hands."""

logger = logging.getLogger("carpet.net")

BACKLOG = 1024

HANDED_OVER = 1024
"""WebSockets that may wait for the library. It takes them as fast as they come; when there are more, the next are closed."""

REFUSED_TOGETHER = 8
REFUSING_S = 0.005
"""While the server is too busy to let anybody in, it accepts REFUSED_TOGETHER connections and then waits for REFUSING_S. So a thousand a
second can be told, at a tenth of a core. Unaccepted ones would wait in the kernel's queue, and learn nothing once that is full."""

_STOPS = "the server is stopping"


async def open_listeners(host: str, port: int, admission: Admission) -> tuple[int, list[SocketListener]]:
    """The port (a free one if `port` is 0), and a listener for each of the host's addresses. Raises AddressUnavailable.

    host: `*` for all of IPv4 and IPv6.
    """
    try:
        listeners = await trio.open_tcp_listeners(port, host=None if host == "*" else host, backlog=BACKLOG)
    except OSError as error:
        why = error.strerror or str(error)
        raise AddressUnavailable(f"cannot listen on {host} port {port}: {why}; choose another with --host and --port") from error
    admission.on_refused = partial(_log_refused, admission, Seldom(TOLD_EVERY_S))
    chosen: int = listeners[0].socket.getsockname()[1]
    if port == 0:
        # The host's other addresses were given other ports, but clients can be told only one.
        for listener in listeners[1:]:
            await listener.aclose()
        del listeners[1:]
    return chosen, [SocketListener(socket.socket(fileno=listener.socket.detach()), admission) for listener in listeners]


def _log_refused(admission: Admission, seldom: Seldom, ticket: Ticket) -> None:
    if count := seldom.happened(trio.current_time()):
        logger.warning(
            "%s refused, the last from %s; %d open: --max-connections is %d, --max-connections-per-address %d",
            counted(count, "connection"),
            ticket.place or "this machine",
            admission.inside,
            admission.most,
            admission.most_per_address,
        )


@asynccontextmanager
async def serving(
    dispatch: DispatchPort,
    listeners: Sequence[trio.abc.Listener[trio.abc.HalfCloseableStream]],
    *,
    origins: Origins,
    site: Site,
    round_trip_rule: RoundTripRule,
    overload: Overload,
    tls: ssl.SSLContext | None = None,
    plain_sockets: bool = False,
    gathering: AbstractContextManager[None] | None = None,
) -> AsyncIterator[None]:
    """Accept connections inside the context. On exit, every client is told with close code 1001.

    origins: which web pages may connect, in addition to the server's own; a request without an origin may too, but browsers always send
    one.
    site: the pages for plain HTTP. plain_sockets: do not use the hub, just as over TLS or without epoll. gathering: see `Hub`.
    """
    async with trio.open_nursery() as nursery:
        by_hub = tls is None and not plain_sockets and HUB_AVAILABLE
        door = _Door(
            nursery,
            dispatch.traffic,
            listeners,
            hub=Hub(nursery, overload, dispatch.traffic.answered, gathering) if by_hub else None,
            connect=partial(HubConnection, dispatch=dispatch, round_trip_rule=round_trip_rule),
            tls=tls,
            origins=origins,
            site=site,
            overload=overload,
        )
        nursery.start_soon(door.run)
        if not by_hub:
            nursery.start_soon(_look, overload, dispatch)
        server = await nursery.start(
            partial(
                serve,
                # The library's annotations ask for its own classes; ours have all that it uses of them.
                cast(Any, PlainConnection.attend),
                listeners=cast(Any, [door.others]),
                create_connection=cast(Any, partial(PlainConnection, dispatch=dispatch, round_trip_rule=round_trip_rule)),
                process_request=cast(Any, PlainConnection.find_requester),
                subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
                # Compression would cost each connection memory and time, and mix secrets with text that an attacker chooses.
                compression=None,
                server_header=None,
                ping_interval=PING_INTERVAL_S,
                close_timeout=CLOSING_S,
                max_size=MAX_CLIENT_MESSAGE,
                logger=logging.getLogger("carpet.net.websocket"),
            )
        )
        try:
            yield
        finally:
            # If everything is being cancelled, the library's server is too, and `aclose` would wait for an end that nobody reports.
            if trio.current_effective_deadline() > -math.inf:
                with trio.move_on_after(STOPPING_S, shield=True):
                    async with trio.open_nursery() as closing:
                        closing.start_soon(partial(server.aclose, reason=_STOPS))
                        closing.start_soon(door.aclose)
            door.cut_all()
            nursery.cancel_scope.cancel()


async def _look(overload: Overload, dispatch: DispatchPort) -> None:
    """Watch the load in place of the hub. How late sockets are read is not known here."""
    while True:
        overload.look(worked_s, dispatch.traffic.answered, trio.current_time(), connections=len(dispatch.visits()))
        await trio.sleep(LOAD_LOOK_S)


class _Door:
    """Lets connections in: to the hub if there is one, otherwise to the pages. If a connection at the pages asks for a WebSocket, it goes
    on to the hub, or to the library (whose listener is `others`) if the hub cannot read the request.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        traffic: Traffic,
        listeners: Sequence[trio.abc.Listener[trio.abc.HalfCloseableStream]],
        *,
        hub: Hub | None,
        connect: Callable[..., HubConnection],
        tls: ssl.SSLContext | None,
        origins: Origins,
        site: Site,
        overload: Overload,
    ) -> None:
        self.others = _HandedOver(listeners)
        self._nursery = nursery
        self._traffic = traffic
        self._listeners = listeners
        self._tls = tls
        self._origins = origins
        self._site = site
        self._overload = overload
        self._hub = hub
        self._connect = connect
        self._is_proxy_noted = False
        self._connections: set[HubConnection | PageConnection] = set()
        self._accepting = trio.CancelScope()
        self._empty = trio.Event()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            if self._hub is not None:
                nursery.start_soon(self._hub.run)
            with self._accepting:
                async with trio.open_nursery() as accepting:
                    for listener in self._listeners:
                        accepting.start_soon(self._accept, listener)

    async def _accept(self, listener: trio.abc.Listener[trio.abc.HalfCloseableStream]) -> None:
        refused = 0
        async with listener:
            while True:
                stream = await listener.accept()
                if self.retry_after_s():
                    # Refusing has a cost too.
                    refused += 1
                    if refused % REFUSED_TOGETHER == 0:
                        await trio.sleep(REFUSING_S)
                if isinstance(stream, SocketStream) and stream.ticket.entry is AdmissionOutcome.ADMITTED:
                    self._let_in(stream)
                else:
                    self.hand_over(stream)

    def _let_in(self, stream: SocketStream) -> None:
        if self._hub is None:
            self.hand_over(stream)
            return
        try:
            connection = self._connect(self._hub, stream, door=self)
        except OSError as error:
            logger.warning("a connection could not be accepted: %s", error.strerror)
            stream.cut()
            return
        self._connections.add(connection)
        connection.begin()

    def retry_after_s(self) -> int:
        return math.ceil(self._overload.retry_after_ms(trio.current_time()) / 1000)

    def admits(self, connection: HubConnection, opened: Opening) -> bool:
        if connection.is_by_proxy:
            connection.find_client(opened.headers)
            connection.open_websocket()
        if connection.entry is not AdmissionOutcome.ADMITTED or self._stopping:
            return False
        return not opened.from_page or self._origins.admit(opened.headers)

    @property
    def _stopping(self) -> bool:
        return self._accepting.cancel_called

    def hand_over(self, stream: trio.abc.HalfCloseableStream) -> None:
        self._nursery.start_soon(self._serve_pages, stream)

    async def _serve_pages(self, below: trio.abc.HalfCloseableStream) -> None:
        """Serve pages until the connection ends, or asks for a WebSocket."""
        stream: trio.abc.Stream = below
        connection = None
        is_handed_on = False
        try:
            if self._tls is not None:
                stream = TlsStream(below, self._tls)
                with trio.fail_after(HANDSHAKE_S):
                    await stream.do_handshake()
            connection = PageConnection(stream, below if isinstance(below, SocketStream) else None)
            self._connections.add(connection)
            if self._stopping:
                connection.close()
            asked = await connection.serve(self._answer)
            if asked and not self._stopping:
                self._open_websocket(stream, asked)
                is_handed_on = True
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            pass
        except Exception:
            logger.exception("serving pages to a connection failed; it is cut")
        finally:
            if connection is not None:
                self.ended(connection)
            if not is_handed_on:
                await trio.aclose_forcefully(stream)

    def _open_websocket(self, stream: trio.abc.Stream, asked: bytes) -> None:
        if isinstance(stream, SocketStream | TlsStream):
            stream.received = asked
        head, end, _ = asked.partition(b"\r\n\r\n")
        if isinstance(stream, SocketStream) and self._hub is not None and opening(head + end) is not None:
            self._let_in(stream)
        else:
            self.others.take(stream)

    async def _answer(self, caller: Caller, request: Request) -> Response | None:
        retry_after_ms = self._overload.retry_after_ms(trio.current_time())
        if retry_after_ms and not request.path.startswith(UNTIRING):
            self._traffic.refused_connections["busy"] += 1
            busy = text_response(HTTPStatus.SERVICE_UNAVAILABLE, BUSY_SENTENCE)
            busy.headers["Retry-After"] = str(math.ceil(retry_after_ms / 1000))
            return busy
        caller.find_client(request.headers)
        self._note_proxy(caller, request)
        response = await self._site.answer(caller, request, secure=self._tls is not None)
        if response is None and caller.is_by_proxy:
            caller.open_websocket()
            if caller.entry is not AdmissionOutcome.ADMITTED:
                response = await self._site.answer(caller, request, secure=self._tls is not None)
        if response is None and not self._origins.admit(request.headers):
            return text_response(HTTPStatus.FORBIDDEN, "Pages from elsewhere may not connect here; the host can allow it with --origin.\n")
        return response

    def _note_proxy(self, caller: Caller, request: Request) -> None:
        """Tell the host, once, of a proxy that the server does not know. Only of one nearby: anybody far away can write that header."""
        if self._is_proxy_noted or caller.is_by_proxy or "X-Forwarded-For" not in request.headers or not is_nearby(caller.remote_host):
            return
        self._is_proxy_noted = True
        logger.warning(
            "requests come through a proxy at %s; all its clients count as one, unless the server is started with --trusted-proxy %s",
            *2 * (caller.remote_host,),
        )

    def ended(self, connection: HubConnection | PageConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    async def aclose(self) -> None:
        """Let nobody in any more, tell everybody here, and wait until they have gone."""
        self._accepting.cancel()
        self._empty = trio.Event()
        for connection in list(self._connections):
            if isinstance(connection, PageConnection):
                connection.close()
            else:
                connection.shut(StandardCode.GOING_AWAY, _STOPS)
        if self._connections:
            await self._empty.wait()

    def cut_all(self) -> None:
        """Cut the connections that are still here, without another word."""
        self._accepting.cancel()
        for connection in list(self._connections):
            if isinstance(connection, HubConnection):
                connection.cut()


class _HandedOver(trio.abc.Listener[trio.abc.Stream]):
    """A listener for the library. Its connections have been accepted elsewhere."""

    def __init__(self, listeners: Sequence[trio.abc.Listener[trio.abc.HalfCloseableStream]]) -> None:
        # The library logs the address that it listens on.
        self.socket = cast(Any, listeners[0]).socket
        self._taken, self._waiting = trio.open_memory_channel[trio.abc.Stream](HANDED_OVER)

    def take(self, stream: trio.abc.Stream) -> None:
        try:
            self._taken.send_nowait(stream)
        except (trio.WouldBlock, trio.BrokenResourceError):
            below = stream.below if isinstance(stream, TlsStream) else stream
            if isinstance(below, SocketStream):
                below.cut()

    async def accept(self) -> trio.abc.Stream:
        return await self._waiting.receive()

    async def aclose(self) -> None:
        self._waiting.close()
        await trio.lowlevel.checkpoint()


class AddressUnavailable(Exception):
    """The address is not this machine's, or is in use. The message says where, why, and which option names another."""


class UnusableTlsFiles(Exception):
    """The PEM files cannot be read, are not PEM, or do not belong together. The message says which files and why."""


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """A server's TLS context from PEM files. Raises UnusableTlsFiles."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # On some systems Python leaves the minimum to OpenSSL.
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    for path in (certificate, key):
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise UnusableTlsFiles(f"the TLS file {path} cannot be used: {error.strerror}") from error
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        is_anothers = error.reason == "KEY_VALUES_MISMATCH"
        reason = "the key belongs to another certificate" if is_anothers else "they are no certificate and key in PEM, in this order"
        raise UnusableTlsFiles(f"the TLS files {certificate} and {key} cannot be used: {reason}") from error
    except (OSError, ValueError) as error:
        raise UnusableTlsFiles(f"the TLS files {certificate} and {key} cannot be used: {error}") from error
    return context


def renew(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Use what is in these files now for new connections. If it raises UnusableTlsFiles, the context is as it was."""
    tls_context(certificate, key)
    context.load_cert_chain(certificate, key, password=_no_password)


def _no_password() -> str:
    # Without this, OpenSSL would ask on the terminal for the password of an encrypted key.
    raise ValueError("the key is encrypted")
