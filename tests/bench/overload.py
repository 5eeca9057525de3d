"""A server that has its fill, and as many again at the door: `python -m tests.bench.overload --races N` from the top of the tree.

N races run; after a third of the time as many more come as fast as they are let in, move as well, and where they are told to wait ask again
each second. What counts is how long the first ones wait for their views meanwhile.
"""

from __future__ import annotations

import argparse
import threading
from contextlib import suppress

from client.local.load import LoadFailed, LoadResult, run_load
from client.local.load_worker import Plan
from tests.bench.side_by_side import SERVERS, processor_s, settle, started


def told(name: str, result: LoadResult, core: float) -> None:
    times = ", ".join(f"{which} {ms} ms" for which, ms in result.view_ms.items())
    print(f"{name}: {times}, {core:.0%} of the core, {result.errors or 'no errors'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0, help="a third of the time")
    chosen = parser.parse_args()
    settle(-1)
    with started(SERVERS["sqlite"], postgres="") as (pid, url):
        plan = Plan(url=url, races=chosen.races, rate=1.0, watchers=0, rules="carpet")
        come: list[int] = []

        def crowd() -> None:
            # Where not all of them are let in, that is what is to be seen.
            with suppress(LoadFailed):
                run_load(plan, seconds=chosen.seconds, processes=1, progress=lambda stands, *_: come.append(stands))

        begun: list[tuple[float, float]] = []
        others = threading.Thread(target=crowd, daemon=True)

        def watch(stands: int, of: int, since: float | None) -> None:
            if since is None:
                return
            begun.append((since, processor_s(pid)))
            if since >= chosen.seconds and not others.is_alive() and not come:
                others.start()

        result = run_load(plan, seconds=3 * chosen.seconds, processes=1, progress=watch)
        (first, before), (last, after) = begun[0], begun[-1]
        told("running", result, (after - before) / (last - first))
        print(f"of {chosen.races} more, {max(come, default=0)} came to stand")


if __name__ == "__main__":
    main()
