"""What the way in and out costs by itself: processor time of the server for a move and its two answers, and memory of a connection.

    python tests/bench/net_cost.py [--connections 400] [--moves 40000]

The server is real from the socket to the message; what it would do with a move is left out: it answers with a view that was made
before, and tells another connection its progress. The peers are a process of their own. Both kinds of connection, in one run.
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
from multiprocessing import get_context

import trio
from websockets.frames import Frame, Opcode

from protocol.client_messages import ClientMessage, Move
from protocol.codec import MSGPACK, encode
from protocol.room_events import PlayerView, Progress
from server.net.connection import Connection
from server.net.listener import serving
from server.net.stream import SocketListener
from server.net.traffic import Traffic
from server.race.view import see
from server.rooms.outgoing import Outgoing
from server.rules.catalogue import rule_set
from server.runtime.gc_tuning import seldom_collected

REQUEST = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: carpet.v1.msgpack\r\n\r\n"
)
VIEW = see(rule_set("carpet").deal(bytes(32)))
MOVE = Frame(Opcode.BINARY, encode(Move(race=1, seat=0, ply=17, move="s:b3"), MSGPACK)).serialize(mask=True)

MARK = b"\xa7version"
"""Once in each answer."""


class Answers:
    """In place of the dispatch."""

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

    def resynchronise(self, connection: Connection) -> None:
        pass

    def gone(self, connection: Connection) -> None:
        pass


def play(port: int, connections: int, rounds: int, ready: object) -> None:
    """Another process: everybody moves, hears the view and the other's progress, and moves again."""
    peers = []
    for _ in range(connections):
        peer = socket.create_connection(("127.0.0.1", port))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(REQUEST)
        received = b""
        while b"\r\n\r\n" not in received:
            received += peer.recv(4096)
        peers.append(peer)
    ready.wait()  # type: ignore[attr-defined]
    poll = select.epoll()
    by_descriptor = {peer.fileno(): peer for peer in peers}
    for peer in peers:
        poll.register(peer, select.EPOLLIN)
    frames = dict.fromkeys(by_descriptor, 0)
    tails = dict.fromkeys(by_descriptor, b"")
    for _ in range(rounds):
        for peer in peers:
            peer.send(MOVE)
        waiting = set(by_descriptor)
        while waiting:
            for descriptor, _ in poll.poll():
                data = tails[descriptor] + by_descriptor[descriptor].recv(65536)
                frames[descriptor] += data.count(MARK)
                # A mark that is cut in two is counted with its end.
                tails[descriptor] = data[1 - len(MARK) :]
                if frames[descriptor] >= 2:
                    waiting.discard(descriptor)
        frames = dict.fromkeys(frames, 0)
    ready.wait()  # type: ignore[attr-defined]


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
    peers = context.Process(target=play, args=(port, connections, rounds, gate))
    peers.start()
    async with serving(answers, [SocketListener(listening)], plain_sockets=plain):
        await answers.all_here.wait()
        gc.collect()
        size = (resident() - empty) / connections
        await trio.to_thread.run_sync(gate.wait)
        began, cpu = time.perf_counter(), time.process_time()
        await answers.all_moved.wait()
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        await trio.to_thread.run_sync(gate.wait)
        peers.join()
        name = "plain" if plain else "hub"
        count = rounds * connections
        print(f"{name:6} {cpu / count * 1e6:8.1f} us a move {count / took:10,.0f} moves/s {size / 1024:8.1f} kB a connection", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=400)
    parser.add_argument("--moves", type=int, default=40_000)
    chosen = parser.parse_args()
    for plain in (False, True):
        # A process of its own for each, so that what one has left behind does not count for the other.
        child = os.fork()
        if child == 0:
            with seldom_collected():
                trio.run(partial(measure, chosen.connections, chosen.moves, plain=plain))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
