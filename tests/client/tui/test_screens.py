"""Every screen as text, at 80x24 and 120x40, and a few at 60x20, against tests/data/screens.

To draw them anew after a change that is meant: `CARPET_UPDATE_GOLDEN=1 pytest tests/client/tui/test_screens.py`, and read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace
from urwid.testing import check_box_sizing, render_runs, render_text, resolve_runs

from client.connection.events import Lost
from client.game.board import board_of
from client.state.capabilities import rules_of
from client.state.store import Model
from client.text.width import text_width
from client.tui.actions import Do, Heard, Keep, Key, Pick
from client.tui.drawing import cards
from client.tui.drawing.picture import line_width
from client.tui.drawing.theme import PALETTES, entries, next_palette, theme_for
from client.tui.keymap import Command
from client.tui.lobby.rules import LIST_WIDTH
from client.tui.overlays import KEYS_WIDTH, help_lines, help_rows
from client.tui.race.outcome import turning_point
from client.tui.room import wants_to_race
from client.tui.scene import Scene, scene_of
from client.tui.start import UiSettings
from client.tui.table.grid import grid_height, grid_width
from client.tui.table.small_table import BETWEEN, LEAST, OWN_ROWS, SIDE_LEAST, arranged
from client.tui.ui_state import Prompt, Question, RulesPage, Ui
from client.tui.update import update
from client.tui.view import body_times, view
from protocol.cards import CARD_TEXT, FACE_DOWN
from protocol.errors import Fault
from protocol.record import SeriesRecord, sealed
from protocol.room_events import (
    Countdown,
    Dealt,
    PlayerReady,
    Result,
    Said,
    Seated,
    Unseated,
)
from protocol.server_messages import Error
from protocol.views import ChatLine, RaceOptions, RulesInfo
from tests.client import scenes, tables, tournament_scenes
from tests.client.state.test_store import EVENTS
from tests.client.tui.screens import (
    ENEMY,
    GOLDEN,
    GOLDENS,
    LEARNING,
    SCREENS,
    SIZES,
    TOO_SMALL,
    UI,
    Shown,
    at_table,
    closed,
    picture_of,
    rows_of,
    screen_of,
    series_given_up,
    text_of,
    waiting_at,
    widget_of,
)


def golden(name: str, size: tuple[int, int]) -> str:
    return f"{name}-{size[0]}x{size[1]}.txt"


@pytest.mark.parametrize(("name", "size"), GOLDENS, ids=[golden(*each) for each in GOLDENS])
def test_the_screen_looks_as_it_did(name: str, size: tuple[int, int]) -> None:
    text = "\n".join(render_text(screen_of(name, size), size, focus=True, strip=True)) + "\n"
    path = GOLDEN / golden(name, size)
    if os.environ.get("CARPET_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), "no golden screen yet: run once with CARPET_UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8")


def test_no_golden_screen_is_left_over() -> None:
    assert {path.name for path in GOLDEN.glob("*.txt")} == {golden(*each) for each in GOLDENS}


@pytest.mark.parametrize("name", SCREENS)
def test_every_role_on_a_screen_is_in_every_palette(name: str) -> None:
    runs = render_runs(screen_of(name, (80, 24)), (80, 24), focus=True)
    roles = {role for row in runs for role, _ in row}
    for palette in PALETTES:
        assert roles <= {entry[0] for entry in entries(palette, exact=False)}, palette.name


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
@pytest.mark.parametrize("colours", [1, 16, 88, 256, 2**24])
def test_every_palette_is_a_palette_to_urwid_at_every_depth(palette: object, colours: int) -> None:
    runs = render_runs(widget_of(SCREENS["race"], (80, 24)), (80, 24))
    resolve_runs(runs, entries(palette, exact=colours > 256), colors=colours)  # type: ignore[arg-type]


def test_without_colours_nothing_is_coloured() -> None:
    palette = entries(next(each for each in PALETTES if each.name == "none"), exact=True)
    assert all((entry[2], entry[5]) == ("default", "default") for entry in palette)
    assert all(not set("#") & set(entry[4]) for entry in palette)


def test_the_palettes_go_round() -> None:
    names = [PALETTES[0].name]
    for _ in PALETTES:
        names.append(next_palette(names[-1]))
    assert names == [*[palette.name for palette in PALETTES], PALETTES[0].name]
    assert next_palette("no such palette") == PALETTES[0].name


@pytest.mark.parametrize("name", [name for name in SCREENS if name != "tournament-log"])  # has a marked line, but no pointer
def test_the_hidden_cursor_rests_at_the_pointer_of_a_list(name: str) -> None:
    for size in SIZES:
        picture = picture_of(SCREENS[name], size)
        column, row = picture.focus
        pointed = "".join(text for _, text in picture.lines[row])[column:].lstrip()[:1] in ("▸", ">")
        has_lines = SCREENS[name].ui.help_from is None and any(isinstance(hit.click, Pick) for hit in picture.hits)
        assert pointed == has_lines


@pytest.mark.parametrize("place", ["a1", "c2", "e4", "w", "s"])
def test_the_hidden_cursor_rests_on_the_place_under_the_cursor_of_the_table(place: str) -> None:
    picture = picture_of(SCREENS["race"]._replace(ui=replace(UI, cursor=place)), SIZES[0])
    rect = next(slot.rect for slot in picture.slots if slot.place == place)
    assert picture.focus == (rect.column, rect.row)


@pytest.mark.parametrize("name", [name for name in SCREENS if "ascii" in name])
def test_the_ascii_screens_are_ascii(name: str) -> None:
    for size in (*SIZES, TOO_SMALL):
        assert "\n".join(rows_of(SCREENS[name], size)).isascii()


def test_the_playable_cards_are_marked_without_colours_too() -> None:
    text = "\n".join(rows_of(SCREENS["race-mono"]))
    assert text.count("▲") == 4  # three cards and the stock


def test_after_ones_own_end_nothing_is_marked_and_no_key_offered_that_plays() -> None:
    text = "\n".join(rows_of(SCREENS["race-own-end"]._replace(ui=LEARNING)))
    assert "▲" not in text
    assert "space" not in text
    assert "no more lessons" not in text
    assert "stock  K" not in text
    assert "q quit" in text


def test_a_key_that_does_nothing_is_named_also_where_it_leaves_no_mark() -> None:
    ui, _ = update(SCREENS["result"].model(), UI, Key(" "), 0)
    assert ui.note == "space does nothing here; ? shows the keys."


def test_whoever_was_stopped_by_anothers_win_is_not_said_to_have_stopped() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    first, second = model.room.record.seats
    seats = (structs.replace(first, state="won", ended_at_ms=second.ended_at_ms), second)
    won = structs.replace(model.room.record, seats=seats)
    at_the_end = replace(model, room=replace(model.room, record=won))
    shown = Shown(lambda: at_the_end, now_ms=160_000)
    text = "\n".join(rows_of(shown))
    assert "all home" in text
    assert "beaten" in text


def test_nobody_has_won_a_race_that_all_have_forfeited() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    seats = tuple(structs.replace(seat, state="forfeited", place=1) for seat in model.room.record.seats)
    given_up = replace(model, room=replace(model.room, record=structs.replace(model.room.record, seats=seats)))
    assert "Nobody won." in "\n".join(rows_of(Shown(lambda: given_up, now_ms=160_000)))


@pytest.mark.parametrize(
    ("plies", "rated", "says"),
    [((3, 0), False, "Benedikt made no move."), ((0, 0), False, "nobody made a move."), ((3, 0), True, ""), ((3, 2), False, "")],
)
def test_a_race_that_was_to_count_and_does_not_says_so_and_why(plies: tuple[int, int], rated: bool, says: str) -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    seats = tuple(
        structs.replace(seat, state=state, plies=made)
        for seat, state, made in zip(model.room.record.seats, ("stopped", "forfeited"), plies, strict=True)
    )
    room = replace(model.room, told=seats, record=structs.replace(model.room.record, seats=seats, rated=rated))
    for options, expected in ((room.options, says), (RaceOptions(rated=False), "")):
        shown = Shown(partial(replace, model, room=replace(room, options=options)), now_ms=160_000)
        text = "\n".join(render_text(widget_of(shown, (80, 24)), (80, 24)))
        assert f"Not rated: {expected}" in text if expected else "Not rated" not in text


def test_while_the_record_is_closed_whoever_heard_of_no_counts_sees_no_curves() -> None:
    for is_known in (True, False):
        model = closed()
        assert model.room is not None
        model = model if is_known else replace(model, room=replace(model.room, points=()))
        assert any(" 0:00 " in row for row in rows_of(Shown(partial(replace, model), now_ms=160_000))) is is_known


def test_every_row_of_the_help_page_is_whole_in_the_smallest_terminal() -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    scene = Scene(scenes.at_home(), UI, theme, 0)
    for line in help_lines(scene, 76):
        assert line_width(line) <= 76
    for _, rows in help_rows():
        assert all(len(keys) < KEYS_WIDTH for keys, _ in rows)


@pytest.mark.parametrize("number", range(len(scenes.RULES)), ids=[info.id for info in scenes.RULES])
def test_every_rule_set_is_told_to_the_end_in_the_smallest_terminal(number: int) -> None:
    page = replace(UI, rules_page=RulesPage("Steady"), item=number)
    lines = rows_of(Shown(scenes.at_home, page))
    told = " ".join(" ".join(line[LIST_WIDTH:] for line in lines[3:]).split())
    info = scenes.RULES[number]
    assert info.explanation in told
    assert info.difficulty in told


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize("info", scenes.RULES, ids=lambda info: info.id)
def test_the_waiting_room_tells_the_rules_to_the_end_in_the_smallest_terminal(info: RulesInfo, seats: int) -> None:
    lines = rows_of(Shown(lambda: waiting_at(info.id, seats)))
    told = " ".join(" ".join(lines).split())
    assert info.explanation in told
    assert "60 min" in told
    assert "10 s countdown, 600 s of grace" in told
    assert "Ready" in told


def test_while_a_seat_is_free_the_rules_are_cut_in_the_smallest_terminal_and_it_is_said_where_they_are_whole() -> None:
    lines = rows_of(Shown(scenes.waiting))
    # Between two words.
    (cut,) = [line.split(" ... more: ?")[0].split()[-1] for line in lines if line.rstrip().endswith(" ... more: ?")]
    info = rules_of(scenes.RULES, "carpet")
    assert info is not None
    assert cut in info.explanation.split()
    lines = rows_of(Shown(lambda: scenes.waiting(8)))
    assert any("? tells the rules of Carpet." in line for line in lines)
    assert sum(line.count("open seat") for line in lines) == 7


@pytest.mark.parametrize(("seat", "points"), [(0, "1 : 0"), (1, "0 : 1"), (None, "")])
def test_the_head_says_which_race_of_a_series_it_is_and_ones_own_points_first(seat: int | None, points: str) -> None:
    model = scenes.racing()
    assert model.room is not None
    # The fourth race of the room, but the second of its second series.
    room = replace(model.room, seat=seat, race=4, series=scenes.standing((1, 0), 1))
    (line, *_) = rows_of(Shown(lambda: replace(model, room=room)))
    assert f"race 2 of 5{' · ' if points else ''}{points}" in line
    assert "race 4" not in line
    assert (" : " in line) == bool(points)


def test_the_head_counts_the_races_of_the_series_behind_the_end_too() -> None:
    model = scenes.over()
    assert model.room is not None
    assert model.room.record is not None
    place = SeriesRecord(id="first", format="best-of", races=3, race=2)
    record = structs.replace(model.room.record, series=place)
    for series, kept in (
        # Between `result` and `scored`, after it, and in a swap whose record is still sealed.
        (scenes.standing((1, 0), 1, races=3), record),
        (scenes.standing((2, 0), 2, races=3, over=True), record),
        (scenes.standing((2, 0), 2, races=3, over=True), None),
    ):
        room = replace(model.room, race=4, series=series, record=kept)
        (line, *_) = rows_of(Shown(lambda room=room: replace(model, room=room)))  # type: ignore[misc]
        assert "race 2 of 3" in line
        assert "race 4" not in line


def test_before_the_start_no_curves_are_drawn() -> None:
    assert not any("0:00 " in line for line in rows_of(Shown(scenes.counting, now_ms=2300), (120, 40)))


def test_between_two_series_the_next_race_is_said_to_begin_another() -> None:
    model = scenes.reduced(series_given_up(), scenes.next_race(17, scenes.standing((0, 0), 0), race=3))
    assert any("r: ready for race 1 of a new series" in line for line in rows_of(Shown(lambda: model)))


def test_in_a_waiting_room_no_round_trip_belies_that_at_the_top_of_the_screen() -> None:
    model = scenes.full_room()
    assert model.room is not None
    room = replace(model.room, seats=tuple(structs.replace(info, round_trip_ms=77) for info in model.room.seats))
    assert not any("77 ms" in line for line in rows_of(Shown(lambda: replace(model, room=room), now_ms=2000), (120, 40)))


@pytest.mark.parametrize("name", ["Anna", "M" * 24, "漢" * 24])
@pytest.mark.parametrize("seats", [2, 4])
def test_in_a_waiting_room_one_finds_oneself_and_how_all_stand_however_long_a_name(name: str, seats: int) -> None:
    model = waiting_at("carpet", seats)
    assert model.room is not None
    infos = [structs.replace(info, name=name) for info in model.room.seats]
    infos[1] = structs.replace(infos[1], ready=True)
    infos[-1] = structs.replace(infos[-1], connected=seats == 2)
    room = replace(model.room, seats=tuple(infos))
    for size, ascii_only, colours in product(SIZES, (False, True), (1, 256)):
        shown = Shown(lambda: replace(model, room=room), replace(UI, settings=UiSettings(ascii=ascii_only)), 2000, colours)
        lines = rows_of(shown, size)
        (own,) = [line for line in lines if " (you)" in line]
        assert len(re.findall(f"{name[0]}+", own)) == seats
        assert any("r   Ready" in line for line in lines)
        (states,) = [line for line in lines if f"{'+' if ascii_only else '✓'} ready" in line]
        assert (states.count(" not ready yet"), states.count(" not connected")) == ((0, 0) if seats == 2 else (1, 1))
        assert all(text_width(line) == size[0] for line in lines)


def test_ones_own_plate_is_the_button_that_says_ready() -> None:
    picture = view(scene_of(scenes.full_room(), UI, 2000), (80, 24))
    own, other = (next(slot.rect for slot in picture.slots if slot.place == f"seat {seat}") for seat in (0, 1))
    assert picture.click_at(own.column + 1, own.row) == Do(Command.READY)
    assert picture.click_at(own.column + own.width - 1, own.row + own.height - 1) == Do(Command.READY)
    assert picture.click_at(other.column + 1, other.row) is None


def test_the_code_is_shown_large_while_a_seat_is_free_and_no_longer() -> None:
    def letters(model: Model, size: tuple[int, int] = (80, 24)) -> str:
        return "".join(large.text for large in view(scene_of(model, UI, 2000), size).large)

    assert letters(scenes.waiting()) == letters(scenes.waiting(), (120, 40)) == scenes.CODE
    assert letters(scenes.full_room()) == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rules", [info.id for info in scenes.RULES])
def test_before_the_start_backs_lie_where_the_cards_are_going_to(rules: str, size: tuple[int, int]) -> None:
    model = scenes.reduced(waiting_at(rules, 2), Countdown(version=2, starts_in_ms=3000, round_trips_ms=(20, 30)))
    before = view(scene_of(model, UI, 2000), size)
    dealt = scenes.reduced(model, Dealt(version=3, seat=0, starts_in_ms=20, view=tables.view_after(rules, 0)))
    after = {slot.place: slot for slot in view(scene_of(dealt, UI, 3990), size).slots}
    backs = {slot.place: slot.rect for slot in before.slots if slot.place[0] != "p"}
    assert backs
    assert {slot.card for slot in before.slots} == {FACE_DOWN}
    assert backs == {place: after[place].rect for place in backs}
    assert {place for place, slot in after.items() if slot.card and re.fullmatch("[a-j][1-9]", place)} <= set(backs)
    assert before.hits == tuple(hit for hit in before.hits if hit.rect.row == size[1] - 1), "nothing can be pressed there yet"


def test_of_a_rule_set_that_is_not_known_the_seconds_alone_are_counted() -> None:
    model = scenes.counting()
    assert model.room is not None
    room = replace(model.room, options=RaceOptions(rules="unheard-of"))
    picture = view(scene_of(replace(model, room=room), UI, 2300), (80, 24))
    assert [large.text for large in picture.large] == ["2"]
    assert picture.slots == ()


def over_winnable() -> Model:
    record = scenes.record()
    model = scenes.over()
    assert model.room is not None
    won = sealed(structs.replace(record, deal=structs.replace(record.deal, winnable=True)))
    return replace(model, evidence=None, room=replace(model.room, record=won))


@pytest.mark.parametrize("details", [False, True])
def test_however_much_there_is_to_say_of_a_deal_its_key_and_the_rematch_are_shown(details: bool) -> None:
    ui = replace(UI, details=details)
    lines = [line.rstrip() for line in rows_of(Shown(over_winnable, ui, now_ms=160_000))]
    at = next(number for number, line in enumerate(lines) if line.startswith("  ? Nothing is wrong, but not seen here:"))
    assert " ".join(lines[at : at + 2]).split()[-4:] == ["checks", "the", "record.", "(d)"]
    assert lines[at + 2] == "  r: rematch against the same players"
    assert any("Check the record yourself with carpet verify" in line for line in lines) is details
    assert any("Whether deal 0 is the first that can be won is being" in line for line in lines) is details


@pytest.mark.parametrize(
    ("raced", "own", "told"),
    [
        (0, True, "r: rematch. The next bot is Steady: carpet play --bot Steady"),
        (1, True, "r: rematch. The next bot is Magpie: carpet play --bot Magpie"),
        (2, True, "Benedikt would like a rematch. Press r."),
        (0, False, "Benedikt would like a rematch. Press r."),
    ],
)
def test_after_a_race_against_a_bot_on_ones_own_server_the_next_harder_one_is_named(raced: int, own: bool, told: str) -> None:
    model = scenes.over()
    assert model.room is not None
    # A bot always asks for another race, at once.
    seats = (model.room.seats[0], replace(model.room.seats[1], bot=scenes.BOTS[raced].name, again=True))
    against = replace(model, room=replace(model.room, seats=seats))
    assert any(line.strip() == told for line in rows_of(Shown(lambda: against, replace(UI, own_server=own), 160_000)))


def test_several_bots_that_would_race_again_are_counted() -> None:
    model = scenes.over()
    assert model.room is not None
    bots = [scenes.seat(number, name, bot=name, again=True) for number, name in enumerate(("deep", "random", "deep"), 2)]
    against = replace(model, room=replace(model.room, seats=(model.room.seats[0], replace(model.room.seats[1], again=True), *bots)))
    assert wants_to_race(against, bots=True) == "Benedikt and 3 house bots would like a rematch."


def test_of_many_seats_and_much_to_say_the_end_gives_way() -> None:
    model = over_winnable()
    assert model.room is not None
    assert model.room.record is not None
    many = sealed(structs.replace(model.room.record, seats=model.room.record.seats * 4))
    crowded = replace(model, room=replace(model.room, record=many))
    text = "\n".join(rows_of(Shown(lambda: crowded, replace(UI, details=True), 160_000)))
    assert "... the rest: carpet verify" in text
    assert "r: rematch against the same players" in text


def test_seats_that_a_server_numbers_as_it_likes_are_drawn() -> None:
    seats = (scenes.seat(0, "Anna", state="racing"), scenes.seat(6, "Benedikt", state="racing", home=9, ply=9))
    model = scenes.reduced(scenes.at_home(), scenes.room(phase="racing", seats=seats, view=scenes.middle_view(), elapsed_ms=42_300))
    assert any("Benedikt" in line for line in rows_of(Shown(lambda: model)))


@pytest.mark.parametrize(("ended_at_ms", "is_told"), [(133_500, True), (6_000, False)])
def test_of_what_a_winner_did_after_ones_own_end_it_is_not_said_that_one_fell_back(ended_at_ms: int, is_told: bool) -> None:
    record = scenes.record()
    seats = (record.seats[0], structs.replace(record.seats[1], ended_at_ms=ended_at_ms))
    over = scenes.over().room
    assert over is not None
    room = replace(over, seat=1, record=structs.replace(record, seats=seats))
    assert (turning_point(room) is not None) is is_told


def test_whoever_never_made_a_move_did_not_fall_back_at_any_moment() -> None:
    record, over = scenes.record(), scenes.over().room
    assert over is not None
    idle = structs.replace(record, seats=(record.seats[0], structs.replace(record.seats[1], plies=0)))
    assert turning_point(replace(over, seat=1, record=record)) is not None
    assert turning_point(replace(over, seat=1, record=idle)) is None


def test_a_race_is_a_try_at_ones_best_for_who_saw_it_raced_and_not_for_who_comes_back_to_its_result() -> None:
    def kept(before: Model) -> list[Keep]:
        _, effects = update(scenes.over(), UI, Heard(Result(version=11, record=scenes.record()), before), 144_000)
        return [effect for effect in effects if isinstance(effect, Keep)]

    assert kept(scenes.racing()) == [Keep(scenes.record(), 0)]
    assert kept(scenes.at_home()) == [Keep(scenes.record(), None)]


def test_large_letters_tell_of_a_win_and_never_of_a_loss() -> None:
    def letters(shown: Shown) -> list[str]:
        return [large.text for large in view(scene_of(shown.model(), shown.ui, shown.now_ms), (120, 40)).large]

    assert letters(SCREENS["result"]) == ["WON by 15 cards", "48/52"]
    assert letters(SCREENS["result-beaten"]) == ["33/52"]
    assert letters(SCREENS["result-alone"]) == ["48/52"]


def test_what_no_rule_set_has_is_drawn_without_a_word_of_it() -> None:
    evil = ENEMY[:8]
    piles = {"a1": (evil,), "b1": ("",), evil: (evil, "KS"), "c1": ("KS", evil)}
    view = structs.replace(scenes.first_view(), piles=piles, waste=(evil,), moves=("", ":", evil, f"a1:{evil}", f"{evil}:a1", "b1"))
    for rules in tables.ALL:
        for held in ("", "a1", evil):
            shown = Shown(lambda: tables.racing_at(rules, view), replace(UI, held=held, cursor="c1"))  # noqa: B023  (called at once)
            text = "".join(rows_of(shown))
            assert "\x1b" not in text


def test_a_terminal_too_small_says_so_and_shows_the_clock() -> None:
    text = "\n".join(rows_of(SCREENS["race"], TOO_SMALL))
    assert "Too small" in text
    assert "0:45 / 10:00" in text
    assert "The race goes on, and" in text
    for size in ((1, 1), (5, 2), (79, 24), (80, 23)):
        check_box_sizing(widget_of(SCREENS["race"], size), cols=size[0], rows=size[1])


@pytest.mark.parametrize(
    ("model", "ui", "says"),
    [
        (scenes.waiting, UI, ("The code: KXQWZP", "Press r when you are ready.")),
        (scenes.full_room, UI, ("Press r when you are ready.",)),
        (scenes.counting, UI, ("Everybody is ready.", "start in 0:02.3")),
        (scenes.over, UI, ("The race is over.", "home 48 against 33")),
        (scenes.racing, replace(UI, question=Question("Quit?", ("Quit", "Go on"), (None, None))), ("Quit?", "y: Quit", "n: Go on")),
        (scenes.waiting, replace(UI, prompt=Prompt("chat")), ("You are typing. Esc ends that.",)),
        (scenes.racing, replace(UI, help_from=0), ("Help is open. Esc ends that.", "The race goes on, and")),
    ],
)
def test_a_terminal_too_small_says_what_matters_where_one_is(model: Callable[[], Model], ui: Ui, says: tuple[str, ...]) -> None:
    text = "\n".join(rows_of(Shown(model, ui, 1_700), (30, 10)))
    for each in says:
        assert each in text


@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_has_as_many_rows_as_the_terminal_at_every_size(name: str) -> None:
    for size in ((80, 24), (90, 30), (100, 35), (132, 43), (200, 60)):
        # What a canvas is made of is cut and filled to the size anyway.
        assert len(picture_of(SCREENS[name], size).lines) == size[1]


@pytest.mark.parametrize(("name", "is_offered"), [("run-alone", False), ("run-over", False), ("race", True), ("result", True)])
def test_talking_is_offered_where_somebody_can_hear_it(name: str, is_offered: bool) -> None:
    assert ("t talk" in rows_of(SCREENS[name], (120, 40))[-1]) is is_offered


@pytest.mark.parametrize(
    ("name", "told", "untold"),
    [
        ("menu", ("Choose the selected line.",), ("Back.",)),
        ("result", ("Race the same players again.", "Watch the race again, both", "Say something"), ()),
        ("run-over", ("Leave the room", "after a shared deal"), ("Race the same", "Watch the race again", "Say something")),
        ("run-waiting-daily", ("Ready.", "Leave the room"), ("Copy the line", "Say something")),
        ("tournament-registration", ("Check in:",), ("Director:", "Create a tournament")),
        ("tournament-registration-director", ("Director: pause", "Director: add a house bot."), ("Create a tournament",)),
    ],
)
def test_help_begins_with_the_keys_of_the_screen_that_are_of_use_there(name: str, told: tuple[str, ...], untold: tuple[str, ...]) -> None:
    shown = SCREENS[name]
    rows = [row.strip() for row in rows_of(shown._replace(ui=replace(shown.ui, help_from=0)), (100, 200))]
    first = rows.index("Keys here")
    here = "\n".join(rows[first : rows.index("", first)])
    assert [sentence for sentence in told if sentence not in here] == []
    assert [sentence for sentence in untold if sentence in here] == []


@pytest.mark.parametrize(("columns", "told"), [(80, "1 : 0 · auto "), (90, "1 : 0 · autoplay ")])
def test_that_cards_go_home_by_themselves_stands_at_the_top_in_a_rematch_too(columns: int, told: str) -> None:
    model = scenes.racing()
    assert model.room is not None
    model = replace(model, room=replace(model.room, race=2, won=(1, 0)))
    ui = replace(UI, settings=replace(UI.settings, autoplay=True))
    assert told in rows_of(Shown(lambda: model, ui), (columns, 24))[0]


def test_who_has_left_the_waiting_room_is_told_whole_however_long_their_name_is() -> None:
    long = scenes.reduced(scenes.waiting(), Seated(version=2, seat=1, name="漢" * 24, bot=None), Unseated(version=3, seat=1))
    told = " ".join(" ".join(rows_of(Shown(lambda: long, now_ms=2000), (80, 24))).split())
    assert f"{'漢' * 24} has left. Give this code to another player, or press L to leave:" in told


def test_a_long_line_of_chat_takes_several_rows_and_one_that_is_cut_says_so() -> None:
    words, name = "the carpet went home at last, and I had not seen it coming " * 3, "漢" * 24
    said = (ChatLine(seat=1, name="Benedikt", text="short"), ChatLine(seat=1, name=name, text=words + "x" * 20))
    model = scenes.reduced(scenes.racing(), *(Said(version=version, line=line) for version, line in enumerate(said, 11)))
    for size, is_whole in (((80, 24), False), ((120, 40), True)):
        rows = rows_of(Shown(lambda: model), size)
        text = " ".join(" ".join(rows).split())
        assert ("Benedikt: short" in text) is is_whole
        assert ("x" * 20 in text) is is_whole
        assert any(row.rstrip().endswith(" ...") for row in rows) is not is_whole


def test_nothing_a_server_says_is_drawn_unclean() -> None:
    model = scenes.reduced(
        scenes.at_home(),
        scenes.room(
            chat=(ChatLine(seat=0, name=ENEMY, text=ENEMY * 40),), code=ENEMY, options=RaceOptions(rules=ENEMY[:10], deal=ENEMY[:20])
        ),
        Seated(version=2, seat=1, name=ENEMY, bot=ENEMY),
        Said(version=3, line=ChatLine(seat=1, name=ENEMY, text=ENEMY)),
        Lost(ENEMY, None),
    )
    for size in ((80, 24), (120, 40)):
        assert text_of(picture_of(Shown(lambda: model), size)).isprintable()


@given(st.lists(EVENTS, max_size=12), st.sampled_from([*SIZES, TOO_SMALL]), st.booleans())
def test_whatever_is_heard_can_be_drawn(events: list[object], size: tuple[int, int], details: bool) -> None:
    model = scenes.reduced(scenes.at_home(), scenes.room(), *events)  # type: ignore[arg-type]
    canvas = widget_of(Shown(lambda: model, replace(UI, details=details)), size).render(size, focus=True)
    assert (canvas.cols(), canvas.rows()) == size


@pytest.mark.parametrize(
    ("name", "size", "card"), [("race", (200, 50), cards.HUGE), ("race", (160, 45), cards.LARGE), ("colorado", (200, 50), cards.LARGE)]
)
def test_a_large_window_has_large_cards(name: str, size: tuple[int, int], card: cards.CardSize) -> None:
    shown = SCREENS[name]
    drawn = view(scene_of(shown.model(), shown.ui, shown.now_ms), size)
    assert {slot.rect[2:] for slot in drawn.slots if slot.place in ("a1", "b2", "e2")} == {card[:2]}


@pytest.mark.parametrize("rows", range(30, 60))
def test_two_tables_have_the_largest_cards_that_fit_and_curves_have_what_is_left(rows: int) -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    board = board_of(None, scenes.middle_view())
    how = arranged(board, 2, 140, rows, theme, most=9)
    left = {size: rows - OWN_ROWS - grid_height(board, size) for size in (cards.LARGE, cards.MEDIUM)}
    size = next(size for size in left if left[size] >= 0)
    assert how.side == 0
    assert how.below == (0 if left[size] < LEAST else min(left[size], 9))
    assert how.height - OWN_ROWS >= grid_height(board, size)


@pytest.mark.parametrize("columns", range(140, 230, 5))
def test_curves_stand_beside_large_cards_where_the_window_is_wide_enough(columns: int) -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    board = board_of(None, scenes.middle_view())
    how = arranged(board, 2, columns, 44, theme, most=9)
    assert 2 * how.width + BETWEEN + (how.side + BETWEEN if how.side else 0) <= columns
    assert how.width >= grid_width(board, cards.LARGE)
    assert (how.side >= SIDE_LEAST) is (columns >= 2 * (grid_width(board, cards.LARGE) + BETWEEN) + SIDE_LEAST + 2)
    assert not (how.side and how.below)


def test_wide_layouts_stand_one_below_the_other_where_that_makes_their_cards_larger() -> None:
    theme = theme_for("classic", ascii_only=False, colours=256, own=None)
    shown = SCREENS["colorado"].model().room
    assert shown is not None
    assert shown.view is not None
    board = board_of(None, shown.view)
    assert arranged(board, 2, 200, 44, theme, most=9).is_column
    assert not arranged(board, 2, 200, 24, theme, most=0).is_column
    assert not arranged(board, 2, 80, 24, theme, most=0).is_column


def test_why_there_is_no_connection_is_said_once() -> None:
    banned = "The host of this server has banned you."
    error = Error(code="hello/banned", fault=Fault.STATE, message=banned, path="", ref=0)
    model = scenes.reduced(scenes.at_home(), error, Lost(banned, None), now_ms=2000)
    lines = view(scene_of(model, UI, 2000), (80, 24)).lines
    assert sum(banned in "".join(text for _, text in line) for line in lines) == 1


@pytest.mark.parametrize(
    ("retry_in_ms", "clock"),
    [(4000, "Seat held 60 s more; if the server is down, no clock runs."), (None, "Your seat is held; your clock runs on.")],
)
def test_a_client_that_does_not_reconnect_by_itself_does_not_say_that_no_clock_runs(retry_in_ms: int | None, clock: str) -> None:
    model = scenes.reduced(scenes.racing(), Lost("Another connection has your place.", retry_in_ms), now_ms=46_000)
    text = "\n".join("".join(text for _, text in line) for line in view(scene_of(model, UI, 46_000), (80, 24)).lines)
    assert f"Not connected. {clock}" in text


def test_court_cards_are_painted_where_colours_are_exact_and_nowhere_else() -> None:
    shown = SCREENS["race"]
    for colours, settings_ in (
        (2**24, UiSettings()),
        (256, UiSettings()),
        (2**24, UiSettings(ascii=True)),
        (2**24, UiSettings(palette="none")),
    ):
        scene = scene_of(shown.model(), replace(shown.ui, settings=settings_), shown.now_ms, colours=colours)
        roles = {role for line in view(scene, (120, 40)).lines for role, _ in line}
        assert roles <= {entry[0] for entry in entries(scene.theme.palette, exact=colours > 256)}
        assert any(role.startswith("court ") for role in roles) is (scene.theme.paints and colours > 256)
        assert scene.theme.paints is (settings_ == UiSettings() and colours > 256)


@pytest.mark.parametrize("size", [cards.HUGE, cards.LARGE, cards.MEDIUM])
@pytest.mark.parametrize("look", ["card", "side", "dim", "dimside", "lit", "held"])
def test_every_painted_card_has_its_size_and_the_colours_of_its_look(size: cards.CardSize, look: cards.Ink) -> None:
    theme = theme_for("classic", ascii_only=False, colours=2**24, own=None)
    roles = {entry[0] for entry in entries(theme.palette, exact=True)}
    for card in CARD_TEXT:
        lines = cards.face(card, size, theme, look, mark="1")
        assert [line_width(line) for line in lines] == [size.width] * size.height
        assert {role for line in lines for role, _ in line} <= roles


def test_at_home_the_clocks_of_running_races_go_on_and_stop_at_the_limit_of_time() -> None:
    def at(now_ms: int) -> Scene:
        return scene_of(replace(scenes.at_home(), lobby_at=0), UI, now_ms)

    def shows(scene: Scene, clock: str) -> bool:
        return any(clock in "".join(text for _, text in line) for line in view(scene, (120, 40)).lines)

    assert shows(at(0), "1:34")
    assert shows(at(5_999), "1:39")
    assert shows(at(6_000), "1:40")
    assert body_times(at(5_000)) == body_times(at(5_999)) != body_times(at(6_000))
    assert shows(at(3_600_000), "10:00")
    assert body_times(at(3_600_000)) == body_times(at(3_601_000))


def test_whoever_is_ready_at_a_table_is_told_how_long_the_others_have_and_what_they_wait_for_then() -> None:
    call = structs.replace(tournament_scenes.called(), code=scenes.CODE)
    events = [call, Seated(version=2, seat=1, name="Benedikt", bot=None), PlayerReady(version=3, seat=0)]
    told = ["\n".join(rows_of(Shown(partial(at_table, *events, *more), now_ms=50_000))) for more in ((), (PlayerReady(version=4, seat=1),))]
    assert "You are ready. Players who are not here within 1:11 forfeit." in told[0]
    assert "You are ready. All tables of a round start together: waiting for the others." in told[1]


def test_whoever_has_a_bye_is_not_told_to_forfeit_it() -> None:
    call = tournament_scenes.called()
    bye = tournament_scenes.table(1, tournament_scenes.ANNA, None, counted=False, code=scenes.CODE)
    told = [
        "\n".join(rows_of(Shown(partial(at_table, *more), now_ms=50_000)))
        for more in ((), (tournament_scenes.running(tables=(bye,)), structs.replace(call, code=scenes.CODE)))
    ]
    assert "or you forfeit" in told[0]
    assert "or you forfeit" not in told[1]
    assert "You have a bye. Press r to race the house for fun." in told[1]
