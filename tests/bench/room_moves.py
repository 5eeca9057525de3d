"""What a move costs in its room, by itself: `python -m tests.bench.room_moves [RACES]` from the top of the tree.

Request in, effects delivered: core, race, rules, views and driver, for a race of two. There is no connection, nothing is
encoded, and the journal keeps nothing. Beside it stands what the rules alone take for the same moves, validated and viewed; the ratio is
the result, since it depends less on the machine. Processor time, best of five runs.
"""

import gc
import random
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Final

import trio

from protocol.client_messages import Move, Ready
from protocol.room_events import Dealt, PlayerView
from protocol.views import RaceOptions, View
from server.race.race_deal import DealWanted
from server.race.rating import RatingChange
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

RUNS: Final = 5
MOVES: Final = 12
"""Of each seat in a run: turns of the stock, which are always legal so early."""


class Batches:
    """A journal that keeps nothing, and says so once for many requests."""

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

    def __init__(self, name: str) -> None:
        self.name = PlayerName(name, name)
        self.seat = self.ply = 0
        self.view: View | None = None

    def post(self, outgoing: Outgoing) -> None:
        match outgoing.message:
            case PlayerView(view=view, ply=ply):
                self.view, self.ply = view, ply
            case Dealt(seat=seat, view=view):
                self.seat, self.view, self.ply = seat, view, 0
            case _:
                pass


async def no_search(wanted: DealWanted) -> int | None:
    raise AssertionError(wanted)


async def no_changes(race: str) -> tuple[RatingChange, ...]:
    raise AssertionError(race)


async def in_rooms(races: int) -> float:
    """Microseconds of a move."""
    async with trio.open_nursery() as nursery:
        journal = Batches()
        rooms = Rooms(
            nursery,
            clock=Clock(),
            entropy=random.Random(1).randbytes,
            software="bench",
            journal=journal,
            find_deal=no_search,
            rating_changes=no_changes,
            max_rooms=races,
        )
        nursery.start_soon(rooms.run)
        seated: list[tuple[Room, Player]] = []
        for number in range(races):
            room = rooms.open(RaceOptions(countdown_s=1))
            players = [Player(f"{name} {number}") for name in ("Ann", "Bob")]
            for player in players:
                room.ask(Enter(player.name, player, 0, 0))
            for player in players:
                room.ask(Ask(player.name, player, Ready(race=1, nonce="ab" * 16)))
            seated += [(room, player) for player in players]
        journal.commit()
        while not all(room.core.race.phase == "racing" for room, _ in seated):
            await trio.sleep(0.1)
            journal.commit()
        spent = 0.0
        for _ in range(MOVES):
            asked = [(room, who, Move(race=1, seat=who.seat, ply=who.ply, move="s")) for room, who in seated]
            began = process_time()
            for room, who, move in asked:
                room.move(who.name, who, move)
            journal.commit()
            spent += process_time() - began
        nursery.cancel_scope.cancel()
    return spent / (MOVES * len(seated)) * 1e6


def by_rules(races: int) -> float:
    """The same moves, validated and viewed, in microseconds."""
    draw = random.Random(1)
    rules = rule_set(RaceOptions().rules)
    positions = [rules.deal(draw.randbytes(32)) for _ in range(2 * races)]
    spent = 0.0
    for _ in range(MOVES):
        began = process_time()
        positions = [position.play("s") for position in positions]
        for position in positions:
            see(position)
        spent += process_time() - began
    return spent / (MOVES * len(positions)) * 1e6


def main() -> None:
    races = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    gc.set_threshold(50_000, 50, 50)
    rules = min(by_rules(races) for _ in range(RUNS))
    room = min(trio.run(in_rooms, races) for _ in range(RUNS))
    print(f"{races} races: a move {room:.1f} µs in its room, {rules:.1f} µs by the rules alone, {room / rules:.1f} times as much")


if __name__ == "__main__":
    main()
