"""The hub alone: when it looks at its sockets. What its connections owe their peers is in the tests of both kinds."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from server.net import hub as hub_module
from server.net.hub import ENDED_AT_ONCE, EVENTS, HARD, LONG_TICK_S, STOOD_STILL_S, TICK_S, Hub, Received, Stamp
from server.net.overload import CALM_S, ENOUGH, LATE_S, Overload
from server.race.timing import MAX_WAITED_MS

pytestmark = pytest.mark.skipif(not hub_module.AVAILABLE, reason="this system has no epoll")


class Peer:
    """Notes when it is called. takes_s: how long it has the loop each time."""

    def __init__(self, clock: MockClock, takes_s: float = 0.0) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.read_at: list[float] = []
        self._clock = clock
        self._takes_s = takes_s

    @property
    def receive(self) -> Callable[[int, int], Received]:
        return self.ours.recvmsg

    def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
        del data, stamps
        self.read_at.append(trio.current_time())
        if self._takes_s:
            self._clock.jump(self._takes_s)

    def writable(self) -> None:
        raise AssertionError

    def cut(self) -> None:
        raise AssertionError


class Told(Overload):
    """Its `load` is what it is told, whatever the machine does."""

    def look(
        self, worked: Callable[[], tuple[float, ...]], answered: Callable[[], tuple[int, float]], now: float, *, connections: int
    ) -> None:
        """Look at nothing."""


@asynccontextmanager
async def hub_with(overload: Overload, *peers: Peer) -> AsyncIterator[Hub]:
    async with trio.open_nursery() as nursery:
        hub = Hub(nursery, overload)
        for peer in peers:
            hub.add(peer.ours.fileno(), peer)
        nursery.start_soon(hub.run)
        yield hub
        nursery.cancel_scope.cancel()
    for peer in peers:
        peer.ours.close()
        peer.theirs.close()


async def test_a_lone_message_is_read_at_once_and_one_after_another_together_once_a_tick(mock_clock: MockClock) -> None:
    peers = [Peer(mock_clock) for _ in range(4)]
    async with hub_with(Overload(), *peers):
        await wait_all_tasks_blocked()
        mock_clock.jump(1)
        began = trio.current_time()
        for number, peer in enumerate(peers):
            peer.theirs.send(b"x")
            await wait_all_tasks_blocked(0.01)
            # The first two come within a tick of each other; those after them wait for its end.
            assert peer.read_at == ([began] if number < 2 else [])
        mock_clock.jump(TICK_S)
        await wait_all_tasks_blocked(0.01)
        assert peers[2].read_at == peers[3].read_at == [began + TICK_S]
        # When a tick has brought nothing, the next one is alone again.
        mock_clock.jump(TICK_S)
        await wait_all_tasks_blocked(0.01)
        mock_clock.jump(1)
        began = trio.current_time()
        peers[0].theirs.send(b"x")
        await wait_all_tasks_blocked(0.01)
        assert peers[0].read_at[-1] == began


async def test_many_who_go_together_are_seen_off_a_few_at_a_time_between_the_moves_of_those_who_play_on(mock_clock: MockClock) -> None:
    heard: list[tuple[Peer, bytes]] = []

    class Noted(Peer):
        def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
            del stamps
            heard.append((self, data))
            if not data:
                hub.remove(self.ours.fileno())
            elif self is leaving[0]:
                later.theirs.send(b"x")

    *leaving, plays, later = peers = [Noted(mock_clock) for _ in range(EVENTS + 3 * ENDED_AT_ONCE + 2)]
    async with hub_with(Overload(), *peers) as hub:
        await wait_all_tasks_blocked()
        mock_clock.jump(1)
        leaving[0].theirs.send(b"last words")
        for peer in leaving:
            peer.theirs.shutdown(socket.SHUT_WR)
        plays.theirs.send(b"x")
        await wait_all_tasks_blocked(0.01)
        assert heard[0] == (leaving[0], b"last words")
        # However many have gone, a few of them at most come between two looks at what the others do.
        assert heard.index((plays, b"x")) <= ENDED_AT_ONCE
        assert heard.index((later, b"x")) <= 2 * ENDED_AT_ONCE + 1
        assert {peer for peer, data in heard if not data} == set(leaving)
        hub.remove(plays.ours.fileno())
        hub.remove(later.ours.fileno())


async def test_however_many_always_have_something_to_say_whoever_speaks_once_is_soon_heard(mock_clock: MockClock) -> None:
    heard: list[Peer] = []

    class Chatty(Peer):
        def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
            heard.append(self)
            # Whatever it is answered, it has the next thing to say.
            if self is not quiet and len(heard) < 8 * EVENTS:
                self.theirs.send(b"x")

    peers = [Chatty(mock_clock) for _ in range(2 * EVENTS + 1)]
    quiet = peers[-1]
    async with hub_with(Overload(), *peers):
        await wait_all_tasks_blocked()
        mock_clock.jump(1)
        for peer in peers:
            peer.theirs.send(b"x")
        await wait_all_tasks_blocked(0.01)
    assert heard.index(quiet) <= 3 * EVENTS
    assert set(heard) == set(peers)


async def test_who_has_gone_is_still_sent_what_waits_for_them(mock_clock: MockClock) -> None:
    called: list[str] = []

    class Noted(Peer):
        def hear(self, data: bytes, stamps: Sequence[Stamp]) -> None:
            del stamps
            called.append(f"heard {data.decode()}")
            if data:
                hub.watch_writes(self.ours.fileno(), True)
            else:
                hub.remove(self.ours.fileno())

        def writable(self) -> None:
            called.append("writable")
            hub.watch_writes(self.ours.fileno(), False)

    peer = Noted(mock_clock)
    async with hub_with(Overload(), peer) as hub:
        peer.theirs.send(b"x")
        peer.theirs.shutdown(socket.SHUT_WR)
        await wait_all_tasks_blocked(0.01)
        assert called == ["heard x", "writable", "heard "]


async def test_where_the_core_is_needed_ticks_are_longer(mock_clock: MockClock) -> None:
    overload = Told()
    peers = [Peer(mock_clock) for _ in range(3)]
    async with hub_with(overload, *peers) as hub:
        await wait_all_tasks_blocked()
        overload.load = HARD
        mock_clock.jump(1)
        began = trio.current_time()
        for peer in peers:
            peer.theirs.send(b"x")
            await wait_all_tasks_blocked(0.01)
        assert hub.tick_ms == round(1000 * LONG_TICK_S) == MAX_WAITED_MS
        mock_clock.jump(TICK_S)
        await wait_all_tasks_blocked(0.01)
        assert peers[2].read_at == []
        mock_clock.jump(LONG_TICK_S - TICK_S)
        await wait_all_tasks_blocked(0.01)
        assert peers[2].read_at == [began + LONG_TICK_S]
        overload.load = 0.0
        mock_clock.jump(LONG_TICK_S)
        await wait_all_tasks_blocked(0.01)
        assert hub.tick_ms == round(1000 * TICK_S)


@pytest.mark.parametrize("in_a_turn", [False, True])
async def test_a_server_that_stood_still_reads_all_that_came_meanwhile_before_it_calls_a_timer(
    mock_clock: MockClock, in_a_turn: bool
) -> None:
    still_s = 10 + 2 * STOOD_STILL_S
    peers = [Peer(mock_clock, takes_s=still_s if in_a_turn and not number else 0.0) for number in range(EVENTS + 1)]
    read: list[bool] = []
    async with hub_with(Overload(), *peers) as hub:
        await wait_all_tasks_blocked()
        hub.after(10, lambda: read.extend(bool(peer.read_at) for peer in peers))
        for peer in peers:
            peer.theirs.send(b"x")
        mock_clock.jump(0 if in_a_turn else still_s)
        await wait_all_tasks_blocked(0.01)
        # They may have stood still as well, and have their say yet.
        assert read == []
        # The wait for them is no standstill, however late it ends by a hair.
        mock_clock.jump(STOOD_STILL_S * 1.001)
        await wait_all_tasks_blocked(0.01)
        assert read == [True] * len(peers)


async def test_however_long_each_takes_the_others_have_their_turn_and_those_that_wait_make_the_server_busy(mock_clock: MockClock) -> None:
    overload = Overload()
    peers = [Peer(mock_clock, takes_s=LATE_S / 8) for _ in range(EVENTS // 2)]
    async with hub_with(overload, *peers):
        for peer in peers:
            peer.theirs.send(b"x")
        while not peers[0].read_at:
            await trio.lowlevel.checkpoint()
        assert sum(len(peer.read_at) for peer in peers) < 16
        while not all(peer.read_at for peer in peers):
            await trio.lowlevel.checkpoint()
        for _ in range(int(2 * ENOUGH)):
            for peer in peers:
                peer.theirs.send(b"x")
            await wait_all_tasks_blocked(0.01)
        assert 0 < overload.retry_after_ms(trio.current_time()) <= CALM_S * 1000
