"""The provable shuffle: against its checked vectors, and properties for every seed."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.cards import card_text, fresh_deck
from protocol.shuffle import DEAL_LABEL, WordStream, redeal_label, shuffle


class Vector(TypedDict):
    seed: str
    label: str
    decks: int
    cards: str


VECTORS: list[Vector] = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "shuffle.json").read_text(encoding="utf-8"))

seeds = st.binary(min_size=32, max_size=32)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['seed'][:8]}-{v['label']}-{v['decks']}")
def test_the_shuffle_gives_the_order_of_the_vector(vector: Vector) -> None:
    cards = shuffle(fresh_deck(vector["decks"]), bytes.fromhex(vector["seed"]), vector["label"].encode())
    assert " ".join(map(card_text, cards)) == vector["cards"]


@given(st.lists(st.integers(0, 51), max_size=110), seeds, st.binary(max_size=20))
def test_a_shuffle_keeps_every_card_and_is_the_same_again(cards: list[int], seed: bytes, label: bytes) -> None:
    before = list(cards)
    shuffled = shuffle(cards, seed, label)
    assert sorted(shuffled) == sorted(cards)
    assert shuffled == shuffle(cards, seed, label)
    assert cards == before


@given(seeds)
def test_another_label_gives_another_order(seed: bytes) -> None:
    assert shuffle(fresh_deck(), seed, DEAL_LABEL) != shuffle(fresh_deck(), seed, redeal_label(1))


def test_redeals_are_labelled_by_their_number() -> None:
    assert [redeal_label(number) for number in (1, 2, 10)] == [b"redeal:1", b"redeal:2", b"redeal:10"]


@given(seeds, st.binary(max_size=20))
def test_the_words_are_the_blocks_of_hmac_sha256_in_order(seed: bytes, label: bytes) -> None:
    stream = WordStream(seed, label)
    blocks = b"".join(hmac.new(seed, label + number.to_bytes(8, "big"), hashlib.sha256).digest() for number in range(3))
    words = b"".join(stream.word().to_bytes(4, "big") for _ in range(24))
    assert words == blocks


@given(seeds, st.integers(1, 2**32))
def test_a_draw_is_the_first_word_not_passed_over_modulo_the_bound(seed: bytes, bound: int) -> None:
    words, draws = WordStream(seed, b"x"), WordStream(seed, b"x")
    word = words.word()
    while word >= 2**32 - 2**32 % bound:
        word = words.word()
    assert draws.below(bound) == word % bound
    assert draws.word() == words.word()


def test_a_word_that_would_favour_small_results_is_passed_over() -> None:
    # Just above 2**31 nearly every second word is too large, so 64 draws take far more words than 64.
    bound = 2**31 + 1
    words, draws = WordStream(bytes(32), b"x"), WordStream(bytes(32), b"x")
    kept = [word for word in (words.word() for _ in range(400)) if word < bound]
    assert kept[:64] == [draws.below(bound) for _ in range(64)]
    assert len(kept) < 300


@pytest.mark.parametrize("bound", [0, -1, 2**32 + 1])
def test_a_draw_below_a_bound_out_of_range_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="a draw is below"):
        WordStream(bytes(32), b"x").below(bound)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_seed_of_another_length_is_refused_whatever_is_shuffled(length: int) -> None:
    with pytest.raises(ValueError, match=f"32 bytes, not {length}"):
        shuffle((), bytes(length), DEAL_LABEL)
