"""House bots as members: they play whole races at either pace, and hold nobody up while they think."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from protocol.errors import ErrorCode
from protocol.room_events import Progress, Result
from protocol.server_messages import Error
from server.bots.house import HOUSE_BOTS
from server.race.audit import audit
from server.rooms.bots import PACE_S, BotPlayer
from server.rooms.outgoing import Outgoing
from tests.server.race.racing import WINNABLE, greedy_line
from tests.server.rooms.playing import Table
from tests.server.rooms.test_journal import restart


async def in_no_thread(choose: Callable[[object], str], view: object, **_: object) -> str:
    """Think on the spot: the clock that jumps when all tasks wait knows nothing of threads, and would jump over a thought."""
    await trio.lowlevel.checkpoint()
    return choose(view)


@pytest.mark.parametrize("name", HOUSE_BOTS)
async def test_every_bot_plays_a_race_to_its_end_by_legal_moves(table: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", in_no_thread)
    ann = table.guest("Ann")
    room = await table.seated(ann, bots=(name,))
    ann.ready(room)
    with trio.fail_after(500):
        await table.until(lambda: room.core.race.seats[1].state not in ("waiting", "racing"))
    ann.stop(room)
    await trio.sleep(1)
    record = ann.last(Result).record
    assert (record.seats[1].name, record.seats[1].bot) == (name, name)
    assert record.seats[1].state in ("won", "stalled")
    assert record.seats[1].plies > 20
    audit(record)


async def test_at_the_pace_of_a_person_a_move_takes_about_a_second(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.seated(ann, bots=("greedy",))
    ann.ready(room)
    await trio.sleep(30)
    times = [progress.elapsed_ms for progress in ann.all(Progress) if progress.seat == 1]
    pauses = [after - before for before, after in zip([0, *times], times, strict=False)]
    assert len(pauses) > 10
    assert all(PACE_S[0] * 1000 - 2 <= pause <= PACE_S[1] * 1000 + 2 for pause in pauses)
    assert room.core.race.phase == "racing"


async def test_once_no_person_plays_a_bot_plays_on_ten_times_as_fast(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    table = Table(nursery, bots_wait=True)
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.seated(ann, bob, bots=("greedy",))
    await table.begin(room, ann, bob)
    ann.stop(room)
    await trio.sleep(10)
    slow = room.core.race.seats[2].ply
    assert 5 <= slow <= 14
    bob.stop(room)
    await trio.sleep(12)
    record = ann.last(Result).record
    assert record.seats[2].plies > slow + 20
    audit(record)


async def test_by_its_hurry_a_bot_makes_no_move_that_it_would_not_have_had_the_time_for(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.seated(ann, bots=("greedy",), time_limit_s=30)
    await table.begin(room, ann)
    ann.stop(room)
    await trio.sleep(40)
    record = ann.last(Result).record
    assert record.seats[1].state == "out-of-time"
    assert 30 / PACE_S[1] - 1 <= record.seats[1].plies <= 30 / PACE_S[0] + 1
    assert max(move.at_ms for move in record.moves) < 5_000


async def test_a_bot_that_thinks_holds_up_neither_its_room_nor_another(
    autojump_clock: MockClock, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking, go_on = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()
    at_once = 0

    class Ponderous:
        def choose(self, view: object) -> str:
            nonlocal at_once
            del view
            at_once += 1
            assert at_once == 1
            token.run_sync_soon(thinking.set)
            go_on.wait(10)
            at_once -= 1
            return "s"

    house = dict(HOUSE_BOTS)
    make: Callable[[str, int], Ponderous] = lambda rules, seed: Ponderous()  # noqa: E731
    monkeypatch.setattr("server.rooms.bots.house_bot", lambda name: type(house["deep"])(name, "", True, make))
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await table.racing(ann, bots=("slow",))
    other = await table.racing(bob, bots=("slow",))
    # From here on time stands still: a thread thinks, and the clock must not jump over that.
    autojump_clock.autojump_threshold = math.inf
    await thinking.wait()
    ann.move(room)
    bob.move(other)
    for _ in range(20):
        await trio.lowlevel.checkpoint()
    assert (ann.ply, bob.ply) == (1, 1)
    assert room.core.race.seats[1].ply == other.core.race.seats[1].ply == 0
    go_on.set()
    while not (room.core.race.seats[1].ply and other.core.race.seats[1].ply):
        await trio.lowlevel.checkpoint()


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[Error]:
    """What bots are told that they may not do."""
    told: list[Error] = []
    post = BotPlayer.post

    def overheard(self: BotPlayer, outgoing: Outgoing) -> None:
        if isinstance(outgoing.message, Error):
            told.append(outgoing.message)
        post(self, outgoing)

    monkeypatch.setattr(BotPlayer, "post", overheard)
    return told


async def test_a_bot_stops_asking_when_another_has_won_and_plays_again_in_the_next_race(
    table: Table, refusals: list[Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def thinks_a_little(choose: Callable[[object], str], view: object, **_: object) -> str:
        await trio.sleep(0.01)
        return choose(view)

    monkeypatch.setattr(trio.to_thread, "run_sync", thinks_a_little)
    ann = table.guest("Ann", round_trip_ms=0)
    room = await table.racing(ann, bots=("deep",), deal=WINNABLE)
    for ply, move in enumerate(greedy_line(WINNABLE)):
        ann.move(room, move, ply=ply)
    await table.settle()
    assert (ann.state, room.core.race.phase) == ("won", "racing")
    await trio.sleep(1)
    assert room.core.race.phase == "over"
    assert [refusal.code for refusal in refusals] == [ErrorCode.RACE_OVER]
    ann.rematch(room)
    await table.settle()
    await table.begin(room, ann)
    await trio.sleep(0.5)
    assert room.core.race.number == 2
    assert room.core.race.seats[1].ply > 0


async def test_a_thought_is_not_lost_when_a_bot_is_told_everything_anew(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    thoughts = 0

    async def thinks_long(choose: Callable[[object], str], view: object, **_: object) -> str:
        nonlocal thoughts
        thoughts += 1
        await trio.sleep(5)
        return choose(view)

    monkeypatch.setattr(trio.to_thread, "run_sync", thinks_long)
    ann = table.guest("Ann")
    room = await table.racing(ann, bots=("deep",))
    await trio.sleep(1)
    room.set_clocks_right()
    await trio.sleep(6)
    assert (room.core.race.seats[1].ply, thoughts) == (1, 2)


async def test_in_a_rematch_that_another_server_has_taken_up_a_bot_asks_for_nothing_that_is_refused(
    nursery: trio.Nursery, autojump_clock: MockClock, refusals: list[Error]
) -> None:
    del autojump_clock
    table = Table(nursery, bots_wait=True)
    ann = table.guest("Ann")
    room = await table.racing(ann, bots=("greedy",), time_limit_s=10)
    await trio.sleep(11)
    ann.rematch(room)
    await table.settle()
    ann.ready(room)
    await trio.sleep(1)
    assert (room.core.race.number, room.core.race.phase) == (2, "countdown")
    _, again = await restart(table, room)
    await trio.sleep(10)
    assert again.core.race.seats[1].ply > 0
    assert refusals == []
