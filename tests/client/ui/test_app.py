"""The whole app over a fake link and a fake screen: what is sent for what is typed, clicked and heard. Time stands still unless moved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from client.link import Connecting, Lost, RoundTrip
from client.ui.desk import UiSettings
from client.ui.start import AppOutcome, Start, StartBot, StartJoin, StartOpen
from protocol.client_messages import FollowLobby, JoinRace, LeaveRace, Move, OpenRace, Ready, Rematch, Resign, Say, Stop
from protocol.errors import ERRORS, ErrorCode
from protocol.record import Record
from protocol.server_messages import (
    Countdown,
    CurrentView,
    Dealt,
    Error,
    Left,
    PlayerReady,
    PlayerView,
    Progress,
    Result,
    Seated,
    Started,
)
from protocol.views import RaceOptions
from tests.client import scenes
from tests.client.ui.hands import HOME, UP, Run, running, settled


async def into_race(run: Run) -> None:
    """From nothing to a running race, at 4 s on the local clock of the messages; the first view is shown."""
    await run.say(UP, scenes.welcome(), scenes.room(), Seated(version=2, seat=1, name="Benedikt", bot=None))
    await run.give("r")
    await run.say(PlayerReady(version=3, seat=0), PlayerReady(version=4, seat=1))
    await run.say(Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)))
    await run.say(Dealt(version=6, seat=0, starts_in_ms=0, view=scenes.middle_view()), Started(version=7))
    run.link.taken()


pytestmark = pytest.mark.usefixtures("mock_clock")


async def test_the_home_screen_follows_the_lobby_and_shows_the_line() -> None:
    async with running() as run:
        await run.say(Connecting(1))
        assert run.screen.shows("connecting")
        await run.say(UP, RoundTrip(17), scenes.welcome(), scenes.lobby())
        assert run.screen.shows("17 ms")
        assert run.screen.shows("Benedikt")
        assert run.link.taken() == [FollowLobby()]


async def test_starting_with_a_bot_opens_a_race_and_is_ready_at_once() -> None:
    async with running(StartBot("Steady", "garden")) as run:
        await run.say(UP, scenes.welcome())
        options = RaceOptions(bots=("Steady",), public=False, deal="garden")
        assert run.link.taken()[0] == OpenRace(options=options)
        await run.say(scenes.room())
        unfollow, ready = run.link.taken()
        assert unfollow == FollowLobby(follow=False)
        assert isinstance(ready, Ready)
        assert len(bytes.fromhex(ready.nonce)) == 16


@pytest.mark.parametrize(
    ("start", "request_"),
    [(StartJoin("kxqwzp"), JoinRace(code="kxqwzp")), (StartOpen(RaceOptions(seats=3)), OpenRace(options=RaceOptions(seats=3)))],
)
async def test_starting_with_a_code_or_options_asks_for_it_once(start: Start, request_: object) -> None:
    async with running(start) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken()[0] == request_
        await run.say(UP, scenes.welcome())
        assert request_ not in run.link.taken()


async def test_a_seat_that_is_held_already_is_gone_back_to() -> None:
    async with running(StartBot("Steady")) as run:
        await run.say(UP, scenes.welcome(room="KXQWZP"))
        assert run.link.taken() == [JoinRace(code="KXQWZP")]


async def test_a_card_is_played_by_its_name_by_the_cursor_and_by_a_click() -> None:
    ways: list[Callable[[Run], Awaitable[None]]] = [
        lambda run: run.give("c", "1"),
        lambda run: run.give("'", "c", "1"),
        lambda run: run.give("right", "l", "enter"),
        lambda run: run.give(":", "c", "1", "enter"),
        lambda run: run.click(" 5♥"),
    ]
    for way in ways:
        async with running() as run:
            await into_race(run)
            await way(run)
            assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]


async def test_waste_and_stock_turn_and_fill_by_keys_and_by_clicks() -> None:
    view = scenes.middle_view(pending=True)
    for given, move in ((("w",), "w:c1"), (("s",), "s:c1")):
        async with running() as run:
            await into_race(run)
            await run.say(PlayerView(version=8, seat=0, ply=1, move="c1", state="racing", elapsed_ms=5, view=view))
            assert run.screen.shows("Fill the gap at c1")
            await run.give(*given)
            assert run.link.taken() == [Move(race=1, seat=0, ply=1, move=move)]
    for pile in ("░ 9 ░", "s stock"):
        async with running() as run:
            await into_race(run)
            await run.click(pile)
            assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="s")]


async def test_a_click_on_the_gap_and_one_on_a_card_fill_it() -> None:
    async with running() as run:
        await into_race(run)
        view = scenes.middle_view(pending=True)
        await run.say(PlayerView(version=8, seat=0, ply=1, move="c1", state="racing", elapsed_ms=5, view=view))
        await run.click("c1?")
        assert run.screen.shows("c1 can take the stock (s) or waste (w)")
        await run.click("9♣")
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:c1")]


async def test_what_is_typed_ahead_is_played_when_the_answer_is_there() -> None:
    async with running() as run:
        await into_race(run)
        await run.give("c", "1", "w")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]
        view = scenes.middle_view(pending=True)
        await run.say(PlayerView(version=8, seat=0, ply=1, move="c1", state="racing", elapsed_ms=5, view=view))
        assert run.link.taken() == [Move(race=1, seat=0, ply=1, move="w:c1")]


async def test_what_cannot_be_played_is_not_sent_and_told() -> None:
    async with running() as run:
        await into_race(run)
        await run.give("a", "1")
        assert run.link.taken() == []
        assert run.screen.shows("The card at a1 cannot be played now.")
        await run.give("a", "9")
        assert run.screen.shows("There is no slot a9.")


async def test_a_refused_move_shows_why_and_the_table_as_it_is() -> None:
    async with running() as run:
        await into_race(run)
        await run.give("c", "1")
        refusal = Error(code=ErrorCode.STALE_PLY, fault=ERRORS[ErrorCode.STALE_PLY].fault, message="Played already.", path="", ref=0)
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
        assert run.screen.shows("The clock does not run yet.")


async def test_the_clock_runs_on_the_screen(mock_clock: trio.testing.MockClock) -> None:
    async with running() as run:
        await into_race(run)
        for _ in range(12):
            mock_clock.jump(0.1)
            await settled()
        assert run.screen.shows("0:01.2")
        drawn = len(set(map(id, run.screen.canvases)))
        assert drawn > 10


@pytest.mark.parametrize(("key", "message"), [("K", Stop(race=1, seat=0)), ("R", Resign(race=1, seat=0)), ("L", LeaveRace())])
async def test_what_cannot_be_taken_back_is_asked_first(key: str, message: object) -> None:
    async with running() as run:
        await into_race(run)
        await run.give(key, "n")
        assert run.link.taken() == []
        await run.give(key, "enter")
        assert run.link.taken() == []
        await run.give(key, "esc")
        await run.give(key, "y")
        assert run.link.taken() == [message]


async def test_what_has_ended_cannot_be_ended_again() -> None:
    async with running() as run:
        await into_race(run)
        await run.say(PlayerView(version=8, seat=0, ply=1, move="s", state="stalled", elapsed_ms=5, view=scenes.middle_view()))
        await run.give("R", "y", "K")
        assert run.link.taken() == []
        assert run.screen.shows("has ended")


async def test_a_missed_event_is_asked_for_once_and_again_when_no_answer_comes(mock_clock: trio.testing.MockClock) -> None:
    async with running() as run:
        await into_race(run)
        progress = Progress(version=9, seat=1, ply=3, home=20, foundations={}, state="racing", elapsed_ms=7)
        await run.say(progress, progress)
        assert run.link.taken() == [JoinRace(code="KXQWZP", version=7)]
        for _ in range(25):
            mock_clock.jump(0.1)
            await settled()
        assert run.link.taken() == [JoinRace(code="KXQWZP", version=7)]


async def test_talk_goes_out_cleaned_and_its_letters_are_no_keys() -> None:
    async with running() as run:
        await into_race(run)
        await run.give("t", *"quit c1", "enter")
        assert run.link.taken() == [Say(text="quit c1")]
        await run.give("t", "x", "esc")
        assert run.link.taken() == []
        assert run.outcome is None


async def test_the_result_and_a_rematch() -> None:
    async with running() as run:
        await into_race(run)
        await run.say(Result(version=8, record=scenes.record()))
        assert run.screen.shows("You won!")
        await run.give("d")
        assert run.screen.shows("commitment")
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        await run.say(scenes.room(version=9, race=2))
        assert run.screen.shows("race 2")
        await run.click("Ready")
        (ready,) = run.link.taken()
        assert isinstance(ready, Ready)
        assert ready.race == 2


async def test_a_rematch_against_a_bot_is_waited_for_by_nobody() -> None:
    async with running() as run:
        seats = (scenes.seat(0, "Anna"), scenes.seat(1, "greedy", bot="greedy"))
        await run.say(UP, scenes.welcome(), scenes.room(seats=seats, phase="over", record=scenes.record()))
        run.link.taken()
        await run.give("r")
        assert run.link.taken() == [Rematch(race=1)]
        await run.say(scenes.room(version=9, race=2, seats=seats))
        (ready,) = run.link.taken()
        assert isinstance(ready, Ready)
        assert ready.race == 2


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
        await run.give("o")
        assert run.screen.shows("Time limit")
        await run.give("down", "down", "right", "up", "enter")
        await run.give("esc", "esc")
        await run.click("Open a race")
        await run.click("Open this race")
        assert run.link.taken() == [OpenRace(options=RaceOptions())]


async def test_what_was_said_at_home_is_not_said_again_in_the_room() -> None:
    async with running() as run:
        kind = ERRORS[ErrorCode.NO_SUCH_ROOM]
        await run.say(
            UP, scenes.welcome(), Error(code=ErrorCode.NO_SUCH_ROOM, fault=kind.fault, message="No race has that code.", path="", ref=0)
        )
        assert run.screen.shows("No race has that code")
        await run.say(scenes.room())
        assert not run.screen.shows("No race has that code")


async def test_the_form_changes_every_value() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.give("o", "down", "right", "down", "right", "down", "right", "down", "left", "down", *["enter"])
        await run.give(*"garden", "enter", "down", "right", "down", "right", "down", "enter")
        (opened,) = run.link.taken()
        assert isinstance(opened, OpenRace)
        assert opened.options == RaceOptions(
            rules="carpet-aces-in", seats=3, bots=("Dawdle",), public=False, deal="garden", time_limit_s=900, countdown_s=4
        )


async def test_leaving_goes_home_and_follows_the_lobby_again() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        run.link.taken()
        await run.give("L")
        assert run.link.taken() == [LeaveRace()]
        await run.say(Left(code=scenes.CODE, reason="left"))
        assert run.screen.shows("Open a race")
        assert run.link.taken() == [FollowLobby()]


async def test_without_a_line_nothing_is_lost_silently() -> None:
    async with running() as run:
        await into_race(run)
        run.link.up = False
        await run.say(Lost("no route", 3000))
        assert run.screen.shows("again in 3 s")
        assert run.screen.shows("no route")
        await run.give("c", "1")
        assert run.screen.shows("There is no line")
        run.link.up = True
        await run.say(UP, scenes.welcome(room=scenes.CODE))
        await run.give("c", "1")
        assert run.link.taken() == [Move(race=1, seat=0, ply=0, move="c1")]


async def test_a_server_that_forgot_the_race_sends_us_home() -> None:
    async with running() as run:
        await into_race(run)
        await run.say(Lost("gone", 1), UP, scenes.welcome())
        assert run.screen.shows("no seat for you")


async def test_quitting_asks_in_a_race_only_and_says_where_the_seat_is() -> None:
    async with running() as run:
        await into_race(run)
        await run.give("C", "B", "q", "y")
        assert run.outcome is not None
        assert (run.outcome.reason, run.outcome.code) == ("quit", scenes.CODE)
        assert run.outcome.settings == UiSettings(palette="four", bell=False)
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("q")
        assert run.outcome == AppOutcome("quit", UiSettings())


async def test_quitting_a_server_of_ones_own_promises_no_seat() -> None:
    for start, words in ((StartBot("greedy"), "The race ends with it."), (HOME, "Your seat waits")):
        async with running(start) as run:
            await into_race(run)
            await run.give("q")
            assert run.screen.shows(words)


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
    async with running() as run:
        await into_race(run)
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


async def test_the_help_explains_every_rule_set_and_the_ones_of_this_race_first() -> None:
    async with running(size=(100, 400)) as run:
        await run.say(UP, scenes.welcome(), scenes.room(options=RaceOptions(rules="teppich")))
        await run.give("?")
        text = "\n".join(run.screen.last_text)
        assert text.index("This race") < text.index("(teppich)") < text.index("How to move") < text.index("In a race")
        for info in scenes.RULES:
            assert text.count(f"({info.id})") == 1 + (info.id == "teppich")
            assert info.source in text


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
    async with running(reviewer=thinker.review) as run:
        await into_race(run)
        await run.say(Result(version=8, record=scenes.record()))
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
    async with running(reviewer=thinker.review) as run:
        await into_race(run)
        await run.say(Result(version=8, record=scenes.record()))
        await run.give("v")
        await run.say(scenes.room(version=9, race=2))
        thinker.done.set()
        await settled()
        assert not run.screen.shows("Thinking")
        assert not run.screen.shows("This deal can be won")


async def test_an_app_that_ends_calls_the_review_off() -> None:
    thinker = Thinker()
    async with running(reviewer=thinker.review) as run:
        await into_race(run)
        await run.say(Result(version=8, record=scenes.record()))
        await run.give("v", "q")
        assert run.outcome is not None
        assert run.outcome.reason == "quit"


async def test_the_form_offers_a_deal_that_can_be_won() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome())
        await run.give("o", "down", "down", "down", "down", "down", "right")
        assert run.screen.shows("random, one that can be won")
        await run.give("down", "down", "down", "enter")
        assert run.link.taken()[-1] == OpenRace(options=RaceOptions(winnable=True))


async def test_a_race_against_a_bot_can_ask_for_a_winnable_deal() -> None:
    async with running(StartBot("Steady", winnable=True)) as run:
        await run.say(UP, scenes.welcome())
        assert run.link.taken()[0] == OpenRace(options=RaceOptions(bots=("Steady",), public=False, winnable=True))
