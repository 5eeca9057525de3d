"""When the interpreter looks for garbage in cycles. Every look at all there is stops the whole server: with a thousand races for a tenth of
a second, and longer the more there are. Left to itself Python looks whenever so many objects more are there than were, so that a crowd that
comes is stopped again and again; and a look at what is new alone finds most of the positions of all races, as they are ever new.

What a server lets go of is in no cycle and goes at once: races, rematches and those who come, leave or are turned away leave nothing
behind. So nothing is looked at until more is there than those who are connected can account for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

LOOK_S: Final = 1.0
"""Seconds from one count of what there is to the next."""

FEW: Final = 20_000
"""Objects more than at the last look which may be there in any case: to look at so many takes some milliseconds."""

OF_CONNECTION: Final = 300
"""The same for each connection: twice what it has with its share of a race of some dozen moves."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """What is there on entering stays, and is not looked at inside the context; the rest only by `collect_garbage`."""
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


async def collect_garbage(connections: Callable[[], int]) -> None:
    """Until cancelled. connections: how many there are. Does nothing where Python itself looks."""
    # Here, since the program's help should not wait for it.
    import trio

    while True:
        await trio.sleep(LOOK_S)
        # What was made since the last look less what has gone. Counted whether Python looks by itself or not.
        if not gc.isenabled() and gc.get_count()[0] > FEW + OF_CONNECTION * connections():
            gc.collect()
