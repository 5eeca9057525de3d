"""The key table is the only place where keys are: no conflicts, nothing bound that is not handled, help and docs made from it."""

from __future__ import annotations

import inspect
from itertools import product

import pytest

from client.tui import controller
from client.tui import keymap as keys
from client.tui.keymap import TABLE, Action, Place


def test_no_key_means_two_things_on_one_screen() -> None:
    bound = [(place, key) for binding in TABLE for place in binding.places for key in binding.keys]
    assert sorted(bound) == sorted(set(bound))


def test_every_action_has_a_key_and_every_key_is_found() -> None:
    assert {binding.action for binding in TABLE} == set(Action)
    for binding in TABLE:
        for place, key in product(binding.places, binding.keys):
            assert keys.action_for(place, key) is binding.action


def test_every_action_is_handled_by_name() -> None:
    source = inspect.getsource(controller.Controller.act)
    for action in Action:
        assert f"Action.{action.name}" in source, action


@pytest.mark.parametrize("key", sorted(keys.SLOT_STARTERS))
def test_a_letter_that_begins_a_slot_name_does_nothing_else_in_a_race(key: str) -> None:
    assert keys.action_for(Place.RACE, key) is None


def test_the_columns_of_the_four_by_five_carpet_need_no_apostrophe() -> None:
    assert set("abcde") <= keys.SLOT_STARTERS


def test_the_cursor_letters_are_cursor_keys_everywhere() -> None:
    actions = [Action.LEFT, Action.DOWN, Action.UP, Action.RIGHT]
    for place in Place:
        assert [keys.action_for(place, key) for key in keys.CURSOR_LETTERS] == actions


def test_there_is_a_way_out_of_every_screen() -> None:
    for place in Place:
        assert any(place in binding.places and binding.action in (Action.BACK, Action.QUIT, Action.LEAVE) for binding in TABLE), place


def test_the_help_page_has_every_row_of_the_table_once() -> None:
    shown = [row for _, rows in keys.help_rows() for row in rows]
    assert sorted(shown) == sorted((keys.key_text(binding), binding.help) for binding in TABLE)


def test_the_help_page_fits_eighty_columns_and_ascii_is_ascii() -> None:
    for _, rows in keys.help_rows(ascii_only=True):
        for names, sentence in rows:
            assert names.isascii()
            assert len(sentence) <= 62, sentence
            assert len(names) <= 13, names
