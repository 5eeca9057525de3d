"""After the race: the result, rematches, series, records and the review.

The whole app over a fake link and a fake screen: what it sends for what is typed, clicked and heard. Time stands still unless moved.
"""

from __future__ import annotations

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from client.connection.events import Back, Lost
from client.replay.own_server import GameReview
from client.state.evidence import Evidence
from client.state.room import RoomModel
from client.tui.actions import Copy, Key
from client.tui.race.outcome import headline, large_headline, places_table, titles
from client.tui.race.result import ASKED_STANDS_MS
from client.tui.scene import scene_of
from client.tui.start import UiSettings
from client.tui.step import LONGEST_MS
from client.tui.terminal import Terminal, rows_of
from client.tui.ui_state import Ui
from client.tui.update import update
from client.tui.view import view
from protocol.client_messages import (
    Ready,
    Rematch,
)
from protocol.errors import ErrorCode
from protocol.record import Record, sealed
from protocol.room_events import (
    Ended,
    Ghost,
    Hidden,
    PlayerReady,
    PlayerView,
    Presence,
    Progress,
    RematchAsked,
    Result,
    Scored,
    Unseated,
)
from protocol.run_messages import Runs
from protocol.server_messages import Left
from protocol.views import RaceOptions, SeatState
from tests.client import runs, scenes
from tests.client.tui.hands import DEFAULTS, STEADY, UP, raced, racing, ready_sent, running, settled

pytestmark = pytest.mark.usefixtures("mock_clock")


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


async def test_the_result_of_a_private_race_names_the_id_by_which_its_record_is_found() -> None:
    record = sealed(replace(scenes.record(), room="HKTRWM", id="HKTRWM-1-0a1b2c3d4e5f"))
    async with raced(record=record) as run:
        await run.later(1)
        assert "KXQWZP" in run.screen.last_text[0]
        assert run.screen.shows("carpet replay HKTRWM-1-0a1b2c3d4e5f ─╯")


async def test_the_result_names_no_id_that_a_command_would_not_take() -> None:
    async with raced(record=sealed(replace(scenes.record(), id="../HKTRWM"))) as run:
        await run.later(1)
        assert run.screen.shows("You won by")
        assert not run.screen.shows("HKTRWM")


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


async def test_of_whoever_asked_for_a_rematch_and_is_gone_it_is_said_that_they_are_not_connected() -> None:
    async with raced() as run:
        await run.say(RematchAsked(version=9, seat=1))
        assert run.screen.shows("Benedikt would like a rematch. Press r.")
        await run.say(Presence(version=10, seat=1, connected=False, away_ms=None))
        assert not run.screen.shows("would like a rematch")
        assert run.screen.shows("r: rematch; Benedikt is not connected and may come back")
        await run.say(Presence(version=11, seat=1, connected=True, away_ms=None))
        assert run.screen.shows("Benedikt would like a rematch. Press r.")


async def test_whoever_waits_for_a_rematch_is_told_that_the_other_is_not_connected() -> None:
    async with raced() as run:
        await run.give("r")
        await run.say(RematchAsked(version=9, seat=0), Presence(version=10, seat=1, connected=False, away_ms=None))
        assert run.screen.shows("Rematch: waiting for Benedikt. Benedikt is not connected and may come back.")


async def test_in_a_rematch_whose_other_player_is_away_it_is_not_said_that_they_have_yet_to_get_ready() -> None:
    async with raced() as run:
        await run.say(RematchAsked(version=9, seat=1), Presence(version=10, seat=1, connected=False, away_ms=None))
        await run.give("r")
        await run.say(scenes.room(version=11, race=2, seats=(scenes.seat(0, "Anna"), scenes.seat(1, "Benedikt", connected=False))))
        await run.say(PlayerReady(version=12, seat=0))
        assert run.screen.shows("Benedikt is not connected and may come back.")
        assert not run.screen.shows("Waiting for")


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


async def test_whoever_goes_on_with_the_keys_of_the_table_as_they_are_beaten_shares_nothing_and_sees_the_result() -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        for _ in range(7):
            await run.give("s", "1", "b", "3", " ", "r", "K", "L")
            await run.later(0.2)
        assert run.link.taken() == []
        assert run.screen.shows("won by")
        assert not run.screen.shows("Write into a file")
        await run.later(0.4)
        await run.give("s")
        assert run.screen.shows("Write into a file")


async def test_a_result_that_comes_long_after_the_last_move_is_seen_before_keys_count() -> None:
    async with racing() as run:
        other_end, own_end, result = ends("stalled", "won")
        await run.say(replace(own_end, version=8))
        await run.later(5)
        await run.say(replace(other_end, version=9), result)
        await run.give("s", "1")
        assert not run.screen.shows("Write into a file")
        await run.later(1)
        await run.give("s")
        assert run.screen.shows("Write into a file")


async def test_keys_of_the_table_count_again_after_a_while_however_fast_they_come() -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        for _ in range(LONGEST_MS // 100):
            await run.give("s")
            await run.later(0.1)
        assert not run.screen.shows("Write into a file")
        await run.give("s")
        assert run.screen.shows("Write into a file")


async def test_a_click_that_was_meant_for_the_table_asks_for_no_rematch() -> None:
    async with racing() as run:
        await run.click("w waste")
        run.link.taken()
        await run.say(*ends("stopped", "won"))
        await run.click("r: rematch")
        assert run.link.taken() == []
        assert run.screen.shows("Too soon after the end: click again.")
        await run.later(1)
        await run.click("r: rematch")
        assert run.link.taken() == [Rematch(race=1)]


async def test_a_click_on_the_result_counts_at_once_after_a_race_that_was_raced_by_keys() -> None:
    async with racing() as run:
        await run.click("w waste")
        await run.give("tab")
        run.link.taken()
        await run.say(*ends("stopped", "won"))
        await run.click("r: rematch")
        assert run.link.taken() == [Rematch(race=1)]


@pytest.mark.parametrize("key", ["r", "s", "y", "v", "d", "enter"])
async def test_a_key_that_means_something_at_the_result_but_came_too_soon_is_said_to_have_done_nothing(key: str) -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        await run.later(0.9)
        await run.give(key)
        assert run.link.taken() == []
        assert run.screen.shows(f"Too soon after the end: press {key} again.")


async def test_a_key_that_means_nothing_at_the_result_is_not_asked_for_again() -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        await run.give("1", "b", "left")
        assert not run.screen.shows("Too soon")


async def test_a_paste_that_the_end_of_the_race_cuts_presses_no_keys_with_its_rest() -> None:
    async with racing() as run:
        await run.give(":", "begin paste", *"abc")
        await run.say(*ends("stopped", "won"))
        await run.give(*"Lyqd", "enter", *"Rv", "end paste")
        assert run.outcome is None
        assert run.link.taken() == []
        assert not run.screen.shows("commitment")


async def test_a_paste_after_the_end_of_the_race_makes_no_key_count_sooner() -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        await run.give("begin paste", "end paste", "r")
        assert run.link.taken() == []


async def test_keys_that_mean_nothing_at_the_table_count_as_soon_as_the_race_has_ended() -> None:
    async with racing() as run:
        await run.say(*ends("stopped", "won"))
        await run.give("q")
    assert run.outcome is not None


@pytest.mark.parametrize("is_late", [False, True], ids=["before the result", "after it"])
async def test_a_move_that_was_on_its_way_as_the_race_ended_leaves_no_complaint_under_the_result(*, is_late: bool) -> None:
    async with racing() as run:
        await run.give("s")
        assert run.link.taken()
        refused = scenes.refusal(ErrorCode.RACE_OVER, message="That race is over. (it was decided before this move)")
        told = ends("stopped", "won")
        await run.say(*((*told, refused) if is_late else (refused, *told)))
        assert not run.screen.shows("That race is over")
        assert not run.screen.shows("Not played")


async def test_nor_does_it_if_the_next_race_of_the_series_is_open_by_then() -> None:
    score = scenes.standing((1, 0), 1)
    async with racing() as run:
        await run.give("s")
        await run.say(Result(version=8, record=scenes.record()), Scored(version=9, series=score, record=None), scenes.next_race(10, score))
        await run.say(scenes.refusal(ErrorCode.WRONG_RACE, message="That is another race."))
        assert run.screen.shows("You won by")
        assert not run.screen.shows("That is another race.")


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


class Thinker:
    """A reviewer that says its sentences when the test lets it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.done = trio.Event()

    async def review(self, record: Record, seat: int) -> GameReview:
        self.asked.append((record.digest, seat))
        await self.done.wait()
        return GameReview(("This deal can be won: all 52 cards could be brought home.", "All 52 were."))


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
        assert run.screen.shows("All 52 were.")
        assert thinker.asked == [(scenes.record().digest, 0)]


async def test_a_review_that_could_not_be_had_is_asked_for_again_where_it_is_opened_again() -> None:
    asked: list[int] = []

    async def fail(record: Record, seat: int) -> GameReview:
        await trio.lowlevel.checkpoint()
        asked.append(seat)
        return GameReview(("There is no review: the disk is full.",), failed=True)

    async with raced(reviewer=fail) as run:
        await run.give("v")
        await settled()
        assert run.screen.shows("There is no review: the disk is full.")
        await run.give("v", "v")
        await settled()
        assert asked == [0, 0]


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


@pytest.mark.parametrize(
    ("raced", "lost"),
    [
        (0, "forfeit the rated race and give up the series"),
        (1, "forfeit the rated race and give up the series"),
        (2, "forfeit the rated race"),
    ],
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
        assert run.screen.shows("Waiting for Benedikt to be ready.")
        await run.give("r")
        assert run.link.taken() == []


async def test_a_series_that_ends_while_one_is_ready_for_its_next_race_shows_the_checks_of_the_last_deal() -> None:
    # What was sent and seen here is not what made this record. Whoever has forgotten it cannot say so.
    score, found_false = scenes.standing((1, 0), 1), "  ✗ "
    async with racing() as run:
        await run.say(Result(version=8, record=scenes.record()), Scored(version=9, series=score, record=None))
        await run.later(1)
        await run.say(scenes.next_race(10, score))
        assert run.screen.shows(found_false)
        await run.give("r")
        assert ready_sent(run).race == 2
        over, fresh = scenes.standing((1, 0), 1, over=True), scenes.standing((0, 0), 0)
        await run.say(PlayerReady(version=11, seat=0), Scored(version=12, series=over, record=None), scenes.next_race(13, fresh, race=3))
        assert run.screen.shows("You won by")
        assert run.screen.shows(found_false)


async def test_after_the_first_race_of_another_swap_the_result_of_the_swap_before_is_not_shown_again() -> None:
    done, fresh, half = (scenes.standing((0, 0), raced, format="swap", races=2, over=raced == 2) for raced in (2, 0, 1))
    async with running() as run:
        over = scenes.next_race(1, done, phase="over", record=scenes.record())
        await run.say(UP, scenes.welcome(room=scenes.CODE), over, scenes.next_race(2, fresh, race=3))
        assert run.screen.shows("You won by")
        await run.say(scenes.next_race(3, fresh, race=3, phase="racing", view=scenes.middle_view()))
        await run.say(scenes.next_race(4, half, race=4))
        assert run.screen.shows("Race 1 of the swap is over. Cards home: Anna 48, Benedikt 33.")
        assert not run.screen.shows("You won by")


async def test_after_a_race_that_was_raced_without_this_player_the_result_of_the_series_before_is_not_shown_again() -> None:
    done, fresh, half = (scenes.standing((0, 0), raced, format="swap", races=2, over=raced == 2) for raced in (2, 0, 1))
    async with running() as run:
        over = scenes.next_race(1, done, phase="over", record=scenes.record())
        await run.say(UP, scenes.welcome(room=scenes.CODE), over, scenes.next_race(2, fresh, race=3))
        await run.give("r")
        await run.say(PlayerReady(version=3, seat=0), Lost("", retry_in_ms=1000), UP, scenes.welcome(room=scenes.CODE))
        await run.say(scenes.next_race(40, half, race=4))
        assert run.screen.shows("Race 1 of the swap is over. Cards home: Anna 48, Benedikt 33.")
        assert not run.screen.shows("You won by")


async def test_how_the_first_race_of_a_swap_ended_is_said_and_again_to_a_player_who_comes_back_before_the_second() -> None:
    fresh, half = (scenes.standing((0, 0), raced, format="swap", races=2) for raced in (0, 1))
    ends = (
        Progress(version=seat + 2, seat=seat, ply=9, home=8, foundations={}, state="out-of-time", elapsed_ms=600_000) for seat in (0, 1)
    )
    async with running() as run:
        first = scenes.next_race(1, fresh, race=1, phase="racing", view=scenes.middle_view())
        await run.say(UP, scenes.welcome(room=scenes.CODE), first, *ends)
        await run.say(Hidden(version=4), Scored(version=5, series=half, record=None), scenes.next_race(6, half))
        assert run.screen.shows("Race 1 of the swap is over, time is up. Cards home:")
        await run.say(Lost("", retry_in_ms=1000), UP, scenes.welcome(room=scenes.CODE), scenes.next_race(8, half), Back())
        assert run.screen.shows("Race 1 of the swap is over, time is up. Cards home:")


@pytest.mark.parametrize(
    ("points", "won"),
    [((2, 1), "You have won the best of 5: Anna 2 : 1 Benedikt."), ((1, 2), "Benedikt has won the best of 5: Anna 1 : 2 Benedikt.")],
)
def test_who_won_a_series_goes_before_who_won_its_last_race(points: tuple[int, int], won: str) -> None:
    model = scenes.reduced(scenes.over(), Scored(version=12, series=scenes.standing(points, 3, over=True), record=None), now_ms=144_000)
    assert model.room is not None
    assert titles(model.room, 70) == [[("title", won)], [("title", "You won by 15 cards!")]]
    # The line has no room for it.
    assert titles(model.room, 40)[0] == [("title", "You won by 15 cards!")]
    assert bool(large_headline(scene_of(model, Ui(), 0), model.room, 98).height) is (points[0] > points[1])


async def test_the_record_of_the_first_race_of_a_swap_is_kept_when_it_is_told_and_before_that_of_the_second() -> None:
    first = sealed(replace(scenes.record(), software="the first one"))
    half, score = (scenes.standing((1, 1), raced, format="swap", races=2, over=raced == 2) for raced in (1, 2))
    second = scenes.next_race(7, half, phase="racing", view=scenes.middle_view())
    records: list[Record] = []
    async with running(recorder=records.append) as run:
        await run.say(UP, scenes.welcome(), second)
        await run.say(Result(version=8, record=scenes.record()), Scored(version=9, series=score, record=first))
        assert run.screen.shows("You have won the swap: Anna 1 : 1 Benedikt (96 : 66 cards).")
    assert [record.digest for record in records] == [first.digest, scenes.record().digest]


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
        assert run.screen.shows("Race 1 of the swap is over.")
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


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_line_about_a_run_that_was_just_run_shows_how_it_went_and_none_of_its_cards(ascii_only: bool) -> None:
    model = runs.over()
    assert model.room is not None
    points = ((0, 4), (30_000, 30), (120_000, 51))
    model = replace(model, room=replace(model.room, points=(points,)))
    ui, effects = update(model, Ui(settings=UiSettings(ascii=ascii_only)), Key("s"), 200_000)
    (copied,) = effects
    assert isinstance(copied, Copy)
    course = copied.text.partition("Carpet: ")[2].partition(" ")[0]
    assert len(course) == 10
    assert course[0] == ("▁" if not ascii_only else ".")
    assert list(course) == sorted(course, key=("▁▂▃▄▅▆▇█" if not ascii_only else ".:#").index)
    assert " 51/52 in 2:14.6, place 2 of 3, 10 days in a row." in copied.text
    assert copied.text in ui.note


def ghosts_room(home: int, at_ms: int, *, own: int = 51, ghost: SeatState = "stopped") -> RoomModel:
    """After a run of Anna's whose last card came home at 2:14.6, beside a ghost that stood so at the end."""
    model = scenes.reduced(
        runs.racing("challenge", 1),
        Ghost(version=8, ghost=runs.ghost(0, state="racing", ply=40, home=home, elapsed_ms=at_ms)),
        now_ms=4000 + at_ms,
    )
    end = Ghost(version=9, ghost=runs.ghost(0, state=ghost, ply=40, home=home, elapsed_ms=at_ms + 2_000))
    told = runs.over("challenge", 1).room
    assert told is not None
    ended = Ended(version=10, seats=tuple(replace(seat, home=own) for seat in told.ended))
    room = scenes.reduced(model, end, ended, now_ms=148_000).room
    assert room is not None
    return room


@pytest.mark.parametrize(
    ("home", "at_ms", "told"),
    [
        (30, 60_000, "You beat Benedikt's ghost by 21 cards!"),
        (52, 60_000, "Benedikt's ghost won by 1 card."),
        (51, 132_500, "Benedikt's ghost won by 2.1 s."),
        (51, 134_600, "You and Benedikt's ghost are level."),
    ],
)
def test_who_won_against_a_ghost_is_told_with_the_margin(home: int, at_ms: int, told: str) -> None:
    assert headline(ghosts_room(home, at_ms)) == [("title", told)]


@pytest.mark.parametrize("record", [None, scenes.record()])
def test_the_curve_of_the_ghost_stands_beside_ones_own_on_the_result_and_says_whose_it_is(record: Record | None) -> None:
    room = ghosts_room(52, 60_000, ghost="won")
    if record is not None:
        record = sealed(replace(record, seats=record.seats[:1], moves=()))
    model = replace(runs.over("challenge", 1), room=replace(room, record=record))
    lines = rows_of(view(scene_of(model, Ui(settings=DEFAULTS), 148_000), (100, 36)), (100, 36))
    text = ["".join(part for _, part in line) for line in lines]
    assert any("Benedikt (ghost)" in line and "52/52" in line for line in text)
    assert {role[-1] for line in lines for role, part in line if role.startswith("half ") and "l1" in role}


def test_how_a_ghost_ended_after_ones_own_run_is_read_off_the_board_and_if_that_is_not_known_how_it_stood_then() -> None:
    room = ghosts_room(30, 60_000, own=40, ghost="racing")
    assert headline(room) == [("title", "You brought 40 cards home; Benedikt's ghost had 30 by then.")]
    assert headline(room, runs.board("challenge")) == [("title", "Benedikt's ghost won by 12 cards.")]


@pytest.mark.parametrize(
    ("home", "at_ms", "rows"),
    [
        (51, 128_300, ["● 1 Benedikt (ghost) 51/52 2:08.3 40 stopped", "● 2 Anna (you) 51/52 2:14.6"]),
        (51, 134_600, ["● 1 Anna (you) 51/52 2:14.6", "● 1 Benedikt (ghost) 51/52 2:14.6 40 stopped"]),
        (30, 60_000, ["● 1 Anna (you) 51/52 2:14.6", "● 2 Benedikt (ghost) 30/52 1:00.0 40 stopped"]),
    ],
)
def test_a_ghost_has_its_place_and_time_among_those_of_the_result(home: int, at_ms: int, rows: list[str]) -> None:
    lines = table_beside(ghosts_room(home, at_ms))
    assert [line[: len(row)] for line, row in zip(lines, rows, strict=True)] == rows


def test_a_ghost_whose_end_is_not_known_has_no_place() -> None:
    room = ghosts_room(30, 60_000, own=40, ghost="racing")
    assert table_beside(room)[1] == "● Benedikt (ghost) 30/52 when your run ended"
    assert table_beside(room, runs.board("challenge"))[0] == "● 1 Benedikt (ghost) 52/52 2:17.3"


def table_beside(room: RoomModel, board: Runs | None = None) -> list[str]:
    scene = scene_of(replace(runs.over("challenge", 1), room=room), Ui(settings=DEFAULTS), 148_000)
    return [" ".join("".join(text for _, text in line).split()) for line in places_table(scene, room, 90, 52, board)[1:]]


def test_a_ghost_whose_end_was_heard_late_ended_when_the_board_says() -> None:
    board = runs.board("challenge")
    (row,) = [row for row in board.rows if row.name == "Benedikt"]
    heard = [headline(ghosts_room(row.home, at_ms, own=row.home), board) for at_ms in (row.home_at_ms, row.home_at_ms + 60_000)]
    assert heard[0] == heard[1]


def test_of_several_ghosts_it_is_told_how_many_were_beaten() -> None:
    model = runs.over("challenge", 2)
    assert model.room is not None
    assert headline(model.room, model.runs) == [("title", "You brought 51 cards home, and beat 1 of 2 ghosts.")]
