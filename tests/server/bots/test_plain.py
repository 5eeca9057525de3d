"""What the greedy bot prefers, family by family, judged by the text of the moves alone."""

from collections import Counter

import pytest

from protocol.views import View
from server.bots.plain import Greedy, RandomMoves

TWO_DECKS = {suit + sign: 1 for suit in "SHDC" for sign in "+-"}


def view(*moves: str, piles: dict[str, tuple[str, ...]] | None = None) -> View:
    return View(
        piles=piles or {},
        waste=(),
        stock=0,
        stock_next=(),
        foundations=TWO_DECKS,
        pending=None,
        redeals=0,
        home=8,
        moves=tuple(sorted(moves)),
    )


@pytest.mark.parametrize(
    ("moves", "chosen"),
    [
        ("s b3", "b3"),
        ("s w b3", "w"),
        ("s w- c5:w", "w-"),
        ("w:b3 s:b3", "w:b3"),
        ("s w:b3", "w:b3"),
        ("s c5:w", "c5:w"),
        ("c5:p4 p4:p7", "c5:p4"),
        ("p4+ c5:p4 p4:p7", "p4+"),
        ("b3:c2 b3+", "b3+"),
        ("r c5:w", "c5:w"),
    ],
)
def test_greedy_sends_home_then_fills_then_builds_then_turns(moves: str, chosen: str) -> None:
    assert Greedy(1).choose(view(*moves.split())) == chosen


def test_greedy_covers_the_pile_that_can_wait_longest() -> None:
    piles = {"a1": ("2S",), "b1": ("7S", "3H"), "c1": ("7H", "8D")}
    assert Greedy(1).choose(view("w:a1", "w:b1", "w:c1", piles=piles)) == "w:c1"
    assert Greedy(1).choose(view("w:a1", "w:b1", "w:c1", "w:d1", piles={**piles, "d1": ()})) == "w:d1"


def test_greedy_does_not_shift_the_same_two_cards_for_ever() -> None:
    greedy = Greedy(1)
    shifts = {greedy.choose(view("p1:p2", "p2:p1", "p3:p4")) for _ in range(50)}
    assert shifts == {"p1:p2", "p2:p1", "p3:p4"}


def test_random_plays_every_legal_move_about_equally_often() -> None:
    bot = RandomMoves(1)
    counts = Counter(bot.choose(view("a1", "b1", "s")) for _ in range(3000))
    assert all(900 < counts[move] < 1100 for move in ("a1", "b1", "s"))


@pytest.mark.parametrize("seed", [-1, 0, 2**256, 2**300 + 5])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    assert RandomMoves(seed).choose(view("a1", "b1")) in {"a1", "b1"}
