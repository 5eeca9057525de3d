"""Moves a second through a whole server, with and without a journal: `python -m tests.bench.acknowledged_moves [--races N …]`.

A server process for each place to keep things (memory, a SQLite file in a folder of its own, PostgreSQL when it answers), and races of two
scripted players each over real sockets, from a second process. Every player plays one of the moves they were shown, at random, sends the
next when they have the view after the last, and opens another race when one is over. Printed for each place and number of races:
- a second: accepted moves, closed loop: nobody pauses, so both processes are as busy as they can be, the players' too;
- p50, p99: milliseconds from sending a move to its view;
- paced: the same with a move every two seconds a player, as people play.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgpack
import trio
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Subprotocol

ROOT: Final = Path(__file__).parents[2]
POSTGRES: Final = os.environ.get("CARPET_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test"
SECONDS: Final = 6.0
WARM_S: Final = 2.0
PACE_S: Final = 2.0

Message: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Tally:
    """delays: seconds of the moves that were sent while `counting`."""

    counting: bool = False
    delays: list[float] = field(default_factory=list)


async def play(url: str, number: int, tally: Tally, pace_s: float | None) -> None:
    """One race after another between two connections of one's own."""
    generator = random.Random(number)
    codes_send, codes = trio.open_memory_channel[str](1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sit, url, f"a{number}", codes_send, None, tally, pace_s, generator)
        nursery.start_soon(sit, url, f"b{number}", None, codes, tally, pace_s, generator)


async def sit(
    url: str,
    name: str,
    opens: trio.MemorySendChannel[str] | None,
    joins: trio.MemoryReceiveChannel[str] | None,
    tally: Tally,
    pace_s: float | None,
    generator: random.Random,
) -> None:
    async with connect(url, subprotocols=[Subprotocol("carpet.v1.msgpack")], compression=None, proxy=None, max_queue=None) as ws:
        await say(ws, {"type": "hello", "name": name})
        await until(ws, "welcome")
        if opens is not None:
            await say(ws, {"type": "open-race", "options": {"public": False, "countdown_s": 1}})
            room = await until(ws, "room")
            await opens.send(room["code"])
        else:
            assert joins is not None
            await say(ws, {"type": "join-race", "code": await joins.receive()})
            room = await until(ws, "room")
        while True:
            room = await race(ws, room, tally, pace_s, generator)


async def race(ws: ClientConnection, room: Message, tally: Tally, pace_s: float | None, generator: random.Random) -> Message:
    """Play to the result, ask for a rematch, give the next race's room."""
    number, seat = room["race"], room["seat"]
    await say(ws, {"type": "ready", "race": number, "nonce": secrets.token_hex(16)})
    view = (await until(ws, "dealt"))["view"]
    await until(ws, "started")
    ply, state = 0, "racing"
    message: Message = {}
    while state == "racing":
        if pace_s is not None:
            await trio.sleep(pace_s * generator.uniform(0.5, 1.5))
        move = generator.choice(view["moves"])
        counting = tally.counting
        began = time.perf_counter()
        await say(ws, {"type": "move", "race": number, "seat": seat, "ply": ply, "move": move})
        message = await until(ws, "view", "result", "current-view")
        if message["type"] == "result":
            break
        if counting and message["type"] == "view":
            tally.delays.append(time.perf_counter() - began)
        view, ply, state = message["view"], message["ply"], message["state"]
    else:
        message = {}
    if message.get("type") != "result":
        await until(ws, "result")
    await say(ws, {"type": "rematch", "race": number})
    return await until(ws, "room")


async def say(ws: ClientConnection, message: Message) -> None:
    await ws.send(msgpack.packb(message))


async def until(ws: ClientConnection, *types: str) -> Message:
    while True:
        message: Message = msgpack.unpackb(await ws.recv(decode=False))
        if message["type"] in types:
            return message
        if message["type"] == "error" and message["code"] not in ("race/over", "race/seat-ended"):
            raise AssertionError(message)


async def measure(url: str, races: int, pace_s: float | None) -> tuple[float, float, float]:
    """Accepted moves a second, and p50 and p99 in milliseconds."""
    tally = Tally()
    async with trio.open_nursery() as nursery:
        for number in range(races):
            nursery.start_soon(play, url, number, tally, pace_s)
        # Until everybody has connected, raced for a moment and is out of step with the others.
        await trio.sleep(WARM_S + races / 100 + (pace_s or 0.0) + 1.0)
        tally.counting = True
        began = time.perf_counter()
        await trio.sleep(SECONDS)
        took = time.perf_counter() - began
        tally.counting = False
        nursery.cancel_scope.cancel()
    found = sorted(tally.delays)
    assert found
    return len(found) / took, found[len(found) // 2] * 1e3, found[len(found) * 99 // 100] * 1e3


@contextmanager
def a_server(place: str) -> Iterator[str]:
    """The URL of a server process that keeps things at `place`."""
    command = [sys.executable, "-m", "server.cli.main", "serve", "--port", "0", "--database", place]
    command += ["--rate", "100000", "--burst", "100000", "--log-level", "error"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            assert line.startswith("listening on "), line
            yield line.removeprefix("listening on ").strip()
        finally:
            process.send_signal(signal.SIGKILL)


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """Where to keep things: a name and a --database each, empty at first and removed afterwards."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        found = {"memory": "memory", "SQLite": str(Path(folder).resolve() / "bench.sqlite3")}
        try:
            import psycopg

            administrator = psycopg.connect(POSTGRES, autocommit=True)
        except Exception as error:  # noqa: BLE001  (whatever the driver raises when no server answers)
            print(f"PostgreSQL was not measured: {error}")
            yield found
            return
        with administrator:
            schema = f"carpet_bench_{secrets.token_hex(4)}"
            administrator.execute(f"CREATE SCHEMA {schema}")
            try:
                found["PostgreSQL"] = f"{POSTGRES}{'&' if '?' in POSTGRES else '?'}options=-csearch_path%3D{schema}"
                yield found
            finally:
                administrator.execute(f"DROP SCHEMA {schema} CASCADE")


def main() -> None:
    parser = argparse.ArgumentParser(description="Moves a second through a whole server, with and without a journal.")
    parser.add_argument("--races", type=int, nargs="*", default=[1, 10, 100])
    arguments = parser.parse_args()
    print(f"{'kept in':<11} {'races':>6} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8}   paced: a second, p50 and p99 ms")
    with places() as found:
        for name, place in found.items():
            for races in arguments.races:
                with a_server(place) as url:
                    rate, p50, p99 = trio.run(measure, url, races, None)
                with a_server(place) as url:
                    paced = trio.run(measure, url, races, PACE_S)
                print(
                    f"{name:<11} {races:>6} {rate:>9,.0f} {p50:>8.2f} {p99:>8.2f}   {paced[0]:>6,.0f} {paced[1]:>8.2f} {paced[2]:>8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
