"""The journal: `submit` takes entries, and calls back once they are safe on the disk. The one module of the store that knows an event loop.

Group commit. One task (`run`) has the store's `write` called in a thread, one batch at a time; what comes while one is being committed is
the next batch. So a lone writer pays one commit, and a thousand writers share one. Requests are committed, and their callers called, in the
order in which they were submitted; many for one race may be on their way at once.

A commit that fails is tried again for as long as it takes: a database that cannot be written just now loses nothing, and nobody is told of
anything before it is safe. Meanwhile `outage` says since when and why, and those who asked for it are told. Whether a commit that was not
answered took place is for the store to find out; the same requests are never written twice.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, TypeVar

import trio

from server.store.errors import EntryRefused, JournalClosed, LeaseLost, StoreError
from server.store.port import Entry, Request
from server.store.store import Store

logger = logging.getLogger("carpet.store")

Answer = TypeVar("Answer")
Done: TypeAlias = Callable[[StoreError | None], None]

QUEUE: Final = 8_192
"""Requests of the next batch. When it holds this many, `has_room` is False: whoever would open a race answers `server/busy`, and `write`
waits. `submit` takes what it is given all the same: a race that runs goes on, and what its players may send has limits of its own. In an
outage they wait for an answer, so the queue grows no longer than what was on its way."""

FLOOR_S: Final = 0.002
"""Seconds from one commit's beginning to the next, at least, while several requests share a commit: less than from one look of the hub at
its sockets to the next, so that what a look brings is written at once. Each commit costs about as much whether it holds ten requests or a
hundred. A lone writer does not wait."""

FIRST_RETRY_S: Final = 0.05
RETRY_S: Final = 0.3
"""Seconds from a failed commit to the next try: from the one to the other, twice as long each time."""

SLOW_S: Final = 2.0
"""A commit, or a look at an idle store, that takes longer is an outage before it has failed."""

LOOK_S: Final = 1.0
"""Seconds from one look at the store to the next."""

LAST_TRIES_S: Final = 10.0
"""For how long a journal that is to end tries to write what it holds."""


@dataclass(slots=True)
class CommitStatistics:
    """Since the start. failed_commits: tries of them. largest: requests in one batch. commit_s: in commits, max_commit_s in the slowest."""

    batches: int = 0
    requests: int = 0
    entries: int = 0
    refused: int = 0
    failed_commits: int = 0
    outages: int = 0
    largest: int = 0
    commit_s: float = 0.0
    max_commit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Outage:
    """since: Trio's time from which on nothing could be written. why: one sentence."""

    since: float
    why: str


async def in_thread(call: Callable[[], Answer]) -> Answer:
    """What `trio.to_thread.run_sync` does, without limits, names, cancellation and calls back into Trio: for half of what it costs."""
    told = partial(trio.lowlevel.current_trio_token().run_sync_soon, trio.lowlevel.reschedule, trio.lowlevel.current_task())
    trio.lowlevel.start_thread_soon(call, told)
    answer: Answer = await trio.lowlevel.wait_task_rescheduled(lambda raise_cancel: trio.lowlevel.Abort.FAILED)
    return answer


@dataclass(slots=True, eq=False)
class _Batch:
    requests: list[Request] = field(default_factory=list)
    waiting: deque[Done] = field(default_factory=deque)
    taken: trio.Event | None = None
    """Made by who waits for it."""

    def take(self) -> None:
        """It is begun, or never will be: the next one has room."""
        if self.taken is not None:
            self.taken.set()


class Journal:
    """Run `run` in a task. After it has ended nothing is written any more."""

    def __init__(self, store: Store, *, queue: int = QUEUE) -> None:
        self.statistics = CommitStatistics()
        self.outage: Outage | None = None
        self.outage_listeners: list[Callable[[Outage | None], None]] = []
        self.lease_listeners: list[Callable[[], None]] = []
        """Called once the lease of this node is found to be lost, before anybody who waits is told so."""
        self._store = store
        self._queue = queue
        # Its own: readers may hold all of Trio's threads.
        self._writer_thread = trio.CapacityLimiter(1)
        self._next = _Batch()
        self._next_commit_at = 0.0
        # When the batch that is being committed was first tried; None between batches.
        self._committing_since: float | None = None
        self._stops = False
        self._gives_up_at = math.inf
        self._something = trio.Event()
        self._closed = False
        self._ended = trio.Event()

    @property
    def available(self) -> bool:
        """Whether the store can be written, as far as is known. `outage_listeners` are told when that changes: None for the end."""
        return self.outage is None

    @property
    def waiting(self) -> int:
        """Requests that wait for the batch which is being committed."""
        return len(self._next.requests)

    @property
    def has_room(self) -> bool:
        """Whether more work may be begun; see `QUEUE`."""
        return self.available and not self._is_full

    @property
    def _is_full(self) -> bool:
        return len(self._next.requests) >= self._queue

    def submit(self, entries: Sequence[Entry], done: Done) -> None:
        """Have the entries committed, all of them together. Never waits. Raises JournalClosed.

        done: called in the event loop once they are, in the order of the submissions, with None; or with EntryRefused when they do not fit.
        Another StoreError means that the server stops and its store could not be written till the end. It must not raise.
        """
        if self._closed:
            raise JournalClosed("the server is stopping: nothing more is written")
        batch = self._next
        if not batch.requests:
            self._something.set()
        batch.requests.append(entries)
        batch.waiting.append(done)

    async def write(self, *entries: Entry) -> None:
        """The same for a task that waits: returns when the entries are committed, and raises what `submit` would have said.

        A caller that is cancelled does not learn it, and they may still be written.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._closed and self._is_full:
            if self._next.taken is None:
                self._next.taken = trio.Event()
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

    async def tidy(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        """A call that changes the store beside what is journalled: between two commits. Raises StoreError."""
        return await trio.to_thread.run_sync(call, *arguments, limiter=self._writer_thread)

    def hurry(self) -> None:
        """The server is about to stop: what cannot be written for `LAST_TRIES_S` is given up from now on."""
        self._stops = True

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
            async with trio.open_nursery() as nursery:
                if self._store.waits:
                    nursery.start_soon(self._look_after_the_store)
                while not self._closed:
                    await self._something.wait()
                    await self._commit_what_came()
                nursery.cancel_scope.cancel()
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
        batch.take()
        if not batch.requests:
            return
        try:
            await self._commit(batch)
        finally:
            self._committing_since = None
            self._fail(batch, StoreError("the journal has failed; the log says how"))

    async def _commit(self, batch: _Batch) -> None:
        """Its writers wait for the outcome, whoever is cancelled."""
        self._committing_since = now = trio.current_time()
        if self._store.waits and len(batch.requests) > 1:
            self._next_commit_at = now + FLOOR_S
        started = time.perf_counter()
        try:
            outcomes = await self._write_in_the_end(batch.requests)
        except StoreError as error:
            self._fail(batch, error)
            return
        self._resume()
        self._count(batch, time.perf_counter() - started)
        self.statistics.refused += len(outcomes) - outcomes.count(None)
        for outcome in outcomes:
            batch.waiting.popleft()(outcome)

    async def _write_in_the_end(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Raises StoreError when the journal is to end and cannot wait any longer."""
        retry_s = FIRST_RETRY_S
        while True:
            try:
                return await self._write(requests)
            except LeaseLost:
                # Other nodes have these races, and nothing that is decided here counts any more.
                self._closed = True
                for listener in self.lease_listeners:
                    listener()
                raise
            except StoreError as error:
                self.statistics.failed_commits += 1
                self._interrupt(str(error))
                if self._gives_up():
                    raise
            with trio.CancelScope(shield=True):
                await trio.sleep(retry_s)
            retry_s = min(2 * retry_s, RETRY_S)

    def _gives_up(self) -> bool:
        stops = self._stops or self._closed or trio.current_effective_deadline() == -math.inf
        if stops and self._gives_up_at == math.inf:
            self._gives_up_at = trio.current_time() + LAST_TRIES_S
        return trio.current_time() >= self._gives_up_at

    async def _write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Cannot be cancelled."""
        if not self._store.waits:
            await trio.lowlevel.cancel_shielded_checkpoint()
            return self._store.write(requests)
        try:
            self._writer_thread.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            with trio.CancelScope(shield=True):
                await self._writer_thread.acquire_on_behalf_of(self)
        try:
            return await in_thread(partial(self._store.write, requests))
        finally:
            self._writer_thread.release_on_behalf_of(self)

    # ---- outages

    async def _look_after_the_store(self) -> None:
        """Notice what nobody who writes would: an idle store that is gone, and a commit that does not come to an end."""
        while True:
            await trio.sleep(LOOK_S)
            since = self._committing_since
            if since is not None:
                if trio.current_time() - since >= SLOW_S and self.available:
                    self._interrupt(f"the database has not answered for {SLOW_S:g} seconds")
                continue
            try:
                with trio.move_on_after(SLOW_S) as scope:
                    await trio.to_thread.run_sync(self._store.probe, limiter=self._writer_thread, abandon_on_cancel=True)
            except StoreError as error:
                self._interrupt(str(error))
            else:
                if scope.cancelled_caught:
                    self._interrupt(f"the database has not answered for {SLOW_S:g} seconds")
                elif self._committing_since is None:
                    self._resume()

    def _interrupt(self, why: str) -> None:
        if self.outage is not None:
            if self.outage.why != why:
                logger.error("the store still cannot be written: %s", why)
                self.outage = Outage(self.outage.since, why)
            return
        since = self._committing_since if self._committing_since is not None else trio.current_time()
        self.outage = Outage(since, why)
        self.statistics.outages += 1
        logger.error("the store cannot be written; moves are held until it can: %s", why)
        self._tell()

    def _resume(self) -> None:
        if self.outage is None:
            return
        logger.warning("the store can be written again, after %.1f seconds", trio.current_time() - self.outage.since)
        self.outage = None
        self._tell()

    def _tell(self) -> None:
        for listener in self.outage_listeners:
            listener(self.outage)

    @staticmethod
    def _fail(batch: _Batch, failure: StoreError) -> None:
        """Tell whoever waits still."""
        batch.take()
        while batch.waiting:
            # An exception belongs to one task: each waiter gets one of its own.
            error = type(failure)(*failure.args)
            error.__cause__ = failure
            batch.waiting.popleft()(error)

    def _count(self, batch: _Batch, seconds: float) -> None:
        counts = self.statistics
        counts.batches += 1
        counts.requests += len(batch.requests)
        counts.entries += sum(map(len, batch.requests))
        counts.largest = max(counts.largest, len(batch.requests))
        counts.commit_s += seconds
        counts.max_commit_s = max(counts.max_commit_s, seconds)
