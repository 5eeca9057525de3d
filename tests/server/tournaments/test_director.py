"""Tournaments from registration to the end: what the director does by itself, and what it is told to do."""

from __future__ import annotations

from hashlib import sha256

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from protocol.client_messages import Say
from protocol.errors import ErrorCode, Refusal
from protocol.fairness import derive_seed, shared_nonce
from protocol.record import Record, check_deal
from protocol.room_events import Dealt, Ended, Result, Started
from protocol.server_messages import Error
from protocol.tournament_messages import (
    AddBot,
    Called,
    CheckIn,
    CheckInDue,
    CorrectResult,
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
    Tournament,
    Tournaments,
)
from protocol.tournaments import TableResult, TournamentListing, TournamentOptions
from server.race.audit import audit
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.requests import CallOff
from server.spectate.spectator import SpectatorConnection
from server.spectate.spectator_registry import SpectatorRegistry
from server.store.availability import Outage
from server.store.errors import StoreBusy, StoreError
from server.store.port import NEVER_MS
from server.tournaments import commands
from server.tournaments.commands import IDLE_DAYS, OWN_DECISIONS, UNUSED_S, TournamentCommand
from server.tournaments.events import CheckInExtended, TableRaceAborted, Withdrawn
from server.tournaments.making import LATELY_OF_PLACE, LATELY_S, MOST_OF_ONE, MOST_OF_PLACE
from tests.server.spectate.onlookers import no_room
from tests.server.tournaments.fields import byes_of
from tests.server.tournaments.venue import FAST, Person, Venue

IDLE_S = IDLE_DAYS * 24 * 3600

FORMATS = {
    "swiss": (replace(FAST, fill=8, rounds=3), 3),
    "swiss of an odd field": (replace(FAST, fill=5), 3),
    "round-robin": (replace(FAST, format="round-robin", fill=5), 5),
    "double round-robin": (replace(FAST, format="round-robin", fill=4, double=True), 6),
    "knock-out": (replace(FAST, format="elimination", fill=6), 3),
    "session": (replace(FAST, format="session", fill=3, rounds=2), 2),
}


async def started(venue: Venue, options: TournamentOptions, *people: Person, director: Person | None = None) -> tuple[Person, str]:
    """A tournament that these have entered, running. Its director need not play."""
    director = director or await venue.person("Director")
    identity = await director.make(options, *people)
    await director.do(StartTournament(id=identity))
    return director, identity


def kinds(venue: Venue, identity: str) -> list[str]:
    """Of the log."""
    return [type(chosen.event).__name__ for chosen in venue.state(identity).log]


def records(venue: Venue, identity: str, number: int) -> list[Record]:
    """Of a round, as kept, each checked as anybody could."""
    found = [venue.store.record(run.race) for run in venue.store.runs("round", f"{identity}/{number}")]
    return [record for record in found if record is not None]


def refused(answer: Decided | Error) -> str:
    assert isinstance(answer, Error), answer
    return answer.code


# ---- to the end


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
    assert [row.place for row in state.crosstable.standings()] == [1, 2, 3, 4]
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
    assert [(row.points, row.home) for row in state.crosstable.standings()] == [(0.0, 12), (0.0, 12)]


# ---- fair and secret


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


# ---- one start for the whole round


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


# ---- registration and check-in


async def test_whoever_does_not_check_in_in_time_does_not_play_and_bots_take_the_seats(venue: Venue) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    director = await venue.person("Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60, fill=4), ann, ben, cleo)
    assert refused(await ann.ask(CheckIn(id=identity, nonce="ab" * 16))) == "tournament/not-now"
    await director.ask(StartTournament(id=identity))
    assert venue.state(identity).phase == "check-in"
    await ann.check_in(identity)
    await ben.check_in(identity)
    await trio.sleep(59)
    assert venue.state(identity).phase == "check-in"
    state = await venue.over(identity)
    assert [entrant for entrant in state.people if not state.crosstable.plays(entrant)] == [cleo.player.id]
    assert state.crosstable.active[-2:] == ("bot:random:1", "bot:random:2")
    assert not cleo.all(Called)


async def test_bots_have_the_names_at_the_table_and_in_the_record_under_which_they_have_entered(venue: Venue) -> None:
    (ann,) = await venue.people("Ann")
    identity = await ann.make(replace(FAST, rounds=1, fill=4), ann)
    await ann.ask(StartTournament(id=identity))
    await venue.over(identity)
    seated = {(seat.name, seat.bot) for record in records(venue, identity, 1) for seat in record.seats}
    assert seated == {("Ann", None), *((f"random {number}", "random") for number in (1, 2, 3))}


async def test_no_bot_takes_the_name_of_an_entrant(venue: Venue) -> None:
    ann, player = await venue.people("Ann", "Random 2")
    identity = await ann.make(replace(FAST, rounds=1, fill=5), ann, player)
    await ann.ask(StartTournament(id=identity))
    state = await venue.over(identity)
    assert [person.name for person in state.people.values()] == ["Ann", "Random 2", "random 1", "random 3", "random 4"]


async def test_when_all_are_here_nobody_waits_for_the_time(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    identity = await ann.make(replace(FAST, rounds=1, check_in_s=3600), ann, ben)
    await ann.ask(StartTournament(id=identity))
    began = trio.current_time()
    await ann.check_in(identity)
    await ben.check_in(identity)
    await venue.over(identity)
    assert trio.current_time() - began < 60


@pytest.mark.parametrize("is_removed", [False, True], ids=["leaves", "is removed"])
async def test_nobody_waits_for_the_time_once_the_last_who_is_not_here_has_gone(venue: Venue, is_removed: bool) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    identity = await ann.make(replace(FAST, rounds=1, check_in_s=3600), ann, ben, cleo)
    await ann.ask(StartTournament(id=identity))
    await ann.check_in(identity)
    await ben.check_in(identity)
    began = trio.current_time()
    if is_removed:
        await ann.ask(RemoveEntrant(id=identity, entrant=cleo.player.id))
    else:
        await cleo.ask(LeaveTournament(id=identity))
    state = await venue.over(identity)
    assert trio.current_time() - began < 60
    assert state.crosstable.active == (ann.player.id, ben.player.id)


async def test_every_connected_entrant_hears_of_a_check_in_that_waits_for_them_and_when_it_no_longer_does(venue: Venue) -> None:
    ann, ben, cleo, dan, director = await venue.people("Ann", "Ben", "Cleo", "Dan", "Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60), ann, ben, cleo, dan)
    await dan.lose_connection()
    await director.do(StartTournament(id=identity))
    state = venue.state(identity)
    due = CheckInDue(id=identity, name=state.options.name, commitment=state.commitment.hex(), left_ms=60_000)
    assert [person.all(CheckInDue) for person in (ann, ben, cleo, director)] == [[due], [due], [due], []]
    await trio.sleep(20)
    await ann.check_in(identity)
    await ben.do(LeaveTournament(id=identity))
    await dan.come_to(venue)
    await venue.until(lambda: venue.state(identity).phase != "check-in")
    over = replace(due, left_ms=None)
    assert [person.all(CheckInDue) for person in (ann, ben, cleo)] == [[due, over]] * 3
    first, last = dan.all(CheckInDue)
    assert first.left_ms == pytest.approx(40_000, abs=500)
    assert last == over


async def test_a_check_in_that_is_extended_is_told_to_those_it_waits_for_and_ends_later(venue: Venue) -> None:
    ann, ben, director = await venue.people("Ann", "Ben", "Director")
    identity = await director.make(replace(FAST, check_in_s=60), ann, ben)
    assert refused(await director.ask(ExtendCheckIn(id=identity, more_s=60))) == "tournament/not-now"
    await director.do(StartTournament(id=identity))
    director.follow(identity)
    await ann.check_in(identity)
    await trio.sleep(50)
    await director.do(ExtendCheckIn(id=identity, more_s=90))
    assert [message.left_ms for message in ann.all(CheckInDue)] == [60_000, None]
    assert ben.last(CheckInDue).left_ms == pytest.approx(100_000, abs=500)
    await trio.sleep(1)
    told = director.last(Tournament)
    assert (told.options.check_in_s, told.log[-1].text) == (150, "The check-in is extended by 90 seconds.")
    assert told.phase_ms == pytest.approx(99_500, abs=600)
    await trio.sleep(95)
    assert venue.state(identity).phase == "check-in"
    await venue.over(identity)
    assert trio.current_time() == pytest.approx(150, abs=1)


async def test_a_check_in_takes_an_hour_at_most_however_often_it_is_extended(venue: Venue) -> None:
    ann, director = await venue.people("Ann", "Director")
    identity = await director.make(replace(FAST, check_in_s=3000), ann)
    await director.do(StartTournament(id=identity))
    answer = await director.ask(ExtendCheckIn(id=identity, more_s=601))
    assert isinstance(answer, Error)
    assert (answer.code, answer.path) == ("tournament/not-now", "$.more_s")
    assert "600 more seconds" in answer.message
    await director.do(ExtendCheckIn(id=identity, more_s=600))
    assert venue.state(identity).log[-1].event == CheckInExtended(600)


async def test_a_check_in_of_a_tournament_that_is_removed_waits_for_nobody(venue: Venue) -> None:
    ann, director = await venue.people("Ann", "Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60), ann)
    await director.do(StartTournament(id=identity))
    await venue.tournaments.remove(identity, "")
    assert [message.left_ms for message in ann.all(CheckInDue)] == [60_000, None]


async def test_the_check_in_goes_on_where_those_who_are_left_are_too_few_or_bots(venue: Venue) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    few, bots = [await ann.make(replace(FAST, rounds=1, check_in_s=60, fill=fill)) for fill in (0, 2)]
    for identity in (few, bots):
        for person in (ben, cleo):
            await person.enter(identity)
        await ann.ask(StartTournament(id=identity))
    await ben.check_in(few)
    await cleo.ask(LeaveTournament(id=few))
    for person in (ben, cleo):
        await person.ask(LeaveTournament(id=bots))
    await trio.sleep(10)
    assert [venue.state(identity).phase for identity in (few, bots)] == ["check-in"] * 2
    # Time enough to come after all.
    for identity in (few, bots):
        await cleo.enter(identity)
        await cleo.check_in(identity)
    assert [(await venue.over(identity)).phase for identity in (few, bots)] == ["over"] * 2


async def test_too_few_end_it_and_it_cannot_be_started_with_nobody(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    identity = await ann.make(replace(FAST, check_in_s=10))
    assert refused(await ann.ask(StartTournament(id=identity))) == "tournament/not-now"
    await ann.enter(identity)
    await ben.enter(identity)
    await ann.ask(StartTournament(id=identity))
    await ann.check_in(identity)
    state = await venue.over(identity)
    assert (state.phase, state.round) == ("ended", 0)


async def test_entering_asks_for_the_code_and_a_free_place(venue: Venue) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    identity = await ann.make(replace(FAST, places=2), code="sesame")
    assert refused(await ben.ask(EnterTournament(id=identity))) == "tournament/wrong-code"
    assert refused(await ben.ask(EnterTournament(id=identity, code="Sesame"))) == "tournament/wrong-code"
    for person in (ann, ben):
        await person.do(EnterTournament(id=identity.lower(), code="sesame"))
    assert refused(await cleo.ask(EnterTournament(id=identity, code="sesame"))) == "tournament/full"
    await ben.ask(LeaveTournament(id=identity))
    await cleo.do(EnterTournament(id=identity, code="sesame"))
    assert refused(await ben.ask(EnterTournament(id=identity))) == "tournament/full"
    ben.follow(identity)
    await wait_all_tasks_blocked()
    assert "sesame" not in repr(ben.heard)


async def test_nobody_enters_under_the_name_of_an_entrant(venue: Venue) -> None:
    ann, other, ben = await venue.people("Ann", "Someone", "Ben")
    identity = await ben.make(FAST, ann)
    # Ann has taken another name since, and so hers was free.
    other.player = PlayerName(other.player.id, "ann")
    assert refused(await other.ask(EnterTournament(id=identity))) == "tournament/refused"
    await ann.ask(LeaveTournament(id=identity))
    await ann.do(EnterTournament(id=identity))


async def test_a_second_check_in_is_answered_and_not_kept(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    identity = await ann.make(replace(FAST, rounds=1, check_in_s=60), ann, ben)
    await ann.ask(StartTournament(id=identity))
    await ben.check_in(identity)
    kept = venue.log(identity)
    for nonce in ("ab" * 16, "cd" * 16):
        answer = await ben.ask(CheckIn(id=identity, nonce=nonce))
        assert isinstance(answer, Decided)
        assert answer.number == len(kept)
    assert venue.log(identity) == kept
    await ann.check_in(identity)
    await venue.over(identity)
    assert refused(await ben.ask(CheckIn(id=identity, nonce="ab" * 16))) == "tournament/not-now"


async def test_whoever_comes_and_goes_again_and_again_keeps_nobody_else_out(venue: Venue) -> None:
    ann, ben, cleo, director = await venue.people("Ann", "Ben", "Cleo", "Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60), ann, ben)
    for _ in range(OWN_DECISIONS // 2):
        await cleo.enter(identity)
        await cleo.do(LeaveTournament(id=identity))
    assert refused(await cleo.ask(EnterTournament(id=identity))) == "tournament/not-now"
    await director.do(RemoveEntrant(id=identity, entrant=cleo.player.id, remove=False))
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben):
        await person.check_in(identity)
    assert (await venue.over(identity)).phase == "over"


async def test_many_who_come_and_go_keep_nobody_who_has_entered_from_checking_in(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 12)
    ann, ben, cleo, dan, director = await venue.people("Ann", "Ben", "Cleo", "Dan", "Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60), ann, ben)
    for _ in range(5):
        await cleo.enter(identity)
        await cleo.do(LeaveTournament(id=identity))
    for person in (cleo, dan):
        assert refused(await person.ask(EnterTournament(id=identity))) == "tournament/not-now"
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben):
        await person.check_in(identity)
    assert (await venue.over(identity)).phase == "over"


async def test_what_follows_by_itself_counts_as_nobodys_coming_and_going(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS", 4)
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 8)
    ann, ben, director = await venue.people("Ann", "Ben", "Director")
    identity = await director.make(replace(FAST, rounds=2, check_in_s=60, fill=8, pause_s=None), ann, ben)
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben):
        await person.check_in(identity)
    await venue.until(lambda: venue.state(identity).phase == "between")
    assert [entry.author for entry in venue.state(identity).log].count(ben.player.id) > 8, "the bots came when Ben had checked in"
    await ben.do(LeaveTournament(id=identity))


async def test_only_the_director_directs(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    identity = await ann.make(FAST)
    for message in (
        StartTournament(id=identity),
        ExtendCheckIn(id=identity, more_s=60),
        PauseTournament(id=identity),
        PairRound(id=identity, round=1),
        CorrectResult(id=identity, round=1, table=1, result=None),
        RemoveEntrant(id=identity, entrant=ann.player.id),
        AddBot(id=identity),
        EndTournament(id=identity),
    ):
        assert refused(await ben.ask(message)) == "tournament/not-the-director"
    assert refused(await ben.ask(EnterTournament(id="NOSUCH"))) == "tournament/no-such-id"
    assert refused(await ben.ask(EnterTournament(id="../etc"))) == "tournament/no-such-id"
    assert kinds(venue, identity) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (replace(FAST, name="\u200b"), "tournament/bad-options"),
        (replace(FAST, rules="bridge"), "room/unknown-rules"),
        (replace(FAST, bot="nobody"), "room/unknown-bot"),
        (replace(FAST, places=4, fill=5), "tournament/bad-options"),
    ],
)
async def test_options_that_make_no_tournament_are_refused(venue: Venue, options: TournamentOptions, code: str) -> None:
    ann = await venue.person("Ann")
    assert refused(await ann.ask(CreateTournament(options=options))) == code


# ---- tournaments that nobody uses


async def test_a_registration_that_nobody_uses_is_called_off_and_a_used_one_waits_for_a_month(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    unused, used = await ann.make(FAST), await ann.make(FAST)
    await ann.enter(unused)
    await ann.ask(AddBot(id=unused))
    await ben.enter(used)
    await trio.sleep(UNUSED_S - 60)
    assert not venue.state(unused).is_closed
    await trio.sleep(120)
    assert venue.state(unused).is_closed
    document = await venue.tournaments.document(unused)
    assert document is not None
    assert (document.log[-1].author, document.log[-1].reason) == ("", "nobody has used it")
    assert not venue.state(used).is_closed
    await trio.sleep(IDLE_S - UNUSED_S - 120)
    assert not venue.state(used).is_closed
    await trio.sleep(120)
    assert venue.state(used).is_closed
    document = await venue.tournaments.document(used)
    assert document is not None
    assert (document.log[-1].author, document.log[-1].reason) == ("", "nothing has happened in it for 30 days")


async def test_one_that_waits_for_its_director_between_rounds_is_called_off_after_a_month(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    _, identity = await started(venue, replace(FAST, rounds=2, pause_s=None), ann, ben)
    await venue.until(lambda: venue.state(identity).phase == "between")
    await trio.sleep(IDLE_S - 60)
    assert venue.state(identity).phase == "between"
    await trio.sleep(120)
    assert venue.state(identity).phase == "ended"


async def test_so_many_are_made_from_one_address_whoever_asks(venue: Venue) -> None:
    people = [await venue.person(f"Squatter {number}") for number in range(3)]
    for person in people:
        person.place = "2001:db8::/64"
    made = [await person.make(FAST) for person in people[:2] for _ in range(MOST_OF_ONE)]
    assert len(made) == MOST_OF_PLACE
    assert refused(await people[2].ask(CreateTournament(options=FAST))) == "tournament/too-many"
    other = await venue.person("Other")
    other.place = "2001:db8:1::/64"
    late = await other.make(FAST)
    # Of each director the latest stands before anybody's second.
    assert [told.director for told in venue.tournaments.listings()[:3]] == ["Other", "Squatter 1", "Squatter 0"]
    assert venue.tournaments.listings()[0].id == late
    await people[0].ask(EndTournament(id=made[0]))
    await people[2].make(FAST)


async def test_the_list_is_made_once_for_all_who_ask_until_it_changes(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    made: list[None] = []
    listings = venue.tournaments.listings

    def counted() -> tuple[TournamentListing, ...]:
        made.append(None)
        return listings()

    monkeypatch.setattr(venue.tournaments, "listings", counted)
    for _ in range(20):
        venue.tournaments.subscriptions.follow_list(ann)
    assert len(made) == 1
    identity = await ben.make(FAST)
    venue.tournaments.subscriptions.follow_list(ann)
    assert [told.id for told in ann.last(Tournaments).tournaments] == [identity]


async def test_no_address_has_more_by_asking_for_all_of_them_at_once(venue: Venue) -> None:
    people = [await venue.person(f"Squatter {number}") for number in range(2 * MOST_OF_PLACE)]
    answers = []

    async def ask(person: Person) -> None:
        person.place = "2001:db8::/64"
        answers.append(await person.ask(CreateTournament(options=FAST)))

    async with trio.open_nursery() as nursery:
        for person in people:
            nursery.start_soon(ask, person)
    assert [isinstance(answer, Decided) for answer in answers].count(True) == MOST_OF_PLACE
    assert {refused(answer) for answer in answers if not isinstance(answer, Decided)} == {"tournament/too-many"}


async def test_no_address_takes_from_all_others_what_may_be_made_by_ending_its_own(venue: Venue) -> None:
    squatter = await venue.person("Squatter")
    squatter.place = "2001:db8::/64"
    for _ in range(LATELY_OF_PLACE):
        await squatter.ask(EndTournament(id=await squatter.make(FAST)))
    assert refused(await squatter.ask(CreateTournament(options=FAST))) == "tournament/too-many"
    other = await venue.person("Other")
    other.place = "2001:db8:1::/64"
    await other.make(FAST)
    await trio.sleep(LATELY_S + 1)
    await squatter.make(FAST)


# ---- while it is played


@pytest.mark.parametrize("absent", [("Ben",), ("Ann", "Ben")], ids=["one", "both"])
async def test_whoever_does_not_come_to_their_table_forfeits(venue: Venue, absent: tuple[str, ...]) -> None:
    people = [await venue.person(name, "absent" if name in absent else "quick") for name in ("Ann", "Ben")]
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=30), *people)
    began = trio.current_time()
    state = await venue.over(identity)
    assert 29 < trio.current_time() - began < 40
    result = state.crosstable.result(1, 1)
    assert result is not None
    assert (result.verdict, result.forfeit) == ("first" if len(absent) == 1 else "neither", True)
    await trio.sleep(1)
    assert [room for room in venue.rooms if room.spec is not None and room.core.race.phase == "waiting"] == []


async def test_whoever_withdraws_forfeits_their_table_and_may_come_back_to_a_swiss(venue: Venue) -> None:
    ann = await venue.person("Ann", "absent")
    ben, cleo, dan = await venue.people("Ben", "Cleo", "Dan")
    director, identity = await started(venue, replace(FAST, rounds=3, pause_s=None, no_show_s=3600), ann, ben, cleo, dan)
    await ann.ask(LeaveTournament(id=identity))
    await venue.until(lambda: venue.state(identity).phase == "between")
    pairing = venue.state(identity).crosstable.rounds[0].of(ann.player.id)
    assert pairing is not None
    result = venue.state(identity).crosstable.result(1, pairing.table)
    assert result is not None
    assert (result.verdict, result.forfeit) == ("second" if pairing.first == ann.player.id else "first", True)
    await director.ask(PairRound(id=identity, round=2))
    assert venue.state(identity).crosstable.rounds[1].of(ann.player.id) is None
    await venue.until(lambda: venue.state(identity).phase == "between")
    ann.habit = "quick"
    await ann.enter(identity)
    await director.ask(RemoveEntrant(id=identity, entrant=ben.player.id, reason="\x1b[31mgone home"))
    await director.ask(PairRound(id=identity, round=3))
    state = await venue.over(identity)
    assert state.crosstable.rounds[2].of(ann.player.id) is not None
    assert state.crosstable.rounds[2].of(ben.player.id) is None
    document = await venue.tournaments.document(identity)
    assert document is not None
    assert [(entry.author, entry.text, entry.reason) for entry in document.log if entry.kind == "withdraw"] == [
        ("Ann", "Ann is out.", ""),
        ("Director", "Ben is out.", "gone home"),
    ]


async def test_nobody_ends_a_rated_race_that_has_begun_not_even_its_director(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben", habit="waits")
    director, identity = await started(venue, replace(FAST, rounds=1, rated=True), ann, ben)
    ends: list[tuple[Person, TournamentCommand]] = [
        (ann, LeaveTournament(id=identity)),
        (director, RemoveEntrant(id=identity, entrant=ben.player.id)),
        (director, CorrectResult(id=identity, round=1, table=1, result=TableResult(verdict="draw"))),
        (director, EndTournament(id=identity)),
    ]
    await venue.until(lambda: bool(ann.all(Started)))
    for person, message in ends:
        assert refused(await person.ask(message)) == "tournament/not-now"
    # It can still be given up, and then ends as any other.
    ann.habit = "resigns"
    ann.post_again(Started)
    await venue.until(lambda: venue.state(identity).is_closed)
    (record,) = records(venue, identity, 1)
    assert [seat.state for seat in record.seats] == ["forfeited", "stopped"]


async def test_a_pause_lets_races_end_and_starts_nothing(venue: Venue) -> None:
    quick, late = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="absent")
    people = [quick[0], late[0], quick[1], late[1]]
    director, identity = await started(venue, replace(FAST, rounds=2, no_show_s=60), *people)
    await director.do(PauseTournament(id=identity))
    assert refused(await director.ask(PauseTournament(id=identity))) == "tournament/not-now"
    await trio.sleep(500)
    state = venue.state(identity)
    assert (state.phase, state.round) == ("paused", 1)
    assert all(not result.forfeit for races in state.crosstable.races.values() for result in races), "nobody is missed while it is paused"
    assert [room for room in venue.rooms if room.core.race.phase == "waiting"] == []
    for person in late:
        person.habit = "quick"
    await director.ask(PauseTournament(id=identity, pause=False))
    state = await venue.over(identity)
    assert state.round == 2
    assert all(not result.forfeit for races in state.crosstable.races.values() for result in races)
    assert len({record.deal.seed for record in records(venue, identity, 1)}) == 1


async def test_a_result_is_corrected_with_a_reason_as_long_as_nothing_rests_on_it(venue: Venue) -> None:
    ann, ben = await venue.person("Ann"), await venue.person("Ben", "resigns")
    director, identity = await started(venue, replace(FAST, rounds=2, pause_s=None), ann, ben)
    await venue.until(lambda: venue.state(identity).phase == "between")
    before = venue.state(identity).crosstable.result(1, 1)
    assert before is not None
    assert before.verdict == "first"
    drawn = TableResult(verdict="draw", first_home=4, second_home=4)
    correction = CorrectResult(id=identity, round=1, table=1, result=drawn, reason="a dog on the keys")
    await director.do(correction)
    assert [row.points for row in venue.state(identity).crosstable.standings()] == [0.5, 0.5]
    # The shuffle is told by now: nothing can be raced on it again.
    assert refused(await director.ask(replace(correction, result=None))) == "tournament/refused"
    assert refused(await director.ask(replace(correction, table=9))) == "tournament/refused"
    assert refused(await director.ask(replace(correction, result=TableResult(verdict="neither")))) == "tournament/refused"
    await director.ask(PairRound(id=identity, round=2))
    await venue.over(identity)
    await director.do(replace(correction, round=2))  # also when it is over
    assert venue.state(identity).log[-1].event.reason == "a dog on the keys"  # type: ignore[union-attr]


async def test_a_struck_result_is_raced_again_on_another_number_of_the_shuffle(venue: Venue) -> None:
    quick, slow = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="waits")
    people = [quick[0], slow[0], quick[1], slow[1]]
    director, identity = await started(venue, replace(FAST, rounds=1), *people)
    await venue.until(lambda: len(venue.state(identity).crosstable.races) == 1)
    ((_, table),) = venue.state(identity).crosstable.races
    await director.do(CorrectResult(id=identity, round=1, table=table, result=None))
    await trio.sleep(60)
    runs = [run for run in venue.store.runs("round", f"{identity}/1") if run.spec.table == table]
    assert [run.spec.deal.number for run in runs] == [1], "while another table is racing nothing is dealt"
    other = 3 - table
    win = TableResult(verdict="second", second_home=30)
    await director.do(CorrectResult(id=identity, round=1, table=other, result=win, reason="agreed"))
    await venue.over(identity)
    runs = [run for run in venue.store.runs("round", f"{identity}/1") if run.spec.table == table]
    assert [run.spec.deal.number for run in runs] == [1, 2]
    assert len({record.deal.seed for record in records(venue, identity, 1)}) == 2


async def test_of_a_table_that_waits_it_is_told_who_is_ready(venue: Venue) -> None:
    (ann,), (ben,) = await venue.people("Ann"), await venue.people("Ben", habit="absent")
    _, identity = await started(venue, replace(FAST, rounds=1, no_show_s=600), ann, ben)
    await trio.sleep(5)
    (table,) = venue.director(identity).live(venue.clock.now_ms()).values()
    assert {side.name: (side.present, side.ready) for side in table.sides} == {"Ann": (True, True), "Ben": (False, False)}


async def test_the_director_breaks_it_off(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben", habit="absent")
    director, identity = await started(venue, replace(FAST, rounds=3), ann, ben)
    await director.do(EndTournament(id=identity, reason="rain"))
    assert venue.state(identity).phase == "ended"
    assert refused(await director.ask(PairRound(id=identity, round=2))) == "tournament/not-now"
    assert refused(await ann.ask(EnterTournament(id=identity))) in ("tournament/not-now", "tournament/refused")
    await trio.sleep(1)
    assert len(venue.rooms) == 0
    assert [made.tournament for made in venue.store.tournaments(closed=True, limit=5)] == [identity]


async def test_nobody_else_gets_a_seat_at_a_table(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben", habit="absent")
    stranger = await venue.person("Mallory", "absent")
    _, identity = await started(venue, replace(FAST, rounds=1), ann, ben)
    await wait_all_tasks_blocked()
    stranger.join(ann.last(Called).code)
    await wait_all_tasks_blocked()
    assert stranger.codes == ["room/not-invited"]
    await venue.over(identity)


async def test_whoever_comes_back_is_called_again(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben", habit="absent")
    _, identity = await started(venue, replace(FAST, rounds=1), ann, ben)
    await trio.sleep(10)
    venue.tournaments.greet(ann.player.id, ann)
    await wait_all_tasks_blocked()
    first, second = ann.all(Called)
    assert first.code == second.code
    assert first.until_ms == 30_000
    assert second.until_ms is not None
    assert 19_900 <= second.until_ms <= 20_000
    await venue.over(identity)
    venue.tournaments.greet(ann.player.id, ann)
    await wait_all_tasks_blocked()
    assert len(ann.all(Called)) == 2


async def test_nobody_races_on_when_the_round_is_over_and_its_secret_may_be_told(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben", habit="waits")
    _, identity = await started(venue, replace(FAST, rounds=1), ann, ben)
    await venue.until(lambda: all(room.core.race.phase == "racing" for room in venue.rooms))
    (room,) = venue.rooms
    await ann.ask(LeaveTournament(id=identity))
    await venue.over(identity)
    await venue.until(lambda: room.is_closed)
    assert room.core.race.record is None
    (run,) = venue.store.runs("round", f"{identity}/1")
    assert run.phase == "aborted"
    document = await venue.tournaments.document(identity)
    assert document is not None
    assert document.rounds[0].secret is not None


async def test_a_player_whom_the_director_has_removed_does_not_come_back_by_themselves(venue: Venue) -> None:
    ann, ben = await venue.people("Ann", "Ben")
    director = await venue.person("Director")
    identity = await director.make(replace(FAST, check_in_s=600), ann, ben)
    await director.ask(RemoveEntrant(id=identity, entrant=ann.player.id, reason="has two accounts"))
    assert isinstance(await ann.ask(EnterTournament(id=identity)), Error)
    await director.ask(StartTournament(id=identity))
    assert isinstance(await ann.ask(CheckIn(id=identity, nonce="0f" * 16)), Error)
    assert venue.state(identity).crosstable.active == (ben.player.id,)
    # Who left by themselves may.
    await ben.ask(LeaveTournament(id=identity))
    await ben.do(EnterTournament(id=identity))


async def test_who_had_not_checked_in_when_the_director_paired_may_come_back(venue: Venue) -> None:
    ann, ben, cleo, director = await venue.people("Ann", "Ben", "Cleo", "Director")
    identity = await director.make(replace(FAST, check_in_s=600), ann, ben, cleo)
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben):
        await person.ask(CheckIn(id=identity, nonce="0f" * 16))
    await director.ask(StartTournament(id=identity))
    assert cleo.player.id not in venue.state(identity).crosstable.active
    await cleo.do(EnterTournament(id=identity))
    assert cleo.player.id in venue.state(identity).crosstable.active


async def test_the_director_lets_back_in_whom_they_removed(venue: Venue) -> None:
    ann, ben, cleo = await venue.people("Ann", "Ben", "Cleo")
    director, identity = await started(venue, replace(FAST, rounds=3, pause_s=None), ann, ben, cleo)
    await venue.until(lambda: venue.state(identity).phase == "between")
    await director.ask(RemoveEntrant(id=identity, entrant=ann.player.id))
    assert refused(await ann.ask(EnterTournament(id=identity))) == "tournament/refused"
    assert refused(await ann.ask(RemoveEntrant(id=identity, entrant=ann.player.id, remove=False))) == "tournament/not-the-director"
    back = RemoveEntrant(id=identity, entrant=ann.player.id, remove=False, reason="a mistake")
    await director.do(back)
    assert refused(await director.ask(back)) == "tournament/refused", "they play already"
    await director.ask(PairRound(id=identity, round=2))
    assert venue.state(identity).crosstable.rounds[1].of(ann.player.id) is not None
    # Letting somebody back in ends the ban for good.
    await ann.ask(LeaveTournament(id=identity))
    await ann.do(EnterTournament(id=identity))


@pytest.mark.parametrize("kind", ["swiss", "round-robin"])
async def test_whoever_misses_two_rounds_running_is_withdrawn_and_may_come_back(venue: Venue, kind: str) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan")
    lazy = people[0]
    lazy.habit = "absent"
    options = replace(FAST, format=kind, double=True, rounds=5, pause_s=None)
    director, identity = await started(venue, options, *people)
    for number in (1, 2):
        assert venue.state(identity).crosstable.plays(lazy.player.id)
        await venue.until(lambda: venue.state(identity).phase == "between")
        await director.ask(PairRound(id=identity, round=number + 1))
    assert kinds(venue, identity).count("Withdrawn") == 1
    assert not venue.state(identity).crosstable.plays(lazy.player.id)
    lazy.habit = "quick"
    await lazy.enter(identity)
    await venue.until(lambda: venue.state(identity).phase == "between")
    await director.ask(PairRound(id=identity, round=4))
    await venue.until(lambda: venue.state(identity).phase == "between")
    pairing = venue.state(identity).crosstable.rounds[3].of(lazy.player.id)
    assert pairing is not None
    assert venue.state(identity).race_ids[4, pairing.table], "it was raced"


async def test_one_round_missed_now_and_then_withdraws_nobody(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben")
    director, identity = await started(venue, replace(FAST, rounds=5, pause_s=None), *people)
    for number in range(2, 6):
        await venue.until(lambda: venue.state(identity).phase == "between")
        people[0].habit = "absent" if number % 2 else "quick"
        await director.ask(PairRound(id=identity, round=number))
    await venue.over(identity)
    assert "Withdrawn" not in kinds(venue, identity)


async def test_a_store_that_cannot_be_read_costs_whoever_makes_a_tournament_an_answer_and_nobody_else_anything(venue: Venue) -> None:
    director = await venue.person("Director")
    read = venue.store.tournament

    def busy(tournament: str) -> None:
        raise StoreBusy("busy")

    venue.store.tournament = busy  # type: ignore[method-assign]
    answer = await director.ask(CreateTournament(options=FAST))
    assert isinstance(answer, Error)
    assert answer.code == ErrorCode.NOT_KEPT
    venue.store.tournament = read  # type: ignore[method-assign]
    await director.make(FAST)


async def checking_in(venue: Venue) -> tuple[list[Person], str]:
    """Two entrants who do not act, ten seconds into ten minutes of check-in; the first of them directs and follows the tournament."""
    people = await venue.people("Ann", "Ben", habit="absent")
    identity = await people[0].make(replace(FAST, check_in_s=600), *people)
    people[0].follow(identity)
    await people[0].ask(StartTournament(id=identity))
    await trio.sleep(10)
    return people, identity


async def test_followers_are_told_the_times_anew_after_an_outage(venue: Venue) -> None:
    (ann, _), _ = await checking_in(venue)
    venue.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await trio.sleep(120)
    venue.rooms.outage(None)
    await trio.sleep(2)
    told = len([message for message in ann.heard if isinstance(message, Tournament)])
    assert 586_000 < (ann.last(Tournament).phase_ms or 0) < 591_000
    await trio.sleep(60)
    assert len([message for message in ann.heard if isinstance(message, Tournament)]) == told, "time alone is no news"


async def test_whom_a_table_waits_for_is_called_anew_after_an_outage(venue: Venue) -> None:
    (ann, ben), identity = await checking_in(venue)
    for person in (ann, ben):
        await person.check_in(identity)
    await trio.sleep(10)
    assert [len(person.all(Called)) for person in (ann, ben)] == [1, 1]
    venue.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await trio.sleep(120)
    venue.rooms.outage(None)
    await trio.sleep(2)
    for person in (ann, ben):
        assert len(person.all(Called)) == 2
        assert 15_000 < (person.last(Called).until_ms or 0) <= 20_000, "of thirty seconds"
    await trio.sleep(60)
    assert len(ann.all(Called)) == 2, "who has forfeited is wanted no more"


async def test_followers_are_told_that_time_stands_still_behind_all_that_tells_of_times(venue: Venue) -> None:
    (ann, ben), identity = await checking_in(venue)
    assert ErrorCode.CANNOT_WRITE not in [message.code for message in ann.heard if isinstance(message, Error)]
    venue.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await trio.sleep(120)
    ben.follow(identity)
    await trio.sleep(2)
    for person in (ann, ben):
        told = [message for message in person.heard if isinstance(message, Tournament | Error)][-1]
        assert isinstance(told, Error)
        assert (told.code, told.ref) == (ErrorCode.CANNOT_WRITE, 0)
        assert 589_000 < (person.last(Tournament).phase_ms or 0) <= 600_000
    venue.rooms.outage(None)
    await trio.sleep(2)
    for person in (ann, ben):
        assert isinstance([message for message in person.heard if isinstance(message, Tournament | Error)][-1], Tournament)
