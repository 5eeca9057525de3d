"""What messages ask for across rooms and connections: two races at once, taking over, coming back, a full server, a stopping one."""

from __future__ import annotations

import logging

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from protocol.client_messages import FollowLobby, Hello, JoinRace, LeaveRace, OpenRace, Say
from protocol.errors import CloseCode, ErrorCode, Fault
from protocol.server_messages import Error, Left, Lobby, PlayerView, Presence, Progress, Room, Said, Seated
from protocol.views import ChatLine, RaceOptions
from server.bots.house import HOUSE_BOTS
from server.rooms.outgoing import Outgoing
from server.rules.catalogue import RULE_SETS
from tests.server.net.wire import House, open_house, request_bytes


async def test_the_welcome_says_what_the_server_offers(autojump_clock: MockClock, house: House) -> None:
    async with house.client() as ann:
        welcome = await ann.hello("Ann")
        assert [rules.id for rules in welcome.rules] == list(RULE_SETS)
        assert [bot.name for bot in welcome.bots] == list(HOUSE_BOTS)
        assert (welcome.name, welcome.software, welcome.room) == ("Ann", "test", None)
        assert len(welcome.token) == 32
        assert welcome.token != welcome.player


async def test_of_two_races_opened_at_once_there_is_one(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann:
        await ann.say(OpenRace(options=RaceOptions(), ref=1))
        await ann.say(OpenRace(options=RaceOptions(), ref=2))
        # The one is answered by the room, the other before it has come so far.
        heard = {type(message): message for message in (await ann.hear(), await ann.hear())}
        assert heard.keys() == {Room, Error}
        error = heard[Error]
        assert isinstance(error, Error)
        assert (error.code, error.ref) == (ErrorCode.ALREADY_IN_ROOM, 2)
        assert len(house.rooms) == 1


async def test_who_holds_a_seat_can_join_no_other_race_but_his_own_again(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        own, other = await ann.open(seats=3), await bob.open(seats=3)
        await ann.say(JoinRace(code=other.code))
        error = await ann.error()
        assert error.code == ErrorCode.ALREADY_IN_ROOM
        assert own.code in error.message
        assert (await ann.join(own.code)).seat == 0
        await ann.say(LeaveRace())
        assert await ann.hear_of(Left) == Left(code=own.code, reason="left")
        assert (await ann.join(other.code)).seat == 1


@pytest.mark.parametrize("code", ["AAAAAA", "\x1b[2J", "1", "a-b-c"])
async def test_a_code_that_nobody_has_is_refused(autojump_clock: MockClock, house: House, code: str) -> None:
    async with house.guest("Ann") as ann:
        await ann.say(JoinRace(code=code, ref=4))
        error = await ann.error()
        assert (error.code, error.fault, error.ref) == (ErrorCode.NO_SUCH_ROOM, Fault.STATE, 4)


async def test_a_race_that_refuses_the_player_leaves_him_free(autojump_clock: MockClock, house: House) -> None:
    async with house.race("Ann", "Bob"), house.guest("Eve") as eve:
        await eve.say(JoinRace(code=house.only_room.code))
        await eve.say(JoinRace(code=house.only_room.code))
        assert [(await eve.error()).code for _ in range(2)] == [ErrorCode.ROOM_FULL] * 2
        await eve.open()


async def test_a_full_server_refuses_races_and_nothing_else(autojump_clock: MockClock) -> None:
    async with open_house(max_rooms=1) as house, house.guest("Ann") as ann, house.guest("Bob") as bob:
        room = await ann.open()
        await bob.say(OpenRace(options=RaceOptions()))
        error = await bob.error()
        assert (error.code, error.fault) == (ErrorCode.SERVER_FULL, Fault.SERVER)
        await bob.join(room.code)


async def test_without_a_room_there_is_nothing_to_ask(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann:
        await ann.say(Say(text="hello?"))
        assert (await ann.error()).code == ErrorCode.NOT_IN_ROOM


async def test_a_failure_of_the_server_is_told_logged_and_harms_nobody_else(
    autojump_clock: MockClock, house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(code: str) -> None:
        raise RuntimeError(f"a bug in {code}")

    monkeypatch.setattr(house.rooms, "find", fail)
    async with house.guest("Ann") as ann:
        await ann.say(JoinRace(code="AAAAAA", ref=6))
        error = await ann.error()
        assert (error.code, error.fault, error.ref) == (ErrorCode.INTERNAL, Fault.SERVER, 6)
        assert "bug" not in error.message
        await ann.open()
    assert [record.exc_info is not None for record in caplog.records if record.levelno == logging.ERROR] == [True]


# ---- lines of the same player


async def test_a_newer_connection_takes_over_and_the_older_one_is_closed_with_4009(autojump_clock: MockClock, house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        assert ann.welcome is not None
        welcome = await newer.hello("Ann", ann.welcome.token)
        assert (welcome.player, welcome.token) == (ann.welcome.player, ann.welcome.token)
        assert welcome.room == house.only_room.code
        assert await ann.hear_end() == (CloseCode.TAKEN_OVER, "another connection of this player took over")
        await newer.join(welcome.room or "")
        await newer.move()
        await newer.hear_of(PlayerView)
        await bob.hear_of(Progress)
        assert len(house.players) == 2


async def test_who_took_over_and_joined_is_never_shown_as_away(autojump_clock: MockClock, house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        assert ann.welcome is not None
        await newer.say(Hello(name="Ann", token=ann.welcome.token))
        await newer.say(JoinRace(code=house.only_room.code))
        await newer.hear_of(Room)
        await ann.hear_end()
        await trio.sleep(10)
        await newer.move()
        assert isinstance(await bob.hear(), Progress)


async def test_who_took_over_and_did_not_join_is_away_and_may_leave(autojump_clock: MockClock, house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob), house.client() as newer:
        assert ann.welcome is not None
        await newer.hello("Ann", ann.welcome.token)
        assert (await bob.hear_of(Presence)).connected is False
        await newer.move()
        assert (await newer.error()).code == ErrorCode.NOT_IN_ROOM
        await newer.say(LeaveRace())
        await newer.hear_of(Left)
        assert (await bob.hear_of(Progress)).state == "forfeited"


async def test_a_hundred_connections_of_one_player_leave_one(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann:
        assert ann.welcome is not None
        for _ in range(100):
            async with house.client() as newer:
                await newer.hello("Ann", ann.welcome.token)
            assert len(house.players) <= 1
        await trio.sleep(5)
        assert house.connections == []
        assert len(house.players) == 0


async def test_a_client_that_comes_back_hears_what_it_missed(autojump_clock: MockClock, house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, bob):
        await trio.aclose_forcefully(bob.line.stream)
        await ann.hear_of(Presence)
        await ann.move()
        await ann.hear_of(PlayerView)
        assert bob.welcome is not None
        async with house.client() as again:
            again.version = bob.version
            welcome = await again.hello("Bob", bob.welcome.token)
            assert welcome.room is not None
            await again.say(JoinRace(code=welcome.room, version=bob.version))
            missed = [await again.hear() for _ in range(3)]
            assert [type(message) for message in missed] == [Presence, Progress, Presence]
            assert again.gaps == 0


async def test_a_name_may_change_with_the_next_hello(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann, house.client() as newer:
        assert ann.welcome is not None
        assert (await newer.hello("Anna", ann.welcome.token)).name == "Anna"


async def test_what_is_said_just_before_closing_is_still_heard(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann:
        room = await ann.open(seats=3)
        async with house.guest("Bob") as bob:
            await bob.join(room.code)
            await ann.hear_of(Seated)
            await bob.say(LeaveRace())
        await wait_all_tasks_blocked()
        assert house.only_room.race.seats[1].player is None


# ---- the lobby over the wire


async def test_followers_of_the_lobby_hear_of_races_until_they_stop(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Bob") as bob:
        await ann.say(FollowLobby())
        assert (await ann.hear_of(Lobby)).players == ("Ann", "Bob")
        room = await bob.open(seats=3)
        lobby = await ann.hear_of(Lobby)
        while not lobby.races:
            lobby = await ann.hear_of(Lobby)
        assert [(race.code, race.names, race.seats) for race in lobby.races] == [(room.code, ("Bob",), 3)]
        await ann.say(FollowLobby(follow=False))
        await bob.say(LeaveRace())
        await bob.hear_of(Left)
        await trio.sleep(2)
        await ann.say(Say(text="still there?"))
        assert isinstance(await ann.hear(), Error)


# ---- the end of the server


async def test_a_stopping_server_tells_everybody_and_closes_with_1001(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        heard: list[object] = []

        async def stay(house: House, name: str, ready: trio.Event) -> None:
            async with house.guest(name) as client:
                await client.open(seats=2)
                ready.set()
                heard.append((await client.hear_end(), client.heard[-1]))

        async with open_house() as house:
            for number in range(5):
                ready = trio.Event()
                nursery.start_soon(stay, house, f"Ann {number}", ready)
                await ready.wait()
            codes = [room.code for room in house.rooms]
    ended = [((1001, "the server stops"), Left(code=code, reason="closed")) for code in codes]
    assert sorted(heard, key=str) == sorted(ended, key=str)


async def test_while_the_server_stops_no_race_is_opened(autojump_clock: MockClock, house: House) -> None:
    async with house.guest("Ann") as ann:
        await house.rooms.stop()
        await ann.say(OpenRace(options=RaceOptions()))
        assert (await ann.error()).code == ErrorCode.SERVER_STOPPING


async def test_a_peer_that_never_reads_cannot_keep_the_server_from_stopping(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        async with open_house() as house:
            line = house.listener.dial(buffer=2048)
            await line.send_all(request_bytes())
            await wait_all_tasks_blocked()
            (end,) = house.connections
            for number in range(1000):
                end.post(Outgoing(Said(version=number, line=ChatLine(seat=0, name="Ann", text="x" * 200))))
            began = trio.current_time()
        assert trio.current_time() - began <= 10
        await line.aclose()
        nursery.cancel_scope.cancel()
