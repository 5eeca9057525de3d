"""Rule sets and bots by name, and the sentence where there is none."""

from __future__ import annotations

import pytest

from client.offers import UnknownBot, UnknownRules, check_bot, check_rules, rules_of
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
