"""One WebSocket connection: bytes in to messages, messages out to bytes, with no task of its own for either.

The library keeps the handshake, the closing and the pings. What is ours: a whole message is handed to the dispatch from
`process_event`, inside the task that reads; and `post` sends without waiting. What a socket will not take now stays in the protocol's
own queue of writes, and a task that exists only as long as there is something in it drains that.

When a peer does not read: OUTBOX_BYTES may wait for it. Past that, messages are dropped until the queue is empty, and then the peer is
told everything anew (`resynchronise`). When nothing of what waits is taken for STALL_S, the connection is closed with 4008.

A task of a connection that fails would take the whole server with it: the library owns its nursery. So each of ours has a supervisor.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Protocol

import trio
from websockets.exceptions import ConnectionClosed
from websockets.frames import BINARY, CLOSE, CONT, DATA_OPCODES, PONG, TEXT, Frame
from websockets.protocol import CLOSED, CONNECTING, OPEN, Event
from websockets.server import ServerProtocol
from websockets.trio.server import Server, ServerConnection

from protocol.client_messages import ClientMessage
from protocol.codec import SUBPROTOCOLS, Decoder, client_message_decoder, reference
from protocol.errors import CloseCode, ErrorCode, Refusal
from server.net.connection_limits import Entry
from server.net.limits import RateLimit, Verdict
from server.net.stream import SocketStream
from server.race.timing import RoundTrips
from server.rooms.outgoing import Bundle, Outgoing, refused

logger = logging.getLogger("carpet.net")

OUTBOX_BYTES = 64 * 1024
"""Bytes that may wait for one socket, beside one message or bundle of any size. When there are more the peer misses messages and is
resynchronised once it has read what waited."""

STALL_S = 20.0
"""Seconds that a peer may take for one more message of those that wait; then it is asleep for good."""

BAD_MESSAGES = 20
"""Messages that could not be understood, in one connection, before it is closed: a program that sends them has a bug or a purpose."""

WATCHER_PING_S = 20.0
"""Seconds between two pings to who only watches: no move of his is timed, and a crowd's pings cost more than what it is told."""

CLOSING_S = 2.0
"""Seconds that a peer which is being shut has to answer the close frame."""

_DECODERS: dict[str, Decoder[ClientMessage]] = {name: client_message_decoder(name) for name in SUBPROTOCOLS}


class Dispatch(Protocol):
    """What a connection does with what it hears. None of it blocks."""

    rate: float
    burst: int

    def heard(self, connection: PeerConnection, message: ClientMessage) -> None:
        """A message has come. Raises Refusal to have it answered with an error."""

    def resynchronise(self, connection: PeerConnection) -> None:
        """Messages to this peer were dropped: tell it everything anew."""


class PeerConnection(ServerConnection):
    """The server's end of one connection. Satisfies `server.spectate.watcher.WatchingLine`."""

    def __init__(
        self,
        nursery: trio.Nursery,
        stream: trio.abc.Stream,
        protocol: ServerProtocol,
        server: Server,
        *,
        dispatch: Dispatch,
        **options: Any,
    ) -> None:
        # The base class starts to read in its constructor, so what reading needs comes first.
        self._dispatch = dispatch
        self._raw = stream if isinstance(stream, SocketStream) else None
        self._limit = RateLimit(rate=dispatch.rate, burst=dispatch.burst)
        # Heard before the handler has begun: at most as much as the limit passes.
        self._early: list[tuple[bytes, bool]] | None = []
        self._data = bytearray()
        self._text = False
        self._whole = True
        self._bad_messages = 0
        self._round_trips = RoundTrips()
        self._waiting_bytes = 0
        self._draining = False
        self._missed = False
        self._shut = False
        super().__init__(nursery, stream, protocol, server, **options)
        self._player_ping_s = self.ping_interval

    # ---- in

    @property
    def remote_address(self) -> Any:
        stream = self._socket_stream
        return stream.peer_name if stream is not None else None

    @property
    def entry(self) -> Entry:
        """Whether it may come in at all."""
        stream = self._socket_stream
        return stream.ticket.entry if stream is not None and stream.ticket is not None else Entry.ADMITTED

    @property
    def _socket_stream(self) -> SocketStream | None:
        stream = self.stream.transport_stream if isinstance(self.stream, trio.SSLStream) else self.stream
        return stream if isinstance(stream, SocketStream) else None

    @property
    def remote_host(self) -> str:
        """The numeric address of the peer without its port; empty where the line has none."""
        address = self.remote_address
        return str(address[0]) if address else ""

    @property
    def round_trip_ms(self) -> int | None:
        """The smallest of the last measured round trips."""
        return self._round_trips.best

    def listen(self) -> None:
        """From now on the dispatch hears what the peer says, and at once what it has said already."""
        early = deque(self._early or ())
        self._early = None
        while early and not self._shut:
            if not self._hears:
                # What was said last has to be dealt with before the next.
                self._early = list(early)
                return
            data, is_text = early.popleft()
            self._hear(data, is_text=is_text)

    @property
    def _hears(self) -> bool:
        return self._early is None

    def hold(self) -> None:
        """Until `listen` the dispatch hears nothing more: what the peer says waits, as much of it as the rate lets through."""
        self._early = []

    def process_event(self, event: Event) -> None:
        if not isinstance(event, Frame):
            super().process_event(event)
        elif self._shut or event.opcode is CLOSE or (event.opcode is PONG and self._measured(event)):
            return
        else:
            # Every frame counts, an empty fragment and a ping too: they cost the server as much as a message does.
            allowed = self._allowed()
            if event.opcode in DATA_OPCODES:
                self._collect(event, allowed=allowed)

    def _measured(self, pong: Frame) -> bool:
        waiting = len(self.pending_pings)
        super().process_event(pong)
        if len(self.pending_pings) == waiting:
            return False
        self._round_trips.add(round(self.latency * 1000))
        if self.ping_interval is not None:
            # The library would wait for the difference before its next ping, and fail on one below nothing.
            self.latency = min(self.latency, self.ping_interval)
        return True

    def _allowed(self) -> bool:
        match self._limit.judge(trio.current_time()):
            case Verdict.PASS:
                return True
            case Verdict.TELL:
                self.refuse(Refusal(ErrorCode.TOO_FAST, f"at most {self._dispatch.rate:g} a second"), 0)
            case Verdict.CLOSE:
                self.shut(CloseCode.FLOOD, "too many messages")
            case Verdict.DROP:
                pass
        return False

    def _collect(self, frame: Frame, *, allowed: bool) -> None:
        # The protocol has checked the order and the summed size of fragments already.
        if frame.opcode is not CONT:
            self._text = frame.opcode is TEXT
        self._data += frame.data
        self._whole = self._whole and allowed
        if not frame.fin:
            return
        data, whole = bytes(self._data), self._whole
        self._data.clear()
        self._whole = True
        if not whole:
            return
        if self._early is not None:
            self._early.append((data, self._text))
        else:
            self._hear(data, is_text=self._text)

    def _hear(self, data: bytes, *, is_text: bool) -> None:
        assert self.subprotocol is not None
        decoder = _DECODERS[self.subprotocol]
        try:
            if is_text is decoder.binary:
                raise Refusal(ErrorCode.BAD_FRAME, "carpet.v1.msgpack goes in binary frames, carpet.v1.json in text frames")
            message = decoder.decode(data)
        except Refusal as refusal:
            self._bad_messages += 1
            self.refuse(refusal, reference(data, self.subprotocol))
            if self._bad_messages >= BAD_MESSAGES:
                self.shut(CloseCode.TOO_MANY_ERRORS, "too many messages that could not be understood")
            return
        try:
            self._dispatch.heard(self, message)
        except Refusal as refusal:
            self.refuse(refusal, message.ref)
        except Exception:
            logger.exception("%s of %s could not be served", type(message).__name__, self.remote_address)
            self.refuse(Refusal(ErrorCode.INTERNAL), message.ref)

    def refuse(self, refusal: Refusal, ref: int) -> None:
        """Answer with an error."""
        self.post(refused(refusal, ref))

    # ---- out

    def post(self, outgoing: Outgoing) -> None:
        """Send, some time; never blocks, never raises."""
        if self._takes():
            self._put(self._frame(outgoing))

    def post_all(self, bundle: Bundle) -> None:
        """The same with several messages, in one call of the kernel: for a small message that call is nearly all that sending costs."""
        if not self._takes():
            return
        assert self.subprotocol is not None
        frames = bundle.frames.get(self.subprotocol)
        if frames is None:
            frames = bundle.frames[self.subprotocol] = b"".join(self._frame(outgoing) for outgoing in bundle.messages)
        self._put(frames)

    def _takes(self) -> bool:
        if self.protocol.state is not OPEN or self._missed:
            return False
        self._missed = self._waiting_bytes > OUTBOX_BYTES
        return not self._missed

    def _put(self, frame: bytes) -> None:
        self.protocol.writes.append(frame)
        self._waiting_bytes += len(frame)
        self._flush()

    def _flush(self) -> None:
        """Give the kernel what it takes at once, and leave the rest to a task. Frames of the library's and ours keep their order."""
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
            self._waiting_bytes = 0

    async def send_data(self) -> None:
        # Reading and pinging must not wait for a peer that does not read. Handshakes may: their owners have a deadline.
        if self.protocol.state is OPEN:
            self._flush()
            await trio.lowlevel.checkpoint()
            return
        if self.protocol.state is CLOSED and self._has_shaken_hands:
            # The peer has gone, and the library believes that nothing but the end is left to be sent.
            self._forget_unsent()
        await super().send_data()

    @property
    def _has_shaken_hands(self) -> bool:
        return self.response is not None and self.response.status_code == HTTPStatus.SWITCHING_PROTOCOLS

    def _forget_unsent(self) -> None:
        """Nobody will read what waits. (What is empty stands for the end of the stream.)"""
        self.protocol.writes[:] = [data for data in self.protocol.writes if not data]
        self._waiting_bytes = 0

    def _frame(self, outgoing: Outgoing) -> bytes:
        subprotocol = self.subprotocol
        assert subprotocol is not None
        frame = outgoing.frames.get(subprotocol)
        if frame is None:
            # Frames from a server are not masked, so one serves everybody of the same encoding.
            opcode = BINARY if _DECODERS[subprotocol].binary else TEXT
            frame = Frame(opcode, outgoing.payload(subprotocol)).serialize(mask=False)
            outgoing.frames[subprotocol] = frame
        return frame

    async def _drain(self) -> None:
        try:
            with trio.move_on_after(STALL_S) as stalled:
                while self.protocol.writes:
                    if self.protocol.state is not OPEN:
                        await super().send_data()
                        continue
                    # Frame by frame, where the library takes all there is: so it is known at any time how much waits.
                    async with self.send_lock:
                        while self.protocol.writes and self.protocol.state is OPEN:
                            frame = self.protocol.writes.pop(0)
                            await self.stream.send_all(frame)
                            self._waiting_bytes = max(self._waiting_bytes - len(frame), 0)
                            stalled.deadline = trio.current_time() + STALL_S
            # Nothing may be awaited since there was nothing left, or what came meanwhile would be left lying.
            self._draining = False
            self._waiting_bytes = 0
            if stalled.cancelled_caught:
                logger.info("%s does not read: closed", self.remote_address)
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

    def shut(self, code: CloseCode, reason: str) -> None:
        """Close the connection, some time soon; what it still sends is not heard. Never blocks."""
        if self._shut:
            return
        self._shut = True
        if self.protocol.state in (CONNECTING, OPEN):
            # What comes in is thrown away from now on. An orderly close would go on taking apart all that a flood brings.
            self.protocol.fail(code, reason)
        self.nursery.start_soon(self._part)

    async def _part(self) -> None:
        # A peer that does not read cannot be told either; then the line is cut.
        with trio.move_on_after(CLOSING_S):
            try:
                await self.send_data()
                await self.wait_closed()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            except Exception:
                logger.exception("closing the line to %s failed", self.remote_address)
        await trio.aclose_forcefully(self.stream)

    def serve_watcher(self, *, alone: bool) -> None:
        """Whether this line only watches: then it is pinged to see that somebody is there, and no more often."""
        if self._player_ping_s is not None:
            self.ping_interval = WATCHER_PING_S if alone else self._player_ping_s

    async def measure(self) -> None:
        """Send one ping now; its answer is the first measured round trip."""
        with suppress(ConnectionClosed):
            await self.ping()
