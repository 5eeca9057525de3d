"""Two tournaments of 64 over real sockets, nine Swiss rounds and a knock-out, each through a kill of the server.

    python -m tests.bench.tournament_kill --entrants 64 --rounds 9

It makes the same checks as `tests/e2e/test_tournaments.py` does for smaller ones, and prints how long each took.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import trio

from tests.e2e.test_tournaments import knock_out, swiss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entrants", type=int, default=64, help="a power of two")
    parser.add_argument("--rounds", type=int, default=9, help="of the Swiss")
    options = parser.parse_args()
    for what, tournament in (
        ("Swiss", partial(swiss, number=options.entrants, rounds=options.rounds)),
        ("knock-out", partial(knock_out, number=options.entrants)),
    ):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            trio.run(tournament, Path(folder))
        print(f"{what} of {options.entrants}: nothing lost, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
