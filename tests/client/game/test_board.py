"""The table of every rule set, which cards of a quilt are free, and that the cursor reaches everything."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from client.game.board import Board, board_of, free_slots, is_upright
from client.tui.keymap import Command
from client.tui.table.cursor import moved
from server.rules.quilt import QuiltPosition
from tests.client import scenes, tables

WAYS = (Command.UP, Command.DOWN, Command.LEFT, Command.RIGHT)
QUILTS = [info.id for info in scenes.RULES if info.family == "quilt"]


@pytest.mark.parametrize("info", scenes.RULES, ids=lambda info: info.id)
def test_the_board_is_what_the_rule_set_says(info: object) -> None:
    rules = info.id  # type: ignore[attr-defined]
    board = tables.board_for(rules, tables.view_after(rules, 0))
    assert (board.columns, board.rows) == (info.columns, info.rows)  # type: ignore[attr-defined]
    assert len(board.reserves) == info.reserves  # type: ignore[attr-defined]
    assert board.waste == info.has_waste  # type: ignore[attr-defined]
    assert board.stock == (rules != "persian-rug")
    assert board.is_wide == (rules == "colorado")


def test_an_unknown_rule_set_is_drawn_as_its_view_lies() -> None:
    view = tables.view_after("crazy-quilt", 0)
    assert board_of(None, view) == Board(columns=8, rows=8)


def test_slots_that_no_rule_set_has_are_no_part_of_the_board() -> None:
    view = changed(scenes.first_view(), piles={"a1": (), "a99999999": (), "z1": (), "": (), "é1": (), "a²": (), "p77": ()})
    assert board_of(None, view) == Board(columns=1, rows=1)


@pytest.mark.parametrize("rules", QUILTS)
@settings(max_examples=30)
@given(seed=st.binary(min_size=32, max_size=32), moves=st.integers(0, 250))
def test_the_free_cards_are_those_that_the_engine_has_free(rules: str, seed: bytes, moves: int) -> None:
    position = tables.position_after(rules, moves, seed=seed)
    assert isinstance(position, QuiltPosition)
    view = tables.view_after(rules, moves, seed=seed)
    names = [name for name in view.piles if name[0] != "p"]
    assert free_slots(tables.board_for(rules, view), view) == {names[slot] for slot in position.available()}


def test_the_first_card_lies_upright_and_its_neighbours_sideways() -> None:
    assert [is_upright(slot) for slot in ("a1", "b1", "a2", "b2", "h8")] == [True, False, False, True, True]


@pytest.mark.parametrize("rules", tables.ALL)
def test_the_cursor_reaches_every_place_and_comes_back(rules: str) -> None:
    board = tables.board_for(rules, tables.view_after(rules, 0))
    places = {*tables.view_after(rules, 0).piles, *(["s"] if board.stock else []), *(["w"] if board.waste else [])}
    reached, queue = {"a1"}, deque(["a1"])
    while queue:
        place = queue.popleft()
        for way in WAYS:
            to = moved(board, place, way)
            if to not in reached:
                reached.add(to)
                queue.append(to)
    assert reached == places
    for place in places:
        assert any(moved(board, other, way) == place for other in places - {place} for way in WAYS)


@pytest.mark.parametrize("rules", tables.ALL)
def test_left_and_right_undo_each_other_within_a_row(rules: str) -> None:
    board = tables.board_for(rules, tables.view_after(rules, 0))
    for letter in board.letters[:-1]:
        assert moved(board, moved(board, f"{letter}2", Command.RIGHT), Command.LEFT) == f"{letter}2"


@pytest.mark.parametrize("cursor", ["", "p4", "z9", "w", "a77", "a", "1"])
def test_a_cursor_on_no_place_finds_back_to_the_first_slot(cursor: str) -> None:
    board = tables.board_for("twenty", tables.view_after("twenty", 0))
    assert moved(board, cursor, Command.DOWN) == "a1"
    assert moved(Board(), cursor, Command.DOWN) == cursor
