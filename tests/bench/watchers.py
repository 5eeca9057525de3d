"""What a crowd costs the players: `python -m tests.bench.watchers [WATCHERS] [--races N]` from the top of the tree.

A server in one process, two players in another, and in a third WATCHERS lines (1,000 by default) that watch their races, all over real
sockets. N races are run without watchers and N with them, a move every PACE_S seconds, and N more in which each player moves as soon as
he is answered, to see what the hub can deliver. Boards are not late here, so that each move is two messages to every watcher.

Printed for each: moves; milliseconds from a move to its view, p50 and p99; what the server's process had of one processor, in percent; and
of the watchers deliveries a second, processor time of the server for one, and milliseconds from the first watcher's having a message to the
last one's, p50 and p99. The three processes share the machine, and the crowd's own work is about as much as the server's.
"""

from __future__ import annotations

import argparse
import base64
import logging
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import msgpack
import trio
from websockets.frames import Frame, Opcode
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from protocol.client_messages import ClientMessage, Hello, JoinRace, Move, OpenRace, Ready, Rematch, WatchRace
from protocol.codec import MSGPACK, encode, server_message_decoder
from protocol.server_messages import Dealt, Error, PlayerView, Result, Room, ServerMessage, Started, Welcome
from protocol.views import RaceOptions
from server.app import running
from server.config import Settings

PACE_S: Final = 0.25

decode = server_message_decoder(MSGPACK).decode


# ---- the players


class Player:
    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.seat = self.ply = 0
        self.race = 1
        self.moves: tuple[str, ...] = ()
        self.over = False

    async def say(self, message: ClientMessage) -> None:
        await self.line.send(encode(message, MSGPACK))

    async def hear_of(self, kind: type[ServerMessage]) -> ServerMessage:
        while True:
            data = await self.line.recv(decode=False)
            assert isinstance(data, bytes)
            message = decode(data)
            match message:
                case Error() if message.code != "race/over":
                    raise AssertionError(message)
                case Room(seat=seat, race=race):
                    self.seat, self.race, self.over = seat or 0, race, False
                case Dealt(view=view):
                    self.ply, self.moves = 0, view.moves
                case PlayerView(ply=ply, view=view):
                    self.ply, self.moves = ply, view.moves
                case Result():
                    self.over = True
                case _:
                    pass
            if isinstance(message, kind) or self.over:
                return message

    async def race_on(self, pause_s: float, took: list[float]) -> None:
        """To the end of the race, the stock first: that takes the most moves."""
        while self.moves and not self.over:
            move = next((move for move in ("s", "r") if move in self.moves), self.moves[0])
            began = time.perf_counter()
            await self.say(Move(race=self.race, seat=self.seat, ply=self.ply, move=move))
            await self.hear_of(PlayerView)
            took.append(time.perf_counter() - began)
            await trio.sleep(pause_s)
        if not self.over:
            await self.hear_of(Result)


@asynccontextmanager
async def player(url: str, name: str) -> AsyncIterator[Player]:
    async with connect(url, subprotocols=[Subprotocol(MSGPACK)], compression=None, proxy=None, max_queue=None, ping_interval=None) as line:
        one = Player(line)
        await one.say(Hello(name=name))
        await one.hear_of(Welcome)
        yield one


async def race(players: tuple[Player, Player], pause_s: float) -> list[float]:
    """From readiness to the next race's room."""
    took: list[float] = []
    for number, one in enumerate(players):
        await one.say(Ready(race=one.race, nonce=f"{number:032x}"))
    for one in players:
        await one.hear_of(Started)
    async with trio.open_nursery() as nursery:
        for one in players:
            nursery.start_soon(one.race_on, pause_s, took)
    for one in players:
        await one.say(Rematch(race=one.race))
    for one in players:
        one.over = False
        await one.hear_of(Room)
    return took


# ---- the crowd


def head(url: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = (
        "GET / HTTP/1.1",
        f"Host: {urlsplit(url).netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: {MSGPACK}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


class Line:
    """One watcher, by a plain socket: a whole client for each would cost more than the server does."""

    def __init__(self, url: str, code: str, number: int) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.sendall(head(url))
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(4096)
        for message in (Hello(name=f"Eve {number}"), WatchRace(code=code)):
            self.socket.sendall(Frame(Opcode.BINARY, encode(message, MSGPACK)).serialize(mask=True))
        self.socket.setblocking(False)
        self.data = data.partition(b"\r\n\r\n")[2]

    def frames(self) -> list[tuple[int, bytes]]:
        """What has come: opcode and payload."""
        data = self.data + self.socket.recv(1 << 20)
        found = []
        while len(data) >= 2:
            size, start = data[1], 2
            if size == 126:
                size, start = int.from_bytes(data[2:4], "big"), 4
            elif size == 127:
                size, start = int.from_bytes(data[2:10], "big"), 10
            if len(data) < start + size:
                break
            found.append((data[0] & 15, data[start : start + size]))
            data = data[start + size :]
        self.data = data
        return found


class Crowd:
    """Says `ready` when everybody watches; from then on each line of standard input is answered with a report of what came meanwhile."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._selector = selectors.DefaultSelector()
        self._watching = self._got = 0
        self._times: dict[bytes, list[float]] = {}

    def run(self, url: str, code: str) -> None:
        for number in range(self._size):
            line = Line(url, code, number)
            self._selector.register(line.socket, selectors.EVENT_READ, line)
            # Pings are answered meanwhile.
            self._hear(0)
        while self._watching < self._size:
            self._hear(None)
        print("ready", flush=True)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        while self._hear(None):
            pass

    def _hear(self, timeout: float | None) -> bool:
        """False when standard input has ended."""
        for key, _ in self._selector.select(timeout):
            if key.data is not None:
                self._read(key.data)
            elif sys.stdin.readline():
                self._report()
            else:
                return False
        return True

    def _read(self, line: Line) -> None:
        for opcode, payload in line.frames():
            if opcode == Opcode.PING:
                line.socket.sendall(Frame(Opcode.PONG, payload).serialize(mask=True))
            elif self._watching < self._size:
                self._watching += msgpack.unpackb(payload)["type"] == "watched"
            else:
                self._got += 1
                self._times.setdefault(payload, []).append(time.perf_counter())

    def _report(self) -> None:
        spans = sorted(moments[-1] - moments[0] for moments in self._times.values() if len(moments) == self._size)
        print(self._got, *(f"{1000 * at(spans, share):.1f}" for share in (0.5, 0.99)), flush=True)
        self._got = 0
        self._times.clear()


def at(values: list[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


# ---- the measurements


def program(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.bench.watchers", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str], asked: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(asked)
    process.stdin.flush()
    return process.stdout.readline().strip()


def close(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def processor_s(pid: int) -> float:
    """Seconds that a process has had of a processor."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


Pair: TypeAlias = tuple[Player, Player]
Process: TypeAlias = subprocess.Popen[str]


async def measured(what: str, players: Pair, races: int, *, pause_s: float, pid: int, watching: Process | None = None) -> None:
    took: list[float] = []
    if watching is not None:
        await trio.to_thread.run_sync(answer, watching, "\n")
    began, cpu = time.perf_counter(), processor_s(pid)
    racing_s = 0.0
    for _ in range(races):
        race_began = time.perf_counter()
        took += await race(players, pause_s)
        # The countdown is a second in which nothing is sent.
        racing_s += time.perf_counter() - race_began - 1
    cpu = processor_s(pid) - cpu
    share = cpu / (time.perf_counter() - began)
    row = f"{what:<20}{len(took):6}{1000 * at(sorted(took), 0.5):9.2f}{1000 * at(sorted(took), 0.99):9.2f}{100 * share:7.0f}"
    if watching is not None:
        count, p50, p99 = (await trio.to_thread.run_sync(answer, watching, "\n")).split()
        row += f"{int(count) / racing_s:12,.0f}{1e6 * cpu / int(count):8.1f}{p50:>9}{p99:>9}"
    print(row, flush=True)


async def measure(url: str, pid: int, size: int, races: int) -> None:
    async with player(url, "Ann") as ann, player(url, "Bob") as bob:
        await ann.say(OpenRace(options=RaceOptions(rules="carpet-redeal", delay_s=0, countdown_s=1)))
        room = await ann.hear_of(Room)
        assert isinstance(room, Room)
        await bob.say(JoinRace(code=room.code))
        await bob.hear_of(Room)
        pair = (ann, bob)
        print(f"{f'{size} watchers':<20} moves   p50 ms   p99 ms  cpu %   deliv. /s  us each last p50 last p99")
        await measured("without, paced", pair, races, pause_s=PACE_S, pid=pid)
        await measured("without, hurried", pair, races, pause_s=0, pid=pid)
        watching = program("--crowd", url, room.code, str(size))
        try:
            assert await trio.to_thread.run_sync(answer, watching) == "ready"
            await measured("with, paced", pair, races, pause_s=PACE_S, pid=pid, watching=watching)
            await measured("with, hurried", pair, races, pause_s=0, pid=pid, watching=watching)
        finally:
            close(watching)


async def serve() -> None:
    # The crowd goes without a word, which is of no interest here.
    logging.disable()
    async with running(Settings(port=0, rate=1e6, burst=1_000_000)) as url:
        print(url, flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("watchers", nargs="?", type=int, default=1000)
    parser.add_argument("--races", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crowd", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        trio.run(serve)
    elif chosen.crowd:
        url, code, size = chosen.crowd
        Crowd(int(size)).run(url, code)
    else:
        server = program("--serve")
        try:
            trio.run(measure, answer(server), server.pid, chosen.watchers, chosen.races)
        finally:
            close(server)


if __name__ == "__main__":
    main()
