"""The replay through the real update function and root widget: keys, clicks and screens, opened alone or from a race's result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO

import pytest
import trio
from msgspec import structs
from msgspec.structs import replace

from client.replay.own_server import GameReview, NoReplay
from client.replay.timeline import TimeLine
from client.state.store import Model
from client.text.formatting import clock_text
from client.tui.actions import Reviewed
from client.tui.app import run_replay
from client.tui.keymap import Command
from client.tui.replay import replaying
from client.tui.replay_state import jumped, jumped_to_tenth, replay_after, replay_state_of
from client.tui.scene import NOTICE_MS, scene_of
from client.tui.start import AppOutcome, StartTournaments, UiSettings
from client.tui.step import Step
from client.tui.ui_state import Ui
from protocol.client_messages import Rematch
from protocol.record import Record, SeriesRecord
from protocol.replay import Frame
from protocol.room_events import PlayerReady, Presence, RematchAsked, Scored
from protocol.tournament_messages import CheckIn
from tests.client import replays, scenes, tables
from tests.client import tournament_scenes as tournaments
from tests.client.tui.hands import Run, raced, run_on_hand_screen, settled
from tests.client.tui.screens import ENEMY, Shown, picture_of, rows_of, text_of

pytestmark = pytest.mark.usefixtures("mock_clock")

LINE = replays.line("carpet", 2)
FIRST, SECOND = LINE.frames[:2]
SAME, PARTED_MS = 33, 52_990
"""The moves that both made alike, and when the second of them had gone on in their own way."""
END = clock_text(LINE.end_ms)


@asynccontextmanager
async def looking(line: TimeLine = LINE, *, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Run]:
    """A replay that is being looked at."""

    def app(run: Run) -> Awaitable[AppOutcome]:
        return run_replay(line, settings=UiSettings(), keys=StringIO(), screen=run.screen)

    async with run_on_hand_screen(app, size) as run:
        yield run


def head(look: Run) -> str:
    """The first row."""
    return look.screen.last_text[0]


async def test_it_begins_at_the_deal_standing_and_says_where_the_lines_part() -> None:
    async with looking() as look:
        assert "Replay · Carpet · ABCDEF" in head(look)
        assert f"paused ×1   0:00.0 / {END}" in head(look)
        assert sum(line.count("the deal, before the first move") for line in look.screen.last_text) == 2
        assert look.screen.shows("◆ They diverge at move 34 (0:52): Player 0 a3, Player 1 b1.")


async def test_a_race_of_a_series_is_numbered_within_it() -> None:
    series = SeriesRecord(id="first", format="best-of", races=3, race=2)
    async with looking(replace(LINE, record=structs.replace(LINE.record, race=5, series=series))) as look:
        assert "Carpet · ABCDEF · race 2 of 3" in head(look)


async def test_arrows_step_over_the_moves_of_both_and_brackets_over_those_of_one() -> None:
    async with looking() as look:
        await look.give("right")
        assert clock_text(FIRST.at_ms) in head(look)
        assert look.screen.shows("1. a4")
        assert look.screen.shows("the deal, before the first move")
        await look.give("l")
        assert clock_text(SECOND.at_ms) in head(look)
        assert not look.screen.shows("the deal, before the first move")
        await look.give("left", "h", "h")
        assert "0:00.0 /" in head(look)
        await look.give("]", "]", "]")
        third = LINE.lines[0].frames[2]
        assert clock_text(third.at_ms) in head(look)
        assert look.screen.shows(f"3. {third.move}")
        await look.give(".")
        later = next(frame for frame in LINE.lines[1].frames if frame.at_ms >= third.at_ms)
        assert clock_text(later.at_ms) in head(look)
        await look.give(",", "[")
        assert look.screen.shows("2. ")


async def test_it_plays_at_its_speed_and_pauses() -> None:
    async with looking() as look:
        await look.give("+", "+", " ")
        assert "playing ×4   0:00.0" in head(look)
        await look.later(5)
        assert "playing ×4   0:20.0" in head(look)
        await look.give(" ", "-", "-", "-", "-", "-", "-")
        assert "paused ×1/4   0:20.0" in head(look)
        await look.later(60)
        assert "paused ×1/4   0:20.0" in head(look)
        await look.give(" ")
        await look.later(4)
        assert "playing ×1/4   0:21.0" in head(look)


def test_the_last_move_and_the_end_are_drawn_even_within_the_tenth_of_a_second_that_is_shown() -> None:
    last = LINE.frames[-1].at_ms // 100 * 100
    line = replace(LINE, frames=(*LINE.frames[:-1], replace(LINE.frames[-1], at_ms=last + 50)), end_ms=last + 90)
    replay = replay_after(jumped(replay_state_of(line), last + 10, 0), Command.PAUSE, 0)
    ui = Ui(replay=replay, only_replay=True)
    assert len({replaying.SCREEN.times(scene_of(Model(), ui, now_ms)) for now_ms in (20, 60, 90)}) == 3


async def test_it_stops_at_the_end_and_begins_again() -> None:
    async with looking() as look:
        await look.give("up", "up", "up", "up", "up", "9", " ")
        assert "playing ×16" in head(look)
        await look.later(2)
        assert f"paused ×16   {END} / {END}" in head(look)
        assert "no moves" in look.screen.last_text[1]
        await look.give("enter")
        assert "playing ×16   0:00.0" in head(look)


async def test_digits_ends_and_the_parting_are_jumped_to() -> None:
    async with looking() as look:
        await look.give("5")
        assert f"{clock_text(LINE.end_ms // 2)} /" in head(look)
        await look.give("G")
        assert f"{END} / {END}" in head(look)
        await look.give("g")
        assert "0:00.0 /" in head(look)
        await look.give("end", "home", "p")
        assert f"{clock_text(PARTED_MS)} /" in head(look)
        assert look.screen.shows(f" {SAME + 1}. a3 ")
        assert look.screen.shows(f" {SAME + 1}. b1 ")


@pytest.mark.parametrize(("size", "rows", "left"), [((80, 24), 3, 10), ((120, 40), 7, 10), ((200, 50), 3, 10)])
async def test_a_click_anywhere_on_the_time_line_goes_there(size: tuple[int, int], rows: int, left: int) -> None:
    async with looking(size=size) as look:
        # Beside the names.
        columns = size[0] - left - 1
        for row in range(size[1] - 1 - rows, size[1] - 1):
            await look.give(("mouse press", 1, left + columns - 1, row))
            assert f"{END} / {END}" in head(look)
            await look.give(("mouse press", 1, left, row))
            assert f"0:00.0 / {END}" in head(look)
        await look.give(("mouse press", 1, left + columns // 2, size[1] - 3))
        assert clock_text(LINE.end_ms * (columns // 2) // (columns - 1)) in head(look)
        await look.give(("mouse press", 1, 1, size[1] - 3), ("mouse press", 1, 10, 8))
        assert clock_text(LINE.end_ms * (columns // 2) // (columns - 1)) in head(look)


async def test_the_buttons_do_what_their_keys_do() -> None:
    async with looking() as look:
        await look.screen.click("end")
        assert f"{END} / {END}" in head(look)
        await look.screen.click("p diverge")
        assert f"{clock_text(PARTED_MS)} /" in head(look)
        await look.screen.click("q quit")
        assert look.outcome is not None


async def test_of_more_than_two_seats_the_best_placed_are_shown_and_tab_shows_others() -> None:
    async with looking(replays.line("carpet", 4)) as look:
        for number, (left, right) in enumerate([(2, 0), (2, 3), (2, 1), (0, 3), (0, 1), (3, 1), (2, 0)]):
            assert f"Player {left}" in look.screen.last_text[1][:40]
            assert f"Player {right}" in look.screen.last_text[1][40:]
            assert look.screen.shows(f"pair {number % 6 + 1} of 6 (tab)")
            await look.give("tab")
        assert look.screen.shows("pair 2 of 6")
        await look.give("shift tab", "shift tab")
        assert look.screen.shows("pair 6 of 6")


async def test_a_race_of_one_has_one_board_and_no_parting() -> None:
    async with looking(replays.line("carpet", 1)) as look:
        assert sum("the deal, before the first move" in line for line in look.screen.last_text) == 1
        assert not look.screen.shows("part")
        await look.give("p")
        assert look.screen.shows("The two games never diverge.")
        await look.give("right", "]")
        assert look.screen.shows(" 2. ")
        await look.give("[", "tab")
        assert look.screen.shows(" 1. ")


async def test_games_with_different_shuffles_do_not_diverge() -> None:
    swap = SeriesRecord(id="ABCDEF-1-00", format="swap", races=2, race=1)
    async with looking(structs.replace(LINE, record=structs.replace(LINE.record, series=swap))) as look:
        assert look.screen.shows(" Each plays a shuffle of their own. ")
        assert not look.screen.shows("diverge")
        assert not look.screen.shows("◆")
        await look.give("p")
        assert look.screen.shows(" Each plays a shuffle of their own. ")
        assert "0:00.0 /" in head(look)


async def test_help_looks_and_an_unknown_key_are_as_everywhere() -> None:
    async with looking() as look:
        await look.give("?")
        assert look.screen.shows("Keys here")
        assert "Replay · Carpet" in head(look)
        await look.give("?", "A")
        assert "".join(look.screen.last_text).isascii()
        await look.give("A", "z")
        assert look.screen.shows("z does nothing here; ? shows the keys.")


@pytest.mark.parametrize("key", ["q", "esc"])
async def test_it_is_left_by_key(key: str) -> None:
    async with looking() as look:
        await look.give(key)
        assert look.outcome is not None
        assert look.outcome.reason == "quit"


# ---- after a race


def replayer(line: TimeLine | str) -> tuple[Callable[[Record], Awaitable[TimeLine]], list[Record], trio.Event]:
    """A stand-in that keeps what it was asked, and answers when it is let."""
    asked: list[Record] = []
    let = trio.Event()

    async def answer(record: Record) -> TimeLine:
        asked.append(record)
        await let.wait()
        if isinstance(line, str):
            raise NoReplay(line)
        return line

    return answer, asked, let


async def test_the_result_opens_the_replay_and_gets_back_from_it() -> None:
    answer, asked, let = replayer(LINE)
    async with raced(record=LINE.record, replayer=answer) as run:
        await run.give("y")
        assert run.screen.shows("Preparing the replay...")
        let.set()
        await settled()
        assert run.screen.shows("Replay · Carpet")
        assert run.screen.shows("(you)")
        await run.give("5", "q")
        assert run.screen.shows("player")
        assert not run.screen.shows("Replay ·")
        await run.give("y")
        assert run.screen.shows(f"0:00.0 / {END}")
        assert asked == [LINE.record]
        assert run.outcome is None


async def test_a_rematch_that_is_asked_for_is_heard_in_the_replay_and_answered_after_it() -> None:
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(record=LINE.record, replayer=answer) as run:
        await run.give("y")
        await run.say(RematchAsked(version=9, seat=1))
        assert run.screen.shows("Replay ·")
        assert run.screen.shows("Benedikt would like a rematch. To answer, press esc, then r.")
        await run.say(Presence(version=10, seat=1, connected=False, away_ms=None))
        assert not run.screen.shows("would like a rematch")
        await run.say(Presence(version=11, seat=1, connected=True, away_ms=None))
        run.link.taken()
        await run.give("esc", "r")
        assert run.link.taken() == [Rematch(race=1)]


async def test_of_the_next_race_of_a_series_for_which_the_other_is_ready_the_replay_says_so_too() -> None:
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(record=LINE.record, replayer=answer) as run:
        score = scenes.standing((1, 0), 1)
        await run.say(Scored(version=9, series=score, record=None), scenes.next_race(10, score))
        await run.give("y")
        await run.say(PlayerReady(version=11, seat=1))
        assert run.screen.shows("Replay ·")
        assert run.screen.shows("Benedikt is ready for race 2. To answer, press esc, then r.")


async def test_a_check_in_that_opens_is_said_over_the_replay_and_answered_from_there() -> None:
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(start=StartTournaments(tournaments.ID), record=LINE.record, replayer=answer) as run:
        await run.say(tournaments.told())
        await run.give("y")
        await run.say(tournaments.check_in_due())
        assert run.screen.shows("Replay · Carpet")
        assert run.screen.shows("Press T to check in to Carpet Open within 0:40, or you will be left out.")
        await run.give("T")
        assert any(isinstance(message, CheckIn) for message in run.link.taken())


async def test_from_the_replay_of_ones_own_race_one_plays_on_once_one_has_said_so() -> None:
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(record=LINE.record, replayer=answer) as run:
        await run.give("y")
        await settled()
        await run.give("5", "o")
        assert run.screen.shows("Leave this room, and play on from here by yourself?")
        await run.give("n")
        assert (run.screen.shows("Replay · Carpet"), run.outcome) == (True, None)
        await run.give("o", "y")
        assert run.outcome is not None
        wanted = run.outcome.play_on
    assert wanted is not None
    assert (wanted.record, wanted.seat) == (LINE.record, 0)
    assert 0 < wanted.ply < LINE.record.seats[0].plies


async def test_where_there_is_no_replay_the_result_says_why() -> None:
    answer, _, let = replayer("There is no replay of that race: no.")
    async with raced(record=LINE.record, replayer=answer) as run:
        let.set()
        await run.give("y")
        assert run.screen.shows("There is no replay of that race: no.")


async def test_quit_gives_up_a_replay_that_is_being_prepared_and_nothing_else() -> None:
    answer, asked, let = replayer(LINE)
    async with raced(record=LINE.record, replayer=answer) as run:
        assert run.screen.shows("q quit")
        await run.give("y", "y")
        assert run.screen.shows("q back")
        await run.give("q")
        assert run.outcome is None
        assert run.screen.shows("The replay was cancelled.")
        assert run.screen.shows("q quit")
        let.set()
        await settled()
        assert not run.screen.shows("Replay ·")
        await run.give("y")
        assert run.screen.shows("Replay ·")
        assert asked == [LINE.record]
        await run.give("q", "q")
        assert run.outcome is not None


async def test_a_replay_that_comes_too_late_does_not_cover_the_next_race() -> None:
    answer, _, let = replayer(LINE)
    async with raced(record=LINE.record, replayer=answer) as run:
        await run.give("y", "r")
        await run.say(RematchAsked(version=9, seat=1), scenes.room(version=10, race=2))
        let.set()
        await settled()
        assert not run.screen.shows("Replay ·")


async def test_the_next_race_closes_the_replay() -> None:
    answer, _, let = replayer(LINE)
    let.set()
    async with raced(record=LINE.record, replayer=answer) as run:
        await run.give("r", "y")
        assert run.screen.shows("Replay ·")
        await run.say(RematchAsked(version=9, seat=1), scenes.room(version=10, race=2))
        assert not run.screen.shows("Replay ·")
        assert run.screen.shows("Carpet Race")


# ---- what is drawn

SUITS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


def test_nothing_a_record_says_is_drawn_unclean() -> None:
    record = LINE.record
    seats = tuple(structs.replace(seat, name=ENEMY, bot=ENEMY) for seat in record.seats)
    evil = structs.replace(record, seats=seats, room=ENEMY, rules=ENEMY)
    lines = tuple(replace(line, seat=seat) for line, seat in zip(LINE.lines, seats, strict=True))
    race = TimeLine(evil, structs.replace(LINE.rules, name=ENEMY, explanation=ENEMY), lines, LINE.frames, LINE.end_ms)
    for size in ((80, 24), (120, 40)):
        for help_from in (None, 0, 40):
            replay = replay_state_of(race)
            shown = Shown(scenes.at_home, Ui(replay=replay, help_from=help_from))
            text = text_of(picture_of(shown, size))
            assert text.isprintable()
            assert "Replay" in text


@pytest.mark.parametrize("rules", tables.ALL)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_every_card_on_both_boards_is_drawn(rules: str, size: tuple[int, int]) -> None:
    """Checks the top card of every pile and every reserve, at three moments."""
    race = replays.line(rules, 2)
    replay = replay_state_of(race)
    for tenths in (0, 4, 10):
        at = jumped_to_tenth(replay, tenths, 0)
        lines = rows_of(Shown(scenes.at_home, Ui(replay=at), now_ms=0), size)
        boards = "\n".join(lines[5 : size[1] - 5]).replace("10", "T")
        for line in race.lines:
            view = line.view(race.plies(at.head.made)[line.number])
            for pile in view.piles.values():
                if pile:
                    assert pile[-1][0] + SUITS[pile[-1][1]] in boards


def test_the_foot_offers_only_what_there_is() -> None:
    text = rows_of(Shown(scenes.at_home, Ui(replay=replay_state_of(replays.line("carpet", 1)))), (120, 40))[-1]
    assert "diverge" not in text
    assert "pair" not in text
    assert {Command.PAIR, Command.PARTING} <= {binding.command for binding in replaying.KEYS}


def test_whoever_anothers_win_stopped_is_not_said_to_have_stopped() -> None:
    line = replays.line("carpet", 2, moves=20)
    stopped = line.lines[1].seat
    assert stopped.state == "stopped"
    for at_ms, is_said in ((stopped.ended_at_ms, False), (stopped.ended_at_ms + 1, True)):
        won = structs.replace(line.lines[0].seat, state="won", ended_at_ms=at_ms)
        record = structs.replace(line.record, seats=(won, stopped))
        changed = structs.replace(line, record=record, lines=(structs.replace(line.lines[0], seat=won), line.lines[1]))
        shown = Shown(scenes.over, Ui(replay=jumped_to_tenth(replay_state_of(changed), 10, 0), settings=UiSettings()), 0)
        text = "\n".join(rows_of(shown))
        assert "all home" in text
        assert ("stopped" in text) is is_said


@asynccontextmanager
async def reviewed(review: GameReview) -> AsyncIterator[tuple[Run, list[int], trio.Event]]:
    """The replay of a race from its result: the seats whose game is asked about are listed, and each answer waits for the event."""
    asked: list[int] = []
    answered = trio.Event()
    replay, _, replayed = replayer(LINE)
    replayed.set()

    async def judge(record: Record, seat: int) -> GameReview:
        asked.append(seat)
        await answered.wait()
        return review

    async with raced(record=LINE.record, replayer=replay, reviewer=judge) as run:
        await run.give("y")
        await settled()
        yield run, asked, answered


LOST = GameReview(("This deal can be won.", "The win was out of reach after move 5."), slip=5, instead="b2")


async def test_v_goes_to_just_before_the_move_that_lost_the_left_game_says_what_would_have_kept_it_and_marks_it() -> None:
    async with reviewed(LOST) as (run, asked, answered):
        await run.give("v", "v")
        assert run.screen.shows("Thinking about this game with every card known...")
        answered.set()
        await settled()
        lost = LINE.lines[0].frames[4]
        assert run.screen.shows(f"Move 5, {lost.move}, lost what was possible; b2 would have kept it.")
        assert run.screen.shows(f" 4. {LINE.lines[0].frames[3].move} ")
        assert "?" in run.screen.last_text[-4]
        await run.give("]")
        assert run.screen.shows(f" 5. {lost.move} ")
        await run.give("G", "v")
        assert run.screen.shows(f" 4. {LINE.lines[0].frames[3].move} ")
        assert asked == [0]


async def test_whoever_has_gone_on_in_the_replay_is_not_taken_to_the_lost_move_but_sees_it_marked() -> None:
    async with reviewed(LOST) as (run, _, answered):
        await run.give("v", "G")
        answered.set()
        await settled()
        assert f"{END} / {END}" in head(run)
        assert "?" in run.screen.last_text[-4]


async def test_a_review_that_comes_when_nothing_says_any_more_that_it_is_on_its_way_offers_itself_and_takes_nobody_there() -> None:
    async with reviewed(LOST) as (run, asked, answered):
        await run.give("v")
        before = head(run)
        await run.later(NOTICE_MS / 1000 + 1)
        assert not run.screen.shows("Thinking about this game")
        answered.set()
        await settled()
        assert run.screen.shows("This game has been thought about: v shows what was possible.")
        assert head(run) == before
        await run.give("v")
        assert run.screen.shows("lost what was possible; b2 would have kept it.")
        assert asked == [0]


async def test_a_review_that_could_not_be_had_says_why_and_is_asked_for_again_at_the_next_key() -> None:
    why = "There is no review: the disk is full."
    async with reviewed(GameReview((why,), failed=True)) as (run, asked, answered):
        answered.set()
        await run.give("v")
        await settled()
        assert run.screen.shows(why)
        await run.give("v")
        await settled()
        assert asked == [0, 0]


async def test_a_game_in_which_nothing_was_lost_is_said_to_be_one() -> None:
    async with reviewed(GameReview(("This deal can be won: all 52 cards could be brought home.", "All 52 were."))) as (
        run,
        _,
        answered,
    ):
        answered.set()
        await run.give("G", "v")
        await settled()
        assert run.screen.shows("This deal can be won: all 52 cards could be brought home. All 52 were.")
        assert f"{END} / {END}" in head(run)


async def test_a_review_that_is_not_certain_does_not_say_that_it_is() -> None:
    async with reviewed(LOST._replace(exact=False)) as (run, _, answered):
        answered.set()
        await run.give("v")
        await settled()
        assert run.screen.shows("may have lost what was possible")


def test_the_head_stands_before_the_move_that_lost_a_game_even_if_the_next_was_made_in_the_same_millisecond() -> None:
    def hurried(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
        lost = LINE.lines[0].frames[4]
        made = (replace(frame, at_ms=lost.at_ms) if (frame.seat, frame.ply) == (0, lost.ply + 1) else frame for frame in frames)
        return tuple(sorted(made, key=lambda frame: frame.at_ms))

    lines = (replace(LINE.lines[0], frames=hurried(LINE.lines[0].frames)), *LINE.lines[1:])
    line = replace(LINE, lines=lines, frames=hurried(LINE.frames))
    known = Reviewed(line.record.digest, 0, LOST.sentences, slip=5, instead="b2")
    replay = replaying.at_slip(Step(Model(), Ui(replay=replay_state_of(line), reviewed=known), 0)).ui.replay
    assert replay is not None
    assert line.plies(replay.head.made)[0] == 4
