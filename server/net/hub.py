"""One task for many sockets: a private epoll of all of them, and a heap of all their timers.

Trio's own waiting costs a task for each socket, and two switches of tasks and a system call or two for each message. Here one task waits
for the epoll itself, which is readable when any of the sockets is, and calls back. It is level-triggered: what a callback leaves unread
is reported again.
"""

from __future__ import annotations

import heapq
import logging
import math
import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol, TypeAlias

import trio

from server.net.connection import Connection
from server.net.frames import Opening
from server.net.overload import LATE_S, Overload
from server.net.stream import RECEIVE_BYTES, STAMP_BYTES, SocketStream

logger = logging.getLogger("carpet.net")

EVENTS: Final = 256
"""Sockets that are looked at before the other tasks of the server have their turn: more than a long tick brings, so that it is one turn and
one commit. A turn costs as much as ten moves before it has served any, and a commit as much again."""

IN_A_ROW: Final = 7
"""Sockets that are read before what they had is dealt with, and before the next look at the clock. What is done several times in a row
finds its code in the processor's cache, and to read a socket takes much of that."""

TURN_S: Final = 0.008
"""Seconds after which they have it however many sockets wait: to let somebody in takes as long as ten moves."""

TICK_S: Final = 0.004
"""While one socket after another has something to say, seconds from one look at them to the next. To wait for each costs several times what
it takes to serve it, and what they say waits for one commit of the journal anyhow. A lone one is served at once. A move counts from when
the kernel had it, so that nobody loses by the tick."""

LONG_TICK_S: Final = 0.016
"""The same where the core is needed. To wake up, to commit and to wake up again costs as much as fifteen moves do. All but a few moves are
answered within two such ticks."""

EASY: Final = 0.5
HARD: Final = 0.85
"""Parts of a core in use: up to the one ticks are short, from the other on they are long, between them something between. So they settle
where the time that long ones save is not yet missed."""

TIMERS: Final = 200
"""Timers that are called between two looks at the sockets: with long ticks twice as many a second as 20,000 connections need."""

COARSE_S: Final = 1.0
GRAIN_S: Final = 1 / 16
"""Seconds from which on a timer may be late, and by how much: nearly all are pings, and those of the same moment are one entry of the heap.
With an entry for each, timers of thousands of connections cost more than their pings."""

STOOD_STILL_S: Final = 1.0
"""Seconds by which a turn comes too late where this server stood still, and was not only busy. For as long no timer is called then: what
somebody would be given up for not having said lies here unread, or is still to come from a machine that stood still as well."""

ENDED_AT_ONCE: Final = 8
"""Sockets served in one turn whose peer has gone. Of a thousand that go together each costs as much as some moves, and nobody waits for it;
who plays on is among the next sockets that are looked at."""

AVAILABLE: Final = hasattr(select, "epoll")

_IN: Final = select.EPOLLIN | select.EPOLLRDHUP if AVAILABLE else 0
_OUT: Final = select.EPOLLOUT if AVAILABLE else 0
_GONE: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR if AVAILABLE else 0
_FAILED: Final = "serving a connection failed; it is cut"

Stamp: TypeAlias = tuple[int, int, bytes]
Received: TypeAlias = tuple[bytes, list[Stamp], int, Any]
"""As `recvmsg` gives it."""

_NOTHING: Final[Received] = (b"", [], 0, None)
"""Of a socket that has failed, as of one whose peer has gone."""


class Peer(Protocol):
    """What the hub calls for a socket. None of it blocks; what it raises ends the connection, but for `receive`."""

    @property
    def receive(self) -> Callable[[int, int], Received]:
        """Its socket's `recvmsg`."""

    def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
        """Deal with what was received. It may have ended since. data: empty where the other end has gone. stamps: see `waited_ms`."""

    def writable(self) -> None: ...

    def cut(self) -> None:
        """End it without a word."""


class Door(Protocol):
    """Where connections come from, and whom they tell."""

    def retry_after_s(self) -> int:
        """Not 0 while nobody is let in, since there is too much to do."""

    def admits(self, connection: Connection, opened: Opening) -> bool:
        """Whether this request opens a WebSocket here."""

    def hand_over(self, stream: SocketStream) -> None:
        """Not one for the hub: have it answered the plain way."""

    def ended(self, connection: Connection) -> None:
        """It is over, and all that belonged to it."""


class Hub:
    """nursery: for what the peers have to do that waits for something else than a socket. overload: is told how late sockets are served.

    answered: see `Overload.look`. gathering: entered for each turn; what is to be committed in it waits for its end, and is one commit.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        overload: Overload,
        answered: Callable[[], tuple[int, float]] = lambda: (0, 0.0),
        gathering: AbstractContextManager[None] | None = None,
    ) -> None:
        self.nursery = nursery
        self._overload = overload
        self._answered = answered
        self._gathering = gathering or nullcontext()
        self.now = -math.inf
        """When it was seen which sockets are to be served: all that they are read for is taken to have come then."""
        self.tick_ms = round(TICK_S * 1000)
        """For how long, at most, a socket that is read now was not looked at because of the tick."""
        self._tick_s = TICK_S
        self._tick_for = 0.0
        # Whether the next look is at the end of a tick. Not where sockets wait already that this turn had no time for.
        self._is_busy = False
        self._behind = False
        # Of this turn's sockets, those whose peer has gone. To put them off is no lateness.
        self._gone = 0
        self._caught_up = 0.0
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        # A heap of moments, and what is to be called at each.
        self._timers: list[float] = []
        self._acts: dict[float, deque[Callable[[], None]]] = {}
        self._timers_wait_until = -math.inf
        self._sleep = trio.CancelScope()
        # Asked directly, several times for each look at the sockets.
        self._clock = trio.lowlevel.current_clock().current_time

    def add(self, descriptor: int, peer: Peer) -> None:
        self._epoll.register(descriptor, _IN)
        self._peers[descriptor] = peer

    def remove(self, descriptor: int) -> None:
        """To be called before the socket is closed."""
        if not self._epoll.closed:
            self._epoll.unregister(descriptor)
        del self._peers[descriptor]

    def watch_writes(self, descriptor: int, watch: bool) -> None:
        """Whether to call `writable` as well; at first it is not called."""
        self._epoll.modify(descriptor, _IN | _OUT if watch else _IN)

    def after(self, seconds: float, act: Callable[[], None]) -> float:
        """Call it later; gives when. A timer cannot be taken back: what it calls sees for itself whether it is still wanted."""
        when = self._clock() + seconds
        if seconds >= COARSE_S:
            when = math.ceil(when / GRAIN_S) * GRAIN_S
        acts = self._acts.get(when)
        if acts is None:
            acts = self._acts[when] = deque()
            heapq.heappush(self._timers, when)
            if when < self._sleep.deadline:
                self._sleep.deadline = when
        acts.append(act)
        return when

    async def run(self) -> None:
        """Serve all sockets, until it is cancelled."""
        try:
            while True:
                if self._is_busy:
                    await trio.sleep_until(self.now + self._tick_s)
                else:
                    deadline = max(self._timers[0], self._timers_wait_until) if self._timers else math.inf
                    with trio.CancelScope(deadline=deadline) as self._sleep:
                        await trio.lowlevel.wait_readable(self._epoll.fileno())
                with self._gathering:
                    self._serve()
                    self._call_timers()
        finally:
            self._epoll.close()

    def _serve(self) -> None:
        ready = self._epoll.poll(0, EVENTS)
        before, self.now = self.now, self._clock()
        if self._timers and self.now - max(before, self._timers[0]) > STOOD_STILL_S:
            self._timers_wait_until = self.now + STOOD_STILL_S
        behind = len(ready) == EVENTS
        self._gone = 0
        for start in range(0, len(ready), IN_A_ROW):
            if start and self._clock() - self.now > TURN_S:
                # The rest will be reported again.
                behind = True
                break
            for peer, (data, stamps, _, _) in self._receive(ready[start : start + IN_A_ROW]):
                try:
                    peer.hear(data, stamps)
                except Exception:
                    logger.exception(_FAILED)
                    peer.cut()
        self._is_busy = bool(ready) and not behind and self._gone <= ENDED_AT_ONCE and self.now - before < 2 * self._tick_s
        self._overload.look(worked_s, self._answered, self.now, connections=len(self._peers))
        if self._overload.load != self._tick_for:
            self._set_tick(self._overload.load)
        self._note_lateness(behind)

    def _receive(self, ready: Sequence[tuple[int, int]]) -> list[tuple[Peer, Received]]:
        """What these sockets have; what waits to be sent is sent first."""
        received: list[tuple[Peer, Received]] = []
        for descriptor, events in ready:
            peer = self._peers.get(descriptor)
            if peer is None:
                # One of those before it in this turn has ended it.
                continue
            if events & _GONE:
                self._gone += 1
                if self._gone > ENDED_AT_ONCE:
                    continue
            try:
                if events & _OUT:
                    peer.writable()
                if events != _OUT:
                    received.append((peer, peer.receive(RECEIVE_BYTES, STAMP_BYTES)))
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                received.append((peer, _NOTHING))
            except Exception:
                logger.exception(_FAILED)
                peer.cut()
        return received

    def _set_tick(self, load: float) -> None:
        self._tick_for = load
        self._tick_s = TICK_S + (LONG_TICK_S - TICK_S) * min(max((load - EASY) / (HARD - EASY), 0.0), 1.0)
        self.tick_ms = round(self._tick_s * 1000)

    def _note_lateness(self, behind: bool) -> None:
        # Where a turn has all that it can take, there are more. They have been waiting since the last turn that took all.
        now = self.now
        if self._behind and now - self._caught_up >= LATE_S:
            self._overload.note(now - self._caught_up, now)
            self._caught_up = now
        if not (self._behind and behind):
            self._caught_up = now
        self._behind = behind

    def _call_timers(self) -> None:
        if self.now < self._timers_wait_until:
            return
        for _ in range(TIMERS):
            now = self._clock()
            # Where it stood still in the middle of this turn, the next one finds so.
            if not self._timers or self._timers[0] > now or now - self.now > STOOD_STILL_S:
                return
            acts = self._acts[self._timers[0]]
            act = acts.popleft()
            if not acts:
                del self._acts[heapq.heappop(self._timers)]
            try:
                act()
            except Exception:
                logger.exception("a timer of a connection failed")


def worked_s() -> tuple[float, float]:
    """Processor time of all threads; and of this one, with what it has waited for a core on which something else ran."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as counts:
            ran_ns, waited_ns, _ = map(int, counts.read().split())
    except OSError:
        return time.process_time(), time.thread_time()
    return time.process_time(), (ran_ns + waited_ns) / 1e9
