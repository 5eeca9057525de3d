"""The journal: `submit` takes entries, and calls back once they are safe on the disk. The one module of the store that knows an event loop.

Group commit. One task (`run`) has the store's `write` called in a thread, one batch at a time; what comes while one is being committed is
the next batch. So a lone writer pays one commit, and a thousand writers share one. Requests are committed, and their callers called, in the
order in which they were submitted; many for one race may be on their way at once.

A failed commit fails all that wrote in its batch, with nothing of it kept; the journal goes on with the next. A race whose command failed
so has gone further than its log: what it takes next would be refused, so its room has to end, or to begin again from `running`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

import trio

from server.store.errors import EntryRefused, JournalClosed, StoreError
from server.store.port import Entry, Request, Store

Answer = TypeVar("Answer")
Done: TypeAlias = Callable[[StoreError | None], None]

QUEUE: Final = 8_192
"""Requests of the next batch. When it holds this many, `has_room` is False: whoever would open a race answers `server/busy`, and `write`
waits. `submit` takes what it is given all the same: a race that runs goes on, and what its players may send has limits of its own."""

FLOOR_S: Final = 0.004
"""Seconds from one commit's beginning to the next, at least, while several requests share a commit. Each commit costs about as much whether
it holds ten requests or a hundred. A lone writer does not wait."""


@dataclass(slots=True)
class Statistics:
    """Since the start. largest: requests in one batch. commit_s: time spent in commits, of which max_commit_s in the slowest."""

    batches: int = 0
    requests: int = 0
    entries: int = 0
    refused: int = 0
    failed_batches: int = 0
    largest: int = 0
    commit_s: float = 0.0
    max_commit_s: float = 0.0


@dataclass(slots=True, eq=False)
class _Batch:
    requests: list[Request] = field(default_factory=list)
    waiting: deque[Done] = field(default_factory=deque)
    taken: trio.Event = field(default_factory=trio.Event)


class Journal:
    """Run `run` in a task. After it has ended nothing is written any more."""

    def __init__(self, store: Store, *, queue: int = QUEUE) -> None:
        self.statistics = Statistics()
        self._store = store
        self._queue = queue
        # Its own: readers may hold all of Trio's threads.
        self._writer_thread = trio.CapacityLimiter(1)
        self._next = _Batch()
        self._next_commit_at = 0.0
        self._something = trio.Event()
        self._closed = False
        self._ended = trio.Event()

    @property
    def has_room(self) -> bool:
        """Whether more work may be begun; see `QUEUE`."""
        return len(self._next.requests) < self._queue

    def submit(self, entries: Sequence[Entry], done: Done) -> None:
        """Have the entries committed, all of them together. Never waits. Raises JournalClosed.

        done: called in the event loop once they are, in the order of the submissions, with None; or with why they could not be written:
        EntryRefused when they do not fit, another StoreError when their batch failed. It must not raise.
        """
        if self._closed:
            raise JournalClosed("the server is stopping: nothing more is written")
        self._next.requests.append(entries)
        self._next.waiting.append(done)
        self._something.set()

    async def write(self, *entries: Entry) -> None:
        """The same for a task that waits: returns when the entries are committed, and raises what `submit` would have said.

        A caller that is cancelled does not learn it, and they may still be written.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._closed and not self.has_room:
            await self._next.taken.wait()
        committed = trio.Event()
        errors: list[StoreError] = []

        def done(error: StoreError | None) -> None:
            if error is not None:
                errors.append(error)
            committed.set()

        self.submit(entries, done)
        await committed.wait()
        if errors:
            raise errors[0]

    async def ask(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        """A reading call of the store, in a thread where the store waits. Not in order with what is being written."""
        if self._store.waits:
            return await trio.to_thread.run_sync(call, *arguments)
        await trio.lowlevel.checkpoint()
        return call(*arguments)

    def close(self) -> None:
        """Take nothing more; `run` ends when what was taken is written."""
        self._closed = True
        self._something.set()

    async def ended(self) -> None:
        """Wait until `run` has ended."""
        await self._ended.wait()

    async def run(self) -> None:
        """Commit batch after batch, until closed or cancelled; in either case all that was taken by then."""
        try:
            while not self._closed:
                await self._something.wait()
                await self._commit_what_came()
        finally:
            self._closed = True
            try:
                await self._commit_what_came()
            finally:
                # Only a fault in the program leaves anybody waiting here.
                self._fail(self._next, StoreError("the journal has failed; the log says how"))
                self._ended.set()

    async def _commit_what_came(self) -> None:
        if not self._closed and self._next_commit_at > trio.current_time():
            await trio.sleep_until(self._next_commit_at)
        self._something = trio.Event()
        batch, self._next = self._next, _Batch()
        batch.taken.set()
        if not batch.requests:
            return
        try:
            # Its writers wait for the outcome, whoever is cancelled. A commit takes no longer than the database's own time limits.
            with trio.CancelScope(shield=True):
                await self._commit(batch)
        finally:
            self._fail(batch, StoreError("the journal has failed; the log says how"))

    async def _commit(self, batch: _Batch) -> None:
        if self._store.waits and len(batch.requests) > 1:
            self._next_commit_at = trio.current_time() + FLOOR_S
        started = time.perf_counter()
        try:
            outcomes = await self._write(batch.requests)
        except StoreError as error:
            self._count(batch, time.perf_counter() - started)
            self.statistics.failed_batches += 1
            self._fail(batch, error)
        else:
            self._count(batch, time.perf_counter() - started)
            self.statistics.refused += sum(outcome is not None for outcome in outcomes)
            for outcome in outcomes:
                batch.waiting.popleft()(outcome)

    async def _write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        if self._store.waits:
            return await trio.to_thread.run_sync(self._store.write, requests, limiter=self._writer_thread)
        await trio.lowlevel.checkpoint()
        return self._store.write(requests)

    @staticmethod
    def _fail(batch: _Batch, failure: StoreError) -> None:
        """Tell whoever waits still."""
        batch.taken.set()
        while batch.waiting:
            # An exception belongs to one task: each waiter gets one of its own.
            error = type(failure)(*failure.args)
            error.__cause__ = failure
            batch.waiting.popleft()(error)

    def _count(self, batch: _Batch, seconds: float) -> None:
        counts = self.statistics
        counts.batches += 1
        counts.requests += len(batch.requests)
        counts.entries += sum(len(request) for request in batch.requests)
        counts.largest = max(counts.largest, len(batch.requests))
        counts.commit_s += seconds
        counts.max_commit_s = max(counts.max_commit_s, seconds)
