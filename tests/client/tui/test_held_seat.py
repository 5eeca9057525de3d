"""What players are asked who still hold a seat and want something else.

The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved.
"""

from __future__ import annotations

import pytest

from client.tui.lobby.daily import DAILY_REFERENCE
from client.tui.start import SeatRequest, Start, StartMatch, StartRace, StartRequest
from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    JoinRace,
    LeaveRace,
    OpenRace,
    QuickMatch,
)
from protocol.room_events import (
    Countdown,
    Dealt,
    Result,
    Room,
)
from protocol.run_messages import RunChallenge, RunDaily
from protocol.server_messages import Left
from protocol.views import RaceOptions, SharedDeal, SharedKind
from tests.client import scenes
from tests.client.tui.hands import STEADY, UP, running

pytestmark = pytest.mark.usefixtures("mock_clock")

RUN = RunDaily(ref=DAILY_REFERENCE)
"""So that a refusal leads to the board."""


async def test_a_room_entered_before_the_first_screen_is_shown_and_not_asked_for_again() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        assert run.screen.shows("Give this code to the other player:")
        assert run.link.taken() == [FollowLobby(changes=True), FollowLobby(follow=False)]
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        assert run.screen.shows("Give this code to the other player:")
        assert run.link.taken() == []


@pytest.mark.parametrize(
    ("start", "room", "offer", "asked"),
    [
        (StartRequest(RunDaily()), scenes.room(), "Leave it, and run the deal of the day", RUN),
        (StartRequest(OpenRace(options=RaceOptions())), scenes.room(), "Leave it, and open another race", OpenRace(options=RaceOptions())),
        (
            StartRequest(JoinRace(code="AUSNJE")),
            scenes.room(phase="racing", view=scenes.first_view(), seats=(scenes.seat(0, "Anna", state="racing"),)),
            "Forfeit the rated race, and join race AUSNJE",
            JoinRace(code="AUSNJE"),
        ),
        (
            StartMatch("carpet"),
            scenes.next_race(1, scenes.standing((1, 0), 1)),
            "Give up the series, and look for an opponent",
            QuickMatch(rules="carpet"),
        ),
    ],
)
async def test_whoever_holds_a_seat_still_is_asked_at_once_whether_they_leave_it_for_what_they_wanted(
    start: Start, room: Room, offer: str, asked: ClientMessage
) -> None:
    told = f"You still hold a seat in race {scenes.CODE}: you are back in it."
    async with running(start) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        assert not run.screen.shows(told)
        await run.say(room)
        assert all(map(run.screen.shows, (told, "1  Go on with it", f"2  {offer}")))
        run.link.taken()
        await run.give("2")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert asked in run.link.taken()


async def test_whoever_plays_again_after_their_terminal_died_is_asked_whether_they_go_on() -> None:
    wanted = RaceOptions(bots=("Steady",), public=False)
    room = scenes.room(phase="racing", view=scenes.first_view(), seats=(scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Steady")))
    async with running(StartRace(wanted)) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), room)
        told = (
            "Your last game was broken off: you are back in it.",
            "1  Go on with it",
            "2  Forfeit the rated race, and open another race",
        )
        assert all(map(run.screen.shows, told))
        run.link.taken()
        await run.give("2")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert OpenRace(options=wanted) in run.link.taken()


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("daily", RunDaily()), ("challenge", RunChallenge(id="KWPR TM")), (None, JoinRace(code=scenes.CODE.lower()))],
)
async def test_whoever_comes_back_to_the_very_race_that_they_ask_for_is_asked_nothing(kind: SharedKind | None, wanted: SeatRequest) -> None:
    shared = SharedDeal(kind=kind, id="KWPRTM", nonces=()) if kind is not None else None
    room = scenes.room(phase="racing", view=scenes.first_view(), seats=(scenes.seat(0, "Anna", state="racing"),), shared=shared)
    async with running(StartRequest(wanted)) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), room)
        assert not run.screen.shows("You still hold a seat")
        assert not any(isinstance(each, SeatRequest) for each in run.link.taken())


async def test_what_was_wanted_in_place_of_a_held_seat_is_asked_again_in_the_words_of_each_phase() -> None:
    both = (scenes.seat(0, "Anna", ready=True), scenes.seat(1, "Benedikt", ready=True))
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(seats=both))
        await run.give("down")
        for event, first, second in (
            (
                Countdown(version=2, starts_in_ms=3000, round_trips_ms=(20, 30)),
                "Go on with it",
                "Forfeit the rated race, and run the deal of the day",
            ),
            (
                Dealt(version=3, seat=0, starts_in_ms=0, view=scenes.first_view()),
                "Go on with it",
                "Forfeit the rated race, and run the deal of the day",
            ),
            (Result(version=4, record=scenes.record()), "Look at its result", "Leave it, and run the deal of the day"),
        ):
            await run.say(event)
            assert all(map(run.screen.shows, (f"1  {first}", f"▸ 2  {second}"))), "and the same line is marked"
        run.link.taken()
        await run.give("enter")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert RUN in run.link.taken()


async def test_an_answer_too_long_for_a_row_goes_on_in_the_next_and_can_be_clicked_there() -> None:
    series = scenes.standing((1, 0), 1)
    both = (scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Benedikt", state="racing"))
    room = scenes.next_race(1, series, phase="racing", seats=both, view=scenes.first_view())
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), room)
        run.link.taken()
        assert run.screen.shows("2  Forfeit the rated race and give up the series, and run the deal ")
        await run.click("  of the day ")
        assert run.link.taken() == [LeaveRace()]


async def test_what_was_wanted_in_place_of_a_held_seat_follows_when_the_seat_is_lost() -> None:
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room())
        run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="closed"))
        assert RUN in run.link.taken()
        assert not run.screen.shows("You still hold a seat")


async def test_whoever_goes_on_with_the_seat_that_they_held_still_is_not_asked_again() -> None:
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room())
        assert run.screen.shows("You still hold a seat")
        await run.give("enter")
        assert not run.screen.shows("You still hold a seat")
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(), Left(code=scenes.CODE, reason="left"))
        assert not run.screen.shows("You still hold a seat")
        assert not {LeaveRace(), RUN} & set(run.link.taken())


async def test_where_a_seat_is_held_already_nothing_else_is_asked_for() -> None:
    async with running(STEADY) as run:
        await run.say(UP, scenes.welcome(room="KXQWZP"), scenes.room())
        assert run.link.taken() == [FollowLobby(changes=True), FollowLobby(follow=False)]
        assert run.screen.shows("KXQWZP")
