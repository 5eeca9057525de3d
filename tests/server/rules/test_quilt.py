"""Each clause of family 3 by example; which cards of the quilt are free is tested in test_weave."""

import pytest

from protocol.cards import fresh_deck, parse_card
from protocol.shuffle import redeal_label, shuffle
from server.rules.catalogue import RULE_SETS
from server.rules.position import slot_names
from server.rules.quilt import QuiltPosition, QuiltRules
from tests.server.rules.changed import after, cards, replace, shown

SEED = bytes(32)
ROWS = {row.id: row for row in RULE_SETS.values() if isinstance(row, QuiltRules)}
CRAZY, INDIAN, TEPPICH, PERSIAN = ROWS["crazy-quilt"], ROWS["indian-carpet"], ROWS["teppich"], ROWS["persian-rug"]
WITH_STOCK = (CRAZY, INDIAN, TEPPICH)
SLOTS = slot_names(8, 8)


def piles(text: str) -> tuple[tuple[int, ...], ...]:
    """Eight reserves, given with commas between them; those not given are empty."""
    given = tuple(cards(pile) for pile in text.split(","))
    return given + ((),) * (8 - len(given))


def dealt(rules: QuiltRules) -> QuiltPosition:
    position = rules.deal(SEED)
    assert isinstance(position, QuiltPosition)
    return position


def hand_made(
    rules: QuiltRules, quilt: str, *, waste: str = "", stock: str = "", reserves: str = "", redeals_left: int = 0
) -> QuiltPosition:
    """A position with nothing on the quilt but the cards given, as `b3=7S`. It need not hold a whole deck."""
    lying = dict(item.split("=") for item in quilt.split())
    assert set(lying) <= set(SLOTS)
    return replace(
        dealt(rules),
        quilt=tuple(parse_card(lying[slot]) if slot in lying else -1 for slot in SLOTS),
        waste=cards(waste),
        stock=cards(stock),
        reserves=piles(reserves) if rules.reserves else (),
        redeals_left=redeals_left,
    )


class TestDeal:
    @pytest.mark.parametrize("row", WITH_STOCK, ids=lambda row: row.id)
    def test_64_cards_to_the_quilt_row_by_row_and_32_to_the_stock(self, row: QuiltRules) -> None:
        deck = tuple(reversed(fresh_deck(2)))
        position = row.lay_out(deck, SEED)
        # The first copies met are those of the second deck: KC, then AC, KD …
        assert [shown(position, slot) for slot in ("a1", "b1", "h1", "a2")] == ["QC", "JC", "5C", "4C"]
        assert (len(position.piles), len(position.stock), position.waste, position.home) == (64, 32, (), 8)
        assert position.stock[-1] == parse_card("AS")

    def test_the_other_32_are_eight_reserves_of_four_bottom_card_first(self) -> None:
        order = CRAZY.lay_out(fresh_deck(2), SEED).stock
        position = PERSIAN.lay_out(fresh_deck(2), SEED)
        assert tuple(position.piles)[64:] == tuple(f"p{number}" for number in range(1, 9))
        assert position.piles["p1"] == order[:4]
        assert position.piles["p8"] == order[28:]
        assert (position.stock, position.waste, position.redeals_left) == ((), (), 0)


class TestFoundations:
    def test_free_cards_and_the_waste_top_go_up_and_down(self) -> None:
        position = hand_made(CRAZY, "b3=2S d5=QH", waste="9C 2D")
        assert position.legal_moves() == ("b3+", "d5-", "w+")
        home = after(position, "b3+ d5- w+")
        assert (home.foundations["S+"], home.foundations["H-"], home.foundations["D+"]) == (2, 2, 2)
        assert (home.waste, shown(home, "b3"), home.home) == (cards("9C"), "", 11)

    def test_a_card_that_both_want_has_a_move_for_each(self) -> None:
        position = replace(hand_made(CRAZY, "b3=7S"), heights=(6, 6, 1, 1, 1, 1, 1, 1))
        assert position.legal_moves() == ("b3+", "b3-")
        assert (position.play("b3+").foundations["S+"], position.play("b3-").foundations["S-"]) == (7, 7)

    def test_a_card_that_is_locked_in_does_not_go(self) -> None:
        # b1 lies sideways between a1 and c1.
        position = hand_made(CRAZY, "a1=9C b1=2S c1=2H")
        assert position.legal_moves() == ("c1+",)
        assert position.play("c1+").legal_moves() == ("b1+",)

    def test_without_a_lane_it_does_not_go_under_teppich(self) -> None:
        # d1 lies sideways; c1 beside it is empty, but a1 shuts the lane to the left, e1 the one to the right.
        assert "d1-" in hand_made(CRAZY, "a1=9C d1=QS e1=9D").legal_moves()
        assert "d1-" not in hand_made(TEPPICH, "a1=9C d1=QS e1=9D").legal_moves()
        assert "d1-" in hand_made(TEPPICH, "d1=QS e1=9D").legal_moves()


class TestBuildingOnTheWaste:
    @pytest.mark.parametrize("row", WITH_STOCK, ids=lambda row: row.id)
    def test_a_free_card_goes_onto_its_neighbour_in_suit(self, row: QuiltRules) -> None:
        position = hand_made(row, "b3=7S d5=9S f7=9H h1=6S", waste="8S")
        assert position.legal_moves() == ("b3:w", "d5:w")
        built = position.play("b3:w")
        assert (built.waste, shown(built, "b3")) == (cards("8S 7S"), "")
        assert built.legal_moves() == ("h1:w",)

    def test_no_step_leads_from_king_to_ace(self) -> None:
        assert hand_made(CRAZY, "b3=KS d5=AH", waste="AS").legal_moves() == ()
        assert hand_made(CRAZY, "b3=AH d5=2S", waste="KS").legal_moves() == ("d5+",)

    def test_nothing_is_built_on_an_empty_waste(self) -> None:
        assert hand_made(CRAZY, "b3=7S", stock="8S").legal_moves() == ("s",)

    def test_a_waste_card_is_not_built_onto_the_quilt(self) -> None:
        assert hand_made(CRAZY, "a1=7S a2=8H", waste="9H 8S", stock="9D").legal_moves() == ("a1:w", "s")


class TestStockAndRedeals:
    def test_the_stock_is_turned_whenever_it_has_a_card(self) -> None:
        position = hand_made(CRAZY, "b3=2S", waste="5C", stock="9D 9H")
        assert position.legal_moves() == ("b3+", "s")
        turned = position.play("s")
        assert (turned.waste, turned.stock) == (cards("5C 9D"), cards("9H"))

    @pytest.mark.parametrize(("row", "redeals"), [(CRAZY, 1), (INDIAN, 2), (TEPPICH, 2)], ids=lambda value: getattr(value, "id", value))
    def test_a_redeal_needs_an_empty_stock_a_waste_and_one_left(self, row: QuiltRules, redeals: int) -> None:
        assert "r" not in hand_made(row, "b3=9C", waste="5C", stock="9D", redeals_left=1).legal_moves()
        assert "r" not in hand_made(row, "b3=9C", redeals_left=1).legal_moves()
        assert row.deal(SEED).redeals_left == row.redeals == redeals
        position = hand_made(row, "b3=9C", waste="5C 9D", redeals_left=redeals)
        for left in range(redeals, 0, -1):
            assert (position.redeals_left, position.legal_moves()) == (left, ("r",))
            position = after(position, "r s s")
        assert (position.redeals_left, position.legal_moves(), position.is_over, position.is_won) == (0, (), True, False)

    @pytest.mark.parametrize("row", [CRAZY, INDIAN], ids=lambda row: row.id)
    def test_turned_over_the_bottom_card_comes_first(self, row: QuiltRules) -> None:
        position = hand_made(row, "b3=9C", waste="5C 9D KH", redeals_left=1).play("r")
        assert (position.waste, position.stock) == ((), cards("5C 9D KH"))
        assert position.play("s").waste == cards("5C")

    def test_shuffled_it_comes_in_the_order_of_the_seed_and_the_redeal_number(self) -> None:
        waste = "5C 9D KH 3S 4S 9H TC"
        first = hand_made(TEPPICH, "b3=9C", waste=waste, redeals_left=2).play("r")
        assert first.stock == shuffle(cards(waste), SEED, redeal_label(1))
        turned = after(first, "s s s s s s s")
        assert turned.play("r").stock == shuffle(turned.waste, SEED, redeal_label(2))

    def test_a_card_built_on_the_waste_is_dealt_again(self) -> None:
        position = after(hand_made(CRAZY, "b3=7S", waste="8S", redeals_left=1), "b3:w r s")
        assert (position.waste, position.stock) == (cards("8S"), cards("7S"))


class TestReserves:
    def test_tops_go_to_foundations(self) -> None:
        position = hand_made(PERSIAN, "", reserves="9C 2S,5D QH,2C 5S,3H 4D,6C 4C,8H 8D,JC 6D,TC TH")
        assert position.legal_moves() == ("p1+", "p2-")
        assert shown(position.play("p1+"), "p1") == "9C"

    def test_free_cards_and_other_tops_go_onto_their_neighbours_in_suit(self) -> None:
        position = hand_made(PERSIAN, "b3=7S d5=9H", reserves="9C 8S,5D 9S,2C 5C,3H 4D,6C 3C,8H 8D,JC 6D,TC JH")
        assert position.legal_moves() == ("b3:p1", "p1:p2", "p2:p1")
        built = position.play("b3:p1")
        assert (shown(built, "p1"), shown(built, "b3")) == ("9C 8S 7S", "")
        moved = position.play("p1:p2")
        assert (shown(moved, "p1"), shown(moved, "p2")) == ("9C", "5D 9S 8S")

    def test_no_step_leads_from_king_to_ace(self) -> None:
        position = hand_made(PERSIAN, "b3=KS", reserves="9C AS,5D 5H,2C 5C,3H 3D,6C 7C,8H 8D,JC 6D,TC JH")
        assert position.legal_moves() == ()

    def test_an_empty_reserve_takes_any_free_card_and_any_top_but_a_lone_one(self) -> None:
        position = hand_made(PERSIAN, "b3=7S", reserves=",5D 9H,4C,3H 4D,6C 8C,8H 8D,JC 6D,TC JH")
        assert position.legal_moves() == ("b3:p1", "p2:p1", "p4:p1", "p5:p1", "p6:p1", "p7:p1", "p8:p1")
        assert shown(position.play("b3:p1"), "p1") == "7S"

    def test_a_lone_card_still_goes_onto_its_neighbour(self) -> None:
        position = hand_made(PERSIAN, "", reserves="7S,8S,")
        assert position.legal_moves() == ("p1:p2", "p2:p1")

    def test_every_empty_reserve_is_a_target_of_its_own(self) -> None:
        position = hand_made(PERSIAN, "b3=7S", reserves="5D 9H,JC TD")
        assert [move for move in position.legal_moves() if move.startswith("b3")] == [f"b3:p{number}" for number in range(3, 9)]

    def test_a_card_locked_in_goes_nowhere(self) -> None:
        position = hand_made(PERSIAN, "a1=9C b1=7S c1=JH", reserves="8S")
        assert not [move for move in position.legal_moves() if move.startswith("b1")]

    def test_cards_can_go_round_in_circles_so_the_moves_are_limited(self) -> None:
        position = hand_made(PERSIAN, "", reserves="5D 8S 7S,JC 8S")
        assert after(position, "p1:p2 p2:p1") == position
        assert PERSIAN.move_limit == 2000
        assert all(row.move_limit is None for row in WITH_STOCK)


def test_what_is_free_is_found_anew_for_a_quilt_made_by_hand() -> None:
    position = dealt(CRAZY)
    assert len(position.available()) == 16
    assert replace(position, quilt=(-1,) * 64).available() == ()


def test_a_game_is_won_when_all_104_are_home() -> None:
    position = replace(hand_made(PERSIAN, "", reserves="AC"), heights=(*[13] * 7, 12))
    won = position.play("p1-")
    assert (won.home, won.is_won, won.is_over) == (104, True, True)


def test_a_position_shows_itself_by_its_text() -> None:
    position = PERSIAN.deal(SEED)
    assert repr(position) == f"<QuiltPosition {position.text}>"
    assert len(position.text.split(" ")[1].split(",")) == 72
