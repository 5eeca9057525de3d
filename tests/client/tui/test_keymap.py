"""The screens' key rows are the only place where keys are defined: no conflicts, nothing bound but not handled, help made from them."""

from __future__ import annotations

import inspect
from itertools import product

import pytest

from client.tui import everywhere, keymap, overlays, replay_state, room, screens
from client.tui.keymap import CURSOR, EVERYWHERE, QUIT, Command, Keys, commands
from client.tui.race import racing
from client.tui.screens import SCREENS
from client.tui.tournament import keys as tournament_keys

OVER = overlays.HELP_KEYS + overlays.QUESTION_KEYS + overlays.PROMPT_KEYS
TABLE = tuple(dict.fromkeys(row for screen in SCREENS for row in screen.all_keys)) + OVER
LAYERS: dict[str, Keys] = {"help": (*overlays.HELP_KEYS, *CURSOR, *EVERYWHERE), "question": (*overlays.QUESTION_KEYS, *CURSOR)}
PLACES = {screen.name: screen.all_keys for screen in SCREENS} | LAYERS
RACE = PLACES["race"]


@pytest.mark.parametrize("place", PLACES)
def test_no_key_means_two_things_on_one_screen(place: str) -> None:
    bound = [key for row in PLACES[place] for key in row.keys]
    assert sorted(bound) == sorted(set(bound))


def test_a_key_that_is_bound_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'q' is bound twice"):
        commands((QUIT, QUIT._replace(command=Command.LEAVE)))


def test_every_command_has_a_key_and_every_key_is_found() -> None:
    assert {row.command for row in TABLE} == set(Command)
    for keys in PLACES.values():
        for row in keys:
            for key in row.keys:
                assert commands(keys)[key] is row.command


def test_every_command_of_a_screen_is_handled_by_name() -> None:
    for screen in SCREENS:
        sources = inspect.getsource(inspect.getmodule(screen.update) or screens)
        if screen.name == "replay":
            sources += inspect.getsource(replay_state)
        if "room_update(" in sources:
            sources += inspect.getsource(room)
        for row in screen.keys:
            assert f"Command.{row.command.name}" in sources.replace(f"Binding(Command.{row.command.name}", ""), (screen.name, row)
    for row in (*EVERYWHERE, QUIT):
        assert f"Command.{row.command.name}" in inspect.getsource(everywhere)
    assert tournament_keys.update is next(screen.update for screen in SCREENS if screen.name == "tournament")


@pytest.mark.parametrize("key", sorted(keymap.SLOT_STARTERS))
def test_a_letter_that_begins_a_slot_name_does_nothing_else_in_a_race(key: str) -> None:
    assert key not in commands(RACE)


def test_the_columns_of_the_four_by_five_carpet_need_no_apostrophe() -> None:
    assert set("abcde") <= keymap.SLOT_STARTERS


def test_the_cursor_letters_are_cursor_keys_everywhere() -> None:
    wanted = [Command.LEFT, Command.DOWN, Command.UP, Command.RIGHT]
    for keys in PLACES.values():
        assert [commands(keys)[key] for key in keymap.CURSOR_LETTERS] == wanted


def test_there_is_a_way_out_of_every_screen() -> None:
    for name, keys in PLACES.items():
        assert {Command.BACK, Command.QUIT, Command.LEAVE} & {row.command for row in keys}, name


def test_the_help_page_has_every_row_of_the_table_once() -> None:
    told = [row for _, rows in overlays.help_rows() for row in rows]
    assert sorted(told) == sorted({(keymap.key_text(row), row.help) for row in TABLE})


def test_the_help_page_fits_eighty_columns_and_ascii_is_ascii() -> None:
    for _, rows in overlays.help_rows(ascii_only=True):
        for names, sentence in rows:
            assert names.isascii()
            assert len(sentence) <= 62, sentence
            assert len(names) <= 13, names


def test_every_screen_has_a_name_of_its_own_and_the_last_one_is_shown_where_no_other_is() -> None:
    assert len({screen.name for screen in SCREENS}) == len(SCREENS)
    assert SCREENS[-1].name == "home"
    assert racing.SCREEN in SCREENS
    assert not [pair for pair in product(SCREENS, SCREENS) if pair[0].view is pair[1].view and pair[0] is not pair[1]]
