"""Tournaments in a cluster: one server leads, all decide, and entrants are called wherever they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from protocol.server_messages import Error
from protocol.tournament_messages import (
    Called,
    CheckInDue,
    CorrectResult,
    Decided,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    PauseTournament,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TableResult
from server.store.availability import Outage
from server.store.port import Entry, RaceOpened
from server.tournaments.commands import TournamentCommand
from tests.server.tournaments.place import Place
from tests.server.tournaments.venue import FAST, Person

pytestmark = pytest.mark.usefixtures("autojump_clock")


@pytest.fixture
async def place(nursery: trio.Nursery) -> Place:
    place = Place(nursery)
    await place.open()
    return place


async def test_entrants_at_another_server_are_called_to_their_tables_and_all_servers_tell_the_same(place: Place) -> None:
    one, two = place.venues
    here, there = await one.people("Ann", "Ben"), await two.people("Cleo", "Dan")
    identity = await here[0].make(replace(FAST, rounds=2, check_in_s=60))
    await trio.sleep(1)
    assert [told.id for told in two.tournaments.listings()] == [identity]
    for person in (*here, *there):
        await person.enter(identity)
    # By a server that does not lead it, and has not heard of what was decided elsewhere in this moment.
    await there[0].move(two)
    assert isinstance(await here[0].ask(StartTournament(id=identity)), Decided)
    await trio.sleep(1)
    await here[0].move(two)
    await here[0].do(ExtendCheckIn(id=identity, more_s=60))
    await trio.sleep(1)
    assert all(person.last(CheckInDue).left_ms == pytest.approx(118_000, abs=1500) for person in (*here, *there))
    for person in (*there, *here):
        await person.check_in(identity)
    for person in (*there, *here):
        first, *_, last = [message.left_ms for message in person.all(CheckInDue)]
        assert (first is not None, last) == (True, None)
    codes = set[frozenset[str]]()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as watching:

            async def note_codes() -> None:
                while True:
                    codes.add(one.tournaments.elsewhere.codes & two.tournaments.elsewhere.codes)
                    await trio.sleep(0.1)

            watching.start_soon(note_codes)
            states = [await venue.over(identity) for venue in place.venues]
            scope.cancel()
    assert states[0].log == states[1].log
    # Of each round's tables, all servers know the rooms.
    called = {called.code for person in (*here, *there) for called in person.all(Called)}
    assert frozenset().union(*codes) == called
    assert len(called) == 4
    # Whoever is called elsewhere is told so there once more.
    assert all({called.round for called in person.all(Called)} == {1, 2} for person in (*here, *there))
    assert all(not result.forfeit for races in states[0].crosstable.races.values() for result in races)
    assert len(states[0].crosstable.races) == 4
    assert await one.tournaments.document(identity) == await two.tournaments.document(identity)


async def test_entries_at_one_moment_at_both_servers_are_all_kept_in_one_order(place: Place) -> None:
    one, two = place.venues
    people = [*await one.people(*map(str, range(10))), *await two.people(*map(str, range(10, 20)))]
    identity = await people[0].make(FAST)
    await trio.sleep(1)
    answers: list[object] = []

    async def enter(number: int) -> None:
        answers.append(await people[number].ask(EnterTournament(id=identity)))

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(enter, number)
    numbers = sorted(answer.number for answer in answers if isinstance(answer, Decided))
    assert numbers == list(range(1, 21))
    await trio.sleep(1)
    assert one.state(identity).log == two.state(identity).log
    assert set(one.state(identity).people) == {person.player.id for person in people}


async def test_what_the_director_decides_at_another_server_is_done_where_the_rooms_are(place: Place) -> None:
    one, two = place.venues
    ann, ben = await one.people("Ann", "Ben", habit="absent")
    director = await two.person("Dora", "absent")
    identity = await ann.make(FAST)
    await ann.enter(identity)
    refused = await director.ask(StartTournament(id=identity))
    assert not isinstance(refused, Decided)

    own = await director.make(replace(FAST, rounds=1))
    for person in (ann, ben):
        await person.enter(own)
    await director.move(one)
    await director.do(StartTournament(id=own))
    await trio.sleep(1)
    assert (len(one.rooms), len(two.rooms)) == (0, 1), "whoever made it leads it"
    assert ann.last(Called).code == ben.last(Called).code == next(iter(two.rooms)).code
    await director.do(PauseTournament(id=own))
    await trio.sleep(1)
    assert len(two.rooms) == 0
    await director.ask(PauseTournament(id=own, pause=False))
    result = TableResult(verdict="first", first_home=3, second_home=2)
    await trio.sleep(1)
    await director.do(CorrectResult(id=own, round=1, table=1, result=result))
    assert (await two.over(own)).phase == "over"
    assert len(two.rooms) == 0

    # Nobody looks after it any more, and it may still be corrected, at any server.
    other = TableResult(verdict="second", first_home=3, second_home=5)
    await director.do(CorrectResult(id=own, round=1, table=1, result=other))
    document = await two.tournaments.document(own)
    assert document is not None
    assert document.rounds[0].tables[0].result == replace(other, ruled=True)


async def test_followers_at_another_server_see_who_is_here_and_how_the_tables_stand(place: Place) -> None:
    one, two = place.venues
    ann, ben = await one.people("Ann", "Ben", habit="absent")
    follower = await two.person("Flo", "absent")
    identity = await ann.make(replace(FAST, no_show_s=100), ann, ben)
    await trio.sleep(1)
    follower.follow(identity)
    await ann.ask(StartTournament(id=identity))
    await trio.sleep(2)
    told = follower.last(Tournament)
    assert [entrant.here for entrant in told.entrants] == [True, True]
    assert told.tables[0].code == next(iter(one.rooms)).code
    assert 90_000 < (told.tables[0].no_show_ms or 0) < 100_000
    await ben.lose_connection()
    await trio.sleep(2)
    assert [entrant.here for entrant in follower.last(Tournament).entrants] == [True, False]
    # What was told last is not true for ever.
    two.tournaments.elsewhere.hear(())
    assert two.tournaments.elsewhere.here == frozenset()


async def test_nobody_is_called_from_elsewhere_to_a_table_that_the_store_does_not_know_yet(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = place.venues
    ann, ben = await one.person("Ann", "absent"), await two.person("Ben", "absent")
    identity = await ann.make(FAST, ann, ben)
    submit, waits = one.journal.submit, list[Any]()

    def slowly(entries: Sequence[Entry], *arguments: Any) -> None:
        if isinstance(entries[0], RaceOpened):
            waits.append((entries, *arguments))
        else:
            submit(entries, *arguments)

    monkeypatch.setattr(one.journal, "submit", slowly)
    one.nursery.start_soon(ann.ask, StartTournament(id=identity))
    await trio.sleep(5)
    assert (len(one.rooms), len(ann.all(Called)), ben.all(Called)) == (1, 1, [])
    monkeypatch.undo()
    for arguments in waits:
        submit(*arguments)
    await trio.sleep(1)
    assert ben.last(Called).code == ann.last(Called).code


async def test_entrants_at_another_server_are_called_anew_after_an_outage(place: Place) -> None:
    one, two = place.venues
    ann, ben = await one.person("Ann", "absent"), await two.person("Ben", "absent")
    identity = await ann.make(FAST, ann, ben)
    await ann.ask(StartTournament(id=identity))
    await trio.sleep(5)
    for venue in place.venues:
        venue.rooms.outage(Outage(trio.current_time(), "the database does not answer"))
    await trio.sleep(60)
    called = len(ben.all(Called))
    for venue in place.venues:
        venue.rooms.outage(None)
    await trio.sleep(2)
    assert len(ben.all(Called)) == called + 1
    assert 0 < (ben.last(Called).until_ms or 0) <= 25_000


@pytest.mark.parametrize("kind", ["swiss", "elimination"])
async def test_another_server_takes_a_tournament_over_in_the_middle_of_a_round(place: Place, kind: str) -> None:
    one, two = place.venues
    quick, late = await one.people("Ann", "Ben"), await two.people("Cleo", "Dan", habit="absent")
    identity = await quick[0].make(replace(FAST, format=kind, rounds=2, no_show_s=60), quick[0], late[0], quick[1], late[1])
    await quick[0].ask(StartTournament(id=identity))
    await one.until(lambda: bool(one.state(identity).crosstable.races))
    before = place.store.tournament_log(identity)

    place.kill(one)
    # Decided while nobody leads it.
    answer = await late[0].ask(EnterTournament(id=identity))
    assert not isinstance(answer, Decided)
    assert two.state(identity).log[-1].number == len(before)
    await trio.sleep(5)
    assert len(two.rooms) == 0

    place.take_over(two, [identity])
    for person in late:
        person.habit = "quick"
    for person in quick:
        await person.move(two)
    state = await two.over(identity)
    assert place.store.tournament_log(identity)[: len(before)] == before
    assert all(state.crosstable.result(1, pairing.table) is not None for pairing in state.crosstable.rounds[0].pairings)
    assert state.phase == "over"


async def test_whoever_takes_over_while_a_command_is_being_kept_opens_no_second_room_for_a_table(place: Place) -> None:
    one, two = place.venues
    people = [*await one.people("Ann", "Ben"), *await two.people("Cleo", "Dan")]
    for person in people:
        person.habit = "absent"
    identity = await people[0].make(replace(FAST, no_show_s=600), *people)
    await people[0].ask(StartTournament(id=identity))
    await one.until(lambda: len(one.rooms) == 2)
    codes = {room.spec.table: room.code for room in one.rooms if room.spec is not None}
    place.kill(one)
    await people[0].move(two)

    two.journal.gate = trio.Event()
    result = TableResult(verdict="first", first_home=3, second_home=2)
    two.tournaments.ask(people[0], people[0].asker, CorrectResult(id=identity, round=1, table=2, result=result, ref=99))
    await trio.sleep(0.1)
    place.take_over(two, [identity])
    await trio.sleep(2)
    two.journal.gate.set()
    await trio.sleep(2)
    assert people[0].last(Decided).ref == 99
    assert two.director(identity).leads
    assert [room.code for room in two.rooms] == [codes[1]], "what was decided meanwhile is not raced"


async def test_what_a_newer_server_has_decided_stops_nothing_but_that_tournament(place: Place) -> None:
    one, _ = place.venues
    ann = await one.person("Ann", "absent")
    identity = await ann.make(FAST)
    await one.tournaments.end(identity, "for a start")
    await place.open(1)
    late = place.venues[-1]
    flo = await late.person("Flo", "absent")
    flo.follow(identity)
    await trio.sleep(1)
    assert flo.last(Tournament).id == identity
    before = await late.tournaments.document(identity)

    log = place.store.tournament_log(identity)
    await one.journal.write(dataclasses.replace(log[-1], sequence=len(log) + 1, decision='[99,"unheard-of",{}]'))
    await trio.sleep(2)
    assert await late.tournaments.document(identity) == before
    another = await ann.make(FAST)
    await trio.sleep(2)
    assert another in [told.id for told in late.tournaments.listings()]


@pytest.mark.parametrize("leads", [True, False])
async def test_a_command_to_a_tournament_in_which_a_newer_server_has_decided_something_is_refused_at_once(
    place: Place, leads: bool
) -> None:
    one, two = place.venues
    ann = await one.person("Ann", "absent")
    identity = await ann.make(FAST)
    await ann.enter(identity)
    await trio.sleep(1)
    asked = ann if leads else await two.person("Ben", "absent")
    log = place.store.tournament_log(identity)
    await one.journal.write(dataclasses.replace(log[-1], sequence=len(log) + 1, decision='[1,"unheard-of",{}]'))
    # Before it was seen in the store, and behind that.
    for _ in range(2):
        answer = await asked.ask(EnterTournament(id=identity))
        assert not isinstance(answer, Decided)
        assert answer.code == "server/older"
        await trio.sleep(2)
    venue = one if leads else two
    with pytest.raises(ValueError, match=r"cannot read all that was decided in it: .*unheard-of"):
        await venue.tournaments.end(identity, "a joke")
    assert not venue.state(identity).is_closed


async def test_a_tournament_that_the_host_removes_at_one_server_is_gone_at_all(place: Place) -> None:
    one, two = place.venues
    ann = await one.person("Ann")
    identity = await ann.make(FAST)
    await ann.enter(identity)
    await trio.sleep(1)
    assert two.tournaments.listings()
    await two.tournaments.remove(identity, "a joke")
    await trio.sleep(1)
    assert one.tournaments.listings() == two.tournaments.listings() == ()
    assert await one.tournaments.document(identity) is None


@pytest.mark.parametrize("is_writing", [False, True], ids=["asked before it is seen", "seen while it is written"])
async def test_whoever_decides_on_a_tournament_that_another_server_has_removed_hears_at_once_that_it_is_gone(
    place: Place, is_writing: bool
) -> None:
    one, two = place.venues
    ann, ben = await one.people("Ann", "Ben")
    identity = await ann.make(FAST)
    await ann.enter(identity)
    await trio.sleep(1)
    if is_writing:
        one.journal.gate = trio.Event()
    await two.tournaments.remove(identity, "a joke")
    began = trio.current_time()
    answers: list[object] = []

    async def ask(person: Person, command: TournamentCommand) -> None:
        answers.append(await person.ask(command))

    async def end_by_host() -> None:
        with pytest.raises(ValueError, match=f"there is no tournament {identity} any more: another server has removed it"):
            await one.tournaments.end(identity, "a joke")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, ann, EndTournament(id=identity))
        nursery.start_soon(ask, ben, EnterTournament(id=identity))
        nursery.start_soon(end_by_host)
    told = [(answer.code, answer.path) for answer in answers if isinstance(answer, Error)]
    assert told == [("tournament/no-such-id", "$.id")] * 2
    assert trio.current_time() - began < 1
    with pytest.raises(ValueError, match="there is no tournament"):
        await one.tournaments.end(identity, "a joke")
