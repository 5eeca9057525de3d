"""Take the database away under writing races, again and again, and count what was lost: `python -m tests.bench.outages --times 20`.

PostgreSQL is one of its own, made with `initdb` and stopped the hard way, where its programs are installed. SQLite's file is locked for
longer than a statement waits, and then has no space left. A race is a row of commands, each submitted as soon as the one before it was
acknowledged. Lost is what was acknowledged and is not there, doubled or out of order; ended is a race that was told of an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import trio

from server.store import connections
from server.store.database import DatabaseStore, open_database
from server.store.errors import JournalClosed, StoreError
from server.store.journal import Journal
from tests.bench.journal_cost import opened, taken

RACES: Final = 50
AWAY_S: Final = 2.5
"""How long SQLite is taken away: longer than a statement waits here."""

BETWEEN_S: Final = 0.5


class Race:
    """acknowledged: commands. ended: why it was told that it cannot go on."""

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


async def campaign(store: DatabaseStore, take_away: Callable[[], None], times: int) -> bool:
    """Prints the counts. Whether nothing was lost."""
    journal = Journal(store)
    started = time.monotonic()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        races = [Race(journal, f"BENCHM-1-{number:016x}") for number in range(RACES)]
        for _ in range(times):
            await trio.sleep(BETWEEN_S)
            before = sum(race.acknowledged for race in races)
            await trio.to_thread.run_sync(take_away)
            # Until they write again: what was held, and something after it. (A bench may look every now and then.)
            while sum(race.acknowledged for race in races) < before + 3 * RACES:  # noqa: ASYNC110
                await trio.sleep(0.05)
        nursery.cancel_scope.cancel()
    kept = {race.opened.race: [command.sequence for command in race.commands] for race in store.running().races}
    lost = [race for race in races if kept.get(race.name, [])[: race.acknowledged - 1] != [*range(1, race.acknowledged)]]
    ended = [race for race in races if race.ended is not None]
    acknowledged = sum(race.acknowledged for race in races)
    counts = journal.statistics
    took_s = time.monotonic() - started
    print(f"  taken away {times} times in {took_s:.0f} s: outages {counts.outages}, failed commits {counts.failed_commits}")
    print(f"  acknowledged {acknowledged}; lost or doubled in {len(lost)} races; races ended {len(ended)}", flush=True)
    return not lost and not ended


class Postgres:
    """A server of one's own, in a folder, at a port nobody uses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs = Path(subprocess.run(["pg_config", "--bindir"], check=True, capture_output=True, text=True).stdout.strip())
        # The server does not run as root.
        self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
            folder.parent.chmod(0o755)
        self._run("initdb", "-D", str(folder), "-U", "postgres", "-A", "trust")
        self._options = f"-c port=54329 -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        self._run("pg_ctl", "-D", str(folder), "-w", "-o", self._options, "-l", str(folder / "log"), "start")

    url = "postgresql://postgres@127.0.0.1:54329/postgres"

    def restart(self) -> None:
        self._run(
            "pg_ctl", "-D", str(self._folder), "-m", "immediate", "-w", "-o", self._options, "-l", str(self._folder / "log"), "restart"
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._folder), "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([*self._as, str(self._programs / program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")


def on_postgres(folder: Path, times: int) -> bool:
    data = folder / "postgres"
    data.mkdir(mode=0o700)
    server = Postgres(data)
    try:
        print("postgresql, stopped the hard way and started again")
        with closing(open_database(server.url)) as store:
            return trio.run(campaign, store, server.restart, times)
    finally:
        server.stop()


def on_sqlite(folder: Path, times: int) -> bool:
    path = str(folder / "bench.sqlite3")
    with closing(open_database(path)) as store:

        def lock() -> None:
            with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as other:
                other.execute("BEGIN IMMEDIATE")
                time.sleep(AWAY_S)
                other.execute("ROLLBACK")

        print("sqlite, locked by another program")
        locked = trio.run(campaign, store, lock, times)
    full = folder / "full.sqlite3"
    with closing(open_database(str(full))) as store:

        def fill() -> None:
            # Between two commits of the writer, whose connection it is.
            with store._writing() as sql:
                sql.rows("PRAGMA max_page_count = 1")
            time.sleep(AWAY_S)
            with store._writing() as sql:
                sql.rows("PRAGMA max_page_count = 100000000")

        print("sqlite, no space left")
        return trio.run(campaign, store, fill, times) and locked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    connections.BUSY_S = 1
    with tempfile.TemporaryDirectory() as folder:
        whole = on_sqlite(Path(folder), times)
        try:
            whole = on_postgres(Path(folder), times) and whole
        except FileNotFoundError as error:
            print(f"postgresql: not tried: {error}")
    sys.exit(not whole)


if __name__ == "__main__":
    main()
