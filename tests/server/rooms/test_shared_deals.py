"""Rooms for a shared deal: who may sit, what is told about a race on a deal that others play too, and what a crash leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from protocol.errors import ErrorCode
from protocol.record import Record
from protocol.room_events import Countdown, Ended, Result, Room
from protocol.server_messages import Left
from protocol.views import RaceOptions, SharedDeal, SharedKind
from server.race.audit import audit
from server.race.shared_deal_spec import SharedDealSpec
from server.rooms.core import IDLE_S
from server.rooms.driver import Room as ServedRoom
from server.rooms.requests import CallOff, Release, Reveal
from server.store.errors import RunAlready
from server.store.port import RaceAborted, RaceOpened, RaceOver
from tests.server.rooms.playing import Guest, Table
from tests.server.rooms.test_journal import come_back, restart

SECRET = bytes(range(32))


def spec_for(*guests: Guest, kind: SharedKind = "round", deal: str = "spring-open/1") -> SharedDealSpec:
    shared = SharedDeal(kind=kind, id=deal, nonces=("7c" * 16,))
    return SharedDealSpec(deal=shared, invited=tuple(guest.player.id for guest in guests), table=1)


def opened(table: Table, *guests: Guest, bots: tuple[str, ...] = (), kind: SharedKind = "round") -> ServedRoom:
    options = RaceOptions(seats=len(guests) + len(bots), bots=bots, public=False, time_limit_s=60)
    return table.rooms.open(options, spec=spec_for(*guests, kind=kind), secret=SECRET)


async def begun(table: Table, *guests: Guest) -> ServedRoom:
    room = opened(table, *guests)
    for guest in guests:
        guest.enter(room)
    await table.settle()
    await table.begin(room, *guests)
    return room


async def test_each_of_the_invited_has_their_seat_and_nobody_else_any(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = opened(table, ann, bob)
    for guest in (bob, eve, ann):
        guest.enter(room)
    await table.settle()
    assert (ann.last(Room).seat, bob.last(Room).seat) == (0, 1)
    assert eve.codes == [ErrorCode.NOT_INVITED]
    assert table.rooms.of(eve.player.id) is None


async def test_a_table_may_be_all_house_bots(table: Table) -> None:
    over: list[Record] = []
    table.rooms.on_over.append(lambda room, record: over.append(record))
    opened(table, bots=("greedy", "random"))
    await table.until(lambda: bool(over))
    audit(over[0])
    assert [seat.bot for seat in over[0].seats] == ["greedy", "random"]


async def test_the_owner_hears_of_the_end_when_it_is_kept_and_players_of_the_record_when_it_is_revealed(table: Table) -> None:
    over: list[tuple[str, str]] = []
    table.rooms.on_over.append(lambda room, record: over.append((room.code, record.id)))
    ann, bob = table.guest("Ann"), table.guest("Bob")
    room = await begun(table, ann, bob)
    ann.move(room)
    await table.settle()
    table.journal.hold()
    for guest in (ann, bob):
        guest.stop(room)
    await table.settle()
    assert not over
    table.journal.release()
    await table.settle()
    (kept,) = [entry for entry in table.journal.entries if isinstance(entry, RaceOver)]
    assert over == [(room.code, kept.record.id)]
    for guest in (ann, bob):
        assert guest.last(Ended).seats == kept.record.seats
        assert not guest.all(Result)
        guest.rematch(room)
    await table.settle()
    assert ann.codes == [ErrorCode.ONCE_ONLY]
    room.tell(Reveal())
    room.tell(Reveal())
    await table.settle()
    assert [guest.all(Result) for guest in (ann, bob)] == [[guest.last(Result)] for guest in (ann, bob)]
    assert ann.last(Result).record == kept.record
    assert len(over) == 1


async def test_a_table_waits_for_its_players_until_it_is_called_off(table: Table, ann: Guest, bob: Guest) -> None:
    room = opened(table, ann, bob)
    ann.enter(room)
    await table.settle()
    ann.leave(room)
    await trio.sleep(2 * IDLE_S)
    was_closed = [room.is_closed]
    ann.enter(room, version=0)
    await table.settle()
    room.tell(CallOff())
    await table.settle()
    assert [*was_closed, room.is_closed] == [False, True]
    assert ann.last(Left).reason == "called-off"
    (aborted,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    assert (aborted.reason, aborted.seats) == ("it was called off", ())


@pytest.mark.parametrize("wait_s", [-1, 0, 4], ids=["a moment that has passed", "now", "later"])
async def test_held_tables_that_are_ready_count_down_from_the_moment_of_their_release(table: Table, ann: Guest, wait_s: int) -> None:
    spec = replace(spec_for(ann), held=True)
    room = table.rooms.open(RaceOptions(seats=1, public=False), spec=spec, secret=SECRET)
    ann.enter(room)
    await table.settle()
    room.tell(Release(table.clock.now_ms()))
    ann.ready(room)
    await trio.sleep(60)
    assert room.core.race.phase == "waiting", "a release before all are ready starts nothing"
    room.tell(Release(table.clock.now_ms() + wait_s * 1000))
    await table.settle()
    assert ann.last(Countdown).starts_in_ms == (max(wait_s, 0) + room.options.countdown_s) * 1000


async def test_a_race_that_has_begun_is_not_called_off(table: Table, ann: Guest, bob: Guest) -> None:
    room = await begun(table, ann, bob)
    room.tell(CallOff())
    await table.settle()
    assert (room.is_closed, room.core.race.phase) == (False, "racing")


@pytest.mark.parametrize("phase", ["countdown", "racing"])
async def test_whoever_still_plays_a_deal_that_is_revealed_stops_and_keeps_the_cards_home(table: Table, ann: Guest, phase: str) -> None:
    room = opened(table, ann, kind="daily")
    ann.enter(room)
    await table.settle()
    ann.ready(room)
    await table.settle()
    if phase == "racing":
        await trio.sleep(room.options.countdown_s + 0.01)
        ann.move(room)
        await table.settle()
    assert room.core.race.phase == phase
    room.tell(Reveal())
    await trio.sleep(room.options.countdown_s + 0.01)
    await table.settle()
    (seat,) = ann.last(Result).record.seats
    assert (seat.state, seat.plies) == ("stopped", int(phase == "racing"))


async def test_a_race_whose_deal_may_be_told_ends_where_it_is_and_has_no_result(table: Table, ann: Guest, bob: Guest) -> None:
    room = await begun(table, ann, bob)
    ann.move(room)
    await table.settle()
    room.tell(CallOff(also_running=True))
    await table.settle()
    assert room.is_closed
    assert [guest.last(Left).reason for guest in (ann, bob)] == ["called-off", "called-off"]
    (aborted,) = [entry for entry in table.journal.entries if isinstance(entry, RaceAborted)]
    assert [seat.state for seat in aborted.seats] == ["racing", "racing"]
    assert not [entry for entry in table.journal.entries if isinstance(entry, RaceOver)]


async def test_after_a_crash_the_room_is_for_the_same_people_on_the_same_deal(table: Table, ann: Guest, bob: Guest, eve: Guest) -> None:
    room = opened(table, ann, bob)
    ann.enter(room)
    await table.settle()
    new, again = await restart(table, room)
    assert again.spec == room.spec
    over: list[Record] = []
    new.rooms.on_over.append(lambda room, record: over.append(record))
    guests = await come_back(new, again, ann, bob, eve)
    assert [guest.codes for guest in guests] == [[], [], [ErrorCode.NOT_INVITED]]
    await new.begin(again, *guests[:2])
    for guest in guests[:2]:
        guest.stop(again)
    await new.settle()
    audit(over[0])
    assert over[0].deal.secret == SECRET.hex()
    assert guests[0].all(Ended)


async def test_a_second_run_that_the_store_refuses_is_told_so_and_leaves_nothing(table: Table, ann: Guest) -> None:
    table.journal.hold()
    room = opened(table, ann, kind="daily")
    ann.enter(room)
    table.journal.error = RunAlready("had it")
    table.journal.release()
    table.journal.error = None
    assert ann.codes == [ErrorCode.ONCE_ONLY]
    assert room.is_closed
    assert table.rooms.of(ann.player.id) is None
    assert not [entry for entry in table.journal.entries if isinstance(entry, (RaceOpened, RaceAborted))]
