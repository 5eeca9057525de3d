"""Each clause of family 1 by example."""

from protocol.cards import DECK_SIZE, fresh_deck, parse_card
from protocol.shuffle import redeal_label, shuffle
from server.rules.carpet import CarpetPosition, CarpetRules
from server.rules.catalogue import RULE_SETS
from tests.server.rules.changed import after, cards, replace, shown

SEED = bytes(32)

ROWS = {row.id: row for row in RULE_SETS.values() if isinstance(row, CarpetRules)}
CARPET, ACES_IN, REDEAL = ROWS["carpet"], ROWS["carpet-aces-in"], ROWS["carpet-redeal"]
STRATEGY, FREE, WHIST = ROWS["carpet-strategy"], ROWS["carpet-free"], ROWS["carpet-whist"]


def deck(start: str) -> tuple[int, ...]:
    """A whole deck that starts with the given cards and goes on with the rest in the order of a fresh one."""
    first = cards(start)
    return first + tuple(card for card in fresh_deck() if card not in first)


def lay_out(rules: CarpetRules, start: str) -> CarpetPosition:
    return rules.lay_out(deck(start), SEED)


# Twenty cards without an Ace or a Two, then the stock of each example.
DEAD_CARPET = "KS QS JS TS 9S KH QH JH TH 9H KD QD JD TD 9D KC QC JC TC 9C"
ONE_TWO = DEAD_CARPET.replace("JS", "2S", 1)  # the two of spades at c1


class TestAces:
    def test_lifted_they_are_home_and_the_stock_has_28(self) -> None:
        position = CARPET.deal(SEED)
        assert (position.home, len(position.stock), len(position.piles)) == (4, 28, 20)
        assert position.foundations == {"S": 1, "H": 1, "D": 1, "C": 1}

    def test_lifting_keeps_the_order_of_the_rest(self) -> None:
        position = lay_out(CARPET, "AS 2S AH 3S")
        assert position.carpet[:2] == cards("2S 3S")

    def test_in_the_deck_they_are_dealt_and_played_by_a_move(self) -> None:
        position = lay_out(ACES_IN, DEAD_CARPET.replace("QS", "AH"))
        assert (position.home, len(position.stock)) == (0, 32)
        assert shown(position, "b1") == "AH"
        assert position.legal_moves() == ("b1", "s")
        assert position.play("b1").foundations == {"S": 0, "H": 1, "D": 0, "C": 0}

    def test_surfacing_ones_go_home_and_the_next_card_takes_the_slot(self) -> None:
        position = lay_out(WHIST, DEAD_CARPET.replace("QS", "AH AD QS"))
        assert position.carpet[:2] == cards("KS QS")
        assert position.foundations == {"S": 0, "H": 1, "D": 1, "C": 0}
        assert (len(position.carpet), len(position.stock)) == (20, 30)

    def test_surfacing_stops_with_the_twentieth_card_so_that_an_ace_may_head_the_stock(self) -> None:
        position = lay_out(WHIST, f"{DEAD_CARPET} AS")
        assert (position.home, position.stock[0]) == (0, parse_card("AS"))
        assert position.play("s").legal_moves() == ("w",)


class TestRefillByChoice:
    def test_a_gap_is_pending_and_nothing_else_is_legal(self) -> None:
        position = after(lay_out(CARPET, f"{ONE_TWO} 2H 3S 8C"), "s c1")
        assert position.pending == "c1"
        assert position.legal_moves() == ("s:c1", "w:c1")
        assert shown(position, "c1") == ""

    def test_the_player_takes_the_waste_or_the_stock(self) -> None:
        pending = after(lay_out(CARPET, f"{ONE_TWO} 2H 3S 8C"), "s c1")
        from_stock, from_waste = pending.play("s:c1"), pending.play("w:c1")
        assert (shown(from_stock, "c1"), from_stock.waste) == ("3S", cards("2H"))
        assert (shown(from_waste, "c1"), from_waste.waste) == ("2H", ())
        assert from_stock.pending is from_waste.pending is None
        assert (len(pending.stock), len(from_stock.stock), len(from_waste.stock)) == (27, 26, 27)

    def test_a_stock_card_that_fits_waits_on_the_carpet_for_a_move(self) -> None:
        position = after(lay_out(CARPET, f"{ONE_TWO} 2H 3S 8C"), "s c1 s:c1")
        assert "c1" in position.legal_moves()
        assert position.foundations["S"] == 2

    def test_with_no_waste_the_stock_fills_the_gap_at_once(self) -> None:
        position = lay_out(CARPET, f"{ONE_TWO} 8C").play("c1")
        assert (position.pending, shown(position, "c1")) == (None, "8C")

    def test_with_no_stock_the_waste_fills_the_gap_at_once(self) -> None:
        position = after(lay_out(CARPET, ONE_TWO), " ".join(["s"] * 28))
        top = position.waste[-1]
        filled = position.play("c1")
        assert (filled.pending, filled.piles["c1"], len(filled.waste)) == (None, (top,), 27)

    def test_with_neither_the_gap_stays(self) -> None:
        position = replace(lay_out(CARPET, ONE_TWO), stock=())
        left = position.play("c1")
        assert (left.pending, shown(left, "c1"), left.legal_moves()) == (None, "", ())

    def test_a_card_from_the_waste_to_a_foundation_leaves_no_gap(self) -> None:
        position = after(lay_out(CARPET, f"{DEAD_CARPET} 2H"), "s w")
        assert (position.pending, position.waste, position.foundations["H"]) == (None, (), 2)


class TestWasteFirst:
    def test_the_waste_fills_the_gap_though_the_stock_has_cards(self) -> None:
        # The two of spades waits for its Ace, which comes second from the stock and lies on the eight of clubs.
        position = after(lay_out(WHIST, f"{ONE_TWO} 8C AS 8D"), "s s w")
        filled = position.play("c1")
        assert (filled.pending, shown(filled, "c1"), filled.waste) == (None, "8C", ())

    def test_with_no_waste_the_next_stock_card_fills_it(self) -> None:
        filled = after(lay_out(WHIST, f"{ONE_TWO} AS 8D"), "s w c1")
        assert (shown(filled, "c1"), filled.waste) == ("8D", ())

    def test_the_stock_is_turned_only_when_nothing_can_go_home(self) -> None:
        position = lay_out(WHIST, f"{ONE_TWO} AS 8D")
        assert position.legal_moves() == ("s",)
        assert position.play("s").legal_moves() == ("w",)
        assert after(position, "s w").legal_moves() == ("c1",)

    def test_a_card_that_can_go_home_always_keeps_the_stock_shut(self) -> None:
        position = lay_out(WHIST, f"{ONE_TWO} AS AH 2H")
        while not position.is_over:
            moves = position.legal_moves()
            assert moves == ("s",) or "s" not in moves
            position = position.play(moves[-1])


class TestFreeGaps:
    def test_a_gap_stays_until_the_player_fills_it_from_the_waste(self) -> None:
        position = after(lay_out(FREE, f"{ONE_TWO} 8C 8D"), "c1")
        assert (position.pending, shown(position, "c1")) == (None, "")
        assert position.legal_moves() == ("s",)
        turned = position.play("s")
        assert turned.legal_moves() == ("s", "w:c1")
        filled = turned.play("w:c1")
        assert (shown(filled, "c1"), filled.waste, filled.legal_moves()) == ("8C", (), ("s",))

    def test_every_gap_can_be_filled(self) -> None:
        two_gaps = ONE_TWO.replace("JD", "3S")  # at c3
        position = after(lay_out(FREE, f"{two_gaps} 8C"), "c1 c3 s")
        assert position.legal_moves() == ("s", "w:c1", "w:c3")


class TestStock:
    def test_turning_is_legal_though_a_card_can_go_home(self) -> None:
        assert lay_out(CARPET, ONE_TWO).legal_moves() == ("c1", "s")

    def test_the_turned_card_is_the_top_of_the_waste(self) -> None:
        position = after(lay_out(CARPET, f"{DEAD_CARPET} 8C 8D 8H"), "s s")
        assert (position.waste, position.stock[0]) == (cards("8C 8D"), parse_card("8H"))

    def test_without_redeals_the_game_stalls_when_the_stock_is_turned_and_nothing_fits(self) -> None:
        position = after(lay_out(CARPET, DEAD_CARPET), " ".join(["s"] * 28))
        assert position.stock == ()
        assert (position.is_over, position.is_won) == (True, False)


class TestRedeal:
    def test_it_needs_an_empty_stock_and_a_waste(self) -> None:
        position = lay_out(REDEAL, DEAD_CARPET)
        for _ in range(28):
            assert "r" not in position.legal_moves()
            position = position.play("s")
        assert position.legal_moves() == ("r",)

    def test_the_waste_is_shuffled_from_bottom_to_top_under_its_number(self) -> None:
        turned = after(lay_out(REDEAL, DEAD_CARPET), " ".join(["s"] * 28))
        position = turned.play("r")
        assert position.stock == shuffle(turned.waste, SEED, redeal_label(1))
        assert (position.waste, position.redeals_left) == ((), 0)

    def test_a_second_redeal_has_its_own_label(self) -> None:
        twice = after(lay_out(replace(REDEAL, redeals=2), DEAD_CARPET), " ".join([*["s"] * 28, "r", *["s"] * 28]))
        assert twice.play("r").stock == shuffle(twice.waste, SEED, redeal_label(2))

    def test_there_is_none_when_all_are_used(self) -> None:
        position = after(lay_out(REDEAL, DEAD_CARPET), " ".join([*["s"] * 28, "r", *["s"] * 28]))
        assert "r" not in position.legal_moves()


class TestStrategy:
    def test_three_stock_cards_are_shown_and_the_game_is_the_same(self) -> None:
        assert (STRATEGY.visible_stock, CARPET.visible_stock) == (3, 0)
        assert STRATEGY.deal(SEED).text.split(" ")[1:] == CARPET.deal(SEED).text.split(" ")[1:]


def test_a_finished_suit_wants_no_card_of_the_next_suit() -> None:
    # All spades are home; the card after the King of spades by number is the Ace of hearts.
    position = replace(
        lay_out(ACES_IN, "AH"),
        heights=(13, 0, 0, 0),
        home=13,
        carpet=(parse_card("AH"), *[-1] * 19),
        stock=(),
    )
    assert position.legal_moves() == ("a1",)
    assert replace(position, heights=(13, 13, 0, 0), home=26, carpet=(parse_card("AD"), *[-1] * 19)).legal_moves() == ("a1",)
    assert replace(position, heights=(13, 1, 1, 1), home=16).legal_moves() == ()


def test_a_game_is_won_when_all_are_home() -> None:
    position = replace(lay_out(CARPET, ""), heights=(12, 13, 13, 13), home=51, carpet=(parse_card("KS"), *[-1] * 19), stock=())
    won = position.play("a1")
    assert (won.home, won.is_won, won.is_over, won.legal_moves()) == (DECK_SIZE, True, True, ())


def test_a_position_shows_itself_by_its_text() -> None:
    position = CARPET.deal(SEED)
    assert repr(position) == f"<CarpetPosition {position.text}>"
