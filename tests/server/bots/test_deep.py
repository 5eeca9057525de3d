"""The bot that thinks ahead: obvious choices, secrecy, strength."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.shuffle import shuffle
from server.bots.deep import Deep, deep
from server.bots.plain import Greedy, RandomMoves
from server.bots.strategy import Strategy
from server.race.view import see
from server.rules.carpet import CarpetRules
from tests.server.bots.carpets import CARPET, FREE, REDEAL, ROWS, STRATEGY, WHIST, SimpleRule, deal, hand_made, play_to_the_end, walked
from tests.server.rules.changed import replace


def bots(rules: CarpetRules, seed: int) -> tuple[Strategy, ...]:
    return RandomMoves(seed), Greedy(seed), deep(rules, seed, samples=4)


@given(st.sampled_from(ROWS), st.integers(0, 999), st.integers(0, 80), st.integers())
def test_a_bot_chooses_a_legal_move(rules: CarpetRules, number: int, plies: int, seed: int) -> None:
    view = see(walked(rules, number, plies))
    assert all(bot.choose(view) in view.moves for bot in bots(rules, seed))


@given(st.sampled_from(ROWS), st.integers(0, 999), st.integers(0, 80), st.integers(), st.binary(min_size=32, max_size=32))
def test_a_bot_cannot_know_the_order_of_the_stock(rules: CarpetRules, number: int, plies: int, seed: int, other: bytes) -> None:
    position = walked(rules, number, plies)
    shown = position.stock[: rules.visible_stock]
    twin = replace(position, seed=other, stock=shown + shuffle(position.stock[len(shown) :], other, b"twin"))
    view, same = see(position), see(twin)
    assert view == same
    for bot, other_bot in zip(bots(rules, seed), bots(rules, seed), strict=True):
        assert bot.choose(view) == other_bot.choose(same)


def test_a_card_that_brings_the_one_beneath_it_home_is_laid_into_the_gap() -> None:
    view = see(hand_made("2S", waste="3S 4S"))
    assert Deep(1, holds_back=True).choose(view) == "a1"


def test_a_king_does_not_get_the_only_gap() -> None:
    view = see(hand_made("2S", waste="KH"))
    assert Deep(1, holds_back=True).choose(view) == "s"


def test_a_card_that_is_next_but_one_gets_the_only_gap() -> None:
    view = see(hand_made("2S 2H", waste="9C 4H"))
    assert Deep(1, holds_back=True).choose(view) == "a1"


def test_a_pending_gap_is_filled_from_the_waste_by_a_low_card_and_unseen_rather_than_by_a_king() -> None:
    low = see(hand_made("", waste="KH 3S", pending="b2"))
    high = see(hand_made("", waste="3S KH", pending="b2"))
    assert Deep(1, holds_back=True).choose(low) == "w:b2"
    assert Deep(1, holds_back=True).choose(high) == "s:b2"


def test_a_playable_card_is_held_back_where_its_gap_would_be_filled_at_once() -> None:
    position = hand_made("2S", waste="")
    assert Deep(1, holds_back=True).choose(see(position)) == "s"
    assert Deep(1, holds_back=False).choose(see(replace(position, rules=FREE))) == "a1"


def test_a_free_gap_is_left_open_for_a_better_card() -> None:
    gap = replace(hand_made("", waste="KH", rules=FREE, pending="a1"), pending=None)
    low = replace(hand_made("", waste="3S", rules=FREE, pending="a1"), pending=None)
    assert Deep(1, holds_back=False).choose(see(gap)) == "s"
    assert Deep(1, holds_back=False).choose(see(low)) == "w:a1"


def test_with_the_stock_used_up_and_no_redeal_left_everything_goes_home() -> None:
    position = replace(hand_made("2S 2H", waste="KH 3S"), stock=())
    assert Deep(1, holds_back=True).choose(see(position)) == "a1"


def test_no_redeal_is_made_when_the_waste_wins_as_it_lies() -> None:
    carpet = "KS QS JS TS 9S 8S 7S 6S 5S 4S 3S 2S KH QH JH TH 9H 8H 7H 6H"
    position = hand_made(carpet, waste="5H 4H 3H 2H KD QD JD TD 9D 8D 7D 6D 5D 4D 3D 2D KC QC JC TC 9C 8C 7C 6C 5C 4C 3C 2C", rules=REDEAL)
    assert (position.stock, see(position).redeals) == ((), 1)
    end = play_to_the_end(Deep(1, holds_back=True, samples=4), position)
    assert end.is_won
    assert end.redeals_left == 1


def test_no_gap_is_spent_on_a_card_that_the_shown_cards_will_take_home() -> None:
    stock = "2H 9C 8C"
    unseen = see(hand_made("2S 2D", waste="3H", stock=stock))
    shown = see(hand_made("2S 2D", waste="3H", stock=stock, rules=STRATEGY))
    assert shown.stock_next == tuple(stock.split())
    assert Deep(1, holds_back=True).choose(unseen) == "a1"
    assert Deep(1, holds_back=True).choose(shown) == "s"


@pytest.mark.parametrize("samples", [0, -1])
def test_it_takes_a_sample_to_think(samples: int) -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        Deep(1, holds_back=True, samples=samples)


def test_where_the_waste_fills_at_once_no_choice_matters() -> None:
    assert isinstance(deep(WHIST, 1), Greedy)
    for number in range(60):
        position = deal(WHIST, number)
        ends = {play_to_the_end(bot, position).home for bot in (RandomMoves(1), RandomMoves(2), Greedy(1))}
        assert len(ends) == 1


@pytest.mark.slow
def test_strength_goes_up_from_bot_to_bot() -> None:
    """Deals and seeds are fixed, so the results are always the same."""

    def wins(bot: Strategy) -> int:
        seeds = [sha256(b"strength %d" % number).digest() for number in range(80)]
        return sum(play_to_the_end(bot, CARPET.deal(seed)).is_won for seed in seeds)

    beaten = [wins(RandomMoves(1)), wins(Greedy(1)), wins(SimpleRule(holds_back=True)), wins(Deep(1, holds_back=True, samples=25))]
    assert beaten == sorted(set(beaten))
    assert beaten[-1] >= 72
