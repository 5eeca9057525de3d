"""Decides when Python looks for garbage in reference cycles.

A full collection stops the whole server: for a tenth of a second with a thousand races, and longer with more. Left to itself, Python
collects whenever enough new objects have been made, so an arriving crowd is stopped again and again. Collecting only the young generation
does not help: most positions of all races are always new.

What a server drops is in no cycle and is freed at once: races, rematches and people who come, leave or are turned away leave nothing
behind. So nothing is collected until there are more objects than the connections or the rooms can account for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS_LOOK_S: Final = 1.0
"""Seconds between two counts of the objects."""

FEW: Final = 20_000
"""New objects since the last collection that are always allowed: to look at so many takes a few milliseconds."""

OF_CONNECTION: Final = 300
"""New objects allowed for each connection: twice what it has, with its share of a race of some dozen moves."""

OF_ROOM: Final = 2 * OF_CONNECTION
"""The same for each room, since nearly all of that is its race's. It stays for a while when its players have left: if thousands leave at
once, those who play on must not wait for a look at all that is kept for them."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside the context, objects that exist on entry are never looked at, and all others only by `collect_garbage`."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        gc.unfreeze()


async def collect_garbage(connections: Callable[[], int], rooms: Callable[[], int]) -> None:
    """Collect when it is time, until cancelled. connections, rooms: how many there are. Does nothing while Python's own collector is on."""
    # Imported here so that the program's help does not wait for it.
    import trio

    while True:
        await trio.sleep(OBJECTS_LOOK_S)
        # Objects made since the last collection, less those freed. Counted even while Python's own collection is off.
        if not gc.isenabled() and gc.get_count()[0] > FEW + max(OF_CONNECTION * connections(), OF_ROOM * rooms()):
            gc.collect()
