"""What an acknowledged command costs: `python -m tests.bench.journal_cost [WHERE …]` from the top of the tree.

WHERE is a folder for a SQLite file, or postgresql://…; by default a new folder in the current one and, if it answers, the PostgreSQL that
the tests use, in a schema of its own. For each number of races, each with one command under way at any time:
- a second: commands acknowledged in a second, with writers that wait for nothing else;
- p50, p99: milliseconds from a command to its acknowledgement;
- batch: commands in a commit, on average; µs: processor time of this process for a command, including that of the writers;
- a batch: processor time of this process for each command in a batch of this size, and the slowest such batch, in milliseconds;
- paced: p50 and p99, in milliseconds, of the same races with a command every two seconds each, while the event loop is a third busy.

`--races` measures the store alone, while `STANDING` races run. It gives the processor time of the writing thread, in µs: for a batch
without its commands; for one command in it, and for the command's later compaction; for a race's opening, its end and its players'
leaving, each as what it adds to a batch; for all three in one batch; and for a whole race of two players, without the batches.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import shutil
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import fmean
from tempfile import mkdtemp
from typing import Final

import trio
from msgspec.structs import replace

from protocol.record import sealed
from protocol.views import RaceOptions
from server.race.commands import PlayMove
from server.store.database import DatabaseStore, open_database
from server.store.journal import Journal
from server.store.port import CommandTaken, Entry, PlayersLeft, RaceOpened, RaceOver, race_id
from tests.server.store.keeping import made, rated

WRITERS: Final = (1, 10, 100, 1_000, 10_000)
BATCHES: Final = (1, 10, 500)
SECONDS: Final = 4.0
PACE_S: Final = 2.0
STANDING: Final = 200
ROUNDS: Final = 1_000
A_BATCH: Final = 40
A_RACE: Final = 120
POSTGRES: Final = os.environ.get("CARPET_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test"

runs = count(1)


@dataclass(frozen=True, slots=True)
class Measured:
    per_second: float
    p50_ms: float
    p99_ms: float
    batch: float
    cpu_us: float


def opened(race: str) -> RaceOpened:
    return RaceOpened(race=race, room="BENCHM", number=1, options=RaceOptions(), secret=bytes(32), software="bench", at_ms=0)


def taken(race: str, sequence: int) -> CommandTaken:
    return CommandTaken(race=race, sequence=sequence, at_ms=1_700_000_000_000, command=PlayMove(sequence % 2, sequence, "b3"))


async def measure(store: DatabaseStore, writers: int, *, pace_s: float | None) -> Measured:
    delays: list[float] = []
    journal = Journal(store)
    run = next(runs)

    async def write(number: int) -> None:
        race = f"BENCHM-{run}-{number:016x}"
        await journal.write(opened(race))
        if number == writers - 1:
            all_open.set()
        await ready.wait()
        due = time.perf_counter() + (number / writers * pace_s if pace_s else 0.0)
        for sequence in count(1):
            if pace_s is not None:
                await trio.sleep(max(due - time.perf_counter(), 0))
                due += pace_s
            began = time.perf_counter()
            await journal.write(taken(race, sequence))
            delays.append(time.perf_counter() - began)

    async def be_busy() -> None:
        while True:
            until = time.perf_counter() + 0.001
            while time.perf_counter() < until:
                pass
            await trio.sleep(0.002)

    all_open, ready = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        for number in range(writers):
            nursery.start_soon(write, number)
        await all_open.wait()
        if pace_s is not None:
            nursery.start_soon(be_busy)
        ready.set()
        # Everybody begins at once; do not count what that costs.
        await trio.sleep(pace_s or 1.0)
        delays.clear()
        batches = journal.statistics.batches
        cpu = time.process_time()
        began = time.perf_counter()
        await trio.sleep(SECONDS)
        took = time.perf_counter() - began
        cpu = time.process_time() - cpu
        found = sorted(delays)
        made = journal.statistics.batches - batches
        nursery.cancel_scope.cancel()
    assert found
    return Measured(
        per_second=len(found) / took,
        p50_ms=found[len(found) // 2] * 1e3,
        p99_ms=found[len(found) * 99 // 100] * 1e3,
        batch=len(found) / max(made, 1),
        cpu_us=cpu / len(found) * 1e6,
    )


def batches(store: DatabaseStore) -> None:
    """The store alone: no journal, no writers."""
    for size in BATCHES:
        run = next(runs)
        races = [f"BENCHM-{run}-{number:016x}" for number in range(size)]
        store.write([[opened(race)] for race in races])
        costs: list[float] = []
        slowest = 0.0
        for sequence in range(1, 101):
            requests = [[taken(race, sequence)] for race in races]
            cpu, began = time.process_time(), time.perf_counter()
            store.write(requests)
            costs.append((time.process_time() - cpu) / size * 1e6)
            slowest = max(slowest, time.perf_counter() - began)
        costs.sort()
        print(f"a batch of {size:>3}: {costs[len(costs) // 2]:>6.1f} µs a command, the slowest batch {slowest * 1e3:.1f} ms", flush=True)


class Races:
    """A crowd of races: each command belongs to a random one. A batch may open a race, end the oldest one, or empty its room."""

    def __init__(self, store: DatabaseStore, *, is_rated: bool) -> None:
        self._store = store
        self._record = rated("r", anna=1, ben=2)
        moves = (self._record.moves * 2)[:A_RACE]
        self._record = replace(self._record, moves=moves, rated=is_rated)
        self._chance = random.Random(7)
        self._players = [f"{number:032x}" for number in range(10 * STANDING)]
        store.write([[made(player, f"P{number}")] for number, player in enumerate(self._players)])
        self._running: dict[str, int] = {}
        self._over: deque[str] = deque()
        store.write([[self.opened()] for _ in range(STANDING)])

    def opened(self) -> RaceOpened:
        code = "".join(self._chance.choices("BCDFGHJKLMNPQRSTVWXZ", k=6))
        race = race_id(room=code, number=1, unique=self._chance.randbytes(8))
        self._running[race] = 0
        options = RaceOptions(public=False, rated=self._record.rated)
        return RaceOpened(race=race, room=code, number=1, options=options, secret=bytes(32), software="bench", at_ms=1_700_000_000_000)

    def ended(self) -> list[Entry]:
        race, commands = next(iter(self._running.items()))
        del self._running[race]
        self._over.append(race)
        players = tuple(self._chance.sample(self._players, 2))
        seats = [replace(seat, player=player) for seat, player in zip(self._record.seats, players, strict=True)]
        record = sealed(replace(self._record, id=race, room=race[:6], seats=tuple(seats)))
        return [taken(race, commands + 1), RaceOver(race=race, record=record, players=players, at_ms=1_700_000_000_000, here=(0, 1))]

    def left(self) -> PlayersLeft:
        return PlayersLeft(race=self._over.popleft(), seats=(0, 1))

    def commands(self, number: int) -> list[list[Entry]]:
        races = self._chance.sample(list(self._running), number)
        for race in races:
            self._running[race] += 1
        return [[taken(race, self._running[race])] for race in races]

    def cost(self, requests: list[list[Entry]]) -> float:
        began = time.thread_time()
        outcomes = self._store.write(requests)
        cost = (time.thread_time() - began) * 1e6
        assert set(outcomes) == {None}
        return cost


def race_costs(store: DatabaseStore, *, is_rated: bool) -> None:
    races = Races(store, is_rated=is_rated)
    costs: dict[str, list[float]] = {"fewer": [], "more": [], "opened": [], "over": [], "left": [], "all": []}
    swept: dict[str, list[float]] = {kind: [] for kind in costs}
    written = 0
    for _ in range(ROUNDS):
        for kind in costs:
            requests = races.commands(2 * A_BATCH if kind == "more" else A_BATCH)
            if kind in ("opened", "all"):
                requests.append([races.opened()])
            if kind in ("over", "all"):
                requests.append(races.ended())
            if kind in ("left", "all"):
                requests.append([races.left()])
            written += sum(isinstance(entry, CommandTaken) for request in requests for entry in request)
            assert store._batches is not None
            under_way = swept if store._batches._log.is_compacting else costs
            under_way[kind].append(races.cost(requests))
    means = {kind: fmean(costs[kind]) for kind in costs}
    sweeping = sum(sum(swept[kind]) - means[kind] * len(swept[kind]) for kind in costs) / written
    command = (means["more"] - means["fewer"]) / A_BATCH
    batch = means["fewer"] - A_BATCH * command
    opened, over, left, together = (means[kind] - means["fewer"] for kind in ("opened", "over", "left", "all"))
    figures = [batch, command, sweeping, opened, over - command, left, together - command, together + A_RACE * (command + sweeping)]
    print(f"{'rated' if is_rated else 'unrated':>8} " + " ".join(f"{figure:>8.1f}" for figure in figures), flush=True)


def table(name: str, store: DatabaseStore) -> None:
    print(f"\n{name}")
    batches(store)
    print(f"{'races':>7} {'a second':>10} {'p50 ms':>8} {'p99 ms':>8} {'batch':>8} {'µs':>7}   paced: p50 and p99 ms")
    for writers in WRITERS:
        full = trio.run(_measure, store, writers, None)
        paced = trio.run(_measure, store, writers, PACE_S)
        figures = f"{full.per_second:>10,.0f} {full.p50_ms:>8.2f} {full.p99_ms:>8.2f} {full.batch:>8.1f} {full.cpu_us:>7.1f}"
        print(f"{writers:>7,} {figures}   {paced.per_second:>6,.0f}/s: {paced.p50_ms:.2f}  {paced.p99_ms:.2f}", flush=True)


async def _measure(store: DatabaseStore, writers: int, pace_s: float | None) -> Measured:
    return await measure(store, writers, pace_s=pace_s)


@contextmanager
def a_store(where: str) -> Iterator[DatabaseStore]:
    if "://" not in where:
        folder = mkdtemp(prefix="journal-cost-", dir=where)
        try:
            store = open_database(str(Path(folder) / "bench.sqlite3"))
            yield store
            store.close()
        finally:
            shutil.rmtree(folder)
        return
    import psycopg

    with psycopg.connect(where, autocommit=True) as administrator:
        schema = f"carpet_bench_{secrets.token_hex(4)}"
        administrator.execute(f"CREATE SCHEMA {schema}")
        try:
            store = open_database(f"{where}{'&' if '?' in where else '?'}options=-csearch_path%3D{schema}")
            yield store
            store.close()
        finally:
            administrator.execute(f"DROP SCHEMA {schema} CASCADE")


def main() -> None:
    parser = argparse.ArgumentParser(description="What an acknowledged command costs.")
    parser.add_argument("where", nargs="*", default=[".", POSTGRES])
    parser.add_argument("--races", action="store_true", help="what a race costs the writer's thread, and nothing else")
    arguments = parser.parse_args()
    for where in arguments.where:
        try:
            if arguments.races:
                columns = "batch", "command", "swept", "opened", "over", "left", "all 3", "race"
                print(f"\n{where}\n{'':>8} " + " ".join(f"{name:>8}" for name in columns))
                for is_rated in (False, True):
                    with a_store(where) as store:
                        race_costs(store, is_rated=is_rated)
                continue
            with a_store(where) as store:
                table(store._location.url.get_backend_name(), store)
        except (ImportError, OSError) as error:
            print(f"\n{where}: not measured: {error}")
        except Exception as error:  # noqa: BLE001  (whatever the driver raises when no server answers)
            print(f"\n{where}: not measured: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
