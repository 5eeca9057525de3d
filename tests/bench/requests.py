"""How long each kind of request holds the event loop at its worst, and what it sends back.

    python -m tests.bench.requests [--tries 5]

A whole server in this process, on a SQLite file, with a list of challenges as long as it gets; one client asks. What counts is the longest
step that any task of the server takes before the others have their turn: the least of some tries, as the machine has other things to do
too. Fails when that is more than BOUND_MS. Records of races with thousands of moves are not among what is asked for.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial

import trio
import trio.testing

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
from protocol.room_events import Started
from protocol.run_messages import ListChallenges, ListDailies, ListRuns, OpenChallenge
from protocol.tournament_messages import CreateTournament, FollowTournaments
from protocol.tournaments import TournamentOptions
from protocol.views import RaceOptions
from protocol.watch_messages import WatchRace
from server.store.opening import open_store
from server.store.port import Store
from tests.server.net.wire import Client, House, open_house

BOUND_MS = 2.0
CHALLENGES = 200
PAGES = ("/", "/lobby.json", "/ladder.json", "/races.json", "/tournaments.json", "/dailies.json", "/challenges.json")


class Longest(trio.abc.Instrument):
    """The longest step of a task of the server's."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.by = ""
        self._began = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = (time.perf_counter() - self._began) * 1000
        if took > self.ms and (task.name.startswith("server.") or "_run_handler" in task.name):
            self.ms, self.by = took, task.name


async def settled() -> None:
    """What was asked for is answered, and written."""
    for _ in range(3):
        await trio.testing.wait_all_tasks_blocked(0.002)


class Bench:
    """The least of all tries of each kind of request."""

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
        """How many are too long."""
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
            await measure_on(bench, store, tries)
        finally:
            store.close()
    return bench.report()


async def measure_on(bench: Bench, store: Store, tries: int) -> None:
    async with open_house(store=store) as house, house.guest("Ann") as ann, house.guest("Bob") as bob:
        for number in range(CHALLENGES):
            async with house.guest(f"Owner {number}") as owner:
                await owner.say(OpenChallenge(nonce=f"{number:032x}"))
                await owner.hear()
        for number in range(tries):
            await alone(bench, house, ann, number)
            await in_a_race(bench, house, ann, bob)


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
    for page in PAGES:
        await bench.ask(f"GET {page}", partial(house.ask, page))


async def in_a_race(bench: Bench, house: House, ann: Client, bob: Client) -> None:
    await bench.ask("open-race", partial(ann.say, OpenRace(options=RaceOptions(seats=2, countdown_s=1))))
    (room,) = house.rooms
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=5)
    too_long = trio.run(measure, parser.parse_args().tries)
    sys.exit(f"{too_long} kinds of request hold the event loop for more than {BOUND_MS:g} ms" if too_long else 0)


if __name__ == "__main__":
    main()
