"""Move counts of the catalogue's rule sets against the checked vectors."""

import json
from pathlib import Path
from typing import TypedDict

import pytest

from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.perft import perft, perft_divide


class Vector(TypedDict):
    rules: str
    seed: str
    counts: list[int]


VECTORS: list[Vector] = [
    vector
    for vector in json.loads((Path(__file__).parents[2] / "data" / "vectors" / "perft.json").read_text("utf-8"))
    if vector["rules"] in RULE_SETS
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['rules']}-{vector['seed'][:8]}")
def test_the_counts_are_those_of_the_vector(vector: Vector) -> None:
    position = rule_set(vector["rules"]).deal(bytes.fromhex(vector["seed"]))
    for depth, count in enumerate(vector["counts"], start=1):
        assert perft(position, depth) == count, f"depth {depth}, by first move: {perft_divide(position, depth)}"


def test_at_depth_zero_there_is_one_sequence_the_empty_one() -> None:
    assert perft(rule_set("carpet").deal(bytes(32)), 0) == 1


def test_a_game_that_is_over_has_no_sequences() -> None:
    position = rule_set("carpet").deal(bytes(32))
    while not position.is_over:
        position = position.play(position.legal_moves()[-1])
    assert [perft(position, depth) for depth in range(4)] == [1, 0, 0, 0]
    assert perft_divide(position, 2) == {}


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_counts_by_first_move_add_up(depth: int) -> None:
    position = rule_set("carpet").deal(bytes(32))
    divided = perft_divide(position, depth)
    assert tuple(divided) == position.legal_moves()
    assert sum(divided.values()) == perft(position, depth)


def test_a_depth_that_makes_no_sense_is_refused() -> None:
    position = rule_set("carpet").deal(bytes(32))
    with pytest.raises(ValueError, match="0 or more"):
        perft(position, -1)
    with pytest.raises(ValueError, match="1 or more"):
        perft_divide(position, 0)
