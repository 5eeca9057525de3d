"""One process of the load generator: many players on their own connections, each move and its answers timed by one clock.

Both players of a race live in the same process, so that the opponent's progress is timed by the same clock too. They always play one of the
moves that the server offers. Must not know how many other processes there are.
"""

from __future__ import annotations

import math
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import Final

import msgspec

from client.connection.address import Address, parse_address
from client.local.load_figures import Histogram, LoadCounts
from client.local.load_wire import Connection, Loop, Told
from protocol.text import counted

CONNECTING: Final = 32
"""How many races a process sets up at a time, until their players are both seated and ready."""
SETUP_S: Final = 30.0
"""Seconds without another race starting after which set-up ends."""
REFUSED_S: Final = 5.0
"""The same, once anything was refused."""
SETTLE_S: Final = 1.0
REPORT_S: Final = 0.2
WAIT_S: Final = 1.0
"""Seconds until the next attempt, if the server says to come again later but not when."""
LEAVING: Final = 300
"""Races per second whose players leave after the measurement."""
TURNED_AWAY: Final = "the server answers 503"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What one process does. rate: moves per second of each player; 0 to move as soon as the last move is answered. fewer: if not all races
    can be opened, measure those that run.
    """

    url: str
    races: int
    rate: float
    watchers: int
    rules: str
    fewer: bool = False


# ---- the game


class Player:
    """One seat: sets up its race, plays at its rate, asks for a rematch when it is over."""

    def __init__(self, load: Load, race: Race, name: str) -> None:
        self._load, self._race = load, race
        self._name = name
        self._seat = self._number = self._ply = 0
        self._moves: tuple[str, ...] = ()
        self._due: float | None = None  # when the move was due that is to be made as soon as possible
        self._started = 0  # counts starts and ends: what was due before the last one is no longer due
        self._connect()

    def opened(self) -> None:
        self.line.say(type="hello", name=self._name, software="carpet load")

    def closed(self, why: str) -> None:
        if why == TURNED_AWAY and not self._load.measuring:
            self._load.later(self._connect)
            return
        self._load.failed(why)
        self._moves = ()

    def _connect(self) -> None:
        self.line = Connection(self._load.address, self._load.loop, self)

    def heard(self, message: Told, now: float) -> None:
        if self._load.leaving:
            return
        match message.type:
            case "view" | "dealt" | "current-view":
                if message.type == "view":
                    self._load.view(self._race.sent.get((self._seat, message.ply)), now)
                self._deal(message)
            case "progress" if message.seat != self._seat:
                self._load.told(self._load.tally.progress, self._race.sent.get((message.seat or 0, message.ply)), now)
            case "welcome":
                self._race.welcomed(self)
            case "room":
                self._seat, self._number, self._ply, self._moves = message.seat or 0, message.race, 0, ()
                self._race.code = message.code
                if message.phase == "waiting":
                    self._race.entered()
            case "started":
                self._race.started()
                self._started += 1
                self._next_at(now + self._load.first_pause())
            case "result" | "ended":
                self._moves, self._due = (), None
                self._started += 1
                self.line.say(type="rematch", race=self._number)
            case "error" if message.code == "server/busy" and not self._race.code:
                self._load.later(self._race.open, message.retry_after_ms / 1000)
            case "error" if message.code != "race/over":
                # The opponent may win while a move is on its way.
                self._load.failed(message.code)
            case _:
                pass

    def get_ready(self) -> None:
        self.line.say(type="ready", race=self._number, nonce=os.urandom(16).hex())

    def _deal(self, message: Told) -> None:
        self._ply = message.ply
        self._moves = message.view.moves if message.view is not None and message.state in ("", "racing") else ()
        if self._due is not None and self._moves:
            self._move(self._due)

    def _next_at(self, due: float) -> None:
        self._load.loop.at(due, partial(self._play, self._started))

    def _play(self, started: int, due: float) -> None:
        """A move is due: make it now, or once the last one is answered. Either way it is timed from when it was due."""
        if started != self._started or self._load.leaving:
            return
        if self._moves:
            self._move(due)
        elif self._due is None:
            self._due = due

    def _move(self, due: float) -> None:
        self._due = None
        move = self._load.choose(self._moves)
        self._moves = ()
        closed_loop = not self._load.plan.rate
        self._race.sent[self._seat, self._ply + 1] = time.perf_counter() if closed_loop else due
        self.line.say(type="move", race=self._number, seat=self._seat, ply=self._ply, move=move)
        if closed_loop:
            self._due = due
        else:
            self._next_at(due + 1 / self._load.plan.rate)


class Race:
    """Two players at one table, one race after another. sent: when the move that makes this ply of a seat was due."""

    def __init__(self, load: Load, number: int) -> None:
        self._load = load
        self.code = ""
        self.sent: dict[tuple[int, int], float] = {}
        self._is_ready = self._has_run = False
        self._joined = False
        self._here = self._inside = 0
        self.players = [Player(load, self, f"load {load.mark}{number}{side}") for side in "ab"]

    def welcomed(self, player: Player) -> None:
        self._here += 1
        if player is self.players[0]:
            self.open()
        self._seat_second()

    def open(self) -> None:
        options = {
            "rules": self._load.plan.rules,
            "public": False,
            "countdown_s": 1,
            "time_limit_s": 3600,
            "rated": False,
            "delay_s": 0,
        }
        self.players[0].line.say(type="open-race", options=options)

    def _seat_second(self) -> None:
        """Let the second player join, once both are welcome and the first has the code."""
        if self._here == 2 and self.code and not self._joined:
            self._joined = True
            self.players[1].line.say(type="join-race", code=self.code)

    def entered(self) -> None:
        """A player has a snapshot of a waiting race; once both have one, both have a seat."""
        self._inside += 1
        self.sent.clear()
        if self._inside == 1 and not self._joined:
            self._seat_second()
        elif self._inside % 2 == 0:
            for each in self.players:
                each.get_ready()
            if not self._is_ready:
                self._is_ready = True
                self._load.ready()

    def started(self) -> None:
        if not self._has_run:
            self._has_run = True
            self._load.standing()

    def leave(self, due: float) -> None:
        del due
        for each in self.players:
            each.line.say(type="leave-race")


class Watcher:
    """A guest who watches one race."""

    def __init__(self, load: Load, race: Race) -> None:
        self._load, self._race = load, race
        self.line = Connection(load.address, load.loop, self)

    def opened(self) -> None:
        self.line.say(type="hello", name="", watch=True)

    def closed(self, why: str) -> None:
        self._load.failed(f"watcher: {why}")

    def heard(self, message: Told, now: float) -> None:
        event = message.event
        if message.type == "welcome":
            self.line.say(type="watch-race", code=self._race.code)
        elif message.type == "error":
            self._load.failed(f"watcher: {message.code}")
        elif event is not None and event.type == "progress":
            self._load.told(self._load.tally.watched, self._race.sent.get((event.seat or 0, event.ply)), now)


class Load:
    """All players of this process. Counts times and moves while `measuring`."""

    def __init__(self, plan: Plan, address: Address, mark: str) -> None:
        self.plan, self.address, self.mark = plan, address, mark
        self.loop = Loop()
        self.stands = 0
        self._is_set_up = False
        self.asked_to_wait = 0
        self._stood_at = 0.0
        self._ready = 0
        self.tally = LoadCounts()
        self.errors: Counter[str] = Counter()
        self.measuring = self.leaving = False
        self._measured_from = 0.0
        self._races: list[Race] = []
        self._random = random.Random()  # noqa: S311  (which legal move, and when the first)

    def open_some(self) -> None:
        """Start to set up more races, as many as may be under way at once."""
        while len(self._races) < self.plan.races and len(self._races) - self._ready < CONNECTING:
            self._races.append(Race(self, len(self._races)))

    def ready(self) -> None:
        """Only the start is left to wait for in this race."""
        self._ready += 1
        self.open_some()

    def standing(self) -> None:
        self.stands += 1
        self._stood_at = time.perf_counter()

    def watch(self) -> None:
        for number in range(self.plan.watchers):
            Watcher(self, self._races[number % len(self._races)])

    def first_pause(self) -> float:
        # Spread over the time between two moves, as people's moves are.
        return self._random.random() / self.plan.rate if self.plan.rate else 0.0

    def choose(self, moves: tuple[str, ...]) -> str:
        # The stock first, so that races last long and most of the time is spent on moves.
        return "s" if "s" in moves else self._random.choice(moves)

    def view(self, sent: float | None, now: float) -> None:
        if self.measuring and sent is not None:
            self.tally.moves += 1
            self.tally.by_second.setdefault(int(now - self._measured_from), Histogram()).add((now - sent) * 1000)

    def told(self, times: Histogram, sent: float | None, now: float) -> None:
        if self.measuring and sent is not None:
            times.add((now - sent) * 1000)

    def later(self, act: Callable[[], None], wait_s: float = 0.0) -> None:
        """The server is too busy: ask it again when it says, or after a while, for as long as races are being set up."""
        self.asked_to_wait += 1
        if not self._is_set_up:
            self.loop.at(time.perf_counter() + (wait_s or WAIT_S), lambda _: act())

    def failed(self, why: str) -> None:
        self.errors[why] += 1

    # ---- from the beginning to the end

    def run(self, pipe: Pipe, seconds: float) -> None:
        """Set up, report that, wait until all other processes have too, measure, send the tally."""
        begun = self._stood_at = time.perf_counter()
        self.open_some()
        self.loop.at(begun, lambda moment: self._report(pipe, moment))
        # If a connection is refused before the first race runs, all of them are.
        self.loop.run(self._patience)
        self._is_set_up = True
        if self.stands < self.plan.races and not (self.plan.fewer and self.stands):
            refused = f"Only {self.stands} of {self.plan.races} races could be opened{self._because()}."
            self.leave()
            pipe.send(refused)
            return
        self.tally.setup_s = self._stood_at - begun
        self.watch()
        settled = time.perf_counter() + SETTLE_S
        self.loop.run(lambda: settled)
        pipe.send(self.stands)
        pipe.send(None)
        self.loop.run(lambda: 0.0 if pipe.poll() else math.inf)
        self.errors.clear()
        self.measuring = True
        start, busy = time.perf_counter(), time.process_time()
        self._measured_from = start
        self.loop.run(lambda: start + seconds)
        self.measuring = False
        self.tally.seconds, self.tally.busy = time.perf_counter() - start, time.process_time() - busy
        self.tally.races, self.tally.errors = self.stands, dict(self.errors)
        self.leave()
        pipe.send(self.tally)

    def leave(self) -> None:
        """Leave a few at a time, as people do. Otherwise the server would hold all seats for them, and end all races at once when they
        forfeit.
        """
        self.leaving = True
        begun = time.perf_counter()
        for number, race in enumerate(self._races):
            self.loop.at(begun + number / LEAVING, race.leave)
        left = begun + len(self._races) / LEAVING + SETTLE_S
        self.loop.run(lambda: left)

    def _patience(self) -> float:
        """Until when races may still start."""
        if self.stands == self.plan.races or (self.errors and not self.stands):
            return 0.0
        return self._stood_at + (REFUSED_S if self.errors else SETUP_S)

    def _report(self, pipe: Pipe, moment: float) -> None:
        if self.stands < self.plan.races and not self._is_set_up:
            pipe.send(self.stands)
            self.loop.at(moment + REPORT_S, lambda later: self._report(pipe, later))

    def _because(self) -> str:
        asked = f"; asked to wait: {counted(self.asked_to_wait, 'time')}" if self.asked_to_wait else ""
        return asked + "".join(f"; {why}: {counted(count, 'time')}" for why, count in self.errors.most_common(3))


def work(pipe: Pipe, plan: Plan, seconds: float, mark: str) -> None:
    """What a process does: it sends counts of running races, None once set up, then its tally; or a sentence if it fails."""
    # Ctrl+C is for the command, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Load(plan, parse_address(plan.url), mark).run(pipe, seconds)
    except OSError as error:
        pipe.send(f"No connection to {plan.url} could be made: {error.strerror or error}.")
