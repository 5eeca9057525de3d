"""The table of the house bots; every bot plays every rule set of the catalogue."""

import pytest

from server.bots.house import HOUSE_BOTS, UnknownBot, house_bot
from server.rules.catalogue import RULE_SETS, UnknownRules
from tests.server.bots.carpets import play_to_the_end


def test_the_bots_are_listed_weakest_first() -> None:
    assert list(HOUSE_BOTS) == ["random", "greedy", "deep"]
    assert all(name == bot.name for name, bot in HOUSE_BOTS.items())


def test_only_the_one_that_takes_long_needs_a_thread() -> None:
    assert [bot.name for bot in HOUSE_BOTS.values() if bot.thinks] == ["deep"]


def test_an_unknown_bot_is_told_which_there_are() -> None:
    with pytest.raises(UnknownBot, match=r"^no house bot 'bold'; there are: random, greedy, deep$"):
        house_bot("bold")


def test_a_bot_that_needs_its_rules_names_unknown_ones() -> None:
    with pytest.raises(UnknownRules):
        house_bot("deep").make("bridge", 1)


@pytest.mark.parametrize("rules_id", RULE_SETS)
@pytest.mark.parametrize("name", HOUSE_BOTS)
def test_every_bot_plays_every_rule_set_to_its_end(name: str, rules_id: str) -> None:
    rules = RULE_SETS[rules_id]
    end = play_to_the_end(house_bot(name).make(rules_id, 1), rules.deal(bytes(32)))
    assert end.is_over or rules.move_limit is not None
