"""The journal: `submit` takes entries, and calls back once they are safe on the disk. Of the store, it and `upkeep` know an event loop.

Group commit. The store's `write` is called in a thread, one batch at a time; what comes while one is being committed is the next batch.
So a lone writer pays one commit, and a thousand writers share one. Requests are committed, and their callers called, in the order in which
they were submitted; many for one race may be on their way at once. One task (`run`) does whatever has to wait. The everyday does without
it: whoever gathers requests begins a batch, and when a thread is done, its batch is answered and the next one begun there and then.

A commit that fails is tried again for as long as it takes: a database that cannot be written just now loses nothing, and nobody is told of
anything before it is safe. Meanwhile `outage` says since when and why, and those who asked for it are told. Whether a commit that was not
answered took place is for the store to find out; the same requests are never written twice.
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


def in_thread(call: Callable[[], Answer], told: Callable[[Callable[[], Answer]], None]) -> None:
    """Call it in a thread. told: called in the event loop then, with what returns its answer, or raises what it has raised.

    No task is woken for it but Trio's own, and there are no limits, names and cancellation: half of what `trio.to_thread.run_sync` costs.
    """
    run_soon = trio.lowlevel.current_trio_token().run_sync_soon
    trio.lowlevel.start_thread_soon(call, lambda outcome: run_soon(told, outcome.unwrap))


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


class Journal(Availability):
    """Run `run` in a task. After it has ended nothing is written any more."""

    def __init__(self, store: Store, *, queue: int = QUEUE) -> None:
        super().__init__()
        self.lease_listeners: list[Callable[[], None]] = []
        """Called once the lease of this node is found to be lost, before anybody who waits is told so."""
        self._store = store
        self._queue = queue
        self._clock = trio.lowlevel.current_clock().current_time  # asked directly, twice for each commit
        self._writer_thread = trio.CapacityLimiter(1)  # its own: readers may hold all of Trio's threads
        self._next = _Batch()
        self._next_commit_at = 0.0
        # The batch that is being committed, and when it was first tried; None between batches.
        self._batch: _Batch | None = None
        self._committing_since: float | None = None
        self._retry_s = FIRST_RETRY_S
        # What is wrong with the last try, and with the program, for `run` to deal with.
        self._failure: StoreError | None = None
        self._fault: BaseException | None = None
        self._stops = False
        self._gives_up_at = math.inf
        # The task of `run` while it waits to be woken, and whether it has been.
        self._sleeper: trio.lowlevel.Task | None = None
        self._is_woken = False
        self._is_beginning = False  # it waits for something before it begins the next batch
        self._gathers = self._closed = False
        self._ended = trio.Event()

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
        if not batch.requests and self._batch is None and not self._gathers:
            self._wake()
        batch.requests.append(entries)
        batch.waiting.append(done)

    def __enter__(self) -> None:
        """For who serves many at once: what is submitted within the context is one batch, begun at its end without a task being woken."""
        self._gathers = True

    def __exit__(self, *_: object) -> None:
        self._gathers = False
        is_idle = self._batch is None and not self._is_beginning
        if is_idle and self._next.requests and not self._begin_at_once(self._clock()):
            self._wake()

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
        self._wake()

    async def ended(self) -> None:
        """Wait until `run` has ended."""
        await self._ended.wait()

    async def run(self) -> None:
        """Commit batch after batch, until closed or cancelled; in either case all that was taken by then."""
        try:
            async with trio.open_nursery() as nursery:
                if self._store.waits:
                    nursery.start_soon(self._look_after_the_store)
                await self._commit_all()
                nursery.cancel_scope.cancel()
        finally:
            self._closed = True
            try:
                with trio.CancelScope(shield=True):
                    await self._commit_all()
            finally:
                # Only a fault in the program leaves anybody waiting here.
                self._fail(self._next, StoreError("the journal has failed; the log says how"))
                self._ended.set()

    async def _commit_all(self) -> None:
        """Until it is closed, and all is written."""
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
        """Until `_wake`, or for a moment where that has been called."""
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
        """Have `run` look at what there is to do, once all that is under way in the event loop has had its turn."""
        self._is_woken = True
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None

    async def _begin(self) -> None:
        """Have the next batch written, as soon as that may be."""
        if self._begin_at_once(trio.current_time()):
            return
        self._is_beginning = True
        try:
            if not self._closed:
                await trio.sleep_until(self._next_commit_at)
            # What is waited for now counts as an outage, if it becomes one.
            self._committing_since = trio.current_time()
            await self._acquire_thread()
        finally:
            self._is_beginning = False
        self._take(self._committing_since)

    def _begin_at_once(self, now: float) -> bool:
        """False where somebody else has the writer's thread, or it is too soon."""
        if not self._store.waits or self._ended.is_set() or (now < self._next_commit_at and not self._closed):
            return False
        try:
            self._writer_thread.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            return False
        self._take(now)
        return True

    async def _acquire_thread(self) -> None:
        """Cannot be cancelled."""
        with trio.CancelScope(shield=True):
            await self._writer_thread.acquire_on_behalf_of(self)

    def _take(self, now: float) -> None:
        """The writer's thread has been acquired for it."""
        batch, self._next = self._next, _Batch()
        self._batch = batch
        batch.take()
        self._committing_since = now
        self._retry_s = FIRST_RETRY_S
        if self._store.waits and len(batch.requests) > 1:
            self._next_commit_at = now + FLOOR_S
        self._write(batch)

    def _write(self, batch: _Batch) -> None:
        write = partial(self._store.write, batch.requests)
        if not self._store.waits:
            self._written(write)
            return
        try:
            in_thread(write, self._written)
        except Exception as fault:  # noqa: BLE001  (no thread can be had: `run` says so)
            self._writer_thread.release_on_behalf_of(self)
            self._fault = fault
            self._wake()

    def _written(self, outcomes: Callable[[], tuple[EntryRefused | None, ...]]) -> None:
        """The thread is done. What is raised here, nobody could deal with: `run` does."""
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
        """Try again, a little later; or give the batch up, where the journal is to end and cannot wait any longer."""
        batch = self._batch
        assert batch is not None
        if isinstance(failure, LeaseLost):
            # Other nodes have these races, and nothing that is decided here counts any more.
            self._closed = True
            for listener in self.lease_listeners:
                listener()
            self._give_up(failure)
            return
        self.statistics.failed_commits += 1
        self._note_failure(str(failure), self._begun_at)
        if self._gives_up():
            self._give_up(failure)
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
        """Notice what nobody who writes would: an idle store that is gone, and a commit that does not come to an end."""
        while True:
            await trio.sleep(LOOK_S)
            since = self._committing_since
            if since is not None:
                if trio.current_time() - since >= SLOW_S and self.available:
                    self._note_failure(f"the database has not answered for {SLOW_S:g} seconds", since)
                continue
            try:
                with trio.move_on_after(SLOW_S) as scope:
                    await trio.to_thread.run_sync(self._store.probe, limiter=self._writer_thread, abandon_on_cancel=True)
            except StoreError as error:
                self._note_failure(str(error), self._begun_at)
            else:
                if scope.cancelled_caught:
                    self._note_failure(f"the database has not answered for {SLOW_S:g} seconds", self._begun_at)
                elif self._committing_since is None:
                    self._note_success(trio.current_time())

    @property
    def _begun_at(self) -> float:
        """When what is being written was first tried; now, where nothing is."""
        return self._committing_since if self._committing_since is not None else trio.current_time()

    @staticmethod
    def _fail(batch: _Batch, failure: StoreError) -> None:
        """Tell whoever waits still."""
        batch.take()
        while batch.waiting:
            # An exception belongs to one task: each waiter gets one of its own.
            error = type(failure)(*failure.args)
            error.__cause__ = failure
            batch.waiting.popleft()(error)
