"""What the network side costs alone: the server's processor time for a move and its two answers, and the memory of a connection.

    python -m tests.bench.net_cost [--connections 400 3000] [--moves 40000]

The server is real from the socket to the message. What it would do with a move is left out: it answers with a ready-made view, and sends
progress to another connection. The peers are a process of their own. One run measures both kinds of connection; with thousands of them,
none is still in a cache when its turn comes. `system` is the kernel's part of the processor time, which over the loopback includes some of
the receiver's work.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import select
import socket
import sys
import time
from functools import partial
from itertools import product
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from multiprocessing.synchronize import Barrier

import trio
from websockets.frames import Frame, Opcode

from protocol.client_messages import ClientMessage, Move
from protocol.codec import MSGPACK, encode
from protocol.room_events import PlayerView, Progress
from server.net.connection import Connection
from server.net.descriptors import raise_limit
from server.net.http import Site
from server.net.listener import serving
from server.net.origins import Origins
from server.net.overload import Overload
from server.net.stream import RoundTripRule, SocketListener
from server.net.traffic import Traffic
from server.race.view import see
from server.rooms.outgoing import Outgoing
from server.rules.catalogue import rule_set
from server.runtime.gc_tuning import seldom_collected
from tests.bench.lines import Line

VIEW = see(rule_set("carpet").deal(bytes(32)))
MOVE = Frame(Opcode.BINARY, encode(Move(race=1, seat=0, ply=17, move="s:b3"), MSGPACK)).serialize(mask=True)

AT_ONCE = 64
"""How many connections ask to be let in at the same time."""


class Answers:
    """Replaces the dispatch."""

    rate, burst = 1e9, 1_000_000
    traffic = Traffic()

    def __init__(self, connections: int, moves: int) -> None:
        self.all_here = trio.Event()
        self.all_moved = trio.Event()
        self.connections = connections
        self.moves = moves
        self.here: list[Connection] = []
        self.opponent: dict[Connection, Connection] = {}

    def arrived(self, connection: Connection) -> None:
        self.here.append(connection)
        if len(self.here) == self.connections:
            self.all_here.set()
        if len(self.here) % 2 == 0:
            self.opponent[connection] = self.here[-2]
            self.opponent[self.here[-2]] = connection
        connection.listen()

    def heard(self, connection: Connection, message: ClientMessage) -> None:
        assert isinstance(message, Move)
        self.moves -= 1
        if not self.moves:
            self.all_moved.set()
        connection.post(Outgoing(PlayerView(version=9, seat=0, ply=18, move=message.move, state="racing", elapsed_ms=9, view=VIEW)))
        progress = Progress(version=9, seat=0, ply=18, home=4, foundations=VIEW.foundations, state="racing", elapsed_ms=9)
        self.opponent[connection].post(Outgoing(progress))

    def visits(self) -> list[Connection]:
        return self.here

    def resynchronise(self, connection: Connection) -> None:
        pass

    def gone(self, connection: Connection) -> None:
        pass


def play(port: int, connections: int, rounds: int, ready: Barrier) -> None:
    """Runs in another process: everybody moves, hears the view and the other's progress, and moves again."""
    lines: list[Line] = []
    poll = select.epoll()
    by_descriptor: dict[int, Line] = {}
    while len(lines) < connections:
        for line in [Line("127.0.0.1", port) for _ in range(min(AT_ONCE, connections - len(lines)))]:
            assert line.is_let_in()
            lines.append(line)
            by_descriptor[line.socket.fileno()] = line
            poll.register(line.socket, select.EPOLLIN)
        for descriptor, _ in poll.poll(0):
            by_descriptor[descriptor].read()
    while ready.n_waiting == 0:
        for descriptor, _ in poll.poll(0.1):
            by_descriptor[descriptor].read()
    ready.wait()
    for _ in range(rounds):
        for line in lines:
            line.socket.send(MOVE)
        waiting = connections
        while waiting:
            for descriptor, _ in poll.poll():
                line = by_descriptor[descriptor]
                before = line.heard
                line.read()
                assert not line.dropped
                waiting -= before < 2 <= line.heard
        for line in lines:
            line.heard -= 2
    ready.wait()


class Unmoved(Overload):
    """Never busy: here all come at once, and nobody should be refused for that."""

    def retry_after_ms(self, now: float) -> int:
        del now
        return 0


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


async def measure(connections: int, moves: int, *, plain: bool) -> None:
    rounds = moves // connections
    answers = Answers(connections, rounds * connections)
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    port = listening.getsockname()[1]
    context = get_context("fork")
    gate = context.Barrier(2)
    gc.collect()
    empty = resident()
    peers = context.Process(target=play, args=(port, connections, rounds, gate), daemon=True)
    peers.start()
    listeners = [SocketListener(listening)]
    async with serving(
        answers,
        listeners,
        origins=Origins(),
        site=Site(),
        round_trip_rule=RoundTripRule(),
        overload=Unmoved(),
        plain_sockets=plain,
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(notice_failure, peers)
            await answers.all_here.wait()
            gc.collect()
            size = (resident() - empty) / connections
            await trio.to_thread.run_sync(gate.wait)
            began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
            await answers.all_moved.wait()
            took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
            nursery.cancel_scope.cancel()
        await trio.to_thread.run_sync(gate.wait)
        peers.join()
    count = rounds * connections
    user, system = (1e6 * (getattr(after, name) - getattr(before, name)) / count for name in ("ru_utime", "ru_stime"))
    name = "plain" if plain else "hub"
    row = f"{name:6}{connections:8}{user + system:10.1f}{user:8.1f}{system:8.1f}{count / took:10,.0f}{size / 1024:16.1f}"
    print(row, flush=True)


async def notice_failure(peers: ForkProcess) -> None:
    """Notice if the peers have failed: without them there is nothing to wait for."""
    await trio.to_thread.run_sync(peers.join, abandon_on_cancel=True)
    raise RuntimeError("the peers have ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[400, 3000])
    parser.add_argument("--moves", type=int, default=40_000)
    chosen = parser.parse_args()
    raise_limit()
    print("      connections  us a move    user  system   moves/s kB a connection", flush=True)
    for connections, plain in product(chosen.connections, (False, True)):
        # A process for each, so that what one leaves behind does not count for the other.
        child = os.fork()
        if child == 0:
            with seldom_collected():
                trio.run(partial(measure, connections, chosen.moves, plain=plain))
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(1)


if __name__ == "__main__":
    main()
