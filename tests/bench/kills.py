"""Kill the server hundreds of times under racing clients and count what was lost: `python -m tests.bench.kills --kills 200`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import trio

from tests.e2e.crash import kill_and_count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--races", type=int, default=6, help="races at once, two clients each")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = partial(kill_and_count, Path(folder), kills=arguments.kills, races_at_once=arguments.races, seed=arguments.seed)
        count = trio.run(run)
    print(f"kills               {count.kills} in {time.monotonic() - started:.0f} s")
    print(f"races               {count.races}, {count.untold} players never told their result")
    print(f"acknowledged moves  {count.acknowledged}")
    print(f"lost or changed     {len(count.lost)}")
    for line in count.lost:
        print(f"  {line}")
    sys.exit(bool(count.lost or count.untold))


if __name__ == "__main__":
    main()
