"""Checking a record: genuine ones hold, and any change is found and named."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from protocol.fairness import HOUSE_NONCE
from protocol.record import BadRecord, Record, digest, from_json, sealed, to_json
from server.race.audit import RATED_IF_RACED_FROM_MS, audit
from server.race.commands import GetReady, LoseConnection, ResignSeat, StopSeat, TakeSeat
from server.race.report import LOOKED_ON_MS
from tests.server.race.racing import STALLING, Driven, greedy_line, nonce, options, started, won

Document = dict[str, Any]


def forfeited() -> Driven:
    """A deal by nonces: seats 0 and 2 forfeit."""
    driven = started(options(deal=None, seats=3, grace_s=5), round_trips=(7, 0, 300))
    for at in range(1000, 6000, 500):
        for seat in (0, 1):
            driven.play(seat, driven.position(seat).legal_moves()[:1], at)
    driven.do(LoseConnection(2), 2000)
    driven.do(ResignSeat(0), 8000)
    return driven


def out_of_time() -> Driven:
    """A stalled seat, one that stopped and one that ran out of time."""
    driven = started(options(deal=STALLING, seats=3, time_limit_s=10))
    driven.play(0, greedy_line(STALLING), 3000)
    driven.play(1, greedy_line(STALLING)[:5], 4000)
    driven.do(StopSeat(1), 5000)
    return driven


def with_a_bot() -> Driven:
    """Two people and a house bot, on a deal by nonces."""
    driven = Driven(options(deal=None, seats=3, bots=("greedy",)))
    for seat in range(2):
        driven.do(TakeSeat(f"player-{seat}", f"Player {seat}"), -9000)
    driven.do(TakeSeat("bot", "Greedy", "greedy", 2), -9000)
    for seat in range(3):
        driven.do(GetReady(seat, nonce(seat) if seat < 2 else HOUSE_NONCE), -5000)
    return driven


@cache
def record_of(make: Callable[[], Driven]) -> Record:
    return make().finish()


RACES = [won, forfeited, out_of_time]
races = pytest.mark.parametrize("make", RACES, ids=lambda make: make.__name__)


def document_of(record: Record) -> Document:
    document: Document = json.loads(to_json(record))
    return document


def read(document: Document) -> Record:
    return from_json(json.dumps(document))


def test_winnable_deals_are_only_true_where_they_are_offered() -> None:
    """The record is sealed and correct in everything else, as a dishonest host would write it."""
    record = record_of(forfeited)
    audit(sealed(replace(record, deal=replace(record.deal, winnable=True))))
    teppich = started(options(deal=None, rules="teppich")).finish()
    audit(teppich)
    with pytest.raises(BadRecord, match="winnable deals are not offered under teppich"):
        audit(sealed(replace(teppich, deal=replace(teppich.deal, winnable=True))))
    with pytest.raises(BadRecord, match="k is 0 unless only winnable deals were wanted"):
        audit(sealed(replace(record, deal=replace(record.deal, k=1))))


Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every list and every value that holds no other, with the way to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        yield path, value
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def others(value: Any) -> list[Any]:
    """What a value is changed into: numbers by one, text by one character, lists by one item."""
    match value:
        case bool() | None:
            return []
        case int():
            return [value - 1, value + 1]
        case str():
            other = "0" if value[-1:] != "0" else "1"
            return [other + value[1:], value[:-1] + other, value + other, value[:-1]] if value else [other]
        case list():
            indices = range(len(value))
            dropped = [value[:index] + value[index + 1 :] for index in indices]
            doubled = [[*value[:index], value[index], *value[index:]] for index in indices]
            return dropped + doubled + ([value[::-1]] if len(value) > 1 and value[::-1] != value else [])
        case _:
            raise TypeError(type(value))


def changed(document: Document, path: Path, value: Any) -> Document:
    document = deepcopy(document)
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def changes(document: Document) -> Iterator[tuple[Path, Document]]:
    for path, value in leaves(document):
        for other in others(value):
            # What follows the six items of a move is no part of it: readers pass over it, as over an unknown field.
            if other != value and not (path[:-1] == ("moves",) and other[:-1] == value):
                yield path, changed(document, path, other)


@races
def test_a_real_record_is_accepted_before_and_after_it_was_saved(make: Callable[[], Driven]) -> None:
    record = record_of(make)
    audit(record)
    audit(read(document_of(record)))


@pytest.mark.parametrize("make", [won, *(pytest.param(make, marks=pytest.mark.slow) for make in RACES[1:])], ids=lambda make: make.__name__)
def test_a_record_with_any_one_thing_changed_is_rejected_with_a_sentence(make: Callable[[], Driven]) -> None:
    tried = 0
    for path, document in changes(document_of(record_of(make))):
        with pytest.raises(BadRecord) as caught:
            audit(read(document))
        sentence = str(caught.value)
        assert len(sentence.split()) >= 4, path
        assert sentence.isprintable(), path
        tried += 1
    assert tried > 300


NOT_OF_THE_GAME = {
    *("software", "room", "race", "id", "started_at_ms", "countdown_s", "grace_s", "digest"),
    *("name", "bot", "player", "round_trip_ms"),
}
"""Fields that neither the rules nor the other fields determine: only the digest holds them."""


def of_the_game(path: Path) -> bool:
    # Seat 1 was stopped by the close, which looks like a player who stopped a moment earlier.
    return not NOT_OF_THE_GAME & set(path) and path not in {("time_limit_s",), ("seats", 1, "ended_at_ms")}


@pytest.mark.slow
def test_a_forger_who_knows_the_digest_cannot_change_what_the_game_determines() -> None:
    tried = 0
    for path, document in changes(document_of(record_of(won))):
        # The nonces take no part in a named deal.
        if of_the_game(path) and path[:2] != ("deal", "nonces"):
            with pytest.raises(BadRecord):
                audit(sealed(read(document)))
            tried += 1
    assert tried > 600


def test_a_forger_cannot_change_the_nonces_of_a_deal_that_has_no_name() -> None:
    for path, document in changes(document_of(record_of(forfeited))):
        if path[0] == "deal":
            with pytest.raises(BadRecord):
                audit(sealed(read(document)))


def set_value(*path: str | int, to: Any) -> Callable[[Document], Document]:
    return lambda document: changed(document, path, to)


def without_seats(document: Document) -> Document:
    return {**document, "seats": [], "moves": []}


def a_second_too_long(document: Document) -> Document:
    return changed(document, ("seats", 0, "ended_at_ms"), 9999)


@pytest.mark.parametrize(
    ("make", "forge", "sentence"),
    [
        (won, without_seats, "the record has no seats"),
        (won, set_value("rated", to=True), "only a race between people, on a shuffle that nobody could know, is rated"),
        (with_a_bot, set_value("rated", to=True), "only a race between people, on a shuffle that nobody could know, is rated"),
        (forfeited, set_value("deal", "nonces", to=["00" * 16]), "1 nonces for 3 seats"),
        (won, set_value("deal", "secret", to="00" * 32), "the secret is not the one the server committed to"),
        (won, set_value("deal", "seed", to="00" * 32), "the seed is not the one of that name"),
        (forfeited, set_value("deal", "seed", to="00" * 32), "the seed does not follow"),
        (won, set_value("rules", to="whist"), "no rule set 'whist'"),
        (won, set_value("moves", 0, 0, to=5), "there is no seat 6"),
        (won, set_value("moves", 3, 3, to=1), "not in the order of their arrival"),
        (won, set_value("moves", 0, 1, to="w"), r"move 1 \(w\), of seat 1: not legal; legal were"),
        (won, set_value("moves", 0, 2, to=99), "at_ms does not follow"),
        (won, set_value("moves", 0, 4, to=151), "a credit of 151 ms, where 0 to 150 is given"),
        (won, set_value("moves", 0, 4, to=-1), "a credit of -1 ms"),
        (won, set_value("moves", 0, 5, to=50), "home is 50 but 5 cards are home after it"),
        (won, set_value("seats", 0, "state", to="stopped"), "its last move at 4800 ms left it won, not stopped"),
        (won, set_value("seats", 1, "state", to="won"), "won, but there were legal moves left"),
        (won, set_value("seats", 1, "state", to="racing"), "'racing' is not a way for a seat to end"),
        (won, set_value("seats", 1, "ended_at_ms", to=3), "seat 2: it ended at 3 ms, before its last move"),
        (won, set_value("seats", 1, "ended_at_ms", to=4801), "seat 2: it ended at 4801 ms, after the race had closed at 4800 ms"),
        (won, set_value("seats", 1, "state", to="out-of-time"), "out of time at 4800 ms, with a limit of 600000 ms"),
        (won, set_value("seats", 1, "place", to=1), "seat 2: place is 1 but 2 follows from the moves"),
        (won, set_value("seats", 1, "home", to=51), "seat 2: home is 51 but 16 follows"),
        (won, set_value("ended_at_ms", to=4799), "ended_at_ms is not the moment at which the last seat ended"),
        (forfeited, set_value("seats", 1, "ended_at_ms", to=8001), "after the race had closed at 8000 ms"),
        (forfeited, set_value("seats", 0, "state", to="stopped"), "seat 1: place is 3 but 2 follows|seat 1: place is"),
        (out_of_time, a_second_too_long, "its last move at 3000 ms left it stalled, not stalled at 9999 ms"),
        (out_of_time, set_value("seats", 2, "ended_at_ms", to=9999), "out of time at 9999 ms, with a limit of 10000 ms"),
        (out_of_time, set_value("time_limit_s", to=11), "out of time at 10000 ms, with a limit of 11000 ms"),
    ],
)
def test_each_forgery_is_named(make: Callable[[], Driven], forge: Callable[[Document], Document], sentence: str) -> None:
    with pytest.raises(BadRecord, match=sentence):
        audit(sealed(read(forge(document_of(record_of(make))))))


def test_a_forfeit_after_all_the_others_had_forfeited_is_found() -> None:
    driven = started()
    driven.do(ResignSeat(0), 5000)
    driven.do(ResignSeat(1), 5000)
    document = changed(document_of(driven.record), ("seats", 1, "ended_at_ms"), 5001)
    with pytest.raises(BadRecord, match="seat 2: it ended at 5001 ms, after the race had closed at 5000 ms"):
        audit(sealed(read({**document, "ended_at_ms": 5001})))


@pytest.mark.parametrize("ended_at_ms", [LOOKED_ON_MS - 1, LOOKED_ON_MS])
def test_a_race_that_was_given_up_before_it_was_raced_is_not_rated_except_by_the_first_servers(ended_at_ms: int) -> None:
    driven = started(options(deal=None))
    driven.play(0, driven.position(0).legal_moves()[:1], 1000)
    driven.do(ResignSeat(1), ended_at_ms)
    record = replace(driven.finish(), rated=True, started_at_ms=RATED_IF_RACED_FROM_MS)
    audit(sealed(replace(record, started_at_ms=RATED_IF_RACED_FROM_MS - 1)))
    if ended_at_ms == LOOKED_ON_MS:
        audit(sealed(record))
        return
    with pytest.raises(BadRecord, match="given up before all had raced is not rated"):
        audit(sealed(record))


def test_what_the_game_does_not_determine_is_held_by_the_digest() -> None:
    document = document_of(record_of(won))
    with pytest.raises(BadRecord, match="the digest is not that of the document"):
        audit(read(changed(document, ("seats", 0, "name"), "Somebody else")))


def test_a_move_after_the_win_is_found() -> None:
    document = document_of(record_of(won))
    document["moves"].append([0, "s", 4900, 4900, 0, 52])
    with pytest.raises(BadRecord, match="the seat's game was over"):
        audit(sealed(read(document)))


def test_the_digest_is_that_of_every_other_field() -> None:
    record = record_of(won)
    assert record.digest == digest(record)
    document = document_of(record)
    fields = (("software", ""), ("room", "X"), ("race", 2), ("digest", ""))
    digests = {digest(read(changed(document, (field,), to))) for field, to in fields}
    assert len(digests) == 4
    assert record.digest in digests
