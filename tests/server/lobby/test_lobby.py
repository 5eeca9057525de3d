"""The lobby: what it lists, and how rarely it sends updates."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import trio
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from client.state.lobby import lobby_changed
from protocol.errors import CloseCode
from protocol.room_events import Said
from protocol.server_messages import Lobby as LobbyMessage
from protocol.server_messages import LobbyChanges
from protocol.views import RaceOptions, RunningRaceInfo, SeriesOptions
from server.lobby.bans import Bans
from server.lobby.lobby import EMPTY, INTERVAL_S, PROGRESS_S, Lobby, merged
from server.lobby.matchmaker import Matchmaker, Seeker
from server.lobby.players import Players
from server.rooms.closest_races import LISTED
from server.rooms.driver import Room
from server.rooms.member import PlayerConnection
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.store.availability import Outage
from server.store.journal import Journal
from server.store.memory import MemoryStore
from tests.server.rooms.playing import Guest, Table
from tests.server.store.keeping import worth

pytestmark = pytest.mark.usefixtures("autojump_clock")


class Follower(PlayerConnection):
    """A line that keeps what it is told, and when."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, Outgoing]] = []

    @property
    def round_trip_ms(self) -> int | None:
        return None

    def post(self, outgoing: Outgoing) -> None:
        self.heard.append((trio.current_time(), outgoing))

    def shut(self, code: CloseCode, reason: str) -> None:
        raise AssertionError("nobody takes over")

    @property
    def last(self) -> LobbyMessage:
        message = self.heard[-1][1].message
        assert isinstance(message, LobbyMessage)
        return message


class Venue:
    """A lobby with its players and a table to race at."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.table = Table(nursery, max_rooms=1000)
        store = MemoryStore()
        journal = Journal(store)
        nursery.start_soon(journal.run)
        bans = Bans(journal=journal, clock=self.table.clock)
        self.players = Players(entropy=self.table.entropy, journal=journal, clock=self.table.clock, bans=bans)
        self.table.rooms.on_rated.append(self.players.rated)
        self.matchmaker = Matchmaker(self.table.rooms, clock=self.table.clock, rating=self.players.rating)
        self.lobby = Lobby(self.table.rooms, self.players, self.matchmaker, self.table.clock)
        nursery.start_soon(self.lobby.run)

    @property
    def rooms(self) -> Rooms:
        return self.table.rooms


@pytest.fixture
async def venue(nursery: trio.Nursery) -> Venue:
    venue = Venue(nursery)
    await wait_all_tasks_blocked()
    return venue


async def test_a_follower_is_told_at_once(venue: Venue) -> None:
    ann = Follower()
    venue.lobby.follow(ann)
    assert ann.last == LobbyMessage(players=(), players_here=0, races=(), races_open=0, races_running=0, ratings=(), running=())


async def test_however_much_changes_followers_hear_at_most_twice_a_second_and_in_the_end_the_truth(venue: Venue) -> None:
    ann = Follower()
    venue.lobby.follow(ann)
    for number in range(200):
        await venue.players.arrive(name=f"player {number}", token=None, connection=Follower())
        await trio.sleep(0.02)
    await trio.sleep(2)
    times = [time for time, _ in ann.heard[1:]]
    assert all(after - before >= INTERVAL_S - 1e-6 for before, after in pairwise(times))
    assert 7 <= len(times) <= 10
    assert ann.last.players_here == 200
    assert ann.last.players[:2] == ("player 0", "player 1")
    assert len(ann.last.players) == LISTED


async def test_followers_hear_how_many_look_for_an_opponent(venue: Venue) -> None:
    ann, bert = Follower(), Follower()
    venue.lobby.follow(ann)
    venue.lobby.follow(bert, changes=True)
    venue.matchmaker.seek("cleo", Seeker(Follower(), 0, lambda room: None), rules=None)
    await trio.sleep(1)
    assert ann.last.seeking == 1
    changes = bert.heard[-1][1].message
    assert isinstance(changes, LobbyChanges)
    assert changes.seeking == 1
    venue.matchmaker.seek("dora", Seeker(Follower(), 0, lambda room: None), rules=None)
    await trio.sleep(1)
    assert (ann.last.seeking, ann.last.races_open) == (0, 1), "they have found each other"
    venue.matchmaker.seek("emil", Seeker(Follower(), 0, lambda room: None), rules=None)
    venue.matchmaker.leave("emil")
    await trio.sleep(1)
    assert ann.last.seeking == 0


async def test_without_changes_nothing_is_said(venue: Venue) -> None:
    ann = Follower()
    venue.lobby.follow(ann)
    await trio.sleep(60)
    assert len(ann.heard) == 1


@pytest.mark.parametrize(("changes", "kind"), [(False, LobbyMessage), (True, LobbyChanges)])
async def test_all_followers_get_the_same_message_encoded_once(
    venue: Venue, changes: bool, kind: type[LobbyMessage | LobbyChanges]
) -> None:
    followers = [Follower() for _ in range(20)]
    for follower in followers:
        venue.lobby.follow(follower, changes=changes)
    venue.rooms.open(RaceOptions())
    await trio.sleep(1)
    assert len({id(follower.heard[-1][1]) for follower in followers}) == 1
    assert isinstance(followers[0].heard[-1][1].message, kind)


async def test_asking_again_and_again_does_not_make_the_server_look_again(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    state = venue.lobby.state

    def counted() -> LobbyMessage:
        nonlocal looks
        looks += 1
        return state()

    monkeypatch.setattr(venue.lobby, "state", counted)
    ann = Follower()
    for _ in range(100):
        venue.lobby.follow(ann)
    assert (looks, len(ann.heard)) == (1, 100)
    venue.lobby.unfollow(ann)
    venue.rooms.open(RaceOptions())
    await trio.sleep(1)
    assert looks == 1
    venue.lobby.follow(ann)
    assert ann.last.races_open == 1


async def test_whoever_has_stopped_following_hears_no_more_and_is_not_reminded(venue: Venue) -> None:
    ann = Follower()
    venue.lobby.follow(ann)
    venue.lobby.unfollow(ann)
    venue.lobby.unfollow(ann)
    venue.lobby.remind(ann)
    venue.rooms.open(RaceOptions())
    await trio.sleep(5)
    assert len(ann.heard) == 1


async def test_only_public_races_with_a_free_seat_that_still_wait_are_listed(venue: Venue) -> None:
    table = venue.table
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    await table.seated(ann, seats=2, public=False)
    running = await table.racing(bob, eve)
    waiting = await table.seated(zoe, seats=3, bots=("random",), time_limit_s=60)
    state = venue.lobby.state()
    assert [(race.code, race.names, race.seats, race.time_limit_s) for race in state.races] == [(waiting.code, ("Zoe", "random"), 3, 60)]
    assert (state.races_open, state.races_running) == (1, 1)
    bob.stop(running)
    eve.stop(running)
    await table.settle()
    assert venue.lobby.state().races_running == 0


async def test_the_counts_are_exact_where_the_lists_are_cut(venue: Venue) -> None:
    for _ in range(LISTED + 30):
        venue.rooms.open(RaceOptions())
    state = venue.lobby.state()
    assert (len(state.races), state.races_open) == (LISTED, LISTED + 30)


async def test_nobody_fills_the_list_of_open_races_from_one_address(venue: Venue) -> None:
    many = [venue.rooms.open(RaceOptions(), place="192.0.2.1").code for _ in range(LISTED + 30)]
    few = [venue.rooms.open(RaceOptions(), place=place).code for place in ("192.0.2.2", "192.0.2.3", "192.0.2.2")]
    listed = [race.code for race in venue.lobby.state().races]
    assert listed == [*many[: LISTED - 3], *few]


async def test_moves_that_bring_nothing_home_and_chat_do_not_wake_the_lobby(venue: Venue) -> None:
    table = venue.table
    ann = table.guest("Ann")
    room = await table.racing(ann)
    await trio.sleep(2)
    follower = Follower()
    venue.lobby.follow(follower)
    ann.move(room, "s")
    ann.phrase(room, "ouch")
    await trio.sleep(2)
    assert (ann.ply, len(ann.all(Said))) == (1, 1)
    assert len(follower.heard) == 1


async def test_races_that_are_being_run_are_listed_the_closest_first_while_they_are_public(venue: Venue) -> None:
    table, ann = venue.table, Follower()
    venue.lobby.follow(ann)
    first = await table.racing(table.guest("A"), table.guest("B"), deal="143")
    second = await table.racing(table.guest("C"), table.guest("D"), deal="143")
    await table.racing(table.guest("E"), table.guest("F"), public=False)
    await trio.sleep(2)
    leader = table.guests[0]
    assert leader.view is not None
    leader.move(first, next(move for move in leader.view.moves if move != "s"))
    table.guests[2].move(second, "s")
    await trio.sleep(2)
    assert [info.code for info in ann.last.running] == [second.code, first.code]
    assert [[seat.home for seat in info.seats] for info in ann.last.running] == [[4, 4], [5, 4]]
    assert ann.last.races_running == 3
    assert ann.last.running[0].elapsed_ms >= 1000
    for guest in table.guests[:2]:
        guest.stop(first)
    await trio.sleep(1)
    assert [info.code for info in ann.last.running] == [second.code]


async def test_how_far_races_are_is_told_when_it_has_changed_and_at_most_twice_a_second(venue: Venue) -> None:
    table, ann = venue.table, Follower()
    players = [table.guest("A"), table.guest("B")]
    room = await table.racing(*players, deal="143")
    await trio.sleep(20)
    venue.lobby.follow(ann)
    await trio.sleep(20)
    heard = len(ann.heard)
    assert heard == 1
    player = players[0]
    assert player.view is not None
    for _ in range(20):
        player.move(room)
        await trio.sleep(0.25)
    await trio.sleep(2)
    times = [time for time, _ in ann.heard]
    assert heard < len(times) <= heard + 11
    assert all(after - before >= INTERVAL_S - 1e-6 for before, after in pairwise(times[1:]))
    assert ann.last.running[0].seats[0].home == player.view.home


async def test_how_far_races_are_is_told_however_often_somebody_comes_to_follow(venue: Venue) -> None:
    table, ann, eve = venue.table, Follower(), Follower()
    player = table.guest("A")
    room = await table.racing(player, table.guest("B"), deal="143")
    venue.lobby.follow(ann)
    assert player.view is not None
    player.move(room, next(move for move in player.view.moves if move != "s"))
    for _ in range(4):
        await trio.sleep(PROGRESS_S / 2)
        venue.lobby.follow(eve)
    assert ann.last.running[0].seats[0].home == 5


async def test_how_long_races_have_run_is_told_anew_after_an_outage(venue: Venue) -> None:
    table, ann, bob = venue.table, Follower(), Follower()
    await table.racing(table.guest("A"), table.guest("B"), deal="143")
    await trio.sleep(5)
    venue.lobby.follow(ann)
    venue.lobby.follow(bob, changes=True)
    venue.rooms.outage(Outage(trio.current_time(), "the disk is full"))
    await trio.sleep(120)
    venue.rooms.outage(None)
    await trio.sleep(10)
    for follower in (ann, bob):
        at, _ = follower.heard[-1]
        assert len(follower.heard) == 2
        told_ms = follower.last.running[0].elapsed_ms + round(1000 * (trio.current_time() - at))
        assert told_ms == pytest.approx(15_000, abs=100)


async def test_whoever_asks_once_is_told_how_far_races_are_now(venue: Venue) -> None:
    table, ann, bob = venue.table, Follower(), Follower()
    players = [table.guest("A"), table.guest("B")]
    room = await table.racing(*players, deal="143")
    venue.lobby.follow(ann)
    await trio.sleep(5)
    assert players[0].view is not None
    players[0].move(room, next(move for move in players[0].view.moves if move != "s"))
    await trio.sleep(0.9)
    state = venue.lobby.latest().message
    assert isinstance(state, LobbyMessage)
    # Who follows is told all the same, though somebody else has asked meanwhile.
    await trio.sleep(0.2)
    assert ann.last.running[0].seats[0].home == 5
    venue.lobby.unfollow(ann)
    assert players[1].view is not None
    for _ in range(3):
        await trio.sleep(1.5)
        players[1].move(room, players[1].view.moves[0])
        await table.settle()
        await trio.sleep(1.5)
        state = venue.lobby.latest().message
        assert isinstance(state, LobbyMessage)
        assert state.running[0].seats[1].home == players[1].view.home
    venue.lobby.follow(bob)
    assert bob.last.running[0].seats[1].home == players[1].view.home


async def test_ratings_stand_beside_the_names_of_players_and_of_open_races(venue: Venue) -> None:
    ann, bob = [(await venue.players.arrive(name=name, token=None, connection=Follower()))[0] for name in ("Ann", "Bob")]
    venue.players.rated(bob.id, worth(1138))
    guest = venue.table.guest("Bob")
    guest.player = bob
    await venue.table.seated(guest, seats=3, bots=("random",))
    await venue.table.seated(venue.table.guest("Eve"), seats=2)
    state = venue.lobby.state()
    assert (state.players, state.ratings) == ((ann.name, bob.name), (None, 1138))
    # Of who is not here, like Eve, no rating is known.
    assert [(race.names, race.rated, race.ratings) for race in state.races] == [
        (("Bob", "random"), False, (1138, None)),
        (("Eve",), True, (None,)),
    ]


async def test_a_rating_that_has_changed_is_told_to_the_followers(venue: Venue) -> None:
    ann, _ = await venue.players.arrive(name="Ann", token=None, connection=Follower())
    follower = Follower()
    venue.lobby.follow(follower)
    await trio.sleep(2)
    venue.players.rated(ann.id, worth(927))
    venue.players.rated("somebody who is not here", worth(1500))
    await trio.sleep(2)
    assert follower.last.ratings == (927,)


async def test_an_open_race_says_which_series_it_begins(venue: Venue) -> None:
    best_of = SeriesOptions(format="best-of", races=5)
    await venue.table.seated(venue.table.guest("Ann"), seats=2, series=best_of)
    await venue.table.seated(venue.table.guest("Bob"), seats=2)
    assert [race.series for race in venue.lobby.state().races] == [best_of, SeriesOptions()]


# ---- changes


def known_by(follower: Follower) -> LobbyMessage:
    """What a follower who applies what it hears, as the terminal client does, knows in the end."""
    known: LobbyMessage | None = None
    for _, outgoing in follower.heard:
        message = outgoing.message
        if isinstance(message, LobbyMessage):
            known = message
            continue
        assert isinstance(message, LobbyChanges)
        assert known is not None
        known = lobby_changed(known, message, 0)
    assert known is not None
    return known


def compared(lobby: LobbyMessage) -> object:
    running = [structs.replace(info, elapsed_ms=0) for info in lobby.running]
    first, others = running[:1], sorted(running[1:], key=lambda info: info.code)
    return structs.replace(lobby, running=(), races=tuple(sorted(lobby.races, key=lambda info: info.code))), first, others


async def test_whoever_hears_changes_knows_in_the_end_what_whoever_hears_all_knows(venue: Venue) -> None:
    chance = random.Random(4)
    table = venue.table
    followers = [Follower() for _ in range(6)]
    for number, follower in enumerate(followers[:2]):
        venue.lobby.follow(follower, changes=number > 0)
    seated: list[tuple[Room, Guest, Guest]] = []
    for number in range(120):
        await trio.sleep(chance.random() * 0.4)
        if number % 15 == 0:
            ann, bob = table.guest(f"Ann {number}"), table.guest(f"Bob {number}")
            await venue.players.arrive(name=f"Ann {number}", token=None, connection=Follower())
            seated.append((await table.seated(ann, seats=2, deal="143"), ann, bob))
        if number % 30 == 20:
            # They come between two tellings, and get what is known then.
            venue.lobby.follow(followers[2 + number // 30], changes=True)
        room, ann, bob = chance.choice(seated)
        if room.core.race.phase == "waiting" and not room.summary.holds(bob.player.id):
            bob.enter(room)
            await table.begin(room, ann, bob)
        elif room.core.race.phase == "racing":
            one = chance.choice((ann, bob))
            assert one.view is not None
            one.move(room, chance.choice(one.view.moves))
            if chance.random() < 0.03:
                one.stop(room)
        if chance.random() < 0.05:
            venue.lobby.remind(chance.choice(followers))
    await trio.sleep(3)
    truth = compared(followers[0].last)
    assert all(compared(known_by(follower)) == truth for follower in followers)
    shares = [sum(isinstance(outgoing.message, LobbyChanges) for _, outgoing in each.heard) / len(each.heard) for each in followers]
    assert shares[0] == 0
    assert min(shares[1:]) > 0.5


def test_the_closest_race_of_all_servers_is_listed_first() -> None:
    def running(*codes: str) -> LobbyMessage:
        race = RunningRaceInfo(code="", rules="carpet", seats=(), watchers=0, elapsed_ms=0, time_limit_s=600, delay_s=0)
        return structs.replace(EMPTY, running=tuple(structs.replace(race, code=code) for code in codes))

    own, others = running("AAAAAA", "BBBBBB"), [running(), running("CCCCCC", "DDDDDD")]
    for closest, first in ((None, "AAAAAA"), ("AAAAAA", "AAAAAA"), ("CCCCCC", "CCCCCC"), ("GONEBY", "AAAAAA")):
        together = merged(own, others, closest=closest)
        assert together.running[0].code == first
        assert {race.code for race in together.running} == {"AAAAAA", "BBBBBB", "CCCCCC", "DDDDDD"}


def test_those_who_look_for_an_opponent_are_counted_at_all_servers() -> None:
    assert merged(structs.replace(EMPTY, seeking=1), [structs.replace(EMPTY, seeking=2), EMPTY]).seeking == 3
