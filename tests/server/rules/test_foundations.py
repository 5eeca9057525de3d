"""The foundations with two decks: which cards are lifted, wanted and built."""

import pytest

from protocol.cards import fresh_deck, parse_card
from server.rules.catalogue import rule_set
from server.rules.foundations import FOUNDATIONS, FOUNDED, home_moves, lift_aces_and_kings, raised, wanted
from tests.server.rules.changed import cards


def test_one_ace_and_one_king_of_each_suit_are_lifted_the_copies_met_first() -> None:
    assert lift_aces_and_kings(cards("2S AS KS AS 3S KS AH KD")) == cards("2S AS 3S KS")


def test_lifting_leaves_96_of_104_cards() -> None:
    rest = lift_aces_and_kings(fresh_deck(2))
    assert len(rest) == 96
    assert sorted(rest + cards("AS AH AD AC KS KH KD KC")) == sorted(fresh_deck(2))


def test_the_heights_are_in_the_order_of_the_foundations_of_a_row() -> None:
    assert tuple(rule_set("colorado").deal(bytes(32)).foundations) == FOUNDATIONS
    assert " ".join(FOUNDATIONS) == "S+ S- H+ H- D+ D- C+ C-"


def test_after_the_deal_twos_and_queens_are_wanted() -> None:
    up, down = dict.fromkeys(cards("2S 2H 2D 2C"), 1), dict.fromkeys(cards("QS QH QD QC"), 2)
    assert wanted(FOUNDED) == up | down


def test_both_foundations_of_a_suit_may_want_the_same_card() -> None:
    assert wanted((6, 6, 13, 13, 13, 13, 13, 13)) == {parse_card("7S"): 3}
    assert home_moves("b3")[3] == ("b3+", "b3-")


def test_a_finished_foundation_wants_nothing_of_the_next_suit() -> None:
    assert wanted((13,) * 8) == {}
    assert wanted((13, 12, 1, 13, 13, 13, 13, 13)) == {parse_card("AS"): 2, parse_card("2H"): 1}


@pytest.mark.parametrize(
    ("card", "sign", "foundation"),
    [("2S", "+", "S+"), ("QS", "-", "S-"), ("2C", "+", "C+"), ("QD", "-", "D-")],
)
def test_a_card_raises_the_foundation_of_its_suit_and_sign(card: str, sign: str, foundation: str) -> None:
    heights = dict(zip(FOUNDATIONS, raised(FOUNDED, parse_card(card), sign), strict=True))
    assert {name for name, height in heights.items() if height != 1} == {foundation}
    assert heights[foundation] == 2
