"""The journal: `submit` takes entries, and calls back once they are safe on the disk. Only it and `upkeep` know the event loop.

Group commit: a thread calls the store's `write`, one batch at a time. Requests that arrive during a commit form the next batch. So a lone
writer pays for one commit, and a thousand writers share one. Requests are committed and answered in the order in which they were submitted;
several for one race may be pending at once. One task (`run`) does whatever has to wait. Normally nothing has to: leaving the gathering
context begins a batch, and when a thread is done, its batch is answered and the next one is begun at once.

A failed commit is retried for as long as it takes: nothing is lost while the database cannot be written, and nobody is told of anything
before it is safe. Meanwhile `outage` says since when and why, and its listeners are told. If the answer to a commit is lost, the store
finds out whether it took place; the same requests are never written twice.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, TypeVar

import trio

from server.store.availability import Availability
from server.store.errors import EntryRefused, JournalClosed, LeaseLost, StoreError
from server.store.port import Entry, Request
from server.store.store import Store

Answer = TypeVar("Answer")
Done: TypeAlias = Callable[[StoreError | None], None]

QUEUE: Final = 8_192
"""Requests in the next batch. From this many on, `has_room` is False: requests to open a race are answered with `server/busy`, and `write`
waits. `submit` still takes everything, because running races go on and what their players may send is limited elsewhere. In an outage
players wait for their answers, so the queue only grows by what was already on its way."""

FLOOR_S: Final = 0.002
"""Least seconds from the beginning of one commit to the next while several requests share one, because a commit costs about as much for ten
requests as for a hundred. It is less than the time between two looks of the hub at its sockets, so that what a look brings is written at
once. A lone writer does not wait."""

FIRST_RETRY_S: Final = 0.05
RETRY_S: Final = 0.3
"""Seconds from a failed commit to the next try: they start at the first, double each time, and stop growing at the second."""

SLOW_S: Final = 2.0
"""A commit, or a probe of an idle store, that takes longer counts as an outage before it has failed."""

PROBE_S: Final = 1.0
"""Seconds from one probe of the store to the next."""

LAST_TRIES_S: Final = 10.0
"""How long a journal that is ending keeps trying to write what it holds."""


def in_thread(call: Callable[[], Answer], done: Callable[[Callable[[], Answer]], None]) -> None:
    """Run `call` in a thread. done: called in the event loop afterwards, with a function that returns its answer or raises its error.

    It wakes no task but Trio's own, and has no limits, names or cancellation, so it costs half as much as `trio.to_thread.run_sync`.
    """
    run_soon = trio.lowlevel.current_trio_token().run_sync_soon
    trio.lowlevel.start_thread_soon(call, lambda outcome: run_soon(done, outcome.unwrap))


@dataclass(slots=True, eq=False)
class _Batch:
    requests: list[Request] = field(default_factory=list)
    waiting: deque[Done] = field(default_factory=deque)
    taken: trio.Event | None = None
    """Created by the first `write` that waits for it."""

    def take(self) -> None:
        """The batch is begun, or never will be: wake those who wait for room in the next one."""
        if self.taken is not None:
            self.taken.set()


class Journal(Availability):
    """Group-commits entries. Its `run` has to run in a task; once that has ended, nothing more is written."""

    def __init__(self, store: Store, *, queue: int = QUEUE) -> None:
        super().__init__()
        self.lease_listeners: list[Callable[[], None]] = []
        """Called once when this node has lost its lease, before those who wait are told."""
        self.store = store
        self._queue = queue
        self._clock = trio.lowlevel.current_clock().current_time  # asked directly, twice for each commit
        self._writer_thread = trio.CapacityLimiter(1)  # its own: readers may hold all of Trio's threads
        self._next = _Batch()
        self._next_commit_at = 0.0
        # The batch being committed, and when it was first tried; both None between batches.
        self._batch: _Batch | None = None
        self._committing_since: float | None = None
        self._retry_s = FIRST_RETRY_S
        # Errors of the last try, and of the program itself, for `run` to deal with.
        self._failure: StoreError | None = None
        self._fault: BaseException | None = None
        self._stops = False
        self._gives_up_at = math.inf
        # The task of `run` while it sleeps, and whether it has been woken.
        self._sleeper: trio.lowlevel.Task | None = None
        self._is_woken = False
        self._is_beginning = False  # `run` waits for the time or the thread to begin the next batch
        self._gathers = self._closed = False
        self._ended = trio.Event()

    @property
    def waiting(self) -> int:
        """How many requests wait for the commit under way."""
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

        done: called in the event loop, in the order of submission: with None once they are committed, or with EntryRefused if they
        contradict what is stored. Another StoreError means that the server is stopping and its store could not be written. `done` must not
        raise.
        """
        if self._closed:
            raise JournalClosed("the server is stopping: nothing more is written")
        batch = self._next
        if not batch.requests and self._batch is None and not self._gathers:
            self._wake()
        batch.requests.append(entries)
        batch.waiting.append(done)

    def __enter__(self) -> None:
        """For serving many at once: what is submitted within the context forms one batch, which begins at its end without waking a task."""
        self._gathers = True

    def __exit__(self, *_: object) -> None:
        self._gathers = False
        is_idle = self._batch is None and not self._is_beginning
        if is_idle and self._next.requests and not self._begin_at_once(self._clock()):
            self._wake()

    async def write(self, *entries: Entry) -> None:
        """The same for a task that waits: returns when the entries are committed, and raises the error that `done` would get.

        If the caller is cancelled, the entries may still be written, and it does not learn whether they were.
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
        """Make a reading call of the store, in a thread if the store blocks. It is not ordered with what is being written."""
        if self.store.waits:
            return await trio.to_thread.run_sync(call, *arguments)
        await trio.lowlevel.checkpoint()
        return call(*arguments)

    async def tidy(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        """Make a call that changes the store beside the journal, between two commits. Raises StoreError."""
        return await trio.to_thread.run_sync(call, *arguments, limiter=self._writer_thread)

    def hurry(self) -> None:
        """The server is about to stop: from now on, give up what cannot be written within `LAST_TRIES_S`."""
        self._stops = True

    def close(self) -> None:
        """Take nothing more; `run` ends once everything taken is written."""
        self._closed = True
        self._wake()

    async def ended(self) -> None:
        """Wait until `run` has ended."""
        await self._ended.wait()

    async def run(self) -> None:
        """Commit batch after batch until closed or cancelled. In either case everything taken before is committed first."""
        try:
            async with trio.open_nursery() as nursery:
                if self.store.waits:
                    nursery.start_soon(self._look_after_the_store)
                await self._commit_all()
                nursery.cancel_scope.cancel()
        finally:
            self._closed = True
            try:
                with trio.CancelScope(shield=True):
                    await self._commit_all()
            finally:
                # Somebody still waits here only after a fault in the program.
                self._fail(self._next, StoreError("the journal has failed; the log says how"))
                self._ended.set()

    async def _commit_all(self) -> None:
        """Commit until the journal is closed and everything is written."""
        while True:
            if self._fault is not None:
                fault, self._fault = self._fault, None
                self._give_up(StoreError("the journal has failed; the log says how"))
                raise fault
            if self._failure is not None:
                failure, self._failure = self._failure, None
                try:
                    await self._deal_with(failure)
                except BaseException as fault:  # noqa: BLE001  (raised again at once)
                    self._fault = fault
            elif self._batch is None and self._next.requests:
                await self._begin()
            elif self._batch is None and self._closed:
                return
            else:
                await self._sleep()

    async def _sleep(self) -> None:
        """Sleep until `_wake`; only for a checkpoint if that has been called already."""
        if self._is_woken:
            await trio.lowlevel.checkpoint()
        else:
            self._sleeper = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._leave_asleep)
        self._is_woken = False

    def _leave_asleep(self, raise_cancel: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED

    def _wake(self) -> None:
        """Have `run` look for work, after everything that is already scheduled in the event loop."""
        self._is_woken = True
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None

    async def _begin(self) -> None:
        """Have the next batch written as soon as it may be."""
        if self._begin_at_once(trio.current_time()):
            return
        self._is_beginning = True
        try:
            if not self._closed:
                await trio.sleep_until(self._next_commit_at)
            # From here on the wait counts as an outage if it gets long.
            self._committing_since = trio.current_time()
            await self._acquire_thread()
        finally:
            self._is_beginning = False
        self._take(self._committing_since)

    def _begin_at_once(self, now: float) -> bool:
        """Begin the next batch now if possible. False, for instance, if the writer's thread is taken or it is too soon."""
        if not self.store.waits or self._ended.is_set() or (now < self._next_commit_at and not self._closed):
            return False
        try:
            self._writer_thread.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            return False
        self._take(now)
        return True

    async def _acquire_thread(self) -> None:
        """Acquire the writer's thread. Cannot be cancelled."""
        with trio.CancelScope(shield=True):
            await self._writer_thread.acquire_on_behalf_of(self)

    def _take(self, now: float) -> None:
        """Begin the next batch, with the writer's thread already acquired."""
        batch, self._next = self._next, _Batch()
        self._batch = batch
        batch.take()
        self._committing_since = now
        self._retry_s = FIRST_RETRY_S
        if self.store.waits and len(batch.requests) > 1:
            self._next_commit_at = now + FLOOR_S
        self._write(batch)

    def _write(self, batch: _Batch) -> None:
        write = partial(self.store.write, batch.requests)
        if not self.store.waits:
            self._written(write)
            return
        try:
            in_thread(write, self._written)
        except Exception as fault:  # noqa: BLE001  (no thread can be had: `run` says so)
            self._writer_thread.release_on_behalf_of(self)
            self._fault = fault
            self._wake()

    def _written(self, outcomes: Callable[[], tuple[EntryRefused | None, ...]]) -> None:
        """The thread is done. Nobody could handle an error raised here, so it is left to `run`."""
        batch = self._batch
        assert batch is not None
        self._writer_thread.release_on_behalf_of(self)
        try:
            try:
                found = outcomes()
            except StoreError as failure:
                self._failure = failure
                self._wake()
                return
            now = self._clock()
            self._answer(batch, found, now)
        except BaseException as fault:  # noqa: BLE001
            self._fault = fault
            self._wake()
            return
        self._batch = self._committing_since = None
        if self._closed or (self._next.requests and not self._begin_at_once(now)):
            self._wake()

    def _answer(self, batch: _Batch, outcomes: Sequence[EntryRefused | None], now: float) -> None:
        self._note_success(now)
        assert self._committing_since is not None
        self.statistics.count(batch.requests, outcomes, now - self._committing_since)
        for outcome in outcomes:
            batch.waiting.popleft()(outcome)

    async def _deal_with(self, failure: StoreError) -> None:
        """Try again a little later; or give up, if the journal is ending and has tried long enough or the lease is lost."""
        batch = self._batch
        assert batch is not None
        if isinstance(failure, LeaseLost):
            # Other nodes have these races now, and nothing decided here counts any more.
            self._closed = True
            for listener in self.lease_listeners:
                listener()
            self._give_up(failure)
            return
        self.statistics.failed_commits += 1
        self._note_failure(str(failure), self._begun_at)
        if self._gives_up():
            # Not for those who wait to complain of: what was acknowledged is safe, and the next server carries on from there.
            self._give_up(JournalClosed(str(failure)))
            return
        with trio.CancelScope(shield=True):
            await trio.sleep(self._retry_s)
        self._retry_s = min(2 * self._retry_s, RETRY_S)
        await self._acquire_thread()
        self._write(batch)

    def _gives_up(self) -> bool:
        if (self._stops or self._closed) and self._gives_up_at == math.inf:
            self._gives_up_at = trio.current_time() + LAST_TRIES_S
        return trio.current_time() >= self._gives_up_at

    def _give_up(self, failure: StoreError) -> None:
        batch, self._batch, self._committing_since = self._batch, None, None
        if batch is not None:
            self._fail(batch, failure)

    # ---- outages

    async def _look_after_the_store(self) -> None:
        """Notice what no writer would: an idle store that has gone away, and a commit that does not finish."""
        while True:
            await trio.sleep(PROBE_S)
            since = self._committing_since
            if since is not None:
                if trio.current_time() - since >= SLOW_S and self.available:
                    self._note_failure(f"the database has not answered for {SLOW_S:g} seconds", since)
                continue
            try:
                with trio.move_on_after(SLOW_S) as scope:
                    await trio.to_thread.run_sync(self.store.probe, limiter=self._writer_thread, abandon_on_cancel=True)
            except StoreError as error:
                self._note_failure(str(error), self._begun_at)
            else:
                if scope.cancelled_caught:
                    self._note_failure(f"the database has not answered for {SLOW_S:g} seconds", self._begun_at)
                elif self._committing_since is None:
                    self._note_success(trio.current_time())

    @property
    def _begun_at(self) -> float:
        """When the batch being written was first tried; now if there is none."""
        return self._committing_since if self._committing_since is not None else trio.current_time()

    @staticmethod
    def _fail(batch: _Batch, failure: StoreError) -> None:
        """Tell all who still wait for this batch that it failed."""
        batch.take()
        while batch.waiting:
            # Each waiter raises its exception in its own task, so each gets a new one.
            error = type(failure)(*failure.args)
            error.__cause__ = failure
            batch.waiting.popleft()(error)
