"""Holds a room's effects back until the journal has them: what they tell of is safe by then, and they keep the order of decision.

Effects with entries wait for the journal; effects without any wait only for those before them. Knows nothing of the contents of either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from server.rooms.effects import Effects
from server.rooms.ports import JournalPort
from server.store.errors import StoreError


class CommitGate:
    """The gate of one room. deliver: called with effects that are safe. fail: called once, if the journal can never write some of them; it
    discards those that wait.
    """

    __slots__ = ("_deliver", "_discarded", "_fail", "_journal", "_waiting")

    def __init__(self, journal: JournalPort, *, deliver: Callable[[Effects], None], fail: Callable[[StoreError], None]) -> None:
        self._journal = journal
        self._deliver = deliver
        self._fail = fail
        # The first in the queue always has entries.
        self._waiting: deque[Effects] = deque()
        self._discarded = 0

    def put(self, effects: Effects) -> None:
        """Deliver the effects as soon as they and all before them are safe."""
        if effects.entries:
            self._waiting.append(effects)
            try:
                self._journal.submit(effects.entries, self._done)
            except StoreError as error:
                # The journal takes nothing more, and will not call back for these.
                self._waiting.pop()
                self._fail(error)
        elif self._waiting:
            self._waiting.append(effects)
        else:
            self._deliver(effects)

    def discard(self) -> None:
        """Deliver none of the waiting effects. Those already submitted may still be kept."""
        self._discarded += sum(bool(effects.entries) for effects in self._waiting)
        self._waiting.clear()

    def close(self) -> None:
        """Nothing waits, and nothing will. Drops `deliver` and `fail`, so that no reference cycle with the room remains."""
        self._deliver = self._fail = _forget

    def _done(self, error: StoreError | None) -> None:
        if self._discarded:
            self._discarded -= 1
            return
        if error is not None:
            self._waiting.popleft()
            self._fail(error)
            return
        waiting = self._waiting
        self._deliver(waiting.popleft())
        while waiting and not waiting[0].entries:
            self._deliver(waiting.popleft())


def _forget(_: object) -> None:
    pass
