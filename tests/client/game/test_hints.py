"""What the player is told: what they can do, what the held card may do, and why a press did nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.game.board import Board
from client.game.hints import hint, why_not
from client.game.moves import press
from protocol.views import View
from tests.client import scenes, tables

OWN = scenes.seat(0, "Anna", state="racing")
CARPET = Board(columns=5, rows=4, redeals=False)
REDEALT = Board(columns=5, rows=4)
TWENTY = Board("twin", 5, 4, waste=False)
RUG = Board("quilt", 8, 8, tuple(f"p{number}" for number in range(1, 9)), stock=False, waste=False)

RESERVES = scenes.first_view().piles | {"p1": ("AS",), "p3": ("2S",)}
MANY_RESERVES = scenes.first_view().piles | {f"p{number}": ("AS",) for number in range(1, 8)}
GAPS: dict[str, tuple[str, ...]] = scenes.first_view().piles | {"a1": (), "b2": ()}


@pytest.mark.parametrize(
    ("position", "board", "says"),
    [
        (scenes.middle_view(), CARPET, "3 cards can go home: c1, c2, a3 (g: all)."),
        (scenes.middle_view(pending=True), CARPET, "Fill the gap at c1: w with the waste's top card, s with the next stock card."),
        (scenes.view_with("s"), CARPET, "Nothing fits: turn the stock (s)."),
        (scenes.view_with("s"), TWENTY, "Nothing fits: deal a row from the stock (s)."),
        (scenes.view_with("r"), CARPET, "The stock is empty: redeal the waste (r)."),
        (scenes.view_with(""), CARPET, "No move is left."),
        (scenes.view_with("a1+ b2:w s"), CARPET, "One card can go home: a1; onto the waste: b2."),
        (scenes.view_with("b2:w d4:w s"), CARPET, "Nothing goes home; onto the waste: b2, d4, or turn the stock (s)."),
        (scenes.view_with("w:a1 w:b2 s", piles=GAPS), CARPET, "Nothing goes home; w fills a1 or b2, or turn the stock (s)."),
        (scenes.view_with(" ".join(f"w:{slot}" for slot in scenes.SLOTS)), CARPET, "Nothing goes home; w goes onto any pile."),
        (scenes.view_with("a1:b2 c3:b2", piles=scenes.first_view().piles | {"b2": ()}), TWENTY, "Nothing goes home; a1, c3 to b2."),
        (scenes.view_with("a1+ b1:p1 c1:p3 d1:p3", piles=RESERVES), RUG, "One card can go home: a1; b1 onto p1; c1, d1 onto p3."),
        (
            scenes.view_with("a1+ b1:p1 c1:p2 d1:p3 e1:p4 a2:p5 b2:p6", piles=MANY_RESERVES),
            RUG,
            "One card can go home: a1; b1 onto p1; c1 onto p2; d1 onto p3; more.",
        ),
        (scenes.view_with("a1+ b1:z9"), CARPET, "One card can go home: a1."),
    ],
)
def test_the_hint_says_what_to_do(position: View, board: Board, says: str) -> None:
    assert hint(position, board) == says


@pytest.mark.parametrize(
    ("position", "held", "says"),
    [
        (scenes.view_with("b3+ b3-"), "b3", "b3 goes up (+) or down (-). b3 again: up. (esc: nowhere)"),
        (scenes.view_with("b3- b3:w"), "b3", "b3 goes down (-) or onto waste (w). b3 again: down. (esc: nowhere)"),
        (
            scenes.view_with("w w:a1", piles=scenes.first_view().piles | {"a1": ()}),
            "w",
            "w goes home or to a1. w again: home. (esc: nowhere)",
        ),
        (scenes.view_with(" ".join(f"w:{slot}" for slot in scenes.SLOTS)), "w", "w goes onto any pile. (esc: nowhere)"),
        (
            scenes.view_with("a1:b2 c3:b2", piles=scenes.first_view().piles | {"b2": ()}),
            "b2",
            "b2 can take a1 or c3: choose the card. (esc: none)",
        ),
    ],
)
def test_the_hint_says_what_the_held_card_may_do(position: View, held: str, says: str) -> None:
    assert hint(position, CARPET, held=held) == says


def test_the_time_before_the_start_has_hints_of_its_own() -> None:
    assert "your carpet" in hint(scenes.first_view(), CARPET, racing=False)
    assert "your cards" in hint(scenes.first_view(), TWENTY, racing=False)


@pytest.mark.parametrize(
    ("position", "board", "place", "says"),
    [
        (scenes.view_with("s"), CARPET, "a1", "The card at a1 cannot be played now."),
        (scenes.view_with("s"), CARPET, "a9", "There is no slot a9."),
        (scenes.view_with("s"), CARPET, "w", "The waste is empty."),
        (scenes.view_with("s"), TWENTY, "w", "There is no waste in this game."),
        (scenes.view_with("b3", stock=0), CARPET, "s", "The stock is empty."),
        (scenes.view_with("r", stock=0), CARPET, "s", "The stock is empty: r redeals the waste."),
        (scenes.view_with("p1:p2"), RUG, "s", "There is no stock in this game."),
        (scenes.view_with("b3"), CARPET, "s", "The stock cannot be turned while a card can be played."),
        (scenes.view_with("w:a1 w:b1"), CARPET, "s", "Play the waste's card first."),
        (scenes.view_with("s"), CARPET, "r", "There is no redeal in this game."),
        (scenes.view_with("s"), REDEALT, "r", "There is no redeal now."),
        (scenes.view_with("s", redeals=1), REDEALT, "r", "Turn the stock to its end first; then r redeals."),
        (scenes.view_with("b3", redeals=1, stock=0), REDEALT, "r", "There is no redeal now."),
        (scenes.view_with("s"), CARPET, "H", "No card can go to that foundation now."),
        (scenes.view_with("s:b3 w:b3", pending="b3"), CARPET, "c1", "First fill the gap at b3: w or s."),
    ],
)
def test_why_not(position: View, board: Board, place: str, says: str) -> None:
    assert why_not(position, board, place, OWN) == says


def test_a_covered_card_of_a_quilt_is_said_to_be_covered() -> None:
    position = tables.view_after("teppich", 0)
    board = tables.board_for("teppich", position)
    assert why_not(position, board, "d4", OWN) == "The card at d4 is not free: both of its narrow ends are covered."


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=30)
@given(seed=st.binary(min_size=32, max_size=32), moves=st.integers(0, 250))
def test_every_hint_fits_the_smallest_terminal(rules: str, seed: bytes, moves: int) -> None:
    position = tables.view_after(rules, moves, seed=seed)
    board = tables.board_for(rules, position)
    for place in ("", *position.piles, "w", "s"):
        held = press(position, "", place).held if place else ""
        assert 0 < len(hint(position, board, held=held)) <= 77
