"""The contract of the Position port, which every rule set in the catalogue keeps, whatever its family."""

import copy
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocol.cards import SUITS, fresh_deck
from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.foundations import FOUNDATIONS
from server.rules.moves import parse_move
from server.rules.position import IllegalMove, Position, RuleSet, slot_names
from tests.server.rules.changed import cards_of

seeds = st.binary(min_size=32, max_size=32)
rows = st.sampled_from(list(RULE_SETS.values()))
# Every text that is a move in some rule set, and some that are none.
SLOTS = (*slot_names(10, 8), *(f"p{number}" for number in range(1, 9)))
move_texts = st.one_of(
    st.sampled_from(["s", "r", "w", "w+", "w-", "", "x", "b3\n", "resign"]),
    st.builds("{}{}".format, st.sampled_from(SLOTS), st.sampled_from(["", "+", "-", ":w"])),
    st.builds("{}:{}".format, st.sampled_from(["w", "s", *SLOTS]), st.sampled_from(SLOTS)),
)


def assert_nothing_left_a_foundation(before: Position, after: Position) -> None:
    assert all(after.foundations[foundation] >= height for foundation, height in before.foundations.items())


class Game(RuleBasedStateMachine):
    """One game from the deal to its end, with illegal moves tried on the way."""

    position: Position

    @initialize(row=rows, seed=seeds)
    def deal(self, row: RuleSet, seed: bytes) -> None:
        self.position = row.deal(seed)
        assert row.deal(seed) == self.position

    @precondition(lambda self: not self.position.is_over)
    @rule(data=st.data())
    def play_a_legal_move(self, data: st.DataObject) -> None:
        move = data.draw(st.sampled_from(self.position.legal_moves()))
        before = copy.deepcopy(self.position)
        after = self.position.play(move)
        assert after == self.position.play_unchecked(move)
        assert self.position == before
        assert after != before
        assert_nothing_left_a_foundation(before, after)
        self.position = after

    @rule(move=move_texts)
    def an_illegal_move_raises_and_changes_nothing(self, move: str) -> None:
        if move in self.position.legal_moves():
            return
        before = copy.deepcopy(self.position)
        with pytest.raises(IllegalMove) as caught:
            self.position.play(move)
        assert caught.value.move == move
        assert caught.value.position is self.position
        assert self.position == before

    @invariant()
    def no_card_is_lost_or_made(self) -> None:
        assert cards_of(self.position) == sorted(fresh_deck(self.position.rules.decks))
        foundations = self.position.foundations
        assert self.position.home == sum(foundations.values())
        assert all(0 <= height <= 13 for height in foundations.values())

    @invariant()
    def every_legal_move_is_a_move_text_and_can_be_played(self) -> None:
        moves = self.position.legal_moves()
        assert list(moves) == sorted(set(moves))
        for move in moves:
            assert parse_move(move).text == move
            self.position.play(move)

    @invariant()
    def a_position_is_over_when_no_move_is_legal(self) -> None:
        assert self.position.is_over == (not self.position.legal_moves())
        assert self.position.is_won == (self.position.home == self.position.rules.deck_size)
        assert self.position.is_over or not self.position.is_won

    @invariant()
    def the_layout_is_the_one_of_the_row(self) -> None:
        row = self.position.rules
        reserves = tuple(f"p{number}" for number in range(1, row.reserves + 1))
        assert tuple(self.position.piles) == row.slots + reserves
        assert tuple(self.position.foundations) == (FOUNDATIONS if row.decks == 2 else tuple(SUITS))
        assert 0 <= self.position.redeals_left <= row.redeals
        assert self.position.pending is None or self.position.pending in row.slots
        assert row.has_waste or not self.position.waste

    @invariant()
    def the_text_is_one_line_of_seven_fields(self) -> None:
        text = self.position.text
        assert text.isprintable()
        assert len(text.split(" ")) == 7


Game.TestCase.settings = settings(stateful_step_count=80)
TestGame = Game.TestCase


@given(rows, seeds, st.integers())
def test_a_game_of_legal_moves_keeps_its_cards_and_ends_but_where_a_limit_is_set(row: RuleSet, seed: bytes, choices: int) -> None:
    choose = Random(choices)
    position = row.deal(seed)
    for _ in range(row.move_limit or 10 * row.deck_size):
        if position.is_over:
            break
        after = position.play(choose.choice(position.legal_moves()))
        assert cards_of(after) == sorted(fresh_deck(row.decks))
        assert_nothing_left_a_foundation(position, after)
        position = after
    assert position.is_over or row.move_limit is not None, f"the game did not end: {position.text}"


@given(rows, seeds, seeds)
def test_a_deal_depends_on_its_seed(row: RuleSet, one: bytes, other: bytes) -> None:
    assert (row.deal(one).text == row.deal(other).text) == (one == other)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_seed_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        rule_set("carpet").deal(bytes(length))


def test_an_illegal_move_says_the_move_the_rule_set_and_the_position() -> None:
    position = rule_set("carpet").deal(bytes(32))
    with pytest.raises(IllegalMove) as caught:
        position.play("z9\n")
    assert str(caught.value) == f"'z9\\n' is not legal under carpet: {position.text}"


def test_the_text_of_a_position_lists_piles_waste_stock_foundations_gap_and_redeals() -> None:
    position = rule_set("carpet").deal(bytes(32))
    assert position.text == (
        "carpet"
        " QH,5S,QS,TD,9H,JS,5D,6C,KS,2S,TS,TH,KC,JH,8C,9D,8H,5C,KH,6H"
        " -"
        " 8SJD5H9SJC7S2D4S2H3C9C4CQC7C2C3HTC7H6D4DQD3D4H6S3S7DKD8D"
        " S1,H1,D1,C1"
        " -"
        " 0"
    )
    gap = position.play("s").play("e2")
    assert gap.text == (
        "carpet"
        " QH,5S,QS,TD,9H,JS,5D,6C,KS,-,TS,TH,KC,JH,8C,9D,8H,5C,KH,6H"
        " 8S"
        " JD5H9SJC7S2D4S2H3C9C4CQC7C2C3HTC7H6D4DQD3D4H6S3S7DKD8D"
        " S2,H1,D1,C1"
        " e2"
        " 0"
    )


def test_slots_are_named_row_by_row() -> None:
    assert " ".join(slot_names(5, 4)) == "a1 b1 c1 d1 e1 a2 b2 c2 d2 e2 a3 b3 c3 d3 e3 a4 b4 c4 d4 e4"
    assert slot_names(10, 2)[8:12] == ("i1", "j1", "a2", "b2")
    assert (len(slot_names(8, 8)), slot_names(8, 8)[-1]) == (64, "h8")
