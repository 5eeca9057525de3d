"""What pressing places means under every rule set: special cases by hand, and every move of random games."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from client.game.moves import Pressed, choices, destination, goes_home, made, moves_from, press, source, suggested, target, top_card
from protocol.cards import FACE_DOWN
from protocol.views import View
from server.race.view import see
from tests.client import scenes, tables


def rug(moves: str, **piles: tuple[str, ...]) -> View:
    """A view with reserves: p1 is empty, the others have a card."""
    reserves = {f"p{number}": ((f"{number}S",) if number > 1 else ()) for number in range(1, 9)}
    return changed(scenes.first_view(), moves=tuple(sorted(moves.split())), piles=scenes.first_view().piles | reserves | piles)


@pytest.mark.parametrize(
    ("position", "place", "move"),
    [
        (scenes.view_with("b3 s w"), "b3", "b3"),
        (scenes.view_with("b3 s w"), "s", "s"),
        (scenes.view_with("b3 s w"), "w", "w"),
        (scenes.view_with("s:b3 w:b3", pending="b3"), "w", "w:b3"),
        (scenes.view_with("s:b3 w:b3", pending="b3"), "s", "s:b3"),
        (scenes.view_with("w:a1 w:c2 s"), "c2", "w:c2"),
        (scenes.view_with("b3+ s"), "b3", "b3+"),
        (scenes.view_with("c5:w s"), "c5", "c5:w"),
        (scenes.view_with("w+ w:a1 w:c2"), "c2", "w:c2"),
        (scenes.view_with("a1+ w:a1 w:c2"), "a1", "a1+"),
        (scenes.view_with("r"), "r", "r"),
        (rug("c1:p4 p4+"), "c1", "c1:p4"),
        (rug("c1:p4 p4+"), "p4", "p4+"),
    ],
)
def test_the_only_move_is_played_at_once(position: View, place: str, move: str) -> None:
    assert press(position, "", place) == Pressed(move=move)


@pytest.mark.parametrize("place", ["c2", "w", "r", "S", "x9", ""])
def test_a_place_without_a_move_means_nothing(place: str) -> None:
    assert press(scenes.view_with("b3 s"), "", place) == Pressed(known=False)


@pytest.mark.parametrize(
    ("position", "held", "then"),
    [
        (scenes.view_with("b3+ b3- s"), "b3", {"b3": "b3+"}),
        (scenes.view_with("b3- b3:w s"), "b3", {"b3": "b3-", "w": "b3:w"}),
        (scenes.view_with("w w:a1 w:c2 s", waste=("5H",)), "w", {"w": "w", "a1": "w:a1", "c2": "w:c2", "H": "w"}),
        (scenes.view_with("s:b3 w:b3", pending="b3"), "b3", {"w": "w:b3", "s": "s:b3", "b3": None}),
        (rug("p4+ p4- p4:p7"), "p4", {"p4": "p4+", "S+": "p4+", "S-": "p4-", "p7": "p4:p7"}),
        (rug("p4:p1 p4:p7 p7:p4"), "p4", {"p7": "p4:p7", "p1": "p4:p1", "p4": "p4:p7"}),
        (rug("c1:p1 d1:p1 p4:p1"), "p1", {"c1": "c1:p1", "p4": "p4:p1", "p1": None}),
        (rug("c1:p1 c1:p2", p2=()), "c1", {"c1": "c1:p1"}),
        (rug("c1:p3 c1:p2"), "c1", {"c1": None}),
    ],
)
def test_of_several_moves_the_next_press_says_which(position: View, held: str, then: dict[str, str | None]) -> None:
    assert press(position, "", held) == Pressed(held=held)
    assert {place: press(position, held, place).move for place in then} == then


def test_a_press_elsewhere_forgets_what_was_held() -> None:
    position = scenes.view_with("b3+ b3- c1 d2+ d2-")
    assert press(position, "b3", "c1") == Pressed(move="c1")
    assert press(position, "b3", "d2") == Pressed(held="d2")
    assert press(position, "b3", "e4") == Pressed(known=False)


def test_a_card_that_might_go_onto_the_held_one_is_not_put_there() -> None:
    position = rug("c1:p4 c1+ p4+ p4:p7")
    assert press(position, "p4", "c1") == Pressed(held="c1")


@pytest.mark.parametrize("rules", tables.ALL)
@given(seed=st.binary(min_size=32, max_size=32), moves=st.integers(0, 250), homeward=st.booleans())
def test_every_legal_move_is_at_most_two_presses_away(rules: str, seed: bytes, moves: int, homeward: bool) -> None:
    position = tables.view_after(rules, moves, seed=seed, homeward=homeward)
    for move in position.moves:
        first = press(position, "", source(move))
        assert first.known
        if first.move is None:
            assert first.held == source(move)
            assert destination(position, move) in choices(position, first.held)
            assert press(position, first.held, destination(position, move)) == Pressed(move=move)
        else:
            assert first.move == move
        if goes_home(move):
            assert destination(position, move) in position.foundations
    for place in position.piles:
        again = suggested(position, place)
        assert again is None or again in moves_from(position, place)


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=15)
@given(seed=st.binary(min_size=32, max_size=32), moves=st.integers(0, 200), presses=st.data())
def test_whatever_is_pressed_only_legal_moves_come_of_it(rules: str, seed: bytes, moves: int, presses: st.DataObject) -> None:
    position = tables.view_after(rules, moves, seed=seed)
    places = [*position.piles, *position.foundations, "w", "s", "r"]
    held = ""
    for place in presses.draw(st.lists(st.sampled_from(places), max_size=12)):
        came = press(position, held, place)
        assert came.move is None or came.move in position.moves
        assert came.move is None or not came.held
        held = came.held


@pytest.mark.parametrize("rules", tables.ALL)
@pytest.mark.parametrize("moves", [0, 7, 30, 80])
def test_the_move_between_two_views_is_told_with_its_card(rules: str, moves: int) -> None:
    position = tables.position_after(rules, moves)
    before = see(position)
    for move in before.moves:
        after = see(position.play_unchecked(move))
        told = made(before, after)
        assert told is not None
        place, card = source(move), top_card(before, source(move)) or (top_card(after, target(move) or "w") if move != "r" else "")
        if rules == "twenty" and move == "s":
            # A whole row.
            assert told == ("s", "")
        elif top_card(before, source(told[0])) == card:
            # Two copies of it may lie open.
            assert (goes_home(told[0]), target(told[0]), told[1]) == (goes_home(move), target(move), card)
        else:
            assert told == (move, card), place
    assert made(before, before) is None


def test_a_card_that_is_turned_face_down_is_a_card_and_no_row() -> None:
    before = scenes.first_view()
    after = changed(before, stock=before.stock - 1, waste=(FACE_DOWN,))
    assert made(before, after) == ("s", FACE_DOWN)
