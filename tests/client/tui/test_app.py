"""The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from client.connection.events import NO_SEAT, Back, Connecting, Lost, RoundTrip
from client.connection.outbox import FIRST_NUMBER
from client.state.evidence import Evidence
from client.tui.ending import QUIET_MS
from client.tui.result import ASKED_STANDS_MS
from client.tui.start import AppOutcome, SeatRequest, Start, StartMatch, StartRace, StartRequest, UiSettings
from client.tui.terminal import Terminal
from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Resign,
    Say,
    Stop,
)
from protocol.errors import ErrorCode
from protocol.forms import RACE_FORM
from protocol.record import Record, sealed
from protocol.room_events import (
    Countdown,
    Dealt,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    RematchAsked,
    Result,
    Room,
    Scored,
    Seated,
    Started,
    Unseated,
)
from protocol.run_messages import RunChallenge, RunDaily
from protocol.server_messages import CurrentView, Left, LobbyChanges, WaitingMatch, WaitingOver
from protocol.views import OpenRaceInfo, RaceOptions, SeatState, SeriesOptions, SharedDeal, SharedKind
from protocol.watch_messages import WatchRace
from tests.client import scenes
from tests.client.tui.hands import DEFAULTS, HOME, UP, HandScreen, Run, answer, raced, racing, running, settled
from tests.client.watched import watched

pytestmark = pytest.mark.usefixtures("mock_clock")


def ready_sent(run: Run) -> Ready:
    """All that was sent since the last time."""
    (ready,) = run.link.taken()
    assert isinstance(ready, Ready)
    assert len(bytes.fromhex(ready.nonce)) == 16
    return ready


DEAL_LINE, SERIES_LINE = ([field.name for field in RACE_FORM].index(name) for name in ("deal", "series"))


async def test_the_home_screen_follows_the_lobby_and_shows_the_connection() -> None:
    async with running() as run:
        await run.say(Connecting(1))
        assert run.screen.shows("connecting")
        await run.say(UP, RoundTrip(17), scenes.welcome(), scenes.lobby())
        assert run.screen.shows("17 ms")
        assert run.screen.shows("Benedikt")
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_starting_with_a_bot_opens_a_race_and_is_ready_at_once() -> None:
    async with running(StartRace(RaceOptions(bots=("Steady",), deal="garden"))) as run:
        await run.say(UP, scenes.welcome())
        options = RaceOptions(bots=("Steady",), public=False, deal="garden")
        assert run.link.taken()[0] == OpenRace(options=options)
        await run.say(scenes.room())
        unfollow, ready = run.link.taken()
        assert unfollow == FollowLobby(follow=False)
        assert isinstance(ready, Ready)
        assert len(bytes.fromhex(ready.nonce)) == 16


async def test_a_race_at_once_that_was_refused_makes_no_other_race_one() -> None:
    async with running(STEADY, size=(60, 20)) as run:
        await run.say(UP, scenes.welcome())
        # The answer is still to come.
        await run.say(scenes.refusal(ErrorCode.CANNOT_WRITE))
        assert run.screen.shows("The race starts in a larger window")
        # By the number that the connection gave to the request.
        await run.say(scenes.refusal(ErrorCode.SERVER_FULL, FIRST_NUMBER))
        assert not run.screen.shows("The race starts in a larger window")
        run.screen.size = (80, 24)
        await run.give("window resize")
        await run.say(scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        assert Ready not in map(type, run.link.taken())


async def test_a_race_against_a_bot_waits_for_a_terminal_that_can_show_it() -> None:
    async with running(STEADY, size=(60, 20)) as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        assert run.screen.shows("The race starts in a larger window")
        assert Ready not in map(type, run.link.taken())
        for size, readies in (((79, 40), 0), ((80, 24), 1), ((60, 20), 0), ((120, 40), 0)):
            run.screen.size = size
            await run.give("window resize")
            assert list(map(type, run.link.taken())) == [Ready] * readies


async def test_a_player_who_gets_ready_in_a_small_window_is_told_of_the_race_and_not_that_it_waits() -> None:
    async with running(STEADY, size=(60, 20)) as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        run.link.taken()
        await run.give("r")
        assert list(map(type, run.link.taken())) == [Ready]
        await run.say(PlayerReady(version=2, seat=0))
        assert run.screen.shows("You are ready.")


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
        (StartRequest(RunDaily()), scenes.room(), "Leave it, and run the deal of the day", RunDaily()),
        (StartRequest(OpenRace(options=RaceOptions())), scenes.room(), "Leave it, and open another race", OpenRace(options=RaceOptions())),
        (
            StartRequest(JoinRace(code="AUSNJE")),
            scenes.room(phase="racing", view=scenes.first_view(), seats=(scenes.seat(0, "Anna", state="racing"),)),
            "Forfeit the race, and join race AUSNJE",
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
        told = ("Your last game was broken off: you are back in it.", "1  Go on with it", "2  Forfeit the race, and open another race")
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
        assert wanted not in run.link.taken()


async def test_what_was_wanted_in_place_of_a_held_seat_is_asked_again_in_the_words_of_each_phase() -> None:
    both = (scenes.seat(0, "Anna", ready=True), scenes.seat(1, "Benedikt", ready=True))
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(seats=both))
        await run.give("down")
        for event, first, second in (
            (
                Countdown(version=2, starts_in_ms=3000, round_trips_ms=(20, 30)),
                "Go on with it",
                "Forfeit the race, and run the deal of the day",
            ),
            (
                Dealt(version=3, seat=0, starts_in_ms=0, view=scenes.first_view()),
                "Go on with it",
                "Forfeit the race, and run the deal of the day",
            ),
            (Result(version=4, record=scenes.record()), "Look at its result", "Leave it, and run the deal of the day"),
        ):
            await run.say(event)
            assert all(map(run.screen.shows, (f"1  {first}", f"▸ 2  {second}"))), "and the same line is marked"
        run.link.taken()
        await run.give("enter")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert RunDaily() in run.link.taken()


async def test_an_answer_too_long_for_a_row_goes_on_in_the_next_and_can_be_clicked_there() -> None:
    series = scenes.standing((1, 0), 1)
    both = (scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Benedikt", state="racing"))
    room = scenes.next_race(1, series, phase="racing", seats=both, view=scenes.first_view())
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), room)
        run.link.taken()
        assert run.screen.shows("2  Forfeit the race and give up the series, and run the deal of the")
        await run.click("  day ")
        assert run.link.taken() == [LeaveRace()]


async def test_what_was_wanted_in_place_of_a_held_seat_follows_when_the_seat_is_lost() -> None:
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room())
        run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="closed"))
        assert RunDaily() in run.link.taken()
        assert not run.screen.shows("You still hold a seat")


async def test_whoever_goes_on_with_the_seat_that_they_held_still_is_not_asked_again() -> None:
    async with running(StartRequest(RunDaily())) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room())
        assert run.screen.shows("You still hold a seat")
        await run.give("enter")
        assert not run.screen.shows("You still hold a seat")
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(), Left(code=scenes.CODE, reason="left"))
        assert not run.screen.shows("You still hold a seat")
        assert not {LeaveRace(), RunDaily()} & set(run.link.taken())


async def test_an_opponent_is_looked_for_once_the_race_that_is_over_is_left() -> None:
    async with running(StartMatch("colorado")) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), replace(scenes.room(), phase="over"))
        assert QuickMatch(rules="colorado") not in run.link.taken()
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.link.taken() == [QuickMatch(rules="colorado"), FollowLobby(changes=True)]


STEADY = StartRace(RaceOptions(bots=("Steady",)))
WAITING = WaitingMatch(rules=None, waited_ms=0, window=100, waiting=1)


async def test_keys_and_clicks_begin_the_search_for_an_opponent_and_escape_and_the_like_end_it() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        for begin, end in (("m", "esc"), ("m", "m"), (None, None)):
            await (run.give(begin) if begin else run.click("Quick match"))
            assert run.link.taken() == [QuickMatch()]
            await run.say(WAITING)
            assert run.screen.shows("Looking for an opponent within 100 points (1 waiting, 0:00); esc stops.")
            await (run.give(end) if end else run.click("Stop looking"))
            assert run.link.taken() == [QuickMatch(cancel=True)]
            await run.say(WaitingOver(reason="cancelled"))
            assert not run.screen.shows("Looking for")
        await run.give("esc")
        assert run.link.taken() == []


async def test_the_seconds_of_the_search_are_counted() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), WAITING)
        await run.later(7.2)
        assert run.screen.shows("(1 waiting, 0:07)")


async def test_a_start_with_a_search_asks_for_it_once_and_a_found_opponent_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[bool] = []
    monkeypatch.setattr(Terminal, "bell", lambda terminal: rung.append(True))
    async with running(StartMatch("colorado")) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [QuickMatch(rules="colorado"), FollowLobby(changes=True)]
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [FollowLobby(changes=True)]
        await run.say(WaitingMatch(rules="colorado", waited_ms=0, window=100, waiting=1))
        assert rung == []
        await run.say(scenes.room())
        assert rung == [True]
        assert not run.screen.shows("Looking for")


@pytest.mark.parametrize(
    ("kind", "heard"),
    [("linux", "\x1b[10;1046]\x1b[11;125]\a\x1b[10]\x1b[11]"), ("xterm-256color", "\x1b[3;4;13,~")],
    ids=["Linux console", "DECPS"],
)
async def test_a_tone_takes_the_bells_place_where_that_is_wished_for(kind: str, heard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(HandScreen, "term", kind, raising=False)
    monkeypatch.setattr(Terminal, "_write", lambda terminal, text: written.append(text))
    async with racing(settings=replace(DEFAULTS, bell=True, tones=True)) as run:
        assert written == [heard]
        await run.give("B")
        assert run.screen.shows("The bell is on.")
        await run.give("B")
        assert run.screen.shows("The bell is off.")
        await run.give("B")
        assert run.screen.shows("Tones in place of the bell")


async def test_a_start_with_a_bot_asks_for_its_race_once() -> None:
    async with running(STEADY) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [OpenRace(options=RaceOptions(bots=("Steady",), public=False)), FollowLobby(changes=True)]
        await run.say(UP, scenes.welcome())
        assert run.link.taken() == [FollowLobby(changes=True)]


async def test_where_a_seat_is_held_already_nothing_else_is_asked_for() -> None:
    async with running(STEADY) as run:
        await run.say(UP, scenes.welcome(room="KXQWZP"), scenes.room())
        assert run.link.taken() == [FollowLobby(changes=True), FollowLobby(follow=False)]
        assert run.screen.shows("KXQWZP")


async def test_a_card_is_played_by_its_name_by_the_cursor_and_by_a_click() -> None:
    ways: list[Callable[[Run], Awaitable[None]]] = [
        lambda run: run.give("c", "1"),
        lambda run: run.give("'", "c", "1"),
        lambda run: run.give("tab", "shift tab", "enter"),
        lambda run: run.give(":", "c", "1", "enter"),
        lambda run: run.click(" 5♥"),
    ]
    for way in ways:
        async with racing() as run:
            await way(run)
            assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]


async def test_waste_and_stock_turn_and_fill_by_keys_and_by_clicks() -> None:
    view = scenes.middle_view(pending=True)
    for given, move in ((("w",), "w:c1"), (("s",), "s:c1")):
        async with racing() as run:
            await run.say(answer("c1", 1, view))
            assert run.screen.shows("Fill the gap at c1")
            await run.give(*given)
            assert run.link.taken() == [Move(race=1, seat=0, ply=1, move=move)]
    for pile in ("░ 10 ░", "s stock"):
        async with racing() as run:
            await run.click(pile)
            assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="s")]


async def test_a_click_on_the_gap_and_one_on_a_card_fill_it() -> None:
    async with racing() as run:
        view = scenes.middle_view(pending=True)
        await run.say(answer("c1", 1, view))
        await run.click("c1?")
        assert run.screen.shows("c1 can take the stock (s) or waste (w)")
        await run.click("9♣")
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:c1")]


async def test_what_is_typed_ahead_is_played_when_the_answer_is_there() -> None:
    async with racing() as run:
        await run.give("c", "1", "w")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        view = scenes.middle_view(pending=True)
        await run.say(answer("c1", 1, view))
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:c1")]


async def test_what_cannot_be_played_is_not_sent_and_told() -> None:
    async with racing() as run:
        await run.give("a", "1")
        assert run.link.taken() == []
        assert run.screen.shows("The card at a1 cannot be played now.")
        await run.give("a", "9")
        assert run.screen.shows("There is no slot a9.")


async def test_a_refused_move_shows_why_and_the_table_as_it_is() -> None:
    async with racing() as run:
        await run.give("c", "1")
        refusal = scenes.refusal(ErrorCode.STALE_PLY, message="Played already.")
        current = CurrentView(race=1, seat=0, ply=4, state="racing", elapsed_ms=9, view=scenes.middle_view())
        await run.say(refusal, current)
        assert run.screen.shows("Played already.")
        run.link.taken()
        await run.give("c", "2")
        assert run.link.taken() == [Move(race=1, seat=0, ply=4, move="c2")]


async def test_no_move_is_sent_before_the_clock_runs() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        await run.say(Dealt(version=2, seat=0, starts_in_ms=500, view=scenes.middle_view()))
        run.link.taken()
        await run.give("c", "1")
        assert run.link.taken() == []
        assert run.screen.shows("The clock has not started yet.")


async def test_a_clock_stands_and_is_in_doubt_while_nothing_is_heard_of_the_server() -> None:
    async with racing() as run:
        await run.later(5)
        await run.say(Lost("The server does not answer.", 1000))
        for passed_s in (7, 60):
            await run.later(passed_s)
            assert run.screen.shows("0:05? / 10:00")
            assert run.screen.shows("while the server is down, no clock runs")
        # It was down for all that time, and had kept the race as it was a little before.
        seats = (scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Benedikt", state="racing"))
        back = scenes.room(version=8, phase="racing", seats=seats, elapsed_ms=4000, view=scenes.middle_view())
        await run.say(UP, scenes.welcome(room=scenes.CODE), back, Back())
        assert run.screen.shows("0:04 / 10:00")
        await run.later(1)
        await run.say(RoundTrip(17))
        assert run.screen.shows("0:05 / 10:00")


async def test_what_the_host_says_is_shown_and_takes_back_nothing_that_was_typed_ahead() -> None:
    async with racing() as run:
        await run.give("c", "1")
        run.link.taken()
        await run.give("c", "2")
        await run.say(scenes.refusal(ErrorCode.HOST_SAYS, message="The host has a message. (We restart at eight.)"))
        await run.later(30)
        assert run.screen.shows("We restart at eight.")
        assert run.link.taken() == []
        await run.say(PlayerView(version=8, seat=0, ply=1, move="c1", state="racing", elapsed_ms=5200, view=scenes.middle_view()))
        assert len(run.link.taken()) == 1


async def test_a_clock_stands_and_says_why_while_the_server_can_keep_nothing() -> None:
    async with racing() as run:
        await run.later(5)
        await run.give("c", "1")
        await run.say(scenes.refusal(ErrorCode.CANNOT_WRITE))
        for passed_s in (7, 60):
            await run.later(passed_s)
            await run.say(RoundTrip(17))
            assert run.screen.shows("0:05? / 10:00")
            assert run.screen.shows("The server cannot save anything just now.")
        # The move is on its way still, and what is pressed now waits behind it.
        run.link.taken()
        await run.give("c", "2")
        assert run.link.taken() == []
        view = PlayerView(version=8, seat=0, ply=1, move="c1", state="racing", elapsed_ms=5200, view=scenes.middle_view())
        await run.say(view)
        assert run.screen.shows("0:05 / 10:00")
        assert not run.screen.shows("The server cannot save anything just now.")


async def test_the_clock_runs_on_the_screen_which_is_drawn_once_a_second_for_it() -> None:
    async with racing() as run:
        before = len(set(map(id, run.screen.canvases)))
        for _ in range(32):
            await run.later(0.1)
        assert run.screen.shows("0:03")
        assert 3 <= len(set(map(id, run.screen.canvases))) - before <= 5


async def test_a_remark_about_a_key_leaves_after_some_seconds() -> None:
    async with racing() as run:
        await run.give("x")
        assert run.screen.shows("No card has the key x now.")
        await run.later(5)
        await run.give("x")
        for seconds, stands in ((5, True), (4, False)):
            await run.later(seconds)
            assert run.screen.shows("No card has the key x now.") is stands


async def test_while_a_line_is_typed_the_keys_at_the_foot_are_those_of_typing() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("c")
        assert run.screen.last_text[-1].split() == ["enter", "done", "esc", "cancel"]
        await run.give(*"kxqwzp")
        run.link.taken()
        await run.click("enter done")
        assert run.link.taken() == [JoinRace(code="KXQWZP")]
        await run.give("c")
        await run.click("esc cancel")
        assert "quit" in run.screen.last_text[-1]


async def test_while_something_is_asked_the_keys_at_the_foot_are_those_of_the_question() -> None:
    async with racing() as run:
        assert "w waste" in run.screen.last_text[-1]
        await run.give("K")
        assert run.screen.last_text[-1].split() == ["enter", "choose", "esc", "back", "y", "yes", "n", "no"]
        await run.give("q")
        assert run.screen.shows("q does nothing here; the box and the last row show the keys.")
        await run.give("?")
        assert run.screen.shows("? does nothing here; the box and the last row show the keys.")
        await run.click("n no")
        assert "w waste" in run.screen.last_text[-1]
        assert run.link.taken() == []


@pytest.mark.parametrize(("key", "message"), [("K", Stop(race=1, seat=0)), ("R", Resign(race=1, seat=0)), ("L", LeaveRace())])
async def test_what_cannot_be_taken_back_is_asked_first(key: str, message: object) -> None:
    async with racing() as run:
        await run.give(key, "n")
        assert run.link.taken() == []
        await run.give(key, "enter")
        assert run.link.taken() == []
        await run.give(key, "esc")
        await run.give(key, "y")
        assert run.link.taken() == [message]


async def test_what_has_ended_cannot_be_ended_again() -> None:
    async with racing() as run:
        await run.say(PlayerView(version=8, seat=0, ply=1, move="s", state="stalled", elapsed_ms=5, view=scenes.middle_view()))
        await run.give("R", "y", "K")
        assert run.link.taken() == []
        assert run.screen.shows("Your race has already ended.")


async def test_talk_goes_out_cleaned_and_its_letters_are_no_keys() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        run.link.taken()
        await run.give("t", *"quit c1", "enter")
        assert run.link.taken() == [Say(text="quit c1")]
        await run.give("t", "x", "esc")
        assert run.link.taken() == []
        assert run.outcome is None


async def test_while_the_race_is_run_talk_is_one_of_nine_phrases() -> None:
    async with racing() as run:
        await run.give("t", "2")
        await run.give("t", "down", "down", "enter")
        assert run.link.taken() == [Say(text="Good luck!", phrase="good-luck"), Say(text="Nice!", phrase="nice")]
        # Neither yes nor no is a phrase, and the race goes on underneath.
        await run.give("t", "y", "n", "0", "²", "٣")
        assert run.link.taken() == []
        await run.give("esc", "s")
        assert [type(message) for message in run.link.taken()] == [Move]


async def test_a_line_begun_before_the_start_leaves_the_keys_to_the_table_and_is_there_again_after_the_race() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        await run.give("r", "t", *"have fun")
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7))
        assert run.screen.shows("The race has begun. Your line is kept: t after the race.")
        run.link.taken()
        await run.give(*" dear", "enter")
        assert run.link.taken() == [], "typed on before they saw that the race had begun"
        await run.later(QUIET_MS / 1000)
        await run.give("c", "1")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        await run.say(Result(version=8, record=scenes.record()))
        run.link.taken()
        await run.give("t")
        assert run.screen.shows("Say: have fun")
        await run.give("!", "enter")
        assert run.link.taken() == [Say(text="have fun!")]
        await run.give("t", "x", "enter")
        assert run.link.taken() == [Say(text="x")]


@pytest.mark.parametrize("watches", [False, True])
@pytest.mark.parametrize(
    ("code", "why"),
    [(ErrorCode.PHRASES_ONLY, "Only phrases can be said here"), (ErrorCode.TALKED_TOO_MUCH, "Too much is being said there")],
)
async def test_a_line_that_the_server_refuses_to_pass_on_for_now_need_not_be_typed_again(watches: bool, code: ErrorCode, why: str) -> None:
    async with running() as run:
        room = watched().room.code if watches else None
        await run.say(UP, scenes.welcome(), watched() if watches else scenes.room())
        run.link.taken()
        await run.give("t", *"nice deal", "enter")
        assert run.link.taken() == [Say(text="nice deal", code=room)]
        await run.say(scenes.refusal(code))
        assert run.screen.shows(why)
        await run.give("t", "!", "enter")
        assert run.link.taken() == [Say(text="nice deal!", code=room)]
        # Whoever has seen it and gone away does not want it.
        await run.say(scenes.refusal(code))
        await run.give("t", "esc", "t", "x", "enter")
        assert run.link.taken() == [Say(text="x", code=room)]


async def test_the_result_and_a_rematch() -> None:
    async with raced() as run:
        await run.later(1)
        assert run.screen.shows("You won by")
        await run.give("d")
        assert run.screen.shows("commitment")
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        await run.say(scenes.room(version=9, race=2))
        assert run.screen.shows("race 2")
        assert ready_sent(run).race == 2


async def test_once_a_player_has_left_no_rematch_is_offered_and_none_asked_for() -> None:
    async with raced() as run:
        await run.later(1)
        await run.say(Presence(version=9, seat=1, connected=False, away_ms=None))
        assert run.screen.shows("r rematch"), "who has lost their connection may come back"
        await run.say(Unseated(version=10, seat=1))
        assert run.screen.shows("There is no rematch: Benedikt has left.")
        assert not run.screen.shows("r rematch")
        await run.give("r", "enter")
        assert run.link.taken() == []
        gone = (scenes.seat(0, "Anna"), scenes.seat(1, None))
        await run.say(scenes.room(version=11, phase="over", record=scenes.record(), seats=gone))
        assert not run.screen.shows("r rematch")


def ends(first: SeatState, second: SeatState) -> tuple[Progress | PlayerView | Result, ...]:
    """What Anna's seat is told at the end of a race: each seat's end, and then the result."""
    own_end: Progress | PlayerView
    if first == "stalled":
        own_end = PlayerView(
            version=9, seat=0, ply=1, move="s", state=first, elapsed_ms=9_000, view=replace(scenes.middle_view(), moves=())
        )
    else:
        own_end = Progress(version=9, seat=0, ply=0, home=18, foundations={}, state=first, elapsed_ms=9_000)
    other_end = Progress(version=8, seat=1, ply=60, home=52, foundations={}, state=second, elapsed_ms=9_000)
    anna, benedikt = scenes.record().seats
    seats = (replace(anna, state=first, ended_at_ms=9_000), replace(benedikt, state=second, ended_at_ms=9_000))
    return other_end, own_end, Result(version=10, record=sealed(replace(scenes.record(), seats=seats)))


@pytest.mark.parametrize("key", ["enter", "s", "r"])
@pytest.mark.parametrize(
    ("own", "other"),
    [("stopped", "won"), ("stopped", "forfeited"), ("out-of-time", "out-of-time"), ("stalled", "stopped")],
    ids=["beaten", "the other gave up", "time up", "no move left"],
)
async def test_a_key_for_the_table_that_comes_as_the_race_ends_asks_for_nothing_else(own: SeatState, other: SeatState, key: str) -> None:
    async with racing() as run:
        await run.say(*ends(own, other))
        await run.give(key)
        assert not run.link.taken()
        assert not run.screen.shows("Write into a file")
        await run.later(1)
        await run.give(key)
        assert run.link.taken() or run.screen.shows("Write into a file")


async def test_a_result_that_comes_as_a_beaten_player_is_back_does_not_either(mock_clock: trio.testing.MockClock) -> None:
    async with racing() as run:
        await run.say(Lost("no route", 1000))
        *_, result = ends("stopped", "won")
        assert isinstance(result, Result)
        seats = (scenes.seat(0, "Anna", state="stopped", elapsed_ms=5_000), scenes.seat(1, "Benedikt", state="won", elapsed_ms=9_000))
        over = scenes.room(version=20, phase="over", seats=seats, view=scenes.middle_view(), record=result.record)
        await run.say(UP, scenes.welcome(room=scenes.CODE), over, Back())
        run.link.taken()
        await run.give("enter")
        assert not run.link.taken()
        mock_clock.jump(1)
        await run.give("enter")
        assert run.link.taken() == [Rematch(race=1)]


@pytest.mark.parametrize("own", ["stopped", "forfeited"])
async def test_after_a_race_that_they_have_ended_themselves_a_players_keys_count_at_once(own: SeatState) -> None:
    async with racing() as run:
        await run.say(*ends(own, "stalled"))
        await run.give("enter")
        assert run.link.taken() == [Rematch(race=1)]


async def test_a_rematch_against_a_bot_is_waited_for_by_nobody() -> None:
    async with running() as run:
        seats = (scenes.seat(0, "Anna"), scenes.seat(1, "greedy", bot="greedy"))
        await run.say(UP, scenes.welcome(), scenes.room(seats=seats, phase="over", record=scenes.record()))
        run.link.taken()
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        await run.say(scenes.room(version=9, race=2, seats=seats))
        assert ready_sent(run).race == 2


@pytest.mark.parametrize("meanwhile", [(), ("window resize",)])
async def test_whoever_asks_last_for_a_rematch_is_ready_for_it(meanwhile: tuple[str, ...]) -> None:
    async with racing() as run:
        await run.say(Result(version=8, record=scenes.record()), RematchAsked(version=9, seat=1))
        await run.later(1)
        await run.give("r")
        run.screen.size = (100, 30)
        await run.give(*meanwhile)
        assert run.link.taken() == [Rematch(race=1)]
        await run.say(scenes.room(version=11, race=2))
        assert ready_sent(run).race == 2


async def test_whoever_asked_first_for_a_rematch_is_ready_for_it_when_the_other_agrees_at_once() -> None:
    async with raced() as run:
        await run.later(1)
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        await run.later(ASKED_STANDS_MS / 1000 - 1)
        await run.say(RematchAsked(version=9, seat=0), RematchAsked(version=10, seat=1), scenes.room(version=11, race=2))
        assert ready_sent(run).race == 2


async def test_whoever_asked_long_ago_for_a_rematch_is_called_and_says_that_they_are_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[bool] = []
    monkeypatch.setattr(Terminal, "bell", lambda terminal: rung.append(True))
    async with raced(settings=replace(DEFAULTS, bell=True)) as run:
        await run.later(1)
        await run.give("r")
        await run.later(ASKED_STANDS_MS / 1000 + 1)
        await run.say(RematchAsked(version=9, seat=0), RematchAsked(version=10, seat=1))
        rung.clear()
        await run.say(scenes.room(version=11, race=2))
        assert run.link.taken() == [Rematch(race=1)]
        assert rung == [True]
        run.screen.size = (100, 30)
        await run.give("window resize")
        assert run.link.taken() == [], "nor when something else happens"


async def test_a_rematch_that_never_came_readies_nobody_for_another_room() -> None:
    async with racing() as run:
        await run.say(Result(version=8, record=scenes.record()), RematchAsked(version=9, seat=1))
        await run.give("r", "L")
        await run.say(Left(code="KXQWZP", reason="left"), scenes.room(version=1))
        assert not any(isinstance(message, Ready) for message in run.link.taken())


async def test_home_is_walked_and_clicked() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.click("Steady")
        assert run.link.taken() == []
        await run.give("enter")
        assert run.link.taken() == [OpenRace(options=RaceOptions(bots=("Steady",), public=False))]
        await run.give("r", "enter")
        assert run.link.taken() == [JoinRace(code="ABCDEF")]
        await run.give("c", *"kxq", "enter")
        assert run.link.taken() == [JoinRace(code="KXQ")]
        await run.give("c", *" - ", "enter")
        assert run.link.taken() == [], "there is none without letters"
        await run.give("o")
        assert run.screen.shows("Time limit")
        await run.give("down", "down", "right", "up", "enter")
        await run.give("esc", "esc")
        await run.click("Open a race")
        await run.click("Open this race")
        assert run.link.taken() == [OpenRace(options=RaceOptions())]


def lobby_change(*, gone: tuple[str, ...] = (), races: tuple[OpenRaceInfo, ...] = (), closest: str | None = None) -> LobbyChanges:
    return LobbyChanges(players_here=4, races_open=2, races_running=7, gone=gone, races=races, running=(), progress=(), closest=closest)


async def test_enter_takes_the_race_that_was_marked_wherever_it_has_come_to_stand() -> None:
    first, second = scenes.lobby().races
    closest, other = scenes.running()
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("r", "down")
        await run.say(lobby_change(gone=(first.code,), closest=closest.code))
        await run.give("enter")
        assert run.link.taken() == [JoinRace(code=second.code)]
        await run.give("w", "down")
        await run.say(lobby_change(races=(first, replace(first, code="NEWONE")), closest=other.code))
        await run.give("enter")
        (watch,) = run.link.taken()
        assert isinstance(watch, WatchRace)
        assert watch.code == other.code


async def test_the_mark_stays_in_place_when_its_race_is_gone_and_there_is_always_a_line_for_enter() -> None:
    first, second = scenes.lobby().races
    async with running() as run:
        await run.say(UP, scenes.welcome(), replace(scenes.lobby(), running=()))
        await run.give("r", "down")
        run.link.taken()
        await run.say(lobby_change(gone=(second.code,)))
        await run.give("enter")
        assert run.link.taken() == [JoinRace(code=first.code)]
        await run.say(Lost("no route", 3000))
        await run.give("enter")
        assert run.screen.shows("enter or a second click chooses"), "the line above it, a bot's"


async def test_what_was_said_at_home_is_not_said_again_in_the_room() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.refusal(ErrorCode.NO_SUCH_ROOM, message="No race has that code."))
        assert run.screen.shows("No race has that code")
        await run.say(scenes.room())
        assert not run.screen.shows("No race has that code")


async def test_the_form_changes_every_value() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o", "down", "right", "down", "right", "down", "right", "down", "left", "down", *["enter"])
        await run.give(*"garden", "enter", *["down", "right"] * 5, "down", "enter")
        (opened,) = run.link.taken()
        assert isinstance(opened, OpenRace)
        assert opened.options == RaceOptions(
            rules="carpet-aces-in",
            seats=3,
            bots=("Dawdle",),
            public=False,
            deal="garden",
            time_limit_s=900,
            countdown_s=4,
            series=SeriesOptions(format="best-of", races=3),
            rated=False,
            autoplay=False,
        )


async def test_the_form_makes_room_for_a_series_and_takes_back_one_that_has_none() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        # From the line that opens the race: the series before the first one, which is the swap, with a third player before.
        await run.give("o", "down", "down", "right", *["down"] * (SERIES_LINE - 1), "left")
        assert run.screen.shows("Series       swap")
        assert run.screen.shows("Players      2")
        await run.give(*["up"] * (SERIES_LINE - 1), "right")
        assert run.screen.shows("Players      3")
        assert run.screen.shows("Series       single race")
        await run.give(*["down"] * (SERIES_LINE - 1), "right")
        assert run.screen.shows("Series       best of 3")
        await run.give(*["up"] * (SERIES_LINE - 1), "left", "left")
        assert run.screen.shows("Players      1")
        assert run.screen.shows("Series       single race")
        await run.give(*["down"] * (SERIES_LINE - 1), "left", *["up"] * (SERIES_LINE - DEAL_LINE), "enter", *"garden", "enter")
        assert run.screen.shows("Deal         garden")
        assert run.screen.shows("Series       single race")


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
    for start, words in ((StartRace(RaceOptions(bots=("greedy",))), "The race ends with it."), (HOME, "Your seat is held")):
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


async def test_help_is_scrolled_by_keys_and_wheel_and_closed() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("?")
        assert run.screen.shows("How to play")
        assert run.screen.shows("more lines: j or page down")
        await run.give(*["page down"] * 20)
        assert not run.screen.shows("more lines")
        await run.give(*["page up"] * 20)
        await run.give(("mouse press", 5, 3, 3), "down", "page down")
        assert not run.screen.shows("How to play")
        await run.give("page up", "page up", "page up")
        assert run.screen.shows("How to play")
        await run.give("esc")
        assert run.screen.shows("Open a race")


async def test_the_rules_are_chosen_from_a_list_that_explains_them() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o", "down", "enter")
        assert run.screen.shows("Rules of the race")
        assert run.screen.shows("The four Aces lie ready")
        await run.give("up")
        assert run.screen.shows("2 decks, moderate")
        assert run.screen.shows("Sixty-four cards of two packs are woven")
        await run.give("enter")
        assert run.screen.shows("Rules        Persian Rug")
        await run.click("Open this race")
        assert run.link.taken() == [OpenRace(options=RaceOptions(rules="persian-rug"))]
        await run.click("Rules   ")
        await run.give("up", "esc")
        assert run.screen.shows("Rules        Persian Rug")


async def test_a_bot_is_raced_at_the_rules_that_were_chosen_last() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.click("Magpie")
        assert run.screen.shows("Race Magpie at")
        await run.click("Colorado")
        assert run.screen.shows("From: How to Play, Colorado")
        assert run.link.taken() == []
        await run.click("▸ Colorado")
        options = RaceOptions(rules="colorado", bots=("Magpie",), public=False)
        assert run.link.taken() == [OpenRace(options=options)]
        await run.give("enter", "enter")
        assert run.link.taken() == [OpenRace(options=options)]
        await run.give("o")
        assert run.screen.shows("Rules        Colorado")


async def test_the_help_at_home_explains_all_keys_and_every_rule_set() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome())
        await run.give("?")
        text = "\n".join(run.screen.last_text)
        assert text.index("How to play") < text.index("At home") < text.index("How to move") < text.index("In a race")
        for info in scenes.RULES:
            assert text.count(f"({info.id})") == 1
            assert info.source in text


async def test_the_help_in_a_room_has_its_keys_first_then_its_rules_and_no_others() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome(), scenes.room(options=RaceOptions(rules="teppich")))
        await run.give("?")
        text = "\n".join(run.screen.last_text)
        assert text.index("Before and after a race") < text.index("(teppich)") < text.index("In a race") < text.index("How to move")
        assert [info.id for info in scenes.RULES if f"({info.id})" in text] == ["teppich"]
        assert "Say something to everybody" in text.partition("This race")[0], "rows that other screens have too are among the first"


class Thinker:
    """A reviewer that says its sentences when the test lets it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.done = trio.Event()

    async def review(self, record: Record, seat: int) -> tuple[str, ...]:
        self.asked.append((record.digest, seat))
        await self.done.wait()
        return ("This deal can be won: all 52 cards could be brought home.", "All of them were.")


async def test_the_review_of_ones_own_game_is_thought_of_while_the_screen_goes_on_and_then_shown() -> None:
    thinker = Thinker()
    async with raced(reviewer=thinker.review) as run:
        await run.later(1)
        assert thinker.asked == []
        await run.give("v")
        assert run.screen.shows("Thinking about your game")
        await run.give("d")
        assert run.screen.shows("commitment")
        await run.give("v", "v", "v")
        assert run.screen.shows("Thinking about your game")
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        thinker.done.set()
        await settled()
        assert run.screen.shows("This deal can be won")
        await run.give("v")
        assert not run.screen.shows("This deal can be won")
        await run.click("v review")
        assert run.screen.shows("All of them were.")
        assert thinker.asked == [(scenes.record().digest, 0)]


async def test_a_review_that_comes_too_late_is_not_shown_in_the_next_race() -> None:
    thinker = Thinker()
    async with raced(reviewer=thinker.review) as run:
        await run.give("v")
        await run.say(scenes.room(version=9, race=2))
        thinker.done.set()
        await settled()
        assert not run.screen.shows("Thinking")
        assert not run.screen.shows("This deal can be won")


async def test_an_app_that_ends_calls_the_review_off() -> None:
    thinker = Thinker()
    async with raced(reviewer=thinker.review) as run:
        await run.give("v", "q")
        assert run.outcome is not None
        assert run.outcome.reason == "quit"


async def test_the_form_offers_a_deal_that_can_be_won() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("o", "down", "down", "down", "down", "down", "right")
        assert run.screen.shows("random, one that can be won")
        await run.give(*["down"] * (len(RACE_FORM) - DEAL_LINE), "enter")
        assert run.link.taken()[-1] == OpenRace(options=RaceOptions(winnable=True))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((True, ""), "✓ The deal checks out: nobody chose the cards, and no deal that can be won was passed over."),
        ((False, "deal 0 cannot be won"), "✗ The record is false: deal 0 cannot be won."),
        (
            (None, "it was ill"),
            "✓ The deal checks out. Whether deal 0 is the first that can be won was not found out (it was ill): carpet verify.",
        ),
    ],
)
async def test_whether_a_winnable_deal_was_passed_over_is_found_out_beside_the_screen(found: tuple[bool | None, str], said: str) -> None:
    asked, answer = [], trio.Event()

    async def verifier(record: Record) -> tuple[bool | None, str]:
        asked.append(record)
        await answer.wait()
        return found

    record = scenes.record()
    won = sealed(replace(record, deal=replace(record.deal, winnable=True)))
    seen = scenes.dealt().evidence
    assert seen is not None
    async with running(verifier=verifier, evidence=replace(seen, winnable=True)) as run:
        seats = (scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt"))
        over = scenes.room(version=9, phase="over", seats=seats, record=won, options=RaceOptions(winnable=True))
        await run.say(UP, scenes.welcome(room=scenes.CODE), over)
        assert asked == [won]
        assert run.screen.shows("✓ The deal checks out. Whether deal 0 is the first that can be won")
        answer.set()
        await settled()
        assert said in " ".join(" ".join(run.screen.last_text).split())
        await run.say(replace(over, version=10))
        assert asked == [won], "each record once"


async def test_other_rules_in_the_form_take_the_wish_for_a_winnable_deal_back_where_there_are_none() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        # One after the other: five variants of Carpet with winnable deals, then Colorado.
        await run.give("o", "down", *["down"] * DEAL_LINE, "right", *["up"] * DEAL_LINE, *["right"] * 5)
        assert run.screen.shows("Rules        Whist-pack Carpet")
        assert run.screen.shows("random, one that can be won")
        await run.give("right")
        assert run.screen.shows("Rules        Colorado")
        assert run.screen.shows("random, provably fair")
        # Under Colorado the wish is not to be had.
        await run.give(*["down"] * DEAL_LINE, "right")
        assert run.screen.shows("random, provably fair")


async def test_other_rules_from_the_list_take_the_wish_for_a_winnable_deal_back_where_there_are_none() -> None:
    for chosen, winnable in (("Persian Rug", True), ("Teppich", False)):
        async with running() as run:
            await run.say(UP, scenes.welcome())
            await run.give("o", "down", *["down"] * DEAL_LINE, "right", *["up"] * DEAL_LINE, "enter")
            await run.click(chosen)
            await run.give("enter")
            assert run.screen.shows(f"Rules        {chosen}")
            assert run.screen.shows("random, one that can be won") is winnable
            await run.click("Open this race")
            rules = {"Persian Rug": "persian-rug", "Teppich": "teppich"}[chosen]
            assert run.link.taken()[-1] == OpenRace(options=RaceOptions(rules=rules, winnable=winnable))


async def test_a_race_against_a_bot_can_ask_for_a_winnable_deal() -> None:
    async with running(StartRace(RaceOptions(bots=("Steady",), winnable=True))) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken()[0] == OpenRace(options=RaceOptions(bots=("Steady",), public=False, winnable=True))


@pytest.mark.parametrize(
    ("raced", "lost"),
    [(0, "forfeit the race and give up the series"), (1, "forfeit the race and give up the series"), (2, "forfeit the race")],
)
async def test_whoever_leaves_is_told_whether_they_give_up_the_series_too(raced: int, lost: str) -> None:
    series = scenes.standing((raced, 0), raced, races=3)
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.next_race(1, series, race=raced + 1, phase="racing", view=scenes.middle_view()))
        await run.give("L")
        assert run.screen.shows(f"Leave? You {lost}.")


async def test_between_two_races_of_a_series_the_result_stands_until_one_is_ready_for_the_next() -> None:
    score = scenes.standing((1, 0), 1)
    async with racing() as run:
        await run.say(Result(version=8, record=scenes.record()), Scored(version=9, series=score, record=None))
        await run.later(1)
        await run.say(scenes.next_race(10, score))
        assert run.screen.shows("You won by")
        assert run.screen.shows("Anna 1 : 0 Benedikt, best of 5, race 2 next")
        await run.give("d")
        assert run.screen.shows("SHA-256") is False
        assert run.screen.shows("✓ digest")
        await run.give("L")
        assert run.screen.shows("Leave? You give up the series.")
        await run.give("n", "d", "r")
        assert ready_sent(run).race == 2
        await run.say(PlayerReady(version=11, seat=0))
        assert run.screen.shows("Anna 1 : 0 Benedikt, best of 5, race 2 next")
        assert run.screen.shows("Waiting for the others to be ready.")
        await run.give("r")
        assert run.link.taken() == []


async def test_the_record_of_the_first_race_of_a_swap_is_kept_when_it_is_told_and_before_that_of_the_second() -> None:
    first = sealed(replace(scenes.record(), software="the first one"))
    half, score = (scenes.standing((1, 1), raced, format="swap", races=2, over=raced == 2) for raced in (1, 2))
    second = scenes.next_race(7, half, phase="racing", view=scenes.middle_view())
    async with running() as run:
        await run.say(UP, scenes.welcome(), second)
        await run.say(Result(version=8, record=scenes.record()), Scored(version=9, series=score, record=first))
        assert run.screen.shows("Anna has won the swap: Anna 1 : 1 Benedikt (96 : 66 cards).")
        await run.give("q")
    assert run.outcome is not None
    assert [record.digest for record in run.outcome.records] == [first.digest, scenes.record().digest]


async def test_a_record_is_handed_over_when_it_comes_and_once() -> None:
    records: list[Record] = []
    async with racing(recorder=records.append) as run:
        assert records == []
        await run.say(Result(version=8, record=scenes.record()))
        assert records == [scenes.record()]
        await run.say(Presence(version=9, seat=1, connected=True, away_ms=None))
        assert records == [scenes.record()]


async def test_the_second_race_of_a_swap_is_entered_with_the_nonce_of_the_first() -> None:
    score = scenes.standing((0, 0), 1, format="swap", races=2)
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.next_race(1, scenes.standing((0, 0), 0, format="swap", races=2), race=1))
        await run.give("r")
        first = run.link.taken()[-1]
        await run.say(PlayerReady(version=2, seat=0), scenes.next_race(3, score))
        assert run.screen.shows("swap, race 2 next")
        await run.give("r")
        (second,) = run.link.taken()
        assert isinstance(first, Ready)
        assert isinstance(second, Ready)
        assert (first.race, second.race) == (1, 2)
        assert first.nonce == second.nonce


async def test_ready_pressed_again_before_the_answer_sends_the_same_nonce() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        run.link.taken()
        await run.give("r", "enter")
        first, second = run.link.taken()
        assert isinstance(first, Ready)
        assert first == second
        await run.say(replace(scenes.room(), version=2, race=2, commitment="ff" * 32))
        await run.give("r")
        assert ready_sent(run).nonce != first.nonce, "another race has one of its own"


async def test_a_nonce_is_kept_before_it_is_sent_and_is_known_to_the_next_process() -> None:
    seen: list[Evidence] = []
    sent_before: list[bool] = []

    def witness(evidence: Evidence) -> None:
        sent_before.append(any(isinstance(message, Ready) for message in run.link.sent))
        seen.append(evidence)

    async with running(STEADY, witness=witness) as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        (ready,) = (message for message in run.link.taken() if isinstance(message, Ready))
    assert sent_before == [False]
    assert (seen[0].nonce, seen[0].commitment) == (ready.nonce, scenes.room().commitment)
    evidence = scenes.over().evidence
    async with running(evidence=evidence) as run:
        over = scenes.over().room
        assert over is not None
        assert over.record is not None
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(phase="over", record=over.record))
        assert run.screen.shows("The deal checks out: nobody chose the cards.")


@pytest.mark.parametrize(
    ("lost", "key", "hurried"), [(Lost("gone", 5000), "x", 1), (Lost("elsewhere", None), "enter", 1), (Lost("elsewhere", None), "x", 0)]
)
async def test_a_key_hurries_a_lost_connection_and_enter_takes_back_one_that_was_taken_over(lost: Lost, key: str, hurried: int) -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), lost)
        await run.give(key)
        assert run.link.hurried == hurried


async def test_the_line_for_a_friend_is_copied_whole_and_only_where_somebody_can_come(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(Terminal, "copy", lambda self, text: copied.append(text))
    async with running(settings=UiSettings(motion=False, server="carpet.example", page="http://carpet.example:7777/play/")) as run:
        await run.say(UP, scenes.welcome(), replace(scenes.room(), code="$(rm x)"))
        await run.give("c")
        assert copied == ["carpet join carpet.example '$(rm x)'"]
        assert run.screen.shows("Copied")
        await run.say(Seated(version=2, seat=1, name="Benedikt", bot=None))
        assert not run.screen.shows("carpet join")
        await run.give("c")
        assert len(copied) == 1
