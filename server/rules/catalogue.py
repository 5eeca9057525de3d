"""The catalogue: every rule set that can be played, in the order in which players are shown them.

Owns the rows. Must not know how any of them is played: the families' engines do.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from protocol.views import RulesInfo
from server.rules.carpet import Aces, CarpetRules, Refill, Turning
from server.rules.position import Difficulty, RuleSet
from server.rules.quilt import QuiltRules, Redealing
from server.rules.twin import StockTurn, TwinRules
from server.rules.weave import Clear


class UnknownRules(LookupError):
    """No rule set has this id. Says which ids there are."""


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
        difficulty=Difficulty.EASY,
        solvable=True,
    ),
    CarpetRules(
        id="carpet-aces-in",
        name="Carpet, Aces in the deck",
        explanation=(
            "Carpet with nothing laid out for you: the Aces are shuffled in, twenty cards make the carpet of four rows "
            "of five, and each foundation waits until its Ace turns up. Then build it up in suit to the King, with cards "
            "from the carpet and the top card of the waste. Fill each gap at once from the waste or, unseen, from the "
            "stock, and turn the stock once through. An Ace deep in the stock holds up its whole suit."
        ),
        source="How to Play, Aces-in-deck",
        difficulty=Difficulty.MODERATE,
        solvable=True,
        aces=Aces.IN_DECK,
    ),
    CarpetRules(
        id="carpet-redeal",
        name="Carpet with redeal",
        explanation=(
            "Carpet with a second chance: the Aces lie ready, twenty cards make the carpet, and the foundations are "
            "built up in suit to the King from the carpet and the top of the waste. Fill each gap at once from the waste "
            "or, unseen, from the stock. When the stock is used up, you may shuffle the waste once and deal it again, so "
            "little stays buried and speed decides."
        ),
        source="How to Play, Carpet with redeal",
        difficulty=Difficulty.EASY,
        solvable=True,
        redeals=1,
    ),
    CarpetRules(
        id="carpet-strategy",
        name="Carpet, strategy stock",
        explanation=(
            "Carpet with a look ahead: the next three cards of the stock lie open. The Aces are ready, twenty cards make "
            "the carpet, and the foundations are built up in suit to the King from the carpet and the top of the waste. "
            "When you fill a gap you know what the stock would bring and what it would bring after that, so plan: which "
            "card must not be buried, and which gap can wait for it?"
        ),
        source="How to Play, Strategy stock",
        difficulty=Difficulty.EASY,
        solvable=True,
        visible_stock=3,
    ),
    CarpetRules(
        id="carpet-free",
        name="Carpet, free gaps",
        explanation=(
            "Carpet in which a gap may wait: the Aces lie ready, twenty cards make the carpet, and the foundations are "
            "built up in suit to the King from the carpet and the top of the waste. You fill a gap from the waste "
            "whenever you like, or never; the stock is only turned onto the waste, once through. Open gaps are your "
            "room to dig a card out of the waste, so do not fill them without need. After Till Dawn by Semicolon "
            "Software."
        ),
        source="Till Dawn (Semicolon Software)",
        difficulty=Difficulty.EASY,
        solvable=True,
        refill=Refill.FREE,
    ),
    CarpetRules(
        id="carpet-whist",
        name="Whist-pack Carpet",
        explanation=(
            "The strict carpet for a single pack. While the twenty cards are laid out, each Ace that turns up goes "
            "straight to its foundation; the other Aces are played when they come. Build up in suit to the King. A gap is "
            "filled for you, from the waste as long as it has a card, else from the stock, and you may turn the stock "
            "only when nothing can go home. There is little to decide but the order of the cards, so it is a race of "
            "eyes and fingers."
        ),
        source="Whist pack, chapter 4",
        difficulty=Difficulty.MODERATE,
        solvable=True,
        aces=Aces.SURFACING,
        refill=Refill.WASTE_FIRST,
        turning=Turning.WHEN_STUCK,
    ),
    TwinRules(
        id="colorado",
        name="Colorado",
        explanation=(
            "Two packs. For each suit an Ace lies ready to be built up to the King, and a King to be built down to the "
            "Ace. Twenty piles start with one card each. Turn the stock one card at a time: the card goes to a foundation "
            "or onto any pile you like, and only then comes the next. Only the top of a pile can be played, only to a "
            "foundation, and there is no second deal, so everything hangs on what you bury under what. A classical "
            "patience."
        ),
        source="How to Play, Colorado",
        # Random play wins none, but laying each card where it buries only later-wanted cards wins one in seven, without looking ahead.
        difficulty=Difficulty.MODERATE,
        columns=10,
        rows=2,
        turning=StockTurn.ONE,
        refilled=False,
        spread=False,
    ),
    TwinRules(
        id="twenty",
        name="Twenty",
        explanation=(
            "Two packs. For each suit an Ace lies ready to be built up to the King, and a King to be built down to the "
            "Ace. Play from the tops of twenty piles; an emptied pile gets the next card of the stock at once. When you "
            "can or will not go on, deal: one card falls on every pile, and buries what lay there. Once the stock is used "
            "up, a top card may move to an empty pile, which is how the last knots come undone. A classical patience."
        ),
        source="How to Play, Twenty",
        difficulty=Difficulty.HARD,
        solvable=True,
        columns=5,
        rows=4,
        turning=StockTurn.ROW,
        refilled=True,
        spread=True,
    ),
    QuiltRules(
        id="crazy-quilt",
        name="Crazy Quilt",
        explanation=(
            "Two packs. Sixty-four cards are woven into a quilt of eight by eight, upright and sideways by turns; a card "
            "can be taken when one of its narrow ends touches no other card. For each suit build one foundation up from "
            "the Ace and one down from the King, from the quilt and the waste. A free card of the quilt may also go onto "
            "the waste, on its neighbour in suit, which unravels the quilt but fills the waste. Turn the stock card by "
            "card; the waste is turned over once, unshuffled."
        ),
        source="Crazy Quilt, encyclopedia article",
        difficulty=Difficulty.HARD,
        redeals=1,
    ),
    QuiltRules(
        id="indian-carpet",
        name="Indian Carpet",
        explanation=(
            "Crazy Quilt with one more redeal. Sixty-four cards of two packs are woven into a quilt; one can be taken "
            "when one of its narrow ends touches no other card. For each suit build one foundation up from the Ace and "
            "one down from the King, from the quilt and the waste. A free card may also go onto the waste, on its "
            "neighbour in suit. Turn the stock card by card; the waste is turned over twice, unshuffled, so you know in "
            "which order what you lay there comes back."
        ),
        source="Crazy Quilt, encyclopedia article: Indian Carpet",
        difficulty=Difficulty.MODERATE,
        solvable=True,
        redeals=2,
    ),
    QuiltRules(
        id="teppich",
        name="Teppich",
        explanation=(
            "The strictest of the quilts. Sixty-four cards lie upright and sideways by "
            "turns; one can be taken only when a clear lane leads from one of its narrow ends straight to the edge. "
            "For each suit build one foundation up from the Ace and one down from the King, from the quilt and "
            "the waste. A free card may also go onto the waste, on its neighbour in suit. Turn the stock card by card; "
            "the waste is shuffled and dealt again twice. The middle comes out late, so open lanes with care."
        ),
        source="Teppich",
        difficulty=Difficulty.HARD,
        redeals=2,
        clear=Clear.LANE,
        redealing=Redealing.SHUFFLED,
    ),
    QuiltRules(
        id="persian-rug",
        name="Persian Rug",
        explanation=(
            "Crazy Quilt with every card in sight. Sixty-four cards of two packs are woven into a quilt; one can be taken "
            "when one of its narrow ends touches no other card. The others lie in eight reserves of four. For each suit "
            "build one foundation up from the Ace and one down from the King, or build on a reserve's top, in suit, up or "
            "down; an empty reserve takes any card. No stock, no luck after the deal. Cards can go round in circles, so "
            "2,000 moves are the limit."
        ),
        source="Crazy Quilt, encyclopedia article: Persian Rug",
        difficulty=Difficulty.MODERATE,
        solvable=True,
        reserves=8,
        move_limit=2000,
    ),
)

RULE_SETS: Final[Mapping[str, RuleSet]] = MappingProxyType({row.id: row for row in _ROWS})


def rule_set(rules_id: str) -> RuleSet:
    """The row with this id; raises UnknownRules if there is none."""
    row = RULE_SETS.get(rules_id)
    if row is None:
        raise UnknownRules(f"no rule set {rules_id!r}; there are: {', '.join(RULE_SETS)}")
    return row


def describe(row: RuleSet) -> RulesInfo:
    """The row as clients are told of it: what they need to explain the game and draw its board."""
    return msgspec.convert(row, RulesInfo, from_attributes=True)
