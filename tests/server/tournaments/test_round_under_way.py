"""While a round is played: who does not come, withdraws or is removed, what the director decides, pauses, corrections and outages."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from protocol.errors import ErrorCode
from protocol.room_events import Started
from protocol.server_messages import Error
from protocol.tournament_messages import (
    Called,
    CheckIn,
    CorrectResult,
    CreateTournament,
    EndTournament,
    EnterTournament,
    LeaveTournament,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
    Tournament,
)
from protocol.tournaments import TableResult
from server.rooms.requests import CallOff
from server.store.availability import Outage
from server.store.errors import StoreBusy
from server.tournaments.commands import TournamentCommand
from server.tournaments.table_rooms import RETRY_S
from tests.server.tournaments.venue import FAST, Person, Venue, kinds, records, refused, started


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
    (opponent,) = {pairing.first, pairing.second} - {ann.player.id}
    assert [(entry.author, entry.text, entry.reason) for entry in document.log if entry.kind == "withdraw"] == [
        ("Ann", f"Ann withdraws; table {pairing.table} goes to {state.people[opponent or ''].name}.", ""),
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


async def test_races_that_run_at_a_pause_go_on_to_their_end_and_count(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="waits")
    director, identity = await started(venue, replace(FAST, rounds=2), *people)
    await venue.until(lambda: all(person.all(Started) for person in people))
    await director.do(PauseTournament(id=identity))
    await trio.sleep(60)
    assert [room.core.race.phase for room in venue.rooms] == ["racing", "racing"]
    for person in people:
        person.habit = "quick"
        person.post_again(Started)
    await venue.until(lambda: len(venue.state(identity).crosstable.races) == 2)
    await trio.sleep(60)
    state = venue.state(identity)
    assert (state.phase, state.round, len(records(venue, identity, 1))) == ("paused", 1, 2)
    await director.ask(PauseTournament(id=identity, pause=False))
    state = await venue.over(identity)
    assert (state.round, len(records(venue, identity, 2))) == (2, 2)


async def test_a_pause_starts_nothing_and_nobody_is_missed_in_it(venue: Venue) -> None:
    quick, late = await venue.people("Ann", "Ben"), await venue.people("Cleo", "Dan", habit="absent")
    people = [quick[0], late[0], quick[1], late[1]]
    director, identity = await started(venue, replace(FAST, rounds=2, no_show_s=60), *people)
    await director.do(PauseTournament(id=identity))
    assert refused(await director.ask(PauseTournament(id=identity))) == "tournament/not-now"
    await trio.sleep(500)
    state = venue.state(identity)
    assert (state.phase, state.round) == ("paused", 1)
    assert state.crosstable.races == {}
    assert [room for room in venue.rooms if room.core.race.phase == "waiting"] == []
    for person in late:
        person.habit = "quick"
    await director.ask(PauseTournament(id=identity, pause=False))
    state = await venue.over(identity)
    assert state.round == 2
    assert all(not result.forfeit for races in state.crosstable.races.values() for result in races)
    assert len({record.deal.seed for record in records(venue, identity, 1)}) == 1


async def test_a_table_whose_room_was_ended_has_another_one_but_not_at_once(venue: Venue) -> None:
    people = await venue.people("Ann", "Ben", habit="absent")
    await started(venue, replace(FAST, rounds=1, no_show_s=600), *people)
    await venue.until(lambda: len(venue.rooms) == 1)
    (first,) = venue.rooms
    first.tell(CallOff(by_host="enough"))
    await trio.sleep(RETRY_S - 0.5)
    assert len(venue.rooms) == 0, "what closes every room must not have the server open them without end"
    await trio.sleep(1)
    (second,) = venue.rooms
    assert second.code != first.code
    assert all(person.last(Called).code == second.code for person in people)


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
    assert [row.points for row in venue.state(identity).crosstable.standings] == [0.5, 0.5]
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
    identity = await director.make(replace(FAST, check_in_s=600, rounds=2), ann, ben, cleo)
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
