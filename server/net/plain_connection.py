"""A connection of the library's own kind, with a task that reads: used over TLS, without epoll, and to compare the hub with.

The library does the handshake, the closing and the pings. `post` gives the kernel what it takes at once. The rest stays in the protocol's
own queue of writes, drained by a task that exists only while the queue holds something.

The library owns the nursery, so a connection's task that fails would take the whole server down. So each of our tasks has a supervisor.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import trio
from websockets.exceptions import ConnectionClosed
from websockets.frames import CLOSE, PONG, Frame
from websockets.http11 import Request
from websockets.protocol import CLOSED, CONNECTING, OPEN, Event
from websockets.server import ServerProtocol
from websockets.trio.server import Server, ServerConnection

from protocol.errors import CloseCode
from server.net.connection import PING_TIMEOUT_S, STALL_S, WATCHER_PING_S, Connection, DispatchPort
from server.net.connection_limits import Ticket
from server.net.frames import PONG_FRAME
from server.net.stream import CLOSING_S, RoundTripRule, SocketStream, TlsStream

logger = logging.getLogger("carpet.net")

_PONG = bytes((PONG_FRAME,))


class PlainConnection(Connection, ServerConnection):
    """`attend` is the handler that the library calls for it."""

    protocol: ServerProtocol

    def __init__(
        self,
        nursery: trio.Nursery,
        stream: trio.abc.Stream,
        protocol: ServerProtocol,
        server: Server,
        *,
        dispatch: DispatchPort,
        round_trip_rule: RoundTripRule,
        **options: Any,
    ) -> None:
        # The library's base class starts reading in its constructor, so what reading needs comes first.
        Connection.__init__(self, dispatch, round_trip_rule)
        socket_stream = stream.below if isinstance(stream, TlsStream) else stream
        self._socket_stream = socket_stream if isinstance(socket_stream, SocketStream) else None
        self._ticket = self._socket_stream.ticket if self._socket_stream is not None else Ticket()
        self._raw = stream if isinstance(stream, SocketStream) else None
        self._draining = False
        self._tasks: trio.Nursery
        ServerConnection.__init__(self, nursery, stream, protocol, server, **options)
        self._player_ping_s = self.ping_interval

    async def attend(self) -> None:
        """Stay from the handshake to the end."""
        try:
            async with trio.open_nursery() as self._tasks:
                assert self.protocol.subprotocol is not None
                self._arrive(self.protocol.subprotocol)
                with suppress(ConnectionClosed):
                    # The answer measures the first round trip.
                    await self.ping()
                await self.wait_closed()
                self._tasks.cancel_scope.cancel()
        finally:
            self._dispatch.gone(self)

    def find_requester(self, request: Request) -> None:
        """The library calls this before the handshake, whose request has been checked elsewhere."""
        self.find_client(request.headers)

    def start_soon(self, work: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        self._tasks.start_soon(work, *arguments)

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        async def later() -> None:
            await trio.sleep(seconds)
            act()

        self._tasks.start_soon(later)

    @property
    def is_open(self) -> bool:
        return self.protocol.state is OPEN

    @property
    def remote_address(self) -> Any:
        stream = self._socket_stream
        return stream.peer_name if stream is not None else None

    # ---- in

    def process_event(self, event: Event) -> None:
        if not isinstance(event, Frame):
            super().process_event(event)
        elif not (self._shut or event.opcode is CLOSE or (event.opcode is PONG and self._answers_ping(event))):
            self._read_at = trio.current_time()
            self._frame_heard(event)

    def _answers_ping(self, pong: Frame) -> bool:
        waiting = len(self.pending_pings)
        super().process_event(pong)
        if len(self.pending_pings) == waiting:
            return False
        self._measured(round(self.latency * 1000))
        return True

    async def keepalive(self) -> None:
        # Replaces the library's, which would end a connection whose ping still waits behind what the peer has not read.
        assert self.ping_interval is not None
        with suppress(ConnectionClosed):
            while not self.stream_closed.is_set():
                with trio.move_on_after(self.ping_interval):
                    await self.stream_closed.wait()
                    return
                answered = await self.ping(ack_on_close=True)
                while not answered.is_set():
                    read_all = not self.waiting_bytes
                    with trio.move_on_after(PING_TIMEOUT_S) as late:
                        await answered.wait()
                    if late.cancelled_caught and read_all:
                        # A peer that does not answer pings would not answer a close frame either.
                        await trio.aclose_forcefully(self.stream)
                        return

    def _kernel_ms(self) -> int | None:
        stream = self._socket_stream
        return stream.kernel_round_trip(self._round_trip_rule.kernel_ms) if stream is not None else None

    def serve_watcher(self, *, alone: bool) -> None:
        if self._player_ping_s is not None:
            self.ping_interval = WATCHER_PING_S if alone else self._player_ping_s

    # ---- out

    def _put(self, frames: bytes) -> None:
        self.protocol.writes.append(frames)
        self.waiting_bytes += len(frames)
        self._flush()

    def _flush(self) -> None:
        """Give the kernel what it takes at once, and leave the rest to a task. The library's frames and ours keep their order."""
        writes = self.protocol.writes
        if self._draining:
            return
        if self._raw is not None and not self.send_lock.locked():
            try:
                while writes:
                    sent = self._raw.try_send(writes[0])
                    if sent < len(writes[0]):
                        writes[0] = writes[0][sent:]
                        break
                    del writes[0]
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                # The reading task sees the same and ends the connection.
                self._forget_unsent()
                return
        if writes:
            self._draining = True
            self.nursery.start_soon(self._drain)
        else:
            self.waiting_bytes = 0

    async def send_data(self) -> None:
        # Reading and pinging must not wait for a peer that does not read. Handshakes may, since they have a deadline.
        if self.protocol.state is OPEN:
            writes = self.protocol.writes
            # Only the last ping need be answered. To peers that ping and do not read, no end of pongs would be waiting.
            while len(writes) > 2 and writes[-2][:1] == writes[-1][:1] == _PONG:
                del writes[-2]
            self._flush()
            await trio.lowlevel.checkpoint()
            return
        if self.protocol.state is CLOSED and self._has_shaken_hands:
            # The peer has gone, and the library assumes that only the end of the stream is left to send.
            self._forget_unsent()
        await super().send_data()

    @property
    def _has_shaken_hands(self) -> bool:
        return self.response is not None and self.response.status_code == HTTPStatus.SWITCHING_PROTOCOLS

    def _forget_unsent(self) -> None:
        """Drop what waits, since nobody will read it. An empty entry stays: it stands for the end of the stream."""
        self.protocol.writes[:] = [data for data in self.protocol.writes if not data]
        self.waiting_bytes = 0

    async def _drain(self) -> None:
        try:
            with trio.move_on_after(STALL_S) as stalled:
                while self.protocol.writes:
                    if self.protocol.state is not OPEN:
                        await super().send_data()
                        continue
                    # Frame by frame, unlike the library, which sends all at once: so `waiting_bytes` is always right.
                    async with self.send_lock:
                        while self.protocol.writes and self.protocol.state is OPEN:
                            frame = self.protocol.writes.pop(0)
                            await self.stream.send_all(frame)
                            self.waiting_bytes = max(self.waiting_bytes - len(frame), 0)
                            stalled.deadline = trio.current_time() + STALL_S
            # No await between finding the queue empty and this line, or a frame added meanwhile would stay in the queue.
            self._draining = False
            self.waiting_bytes = 0
            if stalled.cancelled_caught:
                logger.info("%s is not reading; closing the connection", self.remote_address)
                self.shut(CloseCode.TOO_SLOW, "messages were not read")
            elif self._missed:
                self._missed = False
                self._dispatch.resynchronise(self)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The reading task sees the same and ends the connection.
            self._forget_unsent()
            self._draining = False
        except Exception:
            logger.exception("sending to %s failed", self.remote_address)
            await trio.aclose_forcefully(self.stream)

    def shut(self, code: CloseCode | int, reason: str) -> None:
        if self._shut:
            return
        self._shut = True
        if self.protocol.state in (CONNECTING, OPEN):
            # From now on input is thrown away. An orderly close would go on parsing all that a flood brings.
            self.protocol.fail(code, reason)
        self.nursery.start_soon(self._part)

    async def _part(self) -> None:
        # A peer that does not read cannot be told either; then the connection is cut.
        with trio.move_on_after(CLOSING_S):
            try:
                await self.send_data()
                await self.wait_closed()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            except Exception:
                logger.exception("closing the connection to %s failed", self.remote_address)
        await trio.aclose_forcefully(self.stream)
