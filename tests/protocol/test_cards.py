"""The cards' numbers and their text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cards import CARD_TEXT, card_text, fresh_deck, parse_card, rank, suit


def test_a_fresh_deck_runs_from_ace_to_king_through_spades_hearts_diamonds_clubs() -> None:
    texts = [card_text(card) for card in fresh_deck()]
    assert texts[:3] == ["AS", "2S", "3S"]
    assert texts[12:14] == ["KS", "AH"]
    assert texts[25:27] == ["KH", "AD"]
    assert texts[38:40] == ["KD", "AC"]
    assert texts[-1] == "KC"
    assert len(set(texts)) == 52


def test_two_fresh_decks_are_the_same_list_twice() -> None:
    assert fresh_deck(2) == fresh_deck() + fresh_deck()


@pytest.mark.parametrize("decks", [0, -1])
def test_fewer_than_one_deck_is_refused(decks: int) -> None:
    with pytest.raises(ValueError, match="at least one deck"):
        fresh_deck(decks)


@given(st.integers(0, 51))
def test_every_card_comes_back_from_its_text(card: int) -> None:
    assert parse_card(card_text(card)) == card


@given(st.integers(0, 51))
def test_rank_and_suit_are_the_two_characters_of_the_text(card: int) -> None:
    assert card_text(card) == "A23456789TJQK"[rank(card) - 1] + "SHDC"[suit(card)]


def test_the_ten_of_diamonds_is_td() -> None:
    assert parse_card("TD") == 2 * 13 + 10 - 1


@given(st.text(max_size=3).filter(lambda text: text not in CARD_TEXT))
def test_any_other_text_is_refused_with_the_text_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a card") as caught:
        parse_card(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["", "T", "td", "10D", "DT", "1S", " TD", "TD\n"])
def test_a_near_miss_is_no_card(text: str) -> None:
    with pytest.raises(ValueError, match="not a card"):
        parse_card(text)


@pytest.mark.parametrize("number", [-1, 52])
def test_a_number_that_is_no_card_has_no_text(number: int) -> None:
    with pytest.raises(ValueError, match="0 to 51"):
        card_text(number)
