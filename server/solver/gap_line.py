"""Turns the steps of the game of gaps into moves of the real game, and keeps them few.

Owns the line that gaps.py promises, in which cards held back stand for gaps. Must not know how the plan was found.
"""

from typing import Final

from protocol.cards import DECK_SIZE, SUIT_SIZE, SUITS, Card, suit
from server.rules.carpet import CarpetPosition, Refill
from server.rules.moves import REDEAL, STOCK, WASTE
from server.solver.gaps import GapStep, Plan

_NO_CARD: Final = DECK_SIZE


def say(position: CarpetPosition, plan: Plan) -> tuple[str, ...]:
    """The moves that carry out the plan from the position, and then bring home all cards that were held back."""
    teller = _Teller(position)
    teller.settle()
    index = 0
    while index < len(plan):
        index += teller.make(plan[index], plan[index + 1] if index + 1 < len(plan) else None)
        teller.settle()
    teller.play_held()
    return tuple(teller.moves)


class _Teller:
    """Keeps the real position, and the heights of the foundations in the game of gaps: the cards in between are held back."""

    def __init__(self, position: CarpetPosition) -> None:
        self.moves: list[str] = []
        self._position = position
        self._heights = list(position.heights)
        self._holds = position.rules.refill is not Refill.FREE
        self._slots = position.rules.slots

    def settle(self) -> None:
        """In the game of gaps, bring home everything that can go."""
        number = done = 0
        while done < len(SUITS):
            if self._settle_one(number):
                done = 0
            else:
                done += 1
                number = (number + 1) % len(SUITS)

    def make(self, step: GapStep, following: GapStep | None) -> int:
        """Make a step of the plan. Returns the number of steps made: 2 if the next one was done along with it."""
        match step:
            case GapStep.TURN:
                return self._turn(following)
            case GapStep.PLAY:
                self._play_waste(suit(self._position.waste[-1]))
            case GapStep.FILL:
                self._fill()
            case GapStep.REDEAL:
                self._play(REDEAL)
        return 1

    def play_held(self) -> None:
        """Play the cards held back; it no longer matters what fills their slots."""
        while (held := self._any_held()) is not None:
            self._play_home(held, refill=WASTE)

    def _settle_one(self, number: int) -> bool:
        """Bring home a suit's wanted card, if it can go."""
        position = self._position
        card = self._wanted(number)
        if card in position.carpet:
            if not self._holds:
                self._play_home(card, refill=WASTE)
            self._heights[number] += 1
            return True
        if not position.redeals_left and position.waste and position.waste[-1] == card:
            self._play_waste(number)
            return True
        return False

    def _play_waste(self, number: int) -> None:
        """In the game of gaps, play the waste's top, of suit `number`, home."""
        if self._position.heights[number] == self._heights[number]:
            self._play(WASTE)
        else:
            self._play_home(self._lowest_held(number), refill=WASTE)
        self._heights[number] += 1

    def _turn(self, following: GapStep | None) -> int:
        """Turn a card: straight into the slot of a card held back, if that saves a move."""
        position = self._position
        card = position.stock[0]
        number = suit(card)
        goes_home = self._wanted(number) == card and (not position.redeals_left or following is GapStep.PLAY)
        held: Card | None = None
        if self._holds and (position.rules.refill is Refill.CHOICE or not position.waste):
            if goes_home and position.heights[number] < self._heights[number]:
                held = self._lowest_held(number)
            elif (not position.waste) if goes_home else following is GapStep.FILL:
                held = self._any_held()
        if held is None:
            self._play(STOCK)
            return 1
        self._play_home(held, refill=STOCK)
        # A card that goes home without a step of its own is left to `settle`.
        return 1 if goes_home and not position.redeals_left else 2

    def _fill(self) -> None:
        if self._holds:
            held = self._any_held()
            assert held is not None, "the plan fills a gap, so there is a card held back for it"
            self._play_home(held, refill=WASTE)
        else:
            self._play(f"{WASTE}:{self._slots[self._position.carpet.index(-1)]}")

    def _play_home(self, card: Card, *, refill: str) -> None:
        slot = self._slots[self._position.carpet.index(card)]
        self._play(slot)
        if self._position.pending is not None:
            self._play(f"{refill}:{slot}")

    def _any_held(self) -> Card | None:
        """The lowest card held back, of a suit with the fewest: a suit that holds none back can play the waste's top in one move."""
        held = [
            (high - low, number * SUIT_SIZE + low)
            for number, (low, high) in enumerate(zip(self._position.heights, self._heights, strict=True))
            if low < high
        ]
        return min(held)[1] if held else None

    def _lowest_held(self, number: int) -> Card:
        return number * SUIT_SIZE + self._position.heights[number]

    def _wanted(self, number: int) -> Card:
        """The suit's card wanted next in the game of gaps; _NO_CARD if all are home."""
        height = self._heights[number]
        return number * SUIT_SIZE + height if height < SUIT_SIZE else _NO_CARD

    def _play(self, move: str) -> None:
        self.moves.append(move)
        self._position = self._position.play_unchecked(move)
