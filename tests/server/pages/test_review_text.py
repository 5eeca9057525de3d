"""The text of reviews, for hand-made games in which it is plain what there is to say."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from protocol.cards import parse_card
from protocol.pages import RaceReview, SeatReview
from protocol.record import from_json
from server.pages.review_text import card_name, judge, judge_seat, review_document
from server.rules.catalogue import RULE_SETS, rule_set
from server.solver.review import review
from tests.server.race.racing import STALLING, greedy_line, options, started
from tests.server.solver.test_review import COVERED, HOPELESS

RECORD = Path(__file__).parents[2] / "data" / "records" / "format-1.json"
UNSURE = "Not every line of play was looked at: more may have been possible, and what is called lost need not have been."


def test_a_win_that_was_thrown_away() -> None:
    judged = judge(COVERED, ("s", "s"))
    assert judged.sentences == (
        "This deal can be won: all 52 cards could be brought home.",
        "The win was out of reach after move 2, s (turning the Queen of spades), made with 49 cards home.",
        "From then on at most 49 cards could be brought home; 49 were.",
        "Instead, w (the Jack of spades from the waste home) would have kept it.",
        "The way on from there: w s w a1.",
    )
    assert (judged.left, judged.exact) == (49, True)


def test_cards_that_were_thrown_away_in_a_deal_that_cannot_be_won() -> None:
    judged = judge(HOPELESS, ("s", "s"))
    assert judged.sentences[:2] == (
        "This deal cannot be won: at most 49 of 52 cards could be brought home.",
        "That was out of reach after move 2, s (turning the King of hearts), made with 47 cards home.",
    )


def test_a_win() -> None:
    assert judge(COVERED, ("s", "w", "s", "w", "a1")).sentences == (
        "This deal can be won: all 52 cards could be brought home.",
        "All 52 were.",
    )


def test_the_best_of_a_deal_that_cannot_be_won() -> None:
    assert judge(HOPELESS, ("s", "w", "s", "w")).sentences == (
        "This deal cannot be won: at most 49 of 52 cards could be brought home.",
        "All 49 were.",
    )


def test_whoever_stopped_with_the_win_in_reach_hears_of_it() -> None:
    assert judge(COVERED, ("s",)).sentences == (
        "This deal can be won: all 52 cards could be brought home.",
        "Nothing was lost: at the end, with 49 cards home, that was still in reach.",
        "The way on: w s w a1.",
    )


def test_what_was_not_searched_to_the_end_is_not_called_certain() -> None:
    judged = judge(COVERED, ("s", "s"), budget=0)
    assert judged.sentences == (
        "At least 49 of 52 cards could be brought home; whether all could is not known.",
        "All 49 were.",
        UNSURE,
    )
    assert not judged.exact


def test_the_seat_of_a_record_is_judged_by_its_own_moves() -> None:
    driven = started(options(deal=STALLING))
    driven.play(0, greedy_line(STALLING), 3000)
    driven.play(1, greedy_line(STALLING)[:5], 4000)
    record = driven.finish()
    first = rule_set("carpet").deal(bytes.fromhex(record.deal.seed))
    for seat in (0, 1):
        moves = [move.move for move in record.moves if move.seat == seat]
        assert judge_seat(record, seat, budget=None).review == review(first, moves)
    slip = judge_seat(record, 0, budget=None).review.slip
    assert slip is not None
    assert f"after move {slip + 1}, {greedy_line(STALLING)[slip]} (" in judge_seat(record, 0, budget=None).sentences[1]


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_kind_of_move_has_words(rules: str) -> None:
    position = rule_set(rules).deal(bytes(32))
    moves: list[str] = []
    while not position.is_over and len(moves) < 40:
        moves.append(position.legal_moves()[-1])
        position = position.play(moves[-1])
    for budget in (0, 30):
        judged = judge(rule_set(rules).deal(bytes(32)), moves, budget=budget)
        assert all(sentence.endswith(".") and sentence.isascii() for sentence in judged.sentences)


@pytest.mark.parametrize(("card", "name"), [("AS", "the Ace of spades"), ("TD", "the 10 of diamonds"), ("QC", "the Queen of clubs")])
def test_cards_are_called_by_their_names(card: str, name: str) -> None:
    assert card_name(parse_card(card)) == name


def test_the_document_has_games_with_one_deck_where_it_is_certain() -> None:
    record = from_json(RECORD.read_text())
    plain, zipped = review_document(RECORD.read_bytes())
    told = msgspec.json.decode(plain, type=RaceReview)
    assert gzip.decompress(zipped) == plain
    assert [each.seat for each in told.seats] == list(range(len(record.seats)))
    for seat, each in enumerate(told.seats):
        judged = judge_seat(record, seat, budget=None)
        slip = judged.review.slip
        expected = SeatReview(
            seat=seat, best=judged.review.best, slip=slip if slip is None else slip + 1, left=judged.left, sentences=judged.sentences
        )
        assert each == expected
