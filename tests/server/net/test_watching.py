"""Watching over the wire: by code or the closest race, while holding a seat elsewhere, and over a slow connection."""

from __future__ import annotations

from typing import TypeVar

import pytest
import trio
from msgspec.structs import replace

from protocol.cards import FACE_DOWN
from protocol.client_messages import FollowLobby, LeaveRace, Say, Stop
from protocol.codec import JSON
from protocol.errors import CloseCode, ErrorCode, Fault
from protocol.room_events import Progress, Result, Started
from protocol.server_messages import Left, Lobby
from protocol.watch_messages import Board, Talk, Unwatch, Unwatched, Watched, WatchedEvent, Watchers, WatchRace
from server.net.connection import OUTBOX_BYTES
from server.rooms import resumption
from tests.server.net.test_slow_peers import SMALL, said
from tests.server.net.wire import Client, House

Kind = TypeVar("Kind")


async def watch(client: Client, code: str | None = None) -> Watched:
    return await client.ask(WatchRace(code=code), Watched)


async def event(client: Client, kind: type[Kind]) -> Kind:
    """The next watched event of this kind."""
    while True:
        message = await client.hear_of(WatchedEvent)
        if isinstance(message.event, kind):
            return message.event


async def test_a_race_is_watched_by_its_code_in_either_encoding(house: House) -> None:
    async with house.race("Ann", "Bob", public=False, delay_s=3) as (ann, bob), house.guest("Eve") as eve, house.guest("Dan", JSON) as dan:
        code = house.only_room.code
        for client in (eve, dan):
            watched = await watch(client, code.lower())
            assert (watched.room.code, watched.room.phase, watched.boards) == (code, "racing", ())
        await trio.sleep(0.5)
        view = (await ann.play()).view
        assert (await bob.hear_of(Progress)).ply == 1
        for client in (eve, dan):
            assert (await event(client, Progress)).ply == 1
            boards = [(await client.hear_of(Board)).board for _ in range(3)]
            assert [(board.seat, board.ply) for board in boards] == [(0, 0), (1, 0), (0, 1)]
            # The card turned is one that Bob, who still races, has not seen.
            assert boards[-1].view == replace(view, waste=(FACE_DOWN,), moves=())
        assert (await ann.hear_of(Watchers)).count in (1, 2)
        assert await eve.ask(Unwatch(), Unwatched) == Unwatched(code=code, reason="asked")
        await trio.aclose_forcefully(dan.line.stream)
        await trio.sleep(3)
        assert house.only_room.watchers == 0


async def test_what_cannot_be_watched_is_refused(house: House) -> None:
    async with house.race("Ann", "Bob") as (ann, _), house.guest("Eve") as eve, house.client() as stranger:
        assert (await stranger.error_for(WatchRace())).code == ErrorCode.HELLO_FIRST
        await eve.say(WatchRace(code="AAAAAA", ref=3))
        assert await eve.refusal() == (ErrorCode.NO_SUCH_ROOM, 3)
        error = await ann.error_for(WatchRace(code=house.only_room.code, ref=4))
        assert (error.code, error.fault, error.ref) == (ErrorCode.OWN_RACE, Fault.STATE, 4)


async def test_whoever_comes_to_watch_when_the_race_is_over_and_the_room_gone_is_told_the_result_for_a_while(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house.race("Ann", "Bob", public=False) as (ann, bob), house.guest("Eve") as eve:
        code = house.only_room.code
        for seat, player in enumerate((ann, bob)):
            await player.say(Stop(race=1, seat=seat))
        record = (await ann.hear_of(Result)).record
        for player in (ann, bob):
            await player.ask(LeaveRace(), Left)
        assert len(house.rooms) == 0
        watched = await eve.ask(WatchRace(code=code.lower(), ref=7), Watched)
        assert (watched.ref, watched.room.code, watched.room.phase, watched.room.record) == (7, code, "over", record)
        assert [(seat.name, seat.connected) for seat in watched.room.seats] == [("Ann", False), ("Bob", False)]
        # Nobody has a room by that.
        assert len(house.rooms) == 0
        monkeypatch.setattr(resumption, "STANDS_S", -1)
        await eve.say(WatchRace(code=code, ref=8))
        assert await eve.refusal() == (ErrorCode.NO_SUCH_ROOM, 8)


async def test_whoever_has_left_one_room_and_watches_another_talks_to_that_one(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Eve") as eve:
        code = (await ann.open(seats=2)).code
        await eve.open(seats=2)
        await eve.ask(LeaveRace(), Left)
        await watch(eve, code)
        await eve.say(Say(text="hello"))
        assert [line.name for line in (await ann.hear_of(Talk)).lines] == ["Eve"]


async def test_followers_of_the_lobby_see_the_races_that_are_being_run(house: House) -> None:
    async with house.guest("Eve") as eve:
        assert (await eve.ask(FollowLobby(), Lobby)).running == ()
        async with house.race("Ann", "Bob", deal="143", delay_s=20) as (ann, _):
            lobby = await eve.hear_of(Lobby)
            while not lobby.running:
                lobby = await eve.hear_of(Lobby)
            (running,) = lobby.running
            assert (running.code, running.rules, running.delay_s, running.watchers) == (house.only_room.code, "carpet", 20, 0)
            assert [(seat.name, seat.home) for seat in running.seats] == [("Ann", 4), ("Bob", 4)]
            await ann.move(next(move for move in ann.view.moves if move != "s"))
            while [seat.home for seat in (await eve.hear_of(Lobby)).running[0].seats] != [5, 4]:
                pass
            await watch(eve, running.code)
            while (await eve.hear_of(Lobby)).running[0].watchers != 1:
                pass


# ---- slow watchers


async def fill(house: House, at: int) -> None:
    """More than the outbox of this connection takes, while its peer does not read."""
    end = house.connections[at]
    for number in range(OUTBOX_BYTES // 200 + 200):
        end.post(said(number))


async def test_a_watcher_who_falls_behind_is_shown_everything_anew_and_the_second_time_closed(house: House) -> None:
    async with (
        house.race("Ann", "Bob", delay_s=0) as (ann, _),
        house.guest("Eve", buffer=SMALL, max_queue=1, close_timeout=0.1) as eve,
    ):
        await watch(eve, house.only_room.code)
        await fill(house, 2)
        await ann.play()
        watched = await eve.hear_of(Watched)
        assert (watched.room.seats[0].ply, watched.boards[0].ply) == (1, 1)
        await fill(house, 2)
        assert (await eve.hear_end())[0] == CloseCode.TOO_SLOW
        assert (await ann.play(ply=1)).ply == 2
        assert house.only_room.watchers == 0


async def test_a_server_that_stops_tells_watchers_that_the_room_is_closed(house: House) -> None:
    async with house.guest("Ann") as ann, house.guest("Eve") as eve:
        code = (await ann.open(seats=2)).code
        await watch(eve, code)
        await house.rooms.stop()
        assert await eve.hear_of(Unwatched) == Unwatched(code=code, reason="closed")
        assert not [message for message in eve.heard if isinstance(message, Started)]
