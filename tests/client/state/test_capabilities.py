"""Rule sets and bots by name, and the sentence if there is none."""

from __future__ import annotations

import pytest

from client.state.capabilities import NotSolvable, UnknownBot, UnknownRules, check_bot, check_options, check_rules, is_solvable, rules_of
from protocol.views import RaceOptions
from tests.client import scenes


def test_a_rule_set_is_found_by_its_id() -> None:
    info = check_rules("teppich", scenes.RULES)
    assert (info.name, info.lanes) == ("Teppich", True)
    assert rules_of(scenes.RULES, "teppich") is info
    assert rules_of(scenes.RULES, "Teppich") is None
    assert rules_of((), "teppich") is None


def test_an_unknown_one_is_told_with_those_there_are() -> None:
    with pytest.raises(UnknownRules, match=r"There is no rule set 'klondike'; the rule sets are: carpet, .*, persian-rug."):
        check_rules("klondike", scenes.RULES)
    with pytest.raises(UnknownRules, match="none at all"):
        check_rules("klondike\x1b[2J", ())
    with pytest.raises(UnknownBot, match=r"There is no bot named 'Hal'; the bots are: Dawdle, Steady, Magpie."):
        check_bot("Hal", scenes.BOTS)
    check_bot("Steady", scenes.BOTS)
    with pytest.raises(UnknownRules, match=r"There is no rule set 'Carpet-Wist': do you mean carpet-whist\? The rule sets are: carpet, "):
        check_rules("Carpet-Wist", scenes.RULES)
    with pytest.raises(UnknownBot, match=r"There is no bot named 'steady': do you mean Steady\? The bots are: "):
        check_bot("steady", scenes.BOTS)


def test_deals_that_can_be_won_are_had_under_solvable_rules_alone() -> None:
    assert [info.id for info in scenes.RULES if not is_solvable(info.id, scenes.RULES)] == ["colorado", "crazy-quilt", "teppich"]
    assert not is_solvable("klondike", scenes.RULES)
    known = "carpet, carpet-aces-in, carpet-redeal, carpet-strategy, carpet-free, carpet-whist, twenty, indian-carpet, persian-rug"
    with pytest.raises(NotSolvable) as refused:
        check_options(RaceOptions(rules="teppich", winnable=True), scenes.welcome())
    assert str(refused.value) == f"There are no winnable deals under 'teppich'; the rule sets with them are: {known}."
    check_options(RaceOptions(rules="teppich", bots=("Steady",)), scenes.welcome())
    check_options(RaceOptions(rules="twenty", bots=("Steady", "Magpie"), winnable=True), scenes.welcome())


def test_options_name_bots_and_rules_that_there_are() -> None:
    with pytest.raises(UnknownBot, match="'Hal'"):
        check_options(RaceOptions(bots=("Steady", "Hal")), scenes.welcome())
    with pytest.raises(UnknownRules, match="'klondike'"):
        check_options(RaceOptions(rules="klondike", winnable=True), scenes.welcome())
