"""Rooms whose race wants a winnable deal: with a search that the test controls, on the virtual clock, and once with a real worker."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Countdown, Result, Unseated
from protocol.server_messages import Error, Left
from protocol.views import RaceOptions
from server.race.audit import audit
from server.race.race_deal import DealWanted
from server.rooms.deal_finder import STEP_S, DealFinder
from server.rooms.ports import SearchFailed
from server.rooms.requests import CloseRoom
from server.runtime.workers import WorkerDied, open_workers
from server.solver.winnable import NoneWinnable, check_first_winnable
from server.store.port import RaceAborted
from tests.server.rooms.playing import Table

WANTED = {"winnable": True, "rules": "carpet-whist"}


class Search:
    """A search that takes its time and finds what the test says."""

    def __init__(self, *, takes_s: float = 5.0, finds: int | None = 7) -> None:
        self.begun: list[DealWanted] = []
        self.ended = 0
        self.cancelled = 0
        self._takes_s = takes_s
        self._finds = finds

    async def find(self, wanted: DealWanted, place: str | None) -> int | None:
        del place
        self.begun.append(wanted)
        try:
            await trio.sleep(self._takes_s)
        except trio.Cancelled:
            self.cancelled += 1
            raise
        self.ended += 1
        return self._finds


@pytest.fixture
def search() -> Search:
    return Search()


@pytest.fixture
def searching(nursery: trio.Nursery, search: Search) -> Table:
    return Table(nursery, find_deal=search.find)


async def test_the_countdown_comes_with_the_deal_and_the_record_tells_its_number(
    autojump_clock: MockClock, searching: Table, search: Search
) -> None:
    ann, bob = searching.guest("Ann"), searching.guest("Bob")
    room = await searching.seated(ann, bob, **WANTED)
    ann.ready(room)
    await searching.settle()
    assert search.begun == []
    bob.ready(room)
    await searching.settle()
    assert (room.core.race.phase, len(search.begun)) == ("waiting", 1)
    await trio.sleep(4.9)
    assert ann.all(Countdown) == []
    ann.say(room, "Still looking?")
    await trio.sleep(0.2)
    assert ann.last(Countdown).starts_in_ms == 3000
    await trio.sleep(3.1)
    for guest in (ann, bob):
        guest.stop(room)
    await searching.settle()
    record = ann.last(Result).record
    assert (record.deal.winnable, record.deal.k) == (True, 7)
    audit(record)
    assert (len(search.begun), search.ended, search.cancelled) == (1, 1, 0)


async def test_no_room_waits_for_the_search_of_another(autojump_clock: MockClock, searching: Table, search: Search) -> None:
    ann, bob, eve = searching.guest("Ann"), searching.guest("Bob"), searching.guest("Eve")
    room = await searching.seated(ann, **WANTED)
    ann.ready(room)
    other = await searching.racing(bob, eve)
    bob.move(other)
    await searching.settle()
    assert bob.ply == 1
    assert room.core.race.phase == "waiting"


async def test_whoever_leaves_calls_the_search_off_and_the_next_one_is_for_the_new_nonces(
    autojump_clock: MockClock, searching: Table, search: Search
) -> None:
    ann, bob, eve = searching.guest("Ann"), searching.guest("Bob"), searching.guest("Eve")
    room = await searching.seated(ann, bob, **WANTED)
    for guest in (ann, bob):
        guest.ready(room)
    await trio.sleep(4)
    bob.leave(room)
    await searching.settle()
    assert (search.cancelled, search.ended) == (1, 0)
    assert ann.last(Unseated).seat == 1
    await trio.sleep(2)
    eve.enter(room)
    await searching.settle()
    eve.ready(room, nonce="aa" * 16)
    await trio.sleep(5.1)
    assert room.core.race.phase == "countdown"
    assert [wanted.nonces[1].hex() for wanted in search.begun] == ["0f" * 16, "aa" * 16]


async def test_a_room_that_closes_calls_its_search_off(autojump_clock: MockClock, searching: Table, search: Search) -> None:
    ann = searching.guest("Ann")
    room = await searching.seated(ann, **WANTED)
    ann.ready(room)
    await searching.settle()
    await searching.rooms.stop()
    await searching.settle()
    assert (search.cancelled, search.ended) == (1, 0)
    assert ann.last(Left).reason == "closed"


@pytest.mark.parametrize("closes", [True, False])
async def test_a_search_that_fails_in_the_moment_in_which_it_is_called_off_ends_no_room(nursery: trio.Nursery, closes: bool) -> None:
    worker_died = trio.Event()

    async def find(wanted: DealWanted, place: str | None) -> int | None:
        await worker_died.wait()
        raise SearchFailed

    table = Table(nursery, find_deal=find)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob, **WANTED)
    for guest in (ann, bob):
        guest.ready(room)
    await table.settle()
    worker_died.set()
    if closes:
        room.tell(CloseRoom())
    else:
        bob.leave(room)
    await table.settle()
    assert (ann.codes, len(table.rooms)) == ([], 0 if closes else 1)
    assert [message.reason for message in bob.all(Left)] == ["closed" if closes else "left"]


async def test_a_rematch_is_searched_for_anew(autojump_clock: MockClock, searching: Table, search: Search) -> None:
    ann = searching.guest("Ann")
    room = await searching.seated(ann, **WANTED)
    for race in (1, 2):
        assert room.core.race.number == race
        ann.ready(room)
        await trio.sleep(8.1)
        ann.stop(room)
        await searching.settle()
        ann.rematch(room)
        await searching.settle()
    assert len({wanted.secret for wanted in search.begun}) == 2


async def test_house_bots_race_on_winnable_deals_too(autojump_clock: MockClock, searching: Table) -> None:
    ann = searching.guest("Ann")
    room = await searching.seated(ann, bots=("greedy",), **WANTED)
    ann.ready(room)
    await trio.sleep(8.1)
    assert room.core.race.phase == "racing"


async def test_where_no_deal_is_found_everybody_is_told_and_the_room_ends(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, find_deal=Search(finds=None).find)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob, **WANTED)
    for guest in (ann, bob):
        guest.ready(room)
    await trio.sleep(5.1)
    for guest in (ann, bob):
        assert guest.codes == [ErrorCode.NO_WINNABLE_DEAL]
        assert guest.last(Left).reason == "failed"
        assert table.rooms.of(guest.player.id) is None
    assert len(table.rooms) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RaceOptions(winnable=True, deal="tuesday"), "a named deal is always the same one"),
        (RaceOptions(winnable=True, rules="teppich"), "winnable deals are not offered under teppich"),
        (RaceOptions(winnable=True, rules="colorado"), "winnable deals are not offered under colorado"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused(autojump_clock: MockClock, searching: Table, options: RaceOptions, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        searching.rooms.open(options)
    assert (refused.value.code, refused.value.path) == (ErrorCode.BAD_OPTIONS, "$.options.winnable")
    assert said in refused.value.sentence
    searching.rooms.open(RaceOptions(rules=options.rules))


# ---- how long a search seems to take


class Worked:
    """Workers whose job takes so long, and comes to that."""

    def __init__(self, *outcomes: int | Exception, takes_s: float = 0.01) -> None:
        self._outcomes = list(outcomes)
        self._takes_s = takes_s

    async def run(self, *job: object) -> int:
        await trio.sleep(self._takes_s)
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


LOOKED_FOR = DealWanted("carpet", bytes(32), (bytes(16),))


@pytest.mark.parametrize(("takes_s", "steps"), [(0.001, 1), (0.4, 1), (2.9, 1), (3.1, 2), (8.9, 3)])
async def test_an_answer_comes_at_the_end_of_a_step_whatever_the_search_took(autojump_clock: MockClock, takes_s: float, steps: int) -> None:
    began = trio.current_time()
    assert await DealFinder(Worked(3, takes_s=takes_s)).find(LOOKED_FOR, None) == 3  # type: ignore[arg-type]
    assert trio.current_time() - began == pytest.approx(steps * STEP_S)


async def test_a_worker_that_dies_is_followed_by_another_one(autojump_clock: MockClock) -> None:
    assert await DealFinder(Worked(WorkerDied(), 3)).find(LOOKED_FOR, None) == 3  # type: ignore[arg-type]
    # Two that die are no reason to give up: the machine may be short of memory for a minute.
    assert await DealFinder(Worked(*[WorkerDied()] * 7, 3)).find(LOOKED_FOR, None) == 3  # type: ignore[arg-type]
    with pytest.raises(SearchFailed):
        await DealFinder(Worked(*[WorkerDied()] * 8, 3)).find(LOOKED_FOR, None)  # type: ignore[arg-type]


async def test_a_race_is_dealt_when_workers_are_back(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, find_deal=DealFinder(Worked(WorkerDied(), WorkerDied(), 3)).find)  # type: ignore[arg-type]
    ann = table.guest("Ann")
    room = await table.seated(ann, **WANTED)
    ann.ready(room)
    await table.until(lambda: room.core.race.phase == "racing")
    assert room.core.race.deal.k == 3
    assert ann.codes == []


async def test_where_all_workers_die_the_server_is_to_blame_and_not_the_deal(
    autojump_clock: MockClock, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    died = WorkerDied("the worker process that ran first_winnable ended in the middle of it, by SIGKILL")
    table = Table(nursery, find_deal=DealFinder(Worked(*[died] * 8)).find)  # type: ignore[arg-type]
    ann = table.guest("Ann")
    room = await table.seated(ann, **WANTED)
    ann.ready(room)
    await table.until(lambda: room.is_closed)
    assert ann.codes == [ErrorCode.CANNOT_DEAL]
    assert ann.last(Left).reason == "failed"
    assert caplog.text.count("by SIGKILL") == 8
    (aborted,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    # It had not begun, so it is in nobody's history, and rated for nobody.
    assert (aborted.reason, aborted.seats) == ("the server could not go on with it", ())


async def test_whoever_wants_many_deals_at_once_keeps_nobody_else_waiting(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    limiter, done = trio.CapacityLimiter(1), list[str | None]()

    class OneWorker(Worked):
        async def run(self, *job: object) -> int:
            async with limiter:
                return await super().run(*job)

    finder = DealFinder(OneWorker(*range(40), takes_s=2.0))  # type: ignore[arg-type]

    async def search(place: str | None) -> None:
        await finder.find(LOOKED_FOR, place)
        done.append(place)

    for _ in range(30):
        nursery.start_soon(search, "192.0.2.1")
    await trio.sleep(0.1)
    began = trio.current_time()
    async with trio.open_nursery() as others:
        others.start_soon(search, "192.0.2.2")
        others.start_soon(search, None)
    assert trio.current_time() - began < 4 * STEP_S
    assert len(done) < 6


async def test_where_there_is_none_it_is_not_looked_for_again(autojump_clock: MockClock) -> None:
    assert await DealFinder(Worked(NoneWinnable("none"), 3)).find(LOOKED_FOR, None) is None  # type: ignore[arg-type]


# ---- with a real worker


@pytest.mark.slow
async def test_a_real_worker_finds_the_number_that_the_record_is_checked_by() -> None:
    with trio.fail_after(60):
        async with open_workers(1) as workers, trio.open_nursery() as nursery:
            table = Table(nursery, find_deal=DealFinder(workers).find)
            ann = table.guest("Ann")
            room = await table.seated(ann, countdown_s=1, **WANTED)
            ann.ready(room)
            await table.until(lambda: room.core.race.phase == "racing")
            ann.stop(room)
            await table.until(lambda: room.core.race.record is not None)
            nursery.cancel_scope.cancel()
    assert room.core.race.record is not None
    deal = room.core.race.record.deal
    audit(room.core.race.record)
    check_first_winnable("carpet-whist", bytes.fromhex(deal.secret), [bytes.fromhex(nonce) for nonce in deal.nonces], deal.k)
    assert ann.all(Error) == []
