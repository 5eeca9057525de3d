"""What a race costs its room alone: `python -m tests.bench.room_moves [RACES]` from the top of the tree.

It covers everything from a request to its delivered effects: core, race, rules, views, driver and the list of running races, for races of
two from the opening of their room to the next race in it. There is no connection, and the journal keeps nothing. The answers to moves are
not encoded; other messages are. The result is the ratio to what the rules alone take to validate and view the same moves, since it depends
less on the machine. Processor time of the thread, best of five runs.
"""

import gc
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import thread_time
from typing import Final

import trio
from trio.testing import MockClock

from protocol.client_messages import Move, Ready, Rematch
from protocol.codec import MSGPACK
from protocol.room_events import Dealt, PlayerView, Progress
from protocol.room_events import Room as RoomMessage
from protocol.views import RaceOptions, View
from server.lobby.listing import Listing
from server.race.race_deal import DealWanted
from server.race.rating import NEW, RatingChange
from server.race.view import see
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rooms.requests import Ask, Enter
from server.rules.catalogue import rule_set
from server.store.errors import StoreError
from server.store.port import Entry
from tests.server.rooms.playing import no_ghosts

RUNS: Final = 5
MOVES: Final = 12
"""Moves of each seat by the rules alone: turns of the stock, which are always legal so early."""


class Batches:
    """A journal that keeps nothing, and acknowledges many requests at once."""

    has_room = True

    def __init__(self) -> None:
        self._waiting: list[Callable[[StoreError | None], None]] = []

    def submit(self, entries: Sequence[Entry], done: Callable[[StoreError | None], None]) -> None:
        self._waiting.append(done)

    def commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done(None)


class Player(Member):
    round_trip_ms = 20

    def __init__(self, name: str, room: Room) -> None:
        self.name = PlayerName(name, name)
        self.room = room
        self.race = self.seat = self.ply = 0
        self.view: View | None = None

    def post(self, outgoing: Outgoing) -> None:
        match outgoing.message:
            case PlayerView(view=view, ply=ply, state=state):
                self.view, self.ply = view if state == "racing" else None, ply
                return
            case Progress():
                return
            case Dealt(seat=seat, view=view):
                self.seat, self.view, self.ply = seat, view, 0
            case RoomMessage(race=race):
                self.race = race
            case _:
                pass
        outgoing.payload(MSGPACK)

    def enter(self) -> None:
        self.room.ask(Enter(self.name, self, 0, 0))

    def ready(self) -> None:
        self.room.ask(Ask(self.name, self, Ready(race=self.race, nonce="ab" * 16)))

    def rematch(self) -> None:
        self.room.ask(Ask(self.name, self, Rematch(race=self.race)))

    def move(self) -> None:
        self.room.move(self.name, self, Move(race=self.race, seat=self.seat, ply=self.ply, move=self.next_move))

    @property
    def next_move(self) -> str:
        assert self.view is not None
        # Like the load generator, whose races last long and are seldom won.
        return "s" if "s" in self.view.moves else self.view.moves[0]

    @property
    def is_at_the_end(self) -> bool:
        """Whether their next move is their last."""
        position = self.room.core.race.seats[self.seat].position
        assert position is not None
        return position.play(self.next_move).is_over


async def no_search(wanted: DealWanted, place: str | None) -> int | None:
    raise AssertionError(wanted, place)


async def no_change(race: str) -> tuple[RatingChange, ...]:
    del race
    return (RatingChange(NEW, NEW),) * 2


class Costs:
    """times: how often each thing was done. spent: the seconds that it took in all."""

    def __init__(self) -> None:
        self.times = Counter[str]()
        self.spent: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, what: str, times: int) -> Iterator[None]:
        began = thread_time()
        yield
        self.spent[what] += thread_time() - began
        self.times[what] += times

    def each(self) -> dict[str, float]:
        """The microseconds of each thing."""
        return {what: self.spent[what] / times * 1e6 for what, times in self.times.items() if times}


async def in_rooms(races: int, seed: int) -> dict[str, float]:
    """Run races in rooms. Returns the microseconds of each thing."""
    costs = Costs()
    async with trio.open_nursery() as nursery:
        journal = Batches()
        rooms = Rooms(
            nursery,
            clock=Clock(),
            entropy=random.Random(seed).randbytes,
            software="bench",
            journal=journal,
            find_deal=no_search,
            rating_changes=no_change,
            ghost_lines=no_ghosts,
            max_rooms=races,
        )
        rooms.on_room_change.append(Listing().changed)
        nursery.start_soon(rooms.run)
        with costs.of("open and enter", races):
            first = [Player(f"Ann {number}", rooms.open(RaceOptions(countdown_s=1))) for number in range(races)]
            for player in first:
                player.enter()
            journal.commit()
        with costs.of("join", races):
            second = [Player(f"Bob {each.room.code}", each.room) for each in first]
            for player in second:
                player.enter()
            journal.commit()
        for players, which in ((first, "first"), (second, "second")):
            with costs.of(f"ready, the {which}", races):
                for player in players:
                    player.ready()
                journal.commit()
        with costs.of("countdown and start", races):
            await settled(journal, lambda: all(player.room.core.race.phase == "racing" for player in first))
        playing = first + second
        while playing := [player for player in playing if player.view is not None and player.room.core.race.phase == "racing"]:
            for what in ("move", "last move"):
                players = [player for player in playing if (what == "last move") is player.is_at_the_end]
                with costs.of(what, len(players)):
                    for player in players:
                        player.move()
                    journal.commit()
        with costs.of("settling and ratings", races):
            await settled(journal, lambda: all(player.room.core.race.phase == "over" for player in first))
        for players, which in ((first, "first"), (second, "second")):
            with costs.of(f"rematch, the {which}", races):
                for player in players:
                    player.rematch()
                journal.commit()
        nursery.cancel_scope.cancel()
    return costs.each()


async def settled(journal: Batches, done: Callable[[], bool]) -> None:
    while True:
        await trio.sleep(0.1)
        journal.commit()
        if done():
            return


def by_rules(races: int) -> float:
    """The microseconds that the rules alone take to validate and view the same moves."""
    draw = random.Random(1)
    rules = rule_set(RaceOptions().rules)
    positions = [rules.deal(draw.randbytes(32)) for _ in range(2 * races)]
    spent = 0.0
    for _ in range(MOVES):
        began = thread_time()
        positions = [position.play("s") for position in positions]
        for position in positions:
            see(position)
        spent += thread_time() - began
    return spent / (MOVES * len(positions)) * 1e6


def main() -> None:
    races = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    gc.set_threshold(50_000, 50, 50)
    rules = min(by_rules(races) for _ in range(RUNS))
    runs = [trio.run(in_rooms, races, seed, clock=MockClock(autojump_threshold=0)) for seed in range(RUNS)]
    least = {what: min(run[what] for run in runs) for what in runs[0]}
    for what, cost in least.items():
        print(f"{what:25} {cost:7.1f} µs")
    move = least["move"]
    print(f"{races} races: a move {move:.1f} µs in its room, {rules:.1f} µs by the rules alone, {move / rules:.1f} times as much")


if __name__ == "__main__":
    main()
