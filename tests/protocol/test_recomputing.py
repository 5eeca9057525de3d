"""What a reader of protocol/README.md can compute again, here by nothing but what it says: the deal of every rule set from its seed, every
position that a record's moves lead to, and ratings from places. Nothing of the program is used on that side, not even its shuffle.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.game.moves import goes_home
from protocol.cards import card_text
from protocol.record import Record, from_json
from protocol.views import View
from server.race.rating import NEW, Rating, rate
from server.race.view import see
from server.rules.catalogue import RULE_SETS
from server.rules.position import Position
from tests.client.replays import record
from tests.protocol.recomputed import DEALS, MOVES, Game
from tests.protocol.specification import chapter, table

Deal = tuple[dict[str, list[str]], list[str], int]
"""The cards of each slot, the stock, and how many cards are home."""


def recomputed(game: Game) -> Deal:
    return game.piles, game.stock, game.home


def as_served(position: Position) -> Deal:
    piles = {slot: [card_text(card) for card in pile] for slot, pile in position.piles.items()}
    return piles, [card_text(card) for card in position.stock], position.home


def test_every_rule_set_is_in_the_tables_of_layouts_and_of_moves() -> None:
    assert sorted(DEALS) == sorted(MOVES) == sorted(RULE_SETS)


@pytest.mark.parametrize("rules", RULE_SETS)
@settings(max_examples=30)
@given(seed=st.binary(min_size=32, max_size=32))
def test_the_deal_of_a_seed_follows_from_the_specification_alone(rules: str, seed: bytes) -> None:
    game, position = Game(rules, seed), RULE_SETS[rules].deal(seed)
    assert recomputed(game) == as_served(position)
    assert list(game.piles) == list(position.piles)


@pytest.mark.parametrize("rules", RULE_SETS)
def test_the_example_of_a_deal_is_what_is_dealt(rules: str) -> None:
    assert "the deal by the name `thursday`" in " ".join(chapter("Fair deals").split())
    piles, stock, home = as_served(RULE_SETS[rules].deal(hashlib.sha256(b"carpet deal thursday").digest()))
    layout = [card for pile in piles.values() for card in pile]
    row = DEALS[rules]
    assert row["layout"] == f"`{' '.join(layout[:3])} … {layout[-1]}`"
    assert row["stock"] == (f"{len(stock)}: `{stock[0]} … {stock[-1]}`" if stock else "0")
    assert row["cards home"] in (str(home), "the Aces met")


@pytest.mark.parametrize("rules", [rules for rules, row in RULE_SETS.items() if row.redeals])
def test_a_redeal_follows_from_the_specification_alone(rules: str) -> None:
    seed = bytes(range(32))
    game, position = Game(rules, seed), RULE_SETS[rules].deal(seed)
    for _ in range(RULE_SETS[rules].redeals):
        for move in [*("s" * len(position.stock)), "r"]:
            game.play(move)
            position = position.play(move)
        assert recomputed(game) == as_served(position)
        assert not position.waste


def viewed(game: Game) -> View:
    """What the server shows of a position to its player."""
    return View(
        piles={slot: tuple(pile) for slot, pile in game.piles.items()},
        waste=tuple(game.waste),
        stock=len(game.stock),
        stock_next=tuple(game.stock[: RULE_SETS[game.rules].visible_stock]),
        foundations=game.foundations,
        pending=game.pending,
        redeals=game.redeals,
        home=game.home,
        moves=tuple(game.moves()),
    )


@pytest.mark.parametrize("rules", RULE_SETS)
@given(seed=st.binary(min_size=32, max_size=32), lot=st.integers(), eagerness=st.sampled_from([0, 0.5, 0.9, 1]))
def test_every_legal_move_and_what_it_does_follows_from_the_specification_alone(
    rules: str, seed: bytes, lot: int, eagerness: float
) -> None:
    """Games in which a card that can go home does so more or less often, until they end."""
    lots, game, position = Random(lot), Game(rules, seed), RULE_SETS[rules].deal(seed)
    for _ in range(500):
        view = see(position)
        assert viewed(game) == view
        assert game.stock == [card_text(card) for card in position.stock]
        if not view.moves:
            break
        home = [move for move in view.moves if goes_home(move)]
        move = lots.choice(home if home and lots.random() < eagerness else view.moves)
        game.play(move)
        position = position.play(move)
    assert game.is_won == position.is_won


def check_by_replaying(record: Record) -> None:
    """Every move of the record is legal, and they lead to its result."""
    games = [Game(record.rules, bytes.fromhex(record.deal.seed)) for _ in record.seats]
    plies, home_at_ms = Counter[int](), Counter[int]()
    for made in record.moves:
        game = games[made.seat]
        assert made.move in game.moves()
        home = game.home
        game.play(made.move)
        assert made.home == game.home
        plies[made.seat] += 1
        if game.home > home:
            home_at_ms[made.seat] = made.at_ms
    for number, (game, seat) in enumerate(zip(games, record.seats, strict=True)):
        assert (seat.plies, seat.home, seat.home_at_ms) == (plies[number], game.home, home_at_ms[number])
        assert (seat.state == "won") == game.is_won
        assert (seat.state == "stalled") == (not game.is_won and not game.moves())


@pytest.mark.parametrize("rules", RULE_SETS)
def test_the_moves_of_a_record_lead_to_its_result(rules: str) -> None:
    check_by_replaying(record(rules, 3))


@pytest.mark.parametrize("file", ["close-race.json", "format-1.json"])
def test_the_moves_of_a_record_that_was_kept_lead_to_its_result(file: str) -> None:
    check_by_replaying(from_json((Path(__file__).parents[1] / "data" / "records" / file).read_bytes()))


def test_the_limit_of_moves_is_the_one_that_the_specification_says() -> None:
    said = re.search(r"In `(.+)` a seat is stopped by\s+its ([0-9,]+)th move", chapter("Moves and positions"))
    assert said is not None
    assert {rules: row.move_limit for rules, row in RULE_SETS.items() if row.move_limit} == {said[1]: int(said[2].replace(",", ""))}


def rerated(places: list[int], before: list[Rating]) -> list[tuple[float, float]]:
    """Mean and deviation of each seat after a race, as the chapter on ratings says."""
    seats = range(len(places))
    mu = [rating.mu for rating in before]
    v = [rating.sigma**2 + (25 / 300) ** 2 for rating in before]
    c = math.sqrt(sum(v[s] + (25 / 6) ** 2 for s in seats))
    after = []
    for i in seats:
        earlier = [q for q in seats if places[q] <= places[i]]
        p = {q: math.exp(mu[i] / c) / sum(math.exp(mu[s] / c) for s in seats if places[s] >= places[q]) for q in earlier}
        omega = v[i] / c * sum(((q == i) - p[q]) / places.count(places[q]) for q in earlier)
        gamma = math.sqrt(v[i]) / c
        delta = gamma * v[i] / c**2 * sum(p[q] * (1 - p[q]) / places.count(places[q]) for q in earlier)
        is_shared = places.count(places[i]) > 1
        sigma = before[i].sigma if is_shared else min(before[i].sigma, math.sqrt(v[i] * (1 - delta)))
        after.append((mu[i] + omega, sigma))
    return after


@given(
    st.lists(st.tuples(st.integers(1, 4), st.builds(Rating, st.floats(0, 50), st.floats(1, 25 / 3), st.just(0))), min_size=2, max_size=8)
)
def test_ratings_follow_from_the_specification_alone(field: list[tuple[int, Rating]]) -> None:
    places, before = [place for place, _ in field], [rating for _, rating in field]
    for rating, expected in zip(rate(places, before), rerated(places, before), strict=True):
        assert (rating.mu, rating.sigma) == pytest.approx(expected, abs=1e-9)


def test_the_example_of_ratings_is_what_the_server_makes_of_the_places() -> None:
    _, rows = table(chapter("Ratings of players"))
    known: dict[str, Rating] = {}
    for _, race in itertools.groupby(rows, key=lambda row: row[0]):
        seats = list(race)
        names, places = [row[1] for row in seats], [int(row[2]) for row in seats]
        after = rate(places, [known.get(name, NEW) for name in names])
        known |= zip(names, after, strict=True)
        assert [row[3:] for row in seats] == [[f"{rating.mu:.6f}", f"{rating.sigma:.6f}", str(rating.worth)] for rating in after]
    assert len(known) == 3
