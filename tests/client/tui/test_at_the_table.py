"""A race at the table: cards, clock, talk and questions, from getting ready to the end.

The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from client.connection.events import Back, Lost, RoundTrip
from client.connection.outbox import FIRST_NUMBER
from client.tui.actions import Do, Send
from client.tui.keymap import Command
from client.tui.start import StartMatch, StartRace, UiSettings
from client.tui.step import BEGUN_MS, QUIET_MS
from client.tui.terminal import Terminal
from client.tui.ui_state import Ui
from client.tui.update import update
from protocol.client_messages import (
    FollowLobby,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    Ready,
    Resign,
    Say,
    Stop,
)
from protocol.errors import ErrorCode
from protocol.phrases import PHRASES
from protocol.room_events import (
    Countdown,
    Dealt,
    PlayerReady,
    PlayerView,
    Progress,
    ReadyDue,
    Result,
    Seated,
    Started,
    Unseated,
)
from protocol.server_messages import CurrentView
from protocol.views import RaceOptions
from tests.client import scenes
from tests.client.tui.hands import STEADY, UP, Run, answer, raced, racing, running
from tests.client.watched import watched

pytestmark = pytest.mark.usefixtures("mock_clock")


async def test_how_long_is_left_to_get_ready_is_counted_down_for_both() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(version=1, seats=(scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt"))))
        assert run.screen.shows("Everybody is here. Press r when you are ready.")
        await run.say(PlayerReady(version=2, seat=1), ReadyDue(version=3, left_ms=20_000))
        assert run.screen.shows("Benedikt is ready. Press r within 0:20, or you lose your seat.")
        await run.later(5.5)
        assert run.screen.shows("Press r within 0:14")
        await run.say(PlayerReady(version=4, seat=0), Unseated(version=5, seat=1), Seated(version=6, seat=1, name="Eve", bot=None))
        assert run.screen.shows("Waiting for Eve to be ready.")
        await run.say(ReadyDue(version=7, left_ms=20_000))
        assert run.screen.shows("Waiting for Eve to be ready: 0:20 left.")


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


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_keys_that_the_hint_names_can_be_clicked(size: tuple[int, int]) -> None:
    async with racing(size=size) as run:
        await run.click("can go home")
        assert run.link.taken() == []
        await run.click("(g: all)")
        assert [type(each) for each in run.link.taken()] == [Move]
    async with racing(size=size) as run:
        await run.say(answer("s", 1, replace(scenes.middle_view(), moves=("s", "c1:w", "c2:w"))))
        await run.click("(s)")
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="s")]


async def test_a_digit_of_a_french_keyboard_needs_no_shift_where_the_key_means_nothing_else() -> None:
    async with racing() as run:
        await run.give("&")
        (by_key,) = run.link.taken()
    async with racing() as run:
        await run.give("1")
        assert run.link.taken() == [by_key]
    async with racing() as run:
        await run.give("c", "&")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        await run.give("'")
        assert run.screen.shows("Slot: _"), "it begins a slot's name"
        await run.give("esc", "t", "'")
        assert [each.text for each in run.link.taken() if isinstance(each, Say)] == [list(PHRASES.values())[3]]
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        await run.give("&")
        assert run.screen.shows("& does nothing here")


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


async def test_the_stock_key_held_down_turns_one_card_and_pressed_again_another() -> None:
    async with racing() as run:
        await run.give("s")
        turned = run.link.taken()
        for _ in range(10):
            await run.later(0.033)
            await run.give("s")
        assert run.link.taken() == []
        assert run.screen.shows("Too soon after the last s: held down, it turns no further card.")
        await run.say(answer("s", 1, scenes.middle_view()))
        await run.later(0.1)
        await run.give("s")
        assert [turned, run.link.taken()] == [[Move(race=1, seat=0, ply=ply, move="s")] for ply in (0, 1)]


def pressed_at(*moments_ms: float) -> list[bool]:
    """Which presses of the key for the stock, at these moments, turn a card. Each move is answered at once."""
    model, ui, turns = scenes.racing(), Ui(), []
    for at_ms in moments_ms:
        ui, effects = update(model, ui, Do(Command.STOCK), 10_000 + round(at_ms))
        turns.append(any(isinstance(effect, Send) for effect in effects))
    return turns


@pytest.mark.parametrize("first_ms", [250, 400, 660, 1000])
@pytest.mark.parametrize("again_ms", [25, 33, 50, 70, 92, 100])
def test_a_stock_key_held_down_turns_no_more_cards_once_it_repeats_evenly(first_ms: int, again_ms: int) -> None:
    turned = pressed_at(0, *(first_ms + again_ms * number for number in range(20)))
    assert turned == [True, True, again_ms > 60, *[False] * 18]


def test_a_stock_key_held_down_over_an_uneven_line_goes_on_turning_no_cards() -> None:
    # After two even ones, some repeats are uneven, and two come at once.
    assert pressed_at(0, 270, 362, 455, 540, 540, 640, 710) == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("gap_ms", [105, 125, 160, 199])
def test_whoever_taps_the_stock_key_fast_turns_a_card_by_each_tap(gap_ms: int) -> None:
    assert all(pressed_at(*(gap_ms * number for number in range(20))))


def test_whoever_taps_the_stock_key_faster_than_it_may_repeat_turns_a_card_by_each_tap_as_uneven_as_hands_are() -> None:
    assert all(pressed_at(0, 400, 500, 588, 690, 765, 860, 970, 1055))


def test_taps_of_the_stock_key_that_come_in_one_read_turn_a_card_each() -> None:
    assert all(pressed_at(0, 500, 640, 640, 780))


@pytest.mark.parametrize(("typed", "move"), [("meta s", "s"), ("meta  ", "c1")])
async def test_esc_and_a_key_that_come_in_one_read_are_both_pressed(typed: str, move: str) -> None:
    async with racing() as run:
        await run.give("t")
        assert run.screen.shows("Good luck!")
        await run.give(typed)
        assert not run.screen.shows("Good luck!")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move=move)]


async def test_esc_and_a_key_in_one_read_close_a_line_in_which_nothing_is_typed() -> None:
    async with racing() as run:
        await run.give(":", "meta s")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="s")]


async def test_alt_and_a_key_cost_nobody_the_line_that_they_type_and_press_nothing() -> None:
    async with raced() as run:
        await run.give("t", *"well", "meta b", "meta backspace", "meta d", "meta r", *" played")
        assert run.screen.shows("well played")
        assert run.link.taken() == []
        await run.give("enter")
        assert run.link.taken() == [Say(text="well played")]


async def test_what_is_pasted_into_a_race_presses_no_keys() -> None:
    async with racing() as run:
        await run.give("begin paste", *"Lys G q y", "enter", "end paste")
        assert run.link.taken() == []
        assert run.screen.shows("Pasted text does nothing here.")
        await run.give("s")
        assert len(run.link.taken()) == 1


async def test_a_paste_whose_end_never_comes_is_over_after_a_second() -> None:
    async with racing() as run:
        await run.give("begin paste", "x")
        await run.later(1.1)
        await run.give("s")
        assert len(run.link.taken()) == 1


async def test_what_is_pasted_into_a_line_is_typed_there_and_a_line_break_in_it_does_not_send_it() -> None:
    async with raced() as run:
        await run.give("t", "begin paste", *"well", "enter", *" played", "end paste")
        assert run.screen.shows("well played")
        assert run.link.taken() == []
        await run.give("enter")
        assert run.link.taken() == [Say(text="well played")]


async def test_a_click_on_a_row_of_the_help_does_what_its_key_does() -> None:
    async with racing() as run:
        await run.click("? help")
        await run.click("Turn the next stock card")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="s")]
        assert not run.screen.shows("Turn the next stock card")
        await run.click("? help")
        while not run.screen.shows("Plain ASCII"):
            await run.give("page down")
        await run.click("Plain ASCII")
        assert run.screen.shows("Carpet Race - Carpet")
        await run.click("? help")
        await run.click("Leave the room")
        assert run.screen.shows("Go on racing")


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
        for passed_s, told in (
            (7, "Seat held 53 s more; if the server is down, no clock runs."),
            (60, "Your seat is lost, unless it is the server that is down."),
        ):
            await run.later(passed_s)
            assert run.screen.shows("0:05? / 10:00")
            assert run.screen.shows(f"Not connected. {told}")
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


STARTED = Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7)


@asynccontextmanager
async def counting_down() -> AsyncIterator[Run]:
    """The screens in the room of a race that `STARTED` starts."""
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        yield run


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


async def test_an_answer_to_a_question_that_the_start_has_closed_is_no_move() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
        await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
        await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
        await run.give("L")
        assert run.screen.shows("Leave")
        await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7))
        assert run.screen.shows("The race has begun; the question is closed.")
        run.link.taken()
        await run.give(" ", "s", "G")
        assert run.link.taken() == []
        await run.later(QUIET_MS / 1000)
        await run.give("s")
        assert [type(message) for message in run.link.taken()] == [Move]


@pytest.mark.parametrize("opened", ["L", "t"], ids=["a question", "a line"])
async def test_under_what_the_start_has_closed_the_keys_are_the_tables_after_700_ms_however_fast_they_come(opened: str) -> None:
    async with counting_down() as run:
        await run.give(opened)
        await run.say(*STARTED)
        run.link.taken()
        for _ in range(7):
            await run.give("s")
            await run.later(0.1)
        assert run.link.taken() == []
        await run.give("s")
        assert [type(message) for message in run.link.taken()] == [Move]


async def test_a_paste_that_the_start_cuts_presses_no_keys_and_neither_does_what_follows_it_at_once() -> None:
    async with counting_down() as run:
        await run.give("t", "begin paste", *"ab")
        await run.say(*STARTED)
        run.link.taken()
        await run.give(*"c1", "end paste", "enter", "s")
        assert run.link.taken() == []
        await run.later(BEGUN_MS / 1000)
        await run.give("s")
        assert [type(message) for message in run.link.taken()] == [Move]


async def test_a_letter_of_the_line_that_the_start_has_closed_asks_nobody_whether_they_quit() -> None:
    async with counting_down() as run:
        await run.give("t", *"good luck, ")
        await run.say(*STARTED)
        await run.give(*"quickly")
        assert not run.screen.shows("Quit?")


async def test_whoever_wants_to_quit_as_the_start_closes_a_question_can() -> None:
    async with counting_down() as run:
        await run.give("L")
        await run.say(*STARTED)
        await run.give("q")
        assert run.screen.shows("Quit?")
        await run.give("y")
    assert run.outcome is not None


async def test_a_server_that_begins_a_race_again_and_again_keeps_nobody_from_closing_a_question() -> None:
    seats = tuple(scenes.seat(index, name, state="racing") for index, name in enumerate(("Anna", "Benedikt")))
    async with running(StartMatch()) as run:
        await run.say(UP, scenes.welcome(room=scenes.CODE), scenes.room(phase="countdown", seats=seats))
        assert run.screen.shows("You still hold a seat")
        for version in range(2, 12, 2):
            await run.say(scenes.room(version=version, phase="racing", seats=seats))
            await run.later(0.6)
            await run.say(scenes.room(version=version + 1, phase="countdown", seats=seats))
        await run.say(scenes.room(version=12, phase="racing", seats=seats))
        assert run.screen.shows("You still hold a seat")
        await run.give("esc")
        assert not run.screen.shows("You still hold a seat")
        await run.give("q", "y")
    assert run.outcome is not None


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


async def test_whose_part_is_over_is_told_who_still_races_and_their_keys_play_nothing() -> None:
    async with racing() as run:
        await run.say(Progress(version=8, seat=0, ply=0, home=18, foundations={}, state="stopped", elapsed_ms=9_000))
        for key in ("v", "d", "s", "G", "b", "3", ":", "tab"):
            await run.give(key)
            assert run.screen.shows("You stopped. The cards you brought home count. Benedikt is still racing.")
        await run.give("L")
        assert run.screen.shows("Leave? If the race counts, you will be told who won.")
        await run.give("n")
        assert not run.link.taken()
        seats = (scenes.seat(0, "Anna", state="stopped"), scenes.seat(1, "Benedikt", state="racing"))
        await run.say(scenes.room(version=9, phase="racing", view=scenes.middle_view(), seats=seats, options=RaceOptions(rated=False)))
        await run.give("L")
        assert run.screen.shows("Leave? You will not hear who wins.")
        await run.give("L", "y")
        assert run.link.taken() == [LeaveRace()]
