"""What one client who asks for all that it may does to the moves of others: `python -m tests.bench.attacker [--attack NAME]`.

A server as a host starts it, with its own limits, on a SQLite file. Two players race beside it, ten moves a second each; by turns nobody
else is there, and one attacker sends one kind of request as fast as the rate lets it, or a mixture of all. Printed is the time from a move
to its view, in the median and for 99 of 100. Fails where an attacker makes the latter more than twice what it is without one.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
import threading
import time
from typing import Any, Final

from websockets.exceptions import ConnectionClosed

from tests.e2e.commands import running_server
from tests.e2e.peer import Peer, Racer

PACE_S: Final = 0.05
"""Between two moves of the pair."""
RATE_S: Final = 1 / 18
"""Between two requests of the attacker: a little less than the rate lets through, so that nothing is dropped for its number."""
FACTOR: Final = 2.0
TURNS: Final = 4

ATTACKS: Final[dict[str, list[tuple[str, dict[str, Any]]]]] = {
    "who-am-i": [("who-am-i", {})],
    "list-challenges": [("list-challenges", {})],
    "list-dailies": [("list-dailies", {})],
    "list-runs": [("list-runs", {"kind": "daily"})],
    "play-on": [("play-on", {"race": "QXZWVS-1-000000000000", "seat": 0, "ply": 1})],
    "open-race, leave-race": [("open-race", {"options": {"public": True}}), ("leave-race", {})],
    "create-tournament": [("create-tournament", {"options": {"name": "Cup", "fill": 256, "places": 256}})],
    "run-daily, leave-race": [("run-daily", {}), ("leave-race", {})],
}
ATTACKS["all of them"] = [request for requests in list(ATTACKS.values()) for request in requests]

Times = list[float]


class Pair:
    """Two players who race on and on, in one race after another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._names = itertools.count()

    def race(self, seconds: float) -> Times:
        """Milliseconds of each move."""
        times: Times = []
        until = time.perf_counter() + seconds
        # One move at least, however long it takes to sit down.
        while time.perf_counter() < until or not times:
            number = next(self._names)
            with Racer(self._url, f"Ada {number}") as ada, Racer(self._url, f"Bob {number}") as bob:
                ada.sit_down("open-race", options={"public": False, "countdown_s": 1, "rated": False})
                bob.sit_down("join-race", code=ada.code)
                for player in (ada, bob):
                    player.ready()
                for player in (ada, bob):
                    player.start()
                for player in itertools.cycle((ada, bob)):
                    # Who brings everything home ends the race for both.
                    if not (ada.view["moves"] and bob.view["moves"]) or (times and time.perf_counter() >= until):
                        break
                    began = time.perf_counter()
                    player.play()
                    times.append((time.perf_counter() - began) * 1000)
                    time.sleep(max(began + PACE_S - time.perf_counter(), 0))
        return times


def attack(url: str, name: str, requests: list[tuple[str, dict[str, Any]]], stop: threading.Event) -> None:
    """Until told to stop; comes again where it is put out."""
    due = time.perf_counter()
    endless = itertools.cycle(requests)
    for number in itertools.count():
        if stop.is_set():
            return
        with contextlib.suppress(ConnectionClosed), Peer(url, f"{name} {number}") as attacker:
            while not stop.is_set():
                kind, fields = next(endless)
                attacker.websocket.send(json.dumps({"type": kind, **fields}))
                due = max(due + RATE_S, time.perf_counter())
                with contextlib.suppress(TimeoutError):
                    # What comes is thrown away, so that it is no slow reader.
                    while (left := due - time.perf_counter()) > 0:
                        attacker.websocket.recv(timeout=left)


def percentile(times: Times, share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def shown(times: Times) -> str:
    return f"p50 {percentile(times, 0.5):5.1f} p99 {percentile(times, 0.99):6.1f} ms of {len(times)}"


def by_turns(pair: Pair, url: str, requests: list[tuple[str, dict[str, Any]]], seconds: float) -> tuple[Times, Times]:
    """Without the attacker and with them, a little at a time: other programs of the machine come and go."""
    alone: Times = []
    attacked: Times = []
    for _ in range(TURNS):
        alone += pair.race(seconds / TURNS)
        stop = threading.Event()
        attacker = threading.Thread(target=attack, args=(url, "Eve", requests, stop))
        attacker.start()
        attacked += pair.race(seconds / TURNS)
        stop.set()
        attacker.join()
    return alone, attacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each kind of attack, and as many without one")
    parser.add_argument("--attack", choices=list(ATTACKS), help="this kind alone")
    options = parser.parse_args()
    worst = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server("--database", f"{folder}/races.sqlite3", "--log-level", "error") as (url, _),
    ):
        pair = Pair(url)
        pair.race(2)
        for name in [options.attack] if options.attack else ATTACKS:
            alone, attacked = by_turns(pair, url, ATTACKS[name], options.seconds)
            ratio = percentile(attacked, 0.99) / percentile(alone, 0.99)
            worst = max(worst, ratio)
            print(f"{name:24} alone {shown(alone)}, attacked {shown(attacked)}: {ratio:4.1f} times", flush=True)
    if worst > FACTOR:
        sys.exit(f"an attacker makes 99 of 100 moves {worst:.1f} times as slow")


if __name__ == "__main__":
    main()
