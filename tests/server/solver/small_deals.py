"""Small deals of the Carpet family, and every position that can be reached from one: what the solver is held against."""

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
    """A row of the family, whether the catalogue has it or not."""
    return replace(CARPET, id="row", aces=aces, refill=refill, turning=turning, redeals=redeals)


FAMILY = {
    "carpet": row(refill=Refill.CHOICE),
    "carpet-aces-in": row(refill=Refill.CHOICE, aces=Aces.IN_DECK),
    "carpet-redeal": row(refill=Refill.CHOICE, redeals=1),
    "carpet-strategy": replace(row(refill=Refill.CHOICE), visible_stock=3),
    "carpet-free": row(refill=Refill.FREE),
    "carpet-whist": row(refill=Refill.WASTE_FIRST, turning=Turning.WHEN_STUCK, aces=Aces.SURFACING),
}
"""The rule sets of the family by their columns."""

ALL_COLUMNS = tuple(
    row(refill=refill, turning=turning, redeals=redeals) for refill, turning, redeals in product(Refill, Turning, (0, 1, 2))
)
"""Every way of playing on: what becomes of the Aces is over with the deal."""


def small_deal(rules: CarpetRules, choose: Random, *, cards: int) -> CarpetPosition:
    """A position with `cards` (at most 13) cards not home, of few suits and with few slots to use, so that many cannot be won; it has
    a waste now and then. Under free refill the carpet itself is small, since every gap could be filled; otherwise it has gaps that never
    will be."""
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
    """The position after the moves, each of which has to be legal."""
    for move in moves:
        position = position.play(move)
    return position


def walked(position: CarpetPosition, choose: Random, moves: int) -> CarpetPosition:
    """The position after that many moves at random, or fewer."""
    for _ in range(moves):
        if position.is_over:
            break
        position = position.play(choose.choice(position.legal_moves()))
    return position


@dataclass(frozen=True)
class Truth:
    """What a search through every position says."""

    won: bool
    home: int
    positions: int


def truth(position: CarpetPosition) -> Truth:
    """Breadth first through the rules alone: no move is left out. Positions that differ in slots only are one."""
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
