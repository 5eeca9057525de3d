"""No board shown to anybody tells of a card that a seat still racing has not seen; cards that all of them have seen lie open.

What a player has seen is worked out only from the views that they were sent: cards by name, and how many of each.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.cards import CARD_TEXT, FACE_DOWN, SUITS
from protocol.errors import Refusal
from protocol.views import View
from server.race.board_history import history_of
from server.race.commands import PlayMove, ResignSeat, StopSeat
from server.race.face_down import EVERYTHING_SEEN, first_turns, see_face_down, seen_by_player, turns_after
from server.race.view import see
from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.moves import parse_move
from server.rules.position import Position
from server.spectate.delay import DelayedBoards
from tests.server.race.racing import START, counting_down, options, started

DECK = 13


def open_cards(view: View) -> Counter[str]:
    """The cards that lie face up, those on the foundations left out."""
    cards = Counter(card for pile in view.piles.values() for card in pile)
    cards.update(view.waste)
    cards.update(view.stock_next)
    del cards[FACE_DOWN]
    return cards


def home_cards(view: View) -> Counter[str]:
    cards = Counter[str]()
    for foundation, count in view.foundations.items():
        suit = CARD_TEXT[SUITS.index(foundation[0]) * DECK :][:DECK]
        cards.update(suit[:count] if foundation[1:] != "-" else suit[DECK - count :])
    return cards


class Seen:
    """What one player has seen."""

    def __init__(self) -> None:
        self.cards = Counter[str]()

    def look(self, position: Position) -> None:
        view = see(position)
        self.cards |= open_cards(view) + home_cards(view)


ACTIONS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["move"] * 20 + ["turn"] * 20 + ["home"] * 20 + ["stop", "resign"]),
        st.integers(0, 1_000),
        st.integers(0, 3_000),
    ),
    max_size=120,
)


@pytest.mark.parametrize("rules", list(RULE_SETS))
@settings(max_examples=15)
@given(delay_s=st.sampled_from([0, 10, 60]), seed=st.integers(0, 5), actions=ACTIONS)
def test_no_board_tells_of_a_card_that_a_seat_still_racing_has_not_seen(
    rules: str, delay_s: int, seed: int, actions: list[tuple[int, str, int, int]]
) -> None:
    driven = counting_down(options(seats=3, rules=rules, deal=f"deal {seed}"), round_trips=[0, 40, 300])
    boards = DelayedBoards(delay_s * 1000, seats=3)
    seen = [Seen() for _ in range(3)]
    told, at = 0, -200

    def look() -> None:
        nonlocal told
        for event in driven.events[told:]:
            boards.note(event, START + at)
        told = len(driven.events)
        dealt = [seat for seat in driven.race.seats if seat.dealt]
        for seat in dealt:
            assert seat.position is not None
            seen[seat.number].look(seat.position)
        boards.due(START + at, most=10_000)
        racing = [seat.number for seat in driven.race.seats if seat.state in ("waiting", "racing")]
        for board in boards.shown() if driven.phase() != "over" else ():
            shown = open_cards(board.view) + home_cards(board.view)
            assert all(shown <= seen[seat].cards for seat in racing), f"seat {board.seat} shows too much"
            assert not (board.view.moves and FACE_DOWN in str(board.view))

    look()
    for seat, what, which, pause in actions:
        at += pause
        driven.advance(at)
        look()
        try:
            match what:
                case "move" | "turn" | "home" if driven.phase() == "racing" and driven.seat(seat).state == "racing":
                    moves = driven.position(seat).legal_moves()
                    turning = [move for move in moves if move[0] in "sr"]
                    homeward = [move for move in moves if parse_move(move).to_foundation]
                    # Most of what is on the move then are cards of the stock, of which the others have seen less.
                    chosen = {"move": moves, "turn": turning or moves, "home": homeward or turning or moves}[what]
                    driven.do(PlayMove(seat, driven.seat(seat).ply, chosen[which % len(chosen)]), at)
                case "stop":
                    driven.do(StopSeat(seat), at)
                case "resign":
                    driven.do(ResignSeat(seat), at)
                case _:
                    pass
        except Refusal:
            pass
        look()


@pytest.mark.parametrize("rules", list(RULE_SETS))
@settings(max_examples=10)
@given(
    seed=st.binary(min_size=32, max_size=32),
    choices=st.lists(st.integers(0, 1_000), min_size=40, max_size=150),
    # The others stand still early, so that there is something to hide, or never.
    behind=st.integers(0, 20) | st.just(200),
)
def test_what_another_has_seen_lies_open_and_nothing_else_and_what_nobody_else_needs_hidden_does_too(
    rules: str, seed: bytes, choices: list[int], behind: int
) -> None:
    position = waiting = rule_set(rules).deal(seed)
    turns, other = first_turns(position), Seen()
    other.look(position)
    for number, choice in enumerate(choices):
        moves = position.legal_moves()
        if not moves:
            break
        before, position = position, position.play(moves[choice % len(moves)])
        turns = turns_after(turns, before, moves[choice % len(moves)], position)
        if number < behind:
            waiting = position
            other.look(waiting)
        view, truth = see_face_down(position, turns, seen_by_player(waiting)), see(position)
        assert see_face_down(position, turns, EVERYTHING_SEEN) == truth
        assert see_face_down(position, turns, seen_by_player(position)) == truth
        assert open_cards(view) <= other.cards
        hidden = open_cards(truth) - open_cards(view)
        # Behind a redeal that shuffles the cards are known, and what order they come in is not.
        if position.redeals_left == waiting.redeals_left:
            packs = rule_set(rules).decks
            assert all(other.cards[card] < packs for card in hidden), "a card that the other one has seen lies face down"
    if behind > len(choices):
        assert see_face_down(position, turns, seen_by_player(waiting)) == see(position)


@pytest.mark.parametrize("rules", [rules for rules in RULE_SETS if rule_set(rules).redeals])
def test_behind_a_redeal_a_card_lies_face_down_until_the_others_have_seen_it_and_if_it_shuffles_until_they_have_made_it_too(
    rules: str,
) -> None:
    position = rule_set(rules).deal(bytes(32))
    turns, passes = first_turns(position), []
    while moves := [move for move in position.legal_moves() if move in ("s", "r")]:
        before, position = position, position.play(moves[0])
        turns = turns_after(turns, before, moves[0], position)
        passes.append((position, turns))
    assert position.redeals_left == 0
    for position, turns in passes:
        for other, _ in passes:
            waste = see_face_down(position, turns, seen_by_player(other)).waste
            unseen = max(len(waste) - len(other.waste), 0)
            if position.rules.reshuffles:
                unseen = {-1: 0, 0: unseen, 1: len(waste)}[min(max(other.redeals_left - position.redeals_left, -1), 1)]
            elif other.redeals_left < other.rules.redeals:
                unseen = 0
            assert [card == FACE_DOWN for card in waste] == [number >= len(waste) - unseen for number in range(len(waste))]


def test_a_seat_that_waits_is_shown_nothing_of_its_own_stock() -> None:
    driven = counting_down(options(rules="colorado"))
    boards = DelayedBoards(0, seats=2)
    told = 0
    for at in range(0, 5_000, 100):
        driven.advance(at)
        if driven.phase() == "racing" and driven.position(0).legal_moves():
            move = max(driven.position(0).legal_moves(), key=lambda move: (len(move) > 2, move))
            driven.do(PlayMove(0, driven.seat(0).ply, move), at)
        for event in driven.events[told:]:
            boards.note(event, START + at)
        told = len(driven.events)
    boards.due(START + 20_000, most=10_000)
    racer, waiting = boards.shown()
    laid = driven.race.deal.firsts[1]
    assert FACE_DOWN not in str(waiting.view)
    assert str(racer.view).count(FACE_DOWN) > 5
    assert open_cards(racer.view) <= open_cards(see(laid))


def test_a_board_on_which_a_card_was_built_on_an_unseen_one_waits_until_all_have_seen_it() -> None:
    # What lies on a card of the waste tells of it: it is of the same suit and the next rank.
    driven = started(options(rules="crazy-quilt", deal="0"))
    boards = DelayedBoards(0, seats=2, history=history_of(driven.race))
    told = len(driven.events)
    shown = []
    for seat, move in ((0, "s"), (0, "c1:w"), (1, "s")):
        driven.play(seat, [move], 1_000)
        for event in driven.events[told:]:
            boards.note(event, START + 1_000)
        told = len(driven.events)
        boards.due(START + 1_000, most=10)
        board = boards.shown()[0]
        shown.append((board.ply, board.view.waste.count(FACE_DOWN), len(board.view.waste)))
    assert shown == [(1, 1, 1), (1, 1, 1), (2, 0, 2)]
