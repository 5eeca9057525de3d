"""Everything that can go wrong with a server and its database, many times over: `python -m tests.bench.campaign --kills 40 --times 10`.

The first rows are whole servers with scripted players on them. They are killed in the middle of races, on SQLite and on PostgreSQL; then
servers die as soon as they listen, each with its wall clock ten minutes further ahead. *Lost*: a move that was acknowledged but is missing
or different in the record. *Blamed*: a seat that was forfeited or out of time although nobody left. *Untold*: a player who never heard
their result.

In the other rows a journal loses its database: SQLite's file is locked for longer than a statement waits, then has no space left;
PostgreSQL is stopped abruptly and restarted. Here a race is a series of commands, each submitted as soon as the one before is acknowledged.
*Lost*: a race in which an acknowledged command is missing, doubled or out of order. *Blamed*: one that was told of an error. The PostgreSQL
is the benchmark's own, made with `initdb`. The exit status is 0 if all these counts are 0.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import trio

from server.store import connections
from server.store.database import DatabaseStore, open_database
from server.store.errors import JournalClosed, StoreError
from server.store.journal import Journal
from tests.bench.journal_cost import opened, taken
from tests.bench.postgres import postgres
from tests.e2e.crash import CRASH_LOOP, USUAL, Course, kill_and_count

RACES: Final = 50
AWAY_S: Final = 2.5
"""How long SQLite is locked: longer than a statement waits here."""

BETWEEN_S: Final = 0.5


class Race:
    """acknowledged: how many commands were. ended: the error that it was told."""

    def __init__(self, journal: Journal, name: str) -> None:
        self.acknowledged = 0
        self.ended: StoreError | None = None
        self.name = name
        self._journal = journal
        journal.submit([opened(name)], self._next)

    def _next(self, error: StoreError | None) -> None:
        if error is not None:
            self.ended = error
            return
        self.acknowledged += 1
        with suppress(JournalClosed):
            self._journal.submit([taken(self.name, self.acknowledged)], self._next)


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one way to break things. failures: a sentence each."""

    what: str
    times: int
    seconds: float
    races: int
    acknowledged: int
    lost: int
    blamed: int
    untold: int = 0
    failures: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not (self.lost or self.blamed or self.untold)

    def tell(self) -> None:
        cells = (self.times, f"{self.seconds:.0f}", self.races, self.acknowledged, self.lost, self.blamed, self.untold)
        print(f"{self.what:<42}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
        for failure in self.failures:
            print(f"  {failure}")


HEADINGS: Final = ("times", "seconds", "races", "acknowledged", "lost", "blamed", "untold")


def killed(what: str, database: str, *, kills: int, races: int, seed: int, course: Course = USUAL) -> Row:
    """Kill whole servers."""
    started = time.monotonic()
    count = trio.run(partial(kill_and_count, database, kills=kills, races_at_once=races, seed=seed, course=course))
    return Row(
        what,
        count.kills,
        time.monotonic() - started,
        count.races,
        count.acknowledged,
        len(count.lost),
        len(count.blamed),
        count.untold,
        (*count.lost, *count.blamed),
    )


async def taken_away(what: str, store: DatabaseStore, take_away: Callable[[], None], times: int) -> Row:
    """Take the database away from a journal, and give it back."""
    journal = Journal(store)
    started = time.monotonic()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        races = [Race(journal, f"BENCHM-1-{number:016x}") for number in range(RACES)]
        for _ in range(times):
            await trio.sleep(BETWEEN_S)
            before = sum(race.acknowledged for race in races)
            await trio.to_thread.run_sync(take_away)
            # Wait until they write again: what was held up, and something after it. (Polling is good enough for a benchmark.)
            while sum(race.acknowledged for race in races) < before + 3 * RACES:  # noqa: ASYNC110
                await trio.sleep(0.05)
        nursery.cancel_scope.cancel()
    kept = {race.opened.race: [command.sequence for command in race.commands] for race in store.running().races}
    lost = [race for race in races if kept.get(race.name, [])[: race.acknowledged - 1] != [*range(1, race.acknowledged)]]
    ended = [f"{race.name}: {race.ended}" for race in races if race.ended is not None]
    acknowledged = sum(race.acknowledged for race in races)
    return Row(what, times, time.monotonic() - started, len(races), acknowledged, len(lost), len(ended), failures=tuple(ended))


def on_sqlite(folder: Path, times: int) -> Iterator[Row]:
    path = str(folder / "locked.sqlite3")
    with closing(open_database(path)) as store:

        def lock() -> None:
            with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as other:
                other.execute("BEGIN IMMEDIATE")
                time.sleep(AWAY_S)
                other.execute("ROLLBACK")

        yield trio.run(taken_away, "SQLite's file locked by another program", store, lock, times)
    with closing(open_database(str(folder / "full.sqlite3"))) as store:

        def fill() -> None:
            # This is the writer's connection, so it waits for a moment between two commits.
            with store._writing() as sql:
                sql.rows("PRAGMA max_page_count = 1")
            time.sleep(AWAY_S)
            with store._writing() as sql:
                sql.rows("PRAGMA max_page_count = 100000000")

        yield trio.run(taken_away, "SQLite's disk full", store, fill, times)


def rows(folder: Path, *, kills: int, times: int, races: int, seed: int) -> Iterator[Row]:
    """One row after the other. Raises FileNotFoundError after the rows without PostgreSQL if its programs are not installed."""
    yield killed("server killed, SQLite", str(folder / "killed.sqlite3"), kills=kills, races=races, seed=seed)
    loop = str(folder / "loop.sqlite3")
    yield killed("server in a crash loop, clock ahead, SQLite", loop, kills=kills, races=races, seed=seed, course=CRASH_LOOP)
    yield from on_sqlite(folder, times)
    with postgres() as server:
        yield killed("server killed, PostgreSQL", server.empty(), kills=kills, races=races, seed=seed)
        with closing(open_database(server.empty())) as store:
            yield trio.run(taken_away, "PostgreSQL stopped the hard way", store, server.restart, times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40, help="of servers, in each row")
    parser.add_argument("--times", type=int, default=10, help="that a database is taken away, in each row")
    parser.add_argument("--races", type=int, default=6, help="at once, two players each")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    connections.BUSY_S = 1  # type: ignore[misc]
    print(f"{'':<42}" + "".join(f"{heading:>13}" for heading in HEADINGS), flush=True)
    whole = True
    with tempfile.TemporaryDirectory() as folder:
        try:
            for row in rows(Path(folder), kills=arguments.kills, times=arguments.times, races=arguments.races, seed=arguments.seed):
                row.tell()
                whole = whole and row.is_whole
        except FileNotFoundError as error:
            print(f"PostgreSQL: not tried: {error}")
    sys.exit(not whole)


if __name__ == "__main__":
    main()
