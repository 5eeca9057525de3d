"""A node and its lease: what it does at each beat, and that it owns nothing once it has left."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TypeVar, cast

import pytest
import trio
from trio.testing import MockClock

from server.cluster.leases import BEAT_S
from server.cluster.loads import Load, Loads
from server.cluster.node import LOOKS_APART_S, ClusterNode
from server.store.answers import Running
from server.store.errors import AddressTaken, StoreUnavailable
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.nodes import LEFT, Holding, Node
from server.store.shared import SharedStore
from server.store.takeover import TakenOver

Answer = TypeVar("Answer")

TAKEN = TakenOver(Running((), ()), frozenset({"r"}))


class FakeStore:
    """fails: renewals that fail."""

    holding = Holding(1, 1)

    def __init__(self, fails: int = 0) -> None:
        self.calls: list[str] = []
        self.fails = fails
        self.nodes: tuple[Node, ...] = ()
        self.in_doubt: TakenOver | None = TAKEN

    def join(self, url: str) -> bool:
        return bool(url)

    def renew(self) -> tuple[Node, ...]:
        self.calls.append("renew")
        if self.fails:
            self.fails -= 1
            raise StoreUnavailable("the line broke")
        return self.nodes

    def take_over(self, dead: int, takers: int, leave: frozenset[str], hung_up: bool) -> TakenOver:
        self.calls.append(f"take over {dead}" + ", which has hung up" * hung_up)
        return TAKEN

    def taken_after_all(self) -> TakenOver | None:
        taken, self.in_doubt = self.in_doubt, None
        return taken

    def leave(self) -> None:
        self.calls.append("leave")


class FakeJournal(Journal):
    def __init__(self) -> None:
        super().__init__(MemoryStore())

    async def tidy(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        await trio.lowlevel.checkpoint()
        return call(*arguments)

    ask = tidy


def loads_told(*, takes: bool) -> Loads:
    """Of the first node, which has heard of the second."""
    loads, other = Loads(lambda: Load(1, 0, 0, True, True)), Loads(lambda: Load(2, 0, 0, takes, writes=takes))
    loads.hear([other.say()])
    return loads


def node_of(store: FakeStore, loads: Loads | None = None) -> ClusterNode:
    return ClusterNode(cast(SharedStore, store), FakeJournal(), "ws://one", loads or loads_told(takes=False))


async def nothing(taken: TakenOver) -> None:
    raise AssertionError(taken)


def let_go() -> None:
    raise AssertionError("nobody has lost a lease")


async def test_a_node_that_has_left_renews_its_lease_no_more(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    store = FakeStore()
    node = node_of(store)
    nursery.start_soon(node.run, nothing, let_go)
    await trio.sleep(2)
    await node.leave()
    # Until all connections are closed, which may take a while.
    await trio.sleep(3)
    assert store.calls.count("renew") > 2
    assert store.calls.index("leave") == len(store.calls) - 1


@pytest.mark.parametrize(("ahead_s", "told"), [(0, None), (3600, "3600 seconds ahead of"), (-3600, "3600 seconds behind")])
async def test_a_node_whose_clock_is_an_hour_off_says_so_when_it_joins(
    ahead_s: int, told: str | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, wall_s = FakeStore(), time.time()
    # On a busy machine half a second may pass until it is looked at.
    monkeypatch.setattr("server.cluster.node.time", SimpleNamespace(time=lambda: wall_s))
    database_ms = round((wall_s - ahead_s) * 1000)
    store.nodes = (Node(1, "ws://one", 1, database_ms + 5_000, 5_000),)
    await node_of(store).join()
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == ([f"the clock of this server is {told} that of the database: synchronize both over the network"] if told else [])


async def test_a_node_whose_url_another_one_has_says_once_that_it_waits_and_then_which_option_names_its_own(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "carpet")
    store = FakeStore()
    store.join = lambda url: False  # type: ignore[method-assign]
    with pytest.raises(AddressTaken, match=r"ws://one.* given by --advertise"):
        await node_of(store).join()
    assert [record.getMessage() for record in caplog.records] == [
        "waiting up to 15 seconds for the lease of an earlier server at ws://one to end"
    ]


async def test_a_node_that_is_about_to_leave_ends_what_it_takes_over_takes_nothing_more_and_holds_its_lease(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore()
    store.in_doubt, store.nodes = None, (Node(2, "ws://two", 1, LEFT, -1),)
    node = node_of(store)
    ended: list[float] = []

    async def take_up_slowly(taken: TakenOver) -> None:
        await trio.sleep(4)
        ended.append(trio.current_time())

    began = trio.current_time()
    nursery.start_soon(node.run, take_up_slowly, let_go)
    await trio.sleep(1)
    await node.take_no_more()
    assert ended == [trio.current_time()] == [pytest.approx(began + 4, abs=0.1)]
    before = store.calls.count("renew")
    await trio.sleep(10)
    assert (len(ended), store.calls.count("take over 2")) == (1, 1)
    assert store.calls.count("renew") >= before + 10


async def test_whoever_is_told_that_a_node_has_left_looks_at_once_and_not_again_and_again(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore()
    node = node_of(store)
    store.in_doubt = None
    nursery.start_soon(node.run, nothing, let_go)
    await trio.sleep(LOOKS_APART_S + 0.01)
    assert store.calls == ["renew"]
    node.hurry()
    await trio.testing.wait_all_tasks_blocked()
    assert store.calls == ["renew"] * 2
    for _ in range(1000):
        node.hurry()
        await trio.sleep(0.001)
    assert len(store.calls) <= 3 + 1 / LOOKS_APART_S


async def test_a_node_whose_process_has_ended_is_none_to_go_to_and_what_it_had_is_taken_over_at_once(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore()
    store.in_doubt = None
    store.nodes = (Node(2, "ws://two", 1, 99_000, 3_000, hung_up=True), Node(3, "ws://three", 1, 99_000, 5_000))
    node = node_of(store)

    async def take_up(taken: TakenOver) -> None:
        await trio.lowlevel.checkpoint()

    nursery.start_soon(node.run, take_up, let_go)
    await trio.sleep(0.01)
    assert store.calls[:2] == ["renew", "take over 2, which has hung up"]
    assert (node.others, node.url_of(2)) == (("ws://three",), None)


async def test_who_alone_has_lost_the_database_is_cut_off_though_the_directory_answers(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore()
    store.in_doubt, store.nodes = None, (Node(2, "ws://two", 1, 99_000, 5_000),)
    loads, told = loads_told(takes=True), list[bool]()
    node = node_of(store, loads)
    nursery.start_soon(node.run, nothing, let_go)
    nursery.start_soon(node.watch_engines, lambda: True, told.append)
    await trio.sleep(30)
    assert told == [], "it reaches the database"
    store.fails = 60
    await trio.sleep(4)
    assert told == [], "it may have to be dialled anew"
    await trio.sleep(3)
    assert told == [True]
    loads.hear([Loads(lambda: Load(2, 900, 0, takes=False, writes=True)).say()])
    await trio.sleep(2)
    assert told == [True], "the other is full, and has the races by now"
    loads.hear([Loads(lambda: Load(2, 0, 0, False, False)).say()])
    await trio.sleep(2)
    assert told == [True, False], "by now it is gone for the other too"


async def test_a_node_that_lives_and_is_not_heard_is_logged_once(
    autojump_clock: MockClock, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    def logged() -> list[str]:
        return [record.message for record in caplog.records if "nothing is heard of" in record.message]

    store = FakeStore()
    store.in_doubt, store.nodes = None, (Node(2, "ws://two", 1, 99_000, 5_000),)
    loads = loads_told(takes=True)
    node = node_of(store, loads)
    answers = True
    nursery.start_soon(node.run, nothing, let_go)
    nursery.start_soon(node.watch_engines, lambda: answers, list[bool]().append)
    await trio.sleep(30)
    assert not logged()
    loads.hear([])
    await trio.sleep(5)
    # Then the Valkey itself is away.
    answers = False
    await trio.sleep(30)
    answers = True
    await trio.sleep(9)
    assert not logged()
    await trio.sleep(30)
    assert [line.partition(":")[0] for line in logged()] == ["nothing is heard of node 2, at ws"]


async def test_whoever_reaches_neither_database_nor_directory_is_cut_off_until_either_answers(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore()
    node = node_of(store)
    store.in_doubt = None
    told: list[bool] = []
    reaches_directory = True
    nursery.start_soon(node.run, nothing, let_go)
    nursery.start_soon(node.watch_engines, lambda: reaches_directory, told.append)
    await trio.sleep(3)
    store.fails, reaches_directory = 40, False
    await trio.sleep(20)
    assert told == [], "there is no other server to go to"
    store.fails, reaches_directory, store.nodes = 0, True, (Node(2, "ws://two", 1, 99_000, 5_000),)
    await trio.sleep(2)
    # The others do not reach the database either.
    store.fails = 40
    await trio.sleep(10)
    assert told == []
    reaches_directory = False
    await trio.sleep(4)
    assert told == [], "it may have to be dialled anew"
    await trio.sleep(2)
    assert told == [True]
    await trio.sleep(30)
    assert told == [True, False]


async def test_a_node_that_is_late_itself_is_not_cut_off(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    store = FakeStore(fails=1)
    store.nodes = (Node(2, "ws://two", 1, 99_000, 5_000),)
    node = node_of(store)
    told: list[bool] = []

    async def take_up_slowly(taken: TakenOver) -> None:
        await trio.sleep(20)

    nursery.start_soon(node.watch_engines, lambda: False, told.append)
    nursery.start_soon(node.run, take_up_slowly, let_go)
    await trio.sleep(30)
    assert store.in_doubt is None
    # The whole process stands still.
    autojump_clock.jump(20)
    await trio.sleep(30)
    assert told == []


async def test_what_was_taken_over_while_the_database_went_away_is_taken_up(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    store = FakeStore(fails=2)
    node = node_of(store)
    taken_up: list[TakenOver] = []

    async def take_up(taken: TakenOver) -> None:
        await trio.lowlevel.checkpoint()
        taken_up.append(taken)

    nursery.start_soon(node.run, take_up, let_go)
    await trio.sleep(5)
    assert taken_up == [TAKEN]


async def test_the_lease_is_held_while_rooms_are_brought_back_however_long_that_takes(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    store = FakeStore(fails=1)
    node = node_of(store)
    renewed: list[int] = []

    async def take_up_slowly(taken: TakenOver) -> None:
        before = store.calls.count("renew")
        store.fails = 1
        await trio.sleep(20)
        renewed.append(store.calls.count("renew") - before)
        raise StoreUnavailable("the line broke")

    nursery.start_soon(node.run, take_up_slowly, let_go)
    await trio.sleep(30)
    assert renewed == [pytest.approx(20 / BEAT_S, abs=2)]
    assert store.calls.count("renew") > renewed[0] + 10, "it goes on after what failed"
