"""Tables of one tournament on several servers: each is opened on the least busy one, all start together, and each has one result, whatever
is lost on the way and whichever server dies.
"""

from __future__ import annotations

from collections import Counter

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from protocol.client_messages import Say
from protocol.errors import ErrorCode
from protocol.room_events import Started
from protocol.server_messages import Error
from protocol.tournament_messages import Called, CorrectResult, Decided, LeaveTournament, PauseTournament, StartTournament, Tournament
from protocol.tournaments import TableResult
from server.tournaments.hosting import START_MS, Orders, TableOpening, place_of_room
from tests.server.tournaments.place import Place
from tests.server.tournaments.venue import FAST, Habit, Person, Venue

RESULT = TableResult(verdict="first", first_home=3, second_home=2)


@pytest.fixture
async def place(nursery: trio.Nursery, autojump_clock: MockClock) -> Place:
    del autojump_clock
    place = Place(nursery, spreads=True)
    await place.open(3)
    await trio.sleep(1)
    return place


class Watched(Person):
    """started: when their races did, in this test's time."""

    def __init__(self, venue: Venue, name: str, habit: Habit = "quick") -> None:
        super().__init__(venue, name, habit)
        self.started: list[float] = []

    def _do(self, message: object) -> None:
        if isinstance(message, Started):
            self.started.append(trio.current_time())
        super()._do(message)  # type: ignore[arg-type]


async def field(place: Place, number: int, habit: Habit = "quick") -> list[Watched]:
    """So many entrants, by turns at each server."""
    people = [Watched(place.venues[each % len(place.venues)], f"P{each}", habit) for each in range(number)]
    for person in people:
        await person.arrive()
    return people


async def begun(place: Place, people: list[Watched], *, director: Watched | None = None, **options: object) -> str:
    """The id of a tournament of theirs, led by the first server or that of its director, whose first round is paired."""
    director = director or people[0]
    identity = await director.make(replace(FAST, **options), *people)
    await trio.sleep(2)
    await director.do(StartTournament(id=identity))
    await trio.sleep(1)
    return identity


def tables(place: Place) -> list[int]:
    """How many rooms each server has."""
    return [len(venue.rooms) for venue in place.venues]


def check_results(place: Place, identity: str, *, number: int) -> None:
    """Each table has one result, of a race that was run there; so say all servers."""
    state = place.venues[0].state(identity)
    results = [result for races in state.crosstable.races.values() for result in races]
    assert len(results) == number
    assert not any(result.forfeit for result in results)
    assert all(place.store.record(race) is not None for races in state.race_ids.values() for race in races)
    assert Counter(len(races) for races in state.race_ids.values()) == {1: number}
    assert all(venue.state(identity).log == state.log for venue in place.venues)


@pytest.mark.parametrize(("lost", "fast_s", "apart_s"), [(0.0, 0, 0.1), (0.0, 3600, START_MS / 1000 + 0.1), (0.6, 0, 15)])
async def test_tables_are_raced_at_all_servers_start_at_one_moment_and_have_one_result_each_whatever_is_lost(
    place: Place, lost: float, fast_s: int, apart_s: float
) -> None:
    """fast_s: how far the second server's clock is ahead. apart_s: how far apart the first and the last start may be."""
    place.venues[1].clock._wall_offset += fast_s  # type: ignore[operator]
    people = await field(place, 12)
    place.lost = lost
    people[0].follow(identity := await begun(place, people, rounds=2))
    first = place.venues[0]
    await first.until(lambda: first.director(identity).tables._starts != {}, seconds=60)
    assert tables(place) == [2, 2, 2] or lost
    for venue in place.venues:
        await venue.over(identity)
    place.lost = 0.0
    await trio.sleep(2)
    check_results(place, identity, number=12)
    for number in range(2):
        starts = [person.started[number] for person in people]
        assert max(starts) - min(starts) < apart_s


async def test_a_table_is_where_its_players_are_when_all_servers_have_as_much_to_do(place: Place) -> None:
    one, two, _ = place.venues
    ann, ben = Watched(two, "Ann", "absent"), Watched(two, "Ben", "absent")
    for person in (ann, ben):
        await person.arrive()
    identity = await ann.make(FAST)
    await trio.sleep(1)
    for person in (ann, ben):
        await person.enter(identity)
    await trio.sleep(1)
    await ann.ask(StartTournament(id=identity))
    await trio.sleep(2)
    assert two.director(identity).leads
    assert tables(place) == [0, 1, 0]
    assert not one.director(identity).leads


async def test_a_round_may_have_no_table_at_the_server_that_leads_and_nobody_is_called_again_and_again(place: Place) -> None:
    one, _, three = place.venues
    dora = Watched(one, "Dora", "absent")
    people = [Watched(three, f"P{number}") for number in range(3)]
    for person in (dora, *people):
        await person.arrive()
    identity = await begun(place, people, director=dora, format="swiss", rounds=1, countdown_s=10)
    await trio.sleep(2)
    # One of them has a bye, which is raced too.
    assert tables(place) == [0, 1, 1]
    assert one.director(identity).leads
    assert (await one.over(identity)).crosstable.result(1, 1) is not None
    await trio.sleep(5)
    assert all(1 <= len(person.all(Called)) <= 2 for person in people)
    assert all(len(person.started) == 1 for person in people)


async def test_what_the_director_decides_reaches_tables_at_other_servers_and_they_are_shown_what_these_are_like(place: Place) -> None:
    people = await field(place, 6, "absent")
    identity = await begun(place, people, rounds=1, no_show_s=600)
    await trio.sleep(2)
    assert tables(place) == [1, 1, 1]
    people[0].follow(identity)
    await trio.sleep(1)
    told = people[0].last(Tournament).tables
    assert {table.code for table in told} == {room.code for venue in place.venues for room in venue.rooms}
    assert all(590_000 < (table.no_show_ms or 0) <= 602_000 for table in told)

    await people[0].do(PauseTournament(id=identity))
    await trio.sleep(2)
    assert tables(place) == [0, 0, 0]
    await people[0].ask(PauseTournament(id=identity, pause=False))
    await trio.sleep(4)
    assert tables(place) == [1, 1, 1], "those that were called off are opened again"
    far = place_of_room(next(iter(place.venues[2].rooms)))[0][1]
    await people[0].ask(CorrectResult(id=identity, round=1, table=far, result=RESULT))
    await trio.sleep(1)
    assert tables(place) == [1, 1, 0]
    await people[0].do(CorrectResult(id=identity, round=1, table=far, result=None))
    await trio.sleep(4)
    assert sum(tables(place)) == 3, "it is to be raced after all"


def starts(place: Place, identity: str) -> dict[str, int]:
    """What the first server, which leads, orders the others to start."""
    director = place.venues[0].director(identity)
    return director.tables.orders(director.state).starts


async def test_a_pause_takes_back_the_order_to_start_that_no_other_server_has_heard(place: Place) -> None:
    people = await field(place, 6, "waits")
    identity = await begun(place, people, rounds=1)
    await place.venues[0].until(lambda: starts(place, identity) != {}, seconds=60)
    await people[0].do(PauseTournament(id=identity))
    assert starts(place, identity) == {}
    await trio.sleep(10)
    assert [bool(person.started) for person in people] == [person.venue is place.venues[0] for person in people]


async def test_no_other_server_is_ordered_to_start_a_table_that_becomes_ready_as_the_pause_begins(place: Place) -> None:
    dora = Watched(place.venues[0], "Dora", "absent")
    await dora.arrive()
    people = [Watched(venue, f"P{number}", "absent") for number in range(2) for venue in place.venues[1:]]
    for person in people:
        await person.arrive()
    identity = await begun(place, people, director=dora, rounds=1, no_show_s=600)
    await trio.sleep(2)
    assert tables(place) == [0, 1, 1]
    place.lost = 1.0
    for person in people:
        person.habit = "waits"
        person.post_again(Called)
    await trio.sleep(1)
    assert all(seat.ready for venue in place.venues for room in venue.rooms for seat in room.summary.seats)
    await dora.do(PauseTournament(id=identity))
    place.lost = 0.0
    for _ in range(200):
        assert starts(place, identity) == {}
        await trio.sleep(0.01)
    assert tables(place) == [0, 0, 0]
    assert not any(person.started for person in people)


async def test_who_directs_it_has_one_key_to_the_boards_of_all_tables_at_any_server_and_nobody_who_plays_has(place: Place) -> None:
    dora = Watched(place.venues[1], "Dora", "absent")
    await dora.arrive()
    people = await field(place, 6, "absent")
    identity = await begun(place, people, director=dora, no_show_s=600)
    await trio.sleep(2)
    assert tables(place) == [1, 1, 1]
    codes = [room.code for venue in place.venues for room in venue.rooms]
    for venue in place.venues:
        elsewhere = venue.tournaments.elsewhere
        assert {elsewhere.directed_table(code, dora.player.id) for code in codes} == {identity}
        assert {elsewhere.directed_table(code, people[0].player.id) for code in codes} == {None}
    assert len({venue.tournaments.elsewhere.boards_secret(identity) for venue in place.venues}) == 1
    assert place.venues[0].tournaments.elsewhere.boards_secret("ABCDEF") is None


async def test_a_rated_race_that_has_begun_is_run_to_its_end_at_any_server_whoever_would_leave_or_rule(place: Place) -> None:
    people = await field(place, 6, "waits")
    identity = await begun(place, people, rounds=1, rated=True)
    await place.venues[0].until(lambda: all(person.started for person in people))
    await trio.sleep(2)
    for person in people:
        answer = await person.ask(LeaveTournament(id=identity))
        assert isinstance(answer, Error)
        assert answer.code == "tournament/not-now"
    far = place_of_room(next(iter(place.venues[2].rooms)))[0][1]
    assert isinstance(await people[0].ask(CorrectResult(id=identity, round=1, table=far, result=RESULT)), Error)
    assert tables(place) == [1, 1, 1]


@pytest.mark.parametrize(("lost", "after_s"), [(0.0, 0), (0.0, 0.3), (1.0, 60)])
async def test_nobody_escapes_a_rated_race_by_a_server_that_has_not_heard_of_it(place: Place, lost: float, after_s: float) -> None:
    here, there, _ = place.venues
    ann, ben = Watched(here, "Ann", "waits"), Watched(here, "Ben", "waits")
    for person in (ann, ben):
        await person.arrive()
    place.lost = lost
    identity = await begun(place, [ann, ben], rounds=1, rated=True)
    await here.until(lambda: bool(ann.started and ben.started))
    await trio.sleep(after_s)
    second = Person(there, "Ann", "absent")
    second._token = ann._token
    await second.arrive()
    answer = await second.ask(LeaveTournament(id=identity))
    assert isinstance(answer, Error)
    assert answer.code == "tournament/not-now"
    assert [run.phase for run in place.store.runs("round", f"{identity}/1")] == ["running"]


async def test_whoever_wants_to_leave_in_a_pause_can_at_any_server(place: Place) -> None:
    people = await field(place, 6, "absent")
    identity = await begun(place, people, rounds=1, rated=True, no_show_s=600)
    await people[0].do(PauseTournament(id=identity))
    await trio.sleep(2)
    for person in people[:3]:
        assert isinstance(await person.ask(LeaveTournament(id=identity)), Decided)


async def test_while_a_round_is_open_whoever_has_raced_at_another_server_has_quick_phrases_alone(place: Place) -> None:
    people = await field(place, 6)
    late = next(person for person in people if person.player.name == "P3")
    late.habit = "absent"
    identity = await begun(place, people, rounds=1, no_show_s=60)
    await trio.sleep(50)
    assert not any(person.started for person in people), "the cards are told to nobody before all are there or their time is up"
    await trio.sleep(30)
    first = place.venues[0]
    await first.over(identity)
    results = [result for races in first.state(identity).crosstable.races.values() for result in races]
    assert sum(result.forfeit for result in results) == 1
    assert len({person.started[0] // (START_MS / 1000 + 2) for person in people if person.started}) == 1

    slow = [person for person in people if person is not late]
    slow[0].habit = "keen"
    identity = await begun(place, slow, rounds=1)
    await first.until(lambda: slow[1].started[1:] != [], seconds=60)
    await trio.sleep(0.3)
    elsewhere = [person for person in slow if place.venues[0].rooms.of(person.player.id) is None]
    assert elsewhere
    for person in elsewhere:
        person.say(Say(text="the Ace of spades is last"))
    await trio.sleep(0.3)
    if not first.state(identity).is_closed:
        assert all(ErrorCode.PHRASES_ONLY in person.codes for person in elsewhere)


async def test_who_is_not_there_in_time_forfeits_at_another_server_too_but_nobody_does_where_it_cannot_be_heard(place: Place) -> None:
    people = await field(place, 6, "absent")
    identity = await begun(place, people, rounds=1, no_show_s=20)
    await trio.sleep(2)
    first = place.venues[0]
    place.lost = 1.0
    await trio.sleep(60)
    # The one at the server that leads was called, and is over.
    assert len(first.state(identity).crosstable.races) == 1
    assert tables(place)[1:] == [1, 1]
    place.lost = 0.0
    await trio.sleep(15)
    assert len(first.state(identity).crosstable.races) == 1, "they have their whole time once more"
    await trio.sleep(15)
    assert first.state(identity).is_closed
    assert tables(place) == [0, 0, 0]


async def all_racing(place: Place) -> tuple[list[Watched], str]:
    """Twelve who do nothing at their tables yet, two tables at each server, and the tournament's id."""
    people = await field(place, 12, "waits")
    identity = await begun(place, people, rounds=1, grace_s=600)
    await place.venues[0].until(lambda: all(person.started for person in people), seconds=60)
    return people, identity


async def test_races_that_run_at_a_pause_go_on_to_their_end_at_all_servers_and_count(place: Place) -> None:
    people, identity = await all_racing(place)
    first = place.venues[0]
    await people[0].do(PauseTournament(id=identity))
    await trio.sleep(5)
    assert [room.summary.phase for venue in place.venues for room in venue.rooms] == ["racing"] * 6
    for person in people:
        person.habit = "quick"
        person.post_again(Started)
    await first.over(identity)
    await trio.sleep(2)
    check_results(place, identity, number=6)


async def test_a_server_that_dies_has_its_tables_taken_over_and_the_round_goes_on(place: Place) -> None:
    people, identity = await all_racing(place)
    first, _, third = place.venues
    lost = [room.code for room in third.rooms]
    assert len(lost) == 2
    place.kill(third)
    await trio.sleep(5)
    place.take_over(place.venues[1], [])
    moved = [person for person in people if person.venue is third]
    assert len(moved) == 4
    for person in moved:
        await person.move(place.venues[1])
    await trio.sleep(1)
    live = first.director(identity).live(first.clock.now_ms())
    assert set(lost) <= {table.code for table in live.values()}
    for person in people:
        person.habit = "quick"
        if person in moved:
            await person.join_again()
        person.post_again(Started)
    await first.over(identity)
    await trio.sleep(2)
    check_results(place, identity, number=6)


async def test_whoever_takes_over_the_lead_enters_what_was_raced_elsewhere_meanwhile_and_opens_nothing_twice(place: Place) -> None:
    people, identity = await all_racing(place)
    first, second, third = place.venues
    before = {place_of_room(room)[0]: room.code for venue in place.venues for room in venue.rooms}
    place.kill(first)
    for person in people:
        if person.venue is third:
            person.habit = "quick"
            person.post_again(Started)
    await trio.sleep(5)
    assert not second.state(identity).crosstable.races, "nobody leads"
    place.take_over(second, [identity])
    await trio.sleep(3)
    assert len(second.state(identity).crosstable.races) == 2
    assert {place_of_room(room)[0]: room.code for venue in place.venues for room in venue.rooms}.items() <= before.items()
    for person in people:
        person.habit = "quick"
        if person.venue is first:
            await person.move(second)
            await person.join_again()
        person.post_again(Started)
    await second.over(identity)
    await trio.sleep(2)
    check_results(place, identity, number=6)


async def test_whoever_takes_over_a_check_in_gives_the_whole_time_once_more_and_all_servers_say_so(place: Place) -> None:
    people = await field(place, 6)
    identity = await people[0].make(replace(FAST, check_in_s=60), *people)
    await people[0].ask(StartTournament(id=identity))
    await trio.sleep(50)
    first, second, third = place.venues
    place.kill(first)
    await trio.sleep(20)
    place.take_over(second, [identity])
    await trio.sleep(10)
    for venue in (second, third):
        assert venue.state(identity).phase == "check-in"
        follower = next(person for person in people if person.venue is venue)
        follower.follow(identity)
        await trio.sleep(0.1)
        assert 45_000 < (follower.last(Tournament).phase_ms or 0) <= 51_000
    await people[1].check_in(identity)
    await people[2].check_in(identity)
    state = await third.over(identity)
    assert (state.phase, state.crosstable.size) == ("over", 2)


async def test_an_order_counts_by_whom_the_store_says_leads_and_a_second_room_for_a_table_is_closed(place: Place) -> None:
    people = await field(place, 6, "absent")
    identity = await begun(place, people, rounds=1, no_show_s=600)
    await trio.sleep(2)
    first, second, third = place.venues
    director = second.director(identity)
    there = place_of_room(next(iter(third.rooms)))[0][1]
    order = TableOpening(node=second.node, round=1, table=there, race=1, number=1)
    director.hear((), Orders(decisions=0, openings=(order,)))
    await trio.sleep(0.1)
    assert len(second.rooms) == 2, "it was given by the one that leads"
    await trio.sleep(2)
    assert tables(place) == [1, 1, 1], "the table has a room already"
    assert {called.table for called in people[0].all(Called)} == {people[0].last(Called).table}

    for venue in (second, third):
        assert venue.director(identity).led_by == first.node
    # One that was taken for dead and speaks once more.
    with place.store.maintaining() as sql:
        sql.run("UPDATE tournaments SET node = 99 WHERE id = :id", [{"id": identity}])
    await trio.sleep(1)
    for person in people:
        person.habit = "quick"
        person.post_again(Called)
    await trio.sleep(10)
    assert not any(person.started for person in people if first.rooms.of(person.player.id) is None)
