"""Carpet as a game of gaps: the small game that most of the family comes down to once every card is known.

Owns that game's states and steps, and why it stands for the real one. Must not know how it is searched (gap_search.py)
nor how its steps are said as moves (gap_line.py).

The game of gaps is Carpet with free refill in which every carpet card that can go home goes at once. Four steps are left: turn
the next stock card, play the waste's top home, put it into a gap, redeal.

*A card that can go home may go at once* (free refill, no redeal to come). Take any line from a position in which card c can go
home. Play c now and then the same line without c's later move, and, if c was the waste's top and the line put it into a gap,
without that move too. Every move of it stays legal: the foundations are at least as high, the gaps at least as many,
and cards that the line puts on top of c, or takes from under it, lie and go as before. The line got no longer and
brings home no less. By the same argument a stock card that can go home is best turned at once.

*With a redeal to come that holds for the carpet alone.* The redeal shuffles the waste by what lies in it, and one card less is another
shuffle: so whether the waste's top goes home, and when, is a choice until the last redeal has been made.

*Turning makes no difference under free refill*, but for that choice: whoever plays all that can go home is stuck whenever
they turn, so under WHEN_STUCK only turning a card onto one that could have gone home is forbidden.

*Refill.CHOICE and Refill.WASTE_FIRST with Turning.ANY_TIME win the same deals and bring home as many cards.*
A playable card that is left lying is a gap in waiting. Follow a line of the game of gaps in the real game, with the same
stock and waste, and each gap taken up by a card that is held back, home in the game of gaps:
- a carpet card goes home: hold it back instead; there is one more gap, and one more card held back;
- a gap is filled: play a card held back (the lowest of some suit can always go), and refill its slot from the waste;
- the waste's top is played: if no card of its suit is held back it goes home here too; otherwise play the lowest of
  them, refill its slot from the waste, and hold back the card that came from there;
- turning and redealing are the same here and there, and nothing is pending when they are done.
Only refills from the waste are needed, of which both kinds of Refill allow any. At the end the cards held back go home one
after another, whatever then fills their slots. The other way round is plain: a refill from the waste is a fill, one from the
stock is a turn and a fill, and a card held back has only not gone home yet.
So only WHEN_STUCK without free refill is another game: see carpet_tree.py.

A gap that is there from the start is never filled unless refill is free: such slots do not count.

How a state is written. The waste is always part of the stock as it was at the start of the *round* (the cards from one redeal to
the next; waste and stock at the start count as one list), in order. So a state is three numbers:
- place: bit i for each of the first i cards still in the waste, and a bit above them all at i, the number of cards turned; the
  round's number is kept above bit 64;
- carpet, the cards lying there, and wanted, the next card of each suit, a bit a card. A suit has 14 bits, so that what follows a
  King is no card, and adding cards that go home to `wanted` makes it the cards wanted after them.
The place alone tells states apart: what is not in the stock or the waste is on the carpet or home, and every carpet card that
can go home has gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from protocol.cards import DECK_SIZE, SUIT_SIZE, SUITS, Card, rank, suit
from protocol.shuffle import redeal_label, shuffle
from server.rules.carpet import CarpetPosition, Refill, Turning

_SUIT_BITS: Final = SUIT_SIZE + 1
_NOTHING_HOME: Final = sum(1 << number * _SUIT_BITS for number in range(len(SUITS)))
ALL_HOME: Final = _NOTHING_HOME << SUIT_SIZE
"""`wanted` when every card is home."""

_ROUND_SHIFT: Final = 64
_PLACE: Final = (1 << _ROUND_SHIFT) - 1

State: TypeAlias = tuple[int, int, int]
"""place, carpet, wanted"""


class GapStep(Enum):
    """A step of the game of gaps."""

    TURN = auto()
    PLAY = auto()
    """The waste's top goes home; no step of its own once no redeal is left, for then it goes at once."""
    FILL = auto()
    REDEAL = auto()


Plan: TypeAlias = tuple[GapStep, ...]


def is_game_of_gaps(position: CarpetPosition, *, once_refilled: bool = False) -> bool:
    """Whether the game of gaps stands for this position, or will once its pending gap is refilled."""
    rules = position.rules
    return (once_refilled or position.pending is None) and (rules.refill is Refill.FREE or rules.turning is Turning.ANY_TIME)


def _bit(card: Card) -> int:
    return 1 << suit(card) * _SUIT_BITS + rank(card) - 1


_LOWER: Final = {_bit(card): sum(map(_bit, range(card - rank(card) + 1, card))) for card in range(DECK_SIZE)}
"""The lower cards of a card's suit, by the card's bit."""


@dataclass(frozen=True, slots=True)
class _Round:
    """The cards between one redeal and the next, first turned first."""

    cards: tuple[Card, ...]
    bits: tuple[int, ...]
    turned: tuple[int, ...]
    """turned[i]: the first i cards, as bits."""
    base: int
    """The round's part of a place."""
    redeals_left: int

    @classmethod
    def of(cls, cards: tuple[Card, ...], *, number: int, redeals_left: int) -> "_Round":
        bits = tuple(map(_bit, cards))
        turned = tuple(sum(bits[:count]) for count in range(len(bits) + 1))
        return cls(cards, bits, turned, number << _ROUND_SHIFT, redeals_left)


class GapGame:
    """The game of gaps from one position. Keeps the rounds that redeals lead to; everything else is in the states."""

    def __init__(self, position: CarpetPosition) -> None:
        self._rules = position.rules
        self._seed = position.seed
        on_carpet = [card for card in position.carpet if card >= 0]
        self._slots = len(position.carpet) if position.rules.refill is Refill.FREE else len(on_carpet)
        first = _Round.of(position.waste + position.stock, number=0, redeals_left=position.redeals_left)
        self._rounds = [first]
        self._round_of: dict[tuple[int, tuple[Card, ...]], _Round] = {}
        # Under WHEN_STUCK no card may be turned onto one that can go home.
        self._may_cover = position.rules.turning is Turning.ANY_TIME
        self.start: State = _settled(
            first,
            len(position.waste),
            (1 << len(position.waste)) - 1,
            sum(map(_bit, on_carpet)),
            sum(1 << number * _SUIT_BITS + height for number, height in enumerate(position.heights)),
        )

    def choices(self, state: State) -> list[State]:
        """The states to go on with, the most promising last.

        A step is left out where another is as good while no redeal is made; and what only can be done in one way, or could not end in
        another card home, is not told apart: the state after several turns in a row may follow at once, or none at all.
        """
        current, turned, waste = self._read(state)
        _, carpet, wanted = state
        stock_size = len(current.bits)
        gaps = self._slots - carpet.bit_count()
        wanted_later = wanted & ~current.turned[turned]
        if current.redeals_left:
            if waste and current.bits[waste.bit_length() - 1] & wanted:
                return [_taken(current, turned, waste, carpet, wanted)]
        elif not wanted_later & current.turned[stock_size]:
            # The next card that goes home comes from the waste: what has to be turned can be turned after it.
            return [_taken(current, turned, waste, carpet, wanted)] if _can_reach(current, waste, wanted, gaps) else []
        found: list[State] = []
        if turned < stock_size:
            if not gaps:
                while turned + 1 < stock_size and not current.bits[turned] & wanted:
                    waste |= 1 << turned
                    turned += 1
            found.append(_turned(current, turned, waste, carpet, wanted))
            if current.bits[turned] & wanted:
                return found
        elif waste and current.redeals_left:
            found.append(self._redealt(current, waste, carpet, wanted))
        if waste and gaps:
            found.append(_taken(current, turned, waste, carpet, wanted))
        return found

    def reluctant_choices(self, state: State) -> list[State]:
        """The states one step on that are only worth a look for the sake of the redeal they lead to."""
        current, turned, waste = self._read(state)
        if not current.redeals_left or not waste:
            return []
        _, carpet, wanted = state
        if current.bits[waste.bit_length() - 1] & wanted:
            if turned == len(current.bits):
                return [self._redealt(current, waste, carpet, wanted)]
            return [_turned(current, turned, waste, carpet, wanted)] if self._may_cover else []
        if turned < len(current.bits) and current.bits[turned] & wanted and carpet.bit_count() < self._slots:
            return [_taken(current, turned, waste, carpet, wanted)]
        return []

    def step(self, state: State, step: GapStep) -> State | None:
        """The state after a step; None where it cannot be made."""
        current, turned, waste = self._read(state)
        _, carpet, wanted = state
        if step is GapStep.TURN:
            return _turned(current, turned, waste, carpet, wanted) if turned < len(current.bits) else None
        if not waste:
            return None
        if step is GapStep.REDEAL:
            return self._redealt(current, waste, carpet, wanted) if turned == len(current.bits) and current.redeals_left else None
        goes_home = current.bits[waste.bit_length() - 1] & wanted != 0
        can_be_taken = goes_home if step is GapStep.PLAY else not goes_home and carpet.bit_count() < self._slots
        return _taken(current, turned, waste, carpet, wanted) if can_be_taken else None

    def steps_between(self, before: State, after: int) -> Plan:
        """Which steps lead from a state to the place of one that is a choice from it: more than one only of Step.TURN."""
        current, turned, waste = self._read(before)
        if after & ~_PLACE != current.base:
            return (GapStep.REDEAL,)
        turned_after = (after & _PLACE).bit_length() - 1
        if turned_after > turned:
            return (GapStep.TURN,) * (turned_after - turned)
        return (GapStep.PLAY if current.bits[waste.bit_length() - 1] & before[2] else GapStep.FILL,)

    def cost(self, before: State, after: int) -> int:
        """Moves from a state to a next one's place, beyond bringing each card home and turning each of the first stock once."""
        match self.steps_between(before, after)[0]:
            case GapStep.FILL:
                return 1
            case GapStep.REDEAL:
                return 1 + self._read(before)[2].bit_count()
            case GapStep.TURN | GapStep.PLAY:
                return 0

    def plan(self, places: Sequence[int]) -> Plan:
        """The steps of a line of places, the first of which is that of the start."""
        state = self.start
        steps: list[GapStep] = []
        for place in places[1:]:
            for step in self.steps_between(state, place):
                state = self._made(state, step)
                steps.append(step)
        return tuple(steps)

    def cost_of(self, plan: Plan) -> int:
        """The cost of all steps of a plan."""
        state = self.start
        cost = 0
        for step in plan:
            after = self._made(state, step)
            cost += self.cost(state, after[0])
            state = after
        return cost

    def _made(self, state: State, step: GapStep) -> State:
        after = self.step(state, step)
        assert after is not None, f"{step} cannot be made"
        return after

    def follow(self, steps: Sequence[GapStep]) -> Plan | None:
        """The steps without those that cannot be made; None unless they bring all cards home."""
        state = self.start
        made: list[GapStep] = []
        for step in steps:
            after = self.step(state, step)
            if after is not None:
                state = after
                made.append(step)
        return tuple(made) if state[2] == ALL_HOME else None

    def blocking(self, state: State) -> int:
        """How many cards of the waste lie over a lower one of their suit: each has to be put into a gap, or be redealt."""
        current, _, waste = self._read(state)
        under = count = 0
        while waste:
            bit = waste & -waste
            waste ^= bit
            card = current.bits[bit.bit_length() - 1]
            count += under & _LOWER[card] != 0
            under |= card
        return count

    def to_turn(self, state: State) -> int:
        """How many cards of the stock are left."""
        current, turned, _ = self._read(state)
        return len(current.bits) - turned

    def is_fresh(self, state: State) -> bool:
        """Whether a redeal has just been made."""
        return state[0] > _PLACE and state[0] & _PLACE == 1

    def _read(self, state: State) -> tuple[_Round, int, int]:
        """The round, how many of its cards are turned, and which of them are in the waste."""
        place = state[0]
        current = self._rounds[place >> _ROUND_SHIFT]
        place &= _PLACE
        turned = place.bit_length() - 1
        return current, turned, place ^ 1 << turned

    def _redealt(self, current: _Round, waste: int, carpet: int, wanted: int) -> State:
        cards = tuple(card for index, card in enumerate(current.cards) if waste >> index & 1)
        known = self._round_of.get((current.redeals_left, cards))
        if known is None:
            label = redeal_label(self._rules.redeals - current.redeals_left + 1)
            stock = shuffle(cards, self._seed, label)
            known = _Round.of(stock, number=len(self._rounds), redeals_left=current.redeals_left - 1)
            self._rounds.append(known)
            self._round_of[current.redeals_left, cards] = known
        return known.base | 1, carpet, wanted


def home_count(state: State) -> int:
    """Cards on the foundations."""
    return (state[2] - _NOTHING_HOME).bit_count()


def _turned(current: _Round, turned: int, waste: int, carpet: int, wanted: int) -> State:
    if current.bits[turned] & wanted:
        return _settled(current, turned + 1, waste | 1 << turned, carpet, wanted)
    return current.base | waste | 3 << turned, carpet, wanted


def _taken(current: _Round, turned: int, waste: int, carpet: int, wanted: int) -> State:
    """The waste's top is taken away, home or into a gap: the carpet is where it goes, and from there home at once."""
    top = waste.bit_length() - 1
    return _settled(current, turned, waste ^ 1 << top, carpet | current.bits[top], wanted)


def _can_reach(current: _Round, waste: int, wanted: int, gaps: int) -> bool:
    """Whether a wanted card lies in the waste with no more cards on it than there are gaps."""
    for _ in range(gaps + 1):
        if not waste:
            return False
        top = waste.bit_length() - 1
        if current.bits[top] & wanted:
            return True
        waste ^= 1 << top
    return False


def _settled(current: _Round, turned: int, waste: int, carpet: int, wanted: int) -> State:
    """The state when all has gone home that goes at once."""
    bits = current.bits
    while True:
        while going := carpet & wanted:
            carpet ^= going
            wanted += going
        if not waste or current.redeals_left:
            break
        top = waste.bit_length() - 1
        if not bits[top] & wanted:
            break
        wanted += bits[top]
        waste ^= 1 << top
    return current.base | waste | 1 << turned, carpet, wanted
