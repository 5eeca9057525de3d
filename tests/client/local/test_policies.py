"""What the scripted players choose, position by position."""

from __future__ import annotations

import pytest

from client.local.policies import POLICIES, gaps, greedy, steady, wanted_in
from protocol.views import View
from tests.client.fake_server import view

TWO_WAYS = {"S+": 3, "S-": 2, "H+": 1, "H-": 1, "D+": 1, "D-": 1, "C+": 1, "C-": 1}


@pytest.mark.parametrize(("card", "distance"), [("2S", 1), ("3S", 2), ("KH", 12)])
def test_distance_to_the_foundation(card: str, distance: int) -> None:
    assert wanted_in(view(), card) == distance


@pytest.mark.parametrize(("card", "distance"), [("4S", 1), ("JS", 1), ("TS", 2), ("5S", 2), ("7H", 6), ("8H", 5)])
def test_distance_to_the_nearer_of_two_foundations(card: str, distance: int) -> None:
    assert wanted_in(view(foundations=TWO_WAYS), card) == distance


def test_gaps_are_empty_piles() -> None:
    assert gaps(view(piles={"a1": (), "b1": ("2S",), "c1": ()})) == 2


@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    ("position", "move"),
    [
        (view("a1", "w", "s", waste=["2H"]), "a1"),
        (view("w", "s", waste=["2H"]), "w"),
        (view("c2+", "c2-", "w+", "s", waste=["2H"]), "c2+"),
        (view("s:b3", "w:b3", waste=["3S"], pending="b3"), "w:b3"),
        (view("s:b3", "w:b3", waste=["KS"], pending="b3"), "s:b3"),
        (view("s", "w:b3", waste=["3S"]), "w:b3"),
        (view("s", "w:b3", waste=["KS"]), "s"),
        (view("w:b3", waste=["KS"]), "w:b3"),
        (view("s"), "s"),
        (view("r"), "r"),
        (view("c5:w", "r", waste=["KS"]), "r"),
        (view("c5:w", waste=["KS"]), "c5:w"),
        (view("p4:p7", "p7:p4"), None),
        (view("c5:p4", "p4:p7"), "c5:p4"),
        (view(), None),
    ],
    ids=str,
)
def test_both_policies_agree(policy: object, position: View, move: str | None) -> None:
    assert policy.choose(position) == move  # type: ignore[attr-defined]


def test_steady_takes_a_card_wanted_later_the_more_gaps_there_are() -> None:
    piles = {"a1": ("9S",), "b3": ()}
    wanted_third = view("s:b3", "w:b3", waste=["4S"], pending="b3", piles=piles)
    wanted_fourth = view("s:b3", "w:b3", waste=["5S"], pending="b3", piles=piles)
    with_more_room = view("s", "w:a1", "w:b3", waste=["5S"], piles={"a1": (), "b3": ()})
    assert [steady(wanted_third), steady(wanted_fourth), steady(with_more_room)] == ["w:b3", "s:b3", "w:a1"]
    assert [greedy(wanted_third), greedy(wanted_fourth), greedy(with_more_room)] == ["s:b3", "s:b3", "s"]


def test_a_card_is_laid_on_a_gap_or_else_on_what_is_wanted_last() -> None:
    piles = {"a1": ("2S",), "b1": ("KS", "QS"), "c1": ("KS",)}
    assert greedy(view("w:a1", "w:b1", "w:c1", waste=["9H"], piles=piles)) == "w:c1"
    assert greedy(view("w:a1", "w:b1", "w:c1", waste=["9H"], piles={**piles, "b1": ()})) == "w:b1"
