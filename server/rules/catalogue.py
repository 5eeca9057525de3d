"""The catalogue: every rule set that can be played, in the order in which players are shown them.

Owns the rows. Must not know how any of them is played: that is the business of a family's engine.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from server.rules.carpet import Aces, CarpetRules, Refill, Turning
from server.rules.position import Difficulty, RuleSet

__all__ = ["RULE_SETS", "RuleSet", "UnknownRules", "rule_set"]


class UnknownRules(LookupError):
    """No rule set has this id."""

    def __init__(self, rules_id: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no rule set {rules_id!r}; there are: {', '.join(known)}")
        self.rules_id = rules_id
        self.known = known


_ROWS: Final[tuple[RuleSet, ...]] = (
    CarpetRules(
        id="carpet",
        name="Carpet",
        explanation=(
            "The four Aces lie ready as foundations, and twenty cards face up as a carpet of four rows of five. Build "
            "each foundation up in suit from Ace to King, with cards from the carpet and the top card of the waste. "
            "A gap in the carpet is filled at once: you choose between the top of the waste and the next card of the "
            "stock, unseen. You may turn the next stock card onto the waste at any time, but there is no second deal: "
            "what gets buried in the waste comes out only from the top."
        ),
        source="How to Play, base game",
        difficulty=Difficulty.MODERATE,
        aces=Aces.LIFTED,
        refill=Refill.CHOICE,
        turning=Turning.ANY_TIME,
    ),
)

RULE_SETS: Final[Mapping[str, RuleSet]] = MappingProxyType({row.id: row for row in _ROWS})


def rule_set(rules_id: str) -> RuleSet:
    """The row with this id; UnknownRules, which lists the ids there are, otherwise."""
    row = RULE_SETS.get(rules_id)
    if row is None:
        raise UnknownRules(rules_id, tuple(RULE_SETS))
    return row
