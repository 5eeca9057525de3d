"""What a crowd costs the players: `python -m tests.bench.watchers [WATCHERS]` from the top of the tree.

The server is one process, PAIRS pairs of players another. WATCHERS guests (1,000 by default), IN_ONE to a process, watch the first pair.
All use real sockets. Paced: N races of every pair with a move every --pace seconds, without watchers and with them. Hurried: HURRIED times
as many races of the watched pair alone, in which players move as soon as they are answered, to see what can be delivered. Boards have no
delay here, so each move makes two messages to every watcher. All of it takes about a minute and a half.

For each it prints moves; milliseconds from a move to its view, p50 and p99, for the watched pair and for the other players; and the
server's share of one processor, in percent. For watchers it prints deliveries a second during races, and the server's processor time for
one; the milliseconds from the first watcher's getting a message to the last one's, p50 and p99; and the longest time from a player's
getting their view to the last watcher's hearing of the move.

The server has one core, and everybody else shares another, so the crowd does as little as it can. Only its SCOUTS read messages as they
come, and all times are theirs; the other sockets are emptied every DRAIN_S seconds. All connections must have heard equally much, and none
may have been dropped.
"""

from __future__ import annotations

import argparse
import base64
import logging
import selectors
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import msgpack
import msgspec
import trio
from websockets.frames import Frame, Opcode
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from protocol.client_messages import ClientMessage, Hello, JoinRace, Move, OpenRace, Ready, Rematch
from protocol.codec import MSGPACK, encode, server_message_decoder
from protocol.room_events import Dealt, PlayerView, Result, Room, Started
from protocol.server_messages import Error, ServerMessage, Welcome
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace
from server.app import running
from server.config import DEFAULT_CONNECTIONS, Settings
from server.net.descriptors import raise_limit
from server.runtime.gc_tuning import seldom_collected
from tests.bench.lines import Line
from tests.bench.processes import processor_s
from tests.bench.side_by_side import settle

PACE_S: Final = 0.2
PAIRS: Final = 4
HURRIED: Final = 3
SCOUTS: Final = 21
"""In each process of the crowd."""
IN_ONE: Final = 2500
DRAIN_S: Final = 0.1
ASK_AGAIN_S: Final = 0.2

decode = server_message_decoder(MSGPACK).decode


# ---- the players


class Player:
    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.seat = self.ply = 0
        self.race = 1
        self.moves: tuple[str, ...] = ()
        self.over = False
        self.seen: dict[tuple[int, int], list[float]] = {}
        """When they had the view after a move, by seat and ply, for one race after the other."""

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
        """Play to the end of the race, turning the stock first: that takes the most moves."""
        while self.moves and not self.over:
            move = next((move for move in ("s", "r") if move in self.moves), self.moves[0])
            began = time.perf_counter()
            await self.say(Move(race=self.race, seat=self.seat, ply=self.ply, move=move))
            await self.hear_of(PlayerView)
            now = time.perf_counter()
            took.append(now - began)
            self.seen.setdefault((self.seat, self.ply), []).append(now)
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


Pair: TypeAlias = tuple[Player, Player]


async def race(players: Pair, pause_s: float) -> list[float]:
    """Run a race, from getting ready to the room of the next race."""
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


class Watcher(Line):
    watches = False


def watcher(url: str, code: str) -> Watcher | None:
    """A watcher who has asked to watch; None if the server is busy."""
    place = urlsplit(url)
    assert place.hostname is not None
    assert place.port is not None
    line = Watcher(place.hostname, place.port)
    if not line.is_let_in():
        line.socket.close()
        return None
    for message in (Hello(name="", watch=True), WatchRace(code=code)):
        line.socket.sendall(Frame(Opcode.BINARY, encode(message, MSGPACK)).serialize(mask=True))
    line.socket.setblocking(False)
    return line


class Told(msgspec.Struct):
    """What one process of the crowd has heard: all messages, the fewest and most of one watcher; when its first and last scout had each."""

    heard: int
    fewest: int
    most: int
    dropped: int
    times: dict[bytes, tuple[float, float]]


class Crowd:
    """Prints `ready` when everybody watches. Then each line of standard input is answered with a report of what came since the last."""

    def __init__(self, urls: Sequence[str], code: str, size: int) -> None:
        self._lines: list[Watcher] = []
        for number in range(size):
            while (line := watcher(urls[number % len(urls)], code)) is None:
                # Those who are here have to answer pings while the server is busy.
                self._find_watching()
                time.sleep(ASK_AGAIN_S)
            self._lines.append(line)
            if number % 100 == 0:
                self._find_watching()
        # The first and the last watcher are scouts.
        count = min(size, SCOUTS)
        self._scouts = {self._lines[round(number * (size - 1) / max(count - 1, 1))] for number in range(count)}
        self._times: dict[bytes, list[float]] = {}

    def run(self) -> None:
        while not all(line.watches for line in self._lines):
            self._find_watching()
            time.sleep(DRAIN_S)
        selector = selectors.DefaultSelector()
        for scout in self._scouts:
            selector.register(scout.socket, selectors.EVENT_READ, scout)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        drained_at = time.perf_counter()
        while True:
            for key, _ in selector.select(max(drained_at + DRAIN_S - time.perf_counter(), 0)):
                if key.data is not None:
                    self._note(key.data)
                elif sys.stdin.readline():
                    self._report()
                else:
                    return
            if time.perf_counter() >= drained_at + DRAIN_S:
                self._drain()
                drained_at = time.perf_counter()

    def _find_watching(self) -> None:
        for line in self._lines:
            for payload in line.read():
                line.watches = line.watches or msgpack.unpackb(payload)["type"] == "watched"

    def _note(self, scout: Watcher) -> None:
        payloads = scout.read()
        now = time.perf_counter()
        for payload in payloads:
            self._times.setdefault(payload, []).append(now)

    def _drain(self) -> None:
        for line in self._lines:
            if line not in self._scouts:
                line.read()

    def _report(self) -> None:
        # Let what is under way arrive.
        time.sleep(2 * DRAIN_S)
        for scout in self._scouts:
            self._note(scout)
        self._drain()
        told = Told(
            heard=sum(line.heard for line in self._lines),
            fewest=min(line.heard for line in self._lines),
            most=max(line.heard for line in self._lines),
            dropped=sum(line.dropped for line in self._lines),
            times={payload: (moments[0], moments[-1]) for payload, moments in self._times.items() if len(moments) == len(self._scouts)},
        )
        print(base64.b64encode(msgspec.msgpack.encode(told)).decode(), flush=True)
        self._times.clear()
        for line in self._lines:
            line.heard = 0


def at(values: list[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


# ---- the measurements


def program(*arguments: str, core: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.bench.watchers", *arguments]
    alone = partial(settle, core)
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=alone)


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


Process: TypeAlias = subprocess.Popen[str]


async def measured(what: str, pairs: Sequence[Pair], races: int, *, pause_s: float, pid: int, watching: Sequence[Process] = ()) -> None:
    """Run races, measure and print. The first pair is the watched one."""
    took: list[list[float]] = [[] for _ in pairs]
    await trio.to_thread.run_sync(reports, watching)
    for one in pairs[0]:
        one.seen.clear()
    began, cpu = time.perf_counter(), processor_s(pid)
    racing_s = 0.0

    async def run(pair: Pair, into: list[float]) -> None:
        into += await race(pair, pause_s)

    for _ in range(races):
        race_began = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for pair, into in zip(pairs, took, strict=True):
                nursery.start_soon(run, pair, into)
        # Subtract the countdown: a second in which nothing is sent.
        racing_s += time.perf_counter() - race_began - 1
    cpu = processor_s(pid) - cpu
    share = cpu / (time.perf_counter() - began)
    others = [seconds for each in took[1:] for seconds in each]
    row = f"{what:<18}{sum(map(len, took)):6}"
    for players in (took[0], others):
        row += "".join(f"{1000 * at(sorted(players), share):9.2f}" for share in (0.5, 0.99))
    row += f"{100 * share:7.0f}"
    if watching:
        told = await trio.to_thread.run_sync(reports, watching)
        count = sum(each.heard for each in told)
        apart = max(each.most for each in told) - min(each.fewest for each in told)
        spans, late = lateness(told, pairs[0])
        row += (
            f"{count / racing_s:12,.0f}{1e6 * cpu / count:8.1f}{1000 * at(spans, 0.5):9.1f}{1000 * at(spans, 0.99):9.1f}{1000 * late:9.0f}"
        )
        if apart:
            row += f"  some watchers heard {apart} messages more than others"
        if dropped := sum(each.dropped for each in told):
            row += f"  {dropped} watchers were dropped"
    print(row, flush=True)


def reports(watching: Sequence[Process]) -> list[Told]:
    """What each process of the crowd has heard since the last report."""
    # Ask all at once: each waits for what is under way.
    for process in watching:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [msgspec.msgpack.decode(base64.b64decode(answer(process)), type=Told) for process in watching]


def lateness(told: Sequence[Told], players: Pair) -> tuple[list[float], float]:
    """Seconds from the first watcher's getting a message to the last one's, sorted; and from a player's view to the last watcher."""
    met = set.intersection(*(set(each.times) for each in told))
    moments = {payload: (min(each.times[payload][0] for each in told), max(each.times[payload][1] for each in told)) for payload in met}
    seen = {key: list(times) for player in players for key, times in player.seen.items()}
    late = 0.0
    for payload, (_, last) in sorted(moments.items(), key=lambda item: item[1]):
        event = msgpack.unpackb(payload).get("event") or {}
        if event.get("type") == "progress" and (times := seen.get((event["seat"], event["ply"]))):
            late = max(late, last - times.pop(0))
    return sorted(last - first for first, last in moments.values()), late


@asynccontextmanager
async def pair_of_players(url: str, number: int) -> AsyncIterator[tuple[Pair, str]]:
    """A pair of players, and the code of their room."""
    async with player(url, f"Ann {number}") as ann, player(url, f"Bob {number}") as bob:
        await ann.say(OpenRace(options=RaceOptions(rules="carpet-redeal", delay_s=0, countdown_s=1)))
        room = await ann.hear_of(Room)
        assert isinstance(room, Room)
        await bob.say(JoinRace(code=room.code))
        await bob.hear_of(Room)
        yield (ann, bob), room.code


async def measure(url: str, pid: int, size: int, races: int, *, pace_s: float, hurries: bool) -> None:
    async with AsyncExitStack() as stack:
        seated = [await stack.enter_async_context(pair_of_players(url, number)) for number in range(PAIRS)]
        pairs, code = [pair for pair, _ in seated], seated[0][1]
        print(f"{'':<24}  watched pair      other players")
        print(f"{f'{size} watchers':<18} moves   p50 ms   p99 ms   p50 ms   p99 ms  cpu %   deliv. /s  us each last p50 last p99  latest")
        await measured("without, paced", pairs, races, pause_s=pace_s, pid=pid)
        if hurries:
            await measured("without, hurried", pairs[:1], HURRIED * races, pause_s=0, pid=pid)
        watching: list[Process] = []
        try:
            # One after the other, so that their first watchers come first.
            for begin in range(0, size, IN_ONE):
                watching.append(program("--crowd", url, code, str(min(IN_ONE, size - begin)), core=-1))
                assert await trio.to_thread.run_sync(answer, watching[-1]) == "ready"
            await measured("with, paced", pairs, races, pause_s=pace_s, pid=pid, watching=watching)
            if hurries:
                await measured("with, hurried", pairs[:1], HURRIED * races, pause_s=0, pid=pid, watching=watching)
        finally:
            for process in watching:
                close(process)


async def serve(database: str, size: int) -> None:
    # The crowd leaves without a goodbye, which need not be logged here.
    logging.disable()
    raise_limit()
    # One address may have four fifths of all connections.
    connections = max(2 * size, DEFAULT_CONNECTIONS)
    async with running(Settings(port=0, rate=1e6, burst=1_000_000, database=database, max_connections=connections)) as url:
        print(url, flush=True)
        with seldom_collected():
            await trio.to_thread.run_sync(sys.stdin.readline)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("watchers", nargs="?", type=int, default=1000)
    parser.add_argument("--races", type=int, default=2)
    parser.add_argument("--pace", type=float, default=PACE_S, help="seconds between two moves of a player")
    parser.add_argument("--no-hurry", action="store_true", help="only the paced races")
    parser.add_argument("--database", default="memory")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crowd", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        trio.run(serve, chosen.database, chosen.watchers)
    elif chosen.crowd:
        urls, code, size = chosen.crowd
        raise_limit()
        Crowd(urls.split(","), code, int(size)).run()
    else:
        server = program("--serve", "--database", chosen.database, str(chosen.watchers), core=0)
        try:
            ready = partial(measure, pace_s=chosen.pace, hurries=not chosen.no_hurry)
            trio.run(ready, answer(server), server.pid, chosen.watchers, chosen.races)
        finally:
            close(server)


if __name__ == "__main__":
    main()
