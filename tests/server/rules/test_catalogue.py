"""The rows of the catalogue, and which rule sets the checked vectors cover."""

import json
from pathlib import Path

import pytest

from server.race.view import see
from server.rules.catalogue import RULE_SETS, UnknownRules, describe, rule_set
from server.rules.position import RuleSet
from tests.server.rules.changed import cards_of

DATA = Path(__file__).parents[2] / "data" / "vectors"

COVERED = [
    *("carpet", "carpet-aces-in", "carpet-redeal", "carpet-strategy", "carpet-free", "carpet-whist"),
    *("colorado", "twenty"),
    *("crazy-quilt", "indian-carpet", "teppich", "persian-rug"),
]
"""The twelve rule sets: all are implemented, and checked against every vector."""


@pytest.mark.parametrize("name", ["perft.json", "walks.json"])
def test_every_rule_set_of_the_catalogue_is_covered_by_the_vectors(name: str) -> None:
    with_vectors = {vector["rules"] for vector in json.loads((DATA / name).read_text(encoding="utf-8"))}
    assert list(RULE_SETS) == COVERED
    assert with_vectors == set(COVERED)


@pytest.mark.parametrize("row", RULE_SETS.values(), ids=list(RULE_SETS))
def test_a_row_explains_itself_in_one_paragraph(row: RuleSet) -> None:
    assert row.name
    assert row.source
    assert 80 <= len(row.explanation) <= 700
    assert "\n" not in row.explanation


@pytest.mark.parametrize("row", RULE_SETS.values(), ids=list(RULE_SETS))
def test_a_client_is_told_of_a_row_what_its_positions_will_show(row: RuleSet) -> None:
    told, position = describe(row), row.deal(bytes(32))
    assert (told.id, told.name, told.explanation, told.source) == (row.id, row.name, row.explanation, row.source)
    assert (told.family, told.difficulty) == (row.family, row.difficulty)
    assert len(position.piles) == told.columns * told.rows + told.reserves
    assert len(cards_of(position)) == 52 * told.decks
    assert position.redeals_left == told.redeals
    assert len(see(position).stock_next) == told.visible_stock
    assert told.has_waste == (told.id not in ("twenty", "persian-rug"))


def test_names_and_explanations_tell_the_rows_apart() -> None:
    assert len({row.name for row in RULE_SETS.values()}) == len({row.explanation for row in RULE_SETS.values()}) == len(RULE_SETS)


def test_a_row_is_found_by_its_id() -> None:
    assert all(rule_set(rules_id) is row and row.id == rules_id for rules_id, row in RULE_SETS.items())


def test_an_unknown_id_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownRules, match=r"no rule set 'karpet'; there are: carpet") as caught:
        rule_set("karpet")
    assert str(caught.value).partition(": ")[2].split(", ") == list(RULE_SETS)
