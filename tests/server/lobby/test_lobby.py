"""The lobby: what it lists, and how seldom it says so."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from protocol.errors import CloseCode
from protocol.server_messages import Lobby as LobbyMessage
from protocol.views import RaceOptions
from server.lobby.lobby import INTERVAL_S, LISTED, Lobby
from server.lobby.players import Players
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.store.journal import Journal
from server.store.memory import MemoryStore
from tests.server.rooms.playing import Table


class Follower:
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


class Hall:
    """A lobby with its players and a table to race at."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.table = Table(nursery, max_rooms=1000)
        store = MemoryStore()
        journal = Journal(store)
        nursery.start_soon(journal.run)
        self.players = Players(entropy=self.table.entropy, store=store, journal=journal, clock=self.table.clock)
        self.lobby = Lobby(self.table.rooms, self.players)
        nursery.start_soon(self.lobby.run)

    @property
    def rooms(self) -> Rooms:
        return self.table.rooms


@pytest.fixture
async def hall(nursery: trio.Nursery) -> Hall:
    hall = Hall(nursery)
    await wait_all_tasks_blocked()
    return hall


async def test_a_follower_is_told_at_once(autojump_clock: MockClock, hall: Hall) -> None:
    ann = Follower()
    hall.lobby.follow(ann)
    assert ann.last == LobbyMessage(players=(), players_here=0, races=(), races_open=0, races_running=0)


async def test_however_much_changes_followers_hear_at_most_twice_a_second_and_in_the_end_the_truth(
    autojump_clock: MockClock, hall: Hall
) -> None:
    ann = Follower()
    hall.lobby.follow(ann)
    for number in range(200):
        await hall.players.arrive(name=f"player {number}", token=None, line=Follower())
        await trio.sleep(0.02)
    await trio.sleep(2)
    times = [time for time, _ in ann.heard[1:]]
    assert all(after - before >= INTERVAL_S - 1e-6 for before, after in pairwise(times))
    assert 7 <= len(times) <= 10
    assert ann.last.players_here == 200
    assert ann.last.players[:2] == ("player 0", "player 1")
    assert len(ann.last.players) == LISTED


async def test_without_changes_nothing_is_said(autojump_clock: MockClock, hall: Hall) -> None:
    ann = Follower()
    hall.lobby.follow(ann)
    await trio.sleep(60)
    assert len(ann.heard) == 1


async def test_all_followers_get_the_same_message_encoded_once(autojump_clock: MockClock, hall: Hall) -> None:
    followers = [Follower() for _ in range(20)]
    for follower in followers:
        hall.lobby.follow(follower)
    hall.rooms.open(RaceOptions())
    await trio.sleep(1)
    assert len({id(follower.heard[-1][1]) for follower in followers}) == 1


async def test_asking_again_and_again_does_not_make_the_server_look_again(
    autojump_clock: MockClock, hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    state = hall.lobby.state

    def counted() -> LobbyMessage:
        nonlocal looks
        looks += 1
        return state()

    monkeypatch.setattr(hall.lobby, "state", counted)
    ann = Follower()
    for _ in range(100):
        hall.lobby.follow(ann)
    assert (looks, len(ann.heard)) == (1, 100)
    hall.lobby.unfollow(ann)
    hall.rooms.open(RaceOptions())
    await trio.sleep(1)
    assert looks == 1
    hall.lobby.follow(ann)
    assert ann.last.races_open == 1


async def test_who_has_stopped_following_hears_no_more_and_is_not_reminded(autojump_clock: MockClock, hall: Hall) -> None:
    ann = Follower()
    hall.lobby.follow(ann)
    hall.lobby.unfollow(ann)
    hall.lobby.unfollow(ann)
    hall.lobby.remind(ann)
    hall.rooms.open(RaceOptions())
    await trio.sleep(5)
    assert len(ann.heard) == 1


async def test_only_public_races_with_a_free_seat_that_still_wait_are_listed(autojump_clock: MockClock, hall: Hall) -> None:
    table = hall.table
    ann, bob, eve, zoe = (table.guest(name) for name in ("Ann", "Bob", "Eve", "Zoe"))
    await table.seated(ann, seats=2, public=False)
    running = await table.racing(bob, eve)
    waiting = await table.seated(zoe, seats=3, bots=("random",), time_limit_s=60)
    state = hall.lobby.state()
    assert [(race.code, race.names, race.seats, race.time_limit_s) for race in state.races] == [(waiting.code, ("Zoe", "random"), 3, 60)]
    assert (state.races_open, state.races_running) == (1, 1)
    bob.stop(running)
    eve.stop(running)
    await table.settle()
    assert hall.lobby.state().races_running == 0


async def test_the_counts_are_exact_where_the_lists_are_cut(autojump_clock: MockClock, hall: Hall) -> None:
    for _ in range(LISTED + 30):
        hall.rooms.open(RaceOptions())
    state = hall.lobby.state()
    assert (len(state.races), state.races_open) == (LISTED, LISTED + 30)


async def test_moves_and_chat_do_not_wake_the_lobby(autojump_clock: MockClock, hall: Hall) -> None:
    table = hall.table
    ann = table.guest("Ann")
    room = await table.racing(ann)
    await trio.sleep(2)
    follower = Follower()
    hall.lobby.follow(follower)
    ann.move(room)
    ann.say(room, "hm")
    await trio.sleep(2)
    assert len(follower.heard) == 1
