"""The rule of this file: nothing is delivered before what it tells of is safe, and everything is delivered in the order of its deciding.

Effects with entries wait for the journal; effects without any wait only for those before them. Knows nothing of what is in either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from server.rooms.effects import Effects
from server.rooms.ports import JournalPort
from server.store.errors import StoreError


class CommitGate:
    """Of one room. deliver: called with effects that are safe. fail: called once, when the journal can never write some of them."""

    __slots__ = ("_deliver", "_discarded", "_fail", "_journal", "_waiting")

    def __init__(self, journal: JournalPort, *, deliver: Callable[[Effects], None], fail: Callable[[StoreError], None]) -> None:
        self._journal = journal
        self._deliver = deliver
        self._fail = fail
        # The first one always has entries.
        self._waiting: deque[Effects] = deque()
        self._discarded = 0

    def put(self, effects: Effects) -> None:
        """Deliver the effects as soon as they and all before them are safe: at once, where nothing waits."""
        if effects.entries:
            self._waiting.append(effects)
            try:
                self._journal.submit(effects.entries, self._done)
            except StoreError as error:
                # It takes nothing more, and will not call back for these.
                self._waiting.pop()
                self.discard()
                self._fail(error)
        elif self._waiting:
            self._waiting.append(effects)
        else:
            self._deliver(effects)

    def discard(self) -> None:
        """Deliver nothing of what waits. What has been submitted may be kept all the same."""
        self._discarded += sum(bool(effects.entries) for effects in self._waiting)
        self._waiting.clear()

    def close(self) -> None:
        """Nothing waits, and nothing will. Forgets `deliver` and `fail`, so that the room is in no cycle with this."""
        self._deliver = self._fail = _forget

    def _done(self, error: StoreError | None) -> None:
        if self._discarded:
            self._discarded -= 1
            return
        if error is not None:
            self._waiting.popleft()
            self.discard()
            self._fail(error)
            return
        waiting = self._waiting
        self._deliver(waiting.popleft())
        while waiting and not waiting[0].entries:
            self._deliver(waiting.popleft())


def _forget(_: object) -> None:
    pass
