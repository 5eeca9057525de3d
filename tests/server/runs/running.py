"""Running a shared deal over the wire: open, get ready, play some moves, stop."""

from __future__ import annotations

from typing import NoReturn, TypeVar

import trio
import trio.testing
from trio.testing import MockClock

from protocol.client_messages import Move, Ready, Stop
from protocol.room_events import Dealt, Ended, PlayerView, Room, Started
from protocol.run_messages import ListRuns, RunChallenge, RunDaily, Runs
from server.store.errors import StoreError
from tests.server.net.wire import Client, House

NOON = 1_795_262_400_000
"""2026-11-21, 12:00 UTC."""
DAY = "2026-11-21"
DAY_MS = 24 * 3600 * 1000

Kind = TypeVar("Kind")


async def enter(client: Client, message: RunDaily | RunChallenge | None = None) -> Room:
    return await client.ask(message or RunDaily(), Room)


async def begin(client: Client) -> None:
    """Get ready, and wait for the start."""
    await client.ask(Ready(race=1, nonce="ab" * 16), Dealt)
    await client.hear_of(Started)


async def play(client: Client, moves: int, *, pause_s: float = 1.0, choose: int = 0) -> None:
    """Keep playing the legal move with this number, as long as there is one."""
    for _ in range(moves):
        if not client.view.moves:
            return
        await trio.sleep(pause_s)
        await client.ask(Move(race=1, seat=0, ply=client.ply, move=client.view.moves[choose % len(client.view.moves)]), PlayerView)


async def run(client: Client, message: RunDaily | RunChallenge | None = None, *, moves: int = 5, pause_s: float = 1.0) -> Ended:
    """A whole run: this many moves, then stop."""
    await enter(client, message)
    await begin(client)
    await play(client, moves, pause_s=pause_s)
    # Not in the same millisecond as the last move, or a ghost would show both as one.
    await trio.sleep(0.005)
    return await client.ask(Stop(race=1, seat=0), Ended)


async def board(client: Client, kind: str = "daily", deal: str | None = None, rules: str = "carpet") -> Runs:
    return await client.ask(ListRuns(kind=kind, id=deal, rules=rules), Runs)  # type: ignore[arg-type]


def cannot_be_asked(*asked: object) -> NoReturn:
    """Replaces a question to the store that must not be asked."""
    raise StoreError(f"asked for {asked}")


async def until(house: House, moment_ms: int) -> None:
    """Let time pass until just after a moment of the house's clock, in one jump: half a day would have some thousand pings."""
    clock, moment = trio.lowlevel.current_clock(), house.clock.deadline(moment_ms)
    assert isinstance(clock, MockClock)
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(max(moment - 10 - trio.current_time(), 0))
    await trio.sleep_until(moment + 0.01)
