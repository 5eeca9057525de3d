"""The bots' model of the game against the game itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cards import CARD_TEXT, SUITS
from server.bots.table import Table, code, unseen
from server.race.view import see
from server.rules.carpet import CarpetRules, Refill
from tests.server.bots.carpets import ACES_IN, CARPET, FREE, ROWS, STRATEGY, SimpleRule, deal, hand_made, play_to_the_end, walked


@pytest.mark.parametrize("rules", [CARPET, ACES_IN, STRATEGY, FREE], ids=lambda rules: rules.id)
def test_playing_a_table_out_ends_as_the_game_does_by_the_simple_rule(rules: CarpetRules) -> None:
    for number in range(100):
        position = deal(rules, number)
        end = play_to_the_end(SimpleRule(holds_back=rules.refill is Refill.CHOICE), position)
        order = [code(CARD_TEXT[card]) for card in position.stock]
        assert Table.of(see(position)).play_out(order) == end.home


@given(st.sampled_from(ROWS), st.integers(0, 999), st.integers(0, 80))
def test_what_a_view_does_not_show_is_the_stock(rules: CarpetRules, number: int, plies: int) -> None:
    position = walked(rules, number, plies)
    hidden = position.stock[rules.visible_stock :]
    assert sorted(unseen(see(position))) == sorted(code(CARD_TEXT[card]) for card in hidden)


def test_a_table_is_settled() -> None:
    table = Table.of(see(hand_made("2S 3S 5S", waste="9H 4S")))
    assert (table.gaps, table.waste, table.home) == (3, [code("9H")], len(SUITS) + 4)


def test_filling_leaves_the_table_it_was_asked_of() -> None:
    table = Table.of(see(hand_made("2S", waste="9H 6D")))
    filled = table.filled()
    assert (table.gaps, table.waste) == (1, [code("9H"), code("6D")])
    assert (filled.gaps, filled.waste, filled.home) == (0, [code("9H")], table.home)


def test_a_filled_card_takes_along_what_it_frees() -> None:
    filled = Table.of(see(hand_made("2S", waste="3S 5H"))).filled()
    assert (filled.gaps, filled.waste, filled.home) == (0, [], len(SUITS) + 2)


def test_a_redeal_turns_the_waste_again() -> None:
    # One after the other the three cards go home only in the order of the second pass.
    table = Table.of(see(hand_made("", waste="4S 3S")))
    first, second = code("3S"), code("4S")
    table.waste.clear()
    priority = [0] * 64
    priority[code("2S")], priority[first], priority[second] = 1, 2, 3
    order = [second, first, code("2S")]
    assert table.play_out_redealing([first, second], 1, priority) == table.home
    assert table.play_out_redealing(order, 1, priority) == table.home + 3
