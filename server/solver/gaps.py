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

*Two fills need not be tried*, where no redeal is to come. In both cases another line follows the one with the fill (or without), step
by step, and has no fewer cards home, no more on the carpet and the rest of the waste in the same order:
- a card put into a gap before the next turn, with nothing going home for it, while a lower one of its suit lies further down in the
  waste. It cannot go home before that one is dug up, so it may as well stay where it is until then and be put into a gap on the way;
- anything else, where putting the waste's topmost cards into gaps sends so many home that the carpet has as many gaps as before. The
  cards that went home for it lay under the others or waited for one that did, so no line sends any of them home, or has its slot,
  before those others are out of the waste too.

How a state is written. The waste is always part of the stock as it was at the start of the *round* (the cards from one redeal to
the next; waste and stock at the start count as one list), in order. So a state is three numbers:
- place: bit i for each of the first i cards still in the waste, and a bit above them all at i, the number of cards turned; the
  round's number is kept above bit 64;
- carpet, the cards lying there, and wanted, the next card of each suit, a bit a card. A suit has 14 bits, so that what follows a
  King is no card, and adding cards that go home to `wanted` makes it the cards wanted after them.
The place alone tells states apart: what is not in the stock or the waste is on the carpet or home, and every carpet card that
can go home has gone.

A round that a redeal can follow has a twin, the same round played *in haste*: as though no redeal were left, so that the waste's top, too,
goes home at once. What is reached in haste can be reached, but not all that can.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate, pairwise
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


# Looked up a thousand times a deal: through the class it takes four times as long.
_TURN, _PLAY, _FILL, _REDEAL = GapStep

Plan: TypeAlias = tuple[GapStep, ...]


def is_game_of_gaps(position: CarpetPosition, *, once_refilled: bool = False) -> bool:
    """Whether the game of gaps stands for this position, or will once its pending gap is refilled."""
    rules = position.rules
    return (once_refilled or position.pending is None) and (rules.refill is Refill.FREE or rules.turning is Turning.ANY_TIME)


_BIT: Final = tuple(1 << suit(card) * _SUIT_BITS + rank(card) - 1 for card in range(DECK_SIZE))
_LOWER: Final = {_BIT[card]: sum(_BIT[card - rank(card) + 1 : card]) for card in range(DECK_SIZE)}
"""The lower cards of a card's suit, by the card's bit."""


@dataclass(frozen=True, slots=True)
class _Round:
    """The cards between one redeal and the next, first turned first."""

    cards: tuple[Card, ...]
    bits: tuple[int, ...]
    turned: tuple[int, ...]
    """turned[i]: the first i cards, as bits."""
    base: int
    """The round's part of a place: its number in the game's list, in which its twin is next to it."""
    redeals_left: int
    haste: bool
    """No redeal is left, or it is played as though none were."""


class GapGame:
    """The game of gaps from one position. Keeps the rounds that redeals lead to; everything else is in the states."""

    def __init__(self, position: CarpetPosition) -> None:
        self._rules = position.rules
        self._seed = position.seed
        self.has_redeals = position.redeals_left > 0
        on_carpet = [card for card in position.carpet if card >= 0]
        self._slots = len(position.carpet) if position.rules.refill is Refill.FREE else len(on_carpet)
        self._rounds: list[_Round] = []
        self._round_of: dict[tuple[int, tuple[Card, ...]], _Round] = {}
        # Under WHEN_STUCK no card may be turned onto one that can go home.
        self._may_cover = position.rules.turning is Turning.ANY_TIME
        self.start: State = _settled(
            self._add_round(position.waste + position.stock, position.redeals_left),
            len(position.waste),
            (1 << len(position.waste)) - 1,
            sum(map(_BIT.__getitem__, on_carpet)),
            sum(1 << number * _SUIT_BITS + height for number, height in enumerate(position.heights)),
        )

    def hastened(self, state: State) -> State:
        """The state as it is in haste; the same one where no redeal is left."""
        current, turned, waste = self._read(state)
        return state if current.haste else _settled(self._rounds[(state[0] >> _ROUND_SHIFT) + 1], turned, waste, *state[1:])

    def choices(self, state: State) -> list[State]:
        """The states to go on with without a redeal, the most promising last; several steps on where nothing else is to be done between.

        A step is left out where another is as good while no redeal is made, and where no more cards can go home without one. Fills that
        leave as many gaps as there were are made, and nothing else is tried.
        """
        current, turned, waste = self._read(state)
        _, carpet, wanted = state
        gaps = self._slots - carpet.bit_count()
        if not current.haste:
            return _choices_before_redeal(current, turned, waste, carpet, wanted, gaps=gaps)
        bits, seen = current.bits, current.turned
        # Without one the next card that goes home comes from the waste: what has to be turned can be turned after it.
        to_come = seen[-1] & ~seen[turned] & wanted
        found: list[State] = []
        if to_come:
            while not gaps and not bits[turned] & wanted:
                waste |= 1 << turned
                turned += 1
            found.append(_turned(current, turned, waste, carpet, wanted))
            if bits[turned] & wanted:
                return found
        in_waste = seen[turned] & ~(carpet | wanted - _NOTHING_HOME)
        filled = carpet
        while gaps and waste:
            top = waste.bit_length() - 1
            card = bits[top]
            waste ^= 1 << top
            filled |= card
            gaps -= 1
            if bits[waste.bit_length() - 1] & wanted and waste:
                after = _settled(current, turned, waste, filled, wanted)
                if after[1].bit_count() <= carpet.bit_count():
                    return [after]
                found.append(after)
                break
            in_waste ^= card
            if to_come and not in_waste & _LOWER[card]:
                found.append((current.base | waste | 3 << turned, filled, wanted))
        return found

    def reluctant_choices(self, state: State) -> list[State]:
        """The states one step on that are only worth a look for the sake of the redeal they lead to."""
        current, turned, waste = self._read(state)
        if current.haste or not waste:
            return []
        _, carpet, wanted = state
        if current.bits[waste.bit_length() - 1] & wanted:
            return [_turned(current, turned, waste, carpet, wanted)] if self._may_cover and turned < len(current.bits) else []
        if turned < len(current.bits) and current.bits[turned] & wanted and carpet.bit_count() < self._slots:
            return [_taken(current, turned, waste, carpet, wanted)]
        return []

    def redeal_size(self, state: State) -> int:
        """How many cards a redeal would shuffle; 0 where none can be made. In haste it comes once no card of the stock is wanted."""
        current, turned, waste = self._read(state)
        to_turn = current.turned[-1] & ~current.turned[turned]
        if not current.redeals_left or (to_turn & state[2] if current.haste else to_turn):
            return 0
        return waste.bit_count() + to_turn.bit_count()

    def redealt(self, state: State) -> State:
        """The state after a redeal, where one can be made."""
        current, turned, waste = self._read(state)
        cards = tuple(card for index, card in enumerate(current.cards) if index >= turned or waste >> index & 1)
        known = self._round_of.get((current.redeals_left, cards))
        if known is None:
            stock = shuffle(cards, self._seed, redeal_label(self._rules.redeals - current.redeals_left + 1))
            known = self._round_of[current.redeals_left, cards] = self._add_round(stock, current.redeals_left - 1)
        return known.base | 1, state[1], state[2]

    def follow(self, state: State, steps: Iterable[GapStep]) -> tuple[State, Plan]:
        """The state after those of the steps that can be made, one after another, and which they were."""
        made: list[GapStep] = []
        current, turned, waste = self._read(state)
        bits, (_, carpet, wanted) = current.bits, state
        for step in steps:
            if step is _TURN:
                if turned == len(bits):
                    continue
                going = bits[turned] & wanted
                waste |= 1 << turned
                turned += 1
            elif step is _REDEAL:
                before = current.base | waste | 1 << turned, carpet, wanted
                if not self.redeal_size(before):
                    continue
                current, turned, waste = self._read(self.redealt(before))
                bits, going = current.bits, 0
            elif not waste:
                continue
            else:
                card = bits[waste.bit_length() - 1]
                if (card & wanted == 0) is (step is _PLAY) or (step is _FILL and carpet.bit_count() == self._slots):
                    continue
                waste ^= 1 << waste.bit_length() - 1
                carpet |= card
                going = (card | bits[waste.bit_length() - 1]) & wanted
            if going:
                place, carpet, wanted = _settled(current, turned, waste, carpet, wanted)
                waste = place & _PLACE ^ 1 << turned
            made.append(step)
        return (current.base | waste | 1 << turned, carpet, wanted), tuple(made)

    def steps_between(self, before: State, after: State) -> Plan:
        """The steps from a state to one that is a choice from it, is dealt anew from it, or is the same in haste."""
        current, turned, waste = self._read(before)
        following, turned_after, waste_after = self._read(after)
        if following.redeals_left < current.redeals_left:
            return (_TURN,) * (len(current.bits) - turned) + (_REDEAL,)
        turns = turned_after - turned
        fills = 0
        if not turns:
            # Cards are put into gaps until one goes home, or but one where that is a choice.
            while waste != waste_after and not current.bits[waste.bit_length() - 1] & before[2]:
                waste ^= 1 << waste.bit_length() - 1
                fills += 1
        elif not current.bits[turned_after - 1] & before[2]:
            under = waste_after & (1 << turned) - 1
            fills = waste.bit_count() - under.bit_count()
            waste = under
        steps = (_FILL,) * fills + (_TURN,) * turns
        return steps + (_PLAY,) * (waste.bit_count() + turns - waste_after.bit_count()) if current.redeals_left else steps

    def plan(self, line: Sequence[State]) -> Plan:
        """The steps of a line of states, each of which leads to the next one."""
        return tuple(step for before, after in pairwise(line) for step in self.steps_between(before, after))

    def _read(self, state: State) -> tuple[_Round, int, int]:
        """The round, how many of its cards are turned, and which of them are in the waste."""
        place = state[0]
        current = self._rounds[place >> _ROUND_SHIFT]
        place &= _PLACE
        turned = place.bit_length() - 1
        return current, turned, place ^ 1 << turned

    def _add_round(self, cards: tuple[Card, ...], redeals_left: int) -> _Round:
        """A round, and its twin after it if it can have one."""
        bits = tuple(map(_BIT.__getitem__, cards))
        turned = tuple(accumulate(bits, initial=0))
        added = len(self._rounds)
        for haste in (False, True) if redeals_left else (True,):
            self._rounds.append(_Round(cards, bits, turned, len(self._rounds) << _ROUND_SHIFT, redeals_left, haste))
        return self._rounds[added]


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


def _choices_before_redeal(current: _Round, turned: int, waste: int, carpet: int, wanted: int, *, gaps: int) -> list[State]:
    """GapGame.choices where the redeal that follows is not forgotten."""
    stock_size = len(current.bits)
    if waste and current.bits[waste.bit_length() - 1] & wanted:
        return [_taken(current, turned, waste, carpet, wanted)]
    found: list[State] = []
    if turned < stock_size:
        while not gaps and turned + 1 < stock_size and not current.bits[turned] & wanted:
            waste |= 1 << turned
            turned += 1
        found.append(_turned(current, turned, waste, carpet, wanted))
        if current.bits[turned] & wanted:
            return found
    if waste and gaps:
        found.append(_taken(current, turned, waste, carpet, wanted))
    return found


def _settled(current: _Round, turned: int, waste: int, carpet: int, wanted: int) -> State:
    """The state when all has gone home that goes at once."""
    bits = current.bits
    while True:
        while going := carpet & wanted:
            carpet ^= going
            wanted += going
        if not waste or not current.haste:
            break
        top = waste.bit_length() - 1
        if not bits[top] & wanted:
            break
        wanted += bits[top]
        waste ^= 1 << top
    return current.base | waste | 1 << turned, carpet, wanted
