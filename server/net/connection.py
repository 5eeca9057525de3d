"""One WebSocket connection as the dispatch sees it, and what its two kinds share: turning frames into messages and messages into frames.

A connection of the hub has no task of its own; a plain one (`plain_connection`) is the library's, with a task that reads. Both call the
dispatch with a whole message directly after reading it, and neither waits in `post`.

A peer that does not read: up to OUTBOX_BYTES wait for it. Beyond that, messages are dropped until the queue is empty; then the peer is told
everything again (`resynchronise`). If it takes nothing of what waits for STALL_S, the connection is closed with 4008.
"""

from __future__ import annotations

import itertools
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Sequence, Sized
from typing import Any, Final, Protocol

import trio
from websockets.datastructures import Headers
from websockets.frames import CONT, DATA_OPCODES, TEXT, Frame
from websockets.frames import CloseCode as StandardCode

from protocol.client_messages import PRICES, ClientMessage, Move
from protocol.codec import ENCODINGS, SUBPROTOCOLS, Decoder, client_message_decoder, reference
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import PlayerView
from protocol.server_messages import CurrentView, Error, ServerMessage
from server.net.connection_limits import AdmissionOutcome, Ticket, named_by_proxies
from server.net.frames import framed, is_utf8
from server.net.limits import RateDecision, RateLimit
from server.net.stream import RoundTripRule
from server.net.traffic import Traffic
from server.race.timing import RoundTrips
from server.rooms.outgoing import Bundle, Outgoing, refused
from server.runtime import log_lines

logger = logging.getLogger("carpet.net")

_NUMBERS = itertools.count(1)

OUTBOX_BYTES: Final = 64 * 1024
"""Bytes that may wait for one socket, plus one message or bundle of any size. Beyond that, the peer misses messages, and is resynchronised
once it has read what waited."""

LARGE_BYTES: Final = 16 * 1024
"""A larger message to a peer counts against the peer's rate, once per so many bytes: a few small requests can ask for much."""

STALL_S: Final = 20.0
"""Seconds that a peer may take to read the next of the waiting messages. After that it is taken to be asleep for good."""

BAD_MESSAGES: Final = 20
"""Unreadable messages on one connection before it is closed: a program that sends so many has a bug or is hostile."""

PING_INTERVAL_S: Final = 4.0
"""Seconds between two pings. Each also measures the round trip, so they are more frequent than keep-alive needs. A connection of the hub
that says something meanwhile is pinged once it has been silent for this long, and after twice as long at the latest."""

PING_TIMEOUT_S: Final = 6.0
"""Seconds that a peer has to answer a ping. With the interval before it and the time to close, a player hears within 12 s that their
opponent has vanished."""

WATCHER_PING_S: Final = 20.0
"""Seconds between two pings to a connection that only watches: it makes no moves to be timed, and a crowd's pings cost more than its news.
"""

_ANSWERS: Final = frozenset((PlayerView, CurrentView, Error))
"""Messages that may answer a move."""

_DECODERS: dict[str, Decoder[ClientMessage]] = {name: client_message_decoder(name) for name in SUBPROTOCOLS}


class DispatchPort(Protocol):
    """What a connection needs of the dispatch. No method blocks."""

    rate: float
    burst: int
    traffic: Traffic

    def visits(self) -> Sized:
        """One entry for each connection that has arrived and not gone."""

    def arrived(self, connection: Connection) -> None:
        """The handshake is done. What the peer says is held back until the dispatch calls `listen`."""

    def heard(self, connection: Connection, message: ClientMessage) -> None:
        """A message has come. Raises Refusal to have it answered with an error."""

    def resynchronise(self, connection: Connection) -> None:
        """Messages to this peer were dropped: tell it everything again."""

    def gone(self, connection: Connection) -> None:
        """The connection has ended, and so have its tasks. Called once for each connection that has arrived."""


class Caller(ABC):
    """The peer of a connection: where it comes from, and whether it may come in."""

    __slots__ = ("_client_host", "_ticket")

    _ticket: Ticket

    def __init__(self) -> None:
        self._client_host = ""

    @property
    @abstractmethod
    def remote_address(self) -> Any:
        """The peer's address and port, also after the end; None if it has none."""

    @property
    def remote_host(self) -> str:
        """The client's numeric address without a port; a trusted proxy may have named it. Empty if there is none."""
        if self._client_host:
            return self._client_host
        address = self.remote_address
        return str(address[0]) if address else ""

    @property
    def entry(self) -> AdmissionOutcome:
        """Whether the peer may come in at all."""
        return self._ticket.entry

    @property
    def is_by_proxy(self) -> bool:
        """Whether it comes through a trusted proxy, which says for whom."""
        return self._ticket.by_proxy

    def find_client(self, headers: Headers) -> None:
        """If it comes through a trusted proxy, count it for the client address that its request names."""
        if self._ticket.by_proxy:
            named = named_by_proxies(headers.get_all("X-Forwarded-For"), headers.get_all("Forwarded"))
            self._client_host = self._ticket.name_client(str(self.remote_address[0]), named)

    def open_websocket(self) -> None:
        """If it comes through a trusted proxy, judge how fast its client opens WebSockets: see `entry`."""
        self._ticket.open_websocket(self.remote_host)


class Connection(Caller):
    """The server's end of one connection. Satisfies `server.spectate.spectator.SpectatorConnection`."""

    __slots__ = (
        "_bad_messages",
        "_clock",
        "_data",
        "_dispatch",
        "_early",
        "_encoding",
        "_kernel_least_ms",
        "_limit",
        "_missed",
        "_move_read_at",
        "_read_at",
        "_round_trip_rule",
        "_round_trips",
        "_shut",
        "_text",
        "_whole",
        "number",
        "round_trip_ms",
        "waited_ms",
        "waiting_bytes",
    )

    def __init__(self, dispatch: DispatchPort, round_trip_rule: RoundTripRule) -> None:
        super().__init__()
        self._dispatch = dispatch
        # Called directly, since it is read for every move.
        self._clock = trio.lowlevel.current_clock().current_time
        self._round_trip_rule = round_trip_rule
        self._limit = RateLimit(rate=dispatch.rate, burst=dispatch.burst)
        # Messages heard before the dispatch listens, at most a burst; None while it listens.
        self._early: list[tuple[bytes, bool]] | None = []
        self._data: bytearray | None = None
        self._text = False
        self._whole = True
        self._bad_messages = 0
        self._round_trips = RoundTrips()
        self._kernel_least_ms: int | None = None
        self.round_trip_ms: int | None = None
        """The smallest of the last round trips, as far as they are believed."""
        self._missed = False
        self._encoding = ""
        # When the message that is being heard was read.
        self._read_at = 0.0
        self.waited_ms = 0
        """How long that message had lain in the kernel before it was read, as far as that is known."""
        # When the first of the moves that wait for an answer was read; None while none waits.
        self._move_read_at: float | None = None
        self._shut = False
        self.number = str(next(_NUMBERS))
        """The number of this connection in the log."""
        self.waiting_bytes = 0

    # ---- what each kind does in its own way

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """The handshake is done, and neither side has begun to close."""

    @abstractmethod
    def shut(self, code: CloseCode | int, reason: str) -> None:
        """Start to close the connection; what the peer still sends is not heard. Never blocks."""

    @abstractmethod
    def start_soon(self, work: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        """Start a task that lives no longer than the connection. If it fails, it ends the connection."""

    @abstractmethod
    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Call `act` later, unless the connection has ended by then."""

    @abstractmethod
    def serve_watcher(self, *, alone: bool) -> None:
        """alone: this connection only watches. Then it is pinged only as often as needed to see that somebody is there."""

    @abstractmethod
    def _put(self, frames: bytes) -> None:
        """Send whole frames. What the kernel does not take at once waits, and is counted in `waiting_bytes`."""

    # ---- in

    def _measured(self, ping_ms: int) -> None:
        """A ping was answered."""
        # The kernel knows the round trip to a proxy, but not beyond it.
        kernel_ms = self._kernel_ms() if not self.is_by_proxy else None
        if kernel_ms is not None:
            # The kernel's figure is the smallest of the last five minutes. A client that for so long reads late, two messages at a time,
            # makes its kernel acknowledge both 40 ms late, and ours takes that for the round trip. So keep the smallest of all.
            least_ms = self._kernel_least_ms
            kernel_ms = self._kernel_least_ms = kernel_ms if least_ms is None else min(kernel_ms, least_ms)
        self._round_trips.add(self._round_trip_rule.worth(ping_ms, kernel_ms))
        self.round_trip_ms = self._round_trips.best

    @abstractmethod
    def _kernel_ms(self) -> int | None:
        """The round trip to the other end of the socket, as the kernel measures it."""

    def listen(self) -> None:
        """Let the dispatch hear what the peer says, starting with what it has said already."""
        early = deque(self._early or ())
        self._early = None
        while early and not self._shut:
            if not self._hears:
                # The last message has made the dispatch hold the connection: the rest waits.
                self._early = list(early)
                return
            data, is_text = early.popleft()
            self._message(data, is_text=is_text)

    @property
    def _hears(self) -> bool:
        return self._early is None

    def hold(self) -> None:
        """Let the dispatch hear nothing until `listen`. What the peer says waits, up to a burst of messages."""
        if self._early is None:
            self._early = []

    def _arrive(self, subprotocol: str) -> None:
        """The handshake is done."""
        self._encoding = subprotocol
        self._dispatch.arrived(self)

    def _frame_heard(self, frame: Frame) -> None:
        # Every frame counts, even an empty fragment or a ping: each costs the server as much as a message.
        allowed = self._allowed()
        if frame.opcode in DATA_OPCODES:
            self._collect(frame, allowed=allowed)

    def _allowed(self, price: int = 1, ref: int = 0) -> bool:
        decision = self._limit.judge(self._read_at, price)
        if decision is RateDecision.PASS:
            return True
        self._dispatch.traffic.dropped["rate" if price == 1 else "price"] += 1
        if decision is RateDecision.TELL:
            self.refuse(Refusal(ErrorCode.TOO_FAST, f"at most {self._dispatch.rate:g} a second"), ref)
        elif decision is RateDecision.CLOSE:
            self.shut(CloseCode.FLOOD, "too many messages")
        return False

    def _collect(self, frame: Frame, *, allowed: bool) -> None:
        # The protocol has already checked the order of fragments and their total size.
        if frame.opcode is not CONT:
            self._text = frame.opcode is TEXT
        whole = self._whole and allowed
        if not frame.fin:
            self._whole = whole
            self._data = (self._data or bytearray()) + frame.data
            return
        data = bytes(frame.data) if self._data is None else bytes(self._data + frame.data)
        self._data = None
        self._whole = True
        if whole and self._text and not is_utf8(data):
            self.shut(StandardCode.INVALID_DATA, "a text frame holds UTF-8")
        elif whole:
            self._message(data, is_text=self._text)

    def _message(self, data: bytes, *, is_text: bool) -> None:
        """Hear a whole message that the rate limit has passed."""
        if self._early is not None:
            if len(self._early) < self._dispatch.burst:
                self._early.append((data, is_text))
            else:
                # It may have to be held for as long as the database does not answer.
                self.shut(CloseCode.FLOOD, "too many messages before an answer")
            return
        decoder = _DECODERS[self._encoding]
        try:
            if is_text is decoder.binary:
                raise Refusal(ErrorCode.BAD_FRAME, "carpet.v1.msgpack goes in binary frames, carpet.v1.json in text frames")
            message = decoder.decode(data)
        except Refusal as refusal:
            self._bad_messages += 1
            self.refuse(refusal, reference(data, self._encoding))
            if self._bad_messages >= BAD_MESSAGES:
                self.shut(CloseCode.TOO_MANY_ERRORS, "too many messages that could not be understood")
            return
        if type(message) is Move:
            if self._move_read_at is None:
                self._move_read_at = self._read_at
        # One token was paid for its frame.
        elif (price := PRICES.get(type(message), 1) - 1) and not self._allowed(price, message.ref):
            return
        # A move logs nothing unless something is wrong, so the variable is not set for moves: that saves time.
        about = log_lines.connection.set(self.number) if type(message) is not Move else None
        try:
            self._dispatch.heard(self, message)
        except Refusal as refusal:
            self.refuse(refusal, message.ref)
        except Exception:
            about = about or log_lines.connection.set(self.number)
            logger.exception("%s of %s could not be served", type(message).__name__, self.remote_address)
            self.refuse(Refusal(ErrorCode.INTERNAL), message.ref)
        finally:
            if about is not None:
                log_lines.connection.reset(about)

    def refuse(self, refusal: Refusal, ref: int) -> None:
        """Answer with an error."""
        self.post(refused(refusal, ref))

    # ---- out

    def post(self, outgoing: Outgoing) -> None:
        """Send a message, not necessarily at once. Never blocks, never raises."""
        if self._missed or not self.is_open:
            pass
        elif self.waiting_bytes > OUTBOX_BYTES:
            self._missed = True
        else:
            frame = outgoing.frames.get(self._encoding) or _framed(outgoing, self._encoding)
            if len(frame) > LARGE_BYTES:
                self._limit.owe(self._clock(), len(frame) / LARGE_BYTES)
            self._put(frame)
        if type(outgoing.message) in _ANSWERS:
            self._count(outgoing.message)

    def _count(self, answer: ServerMessage) -> None:
        if isinstance(answer, Error) and answer.code == ErrorCode.HOST_SAYS:
            # It answers nothing, least of all a move that waits for its answer, and nothing went wrong.
            return
        # A repeated move is answered with a current view. It clears the time too, so that the next move is timed from its own reading.
        read_at, self._move_read_at = self._move_read_at, None
        if isinstance(answer, PlayerView):
            traffic = self._dispatch.traffic
            if read_at is not None:
                traffic.move_s.add(self._clock() - read_at)
            else:
                traffic.untimed_moves += 1
        elif isinstance(answer, Error):
            self._dispatch.traffic.refused(answer.code, is_move=read_at is not None)

    def post_together(self, outgoings: Sequence[Outgoing]) -> None:
        """Send several messages with one system call, which is nearly all that sending a small message costs."""
        if len(outgoings) == 1 or self._missed or not self.is_open or self.waiting_bytes > OUTBOX_BYTES:
            for outgoing in outgoings:
                self.post(outgoing)
            return
        encoding = self._encoding
        frames = [outgoing.frames.get(encoding) or _framed(outgoing, encoding) for outgoing in outgoings]
        for frame in frames:
            if len(frame) > LARGE_BYTES:
                self._limit.owe(self._clock(), len(frame) / LARGE_BYTES)
        self._put(b"".join(frames))
        for outgoing in outgoings:
            if type(outgoing.message) in _ANSWERS:
                self._count(outgoing.message)

    def post_all(self, bundle: Bundle) -> None:
        """Send a bundle, which goes to many and answers nobody."""
        if self._missed or not self.is_open:
            return
        if self.waiting_bytes > OUTBOX_BYTES:
            self._missed = True
            return
        encoding = self._encoding
        frames = bundle.frames.get(encoding)
        if frames is None:
            frames = bundle.frames[encoding] = b"".join(
                outgoing.frames.get(encoding) or _framed(outgoing, encoding) for outgoing in bundle.messages
            )
        self._put(frames)


def _framed(outgoing: Outgoing, encoding: str) -> bytes:
    codec = ENCODINGS[encoding]
    # A message that is encoded only for this is kept as a frame alone, without its payload.
    payload = codec.pack(outgoing.message) if outgoing.payloads is None else outgoing.payload(encoding)
    frame = outgoing.frames[encoding] = framed(payload, binary=codec.binary)
    return frame
