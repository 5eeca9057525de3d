"""Small deals of the Carpet family, and every position that can be reached from one: the reference for the solver."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from protocol.cards import SUIT_SIZE
from server.rules.carpet import Aces, CarpetPosition, CarpetRules, Refill, Turning
from server.rules.catalogue import RULE_SETS

_carpet = RULE_SETS["carpet"]
assert isinstance(_carpet, CarpetRules)
CARPET = _carpet
SLOTS = 20


def row(*, refill: Refill, turning: Turning = Turning.ANY_TIME, redeals: int = 0, aces: Aces = Aces.LIFTED) -> CarpetRules:
    """A rule set of the family, in the catalogue or not."""
    return replace(CARPET, id="row", aces=aces, refill=refill, turning=turning, redeals=redeals)


FAMILY = {
    "carpet": row(refill=Refill.CHOICE),
    "carpet-aces-in": row(refill=Refill.CHOICE, aces=Aces.IN_DECK),
    "carpet-redeal": row(refill=Refill.CHOICE, redeals=1),
    "carpet-strategy": replace(row(refill=Refill.CHOICE), visible_stock=3),
    "carpet-free": row(refill=Refill.FREE),
    "carpet-whist": row(refill=Refill.WASTE_FIRST, turning=Turning.WHEN_STUCK, aces=Aces.SURFACING),
}
"""The rule sets of the family, by id."""

ALL_COLUMNS = tuple(
    row(refill=refill, turning=turning, redeals=redeals) for refill, turning, redeals in product(Refill, Turning, (0, 1, 2))
)
"""Every combination of rules that matters after the deal, which leaves out the rule for Aces."""


def small_deal(rules: CarpetRules, choose: Random, *, cards: int) -> CarpetPosition:
    """A position with `cards` (at most 13) cards not home, few suits and few usable slots, so that many cannot be won; some have a waste.
    Under free refill the carpet itself is small, since every gap could be filled; otherwise it has gaps that stay unfilled."""
    heights = [SUIT_SIZE] * 4
    suits = choose.sample(range(4), choose.choice((1, 1, 2, 2, 3, 4)))
    for _ in range(cards):
        heights[choose.choice(suits)] -= 1
    rest = [number * SUIT_SIZE + place for number, height in enumerate(heights) for place in range(height, SUIT_SIZE)]
    choose.shuffle(rest)
    used = choose.choice((1, 1, 2, 2, 3))
    carpet = rest[:used]
    gaps = [-1] * (choose.randint(0, 1) if rules.refill is Refill.FREE else SLOTS - used)
    carpet += gaps
    choose.shuffle(carpet)
    turned = choose.choice((0, 0, 1, 3))
    waste, stock = rest[used : used + turned], rest[used + turned :]
    left = choose.randint(0, rules.redeals)
    return CarpetPosition(rules, choose.randbytes(32), tuple(carpet), tuple(waste), tuple(stock), tuple(heights), None, left, sum(heights))


def played(position: CarpetPosition, moves: Sequence[str]) -> CarpetPosition:
    """The position after these moves, which must all be legal."""
    for move in moves:
        position = position.play(move)
    return position


def walked(position: CarpetPosition, choose: Random, moves: int) -> CarpetPosition:
    """The position after at most this many random moves."""
    for _ in range(moves):
        if position.is_over:
            break
        position = position.play(choose.choice(position.legal_moves()))
    return position


@dataclass(frozen=True)
class Truth:
    """The result of a search through every position."""

    won: bool
    home: int
    positions: int


def truth(position: CarpetPosition) -> Truth:
    """Breadth-first search by the rules alone, leaving out no move. Positions that differ only in their slots count as one."""
    known = {_key(position)}
    waiting = deque([position])
    home, won = position.home, False
    while waiting:
        looked_at = waiting.popleft()
        home, won = max(home, looked_at.home), won or looked_at.is_won
        for after in _after(looked_at):
            key = _key(after)
            if key not in known:
                known.add(key)
                waiting.append(after)
    return Truth(won, home, len(known))


def _after(position: CarpetPosition) -> Iterator[CarpetPosition]:
    return map(position.play, position.legal_moves())


def _key(position: CarpetPosition) -> tuple[object, ...]:
    return tuple(sorted(position.carpet)), position.waste, position.stock, position.heights, position.pending is None, position.redeals_left
