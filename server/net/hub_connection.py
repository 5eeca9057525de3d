"""A connection served by the hub: no task of its own, the library's Sans-I/O protocol, and a fast path for the most common input.

Nearly all that a client sends is a small binary message in one frame, or the answer to a ping. These are parsed by hand, and so is the
usual request for a WebSocket. Everything else (fragments, text, close, malformed frames) goes to the library's protocol, which is created
when first needed. It gets whole frames only, so it is always at the start of a frame when a short one comes. Until the handshake is done,
only a usual request is handled here: requests for pages, refusals and anything odd are handed over, with all that was read, to be served
the plain way.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from websockets.frames import CLOSE, Frame
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from protocol.codec import MAX_CLIENT_MESSAGE
from protocol.errors import CloseCode
from server.net.connection import PING_INTERVAL_S, PING_TIMEOUT_S, STALL_S, WATCHER_PING_S, Connection, DispatchPort
from server.net.frames import BINARY_FRAME, PONG_FRAME, SHORT_FRAME, frame_size, opening, short_message, unmasked
from server.net.hub import Door, Hub, Stamp
from server.net.overload import BUSY_RESPONSE, UNTIRING
from server.net.stream import CLOSING_S, HANDSHAKE_S, RoundTripRule, SocketStream, waited_ms
from server.rooms.outgoing import Bundle
from server.runtime.tasks import Tasks

logger = logging.getLogger("carpet.net")
_LIBRARY_LOGGER = logging.getLogger("carpet.net.websocket")

REQUEST_BYTES: Final = 8192
"""The largest request that is read here. A longer one is handed over to the plain way, which knows what to answer."""

EARLY_S: Final = 0.05
"""Seconds by which a ping or its timeout may be early: for less than that, no further timer is set."""


class HubConnection(Connection):
    __slots__ = (
        "_arrived",
        "_closing",
        "_descriptor",
        "_door",
        "_ended",
        "_eof",
        "_hub",
        "_outbox",
        "_partial",
        "_peer_name",
        "_ping",
        "_ping_due",
        "_ping_s",
        "_pinged_at",
        "_protocol",
        "_send",
        "_socket",
        "_stall_watched",
        "_tasks",
        "_ticket",
        "_took_at",
        "is_open",
        "receive",
    )

    is_open: bool

    def __init__(self, hub: Hub, stream: SocketStream, *, dispatch: DispatchPort, round_trip_rule: RoundTripRule, door: Door) -> None:
        super().__init__(dispatch, round_trip_rule)
        self._hub = hub
        self._door = door
        self._peer_name = stream.peer_name
        self._socket, self._ticket, self._partial = stream.detach()  # _partial: the start of a request, later of a frame
        self._descriptor = self._socket.fileno()
        round_trip_rule.stamp(self._socket)
        self.receive, self._send = self._socket.recvmsg, self._socket.send
        self._protocol: ServerProtocol | None = None
        self._outbox: deque[bytes | memoryview] | None = None
        self._took_at = 0.0
        self._stall_watched = self._eof = self._closing = self._arrived = self._ended = False
        self.is_open = False  # True from arrival until either side begins to close. An attribute, since every message sent reads it.
        self._ping: bytes | None = None
        self._pinged_at = self._ping_due = 0.0
        self._ping_s = PING_INTERVAL_S
        # Exists only while there are tasks, since it forms a cycle with this: a connection that is turned away must be freed at once.
        self._tasks: Tasks | None = None
        hub.add(self._descriptor, self)
        hub.after(HANDSHAKE_S, lambda: None if self._arrived else self.cut())

    def begin(self) -> None:
        """Read what had been received before the stream came here."""
        if self._partial:
            self._shake_hands(b"")

    @property
    def protocol(self) -> ServerProtocol:
        if self._protocol is None:
            self._protocol = ServerProtocol(state=OPEN, max_size=MAX_CLIENT_MESSAGE, logger=_LIBRARY_LOGGER)
        return self._protocol

    @property
    def remote_address(self) -> Any:
        return self._peer_name

    def start_soon(self, work: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        if self._tasks is None:
            complaint = "a task of the connection from %s failed; it is cut"
            self._tasks = Tasks(
                self._hub.nursery, self._peer_name, failed=self.cut, ended=self._tasks_ended, logger=logger, complaint=complaint
            )
        self._tasks.start_soon(work, *arguments)

    def _tasks_ended(self) -> None:
        self._tasks = None
        if self._ended:
            self._depart()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self._hub.after(seconds, lambda: None if self._ended else act())

    def serve_watcher(self, *, alone: bool) -> None:
        before, self._ping_s = self._ping_s, WATCHER_PING_S if alone else PING_INTERVAL_S
        if self._ping_s < before:
            self._ping_after(self._ping_s)

    def shut(self, code: CloseCode | int, reason: str) -> None:
        if self._shut or self._ended:
            return
        self._shut = True
        if self.is_open:
            # From now on input is thrown away. An orderly close would go on parsing all that a flood brings.
            self.protocol.fail(code, reason)
            self._flush_protocol()
        self._part()

    # ---- in

    def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
        """Called by the hub with what was received."""
        if self._ended:
            return
        self.waited_ms = waited_ms(stamps, self._hub.tick_ms)
        if not data:
            self.cut()
        elif self._closing:
            # Nothing after a close frame counts.
            return
        elif self._arrived:
            is_whole = not self._partial and (self._protocol is None or self._protocol.current_size is None)
            message = short_message(data) if is_whole else None
            if message is not None:
                # What `_frames` would do, written out.
                self._read_at = now = self._hub.now
                limit = self._limit
                if (not limit.excess and limit.take(now)) or self._allowed():
                    self._message(message, is_text=False)
            else:
                self._frames(self._partial + data if self._partial else data)
        else:
            self._shake_hands(data)

    def _frames(self, data: bytes) -> None:
        """Handle all whole frames in `data`, and keep the rest for later."""
        start, end = 0, len(data)
        while start < end and not self._closing and not self._ended:
            size = frame_size(data, start)
            if size < 0:
                # The protocol will say what is wrong with it, and close.
                self._unusual(data[start:])
                return
            if not 0 < size <= end - start:
                break
            self._frame(data[start : start + size] if size < end else data)
            start += size
        if not self._ended:
            self._partial = data[start:] if start else data

    def _frame(self, frame: bytes) -> None:
        kind = frame[0]
        if kind == BINARY_FRAME and frame[1] < SHORT_FRAME and (self._protocol is None or self._protocol.current_size is None):
            self._read_at = self._hub.now
            if self._allowed():
                self._message(unmasked(frame), is_text=False)
        elif kind == PONG_FRAME and self._ping is not None and unmasked(frame) == self._ping:
            self._ping = None
            self._measured(round((self._clock() - self._pinged_at) * 1000) - self.waited_ms)
        else:
            self._unusual(frame)

    def _unusual(self, data: bytes) -> None:
        protocol = self.protocol
        self._read_at = self._hub.now
        protocol.receive_data(data)
        events = protocol.events_received()
        self._flush_protocol()
        for event in events:
            if isinstance(event, Frame) and event.opcode is not CLOSE and not self._shut:
                self._frame_heard(event)
        if protocol.state is not OPEN:
            self._part()

    # ---- the handshake

    def _shake_hands(self, data: bytes) -> None:
        self._partial += data
        head, found, rest = self._partial.partition(b"\r\n\r\n")
        if not found:
            is_none = b"\n\n" in self._partial or not self._partial.startswith(b"GET "[: len(self._partial)])
            if is_none or len(self._partial) > REQUEST_BYTES:
                self._hand_over()
            return
        if self._door.retry_after_s() and not head[4:].decode("latin-1").startswith(UNTIRING):
            # Written by hand, since the server is overloaded.
            self._shut = True
            self._dispatch.traffic.refused_connections["busy"] += 1
            self._put(BUSY_RESPONSE.format(self._door.retry_after_s()).encode())
            self._end_writing()
            self._part()
            return
        opened = opening(head + found)
        if opened is None or not self._door.admits(self, opened):
            self._hand_over()
            return
        self._partial = b""
        self._arrived = self.is_open = True
        self._send_ping(opened.answer)
        self._arrive(opened.subprotocol)
        if rest:
            self._frames(rest)

    def _hand_over(self) -> None:
        stream = SocketStream(self._socket, self._ticket, received=self._partial, peer=self._peer_name)
        self._hub.remove(self._descriptor)
        self._ended = True
        self._door.hand_over(stream)
        self._door.ended(self)

    # ---- pings

    def _kernel_ms(self) -> int | None:
        return self._round_trip_rule.kernel_ms(self._socket)

    def _send_ping(self, behind: bytes = b"") -> None:
        self._ping = os.urandom(4)
        self._pinged_at = self._clock()
        self._put(behind + b"\x89\x04" + self._ping)
        self._ping_after(self._ping_s)

    def _ping_after(self, seconds: float) -> None:
        self._ping_due = self._hub.after(seconds, self._ping_again)

    def _ping_again(self) -> None:
        now = self._clock()
        if self._shut or not self.is_open or now < self._ping_due:
            return
        if self._ping is None:
            # A peer that has just said something is there, and is pinged half as often, only to measure the round trip.
            early_s = min(self._read_at, self._pinged_at + PING_INTERVAL_S) + PING_INTERVAL_S - now
            if early_s > EARLY_S:
                self._ping_after(early_s)
            else:
                self._send_ping()
        elif self._outbox is not None:
            # The ping may still be waiting to be sent. A peer that does not read gets STALL_S.
            self._ping_after(self._ping_s)
        elif (left_s := self._pinged_at + PING_TIMEOUT_S - now) > EARLY_S:
            self._ping_after(min(self._ping_s, left_s))
        else:
            # A peer that does not answer pings would not answer a close frame either.
            self.cut()

    # ---- out

    def post_all(self, bundle: Bundle) -> None:
        # For nearly all of a crowd the frames exist already and nothing waits. Three method calls to find that out cost a tenth of sending.
        frames = bundle.frames.get(self._encoding)
        if frames is None or self._outbox is not None or self._missed or not self.is_open:
            super().post_all(bundle)
            return
        try:
            sent = self._send(frames)
        except OSError:
            sent = 0
        if sent < len(frames):
            # `_put` tries once more, and queues what is left.
            self._put(memoryview(frames)[sent:])

    def _put(self, frames: bytes | memoryview) -> None:
        if self._outbox is not None:
            self._outbox.append(frames)
            self.waiting_bytes += len(frames)
            return
        try:
            sent = self._send(frames)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            # The next read fails in the same way, and ends the connection.
            return
        if sent < len(frames):
            rest = memoryview(frames)[sent:]
            self._outbox = deque([rest])
            self.waiting_bytes = len(rest)
            self._took_at = self._clock()
            self._hub.watch_writes(self._descriptor, True)
            if not self._stall_watched:
                self._stall_watched = True
                self._hub.after(STALL_S, self._check_stall)

    def writable(self) -> None:
        """Called by the hub when the socket takes more."""
        outbox = self._outbox
        while outbox:
            frames = outbox[0]
            try:
                sent = self._send(frames)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.cut()
                return
            self.waiting_bytes -= sent
            if sent < len(frames):
                outbox[0] = memoryview(frames)[sent:]
                return
            outbox.popleft()
            self._took_at = self._clock()
        self._outbox = None
        self._pinged_at = max(self._pinged_at, self._clock() - PING_TIMEOUT_S / 2)
        self._hub.watch_writes(self._descriptor, False)
        if self._eof:
            self._end_writing()
        elif self._missed:
            self._missed = False
            self._dispatch.resynchronise(self)

    def _check_stall(self) -> None:
        self._stall_watched = False
        if self._outbox is None or self._shut or self._ended:
            return
        if (left := self._took_at + STALL_S - self._clock()) > 0:
            self._stall_watched = True
            self._hub.after(left, self._check_stall)
        else:
            logger.info("%s is not reading; closing the connection", self._peer_name)
            self.shut(CloseCode.TOO_SLOW, "messages were not read")

    def _flush_protocol(self) -> None:
        for data in self.protocol.data_to_send():
            outbox = self._outbox
            if data and outbox is not None and len(outbox) > 1 and outbox[-1][0] == data[0] == PONG_FRAME:
                # Only the last ping need be answered. To peers that ping and do not read, no end of pongs would be waiting.
                self.waiting_bytes -= len(outbox.pop())
            if data:
                self._put(data)
            else:
                self._eof = True
                if self._outbox is None:
                    self._end_writing()

    def _end_writing(self) -> None:
        # If the peer has gone already, reading will show it.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    # ---- the end

    def _part(self) -> None:
        """Goodbye has been said, or could not be: give the peer a moment to end its side."""
        if not self._closing:
            self._closing, self.is_open = True, False
            self._hub.after(CLOSING_S, self.cut)

    def cut(self) -> None:
        """End the connection now. Does nothing the second time."""
        if self._ended:
            return
        self._ended, self.is_open = True, False
        self._hub.remove(self._descriptor)
        self._socket.close()
        self._ticket.hand_back()
        if self._protocol is not None:
            self._protocol.receive_eof()
            self._protocol.parser_exc = None  # Its traceback refers to the protocol: a cycle.
        self._outbox = None
        self._partial = b""  # A timer may keep the connection for seconds.
        self.waiting_bytes = 0
        if self._tasks is None:
            self._depart()
        else:
            self._tasks.cancel()

    def _depart(self) -> None:
        try:
            if self._arrived:
                self._dispatch.gone(self)
        except Exception:
            logger.exception("the end of the connection from %s could not be handled", self._peer_name)
        self._door.ended(self)
