"""Making and listing tournaments: what one address may make, and what becomes of tournaments that nobody uses."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace

from protocol.tournament_messages import (
    AddBot,
    CorrectResult,
    CreateTournament,
    Decided,
    EndTournament,
    EnterTournament,
    ExtendCheckIn,
    PairRound,
    PauseTournament,
    RemoveEntrant,
    StartTournament,
    Tournaments,
)
from protocol.tournaments import TournamentListing, TournamentOptions
from server.tournaments.absence import IDLE_DAYS, UNUSED_S
from server.tournaments.making import LATELY_OF_PLACE, LATELY_S, MOST_OF_ONE, MOST_OF_PLACE
from tests.server.tournaments.venue import FAST, Person, Venue, kinds, refused, started

IDLE_S = IDLE_DAYS * 24 * 3600


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
