"""The rows of the catalogue, and which rule sets the checked vectors cover."""

import json
from pathlib import Path

import pytest

from server.rules.catalogue import RULE_SETS, UnknownRules, rule_set
from server.rules.position import RuleSet

DATA = Path(__file__).parents[2] / "data" / "vectors"

COVERED = ["carpet"]
"""Rule sets that are implemented and checked against every vector; the rest of the twelve are to come."""


@pytest.mark.parametrize("name", ["perft.json", "walks.json"])
def test_every_rule_set_of_the_catalogue_is_covered_by_the_vectors(name: str) -> None:
    with_vectors = {vector["rules"] for vector in json.loads((DATA / name).read_text(encoding="utf-8"))}
    assert [row for row in RULE_SETS if row in with_vectors] == COVERED
    assert list(RULE_SETS) == COVERED


@pytest.mark.parametrize("row", RULE_SETS.values(), ids=list(RULE_SETS))
def test_a_row_explains_itself_in_one_paragraph(row: RuleSet) -> None:
    assert row.name
    assert row.source
    assert 80 <= len(row.explanation) <= 700
    assert "\n" not in row.explanation


def test_a_row_is_found_by_its_id() -> None:
    assert all(rule_set(rules_id) is row and row.id == rules_id for rules_id, row in RULE_SETS.items())


def test_an_unknown_id_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownRules, match=r"no rule set 'karpet'; there are: carpet") as caught:
        rule_set("karpet")
    assert caught.value.rules_id == "karpet"
    assert caught.value.known == tuple(RULE_SETS)
