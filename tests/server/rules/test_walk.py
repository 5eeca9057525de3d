"""Whole games of the catalogue's rule sets against the checked digests."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TypedDict

import pytest

from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.walk import walk


class Vector(TypedDict):
    rules: str
    seed: str
    moves: int
    home: int
    digest: str


VECTORS: list[Vector] = [
    vector
    for vector in json.loads((Path(__file__).parents[2] / "data" / "vectors" / "walks.json").read_text("utf-8"))
    if vector["rules"] in RULE_SETS
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['rules']}-{vector['seed'][:8]}")
def test_the_walk_is_the_one_of_the_vector(vector: Vector) -> None:
    walked = walk(rule_set(vector["rules"]), bytes.fromhex(vector["seed"]))
    assert {"rules": vector["rules"], "seed": vector["seed"], **asdict(walked)} == vector
