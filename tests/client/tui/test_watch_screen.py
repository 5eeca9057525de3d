"""Watching through the real update function and root widget: from the lobby and back, the next race, other seats, curves, talk, a lost
connection.
"""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from client.connection.events import WATCH_REFERENCE, Back, Connected, Lost, RoundTrip
from client.game.moves import made
from client.state.watching import watch_after
from client.tui.drawing.cards import card_name
from client.tui.drawing.theme import theme_for
from client.tui.keymap import Command
from client.tui.race import watching
from client.tui.ui_state import Ui
from protocol.cards import FACE_DOWN
from protocol.client_messages import FollowLobby, Say
from protocol.errors import ErrorCode
from protocol.room_events import Hidden, Progress, Result, Scored
from protocol.views import LateBoard, RaceOptions, SeriesInfo, SeriesOptions, SeriesSeat, WatcherLine
from protocol.watch_messages import Unwatch, Unwatched, WatchRace
from tests.client import replays, scenes, tables, watched
from tests.client.tui.hands import UP, Run, running
from tests.client.tui.screens import ENEMY, Shown, rows_of

pytestmark = pytest.mark.usefixtures("mock_clock")


async def watch(run: Run, **fields: object) -> None:
    """At home, the first race that is being run is taken."""
    await run.say(UP, scenes.welcome(), scenes.lobby())
    run.link.taken()
    await run.give("w", "enter")
    assert run.link.taken() == [WatchRace(code="HKTRWM", ref=WATCH_REFERENCE)]
    await run.say(watched.watched(**fields))  # type: ignore[arg-type]


async def test_a_race_is_taken_from_the_lobby_and_left_for_the_lobby() -> None:
    async with running() as run:
        await watch(run)
        assert run.link.taken() == [FollowLobby(follow=False)]
        assert run.screen.shows("Watching · Carpet · KXQWZP · 12 watching")
        assert run.screen.shows("boards 10 s late")
        await run.give("esc")
        assert run.link.taken() == [Unwatch()]
        await run.say(Unwatched(code=scenes.CODE, reason="asked"))
        assert run.link.taken() == [FollowLobby(changes=True)]
        assert run.screen.shows("Watch a race (w)")


async def test_a_race_is_taken_by_a_click_and_without_one_the_key_says_so() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), scenes.lobby())
        run.link.taken()
        await run.click("PLMNBV")
        assert run.link.taken() == [WatchRace(code="PLMNBV", ref=WATCH_REFERENCE)]
        await run.say(structs.replace(scenes.lobby(), running=()))
        await run.give("w")
        assert run.screen.shows("No race can be watched now.")


async def test_bars_count_at_once_and_boards_when_they_come() -> None:
    async with running() as run:
        await watch(run)
        await run.say(watched.progress(8, 0, 33))
        assert run.screen.shows("33/52")
        assert run.screen.shows("after move 20 of 40")
        await run.say(watched.late(0, 22))
        assert run.screen.shows("after move 22 of 40")


async def test_curves_take_the_place_of_the_boards_and_after_the_race_boards_that_of_the_result() -> None:
    async with running() as run:
        await watch(run)
        await run.give("v")
        assert run.screen.shows("0:00 ")
        assert not run.screen.shows("after move")
        await run.give("v")
        assert run.screen.shows("after move")
        await run.say(watched.event(Result(version=8, record=scenes.record())))
        assert run.screen.shows("Anna won by")
        assert run.screen.shows("no moves")
        await run.give("v")
        assert run.screen.shows("after move")
        assert run.screen.shows("final boards")


async def test_whoever_anothers_win_stopped_is_not_said_to_have_stopped() -> None:
    async with running() as run:
        await watch(run)
        await run.say(watched.event(Progress(version=8, seat=0, ply=41, home=52, foundations={}, state="won", elapsed_ms=41_000)))
        await run.say(watched.event(Progress(version=9, seat=1, ply=39, home=47, foundations={}, state="stopped", elapsed_ms=41_000)))
        assert run.screen.shows("all home  52/52")
        assert run.screen.shows("47/52")
        assert not run.screen.shows("stopped")
        won, beaten = scenes.record().seats
        seats = (structs.replace(won, state="won", home=52), structs.replace(beaten, state="stopped", ended_at_ms=won.ended_at_ms))
        await run.say(watched.event(Result(version=10, record=structs.replace(scenes.record(), seats=seats))))
        assert run.screen.shows("beaten")
        await run.give("v")
        assert run.screen.shows("all home  52/52")
        assert not run.screen.shows("stopped")


async def test_of_the_first_race_of_a_swap_no_board_is_promised() -> None:
    async with running() as run:
        swap = SeriesOptions(format="swap", races=2)
        seats = tuple(SeriesSeat(name=name, points=0, home=0, place=1, gone=False, forfeits=0) for name in ("Anna", "Benedikt"))
        series = SeriesInfo(format="swap", races=2, raced=0, over=False, seats=seats)
        await watch(run, boards=0, options=RaceOptions(series=swap), series=series)
        assert run.screen.shows("no boards in this race")
        assert "\n".join(run.screen.last_text).count("No boards while others have") == 1
        assert not run.screen.shows("10 s l")
        await run.say(watched.event(Scored(version=8, series=structs.replace(series, raced=1), record=None)))
        assert run.screen.shows("boards 10 s late")
        assert "\n".join(run.screen.last_text).count("The boards are shown 10 s late.") == 1


async def test_between_the_races_of_a_series_and_after_it_its_score_is_shown() -> None:
    async with running() as run:
        options = RaceOptions(series=SeriesOptions(format="best-of", races=3))
        seats = tuple(
            SeriesSeat(name=name, points=points, home=30, place=2 - points, gone=False, forfeits=0)
            for name, points in (("Anna", 1), ("Benedikt", 0))
        )
        series = SeriesInfo(format="best-of", races=3, raced=1, over=False, seats=seats)
        await watch(run, boards=0, phase="waiting", options=options, series=series)
        assert run.screen.shows("Anna 1 : 0 Benedikt, best of 3, race 2 next")
        await run.say(watched.event(Result(version=8, record=scenes.record())))
        won = (structs.replace(seats[0], points=2), seats[1])
        await run.say(watched.event(Scored(version=9, series=structs.replace(series, raced=2, over=True, seats=won), record=None)))
        assert run.screen.shows("Anna has won the best of 3")


async def test_tab_shows_the_boards_of_other_seats_round_and_round() -> None:
    async with running() as run:
        await watch(run, seats=5)
        for left, right in [("Anna", "Benedikt"), ("Benedikt", "Clara"), ("Clara", "Dan"), ("Dan", "Émilie"), ("Émilie", "Anna")]:
            assert left in run.screen.last_text[2][:38]
            assert right in run.screen.last_text[2][38:]
            await run.give("tab")
        await run.give("shift tab", "shift tab")
        assert "Dan" in run.screen.last_text[2][:38]


async def test_what_is_said_goes_to_those_who_watch_the_race() -> None:
    async with running() as run:
        await watch(run)
        run.link.taken()
        await run.give("t", *"go on q", "enter")
        assert run.link.taken() == [Say(text="go on q", code=scenes.CODE)]


async def test_the_server_moves_on_to_the_next_race_and_what_was_typed_for_the_last_is_forgotten() -> None:
    async with running() as run:
        await watch(run)
        await run.give("v", "t", *"wow")
        await run.say(structs.replace(watched.watched("colorado", code="NEXTNX"), closest=True))
        assert run.screen.shows("Watching · Colorado · NEXTNX")
        assert run.screen.shows("The closest race; the next one follows.")
        assert run.screen.shows("after move")
        assert not run.screen.shows("Say:")


async def test_where_nothing_is_run_it_says_so_and_waits() -> None:
    async with running() as run:
        await run.say(UP, scenes.welcome(), Unwatched(code=None, reason="none"))
        assert run.screen.shows("No public race is running.")
        await run.give("t")
        assert not run.screen.shows("Say:")
        await run.say(watched.watched())
        assert run.screen.shows("Anna")


async def test_a_lost_connection_is_told_and_the_race_is_there_again_with_the_snapshot() -> None:
    async with running() as run:
        await watch(run)
        await run.say(Lost("The connection to the server was lost.", 4000))
        assert run.screen.shows("reconnecting in 4 s")
        assert run.screen.shows("Watching · Carpet")
        run.link.taken()
        await run.say(Connected("ws://fake", "carpet.v1.msgpack"), scenes.welcome(), watched.watched(version=20), Back())
        assert run.screen.shows("Connected again.")
        assert run.link.taken() == []
        await run.say(watched.progress(21, 0, 40))
        assert run.screen.shows("40/52")


async def test_taking_a_seat_ends_the_watching_and_a_refused_race_is_told() -> None:
    async with running() as run:
        await watch(run)
        run.link.taken()
        await run.say(scenes.room(code="OWNRAC"))
        assert Unwatch() in run.link.taken()
        assert run.screen.shows("OWNRAC")
        await run.say(Unwatched(code=scenes.CODE, reason="asked"))
        assert run.link.taken() == []


async def test_help_says_the_keys_of_watching_first() -> None:
    async with running() as run:
        await watch(run)
        await run.give("?")
        for _ in range(4):
            if run.screen.shows("The curves and all bars"):
                break
            await run.give("page down")
        assert run.screen.shows("The curves and all bars, or the boards.")
        await run.give("?", "q")
        assert run.outcome is not None


# ---- what is drawn


@pytest.mark.parametrize("rules", tables.ALL)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_every_card_of_the_boards_is_drawn(rules: str, size: tuple[int, int]) -> None:
    watch = watched.racing(rules, moves=40)
    text = "\n".join(rows_of(Shown(scenes.at_home, Ui(watch=watch)), size)[3:]).replace("10", "T")
    for board in watch.boards:
        for pile in board.view.piles.values():
            if pile:
                assert pile[-1][0] + {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}[pile[-1][1]] in text


@pytest.mark.parametrize("rules", tables.ALL)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_card_that_lies_face_down_is_drawn_as_a_back(rules: str, size: tuple[int, int]) -> None:
    watch = watched.racing(rules, moves=40)
    first = watch.boards[0]
    covered = {slot: (FACE_DOWN,) * len(pile) for slot, pile in first.view.piles.items()}
    view = structs.replace(first.view, piles=covered, moves=())
    hidden = replace(watch, boards=(structs.replace(first, view=view), *watch.boards[1:]))
    text = "\n".join(rows_of(Shown(scenes.at_home, Ui(watch=hidden)), size)[3:])
    assert text.count("░░") >= sum(bool(pile) for pile in covered.values())
    assert "??" not in text


def test_nothing_a_server_says_reaches_the_terminal_unclean() -> None:
    view = structs.replace(scenes.first_view(), piles={"a1": (ENEMY,), ENEMY: ("KS",)}, waste=(ENEMY,), foundations={ENEMY: 99, "S": -1})
    model = watched.racing()
    assert model.room is not None
    seats = tuple(structs.replace(info, name=ENEMY, bot=ENEMY) for info in model.room.seats)
    line = WatcherLine(number=5, name=ENEMY, text=ENEMY)
    room = replace(model.room, seats=seats, code=ENEMY, chat=(line,), options=structs.replace(model.room.options, rules=ENEMY))
    boards = tuple(LateBoard(seat=seat, ply=-4, elapsed_ms=-5, state="racing", view=view) for seat in range(2))
    for details in (False, True):
        for record in (None, replays.record()):
            phase = "racing" if record is None else "over"
            evil = replace(model, room=replace(room, record=record, phase=phase), boards=boards)
            text = "".join(rows_of(Shown(scenes.at_home, Ui(watch=evil, details=details))))
            assert not {"\x1b", "\x07", "\u202e"} & set(text)
            assert "Watching" in text


def test_the_foot_offers_only_what_there_is() -> None:
    def foot(shown: Shown) -> str:
        return rows_of(shown, (120, 40))[-1]

    assert "tab seats" not in foot(Shown(scenes.at_home, Ui(watch=watched.racing())))
    assert "tab seats" in foot(Shown(scenes.at_home, Ui(watch=watched.racing(seats=5))))
    nothing = foot(Shown(scenes.at_home, Ui(watch=watch_after(None, Unwatched(code=None, reason="none"), 0))))
    assert "talk" not in nothing
    assert "curves" not in nothing
    assert {Command.PAIR, Command.CHAT, Command.DETAILS} <= {binding.command for binding in watching.KEYS}


async def test_hidden_events_of_a_watched_race_change_nothing_that_is_seen() -> None:
    async with running() as run:
        await watch(run)
        before = run.screen.last_text
        await run.say(watched.event(Hidden(version=8)))
        assert run.screen.last_text == before


async def test_in_a_large_window_the_moves_that_led_to_the_boards_stand_beside_them() -> None:
    async with running(size=(200, 50)) as run:
        await watch(run)
        assert run.screen.shows("leads by")
        assert not run.screen.shows("last moves")
        await run.say(watched.late(0, 21))
        assert run.screen.shows("Anna's last moves")
        assert not run.screen.shows("Benedikt's last moves")
        before, after = (tables.view_after("carpet", moves) for moves in (20, 21))
        told = made(before, after)
        assert told is not None
        line = next(line for line in run.screen.last_text if "Anna's last moves" in line)
        column = line.index("Anna's")
        below = run.screen.last_text[run.screen.last_text.index(line) + 1][column:]
        assert below.split()[-1] == "0:31.4"
        assert below.startswith(card_name(told[1], theme_for("classic", ascii_only=False, colours=256, own=None)))
        # Of two that come at once nothing is known.
        await run.say(watched.late(0, 24))
        assert run.screen.last_text[run.screen.last_text.index(line) + 2][column:].split() == []


@pytest.mark.parametrize("comes", ["snapshot", "result", "end"])
async def test_a_clock_stands_and_says_why_while_the_server_can_keep_nothing(comes: str) -> None:
    async with running() as run:
        await watch(run, phase="racing", elapsed_ms=65_000)
        await run.later(5)
        await run.say(scenes.refusal(ErrorCode.CANNOT_WRITE))
        for passed_s in (7, 60):
            await run.later(passed_s)
            await run.say(watched.progress(8, 0, 33), RoundTrip(17))
            assert run.screen.shows("1:10? / 10:00")
            assert run.screen.shows("The server cannot save anything just now.")
        match comes:
            case "snapshot":
                await run.say(watched.watched(phase="racing", elapsed_ms=70_000))
                assert run.screen.shows("1:10 / 10:00")
            case "result":
                await run.say(watched.event(Result(version=9, record=scenes.record())))
            case _:
                await run.say(Unwatched(code=scenes.CODE, reason="failed"))
        await run.later(9)
        await run.say(RoundTrip(18))
        assert not run.screen.shows("The server cannot save anything just now.")
