"""How often the interpreter looks for garbage in cycles. Every look at all there is stops the whole server: with a thousand connections,
for more than a tenth of a second; and Python's own settings have it look whenever a quarter more is there, as when a crowd comes to watch a
race.

Nearly all that a server lets go of is in no cycle and goes at once, so little is lost by looking seldom.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NEW: Final = 5_000
"""Objects, more than have gone since, after which the new ones are looked at: some milliseconds. Each move that waits for the journal has a
dozen, which are gone in a moment and would be looked at in vain: so there have to be more of them than wait where a commit takes long."""

OLDER: Final = 5
"""Looks at the new ones between two at those a little older, which take five times as long; only where many have come are there any."""

ALL: Final = 80
"""Of these, between two at all there is: with the other two, after two million objects, as of some thousands of connections."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """What is there on entering stays, and is not looked at inside the context; the rest seldom."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW, OLDER, ALL)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
