"""Kills a server again and again while scripted players race on it, and counts what was lost: nothing may be.

Used by `test_crash.py` for a few kills and by `tests/bench/campaign.py` for hundreds.
"""

from __future__ import annotations

import random
import signal
import sqlite3
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import trio

from client.connection.errors import LinkError
from client.connection.events import LinkEvent
from client.local.policies import POLICIES
from client.local.scripted_player import BotFailed, run_bot
from client.state.store import Model
from protocol.client_messages import JoinRace, OpenRace
from protocol.record import Record, from_json
from protocol.room_events import PlayerView
from protocol.server_messages import ServerMessage
from protocol.views import RaceOptions
from server.race.audit import audit
from server.store.opening import open_store
from tests.e2e.nodes import NodeProcess, listening
from tests.ports import held_ports


class Pauses(random.Random):
    """The pauses of scripted players. They shrink to a tenth after the last kill, when the races only have to end."""

    _share = 1.0

    def uniform(self, a: float, b: float) -> float:
        return self._share * super().uniform(a, b)

    def hurry(self) -> None:
        self._share = 0.1


@dataclass(slots=True)
class Count:
    """The result of a run. lost: acknowledged moves that are not in the record."""

    kills: int = 0
    races: int = 0
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    untold: int = 0
    """Players who never heard the result of their race."""
    blamed: list[str] = field(default_factory=list)
    """Seats that were forfeited or ran out of time, although nobody left and no race was long."""


@dataclass(slots=True)
class Pair:
    """One race of two scripted players. acknowledged: by seat, the moves that it was told were played."""

    code: trio.Event = field(default_factory=trio.Event)
    room: str = ""
    acknowledged: dict[int, dict[int, str]] = field(default_factory=lambda: {0: {}, 1: {}})
    records: list[Record] = field(default_factory=list)

    def watch(self, model: Model, event: ServerMessage | LinkEvent) -> None:
        if model.room is not None and not self.room:
            self.room = model.room.code
            self.code.set()
        if isinstance(event, PlayerView):
            self.acknowledged[event.seat][event.ply - 1] = event.move


@dataclass(frozen=True, slots=True)
class Course:
    """How servers are killed.

    up_s: the shortest and longest time that each listens. first_up_s: how much longer the first one does. ahead_s: how far each wall clock
    is ahead of the one before. pace_s, grace_s: for the races.
    """

    up_s: tuple[float, float] = (0.2, 2.0)
    first_up_s: float = 0.0
    ahead_s: int = 0
    pace_s: float = 0.03
    grace_s: int = 600


USUAL = Course()
CRASH_LOOP = Course(up_s=(0.0, 0.1), first_up_s=3.0, ahead_s=600, pace_s=0.2, grace_s=60)
"""Races begin at the first server. The others die as soon as they listen, and their clocks differ by more than the grace period, which is
longer than it takes to come back to the last server on a busy machine.
"""


@dataclass(slots=True)
class _Ground:
    """What all tasks of one run share. finished: the last server is up, and no kill will follow."""

    database: str
    kills: int
    generator: Pauses
    course: Course
    count: Count = field(default_factory=Count)
    pairs: list[Pair] = field(default_factory=list)
    finished: trio.Event = field(default_factory=trio.Event)
    all_raced: trio.Event = field(default_factory=trio.Event)


async def kill_and_count(database: str, *, kills: int, races_at_once: int, seed: int, course: Course = USUAL) -> Count:
    """Race until the server has been killed `kills` times, let the last races end, and check every one. Raises what a check raises.

    database: a path, or the URL of an empty PostgreSQL one.
    """
    ground = _Ground(database, kills, Pauses(seed), course)
    with held_ports(1) as (port,):
        await _race_through_kills(ground, port, races_at_once)
    await trio.to_thread.run_sync(_check, ground)
    return ground.count


async def _race_through_kills(ground: _Ground, port: int, races_at_once: int) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(_kill_repeatedly, ground, port)
        async with trio.open_nursery() as players:
            for number in range(races_at_once):
                players.start_soon(_race_on, f"ws://127.0.0.1:{port}", number, ground)
        ground.all_raced.set()


async def _kill_repeatedly(ground: _Ground, port: int, task_status: trio.TaskStatus[None]) -> None:
    while ground.count.kills < ground.kills:
        server = NodeProcess(ground.database, "", port, ahead_s=ground.count.kills * ground.course.ahead_s)
        async with listening(server):
            if ground.count.kills == 0:
                task_status.started()
                await trio.sleep(ground.course.first_up_s)
            await trio.sleep(ground.generator.uniform(*ground.course.up_s))
            await server.end(signal.SIGKILL)
            ground.count.kills += 1
    server = NodeProcess(ground.database, "", port)
    async with listening(server):
        ground.finished.set()
        ground.generator.hurry()
        await ground.all_raced.wait()
        assert await server.end(signal.SIGTERM) == 0


async def _race_on(url: str, number: int, ground: _Ground) -> None:
    """Run one race after another, until one that began after the last kill has ended."""
    last = False
    while not last:
        last = ground.finished.is_set()
        pair = Pair()
        ground.pairs.append(pair)
        options = RaceOptions(public=False, countdown_s=1, grace_s=ground.course.grace_s)
        async with trio.open_nursery() as nursery:
            opens = partial(run_bot, url, f"anna {number}", POLICIES["greedy"], OpenRace(options=options))
            nursery.start_soon(_play, url, pair, ground, opens)
            await pair.code.wait()
            joins = partial(run_bot, url, f"bert {number}", POLICIES["steady"], JoinRace(code=pair.room))
            nursery.start_soon(_play, url, pair, ground, joins)
        ground.count.races += 1


async def _play(url: str, pair: Pair, ground: _Ground, race: partial[Coroutine[Any, Any, Record]]) -> None:
    while True:
        try:
            record = await race(pace=ground.course.pace_s, generator=ground.generator, watch=pair.watch)
        except LinkError:
            # No server is up, and the link does not repeat its very first attempt.
            await trio.sleep(0.2)
        except BotFailed:
            # The seat was gone when they came back.
            ground.count.untold += 1
            return
        else:
            pair.records.append(record)
            return


def kept_records(database: Path | str) -> dict[str, Record]:
    """The record of each room's only race, read without the store's code, after all servers have stopped.

    database: as for `kill_and_count`.
    """
    with closing(psycopg.connect(str(database)) if "://" in str(database) else sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT races.room, records.record FROM records JOIN races ON races.id = records.race").fetchall()
    records = {room: from_json(text) for room, text in rows}
    assert len(records) == len(rows), "a race has two records"
    return records


def _check(ground: _Ground) -> None:
    """Check that every acknowledged move is in the stored record, once and in its place, and that every record sent is the stored one."""
    store = open_store(ground.database)
    try:
        running = store.running()
        assert not running.damaged
        check_pairs(ground.pairs, kept_records(ground.database), ground.count)
    finally:
        store.close()


def check_pairs(pairs: Sequence[Pair], kept: Mapping[str, Record], count: Count) -> None:
    """kept: room to the record of its one race."""
    for pair in pairs:
        record = kept[pair.room]
        audit(record)
        for seat, report in enumerate(record.seats):
            if report.state in ("forfeited", "out-of-time"):
                count.blamed.append(f"{pair.room} seat {seat}: {report.state}")
        for told in pair.records:
            assert told == record
        for seat, acknowledged in pair.acknowledged.items():
            moves = [move.move for move in record.moves if move.seat == seat]
            count.acknowledged += len(acknowledged)
            # Moves that would count after the close are struck out, even if acknowledged: those plies are the seat's last ones.
            for ply, move in acknowledged.items():
                if ply < len(moves) and moves[ply] != move:
                    count.lost.append(f"{pair.room} seat {seat} ply {ply}: {move} was told, {moves[ply]} is kept")
                elif ply >= len(moves) and record.seats[seat].state not in ("stopped", "out-of-time"):
                    count.lost.append(f"{pair.room} seat {seat} ply {ply}: {move} was told and is not kept")
