"""The position shown until the answer comes is the one that then comes, except for what nobody can know yet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.game.moves import source
from client.game.preview import preview
from protocol.cards import FACE_DOWN
from server.race.view import see
from tests.client import tables


def same(shown: tuple[str, ...], is_: tuple[str, ...]) -> bool:
    return len(shown) == len(is_) and all(one in (other, FACE_DOWN) for one, other in zip(shown, is_, strict=True))


@pytest.mark.parametrize("rules", tables.ALL)
@settings(max_examples=10)
@given(seed=st.binary(min_size=32, max_size=32), moves=st.integers(0, 200))
def test_what_is_shown_at_the_key_is_what_the_answer_says(rules: str, seed: bytes, moves: int) -> None:
    position = tables.position_after(rules, moves, seed=seed)
    view = see(position)
    for move in view.moves:
        shown, told = preview(view, move), see(position.play(move))
        assert (shown.home, shown.foundations) == (told.home, told.foundations)
        if move == "s" and len(told.waste) == len(view.waste):
            continue  # a row is dealt, of which nothing is known
        left = source(move)
        others = [place for place in told.piles if place != left]
        assert all(same(shown.piles[place], told.piles[place]) for place in others)
        filled = left in told.piles and bool(told.piles[left]) and not shown.piles[left]
        # Where a gap is filled by itself, that is known when the answer comes.
        assert filled or (left not in told.piles) or same(shown.piles[left], told.piles[left])
        assert (shown.stock - told.stock) + (len(shown.waste) - len(told.waste)) == filled
        assert filled or same(shown.waste, told.waste)


def test_a_move_that_is_none_leaves_the_view_as_it_is() -> None:
    view = tables.view_after("carpet", 0)
    assert preview(view, "zz") == view
