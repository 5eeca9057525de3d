"""Rounds from the first to the last: every format by bots and by people, one fair and secret shuffle for each, one start for all tables."""

from __future__ import annotations

from hashlib import sha256

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from protocol.client_messages import Say
from protocol.errors import ErrorCode, Refusal
from protocol.fairness import derive_seed, shared_nonce
from protocol.record import check_deal
from protocol.room_events import Dealt, Ended, Result, Started
from protocol.tournament_messages import (
    Called,
    EnterTournament,
    StartTournament,
    Tournament,
)
from server.race.audit import audit
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.requests import CallOff
from server.spectate.spectator import SpectatorConnection
from server.spectate.spectator_registry import SpectatorRegistry
from server.store.errors import StoreError
from server.store.port import NEVER_MS
from server.tournaments.events import TableRaceAborted, Withdrawn
from tests.server.spectate.onlookers import no_room
from tests.server.tournaments.fields import byes_of
from tests.server.tournaments.venue import FAST, Person, Venue, kinds, records, refused, started

FORMATS = {
    "swiss": (replace(FAST, fill=8, rounds=3), 3),
    "swiss of an odd field": (replace(FAST, fill=5), 3),
    "round-robin": (replace(FAST, format="round-robin", fill=5), 5),
    "double round-robin": (replace(FAST, format="round-robin", fill=4, double=True), 6),
    "knock-out": (replace(FAST, format="elimination", fill=6), 3),
    "session": (replace(FAST, format="session", fill=3, rounds=2), 2),
}


@pytest.mark.parametrize("name", FORMATS)
async def test_every_format_is_played_to_its_end_by_bots(venue: Venue, name: str) -> None:
    options, rounds = FORMATS[name]
    _, identity = await started(venue, options)
    state = await venue.over(identity)
    assert (state.phase, state.round) == ("over", rounds)
    assert {person.bot for person in state.people.values()} == {"random"}
    for paired in state.crosstable.rounds:
        for pairing in paired.pairings:
            if pairing.counted:
                assert state.crosstable.result(paired.number, pairing.table) is not None
                assert state.race_ids[paired.number, pairing.table]
    assert all(shuffle.over_at_ms is not None for shuffle in state.shuffles)


async def test_a_double_knock_out_with_drawn_races_is_decided(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan")
    _, identity = await started(venue, replace(FAST, format="elimination", double=True, replays=1), *people)
    state = await venue.over(identity)
    # All stop at once: every race is drawn, is run again on the next number of the shuffle, and the higher seed goes on.
    assert {len(races) for races in state.crosstable.races.values()} == {2}
    assert [row.place for row in state.crosstable.standings] == [1, 2, 3, 4]
    numbers = {run.spec.table: set[int]() for run in venue.store.runs("round", f"{identity}/1")}
    for run in venue.store.runs("round", f"{identity}/1"):
        numbers[run.spec.table].add(run.spec.deal.number)
    assert numbers == {1: {1, 2}, 2: {1, 2}}


async def test_people_play_a_swiss_and_are_called_to_every_table(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", habit="keen")
    _, identity = await started(venue, replace(FAST, rounds=3), *people)
    state = await venue.over(identity)
    assert [len(person.all(Called)) for person in people] == [3, 3, 3]
    assert {call.bot for person in people for call in person.all(Called) if not call.opponent} == {"random"}, (
        "who has a bye races the house"
    )
    assert [len(byes_of(paired)) for paired in state.crosstable.rounds] == [1, 1, 1]
    assert all(not result.forfeit for races in state.crosstable.races.values() for result in races)


async def test_in_a_session_everybody_plays_alone_and_a_deal_won_is_a_point(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben")
    _, identity = await started(venue, replace(FAST, format="session", rounds=3), *people)
    state = await venue.over(identity)
    assert [[len(record.seats) for record in records(venue, identity, number)] for number in (1, 2, 3)] == [[1, 1]] * 3
    assert [(row.points, row.home) for row in state.crosstable.standings] == [(0.0, 12), (0.0, 12)]


async def test_all_tables_of_a_round_have_one_shuffle_that_can_be_checked(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", "Eve")
    director = await venue.person("Director")
    identity = await director.make(replace(FAST, rounds=2, check_in_s=60), *people)
    await director.ask(StartTournament(id=identity))
    for person in people:
        await person.check_in(identity)
    state = await venue.over(identity)
    link = state.commitment
    for number in (1, 2):
        found = records(venue, identity, number)
        assert len(found) == 3
        assert len({record.deal.seed for record in found}) == 1
        secret = bytes.fromhex(found[0].deal.secret)
        assert sha256(secret).digest() == link, "each secret is committed to by the one before it, the first by the tournament"
        link = secret
        nonces = [bytes.fromhex(person.nonce) for person in state.people.values() if person.nonce is not None]
        assert len(nonces) == 5
        assert derive_seed(secret, [shared_nonce(nonces)], 0).hex() == found[0].deal.seed
        for record in found:
            check_deal(record.deal)
            audit(record)
    assert records(venue, identity, 1)[0].deal.seed != records(venue, identity, 2)[0].deal.seed


async def test_no_record_and_no_board_is_told_before_the_round_is_over(venue: Venue) -> None:
    quick, slow = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="waits")
    people = [quick[0], slow[0], quick[1], slow[1]]  # of four, the first meets the third
    _, identity = await started(venue, replace(FAST, rounds=1), *people)
    await venue.until(lambda: len(venue.state(identity).crosstable.races) == 1)
    await trio.sleep(60)
    (race,) = [run for run in venue.store.runs("round", f"{identity}/1") if run.phase == "over"]
    status = venue.store.race_status(race.race)
    assert status is not None
    assert (status.phase, status.sealed_until_ms) == ("over", NEVER_MS)
    assert all(person.all(Ended) and not person.all(Result) for person in quick)
    quick[0].follow(identity)
    await wait_all_tasks_blocked()
    assert [found.secret for found in quick[0].last(Tournament).rounds] == [None]
    document = await venue.tournaments.document(identity)
    assert document is not None
    assert [found.secret for found in document.rounds] == [None]
    for person in slow:
        person.habit = "quick"
        person.post_again(Started)
    state = await venue.over(identity)
    await wait_all_tasks_blocked()
    assert all(person.all(Result) for person in people)
    status = venue.store.race_status(race.race)
    assert status is not None
    assert status.sealed_until_ms == state.shuffles[0].over_at_ms


async def test_nothing_is_told_or_done_before_it_is_kept(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben")
    director = await venue.person("Director")
    identity = await director.make(replace(FAST, rounds=1), *people)
    people[0].follow(identity)
    await trio.sleep(2)
    venue.journal.gate = trio.Event()
    heard = [len(person.heard) for person in (*people, director)]
    venue.tournaments.ask(director, director.asker, StartTournament(id=identity, ref=77))
    await trio.sleep(5)
    assert [len(person.heard) for person in (*people, director)] == heard
    assert (len(venue.rooms), venue.state(identity).round) == (0, 0)
    venue.journal.gate.set()
    venue.journal.gate = None
    await venue.over(identity)
    assert len(people[0].all(Called)) == 1


async def test_what_cannot_be_kept_is_refused_and_has_not_happened(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    identity = await ann.make(replace(FAST, rounds=1, fill=2))
    await ann.enter(identity)
    with monkeypatch.context() as broken:

        async def fail(*entries: object) -> None:
            await trio.lowlevel.checkpoint()
            raise StoreError("the disk is full")

        broken.setattr(venue.journal, "write", fail)
        assert refused(await ben.ask(EnterTournament(id=identity))) == "server/not-kept"
        assert refused(await ann.ask(StartTournament(id=identity))) == "server/not-kept"
    assert kinds(venue, identity) == ["Entered"]
    await ben.enter(identity)
    await ann.ask(StartTournament(id=identity))
    assert (await venue.over(identity)).round == 1


async def test_what_was_asked_beside_something_that_could_not_be_kept_is_done_once_that_can_be(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    identity = await ann.make(FAST)
    write = venue.journal.write

    async def fail_once(*entries: object) -> None:
        monkeypatch.setattr(venue.journal, "write", write)
        await trio.lowlevel.checkpoint()
        raise StoreError("the disk is full")

    answers: list[object] = []

    async def enter(person: Person) -> None:
        answers.append(await person.ask(EnterTournament(id=identity)))

    monkeypatch.setattr(venue.journal, "write", fail_once)
    async with trio.open_nursery() as nursery:
        for person in (ben, cleo):
            nursery.start_soon(enter, person)
    assert sorted(type(answer).__name__ for answer in answers) == ["Decided", "Error"]
    monkeypatch.setattr(venue.journal, "write", fail_once)
    with trio.fail_after(60):
        await venue.tournaments.end(identity, "a storm")
    assert venue.state(identity).stage == "ended"


async def test_a_player_whom_the_host_bans_is_out_of_their_tournaments_and_nobody_waits_for_them(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="keen")
    _, identity = await started(venue, replace(FAST, rounds=3), *people)
    await venue.until(lambda: venue.state(identity).round == 1)
    venue.tournaments.withdraw(people[1].asker.id, "plays by program")
    venue.tournaments.withdraw(people[1].asker.id, "once more")
    venue.tournaments.withdraw("somebody else", "")
    state = await venue.over(identity)
    gone = [(entry.author, entry.event) for entry in state.log if isinstance(entry.event, Withdrawn)]
    assert gone == [(None, Withdrawn(people[1].asker.id, "banned by the host of the server: plays by program"))]
    later = {entrant for paired in state.crosstable.rounds[1:] for pairing in paired.pairings for entrant in pairing.entrants}
    assert people[1].asker.id not in later


async def test_a_race_at_a_table_that_the_host_ends_is_run_again_and_the_log_gives_their_reason(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", habit="waits")
    _, identity = await started(venue, replace(FAST, rounds=1), *people)
    await venue.until(lambda: any(table.room.summary.phase == "racing" for table in venue.director(identity).tables))
    (table,) = venue.director(identity).tables
    assert isinstance(table.room, Room)
    table.room.tell(CallOff(also_running=True, by_host="fire alarm"))
    state = await venue.over(identity)
    aborted = [entry.event for entry in state.log if isinstance(entry.event, TableRaceAborted)]
    assert aborted == [TableRaceAborted(1, 1, "the host of the server ended it: fire alarm")]
    assert len(state.crosstable.races[1, 1]) == 1


def starts(venue: Venue) -> dict[tuple[int, int], int]:
    """The moments at which races start from now on, by the server's clock; by number of the shuffle and table."""
    seen: dict[tuple[int, int], int] = {}

    def look(room: Room) -> None:
        summary = room.summary
        if summary.starts_at is not None and summary.spec is not None:
            seen[summary.spec.deal.number, summary.spec.table] = summary.starts_at - summary.ahead_ms

    venue.rooms.on_room_change.append(look)
    return seen


async def test_no_table_is_dealt_before_everybody_of_the_round_is_ready(venue: Venue) -> None:
    early, late = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="absent")
    people = [early[0], late[0], early[1], late[1]]
    seen = starts(venue)
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=300), *people)
    await trio.sleep(60)
    assert {table.room.summary.phase for table in venue.director(identity).tables} == {"waiting"}
    assert not any(person.all(Dealt) for person in people)
    for person in late:
        person.habit = "quick"
        person.post_again(Called)
    await venue.until(lambda: all(person.all(Started) for person in people))
    await venue.over(identity)
    assert (len(seen), len(set(seen.values()))) == (2, 1)


async def test_when_the_time_to_come_is_over_the_others_start_at_one_moment(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", "Eve", "Fay")
    people[0].habit = "absent"
    seen = starts(venue)
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=40), *people)
    began = trio.current_time()
    await trio.sleep(39)
    assert not any(person.all(Dealt) for person in people)
    state = await venue.over(identity)
    assert 40 <= trio.current_time() - began < 50
    assert sum(races[0].forfeit for races in state.crosstable.races.values()) == 1
    assert (len(seen), len(set(seen.values()))) == (2, 1)


async def test_a_race_for_fun_holds_up_neither_the_start_nor_a_drawn_match(venue: Venue) -> None:
    idle, (ben, cleo) = await venue.person("Ann", "absent"), await venue.people("Ben", "Cleo")  # who stop at once: a draw
    _, identity = await started(venue, replace(FAST, format="elimination", time_limit_s=3600, no_show_s=300), idle, ben, cleo)
    bye = next(pairing for pairing in venue.state(identity).crosstable.rounds[0].pairings if not pairing.counted)
    assert bye.entrants == (idle.player.id,)
    began = trio.current_time()
    await venue.until(lambda: len(venue.state(identity).crosstable.races.get((1, 1), ())) == 1)
    # They come late, and play slowly.
    idle.habit = "waits"
    idle.post_again(Called)
    await venue.until(lambda: len(venue.state(identity).crosstable.races[1, 1]) == 2)
    assert trio.current_time() - began < 60


async def test_drawn_matches_are_run_again_together(venue: Venue) -> None:
    quick, slow = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="waits")
    seen = starts(venue)
    _, identity = await started(venue, replace(FAST, format="elimination", replays=1), quick[0], slow[0], slow[1], quick[1])
    await venue.until(lambda: len(venue.state(identity).crosstable.races) == 1)
    await trio.sleep(60)
    assert len(venue.director(identity).tables.by_table) == 1, "the other table still races on the first shuffle"
    for person in slow:
        person.habit = "quick"
        person.post_again(Started)
    await venue.until(lambda: venue.state(identity).round == 2)
    again = [moment for (shuffle, _), moment in seen.items() if shuffle == 2]
    assert (len(again), len(set(again))) == (2, 1)


async def test_a_player_who_leaves_a_table_that_waits_for_others_forfeits_and_holds_nobody(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="waits")
    people[3].habit = "absent"
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=200, grace_s=10), *people)
    await trio.sleep(5)
    await people[0].lose_connection()
    people[3].habit = "waits"
    people[3].post_again(Called)
    await trio.sleep(150)
    assert not any(person.all(Dealt) for person in people), "all were ready, but one is away"
    await venue.until(lambda: bool(people[1].all(Started)) or bool(people[2].all(Started)))
    (result,) = venue.state(identity).crosstable.races.values()
    assert result[0].forfeit


async def test_a_player_who_is_ready_and_drops_just_before_the_time_is_up_holds_nobody(venue: Venue) -> None:
    ann, ben = await venue.person("Ann", "waits"), await venue.person("Ben", "absent")
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=30, grace_s=20), ann, ben)
    await trio.sleep(15)
    await ann.lose_connection()
    await trio.sleep(5)
    ben.habit = "waits"
    ben.post_again(Called)
    await trio.sleep(12)
    assert ben.all(Dealt), "the time to come is over, and all are ready"
    state = await venue.over(identity)
    assert state.race_ids[1, 1], "it was raced, to the end of Ann's grace"
    result = state.crosstable.result(1, 1)
    assert result is not None
    assert result.verdict == ("second" if state.crosstable.rounds[0].pairings[0].first == ann.player.id else "first")


async def test_whoever_loses_their_seat_after_the_time_was_up_forfeits_at_once(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="waits")
    people[3].habit = "absent"
    with monkeypatch.context() as crowded:
        crowded.setattr(venue.rooms, "_max_rooms", 1)
        _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=100, grace_s=20), *people)
        await trio.sleep(60)
    # The second table has its room a minute after the first: there the time is up a minute later, too.
    await trio.sleep(30)
    await people[0].lose_connection()
    await trio.sleep(15)
    assert not venue.state(identity).crosstable.races, "Ann was ready, and may come back"
    await trio.sleep(10)
    assert list(venue.state(identity).crosstable.races) == [(1, 1)]
    await venue.over(identity)


class Onlooker(SpectatorConnection):
    """Watches, and hears nothing."""

    round_trip_ms = None

    def post(self, outgoing: object) -> None: ...

    def post_all(self, bundle: object) -> None: ...

    def shut(self, code: object, reason: str) -> None: ...


async def test_while_somebody_has_to_play_the_deal_players_and_watchers_have_phrases_alone(venue: Venue) -> None:
    quick, slow = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="waits")
    people = [quick[0], slow[0], quick[1], slow[1]]
    slow[1].habit = "absent"
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=600), *people)
    spectators = SpectatorRegistry(venue.nursery, venue.rooms, venue.clock, over=no_room)
    line = Onlooker()

    async def try_to_talk(free: list[str]) -> None:
        """Ann in her room, and somebody who watches it. free: what comes of their own words."""
        seen = len(quick[0].codes)
        quick[0].say(Say(text="the first stock card is the queen of hearts"))
        quick[0].say(Say(phrase="good-luck"))
        await wait_all_tasks_blocked()
        assert quick[0].codes[seen:] == free
        if free:
            with pytest.raises(Refusal) as caught:
                spectators.say(line, "the queen", free=True)
            assert caught.value.code is ErrorCode.PHRASES_ONLY
        else:
            spectators.say(line, "the queen", free=True)
        spectators.say(line, "Good luck!", free=False)

    await trio.sleep(5)
    spectators.watch(line, PlayerName("w", "Watcher"), quick[0].last(Called).code)
    await try_to_talk(["room/phrases-only"])
    slow[1].habit = "waits"
    slow[1].post_again(Called)
    await venue.until(lambda: len(venue.state(identity).crosstable.races) == 1)
    await try_to_talk(["room/phrases-only"])
    for person in slow:
        person.habit = "quick"
        person.post_again(Started)
    await venue.over(identity)
    await trio.sleep(1)
    await try_to_talk([])
