"""A server that dies in the middle of a round, and its successor on the same store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
import trio
from msgspec.structs import replace

from protocol.room_events import Started
from protocol.tournament_messages import Called, CheckIn, PauseTournament, StartTournament, Tournament
from server.rooms.driver import Room
from server.rooms.requests import CallOff, Release, Reveal, RoomRequest
from server.store.memory import MemoryStore
from server.store.port import Banned, PlayedSeat, RaceAborted, TournamentDecided, TournamentMade
from server.tournaments import service
from server.tournaments.documents import state_of
from server.tournaments.events import TableRaceAborted, Withdrawn
from server.tournaments.state import TournamentState
from tests.server.store.keeping import write
from tests.server.tournaments import venue as venues
from tests.server.tournaments.venue import FAST, Habit, Person, Venue

pytestmark = pytest.mark.usefixtures("autojump_clock")

Kind = TypeVar("Kind")


@asynccontextmanager
async def doomed(store: MemoryStore) -> AsyncIterator[Venue]:
    """A server that is gone at once when the block ends, with nothing said to anybody."""
    async with trio.open_nursery() as nursery:
        venue = Venue(nursery, store=store, seed=1)
        await venue.open()
        yield venue
        # What comes from now on reaches the store no more.
        venue.journal.gate = trio.Event()
        nursery.cancel_scope.cancel()


async def next_server(nursery: trio.Nursery, store: MemoryStore) -> Venue:
    venue = Venue(nursery, store=store, seed=2)
    await venue.open()
    return venue


@pytest.mark.parametrize("kind", ["swiss", "elimination", "round-robin", "session"])
async def test_a_round_that_was_being_run_goes_on_with_the_next_server(nursery: trio.Nursery, kind: str) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        quick, late = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="absent")
        identity = await quick[0].make(replace(FAST, format=kind, rounds=1, no_show_s=60), quick[0], late[0], quick[1], late[1])
        await quick[0].ask(StartTournament(id=identity))
        await venue.until(lambda: bool(venue.state(identity).crosstable.races))
    before = store.tournament_log(identity)
    venue = await next_server(nursery, store)
    await trio.sleep(1)
    assert venue.state(identity).phase == "running"
    assert {room.spec.table for room in venue.rooms if room.spec is not None} == set(venue.director(identity).tables.by_table)
    state = await venue.over(identity)
    assert store.tournament_log(identity)[: len(before)] == before
    assert all(state.crosstable.result(1, pairing.table) is not None for pairing in state.crosstable.rounds[0].pairings)


async def test_a_table_that_a_dying_server_did_not_start_with_the_others_starts_as_soon_as_its_players_are_back(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tell, started = MemoryStore(), Room.tell, list[Room]()

    def tell_one(room: Room, request: RoomRequest) -> None:
        if isinstance(request, Release):
            started.append(room)
        if not isinstance(request, Release) or len(started) == 1:
            tell(room, request)

    async with doomed(store) as venue:
        people = await venue.people("A", "B", "C", "D", "E", "F", habit="waits")
        monkeypatch.setattr(Room, "tell", tell_one)
        identity = await people[0].make(replace(FAST, rounds=1, no_show_s=600, time_limit_s=3600, grace_s=600), *people)
        await people[0].ask(StartTournament(id=identity))
        await venue.until(lambda: any(person.all(Started) for person in people))
        monkeypatch.setattr(Room, "tell", tell)
        tables = venue.director(identity).tables.by_table
        at_tables = {number: table.race.pairing.entrants for number, table in tables.items()}
    venue = await next_server(nursery, store)
    # Nobody comes back to the third table.
    for person in people:
        if person.player.id not in at_tables[3]:
            await person.come_to(venue)
            nursery.start_soon(person.run)
    await trio.sleep(5)
    phases = {number: table.room.summary.phase for number, table in venue.director(identity).tables.by_table.items()}
    assert phases == {1: "racing", 2: "racing", 3: "waiting"}


async def test_a_result_that_was_told_when_the_tournament_was_over_is_told_by_the_next_server_too(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        people = await venue.people("Ann", "Ben", habit="keen")
        identity = await people[0].make(replace(FAST, rounds=1), *people)
        await people[0].ask(StartTournament(id=identity))
        await venue.over(identity)
        await trio.sleep(1)
        assert [room.summary.sealed for room in venue.rooms] == [False]
    venue = await next_server(nursery, store)
    await trio.sleep(1)
    assert [(room.summary.phase, room.summary.sealed) for room in venue.rooms] == [("over", False)]


@pytest.mark.parametrize("ben", ["absent", "waits"])
async def test_a_tournament_that_was_ended_as_its_server_died_leaves_no_race_going_on(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, ben: Habit
) -> None:
    store, tell = MemoryStore(), Room.tell
    async with doomed(store) as venue:
        people = [await venue.person("Ann", "waits"), await venue.person("Ben", ben)]
        identity = await people[0].make(replace(FAST, rounds=2, no_show_s=600, time_limit_s=600, grace_s=600), *people)
        await people[0].ask(StartTournament(id=identity))
        await trio.sleep(5)
        assert [room.summary.phase for room in venue.rooms] == ["waiting" if ben == "absent" else "racing"]
        monkeypatch.setattr(Room, "tell", lambda room, request: None if isinstance(request, CallOff | Reveal) else tell(room, request))
        await venue.tournaments.end(identity, "the server moves")
    monkeypatch.setattr(Room, "tell", tell)
    assert [run.phase for run in store.runs("round", f"{identity}/1")] == ["running"]
    venue = await next_server(nursery, store)
    await trio.sleep(5)
    assert len(venue.rooms) == 0
    assert [run.phase for run in store.runs("round", f"{identity}/1")] == ["aborted"]


@pytest.mark.parametrize("downtime", [0, 5000])
async def test_the_time_to_come_to_a_table_goes_on_and_no_time_between_two_servers_counts(nursery: trio.Nursery, downtime: int) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben = await venue.person("Ann"), await venue.person("Ben", "absent")
        identity = await ann.make(replace(FAST, rounds=1, no_show_s=120), ann, ben)
        await ann.ask(StartTournament(id=identity))
        await trio.sleep(75)
    await trio.sleep(downtime)
    venue = await next_server(nursery, store)
    began = trio.current_time()
    state = await venue.over(identity)
    result = state.crosstable.result(1, 1)
    assert result is not None
    assert result.forfeit
    # A crash forgives what was not noted: ten seconds at most.
    assert 44 <= trio.current_time() - began <= 57


async def test_a_result_that_was_kept_and_not_entered_is_entered_by_the_next_server(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        people = await venue.people("Ann", "Ben")
        identity = await people[0].make(replace(FAST, rounds=1), *people)
        # The rooms keep what comes of them, but the tournament hears nothing of it.
        venue.rooms.on_over.clear()
        await people[0].ask(StartTournament(id=identity))
        await venue.until(lambda: any(run.phase == "over" for run in store.runs("round", f"{identity}/1")))
        assert not venue.state(identity).crosstable.races
    venue = await next_server(nursery, store)
    state = await venue.over(identity)
    (run,) = store.runs("round", f"{identity}/1")
    assert state.race_ids[1, 1] == (run.race,)
    assert [room.summary.phase for room in venue.rooms] == ["over"], "nothing was raced twice"


async def test_why_a_race_that_an_earlier_server_ended_had_no_result_is_in_the_log(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben = await venue.people("Ann", "Ben", habit="waits")
        identity = await ann.make(replace(FAST, rounds=1), ann, ben)
        await ann.ask(StartTournament(id=identity))
        await venue.until(lambda: any(room.summary.phase == "racing" for room in venue.rooms))
        (room,) = venue.rooms
    (run,) = store.runs("round", f"{identity}/1")
    seats = tuple(PlayedSeat(seat.player, seat.name, None, "racing", None, seat.home, None) for seat in room.summary.seats)
    write(store, RaceAborted(race=run.race, reason="the host of the server ended it: fire alarm", at_ms=0, seats=seats))
    venue = await next_server(nursery, store)
    await trio.sleep(1)
    aborted = [entry.event for entry in venue.state(identity).log if isinstance(entry.event, TableRaceAborted)]
    assert aborted == [TableRaceAborted(1, 1, "the host of the server ended it: fire alarm")]


async def test_a_table_whose_room_never_was_gets_one_of_the_next_server(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben = await venue.people("Ann", "Ben")
        identity = await ann.make(replace(FAST, rounds=1), ann, ben)
        venue.rooms._stopping = True  # no room can be opened
        await ann.ask(StartTournament(id=identity))
        assert venue.state(identity).round == 1
        assert len(venue.rooms) == 0
    assert not store.running().races
    venue = await next_server(nursery, store)
    await trio.sleep(1)
    (room,) = venue.rooms
    assert room.spec is not None
    assert set(room.spec.invited) == {ann.player.id, ben.player.id}
    state = await venue.over(identity)
    result = state.crosstable.result(1, 1)
    assert result is not None
    assert result.verdict == "neither", "nobody came back"


@pytest.mark.parametrize("downtime", [0, 5000])
async def test_a_check_in_and_a_pause_outlive_the_server_and_have_their_whole_time_once_more(nursery: trio.Nursery, downtime: int) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben = await venue.people("Ann", "Ben")
        identity = await ann.make(replace(FAST, rounds=1, check_in_s=600, fill=2))
        await ann.enter(identity)
        between = await ann.make(replace(FAST, rounds=2, fill=2, pause_s=300))
        paused = await ann.make(replace(FAST, rounds=2, fill=2, pause_s=50))
        for each in (between, paused):
            await ann.ask(StartTournament(id=each))
            await venue.until(lambda each=each: venue.state(each).phase == "between")  # type: ignore[misc]
        await ann.do(PauseTournament(id=paused))
        await ben.enter(identity)
        await ann.ask(StartTournament(id=identity))
        await ann.check_in(identity)
        await trio.sleep(100)
    await trio.sleep(downtime)
    venue = await next_server(nursery, store)
    await ben.come_to(venue)
    ben.follow(identity)
    await trio.sleep(0.1)
    assert [venue.state(each).phase for each in (identity, between, paused)] == ["check-in", "between", "paused"]
    assert 599_000 < (ben.last(Tournament).phase_ms or 0) <= 600_000
    await trio.sleep(290)
    assert venue.state(between).round == 1
    await venue.over(between)
    await trio.sleep(280)
    assert venue.state(identity).phase == "check-in"
    await ben.check_in(identity)
    state = await venue.over(identity)
    assert (state.phase, state.crosstable.size) == ("over", 2), "both are in, and no bot had to fill a seat"
    assert venue.state(paused).phase == "paused"
    assert not venue.state(paused).is_closed


async def test_whoever_was_at_a_table_is_called_when_they_come_back_to_the_next_server(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben = await venue.people("Ann", "Ben", habit="absent")
        identity = await ann.make(replace(FAST, rounds=1, check_in_s=60), ann, ben)
        await ann.ask(StartTournament(id=identity))
        for person in (ann, ben):
            await person.do(CheckIn(id=identity, nonce="ab" * 16))
        await venue.until(lambda: bool(ann.all(Called)))
    code = ann.last(Called).code
    venue = await next_server(nursery, store)
    back = Person(venue, "Ann", "absent")
    await trio.sleep(1)
    venue.tournaments.greet(ann.player.id, back)
    assert [call.code for call in back.all(Called)] == [code]
    await venue.over(identity)


async def test_the_log_of_an_old_tournament_is_taken_again_beside_the_event_loop(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann = await venue.person("Ann")
        identity = await ann.make(replace(FAST, rounds=1, fill=2))
        await ann.ask(StartTournament(id=identity))
        await venue.over(identity)
    is_beside = False
    read: list[bool] = []

    async def beside(make: Callable[[], Kind]) -> Kind:
        nonlocal is_beside
        await trio.lowlevel.checkpoint()
        is_beside = True
        try:
            return make()
        finally:
            is_beside = False

    def watched(made: TournamentMade, log: Iterable[TournamentDecided]) -> TournamentState:
        read.append(is_beside)
        return state_of(made, log)

    monkeypatch.setattr(venues, "at_once", beside)
    monkeypatch.setattr(service, "state_of", watched)
    venue = await next_server(nursery, store)
    assert await venue.tournaments.document(identity) is not None
    assert read == [True, True], "once for the list, once for who asks"


async def test_an_entrant_who_was_banned_as_a_server_died_is_withdrawn_by_the_next_one(nursery: trio.Nursery) -> None:
    store = MemoryStore()
    async with doomed(store) as venue:
        ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo", habit="absent")
        identity = await ann.make(replace(FAST, rounds=2, no_show_s=60), ann, ben, cleo)
        await ann.ask(StartTournament(id=identity))
        await venue.journal.write(Banned(kind="player", subject=ben.player.id, reason="plays by program", at_ms=0))
    venue = await next_server(nursery, store)
    await trio.sleep(1)
    assert not venue.state(identity).crosstable.plays(ben.player.id)
    assert Withdrawn(ben.player.id, "banned by the host of the server: plays by program") in [
        entry.event for entry in venue.state(identity).log
    ]
