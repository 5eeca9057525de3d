"""The journal: `write` returns when what was written is safe on the disk. The one module of the store that knows an event loop.

Group commit. One task (`run`) has the store's `write` called in a thread, one batch at a time; what comes while one is being committed is
the next batch. So nobody waits for a timer, a lone writer pays one commit, and a thousand writers share one.

A failed commit fails all that wrote in its batch, with nothing of it kept; the journal goes on with the next. A race whose command failed
so has gone further than its log: what it takes next would be refused, so its room has to end, or to begin again from `running`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import trio

from server.store.errors import EntryRefused, JournalClosed, StoreError
from server.store.port import Entry, Request, Store

Answer = TypeVar("Answer")

QUEUE: Final = 8_192
"""Requests of the next batch. When it is full, `write` waits until that batch is on its way: rooms then read no further requests, their
inboxes fill, and players are told `server/busy`."""


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
    outcomes: tuple[EntryRefused | None, ...] = ()
    failure: StoreError | None = None
    taken: trio.Event = field(default_factory=trio.Event)
    done: trio.Event = field(default_factory=trio.Event)


class Journal:
    """Run `run` in a task. After it has ended nothing is written any more."""

    def __init__(self, store: Store, *, queue: int = QUEUE) -> None:
        self.statistics = Statistics()
        self._store = store
        self._queue = queue
        # Its own: readers may hold all of Trio's threads.
        self._writer_thread = trio.CapacityLimiter(1)
        self._next = _Batch()
        self._something = trio.Event()
        self._closed = False
        self._ended = trio.Event()

    async def write(self, *entries: Entry) -> None:
        """Returns when the entries are committed, all of them together.

        Raises EntryRefused when they do not fit, another StoreError when their batch could not be written, JournalClosed. A caller that is
        cancelled does not learn it, and they may still be written. Two calls for one race must follow each other, not overlap.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._closed and len(self._next.requests) >= self._queue:
            await self._next.taken.wait()
        if self._closed:
            raise JournalClosed("the server is stopping: nothing more is written")
        batch = self._next
        place = len(batch.requests)
        batch.requests.append(entries)
        self._something.set()
        await batch.done.wait()
        # An exception belongs to one task: each waiter raises one of its own.
        if batch.failure is not None:
            raise type(batch.failure)(*batch.failure.args) from batch.failure
        refused = batch.outcomes[place]
        if refused is not None:
            raise refused

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
                self._finish(self._next, (), StoreError("the journal has failed; the log says how"))
                self._ended.set()

    async def _commit_what_came(self) -> None:
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
            if not batch.done.is_set():
                self._finish(batch, (), StoreError("the journal has failed; the log says how"))

    async def _commit(self, batch: _Batch) -> None:
        started = time.perf_counter()
        try:
            outcomes = await self._write(batch.requests)
        except StoreError as error:
            self._finish(batch, (), error)
        else:
            self._finish(batch, outcomes, None)
        self._count(batch, time.perf_counter() - started)

    async def _write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        if self._store.waits:
            return await trio.to_thread.run_sync(self._store.write, requests, limiter=self._writer_thread)
        await trio.lowlevel.checkpoint()
        return self._store.write(requests)

    @staticmethod
    def _finish(batch: _Batch, outcomes: tuple[EntryRefused | None, ...], failure: StoreError | None) -> None:
        batch.outcomes = outcomes
        batch.failure = failure
        batch.taken.set()
        batch.done.set()

    def _count(self, batch: _Batch, seconds: float) -> None:
        counts = self.statistics
        counts.batches += 1
        counts.requests += len(batch.requests)
        counts.entries += sum(len(request) for request in batch.requests)
        counts.refused += sum(outcome is not None for outcome in batch.outcomes)
        counts.failed_batches += batch.failure is not None
        counts.largest = max(counts.largest, len(batch.requests))
        counts.commit_s += seconds
        counts.max_commit_s = max(counts.max_commit_s, seconds)
