"""How long each kind of request holds up the event loop in the worst case, and what it sends back.

    python -m tests.bench.requests [--tries 5]

A whole server runs in this process, on a SQLite file, with the longest possible list of challenges, a race of eight with two thousand
moves, and a tournament of 256. One client sends requests. What counts is the longest step that any task of the server takes before the
others get their turn; the best of several tries, since the machine does other things too. It fails if that is more than BOUND_MS. Work that
a server gives to worker processes is done in such processes here too.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import trio
import trio.testing
from msgspec.structs import replace

from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rename,
    Say,
    Stop,
    WhoAmI,
)
from protocol.record import sealed
from protocol.room_events import Result, Started
from protocol.room_events import Room as RoomMessage
from protocol.run_messages import Challenges, ListChallenges, ListDailies, ListRuns, OpenChallenge, PlayOn, RunChallenge, RunDaily
from protocol.schemas import PAGES
from protocol.tournament_messages import (
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    FollowTournament,
    FollowTournaments,
    LeaveTournament,
    PauseTournament,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace
from server.app import WORKERS_CODE
from server.race.commands import Command, PlayMove, TakeSeat
from server.rooms.codes import ALPHABET
from server.rules.position import Position
from server.runtime.workers import open_workers
from server.store.opening import open_store
from server.store.port import CommandTaken, PlayerMade, RaceOpened, RaceOver, race_id
from server.store.store import Store
from server.tournaments.pairing_worker import pair_next
from tests.server.net import wire
from tests.server.net.wire import Client, House, open_house
from tests.server.race.racing import SECRET, START, started

BOUND_MS = 2.0
CHALLENGES = 200
PATHS = ("/", *(path for path, page in PAGES.items() if "{" not in path and not page.refused))
"""The pages that need no parameters."""


class Longest(trio.abc.Instrument):
    """The longest step of any task of the server."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.by = ""
        self._began = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = (time.thread_time() - self._began) * 1000
        if took > self.ms and (task.name.startswith("server.") or "_run_handler" in task.name):
            self.ms, self.by = took, task.name


async def settled() -> None:
    """Wait until all requests are answered and written."""
    for _ in range(3):
        await trio.testing.wait_all_tasks_blocked(0.002)


class Bench:
    """For each kind of request, the best of all tries."""

    def __init__(self) -> None:
        self._least: dict[str, Longest] = {}

    async def ask(self, name: str, ask: Callable[[], Awaitable[object]]) -> None:
        await settled()
        longest = Longest()
        trio.lowlevel.add_instrument(longest)
        await ask()
        await settled()
        trio.lowlevel.remove_instrument(longest)
        self._least[name] = min(self._least.get(name, longest), longest, key=lambda tried: tried.ms)

    def report(self) -> int:
        """Print a report. Returns how many kinds take too long."""
        too_long = 0
        for name, longest in self._least.items():
            too_long += longest.ms > BOUND_MS
            print(f"{name:28} {longest.ms:8.2f} ms  {'TOO LONG' if longest.ms > BOUND_MS else '        '}  {longest.by}")
        return too_long


async def measure(tries: int) -> int:
    bench = Bench()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/races.db")
        try:
            async with open_workers(1, code=WORKERS_CODE) as workers:
                # Use worker processes like a real server; the tests' House computes in this process.
                House._compute = workers.run  # type: ignore[assignment,method-assign]
                wire.PAIR_NEXT = partial(pair_next, workers)
                wire.BESIDE = partial(trio.to_thread.run_sync, limiter=trio.CapacityLimiter(1))
                await measure_on(bench, store, tries, with_long_races(store, tries))
        finally:
            store.close()
    return bench.report()


async def measure_on(bench: Bench, store: Store, tries: int, done: str) -> None:
    async with open_house(store=store, max_rooms=1000) as house, house.guest("Ann") as ann, house.guest("Bob") as bob:
        for number in range(CHALLENGES):
            async with house.guest(f"Owner {number}") as owner:
                await owner.say(OpenChallenge(nonce=f"{number:032x}"))
                await owner.hear()
        for number in range(tries):
            await alone(bench, house, ann, number)
            await in_a_race(bench, house, ann, bob)
            await in_runs(bench, house, number)
            await at_the_long_races(bench, house, ann, done, number)
        for number in range(min(tries, TOURNAMENTS)):
            await in_a_tournament(bench, house, number)


async def alone(bench: Bench, house: House, client: Client, number: int) -> None:
    requests: dict[str, ClientMessage] = {
        "who-am-i": WhoAmI(),
        "rename": Rename(name=f"Ann {number}"),
        "follow-lobby": FollowLobby(),
        "follow-tournaments": FollowTournaments(),
        "list-dailies": ListDailies(),
        "list-challenges": ListChallenges(),
        "list-runs": ListRuns(kind="daily"),
        "say, nowhere": Say(text="x" * 1000),
        "quick-match": QuickMatch(),
        "quick-match cancel": QuickMatch(cancel=True),
        "watch-race, none": WatchRace(code="AAAAAA"),
        "create-tournament": CreateTournament(options=TournamentOptions(name="Cup", fill=256)),
    }
    for name, message in requests.items():
        await bench.ask(name, partial(client.say, message))
    async with house.client() as other:
        await bench.ask("hello, new", partial(other.say, Hello(name=f"Cyd {number}")))

    async def show(path: str) -> None:
        assert (await house.ask(path)).status == HTTPStatus.OK, path

    for path in PATHS:
        await bench.ask(f"GET {path}", partial(show, path))


async def in_a_race(bench: Bench, house: House, ann: Client, bob: Client) -> None:
    await bench.ask("open-race", partial(ann.say, OpenRace(options=RaceOptions(seats=2, countdown_s=1))))
    *_, room = house.rooms
    join = JoinRace(code=room.code)
    await bench.ask("join-race", partial(bob.say, join))
    for name, client in (("ready", ann), ("ready, the last", bob)):
        await bench.ask(name, partial(client.say, Ready(race=1, nonce="ab" * 16)))
    for client in (ann, bob):
        await client.hear_of(Started)
    await bench.ask("move", partial(ann.say, Move(race=1, seat=0, ply=0, move="s")))
    await bench.ask("move, refused", partial(ann.say, Move(race=1, seat=0, ply=0, move="j8")))
    await bench.ask("join-race, again", partial(bob.say, join))
    await bench.ask("stop", partial(ann.say, Stop(race=1, seat=0)))
    await bench.ask("stop, the last", partial(bob.say, Stop(race=1, seat=1)))
    await trio.sleep(0.3)
    await bench.ask("join-race, over", partial(bob.say, join))
    for client in (ann, bob):
        await bench.ask("leave-race", partial(client.say, LeaveRace()))


LONG_RULES = "indian-carpet"
LONG_SEATS = 8
LONG_ROOM = "KXZWVT"
LONG_DONE = "KXZWVS"
LONG_ENDING = "KXZWW"
"""The rooms of the longest race that we can make: one that still runs, one that is over, and for each try one that ends there, with
another letter after this."""
LONG_PLY = 200
"""Where playing on begins: near the end of a seat's moves."""
TOKEN = "long"
TOURNAMENTS = 2
"""How many tournaments of 256 entrants: each try takes minutes."""


def with_long_races(store: Store, tries: int) -> str:
    """Write the long races to the store. Returns the id of the one that is over."""
    driven = started(RaceOptions(seats=LONG_SEATS, rules=LONG_RULES, deal="long", time_limit_s=3600))
    for seat in range(LONG_SEATS):
        draw = random.Random(seat)
        at_ms = 100
        while driven.race.phase == "racing" and (moves := driven.position(seat).legal_moves()):
            driven.do(PlayMove(seat, driven.seat(seat).ply, _late(driven.position(seat), list(moves), draw)), at_ms := at_ms + 50)
            if seat == LONG_SEATS - 1 and driven.seat(seat).ply > 50:
                break
    taken = list(driven.log)
    record = driven.finish()
    print(f"the long race has {len(record.moves)} moves")
    at_ms = taken[-1][1]
    rooms = [LONG_ROOM, *(ending_room(number) for number in range(tries)), LONG_DONE]
    *running, done = (race_id(room=room, number=1, unique=bytes(6)) for room in rooms)
    common: dict[str, Any] = {"number": 1, "options": driven.race.options, "secret": SECRET, "software": "bench", "at_ms": START}
    players = [[player_of(room, seat) for seat in range(LONG_SEATS)] for room in rooms]
    written = store.write(
        [
            [
                PlayerMade(player=player, name=player, token_hash=sha256(f"{TOKEN}{player}".encode()).digest(), at_ms=START)
                for there in players
                for player in there
            ],
            [RaceOpened(race=race, room=room, **common) for race, room in zip((*running, done), rooms, strict=True)],
            [
                CommandTaken(race=race, sequence=sequence, at_ms=at_ms, command=_seated(command, room))
                for race, room in zip(running, rooms, strict=False)
                for sequence, (command, at_ms) in enumerate(taken, 1)
            ],
            [RaceOver(race=done, record=sealed(replace(record, id=done)), players=tuple(players[-1]), at_ms=at_ms)],
        ]
    )
    assert not any(written), written
    return done


def ending_room(number: int) -> str:
    return LONG_ENDING + ALPHABET[number]


def player_of(room: str, seat: int) -> str:
    return f"{room} {seat}"


def _seated(command: Command, room: str) -> Command:
    """The same command for the room's own race."""
    return replace(command, player=player_of(room, int(command.player.rpartition("-")[2]))) if isinstance(command, TakeSeat) else command


def _late(position: Position, moves: list[str], draw: random.Random) -> str:
    """A move that delays sending cards home as long as possible."""
    draw.shuffle(moves)
    return next((move for move in moves if move != "s" and position.play(move).home <= position.home), "s" if "s" in moves else moves[0])


async def at_the_long_races(bench: Bench, house: House, ann: Client, done: str, number: int) -> None:
    async with house.client() as racer:
        await racer.hello("Ray", TOKEN + player_of(LONG_ROOM, 0))
        await bench.ask("join-race, a long one", partial(racer.say, JoinRace(code=LONG_ROOM)))
    async with house.guest("Eve") as eve:
        await bench.ask("watch-race, a long one", partial(eve.say, WatchRace(code=LONG_ROOM)))
    async with house.client() as first, house.client() as last:
        join = JoinRace(code=ending_room(number))
        for seat, client in ((0, first), (LONG_SEATS - 1, last)):
            await client.hello("Ray", TOKEN + player_of(ending_room(number), seat))
            await client.say(join)
            await client.hear_of(RoomMessage)

        async def stop() -> None:
            await last.say(Stop(race=1, seat=LONG_SEATS - 1))
            await first.hear_of(Result)

        await bench.ask("stop, ends a long one", stop)
        await bench.ask("join-race, a long one over", partial(first.say, join))
    pages = {
        "GET /races/ID.json, long": f"/races/{done}.json",
        "GET /races/ID/boards.json": f"/races/{done}/boards.json",
        "GET /race/ID, long": f"/race/{done}",
        "GET /players/NAME/races.json": f"/players/{quote(player_of(LONG_DONE, 0))}/races.json?limit=100",
    }
    for name, page in pages.items():
        await bench.ask(name, partial(house.ask, page))
    await bench.ask("play-on, a long one", partial(ann.say, PlayOn(race=done, seat=0, ply=LONG_PLY)))
    await ann.hear_of(RoomMessage)
    await bench.ask("leave-race, played on", partial(ann.say, LeaveRace()))


async def in_runs(bench: Bench, house: House, number: int) -> None:
    async with house.guest(f"Runner {number}") as runner:
        await bench.ask("run-daily", partial(runner.say, RunDaily()))
        await runner.hear_of(RoomMessage)
        await runner.say(LeaveRace())
        listed = await house.runs.answer("", ListChallenges())
        assert isinstance(listed, Challenges)
        challenge = listed.challenges[0]
        await bench.ask("run-challenge", partial(runner.say, RunChallenge(id=challenge.id)))
        await runner.hear_of(RoomMessage)


async def in_a_tournament(bench: Bench, house: House, number: int) -> None:
    """A tournament of 256 house bots: created, started, followed while its tables open and race, shown, called off."""
    async with house.guest(f"Director {number}") as director, house.guest("Ada") as ada:
        options = TournamentOptions(name="Cup", fill=256, places=256, check_in_s=0, rounds=2, pause_s=None, countdown_s=1, rated=False)
        await director.say(CreateTournament(options=options))
        identity = (await director.hear_of(Decided)).id
        await bench.ask("enter-tournament", partial(ada.say, EnterTournament(id=identity)))
        await bench.ask("follow-tournament, 256", partial(ada.say, FollowTournament(id=identity)))

        async def start() -> None:
            await director.say(StartTournament(id=identity))
            while (await ada.hear_of(Tournament)).phase != "running":
                pass
            await trio.sleep(2)

        await bench.ask("start-tournament, 256", start)
        await bench.ask("follow-tournament, in a round", partial(director.say, FollowTournament(id=identity)))
        await bench.ask("GET /tournaments/ID.json", partial(house.ask, f"/tournaments/{identity}.json"))
        await bench.ask("GET /tournaments/ID.csv", partial(house.ask, f"/tournaments/{identity}.csv"))
        await bench.ask("pause-tournament", partial(director.say, PauseTournament(id=identity)))
        await bench.ask("leave-tournament", partial(ada.say, LeaveTournament(id=identity)))
        await bench.ask("end-tournament, 256", partial(director.say, EndTournament(id=identity)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=5)
    too_long = trio.run(measure, parser.parse_args().tries)
    sys.exit(f"{too_long} kinds of request hold the event loop for more than {BOUND_MS:g} ms" if too_long else 0)


if __name__ == "__main__":
    main()
