"""Which tournaments a server keeps in memory, and which of them have a task."""

from __future__ import annotations

import pytest
import trio
from msgspec.structs import replace

from protocol.server_messages import Error
from protocol.tournament_messages import CorrectResult, EndTournament, StartTournament, Tournament
from protocol.tournaments import TableResult
from server.store.memory import MemoryStore
from server.tournaments import service
from tests.server.tournaments.venue import FAST, Person, Venue

pytestmark = pytest.mark.usefixtures("autojump_clock")


def with_tasks(venue: Venue) -> set[str]:
    """The ids of the tournaments that have a task."""
    names = (task.name for task in venue.tournaments._nursery.child_tasks)
    return {name.removeprefix("tournament ") for name in names if name.startswith("tournament ")}


async def played_out(venue: Venue, director: Person) -> str:
    """A tournament of two, which is over; both have gone home. Returns its id."""
    ann, ben = await venue.person("Ann"), await venue.person("Ben", "resigns")
    identity = await director.make(replace(FAST, rounds=1), ann, ben)
    await director.do(StartTournament(id=identity))
    await venue.over(identity)
    assert with_tasks(venue) == {identity}, "there is still a room"
    for person in (ann, ben):
        await person.lose_connection()
    await venue.until(lambda: not venue.rooms)
    await venue.something()
    return identity


async def test_somebody_who_asks_for_many_old_tournaments_has_no_more_of_them_kept(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "OLD_KEPT", 3)
    store = MemoryStore()
    first = Venue(nursery, store=store)
    await first.open()
    director = await first.person("Director")
    old = []
    for _ in range(8):
        old.append(await director.make(FAST))
        await director.do(EndTournament(id=old[-1], reason="rain"))
    await first.something()
    assert with_tasks(first) == set()
    assert {state.id for state in first.tournaments.states()} == set(old[-3:])
    second = Venue(nursery, store=store, seed=2)
    await second.open()
    stranger = await second.person("Mallory")
    for identity in old:
        answer = await stranger.ask(EndTournament(id=identity, reason="mine"))
        assert isinstance(answer, Error)
        assert answer.code == "tournament/not-the-director"
    await second.something()
    assert with_tasks(second) == set()
    assert {state.id for state in second.tournaments.states()} == set(old[-3:])


async def test_a_tournament_that_is_over_has_no_task_and_stays_in_the_list(venue: Venue) -> None:
    identity = await played_out(venue, await venue.person("Director"))
    assert with_tasks(venue) == set()
    assert [listed.id for listed in venue.tournaments.listings()] == [identity]
    assert venue.tournaments.listings()[0].phase == "over"
    assert await venue.tournaments.document(identity) is not None


async def test_a_result_of_a_tournament_that_is_over_can_be_corrected_and_its_followers_hear(venue: Venue) -> None:
    director, follower = await venue.people("Director", "Fan")
    identity = await played_out(venue, director)
    follower.follow(identity)
    await trio.sleep(1)
    assert [row.half_points for row in follower.last(Tournament).standings] == [2, 0]
    drawn = TableResult(verdict="draw", first_home=4, second_home=4)
    await director.do(CorrectResult(id=identity, round=1, table=1, result=drawn, reason="a dog on the keys"))
    await trio.sleep(1)
    assert [row.half_points for row in follower.last(Tournament).standings] == [1, 1]
    assert with_tasks(venue) == set()
    await director.do(CorrectResult(id=identity, round=1, table=1, result=replace(drawn, verdict="second"), reason="it was another dog"))
    await trio.sleep(1)
    assert [row.half_points for row in follower.last(Tournament).standings] == [2, 0]
    assert with_tasks(venue) == set()


async def test_followed_tournaments_stay_in_memory_however_many_others_are_over(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "OLD_KEPT", 2)
    director, follower = await venue.people("Director", "Fan")
    followed = await director.make(FAST)
    follower.follow(followed)
    others = [await director.make(FAST) for _ in range(3)]
    for identity in (followed, *others):
        await director.do(EndTournament(id=identity, reason="rain"))
    await trio.sleep(1)
    assert {state.id for state in venue.tournaments.states()} == {followed, others[-1]}
    assert follower.last(Tournament).phase == "ended"
