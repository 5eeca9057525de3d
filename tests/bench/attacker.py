"""How much one client that asks for all it may slows down the moves of others: `python -m tests.bench.attacker [--attack NAME]`.

The server runs as a host starts it, with its usual limits, on a SQLite file. Two players race on it, ten moves a second each. By turns
nobody else is there, or one attacker sends one kind of request, or a mixture of all, as fast as the rate limit lets it. It prints the time
from a move to its view, p50 and p99, and fails if an attacker more than doubles the p99.
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
"""Seconds between two moves of the pair."""
RATE_S: Final = 1 / 18
"""Seconds between two requests of the attacker: just below the rate limit, so that nothing is dropped for coming too fast."""
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
    """Two players who run one race after another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._names = itertools.count()

    def race(self, seconds: float) -> Times:
        """Race for this long. Returns the milliseconds that each move took."""
        times: Times = []
        until = time.perf_counter() + seconds
        # At least one move, however long it takes to sit down.
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
                    # A player who brings everything home ends the race for both.
                    if not (ada.view["moves"] and bob.view["moves"]) or (times and time.perf_counter() >= until):
                        break
                    began = time.perf_counter()
                    player.play()
                    times.append((time.perf_counter() - began) * 1000)
                    time.sleep(max(began + PACE_S - time.perf_counter(), 0))
        return times


def attack(url: str, name: str, requests: list[tuple[str, dict[str, Any]]], stop: threading.Event) -> None:
    """Attack until told to stop; come back whenever the server closes the connection."""
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
                    # Read and drop all answers, so as not to be a slow reader.
                    while (left := due - time.perf_counter()) > 0:
                        attacker.websocket.recv(timeout=left)


def percentile(times: Times, share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def shown(times: Times) -> str:
    return f"p50 {percentile(times, 0.5):5.1f} p99 {percentile(times, 0.99):6.1f} ms of {len(times)}"


def by_turns(pair: Pair, url: str, requests: list[tuple[str, dict[str, Any]]], seconds: float) -> tuple[Times, Times]:
    """Measure without and with the attacker by short turns, since other programs on the machine come and go."""
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
