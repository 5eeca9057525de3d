"""Reviews a finished game in sentences: the best that was possible, where it was lost, what would have kept it.

Owns the words, and the document for the web page, which a worker makes. Must not know how it is found (server/solver/review.py) or who
reads it, so the sentences address nobody.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from protocol.cards import Card, rank, suit
from protocol.pages import RaceReview, SeatReview
from protocol.record import Record, from_json
from protocol.text import counted
from server.race.start_position import first_positions
from server.rules.moves import REDEAL, STOCK, WASTE, parse_move
from server.rules.position import Position
from server.solver.review import Review, review
from server.solver.solve import best_home

_RANKS: Final = ("Ace", *map(str, range(2, 11)), "Jack", "Queen", "King")
_SUITS: Final = ("spades", "hearts", "diamonds", "clubs")
_QUOTED: Final = 8
"""How many moves of a line a sentence quotes."""


BUDGET: Final = 20_000
"""Positions per search for the page. With one deck a search rarely needs a tenth of that; with two it would take long."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What can be said about a game. left: the most cards that could still be brought home after the slip; None if there was no slip.

    exact: all of it is certain.
    """

    review: Review
    left: int | None
    exact: bool
    sentences: tuple[str, ...]


def judge_seat(record: Record, seat: int, *, budget: int | None) -> Judgement:
    """Judge the game of a seat (from 0) of a record that has passed the audit."""
    first = first_positions(record)[seat]
    return judge(first, [move.move for move in record.moves if move.seat == seat], budget=budget)


def judge(first: Position, moves: Sequence[str], *, budget: int | None = None) -> Judgement:
    """Judge the game that `moves` made from `first`. budget: positions for each search, as in `server.solver.review`."""
    found = review(first, moves, budget=budget)
    left: int | None = None
    exact = found.exact
    if found.slip is not None:
        after = best_home(_after(first, moves[: found.slip + 1]), budget=budget)
        left, exact = after.home, exact and after.exact
    return Judgement(found, left, exact, tuple(_sentences(first, moves, found, left, exact=exact)))


def review_document(record: bytes) -> tuple[bytes, bytes]:
    """The `RaceReview` of a record as JSON, plain and gzipped. Raises the errors of a false record."""
    told = from_json(record)
    firsts = first_positions(told)
    judged = [judge_seat(told, seat, budget=BUDGET) for seat in range(len(firsts))] if firsts[0].rules.decks == 1 else []
    seats = tuple(
        SeatReview(
            seat=seat,
            best=made.review.best,
            slip=None if made.review.slip is None else made.review.slip + 1,
            left=made.left,
            sentences=made.sentences,
        )
        for seat, made in enumerate(judged)
    )
    exact = all(made.exact for made in judged)
    document = msgspec.json.encode(RaceReview(race=told.id, seats=seats if exact else ())) + b"\n"
    return document, gzip.compress(document, 6, mtime=0)


def _sentences(first: Position, moves: Sequence[str], found: Review, left: int | None, *, exact: bool) -> Iterator[str]:
    total = first.rules.deck_size
    yield _possible(found, total)
    if found.slip is not None:
        yield from _lost(first, moves, found, left, exact=exact)
    elif found.reached == total:
        yield f"All {total} were."
    elif found.reached == found.best:
        yield f"All {found.best} were."
    else:
        yield f"Nothing was lost: at the end, with {counted(found.reached, 'card')} home, that was still in reach."
        yield f"The way on: {_line(found.line)}."
    if not exact:
        yield "Not every line of play was looked at: more may have been possible, and what is called lost need not have been."


def _possible(found: Review, total: int) -> str:
    if found.winnable:
        return f"This deal can be won: all {total} cards could be brought home."
    if found.winnable is False:
        return f"This deal cannot be won: at most {found.best} of {total} cards could be brought home."
    return f"At least {found.best} of {total} cards could be brought home; whether all could is not known."


def _lost(first: Position, moves: Sequence[str], found: Review, left: int | None, *, exact: bool) -> Iterator[str]:
    assert found.slip is not None
    assert found.instead is not None
    before = _after(first, moves[: found.slip])
    what = "The win" if found.winnable else "That"
    made = f"{_told(before, moves[found.slip])}, made with {counted(before.home, 'card')} home"
    yield f"{what} was out of reach after move {found.slip + 1}, {made}."
    if left is not None:
        cards = counted(left, "card")
        most = f"at most {cards} could be brought" if exact else f"the best line that was found brings {cards}"
        yield f"From then on {most} home; {found.reached} were."
    yield f"Instead, {_told(before, found.instead)} would have kept it."
    yield f"The way on from there: {_line(found.line)}."


def _line(moves: Sequence[str]) -> str:
    shown = " ".join(moves[:_QUOTED])
    return shown if len(moves) <= _QUOTED else f"{shown} ... ({counted(len(moves), 'move')})"


def _after(position: Position, moves: Sequence[str]) -> Position:
    for move in moves:
        position = position.play(move)
    return position


def _told(position: Position, text: str) -> str:
    """A move as text and in words: `w:b3 (the 9 of hearts from the waste to b3)`."""
    return f"{text} ({_words(position, text)})"


def _words(position: Position, text: str) -> str:
    move = parse_move(text)
    if text == REDEAL:
        return "the redeal"
    if text == STOCK:
        return f"turning {card_name(position.stock[0])}" if position.rules.has_waste else "dealing a row"
    match move.source:
        case "s":
            card, where = position.stock[0], "the stock"
        case "w":
            card, where = position.waste[-1], "the waste"
        case slot:
            card, where = position.piles[slot][-1], slot
    target = "home" if move.target is None else f"to {'the waste' if move.target == WASTE else move.target}"
    return f"{card_name(card)} from {where} {target}"


def card_name(card: Card) -> str:
    """A card in words: the 9 of hearts."""
    return f"the {_RANKS[rank(card) - 1]} of {_SUITS[suit(card)]}"
