"""Cards glide to their places, flash there, and come to rest. A switch stops the motion, and nothing is drawn at rest."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from msgspec.structs import replace

from client.state.store import Model
from client.tui.actions import SlowTerminal
from client.tui.drawing.picture import Bar, Falling, Large, Picture, Rect, Slot
from client.tui.drawing.theme import theme_for
from client.tui.drawing.transitions import (
    FALL_MS,
    FLASH_MS,
    GLIDE_MS,
    GROW_MS,
    LIGHT_MS,
    TURN_MS,
    Glide,
    Light,
    Turn,
    begun,
    moved,
    transitions,
)
from client.tui.scene import scene_of
from client.tui.start import UiSettings
from client.tui.table.playing import HOME_MS
from client.tui.ui_state import Ui
from client.tui.update import update
from client.tui.view import body_times, head_times, view
from protocol.cards import FACE_DOWN
from protocol.room_events import PlayerView, Result, Scored, Seated
from protocol.server_messages import ServerMessage
from tests.client import scenes
from tests.client.tui.hands import UP, racing, running

pytestmark = pytest.mark.usefixtures("mock_clock")

MOVING = UiSettings()


def table(card: str, home: str) -> Picture:
    """A card at the left, a foundation at the right."""
    line = [("card", f"{card or '..'}      {home or '..'}")]
    return Picture((line,), slots=(Slot("a1", Rect(0, 0, 2, 1), card), Slot("S", Rect(8, 0, 2, 1), home)))


THEME = theme_for("classic", ascii_only=False, colours=256, own=None)


def shown(before: Picture, after: Picture, since_ms: int) -> Picture:
    """So long after the one picture took the place of the other."""
    return moved(after, begun((), after, transitions(before, after), 0), since_ms, THEME)


def text(picture: Picture) -> str:
    return "".join(piece for _, piece in picture.lines[0])


def test_a_card_that_lies_elsewhere_glides_there_and_flashes() -> None:
    after = table("", "AS")
    before = table("AS", "")
    (glide,) = transitions(before, after)
    assert isinstance(glide, Glide)
    assert (glide.start, glide.end) == (Rect(0, 0, 2, 1), Rect(8, 0, 2, 1))
    ways = [text(shown(before, after, since)).index("AS") for since in range(0, GLIDE_MS, 10)]
    assert ways == sorted(ways)
    assert (ways[0], ways[-1]) == (0, 8)
    assert text(shown(before, after, 0)).count("AS") == 1, "it is not there before it has arrived"
    flash = shown(before, after, GLIDE_MS)
    assert text(flash).rstrip() == text(after)
    assert ("mark", "AS") in flash.lines[0]
    (moving,) = begun((), after, transitions(before, after), 1000)
    assert not moving.is_over(1000 + GLIDE_MS + FLASH_MS - 1)
    assert moving.is_over(1000 + GLIDE_MS + FLASH_MS)


def test_a_card_from_the_stock_glides_as_a_back_and_is_turned_when_it_is_there() -> None:
    def drawn(card: str) -> Picture:
        line = [("card", f"::      {card or '..'}")]
        name = FACE_DOWN if card == "##" else card
        return Picture((line,), slots=(Slot("s", Rect(0, 0, 2, 1)), Slot("w", Rect(8, 0, 2, 1), name)))

    moving = begun((), drawn("##"), transitions(drawn(""), drawn("##")), 0)
    assert [type(each.motion).__name__ for each in moving] == ["Glide"]
    moving = begun(moving, drawn("9C"), transitions(drawn("##"), drawn("9C")), 40)
    assert [type(each.motion).__name__ for each in moving] == ["Glide", "Turn"]
    assert "##" in text(moved(drawn("9C"), moving, GLIDE_MS, THEME))
    assert "9C" in text(moved(drawn("9C"), moving, GLIDE_MS + TURN_MS - 1, THEME))


def test_a_bar_grows_by_eighths() -> None:
    def drawn(value: int) -> Picture:
        return Picture(([("own", "")],), bars=(Bar("0 Anna", Rect(0, 0, 10, 1), value, 52, "own"),))

    widths = {text(shown(drawn(10), drawn(14), since)) for since in range(0, GROW_MS, 5)}
    assert len(widths) > 4
    assert transitions(drawn(10), drawn(10)) == ()


def test_the_table_lights_up_when_the_countdown_is_over() -> None:
    counting = Picture(([],), large=(Large(Rect(0, 0, 10, 4), "title", "1"),))
    after = table("AS", "2S")
    assert text(shown(counting, after, 0)).count("░") == 2
    assert text(shown(counting, after, LIGHT_MS // 2)).startswith("AS")
    assert "░" not in text(shown(counting, after, LIGHT_MS))


def test_cards_fall_within_the_picture_and_leave_a_trail() -> None:
    rows, before = 20, table("AS", "2S")
    lines = tuple([("felt", " " * 40)] for _ in range(rows))
    falls = tuple(Falling(Rect(30, 1, 3, 2), (([("card S", f"{number:<3}")]), ([("card S", "   ")]))) for number in range(5))
    after = Picture(lines, falls=falls)
    counts = []
    for since in range(0, FALL_MS, 300):
        drawn = shown(before, after, since)
        assert [sum(len(piece) for _, piece in line) for line in drawn.lines] == [40] * rows
        counts.append(sum(len(piece) for line in drawn.lines for role, piece in line if role == "card S"))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] > 100


def test_a_slow_terminal_is_spared_motion_and_that_is_told_unless_there_is_more_to_tell() -> None:
    ui, _ = update(scenes.racing(), Ui(), SlowTerminal(), 0)
    assert (ui.settings.motion, ui.note[:13]) == (False, "Motion is off")
    ui, _ = update(scenes.racing(), Ui(note="b3 is empty."), SlowTerminal(), 0)
    assert ui.note == "b3 is empty."


def test_what_lies_where_it_lay_and_another_table_do_not_move() -> None:
    assert transitions(table("AS", ""), table("AS", "")) == ()
    assert transitions(table("AS", "KS"), Picture()) == ()
    many = tuple(
        Slot(f"{letter}1", Rect(3 * at, 0, 2, 1), f"{rank}S") for at, (letter, rank) in enumerate(zip("abcde", "A2345", strict=True))
    )
    turned = tuple(slot._replace(card=other.card) for slot, other in zip(many, (*many[1:], many[0]), strict=True))
    assert transitions(Picture(([],), slots=many), Picture(([],), slots=turned)) == ()


GAP = "┌╌"
"""Where the card lay, once it has left."""


async def test_a_card_that_is_played_leaves_its_place_and_comes_to_rest() -> None:
    async with racing(settings=MOVING) as run:
        await run.later(LIGHT_MS / 1000)
        await run.give("c", "1")
        assert not run.screen.shows(GAP), "it has only begun to move"
        shown = [tuple(run.screen.last_text[1:])]
        for _ in range(12):
            await run.later(1 / 30)
            shown.append(tuple(run.screen.last_text[1:]))
        assert len(set(shown)) > 3
        assert run.screen.shows(GAP)
        assert len(set(shown[-4:])) == 1


def screen(model: Model, now_ms: int = 2000) -> Picture:
    return view(scene_of(model, Ui(), now_ms), (80, 24))


def test_whoever_comes_into_a_room_sees_its_cards_turned_over_one_after_another() -> None:
    before, after = screen(scenes.at_home()), screen(scenes.waiting())
    (light,) = transitions(before, after)
    assert isinstance(light, Light)
    letters = ["".join(each.text for each in shown(before, after, since).large) for since in (0, LIGHT_MS // 3, LIGHT_MS)]
    assert letters[0] == ""
    assert scenes.CODE.startswith(letters[1])
    assert letters[2] == scenes.CODE
    assert shown(before, after, LIGHT_MS).lines == after.lines


@pytest.mark.parametrize("seats", [2, 3])
def test_a_seat_is_turned_over_when_somebody_sits_down(seats: int) -> None:
    before = scenes.waiting(seats)
    after = scenes.reduced(before, Seated(version=2, seat=1, name="Benedikt", bot=None))
    (turn,) = transitions(screen(before), screen(after))
    assert isinstance(turn, Turn)
    assert turn.end == next(slot.rect for slot in screen(after).slots if slot.place == "seat 1")

    def drawn(since_ms: int) -> str:
        return "".join(piece for line in shown(screen(before), screen(after), since_ms).lines for _, piece in line)

    assert "Benedikt" not in drawn(0)
    assert "Benedikt" in drawn(TURN_MS)


def test_backs_are_laid_before_the_start_and_all_of_them_turned_over_at_it() -> None:
    full, counting, dealt = screen(scenes.full_room()), screen(scenes.counting(), 2300), screen(scenes.dealt(), 3990)
    role = "card ?"

    def backs(picture: Picture) -> int:
        return sum(len(piece) for line in picture.lines for name, piece in line if name in (role, "back"))

    laid = [backs(shown(full, counting, since)) for since in range(0, LIGHT_MS + 1, 50)]
    assert laid == sorted(laid)
    assert laid[0] == 0 < laid[-1] == backs(counting)
    turned = [backs(shown(counting, dealt, since)) for since in range(0, LIGHT_MS + 1, 50)]
    assert turned == sorted(turned, reverse=True)
    # The stock stays as it is.
    assert turned[-1] == backs(dealt) < turned[0]


async def test_a_room_in_which_nothing_happens_is_not_drawn_again() -> None:
    async with running(settings=MOVING) as run:
        await run.say(UP, scenes.welcome(), scenes.room())
        for _ in range(3):
            await run.later(LIGHT_MS / 1000)
        drawn = run.screen.canvases[-1]
        for _ in range(60):
            await run.later(1)
        assert run.screen.canvases[-1] is drawn


def test_below_its_first_row_the_countdown_changes_once_a_second() -> None:
    def times(now_ms: int) -> tuple[Hashable, Hashable]:
        scene = scene_of(scenes.counting(), Ui(), now_ms)
        return body_times(scene), head_times(scene)

    assert times(2300)[0] == times(2900)[0] != times(3100)[0]
    assert times(2300)[1] != times(2400)[1]


async def test_motion_is_switched_off_and_on_by_a_key() -> None:
    async with racing(settings=MOVING) as run:
        await run.give("M")
        assert run.screen.shows("Motion is off.")
        await run.give("c", "1")
        assert run.screen.shows(GAP)
        await run.give("q", "y")
        assert run.outcome is not None
        assert run.outcome.settings == replace(MOVING, motion=False, by_key=frozenset({"motion"}))


def last_card_home() -> PlayerView:
    view = replace(
        scenes.middle_view(), piles=dict.fromkeys(scenes.SLOTS, ()), waste=(), foundations=dict.fromkeys("SHDC", 13), home=52, moves=()
    )
    return PlayerView(version=8, seat=0, ply=1, move="c1", state="won", elapsed_ms=9_000, view=view)


SCORE = scenes.standing((1, 0), 1)
NEXT_RACE = (Scored(version=10, series=SCORE, record=None), scenes.next_race(11, SCORE))


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("then", [(), NEXT_RACE], ids=["alone", "in a series"])
async def test_behind_the_last_card_the_cards_fall_until_they_have_or_a_key_is_pressed(
    by_key: bool, then: tuple[ServerMessage, ...]
) -> None:
    async with racing(settings=MOVING) as run:
        await run.say(last_card_home(), Result(version=9, record=scenes.record()), *then)
        # Whoever presses space again and again presses it once too often.
        await run.give(" ", "g")
        assert not run.screen.shows("You won")
        await run.later(FALL_MS / 2000)
        assert sum("K♠" in line or "Q♠" in line for line in run.screen.last_text) > 2
        if by_key:
            await run.give("y")
            assert run.link.taken() == []
        else:
            await run.later(FALL_MS / 1000)
        assert run.screen.shows("You won by 15 cards!")
        await run.later(1)
        assert not run.screen.shows("Q♠")


async def test_whoever_goes_on_sending_cards_home_sees_them_fall_all_the_same() -> None:
    async with racing(settings=MOVING) as run:
        await run.say(last_card_home(), Result(version=9, record=scenes.record()))
        for _ in range(10):
            await run.give("g")
            await run.later(0.12)
        assert not run.screen.shows("You won"), "the cards still fall"
        await run.give("esc")
        assert run.screen.shows("You won"), "esc is no key for cards"


@pytest.mark.parametrize("key", ["g", "H"])
async def test_a_last_card_that_went_home_by_itself_is_followed_by_all_of_the_fall(key: str) -> None:
    async with racing(settings=MOVING) as run:
        await run.give(key)
        await run.say(last_card_home())
        for _ in range(4):
            await run.later(HOME_MS / 1000)
        await run.say(Result(version=9, record=scenes.record()))
        assert not run.screen.shows("You won"), "the cards still fall"
        await run.later(FALL_MS / 1000)
        assert run.screen.shows("You won by 15 cards!")


async def test_without_motion_the_result_comes_at_once() -> None:
    async with racing() as run:
        await run.say(last_card_home(), Result(version=9, record=scenes.record()))
        assert run.screen.shows("You won by 15 cards!")
