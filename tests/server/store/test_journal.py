"""The journal: who waits for what, what shares a commit, and what happens to writers when a commit fails or everything ends.

A store that waits does so in a thread, which Trio's autojump clock cannot see. So tests with one use the real clock, no timeouts, and a
gate that they open themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from server.store.database import DatabaseStore
from server.store.errors import EntryRefused, JournalClosed, LeaseLost, NameTaken, StoreBusy, StoreError
from server.store.journal import FLOOR_S, PROBE_S, SLOW_S, Journal
from server.store.memory import MemoryStore
from server.store.port import Entry, Request
from tests.server.store.keeping import journalling, made, opened, taken


class GatedStore(MemoryStore):
    """Each commit waits for `let_go`, in its thread; and fails while `failure` is set."""

    waits = True

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Request]] = []
        self.failure: Exception | None = None
        self._gate = threading.Semaphore(0)

    def let_go(self, commits: int = 1) -> None:
        self._gate.release(commits)

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        self._gate.acquire()
        self.batches.append(list(requests))
        if self.failure is not None:
            raise self.failure
        return super().write(requests)


@pytest.fixture
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between tries and looks; and nothing counts as slow, however busy the machine is."""
    for name, seconds in {"FIRST_RETRY_S": 0.005, "RETRY_S": 0.005, "PROBE_S": 0.005, "SLOW_S": 600.0}.items():
        monkeypatch.setattr(f"server.store.journal.{name}", seconds)


@pytest.fixture(autouse=True)
def nobody_probes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where time is real. On a busy machine a look at the store would come amid a test, and take the writer's thread for a while."""
    if not {"nobody_waits", "mock_clock", "autojump_clock"} & set(request.fixturenames):
        monkeypatch.setattr("server.store.journal.PROBE_S", 600.0)


async def outcome_of(journal: Journal, outcomes: dict[str, BaseException | None], name: str, *entries: Entry) -> None:
    try:
        await journal.write(*entries)
    except StoreError as error:
        outcomes[name] = error
    else:
        outcomes[name] = None


async def test_write_returns_once_it_is_written(autojump_clock: MockClock) -> None:
    del autojump_clock
    store = MemoryStore()
    async with journalling(store) as journal:
        await journal.write(opened("r"))
        await journal.write(taken("r", 1), taken("r", 2))
        assert [command.sequence for command in store.running().races[0].commands] == [1, 2]
        assert await journal.ask(store.running) == store.running()


async def test_nobody_is_told_before_the_commit() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with journalling(store) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(outcome_of, journal, outcomes, "first", opened("r"))
        await wait_all_tasks_blocked()
        assert outcomes == {}
        store.let_go()
    assert outcomes == {"first": None}


async def test_what_comes_during_a_commit_shares_the_next_one() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with journalling(store) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(outcome_of, journal, outcomes, "first", opened("first"))
        await wait_all_tasks_blocked()
        for number in range(50):
            nursery.start_soon(outcome_of, journal, outcomes, str(number), opened(str(number)))
        await wait_all_tasks_blocked()
        store.let_go(2)
    assert [len(batch) for batch in store.batches] == [1, 50]
    assert set(outcomes.values()) == {None}
    assert (journal.statistics.batches, journal.statistics.requests, journal.statistics.largest) == (2, 51, 50)


async def test_a_hundred_writers_make_few_transactions_and_keep_their_order(database: DatabaseStore) -> None:
    async def race(name: str) -> None:
        await journal.write(opened(name))
        for sequence in range(1, 11):
            await journal.write(taken(name, sequence))

    async with journalling(database) as journal, trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(race, f"r{number}")
    # All of them wait for one commit at any time: about one a command of one race, eleven, where each for itself would make 1,100.
    assert journal.statistics.requests == 1100
    assert journal.statistics.batches <= 40
    assert all([c.sequence for c in r.commands] == [*range(1, 11)] for r in database.running().races)


async def test_submits_of_one_race_need_not_wait_for_each_other_and_are_told_in_their_order() -> None:
    store = GatedStore()
    told: list[tuple[int, StoreError | None]] = []

    def note(number: int) -> Callable[[StoreError | None], None]:
        return lambda error: told.append((number, error))

    async with journalling(store) as journal:
        journal.submit([opened("r")], note(0))
        await wait_all_tasks_blocked()
        for sequence in range(1, 6):
            journal.submit([taken("r", sequence)], note(sequence))
        assert told == []
        store.let_go(2)
    assert told == [(number, None) for number in range(6)]
    assert [len(batch) for batch in store.batches] == [1, 5]
    assert [command.sequence for command in store.running().races[0].commands] == [1, 2, 3, 4, 5]


async def test_what_is_gathered_is_one_commit_and_begun_at_the_end_of_it() -> None:
    store = GatedStore()
    told: list[StoreError | None] = []
    async with journalling(store) as journal:
        await wait_all_tasks_blocked()
        with journal:
            for race in ("a", "b"):
                journal.submit([opened(race)], told.append)
            assert journal.waiting == 2
        assert journal.waiting == 0
        with journal:
            journal.submit([opened("c")], told.append)
        assert journal.waiting == 1
        store.let_go(2)
    assert told == [None] * 3
    assert [len(batch) for batch in store.batches] == [2, 1]


async def test_what_comes_alone_after_a_gathering_is_written_too() -> None:
    store = GatedStore()
    store.let_go(2)
    async with journalling(store) as journal:
        await wait_all_tasks_blocked()
        with journal:
            pass
        with trio.fail_after(5):
            await journal.write(opened("a"))
    assert [len(batch) for batch in store.batches] == [1]


async def test_what_is_gathered_waits_for_who_has_the_writers_thread_and_no_longer() -> None:
    store = GatedStore()
    store.let_go()
    told: list[StoreError | None] = []
    has_begun, may_end = threading.Event(), threading.Event()

    def tidy() -> None:
        has_begun.set()
        may_end.wait()

    async with journalling(store) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(journal.tidy, tidy)
        await trio.to_thread.run_sync(has_begun.wait)
        with journal:
            journal.submit([opened("a")], told.append)
        await wait_all_tasks_blocked()
        with journal:
            journal.submit([taken("a", 1)], told.append)
        await wait_all_tasks_blocked()
        assert (journal.waiting, told) == (2, [])
        may_end.set()
    assert told == [None] * 2
    assert [len(batch) for batch in store.batches] == [2]


async def test_what_is_gathered_when_the_next_commit_is_due_is_part_of_it(mock_clock: MockClock) -> None:
    store = GatedStore()
    store.let_go(3)
    kept = {race: trio.Event() for race in "abcd"}

    def submit(race: str) -> None:
        journal.submit([opened(race)], lambda error: kept[race].set())

    async with journalling(store) as journal:
        with journal:
            submit("a")
            submit("b")
        await kept["b"].wait()
        # It waits, since the last commit was shared.
        submit("c")
        await wait_all_tasks_blocked()
        mock_clock.jump(FLOOR_S)
        with journal:
            submit("d")
        await kept["d"].wait()
    assert [len(batch) for batch in store.batches] == [2, 2]


async def test_a_submit_that_does_not_fit_is_told_so_and_the_others_go_on() -> None:
    store = GatedStore()
    told: list[StoreError | None] = []
    async with journalling(store) as journal:
        for entry in (opened("r"), taken("r", 2), taken("r", 1)):
            journal.submit([entry], told.append)
        store.let_go()
    assert [type(error) for error in told] == [type(None), EntryRefused, type(None)]


async def test_a_full_queue_says_so_and_takes_what_is_submitted_all_the_same() -> None:
    store = GatedStore()
    told: list[StoreError | None] = []
    async with journalling(store, queue=2) as journal:
        journal.submit([opened("r")], told.append)
        had_room = [journal.has_room]
        for sequence in (1, 2):
            journal.submit([taken("r", sequence)], told.append)
        assert [*had_room, journal.has_room] == [True, False]
        store.let_go()
    assert told == [None, None, None]


async def test_what_is_submitted_to_a_closed_journal_is_refused_there_and_then() -> None:
    journal = Journal(MemoryStore())
    journal.close()
    with pytest.raises(JournalClosed):
        journal.submit([opened("r")], lambda error: pytest.fail(f"told {error}"))


async def test_commits_that_are_shared_begin_no_closer_together_than_the_floor(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        del options
        await trio.lowlevel.checkpoint()
        return call(*arguments)

    def soon(call: Callable[[], Any], told: Callable[[Callable[[], Any]], None]) -> None:
        trio.lowlevel.current_trio_token().run_sync_soon(told, call)

    # Trio's clock does not know of threads, and would jump while one is at work.
    monkeypatch.setattr(trio.to_thread, "run_sync", at_once)
    monkeypatch.setattr("server.store.journal.in_thread", soon)
    begun: list[float] = []

    class Timed(MemoryStore):
        waits = True

        def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
            begun.append(autojump_clock.current_time())
            return super().write(requests)

    async with journalling(Timed()) as journal:
        await wait_all_tasks_blocked()
        for batch in range(3):
            async with trio.open_nursery() as nursery:
                for number in range(2):
                    nursery.start_soon(journal.write, opened(f"{batch}-{number}"))
        shared = [after - before for before, after in pairwise(begun)]
        await journal.write(opened("lone"))
        first_alone = autojump_clock.current_time()
        for number in range(3):
            await journal.write(opened(f"lone-{number}"))
        assert autojump_clock.current_time() == first_alone
    assert shared == [pytest.approx(FLOOR_S)] * 2


async def test_a_refused_entry_is_its_writers_alone() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    entries: dict[str, Entry] = {"anna": made("anna"), "thief": made("thief", "ANNA"), "gap": taken("r", 9), "race": opened("r")}
    async with journalling(store) as journal, trio.open_nursery() as nursery:
        for name, entry in entries.items():
            nursery.start_soon(outcome_of, journal, outcomes, name, entry)
            await wait_all_tasks_blocked()
        store.let_go(2)
    assert {name: type(outcome) for name, outcome in outcomes.items()} == {
        "anna": type(None),
        "thief": NameTaken,
        "gap": EntryRefused,
        "race": type(None),
    }
    # That a name is taken is a sign of no fault.
    assert journal.statistics.refused == 1


async def test_a_failed_commit_is_tried_again_until_it_is_written_and_nobody_is_told_before(nobody_waits: None) -> None:
    store = GatedStore()
    store.failure = StoreBusy("held by another")
    told: list[StoreError | None] = []
    outages: list[bool] = []
    async with journalling(store) as journal:
        journal.outage_listeners.append(lambda outage: outages.append(outage is not None))
        journal.submit([opened("a")], told.append)
        await wait_all_tasks_blocked()
        journal.submit([taken("a", 1)], told.append)
        store.let_go(3)
        while journal.statistics.failed_commits < 3:
            await trio.lowlevel.checkpoint()
        assert (journal.available, journal.has_room, outages, told) == (False, False, [True], [])
        assert journal.outage is not None
        assert journal.outage.why == "held by another"
        store.failure = None
        store.let_go(2)
        await journal.write()
    assert told == [None, None]
    assert store.running().races[0].commands == (taken("a", 1),)
    assert (journal.available, outages, journal.statistics.outages) == (True, [True, False], 1)
    assert len({id(batch[0]) for batch in store.batches[:4]}) == 1


async def test_what_is_refused_is_refused_after_an_outage_too(nobody_waits: None) -> None:
    store = GatedStore()
    store.failure = StoreBusy("held by another")
    told: list[StoreError | None] = []
    async with journalling(store) as journal:
        for entry in (opened("a"), taken("a", 9)):
            journal.submit([entry], told.append)
        store.let_go()
        while journal.available:
            await trio.lowlevel.checkpoint()
        store.failure = None
        store.let_go()
    assert [type(error) for error in told] == [type(None), EntryRefused]


async def test_a_server_that_stops_in_an_outage_gives_up_in_the_end(nobody_waits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.store.journal.LAST_TRIES_S", 0.0)
    store = GatedStore()
    store.failure = StoreBusy("held by another")
    told: list[StoreError | None] = []
    async with journalling(store) as journal:
        for race in ("a", "b"):
            journal.submit([opened(race)], told.append)
            await wait_all_tasks_blocked()
        journal.close()
        store.let_go(2)
    assert [(type(error), str(error)) for error in told] == [(JournalClosed, "held by another")] * 2
    assert told[0] is not told[1]


async def test_a_commit_that_does_not_come_back_is_an_outage_before_it_fails(nobody_waits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.store.journal.SLOW_S", 0.005)
    store = GatedStore()
    told: list[StoreError | None] = []
    async with journalling(store) as journal:
        journal.submit([opened("a")], told.append)
        while journal.available:
            await trio.lowlevel.checkpoint()
        assert journal.outage is not None
        assert "has not answered" in journal.outage.why
        store.let_go()
    assert (told, journal.available) == ([None], True)


async def begun(journal: Journal, *entries: Entry) -> float:
    """The moment from which on these wait to be written."""
    journal.submit(entries, lambda error: None)
    await wait_all_tasks_blocked()
    return trio.current_time()


async def test_an_outage_is_dated_from_when_its_commit_was_first_tried(mock_clock: MockClock) -> None:
    store = GatedStore()
    store.failure = StoreBusy("held by another")
    async with journalling(store) as journal:
        mock_clock.jump(10)
        since = await begun(journal, opened("a"))
        mock_clock.jump(SLOW_S / 2)
        await begun(journal, taken("a", 1))
        for tries in range(1, 4):
            mock_clock.jump(SLOW_S / 4)
            store.let_go()
            while journal.statistics.failed_commits < tries:
                await trio.lowlevel.checkpoint()
            assert journal.outage is not None
            assert journal.outage.since == since
        store.failure = None
        store.let_go(2)
        mock_clock.rate = 1
        await journal.write()


@pytest.mark.parametrize("looked", [False, True])
async def test_an_outage_is_dated_from_when_its_commit_began_to_wait_for_the_writers_thread(mock_clock: MockClock, *, looked: bool) -> None:
    store, tidied = GatedStore(), threading.Event()
    outages: list[float | None] = []
    async with journalling(store) as journal, trio.open_nursery() as nursery:
        journal.outage_listeners.append(lambda outage: outages.append(outage.since if outage is not None else None))
        nursery.start_soon(journal.tidy, tidied.wait)
        await wait_all_tasks_blocked()
        if looked:
            # By somebody who waits for the thread since then, while nothing was to be written.
            mock_clock.jump(PROBE_S)
            await wait_all_tasks_blocked()
        mock_clock.jump(PROBE_S / 2)
        since = await begun(journal, opened("a"))
        for _ in range(8):
            mock_clock.jump(SLOW_S / 4)
            await wait_all_tasks_blocked()
        assert outages == [since]
        tidied.set()
        store.let_go()
    assert outages == [since, None]


async def test_of_two_outages_the_second_is_dated_from_its_own_commit(mock_clock: MockClock) -> None:
    store = GatedStore()
    outages: list[float | None] = []
    async with journalling(store) as journal:
        journal.outage_listeners.append(lambda outage: outages.append(outage.since if outage is not None else None))
        moments = []
        for race in "ab":
            mock_clock.jump(10)
            moments.append(await begun(journal, opened(race)))
            while journal.available:
                mock_clock.jump(SLOW_S / 2)
                await wait_all_tasks_blocked()
            store.let_go()
            while not journal.available:
                await trio.lowlevel.checkpoint()
        mock_clock.jump(10)
    assert outages == [moments[0], None, moments[1], None]


async def test_an_idle_store_that_is_gone_is_noticed_and_so_is_its_return(nobody_waits: None) -> None:
    class Flaky(GatedStore):
        def probe(self) -> None:
            if self.failure is not None:
                raise self.failure

    store = Flaky()
    async with journalling(store) as journal:
        for failure, is_available in ((StoreBusy("gone"), False), (None, True)):
            store.failure = failure
            while journal.available is not is_available:
                await trio.lowlevel.checkpoint()
    assert journal.statistics.outages == 1


async def test_who_is_told_and_fails_ends_the_journal_and_leaves_nobody_waiting() -> None:
    store = GatedStore()
    told: list[StoreError | None] = []

    def fail(error: StoreError | None) -> None:
        raise StoreBusy(f"not the store, which said {error}")

    with pytest.RaisesGroup(StoreBusy, allow_unwrapped=True, flatten_subgroups=True):
        async with journalling(store) as journal:
            await wait_all_tasks_blocked()
            with journal:
                journal.submit([opened("a")], fail)
                journal.submit([opened("b")], told.append)
            store.let_go()
            await journal.ended()
    assert [type(error) for error in told] == [StoreError]
    assert len(store.batches) == 1


@pytest.mark.parametrize("failing", ["told of the outage", "told of the lease", "no thread"])
async def test_a_fault_beside_the_commit_ends_the_journal_and_leaves_nobody_waiting(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    monkeypatch.setattr("server.store.journal.LAST_TRIES_S", 0.0)
    store.failure = LeaseLost("lost") if failing == "told of the lease" else StoreBusy("gone")

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(failing)

    with pytest.RaisesGroup(ZeroDivisionError, allow_unwrapped=True, flatten_subgroups=True):
        async with trio.open_nursery() as writers, journalling(store) as journal:
            if failing == "no thread":
                monkeypatch.setattr("server.store.journal.in_thread", fail)
            journal.outage_listeners.append(fail)
            journal.lease_listeners.append(fail)
            for name in ("committing", "waiting"):
                writers.start_soon(outcome_of, journal, outcomes, name, opened(name))
            store.let_go(100)
            await journal.ended()
    assert outcomes.keys() == {"committing", "waiting"}
    assert all(isinstance(outcome, StoreError) for outcome in outcomes.values())
    tried = len(store.batches)
    with journal:
        pass
    assert len(store.batches) == tried, "what was told to have failed is not written"


async def test_closing_writes_what_was_taken_and_takes_nothing_more() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with trio.open_nursery() as nursery:
        journal = Journal(store)
        nursery.start_soon(journal.run)
        nursery.start_soon(outcome_of, journal, outcomes, "committing", opened("a"))
        await wait_all_tasks_blocked()
        nursery.start_soon(outcome_of, journal, outcomes, "waiting", opened("b"))
        await wait_all_tasks_blocked()
        journal.close()
        with pytest.raises(JournalClosed):
            await journal.write(opened("c"))
        store.let_go(2)
        await journal.ended()
    assert outcomes == {"committing": None, "waiting": None}
    assert [race.opened.race for race in store.running().races] == ["a", "b"]


async def test_a_cancelled_journal_writes_what_was_taken() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with trio.open_nursery() as writers, trio.open_nursery() as nursery:
        journal = Journal(store)
        nursery.start_soon(journal.run)
        writers.start_soon(outcome_of, journal, outcomes, "committing", opened("a"))
        await wait_all_tasks_blocked()
        writers.start_soon(outcome_of, journal, outcomes, "waiting", opened("b"))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        store.let_go(2)
    assert outcomes == {"committing": None, "waiting": None}
    with pytest.raises(JournalClosed):
        await journal.write(opened("c"))


async def test_a_cancelled_writer_leaves_its_entry_to_be_written() -> None:
    store = GatedStore()
    async with journalling(store) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.write, opened("a"))
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        store.let_go()
    assert [race.opened.race for race in store.running().races] == ["a"]


async def test_a_writer_that_is_cancelled_already_writes_nothing(autojump_clock: MockClock) -> None:
    del autojump_clock
    store = MemoryStore()
    async with journalling(store) as journal:
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.write(opened("a"))
        await journal.write(opened("b"))
    assert [race.opened.race for race in store.running().races] == ["b"]


async def test_a_full_queue_makes_writers_wait_and_loses_none_of_them() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with journalling(store, queue=2) as journal, trio.open_nursery() as nursery:
        for number in range(9):
            nursery.start_soon(outcome_of, journal, outcomes, str(number), opened(str(number)))
            await wait_all_tasks_blocked()
        store.let_go(9)
    assert [len(batch) for batch in store.batches] == [1, 2, 2, 2, 2]
    assert set(outcomes.values()) == {None}
    assert len(outcomes) == 9


async def test_writers_that_wait_for_a_place_are_told_when_the_journal_closes() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    async with journalling(store, queue=1) as journal, trio.open_nursery() as nursery:
        for name in ("committing", "waiting", "outside"):
            nursery.start_soon(outcome_of, journal, outcomes, name, opened(name))
            await wait_all_tasks_blocked()
        journal.close()
        store.let_go(2)
    assert {name: type(outcome) for name, outcome in outcomes.items()} == {
        "committing": type(None),
        "waiting": type(None),
        "outside": JournalClosed,
    }


async def test_a_fault_of_the_program_ends_the_journal_and_leaves_nobody_waiting() -> None:
    store = GatedStore()
    outcomes: dict[str, BaseException | None] = {}
    store.failure = ZeroDivisionError("a bug")
    with pytest.RaisesGroup(ZeroDivisionError, allow_unwrapped=True, flatten_subgroups=True):
        async with trio.open_nursery() as writers, journalling(store) as journal:
            for name in ("committing", "waiting"):
                writers.start_soon(outcome_of, journal, outcomes, name, opened(name))
                await wait_all_tasks_blocked()
            store.let_go(2)
    assert {name: type(outcome) for name, outcome in outcomes.items()} == {"committing": StoreError, "waiting": StoreError}
