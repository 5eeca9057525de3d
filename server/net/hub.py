"""The hub: one task that serves many sockets, with a private epoll for all of them and a heap of all their timers.

Waiting through Trio would cost a task for each socket, and two task switches and a system call or two for each message. Here one task waits
for the epoll itself, which is readable when any of the sockets is, and makes callbacks. It is level-triggered: what a callback leaves
unread is reported again.
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
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias

import trio

from server.net.connection import Connection
from server.net.frames import Opening
from server.net.overload import LATE_S, Overload
from server.net.stream import RECEIVE_BYTES, STAMP_BYTES, SocketStream

logger = logging.getLogger("carpet.net")

EVENTS: Final = 256
"""Sockets served before the server's other tasks have their turn. It is more than a long tick brings, so that each tick is one turn and one
commit. A turn costs as much as ten moves before it has served any, and a commit as much again."""

IN_A_ROW: Final = 7
"""Sockets that are read in a row before their data is handled and the clock is looked at. Code that runs several times in a row stays in
the processor's cache, and reading a socket needs much of that."""

TURN_S: Final = 0.008
"""Seconds after which a turn ends, however many sockets still wait: letting somebody in takes as long as ten moves."""

TICK_S: Final = 0.004
"""Seconds between two looks at the sockets while one after another has something to say. Waking up for each would cost several times as
much as serving it, and their requests wait for a commit of the journal anyway. A lone socket is served at once. A move counts from when the
kernel received it, so nobody loses by the tick."""

LONG_TICK_S: Final = 0.016
"""The tick when the core is busy. Waking up, committing and waking up again costs as much as fifteen moves. All but a few moves are
answered within two such ticks."""

EASY: Final = 0.5
HARD: Final = 0.85
"""Shares of a core in use: up to EASY ticks are short, from HARD on they are long, and in between their length is in between too. So ticks
are no longer than the load needs."""

TIMERS: Final = 200
"""Timers called between two looks at the sockets. With long ticks, that is twice as many a second as 20,000 connections need."""

COARSE_S: Final = 1.0
GRAIN_S: Final = 1 / 16
"""Timers of COARSE_S or more may be late, by up to GRAIN_S. Nearly all are pings, and those of the same moment share an entry of the heap:
with an entry for each, the timers of thousands of connections would cost more than their pings."""

STOOD_STILL_S: Final = 1.0
"""Seconds by which a turn comes too late if this server stood still, and was not merely busy. Then no timer is called for as long again:
what a peer would be given up for not having said lies here unread, or is still to come from a machine that stood still as well."""

ENDED_AT_ONCE: Final = 8
"""Sockets of peers that have gone which are served in one turn. Each costs as much as several moves, and nobody waits for it: if a thousand
go together, those who play on must not wait for them."""

AVAILABLE: Final = hasattr(select, "epoll")

_IN: Final = select.EPOLLIN | select.EPOLLRDHUP if AVAILABLE else 0
_OUT: Final = select.EPOLLOUT if AVAILABLE else 0
_GONE: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR if AVAILABLE else 0
_FAILED: Final = "serving a connection failed; it is cut"

Stamp: TypeAlias = tuple[int, int, bytes]
Received: TypeAlias = tuple[bytes, list[Stamp], int, Any]
"""What `recvmsg` returns."""

_NOTHING: Final[Received] = (b"", [], 0, None)
"""Stands for a socket that has failed, the same as for one whose peer has gone."""


class Peer(Protocol):
    """What the hub calls for a socket. Nothing here blocks. An exception ends the connection, except from `receive`."""

    @property
    def receive(self) -> Callable[[int, int], Received]:
        """Its socket's `recvmsg`."""

    def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
        """Handle what was received. The connection may have ended since. data: empty if the peer has gone. stamps: see `waited_ms`."""

    def writable(self) -> None: ...

    def cut(self) -> None:
        """End the connection without a word."""


class Door(Protocol):
    """The hub's way in: decides which connections are let in, and hears when they end."""

    def retry_after_s(self) -> int:
        """Seconds after which to ask again; 0 unless the server is too busy to let anybody in."""

    def admits(self, connection: Connection, opened: Opening) -> bool:
        """Whether this request may open a WebSocket here."""

    def hand_over(self, stream: SocketStream) -> None:
        """This connection is not for the hub: have it answered the plain way."""

    def ended(self, connection: Connection) -> None:
        """The connection is over, and so is all that belonged to it."""


class Hub:
    """nursery: for tasks of the peers that wait for something other than a socket. overload: is told how late sockets are served.

    answered: see `Overload.look`. gathering: entered for each turn, so that all that is to be committed in it is one commit at its end.
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
        """When this turn's sockets were found ready. Whatever is read from them counts as having come then."""
        self.tick_ms = round(TICK_S * 1000)
        """How long, at most, a socket that is read now has had to wait because of the tick."""
        self._tick_s = TICK_S
        self._tick_for = 0.0
        # Whether the next look is at the end of a tick. Not if this turn has left sockets waiting.
        self._is_busy = False
        self._behind = False
        self._caught_up = 0.0
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        # Sockets whose peers have gone, put off to later turns, and what else they are ready for. The epoll would report them at each look.
        self._gone: dict[int, int] = {}
        # A heap of moments, and what to call at each.
        self._timers: list[float] = []
        self._acts: dict[float, deque[Callable[[], None]]] = {}
        self._timers_wait_until = -math.inf
        self._sleep = trio.CancelScope()
        # Called directly, since it is read several times for each look at the sockets.
        self._clock = trio.lowlevel.current_clock().current_time

    def add(self, descriptor: int, peer: Peer) -> None:
        self._epoll.register(descriptor, _IN)
        self._peers[descriptor] = peer

    def remove(self, descriptor: int) -> None:
        """Call this before closing the socket."""
        if self._gone.pop(descriptor, None) is None and not self._epoll.closed:
            self._epoll.unregister(descriptor)
        del self._peers[descriptor]

    def watch_writes(self, descriptor: int, watch: bool) -> None:
        """Start or stop calling `writable`. It is not called at first."""
        events = _IN | _OUT if watch else _IN
        if descriptor in self._gone:
            self._gone[descriptor] = events
        else:
            self._epoll.modify(descriptor, events)

    def after(self, seconds: float, act: Callable[[], None]) -> float:
        """Call `act` later; returns when. A timer cannot be cancelled: `act` has to check whether it is still wanted."""
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
        """Serve all sockets until cancelled."""
        try:
            while True:
                if self._is_busy:
                    await trio.sleep_until(self.now + self._tick_s)
                elif self._gone:
                    await trio.lowlevel.checkpoint()
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
        ready, behind = self._found()
        before, self.now = self.now, self._clock()
        if self._timers and self.now - max(before, self._timers[0], self._timers_wait_until) > STOOD_STILL_S:
            self._timers_wait_until = self.now + STOOD_STILL_S
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
        self._is_busy = bool(ready) and not behind and not self._gone and self.now - before < 2 * self._tick_s
        self._overload.look(worked_s, self._answered, self.now, connections=len(self._peers))
        if self._overload.load != self._tick_for:
            self._set_tick(self._overload.load)
        self._note_lateness(behind)

    def _found(self) -> tuple[list[tuple[int, int]], bool]:
        """What this turn serves, and whether more may be ready. Of the sockets whose peers have gone it serves only a few, those first that
        earlier turns have put off; the epoll is looked at again for as long as it has others, so that thousands of them hide no move.
        """
        ready: dict[int, int] = {}
        for descriptor in tuple(islice(self._gone, ENDED_AT_ONCE)):
            # It may be needed again: what its peer said last is read first.
            ready[descriptor] = self._gone[descriptor] = self._gone.pop(descriptor)
        few = ENDED_AT_ONCE - len(ready)
        while True:
            # Not more than are served: the epoll begins its next look behind those that it has told.
            most, put_off = EVENTS - len(ready), len(self._gone)
            found = self._epoll.poll(0, most)
            for descriptor, events in found:
                if events & _GONE and descriptor not in ready:
                    few -= 1
                    if few < 0:
                        self._epoll.unregister(descriptor)
                        self._gone[descriptor] = events & ~_GONE
                        continue
                ready[descriptor] = events
            if len(found) < most or len(self._gone) == put_off or len(ready) >= EVENTS:
                return list(ready.items()), len(found) == most

    def _receive(self, ready: Sequence[tuple[int, int]]) -> list[tuple[Peer, Received]]:
        """Read these sockets, first sending what waits for them."""
        received: list[tuple[Peer, Received]] = []
        for descriptor, events in ready:
            peer = self._peers.get(descriptor)
            if peer is None:
                # An earlier one in this turn has ended it.
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
        # After a turn that was full, more sockets wait. They have been waiting since the last turn that served all.
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
    """Processor time of all threads; and that of this thread, plus the time it waited for a core that was busy with something else."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as counts:
            ran_ns, waited_ns, _ = map(int, counts.read().split())
    except OSError:
        return time.process_time(), time.thread_time()
    return time.process_time(), (ran_ns + waited_ns) / 1e9
