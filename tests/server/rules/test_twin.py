"""Each clause of family 2 by example."""

from protocol.cards import fresh_deck
from server.rules.catalogue import RULE_SETS
from server.rules.twin import TwinPosition, TwinRules
from tests.server.rules.changed import after, cards, replace, shown

ROWS = {row.id: row for row in RULE_SETS.values() if isinstance(row, TwinRules)}
COLORADO, TWENTY = ROWS["colorado"], ROWS["twenty"]
LIFTED = "AS AH AD AC KS KH KD KC"
DEAD = "3S 4S 5S 6S 7S 8S 9S TS JS 3H 4H 5H 6H 7H 8H 9H TH JH 3D 4D"
"""Twenty cards of which none goes to a foundation at the start."""


def lay_out(rules: TwinRules, start: str) -> TwinPosition:
    """The eight lifted cards, then the given ones, then the rest in the order of a fresh double deck."""
    first = cards(f"{LIFTED} {start}")
    rest = list(fresh_deck(2))
    for card in first:
        rest.remove(card)
    return rules.lay_out((*first, *rest), bytes(32))


class TestDeal:
    def test_twenty_piles_of_one_card_and_76_in_the_stock(self) -> None:
        for row in (COLORADO, TWENTY):
            position = row.deal(bytes(32))
            assert [len(pile) for pile in position.piles.values()] == [1] * 20
            assert (len(position.stock), position.home, position.waste) == (76, 8, ())
            assert set(position.foundations.values()) == {1}

    def test_colorado_lies_in_two_rows_of_ten_and_twenty_in_four_of_five(self) -> None:
        dead = DEAD.split()
        colorado, twenty = lay_out(COLORADO, DEAD), lay_out(TWENTY, DEAD)
        assert [shown(colorado, slot) for slot in ("a1", "j1", "a2", "j2")] == [dead[0], dead[9], dead[10], dead[19]]
        assert [shown(twenty, slot) for slot in ("a1", "e1", "a2", "e4")] == [dead[0], dead[4], dead[5], dead[19]]

    def test_a_second_copy_of_an_ace_is_dealt_like_any_card(self) -> None:
        position = lay_out(COLORADO, f"AS {DEAD}")
        assert shown(position, "a1") == "AS"
        assert "a1-" not in position.legal_moves()


class TestFoundations:
    def test_a_top_card_goes_up_or_down(self) -> None:
        position = lay_out(COLORADO, DEAD.replace("3S", "2S", 1).replace("4S", "QH", 1))
        assert position.legal_moves() == ("a1+", "b1-", "s")
        home = after(position, "a1+ b1-")
        assert (home.foundations["S+"], home.foundations["H-"], home.home) == (2, 2, 10)

    def test_a_card_that_both_want_has_a_move_for_each(self) -> None:
        position = replace(lay_out(COLORADO, DEAD), heights=(6, 6, 1, 1, 1, 1, 1, 1))
        assert position.legal_moves() == ("e1+", "e1-", "s")
        assert position.play("e1+").foundations["S+"] == 7
        assert position.play("e1-").foundations["S-"] == 7
        assert shown(position.play("e1-"), "e1") == ""

    def test_only_the_top_of_a_pile_can_go(self) -> None:
        position = after(lay_out(COLORADO, f"{DEAD.replace('3S', '2S', 1)} 9C"), "s w:a1")
        assert shown(position, "a1") == "2S 9C"
        assert position.legal_moves() == ("s",)


class TestColoradoWaste:
    def test_it_holds_one_card_which_goes_onto_any_pile(self) -> None:
        position = lay_out(COLORADO, f"{DEAD} 9C").play("s")
        assert position.waste == cards("9C")
        assert position.legal_moves() == tuple(sorted(f"w:{slot}" for slot in COLORADO.slots))
        placed = position.play("w:j2")
        assert (shown(placed, "j2"), placed.waste, placed.legal_moves()) == ("4D 9C", (), ("s",))

    def test_it_goes_home_where_it_is_wanted(self) -> None:
        position = lay_out(COLORADO, f"{DEAD} 2C QC").play("s")
        assert "w+" in position.legal_moves()
        home = position.play("w+")
        assert (home.foundations["C+"], home.waste) == (2, ())
        assert after(home, "s w-").foundations["C-"] == 2

    def test_pile_tops_can_go_home_while_it_waits(self) -> None:
        position = lay_out(COLORADO, f"{DEAD.replace('3S', '2S', 1)} 9C").play("s")
        assert "a1+" in position.legal_moves()

    def test_an_empty_pile_stays_empty_until_the_waste_card_is_laid_there(self) -> None:
        emptied = lay_out(COLORADO, f"{DEAD.replace('3S', '2S', 1)} 9C").play("a1+")
        assert (shown(emptied, "a1"), len(emptied.stock)) == ("", 76)
        assert shown(after(emptied, "s w:a1"), "a1") == "9C"

    def test_piles_are_not_spread_when_the_stock_is_used_up(self) -> None:
        position = replace(lay_out(COLORADO, DEAD), tableau=((), cards("3S 4S"), *[()] * 18), stock=())
        assert position.legal_moves() == ()
        assert (position.is_over, position.is_won) == (True, False)


class TestTwentyStock:
    def test_an_emptied_pile_is_refilled_at_once(self) -> None:
        position = lay_out(TWENTY, f"{DEAD.replace('3S', '2S', 1)} 9C").play("a1+")
        assert (shown(position, "a1"), len(position.stock)) == ("9C", 75)

    def test_a_refill_that_fits_waits_for_a_move(self) -> None:
        position = lay_out(TWENTY, f"{DEAD.replace('4S', '2S', 1)} 3S").play("b1+")
        assert (position.foundations["S+"], shown(position, "b1")) == (2, "3S")
        assert position.legal_moves() == ("a1+", "b1+", "s")

    def test_a_pile_that_keeps_cards_is_not_refilled(self) -> None:
        position = replace(lay_out(TWENTY, DEAD), tableau=(cards("9C 2S"), *[cards("9D")] * 19))
        assert shown(position.play("a1+"), "a1") == "9C"

    def test_a_row_is_dealt_onto_every_pile_in_slot_order(self) -> None:
        row = "3C 4C 5C 6C 7C 8C 9C TC JC 3S 4S 5S 6S 7S 8S 9S TS JS 3H 4H"
        position = lay_out(TWENTY, f"{DEAD} {row}").play("s")
        assert [shown(position, slot) for slot in TWENTY.slots] == [" ".join(pair) for pair in zip(DEAD.split(), row.split(), strict=True)]
        assert len(position.stock) == 56

    def test_the_last_row_reaches_as_far_as_the_stock_does(self) -> None:
        position = after(lay_out(TWENTY, DEAD), "s s s")
        assert len(position.stock) == 16
        position = position.play("s")
        assert [len(pile) for pile in position.piles.values()] == [5] * 16 + [4] * 4
        assert position.stock == ()
        assert "s" not in position.legal_moves()

    def test_there_is_no_waste(self) -> None:
        assert after(lay_out(TWENTY, DEAD), "s s s s").waste == ()


class TestTwentySpreading:
    def test_not_while_the_stock_has_a_card(self) -> None:
        position = replace(lay_out(TWENTY, DEAD), tableau=(cards("9C 9D"), *[()] * 19), stock=cards("8C"))
        assert position.legal_moves() == ("s",)

    def test_top_cards_move_to_empty_piles_but_not_a_card_that_lies_alone(self) -> None:
        tableau = (cards("9C 9D"), (), cards("8C"), (), *[cards("JC")] * 16)
        position = replace(lay_out(TWENTY, DEAD), tableau=tableau, stock=())
        assert position.legal_moves() == ("a1:b1", "a1:d1")
        moved = position.play("a1:d1")
        assert (shown(moved, "a1"), shown(moved, "d1"), moved.legal_moves()) == ("9C", "9D", ())

    def test_a_pile_emptied_now_stays_empty(self) -> None:
        position = replace(lay_out(TWENTY, DEAD), tableau=(cards("2S"), cards("9C 9D"), *[cards("JC")] * 18), stock=())
        emptied = position.play("a1+")
        assert (shown(emptied, "a1"), emptied.legal_moves()) == ("", ("b1:a1",))


def test_a_game_is_won_when_all_104_are_home() -> None:
    position = replace(lay_out(TWENTY, DEAD), tableau=(cards("AC"), *[()] * 19), stock=(), heights=(*[13] * 7, 12))
    won = position.play("a1-")
    assert (won.home, won.is_won, won.is_over) == (104, True, True)


def test_a_position_shows_itself_by_its_text() -> None:
    position = lay_out(COLORADO, DEAD)
    assert repr(position) == f"<TwinPosition {position.text}>"
    assert position.text.endswith(" S+1,S-1,H+1,H-1,D+1,D-1,C+1,C-1 - 0")
