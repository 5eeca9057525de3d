"""The rule sets of the carpet family, and positions of them, for the tests of the bots."""

from dataclasses import replace

from protocol.cards import SUIT_SIZE, SUITS, fresh_deck, parse_card
from protocol.shuffle import WordStream
from protocol.views import View
from server.bots.deep import Deep
from server.bots.strategy import Strategy
from server.bots.table import Table
from server.race.view import see
from server.rules.carpet import Aces, CarpetPosition, CarpetRules, Refill, Turning
from server.rules.catalogue import RULE_SETS
from server.rules.position import Position

_carpet = RULE_SETS["carpet"]
assert isinstance(_carpet, CarpetRules)
CARPET = _carpet
ACES_IN = replace(CARPET, id="carpet-aces-in", aces=Aces.IN_DECK)
REDEAL = replace(CARPET, id="carpet-redeal", redeals=1)
STRATEGY = replace(CARPET, id="carpet-strategy", visible_stock=3)
FREE = replace(CARPET, id="carpet-free", refill=Refill.FREE)
WHIST = replace(CARPET, id="carpet-whist", aces=Aces.SURFACING, refill=Refill.WASTE_FIRST, turning=Turning.WHEN_STUCK)
ROWS = (CARPET, ACES_IN, REDEAL, STRATEGY, FREE, WHIST)


def deal(rules: CarpetRules, number: int) -> CarpetPosition:
    position = rules.deal(number.to_bytes(32, "big"))
    assert isinstance(position, CarpetPosition)
    return position


def walked(rules: CarpetRules, number: int, plies: int) -> CarpetPosition:
    """The position after this many random moves, or the last one in which the game is not over."""
    words = WordStream(number.to_bytes(32, "big"), b"walked")
    position = deal(rules, number)
    for _ in range(plies):
        moves = position.legal_moves()
        following = position.play(moves[words.below(len(moves))])
        if following.is_over:
            break
        position = following
    return position


def hand_made(carpet: str, waste: str, *, rules: CarpetRules = CARPET, pending: str | None = None, stock: str = "") -> CarpetPosition:
    """Aces home, `carpet` filled up with the highest cards left, and the rest in the stock, `stock` first."""
    lying = [parse_card(text) for text in carpet.split()]
    turned = tuple(parse_card(text) for text in waste.split())
    first = [parse_card(text) for text in stock.split()]
    rest = [card for card in fresh_deck() if card % SUIT_SIZE and card not in (*lying, *turned, *first)]
    rest.sort(key=lambda card: card % SUIT_SIZE)
    size = len(rules.slots) - (pending is not None)
    while len(lying) < size:
        lying.append(rest.pop())
    if pending is not None:
        lying.insert(rules.slots.index(pending), -1)
    heights = (1,) * len(SUITS)
    return CarpetPosition(rules, bytes(32), tuple(lying), turned, (*first, *rest), heights, pending, rules.redeals, sum(heights))


class SimpleRule(Deep):
    """Fills a gap from the waste when the card's rank minus its foundation's count is at most 2 plus the number of gaps."""

    def __init__(self, *, holds_back: bool) -> None:
        super().__init__(0, holds_back=holds_back)

    def fills(self, table: Table, view: View) -> bool:
        card = table.waste[-1]
        return card - table.wanted[card // 16] <= table.gaps + 1


def play_to_the_end(strategy: Strategy, position: Position) -> Position:
    for _ in range(2000):
        if position.is_over:
            break
        position = position.play(strategy.choose(see(position)))
    return position
