"""The table of the house bots that the server offers, weakest first.

Must not know how a bot is driven or seated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from server.bots.deep import deep
from server.bots.plain import Greedy, RandomMoves
from server.bots.strategy import Strategy
from server.rules.catalogue import rule_set


class UnknownBot(LookupError):
    """No house bot has this name. The message says which bots there are."""


@dataclass(frozen=True, slots=True)
class HouseBot:
    """A row of the table."""

    name: str
    explanation: str
    thinks: bool
    """A move may take tens of milliseconds: ask for it in a thread."""
    make: Callable[[str, int], Strategy]
    """Makes the bot for one game, from the rule set's id and a seed for its randomness. Bots that need the rules may raise UnknownRules."""


_ROWS: Final = (
    HouseBot(
        name="random",
        explanation="Easy: plays any legal move. Good for finding out where the keys are.",
        thinks=False,
        make=lambda rules_id, seed: RandomMoves(seed),
    ),
    HouseBot(
        name="greedy",
        explanation="Harder: sends home all that can go. It fills every gap at once, and turns when there is nothing else to do.",
        thinks=False,
        make=lambda rules_id, seed: Greedy(seed),
    ),
    HouseBot(
        name="deep",
        explanation=(
            "Hardest: holds cards back. It weighs every gap against the cards still to come, of which it sees no more than you do, "
            "thinks ahead in the carpet family, and plays greedily elsewhere."
        ),
        thinks=True,
        make=lambda rules_id, seed: deep(rule_set(rules_id), seed),
    ),
)

HOUSE_BOTS: Final[Mapping[str, HouseBot]] = MappingProxyType({row.name: row for row in _ROWS})


def house_bot(name: str) -> HouseBot:
    """The bot with this name. Raises UnknownBot."""
    bot = HOUSE_BOTS.get(name)
    if bot is None:
        raise UnknownBot(f"no house bot {name!r}; there are: {', '.join(HOUSE_BOTS)}")
    return bot
