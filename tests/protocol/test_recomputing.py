"""What a reader of protocol/README.md can compute again, here by nothing but what it says: the deal of every rule set from its seed, and
ratings from places. Nothing of the program is used on that side, not even its shuffle.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.cards import card_text
from server.race.rating import NEW, Rating, rate
from server.rules.catalogue import RULE_SETS
from server.rules.position import Position
from tests.protocol.specification import chapter, table

DEALS = {
    rules: dict(zip(("decks", "taken out", "slots", "cards home", "layout", "stock"), cells, strict=True))
    for ids, *cells in table(re.sub("^ +", "", chapter("Fair deals"), flags=re.MULTILINE))[1]
    for rules in re.findall("`(.+?)`", ids)
}
"""The table of the layouts, by rule set."""


def words(seed: bytes, label: bytes) -> Iterator[int]:
    for n in itertools.count():
        block = hmac.digest(seed, label + n.to_bytes(8, "big"), "sha256")
        yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4))


def shuffled(cards: list[str], seed: bytes, label: str) -> list[str]:
    """Steps 5 and 6."""
    stream = words(seed, label.encode())
    for i in range(len(cards) - 1, 0, -1):
        j = next(word for word in stream if word < 2**32 - 2**32 % (i + 1)) % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards


def dealt(rules: str, seed: bytes) -> tuple[dict[str, list[str]], list[str], int]:
    """Step 7: the cards of each slot, the stock, and how many cards are home."""
    row = DEALS[rules]
    deck = shuffled([rank + suit for suit in "SHDC" for rank in "A23456789TJQK"] * int(row["decks"]), seed, "deal")
    home = []
    if row["taken out"] != "nothing":
        lifted = {"Aces": "A", "Aces met": "", "Aces and Kings": "AK"}[row["taken out"]]
        home = [card for card in dict.fromkeys(deck) if card[0] in lifted]
    for card in home:
        deck.remove(card)
    last = re.fullmatch("`a1` to `(.)(.)`", row["slots"])
    assert last is not None
    columns = "abcdefghij"[: "abcdefghij".index(last[1]) + 1]
    piles: dict[str, list[str]] = {f"{column}{number}": [] for number in range(1, int(last[2]) + 1) for column in columns}
    for pile in piles.values():
        while row["taken out"] == "Aces met" and deck[0][0] == "A":
            home.append(deck.pop(0))
        pile.append(deck.pop(0))
    if rules == "persian-rug":
        piles |= {f"p{number}": [deck.pop(0) for _ in range(4)] for number in range(1, 9)}
    return piles, deck, len(home)


def as_served(position: Position) -> tuple[dict[str, list[str]], list[str], int]:
    piles = {slot: [card_text(card) for card in pile] for slot, pile in position.piles.items()}
    return piles, [card_text(card) for card in position.stock], position.home


def test_every_rule_set_is_in_the_table_of_layouts() -> None:
    assert sorted(DEALS) == sorted(RULE_SETS)


@pytest.mark.parametrize("rules", RULE_SETS)
@settings(max_examples=30)
@given(seed=st.binary(min_size=32, max_size=32))
def test_the_deal_of_a_seed_follows_from_the_specification_alone(rules: str, seed: bytes) -> None:
    piles, stock, home = dealt(rules, seed)
    position = RULE_SETS[rules].deal(seed)
    assert (piles, stock, home) == as_served(position)
    assert list(piles) == list(position.piles)


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
    position = RULE_SETS[rules].deal(seed)
    for number in range(1, RULE_SETS[rules].redeals + 1):
        while position.stock:
            position = position.play("s")
        waste = [card_text(card) for card in position.waste]
        position = position.play("r")
        stock = waste if rules in ("crazy-quilt", "indian-carpet") else shuffled(waste, seed, f"redeal:{number}")
        assert [card_text(card) for card in position.stock] == stock
        assert not position.waste


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
