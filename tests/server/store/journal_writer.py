"""A process that writes to a store until it is killed: `python -m tests.server.store.journal_writer WHERE RACES`.

After each acknowledgement it prints the number of the race and of the command.
"""

from __future__ import annotations

import os
import sys

import trio

from server.store.database import open_database
from server.store.journal import Journal
from tests.server.store.keeping import opened, taken


async def race(journal: Journal, number: int) -> None:
    await journal.write(opened(f"r{number}"))
    sequence = 0
    while True:
        sequence += 1
        await journal.write(taken(f"r{number}", sequence))
        # A single system call, so that a kill leaves whole lines.
        os.write(1, f"{number} {sequence}\n".encode())


async def main(where: str, races: int) -> None:
    journal = Journal(open_database(where))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.run)
        for number in range(races):
            nursery.start_soon(race, journal, number)


if __name__ == "__main__":
    trio.run(main, sys.argv[1], int(sys.argv[2]))
