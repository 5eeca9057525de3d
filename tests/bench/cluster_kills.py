"""Blows to a cluster, always where most races are, and what was lost: servers are killed, put to sleep for half a minute or stopped, Redis
is stopped, PostgreSQL restarted. The players and the watcher of each race come in through any server.

    python -m tests.bench.cluster_kills --blows 100 --races 6 --nodes 5
    python -m tests.bench.cluster_kills --blows 20 --races 2 --entrants 64    # and tournaments of 64, one after another
    python -m tests.bench.cluster_kills --blows 20 --seed 1 --sum kills.json  # add these blows to those in the file

It needs redis-server or valkey-server, and PostgreSQL's programs for a database of its own on a free port (root runs it as the user
postgres). For each kind of blow it prints the seconds until the next acknowledged move in the races that were hit. At the end it says
whether the records have all acknowledged moves, whether a server wrote to a race that it did not own, and whether the logs of the
tournaments have everything that was told.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import psycopg
import trio

from protocol.tournaments import TournamentOptions
from tests.bench.postgres import Postgres, postgres
from tests.e2e.cluster import Ground, begin_tournament, busiest, check, check_owners, check_tournament, keep_log
from tests.e2e.crash import Pauses
from tests.e2e.entrants import Entrant, Referee
from tests.e2e.nodes import NodeProcess, nodes
from tests.server.cluster.redis_server import RedisServer, redis_server

AFTER_S: Final = {"kill": 12.0, "sleep": 36.0, "stop": 6.0, "redis": 6.0, "database": 8.0}
"""Seconds from a blow to the next one: long enough for its effects to pass."""

SLEEP_S: Final = 30.0

HOLDS_S: Final = 900
"""How long a tournament may take."""

LASTS_S: Final = 120
"""How long the last races may take, after the last blow."""

STOPS_S: Final = 30
"""How long all servers may take to stop in the end."""

IDLE_S: Final = 15.0
"""Races without a move for this long are examined."""


@dataclass
class Blows:
    """pauses: by kind of blow, the seconds without an acknowledged move, for each race that was hit."""

    database: Postgres
    redis: RedisServer
    pauses: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in AFTER_S})
    dealt: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AFTER_S, 0))

    async def deal(self, kind: str, ground: Ground) -> None:
        node = await busiest(ground.place, self.database.url)
        hit = await trio.to_thread.run_sync(races_of, self.database.url, None if kind in ("redis", "database") else node.url)
        racing = [pair for pair in ground.begin_blow() if pair.room in hit]
        started = trio.current_time()
        await self._hit(kind, node)
        await trio.sleep(max(AFTER_S[kind] - (trio.current_time() - started), 0.0))
        self.pauses[kind] += ground.end_blow(racing)
        self.dealt[kind] += 1
        if node.process is None:
            await node.start()

    async def _hit(self, kind: str, node: NodeProcess) -> None:
        match kind:
            case "kill":
                await node.end(signal.SIGKILL)
            case "sleep":
                node.signal(signal.SIGSTOP)
                await trio.sleep(SLEEP_S)
                node.signal(signal.SIGCONT)
            case "stop":
                await node.end(signal.SIGTERM)
            case "redis":
                self.redis.stop()
                await trio.sleep(AFTER_S["redis"] / 2)
                await trio.to_thread.run_sync(self.redis.start)
            case _:
                await trio.to_thread.run_sync(self.database.stop)
                await trio.to_thread.run_sync(self.database.start)


def races_of(database: str, url: str | None) -> set[str]:
    """The rooms with a running race, on the server at this URL or on all."""
    with psycopg.connect(database) as connection:
        running = "SELECT room, url FROM races JOIN nodes ON nodes.id = races.node WHERE phase = 'running'"
        return {room for room, where in connection.execute(running) if url in (None, where)}


@dataclass
class Tournaments:
    """Tournaments of this many entrants, one after another. wrong: what was wrong with those that are over."""

    ground: Ground
    database: str
    entrants: int
    over: int = 0
    results: int = 0
    wrong: list[str] = field(default_factory=list)
    referee: Referee | None = None
    entering: list[Entrant] = field(default_factory=list)
    calm: trio.Lock = field(default_factory=trio.Lock)
    """Held during a blow, and while a tournament begins: entrants do not repeat what they ask for then."""

    @property
    def waits(self) -> list[str]:
        """How the current tournament stands, and what the entrants who are called to a table wait for."""
        seen = self.referee.seen if self.referee is not None else None
        if seen is None:
            return []
        still = sum(found.open for found in seen.rounds)
        return [f"tournament {seen.phase}, round {seen.round}, {still} tables open", *(each.waits for each in self.entering if each.waits)]

    @property
    def quiet_s(self) -> float:
        """How long nothing was heard of it."""
        return trio.current_time() - self.referee.told_at if self.referee is not None else 0.0

    async def hold(self) -> None:
        """Hold tournaments until the ground is finished and the last one is over."""
        options = TournamentOptions(
            name="Bench",
            rounds=6,
            check_in_s=600,
            no_show_s=120,
            pause_s=0,
            countdown_s=1,
            grace_s=120,
            rated=False,
            time_limit_s=600,
            places=self.entrants,
        )
        while self.entrants and not self.ground.finished.is_set():
            entrants = self.entering = [Entrant(f"entrant {number}", strength=20 + number % 13) for number in range(self.entrants)]
            with trio.move_on_after(HOLDS_S) as patience:
                async with trio.open_nursery() as nursery:
                    async with self.calm:
                        referee = self.referee = await begin_tournament(nursery, self.ground.place, options, entrants)
                        await referee.until("running", round=1)
                    await referee.until("over")
                    nursery.cancel_scope.cancel()
            if patience.cancelled_caught:
                # Nothing more can be checked of it.
                self.wrong.append(f"a tournament was not over within {HOLDS_S} seconds")
                return
            self.wrong += await trio.to_thread.run_sync(check_tournament, referee, entrants, self.database)
            assert referee.seen is not None
            self.results += sum(found.tables for found in referee.seen.rounds)
            self.over += 1
            self.referee = None


class Campaign:
    """One run. faults: of the campaign itself, and what it waited for in vain."""

    def __init__(self, database: Postgres, redis: RedisServer, options: argparse.Namespace, place: list[NodeProcess]) -> None:
        generator = Pauses(options.seed)
        self.faults: list[str] = []
        self._options = options
        self._generator = generator
        self._place = place
        self._database = database.url
        self._dealt = Blows(database, redis)
        self._ground = Ground(place, generator, is_watched=True)
        self._tournaments = Tournaments(self._ground, database.url, options.entrants)

    async def run(self) -> None:
        """Ends whatever happens, so that there is always something to report."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._end_at_signal)
                nursery.start_soon(self._say_idle)
                async with trio.open_nursery() as races:
                    races.start_soon(self._ground.play, self._options.races)
                    races.start_soon(self._tournaments.hold)
                    await trio.sleep(5)
                    await self._strike()
                    self._ground.finish()
                    races.cancel_scope.deadline = trio.current_time() + (HOLDS_S if self._options.entrants else LASTS_S)
                if races.cancel_scope.cancelled_caught:
                    self.faults += [f"not over in the end: {line}" for line in (*self._ground.idle(0), *self._tournaments.waits)]
                nursery.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001  (whatever it was, what was seen until then is told)
            traceback.print_exception(error)
            self.faults.append(f"the campaign itself failed: {error!r}")
        for node in self._place:
            if node.process is not None:
                node.signal(signal.SIGCONT)
                node.signal(signal.SIGTERM)
        with trio.move_on_after(STOPS_S):
            while any(node.process is not None and node.process.poll() is None for node in self._place):  # noqa: ASYNC110
                await trio.sleep(0.1)

    async def _end_at_signal(self) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                raise RuntimeError(f"stopped by {signal.Signals(number).name}")

    async def _say_idle(self) -> None:
        while True:
            await trio.sleep(IDLE_S / 2)
            for line in (*self._ground.idle(IDLE_S), *(self._tournaments.waits if self._tournaments.quiet_s > IDLE_S else ())):
                print(f"  idle: {line}", flush=True)

    async def _strike(self) -> None:
        options, until = self._options, trio.current_time() + self._options.seconds
        for number in range(options.blows):
            if trio.current_time() > until:
                print(f"{options.seconds} seconds are over")
                return
            kind = self._generator.choice(options.kinds)
            before = len(self._dealt.pauses[kind])
            async with self._tournaments.calm:
                await self._dealt.deal(kind, self._ground)
            for line in self._ground.setbacks:
                print(f"  {line}")
            self._ground.setbacks.clear()
            pauses = [round(pause, 1) for pause in self._dealt.pauses[kind][before:]]
            print(f"{number + 1}/{options.blows} {kind}: {pauses}, load average {os.getloadavg()[0]:.0f}", flush=True)

    def results(self) -> Results:
        """The results. All servers must have stopped."""
        ground, tournaments = self._ground, self._tournaments
        wrong, moved, owned = list(self.faults), 0, list[str]()
        try:
            check(ground, self._database)
            moved, owned = check_owners(self._database)
        except Exception as error:  # noqa: BLE001  (it is one more thing that is wrong)
            wrong.append(f"what is kept is not what was told: {error!r}")
        count = ground.count
        wrong += [*count.lost, *ground.failures, *owned, *tournaments.wrong]
        counts = {
            "races": count.races,
            "acknowledged moves": count.acknowledged,
            "moves lost or doubled": len(count.lost),
            "times that a race went to another server": moved,
            "times that a server wrote to a race that it did not own, or twice": len(owned),
            "players who never heard their result": count.untold,
            "watchers who saw the result": ground.watchers,
            "watchers who saw none": len(ground.blind),
            "messages to watchers": ground.told,
            f"tournaments of {tournaments.entrants}": tournaments.over,
            "results of their tables": tournaments.results,
            "things that are wrong": len(wrong),
        }
        return Results(self._dealt.dealt, self._dealt.pauses, counts, [*wrong, *ground.blind])


@dataclass
class Results:
    """dealt: the number of blows of each kind. pauses: as in `Blows`. remarks: what is wrong, and who was told nothing."""

    dealt: dict[str, int]
    pauses: dict[str, list[float]]
    counts: dict[str, int]
    remarks: list[str]

    def add_to(self, file: Path) -> Results:
        """These results added to those in the file, which is then updated."""
        both = self
        if file.exists():
            before = Results(**json.loads(file.read_text()))
            both = Results(
                {kind: before.dealt[kind] + number for kind, number in self.dealt.items()},
                {kind: before.pauses[kind] + pauses for kind, pauses in self.pauses.items()},
                {what: before.counts.get(what, 0) + self.counts.get(what, 0) for what in {**before.counts, **self.counts}},
                before.remarks + self.remarks,
            )
        file.write_text(json.dumps(asdict(both)))
        return both

    def show(self) -> None:
        for kind, pauses in self.pauses.items():
            worst = f", next move after p50 {statistics.median(pauses):.1f} s, worst {max(pauses):.1f} s" if pauses else ""
            print(f"{kind}: {self.dealt[kind]} blows, {len(pauses)} races hit{worst}")
        for what, number in self.counts.items():
            print(f"{what}: {number}")
        for line in self.remarks:
            print(line)


async def campaign(database: Postgres, redis: RedisServer, options: argparse.Namespace) -> Results:
    async with nodes(database.url, redis.url, options.nodes) as place:
        keep_log(database.url)
        run = Campaign(database, redis, options, place)
        await run.run()
    return await trio.to_thread.run_sync(run.results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blows", type=int, default=100)
    parser.add_argument("--races", type=int, default=6, help="at once")
    parser.add_argument("--entrants", type=int, default=0, help="of tournaments, which are held one after another; 0 for none")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=AFTER_S, default=list(AFTER_S), help="of blows; each as likely as the others")
    parser.add_argument("--seconds", type=int, default=86_400, help="no blow begins later")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--sum", type=Path, metavar="FILE", help="add the results to those in this file, and show all of them together")
    options = parser.parse_args()
    with postgres() as database, redis_server() as redis:
        results = trio.run(campaign, database, redis, options)
    results.show()
    if options.sum is not None:
        print("\ntogether with earlier runs:")
        results.add_to(options.sum).show()
    sys.exit(bool(results.counts["things that are wrong"]))


if __name__ == "__main__":
    main()
