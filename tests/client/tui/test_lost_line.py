"""A line that is lost, a room that is left, and the end of the program.

The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from client.connection.events import NO_SEAT, Back, Connecting, Lost
from client.tui.start import AppOutcome, StartRace
from protocol.client_messages import (
    FollowLobby,
    LeaveRace,
    Move,
    Say,
)
from protocol.server_messages import CurrentView, Left
from protocol.views import RaceOptions
from tests.client import scenes
from tests.client.tui.hands import DEFAULTS, HOME, UP, answer, racing, ready_sent, running, settled
from tests.client.watched import watched

pytestmark = pytest.mark.usefixtures("mock_clock")


async def test_leaving_goes_home_and_follows_the_lobby_again() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        run.link.taken()
        await run.give("L")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("Open a race")
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_without_a_connection_nothing_is_lost_silently() -> None:
    async with racing() as run:
        run.link.up = False
        await run.say(Lost("no route", 3000))
        assert run.screen.shows("reconnecting in 3 s")
        assert run.screen.shows("no route")
        await run.give("c", "1")
        assert run.screen.shows("Not connected. Reconnecting...")
        run.link.up = True
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        assert run.screen.shows("resuming")
        await run.give("c", "1")
        assert run.link.taken() == []
        await run.say(CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=9, view=scenes.middle_view()), Back())
        assert run.screen.shows("Connected again.")
        await run.give("c", "1")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]


async def test_a_phrase_that_could_not_be_sent_is_said_to_be_lost() -> None:
    async with racing() as run:
        run.link.up = False
        await run.say(Lost("no route", 3000))
        run.link.taken()
        await run.give("t", "1")
        assert run.screen.shows("That was not said: not connected. Reconnecting...")
        # Another attempt fails.
        await run.say(Connecting(2), Lost("no route", 3000))
        assert run.screen.shows("That was not said: not connected. Reconnecting...")


async def test_whoever_leaves_without_a_connection_is_told_that_they_have_not_left() -> None:
    async with racing() as run:
        run.link.up = False
        await run.say(Lost("no route", 3000))
        run.link.taken()
        await run.give("L", "y")
        await run.say(Connecting(2), Lost("no route", 3000))
        assert run.screen.shows("You have not left: not connected. Reconnecting...")
        assert run.link.taken() == []


@pytest.mark.parametrize("watches", [False, True])
async def test_a_line_of_chat_that_could_not_be_sent_stays_and_goes_out_by_the_next_connection(watches: bool) -> None:
    async with running() as run:
        code = watched().room.code if watches else None
        await run.say(UP, scenes.welcome(), watched() if watches else scenes.room())
        run.link.up = False
        await run.say(Lost("no route", 3000))
        run.link.taken()
        await run.give("t", *"good luck", "enter")
        assert run.screen.shows("Say: good luck")
        assert run.screen.shows("Not connected. Reconnecting...")
        await run.give(" ", "!")
        assert run.screen.shows("Say: good luck !")
        assert not run.screen.shows("Not connected. Reconnecting...")
        assert run.screen.shows("no route")
        run.link.up = True
        await run.say(UP, scenes.welcome(room=None if watches else scenes.CODE))
        run.link.taken()
        await run.give("enter")
        assert run.link.taken() == [Say(text="good luck !", code=code)]
        assert not run.screen.shows("Say:")


async def test_whoever_says_ready_without_a_connection_is_ready_in_that_race_and_no_other() -> None:
    both = (scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt"))
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(version=2, seats=both))
        run.link.up = False
        await run.say(Lost("no route", 3000))
        run.link.taken()
        await run.give("r")
        assert run.screen.shows("Not connected. You will be ready once the connection is back.")
        run.link.up = True
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        assert run.link.taken() == []
        await run.say(scenes.room(version=2, seats=both), Back())
        assert ready_sent(run).race == 1
        await run.say(scenes.room(version=3, race=2, seats=both))
        assert run.link.taken() == []


async def test_whoever_turned_out_to_be_ready_already_is_not_made_ready_for_the_next_race() -> None:
    both = (scenes.seat(0, "Anna", ready=True), scenes.seat(1, "Benedikt"))
    series = scenes.standing((0, 0), 0)
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.next_race(2, series, race=1))
        run.link.up = False
        await run.say(Lost("no route", 3000))
        run.link.taken()
        await run.give("r")
        run.link.up = True
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.next_race(3, series, race=1, seats=both), Back())
        await run.say(scenes.next_race(4, scenes.standing((1, 0), 1)))
        assert run.link.taken() == []


async def test_a_move_the_connection_was_lost_with_is_the_links_and_is_not_sent_by_a_second_press() -> None:
    async with racing() as run:
        await run.give("c", "1", "w")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        await run.say(Lost("no route", 3000))
        assert run.screen.shows("Your move c1 is not confirmed yet")
        assert run.screen.shows("Not played after it: w.")
        assert not run.screen.shows("enter play")
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        await run.say(CurrentView(race=1, seat=0, ply=0, state="racing", elapsed_ms=9, view=scenes.middle_view()), Back())
        assert not run.screen.shows("Your move c1")
        await run.give("c", "2")
        view = scenes.middle_view(pending=True)
        assert run.link.taken() == [], "the link sends the move again, and the next waits for it"
        await run.say(answer("c1", 1, view))
        await run.give("w")
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:c1")]


async def test_without_a_connection_the_home_screen_shows_no_lobby_of_before() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        assert run.screen.shows("ABCDEF")
        await run.say(Lost("no route", 3000))
        assert not run.screen.shows("ABCDEF")
        assert not run.screen.shows("4 online")
        assert run.screen.shows("Not connected.")
        run.link.taken()
        await run.say(UP, scenes.welcome(), Back(), scenes.lobby())
        assert run.link.taken() == [FollowLobby(changes=True)]
        assert run.screen.shows("ABCDEF")


async def test_a_server_that_forgot_the_race_sends_us_home() -> None:
    async with racing() as run:
        await run.say(Lost("gone", 1), UP, scenes.welcome(), Left(code=scenes.CODE, reason=NO_SEAT), Back())
        assert run.screen.shows(f"The server no longer has a seat for you in race {scenes.CODE}: see carpet history.")
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_quitting_asks_in_a_race_only_and_says_where_the_seat_is() -> None:
    async with racing() as run:
        await run.give("C", "B", "q", "y")
        assert run.outcome is not None
        assert (run.outcome.reason, run.outcome.code) == ("quit", scenes.CODE)
        assert run.outcome.settings == replace(DEFAULTS, palette="four", bell=False, by_key=frozenset({"palette", "bell", "tones"}))
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("q")
        assert run.outcome == AppOutcome("quit", DEFAULTS)


async def test_quitting_a_server_of_ones_own_promises_no_seat() -> None:
    for start, words in (
        (StartRace(RaceOptions(bots=("greedy",))), "The race ends with it."),
        (HOME, "Your seat is held for 1 min, then forfeited."),
    ):
        async with racing(start) as run:
            await run.give("q")
            assert run.screen.shows(words)


async def test_a_connection_that_does_not_come_back_by_itself_is_not_said_to() -> None:
    async with racing() as run:
        run.link.up = False
        await run.say(Lost("The host of this server has banned you.", None))
        for keys in (["c", "1"], ["G"], ["K", "y"]):
            await run.give(*keys)
            assert run.screen.shows("The host of this server has banned you.")
            assert not run.screen.shows("Reconnecting")


async def test_the_link_may_end_and_the_screens_stay() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), Lost("taken over by another terminal", None))
        run.link.close()
        await settled()
        assert run.outcome is None
        assert run.screen.shows("offline")
        assert run.screen.shows("taken over")
        await run.give("q")
        assert run.outcome is not None


async def test_a_resize_redraws_and_a_small_terminal_keeps_running() -> None:
    async with racing() as run:
        run.screen.size = (60, 20)
        await run.give("window resize")
        assert run.screen.shows("Too small")
        await run.give("c", "1")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        run.screen.size = (120, 40)
        await run.give("window resize")
        assert len(run.screen.last_text) == 40
        assert run.screen.shows("5♥")


@pytest.mark.parametrize(
    ("lost", "key", "hurried"), [(Lost("gone", 5000), "x", 1), (Lost("elsewhere", None), "enter", 1), (Lost("elsewhere", None), "x", 0)]
)
async def test_a_key_hurries_a_lost_connection_and_enter_takes_back_one_that_was_taken_over(lost: Lost, key: str, hurried: int) -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), lost)
        await run.give(key)
        assert run.link.hurried == hurried
        assert not run.screen.shows("Time limit"), "the marked line, Open a race, is not taken by the same key"


async def test_how_to_take_back_a_connection_that_was_taken_over_is_said_whatever_else_is() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), Lost("You continued in another window. Press Enter to go on here.", None))
        await run.give("x")
        assert run.screen.shows("Press Enter to go on here.")
