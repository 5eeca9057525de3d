"""Every legal move of every rule set can be made by keys alone, by the cursor alone and by the mouse alone, through the real update."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.connection.events import Connected
from client.game.moves import destination, goes_home, source
from client.tui.actions import Key, Press, PutBack
from client.tui.drawing.picture import Picture
from client.tui.driver import Driver
from client.tui.keymap import CURSOR, Command
from client.tui.scene import scene_of
from client.tui.table.cursor import moved
from client.tui.ui_state import Ui
from client.tui.view import view as show
from protocol.client_messages import ClientMessage, Move
from protocol.views import RaceOptions, View
from server.race.view import see
from tests.client import scenes, tables

SIZE = (80, 24)
WAYS = (Command.UP, Command.DOWN, Command.LEFT, Command.RIGHT)
KEYS = {binding.command: binding.keys[0] for binding in CURSOR}
SEEDS = st.binary(min_size=32, max_size=32)


class Line:
    """A link that keeps what was sent."""

    url = "ws://fake"

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, message: ClientMessage) -> bool:
        if isinstance(message, Move):
            self.sent.append(message.move)
        return True


class Player:
    """A player in a race, with this view before them, at the keys and the mouse."""

    def __init__(self, rules: str, view: View) -> None:
        self.line = Line()
        self.driver = Driver(self.line, Ui(), nonce=lambda: "00" * 16, now_ms=lambda: 60_000)  # type: ignore[arg-type]
        seats = (scenes.seat(0, "Anna", state="racing"), scenes.seat(1, "Benedikt", state="racing"))
        room = scenes.room(phase="racing", seats=seats, view=view, elapsed_ms=5000, options=RaceOptions(rules=rules))
        for event in (Connected("ws://fake", ""), scenes.welcome(), room):
            self.driver.hear(event)

    @property
    def held(self) -> str:
        return self.driver.ui.held

    @property
    def picture(self) -> Picture:
        return show(scene_of(self.driver.state, self.driver.ui, 60_000), SIZE)

    def type(self, *keys: str) -> None:
        for key in keys:
            self.driver.do(Key(key))

    def click(self, at: tuple[int, int]) -> None:
        click = self.picture.click_at(*at)
        assert click is not None
        self.driver.do(click)


def name_keys(place: str) -> Iterator[str]:
    """A place as it is typed."""
    if place[0] in "hj":
        yield "'"
    yield from place


def test_the_keys_of_a_slot_are_its_name() -> None:
    assert list(name_keys("h3")) == ["'", "h", "3"]
    assert list(name_keys("p4")) == ["p", "4"]


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=6)
@given(seed=SEEDS, moves=st.integers(0, 220), homeward=st.booleans())
def test_every_move_is_reached_by_keys_alone(rules: str, seed: bytes, moves: int, homeward: bool) -> None:
    view = tables.view_after(rules, moves, seed=seed, homeward=homeward)
    for move in view.moves:
        player = Player(rules, view)
        player.type(*name_keys(source(move)))
        if player.held:
            player.type(*(move[-1] if move[-1] in "+-" else "+" if goes_home(move) else name_keys(destination(view, move))))
        assert player.line.sent == [move]


def steps(board: object, start: str, end: str) -> list[Command]:
    """The shortest way of the cursor."""
    came: dict[str, list[Command]] = {start: []}
    queue = deque([start])
    while end not in came:
        place = queue.popleft()
        for way in WAYS:
            to = moved(board, place, way)  # type: ignore[arg-type]
            if to not in came:
                came[to] = [*came[place], way]
                queue.append(to)
    return came[end]


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=3)
@given(seed=SEEDS, moves=st.integers(0, 220))
def test_every_move_is_reached_with_the_cursor(rules: str, seed: bytes, moves: int) -> None:
    view = tables.view_after(rules, moves, seed=seed)
    board = tables.board_for(rules, view)
    for move in view.moves:
        player = Player(rules, view)
        begin = "s" if move == "r" else source(move)
        player.type(*(KEYS[way] for way in steps(board, player.driver.ui.cursor, begin)), "enter")
        if player.held and goes_home(move):
            player.type(move[-1] if move[-1] in "+-" else "enter")
        elif player.held:
            player.type(*(KEYS[way] for way in steps(board, begin, destination(view, move))), " ")
        assert player.line.sent == [move]


@lru_cache
def spots(rules: str, redeals: bool) -> dict[str, tuple[int, int]]:
    """Where on the screen each place is clicked. A table's places stay where they are all through a game."""
    view = next(view for view in _views(rules) if ("r" in view.moves) == redeals)
    picture = show(scene_of(tables.racing_at(rules, view), Ui(), 46_300), SIZE)
    found: dict[str, tuple[int, int]] = {}
    for row in range(1, SIZE[1] - 1):
        for column in range(1, SIZE[0], 4):
            click = picture.click_at(column, row)
            if isinstance(click, Press):
                found.setdefault(click.place, (column, row))
    return found


def _views(rules: str) -> Iterator[View]:
    for seed in range(6):
        for moves in range(0, 150, 2):
            yield tables.view_after(rules, moves, seed=bytes([seed]) * 32)


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=2)
@given(seed=SEEDS, moves=st.integers(0, 220))
def test_every_move_is_reached_by_the_mouse_alone(rules: str, seed: bytes, moves: int) -> None:
    view = tables.view_after(rules, moves, seed=seed)
    at = spots(rules, "r" in view.moves)
    # Every click draws a screen: of many moves, some of each kind.
    for move in view.moves[:: 1 + len(view.moves) // 6]:
        player = Player(rules, view)
        player.click(at[source(move)])
        if player.held:
            player.click(at[destination(view, move)])
        assert player.line.sent == [move]


@pytest.mark.parametrize("rules", tables.ALL)
def test_every_place_of_the_table_can_be_clicked(rules: str) -> None:
    view = tables.view_after(rules, 0)
    board = tables.board_for(rules, view)
    beside = [*(["s"] if board.stock else []), *(["w"] if board.waste else [])]
    assert set(spots(rules, False)) == {*view.piles, *view.foundations, *beside}


def test_a_held_card_is_let_go_by_key_by_right_click_and_by_button() -> None:
    turned = see(tables.position_after("colorado", 0).play("s"))
    for way in ("esc", "right", "button"):
        player = Player("colorado", turned)
        player.type("w")
        assert player.held == "w"
        if way == "esc":
            player.type("esc")
        elif way == "right":
            player.driver.do(PutBack())
        else:
            text = "".join(text for _, text in player.picture.lines[-1])
            player.click((text.index("esc") + 1, SIZE[1] - 1))
        assert player.held == ""
        assert player.line.sent == []


def test_plus_and_minus_do_nothing_without_a_held_card() -> None:
    view = tables.view_after("crazy-quilt", 0)
    player = Player("crazy-quilt", view)
    player.type("+", "-")
    assert player.line.sent == []
    assert "held" in player.driver.ui.note


def test_a_stock_key_held_down_does_not_turn_more_than_once_ahead() -> None:
    player = Player("carpet", tables.view_after("carpet", 0))
    player.type(*"sssssss")
    assert player.line.sent == ["s"]
    assert player.driver.ui.ahead == ("s",)
