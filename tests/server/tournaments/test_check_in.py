"""Registration and check-in: who may enter, who is there in time, and who is not waited for."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from protocol.server_messages import Error
from protocol.tournament_messages import (
    AskBye,
    Called,
    CheckIn,
    CheckInDue,
    Decided,
    EnterTournament,
    ExtendCheckIn,
    LeaveTournament,
    RemoveEntrant,
    StartTournament,
    Tournament,
)
from server.rooms.member import PlayerName
from server.tournaments import commands
from server.tournaments.audit import audit_tournament
from server.tournaments.commands import OWN_DECISIONS
from server.tournaments.documents import state_of
from server.tournaments.events import CheckedIn, CheckInExtended, Entered
from server.tournaments.views import document
from tests.server.tournaments.venue import FAST, Venue, records, refused


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


async def test_those_who_have_a_bye_keep_it_where_nobody_else_has_come_and_the_tournament_goes_on_with_the_next_round(venue: Venue) -> None:
    ann, ben, cleo, dan = await venue.people("Ann", "Ben", "Cleo", "Dan", habit="keen")
    identity = await ann.make(replace(FAST, rounds=3, byes=1, check_in_s=60, pause_s=30), ann, ben, cleo, dan)
    await ann.ask(StartTournament(id=identity))
    await ann.ask(AskBye(id=identity, round=1))
    await ben.ask(AskBye(id=identity, round=1))
    await trio.sleep(61)
    state = venue.state(identity)
    assert (state.phase, state.round) == ("between", 1)
    assert not state.wanted()
    await ann.check_in(identity)
    await ben.check_in(identity)
    state = await venue.over(identity)
    assert (state.round, state.missed) == (3, {})
    assert [len(records(venue, identity, number)) for number in (1, 2, 3)] == [0, 1, 1]
    told = document(state)
    assert (
        next(entry.text for entry in told.log if entry.kind == "pair") == "Round 1 is paired: no table, and byes for Ann (½) and Ben (½)."
    )
    assert sum(row.half_points for row in told.standings) == 2 * 1 + 2 * 2
    audit_tournament(told, [record for number in (2, 3) for record in records(venue, identity, number)])
    made = venue.store.tournament(identity)
    assert made is not None
    assert state_of(made, venue.log(identity)) == state


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
    assert refused(await ben.ask(EnterTournament(id=identity, code="sesam"))) == "tournament/wrong-code"
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


async def test_many_who_come_and_go_keep_out_only_who_has_left(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 12)
    ann, ben, cleo, dan, director = await venue.people("Ann", "Ben", "Cleo", "Dan", "Director")
    identity = await director.make(replace(FAST, rounds=1, check_in_s=60), ann, ben)
    for _ in range(5):
        await cleo.enter(identity)
        await cleo.do(LeaveTournament(id=identity))
    assert refused(await cleo.ask(EnterTournament(id=identity))) == "tournament/not-now"
    await dan.enter(identity)
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben, dan):
        await person.check_in(identity)
    assert (await venue.over(identity)).phase == "over"


async def test_one_address_brings_only_so_many_names_into_a_tournament(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "NEWCOMERS_OF_PLACE", 2)
    ann, ben, cleo, dan, director, *nowhere = await venue.people("Ann", "Ben", "Cleo", "Dan", "Director", "Eve", "Fay", "Gus")
    ann.place = ben.place = cleo.place = "203.0.113.7"
    dan.place = "198.51.100.4"
    identity = await director.make(replace(FAST, check_in_s=60), ann, ben)
    answer = await cleo.ask(EnterTournament(id=identity))
    assert isinstance(answer, Error)
    assert "from your address" in answer.message
    for person in (dan, *nowhere):
        await person.enter(identity)
    # Who is known comes back.
    await ben.do(LeaveTournament(id=identity))
    await ben.enter(identity)


async def test_whoever_comes_and_goes_or_directs_takes_no_place_from_newcomers_of_their_address(
    venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "NEWCOMERS_OF_PLACE", 2)
    ann, ben, director = await venue.people("Ann", "Ben", "Director")
    ann.place = ben.place = director.place = "203.0.113.7"
    identity = await director.make(replace(FAST, check_in_s=60), ann)
    await ann.do(LeaveTournament(id=identity))
    await ann.enter(identity)
    await director.do(StartTournament(id=identity))
    await director.do(ExtendCheckIn(id=identity, more_s=60))
    await ben.enter(identity)


async def test_what_follows_by_itself_counts_as_nobodys_coming_and_going(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS", 4)
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 8)
    ann, ben, director = await venue.people("Ann", "Ben", "Director")
    identity = await director.make(replace(FAST, rounds=2, check_in_s=60, fill=8, pause_s=None), ann, ben)
    await director.ask(StartTournament(id=identity))
    for person in (ann, ben):
        await person.check_in(identity)
    await venue.until(lambda: venue.state(identity).phase == "between")
    # The bots came when Ben had checked in, and are nobody's.
    authors = [(type(entry.event), entry.author) for entry in venue.state(identity).log]
    assert authors.count((Entered, None)) == 6
    assert [kind for kind, author in authors if author == ben.player.id] == [Entered, CheckedIn]
    await ben.do(LeaveTournament(id=identity))
