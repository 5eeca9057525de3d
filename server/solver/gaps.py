"""Carpet as a game of gaps: the small game that most of the family comes down to once every card is known.

Owns that game's states and steps, and the proof that it stands for the real one. Must not know how it is searched
(gap_search.py) nor how its steps become moves (gap_line.py).

The game of gaps is Carpet with free refill in which every carpet card that can go home goes at once. Four steps are left: turn
the next stock card, play the waste's top home, put it into a gap, redeal.

*A card that can go home may go at once* (free refill, no redeal to come). Take any line from a position in which card c can go
home. Play c now, then the same line without c's later move; if c was the waste's top and the line put it into a gap, leave out
that move too. Every other move stays legal: the foundations are at least as high, there are at least as many gaps, and cards
that the line puts on top of c, or takes from under it, lie and go as before. The line is no longer and brings home no less. By
the same argument, a stock card that can go home is best turned at once.

*With a redeal to come, that holds only for the carpet.* The redeal's shuffle depends on what lies in the waste, and one card less
is another shuffle. So whether the waste's top goes home, and when, is a choice until the last redeal has been made.

*Turning makes no difference under free refill*, apart from that choice: a player who plays everything that can go home is stuck
whenever they turn. So WHEN_STUCK forbids only turning a card onto one that could have gone home.

*Refill.CHOICE and Refill.WASTE_FIRST with Turning.ANY_TIME win the same deals and bring home as many cards.*
A playable card that is left lying is a gap in waiting. Follow a line of the game of gaps in the real game, with the same stock
and waste, where each gap holds a card that is *held back*: home in the game of gaps, but not here.
- A carpet card goes home: hold it back instead. There is one more gap, and one more card held back.
- A gap is filled: play a card held back (the lowest of some suit can always go), and refill its slot from the waste.
- The waste's top is played: if no card of its suit is held back, it goes home here too. Otherwise play the lowest of them,
  refill its slot from the waste, and hold back the card that came from there.
- Turning and redealing are the same in both games, and nothing is pending after them.
Only refills from the waste are needed, which both kinds of Refill always allow. At the end the cards held back go home one
after another, whatever then fills their slots. The converse is plain: a refill from the waste is a fill, one from the stock is
a turn and a fill, and a card held back has merely not gone home yet.
So only WHEN_STUCK without free refill is another game: see carpet_tree.py.

A gap that is there from the start is never filled unless refill is free: such slots do not count.

*Two kinds of choice need not be tried* if no redeal is to come. In both cases, step by step, another line does as well: it has
no fewer cards home, no more on the carpet, and the rest of the waste in the same order.
- Putting a card into a gap before the next turn, without sending anything home by it, while a lower card of its suit lies further
  down in the waste. The card cannot go home before the lower one is dug up, so it may as well stay until then, and be put into a
  gap on the way.
- Anything else, if putting the waste's topmost cards into gaps sends so many home that the carpet has as many gaps as before. The
  cards that this sends home lay under the topmost ones or waited for a card that did. So no line sends any of them home, or frees
  its slot, before the topmost ones are out of the waste too.

How a state is written. The waste is always a part, in order, of the *round*: the cards from one redeal to the next, as the stock
had them at its start (in the first round, waste and stock count as one list). So a state is three numbers:
- place: bit i for each turned card i that is still in the waste, and above them all the bit whose number is that of the cards
  turned; the round's number is kept from bit 64 up;
- carpet, the cards lying there, and wanted, the next card of each suit, with one bit per card. A suit has 14 bits, so that no
  card follows a King, and adding the cards that go home to `wanted` gives the cards wanted after them.
The place alone tells states apart: what is not in the stock or the waste is on the carpet or home, and every carpet card that
can go home has gone.

A round that a redeal can follow has a twin, the same round played *in haste*: as if no redeal were left, so that the waste's top
goes home at once too. Every state reached in haste can really be reached, but haste does not reach them all.
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
    """The waste's top goes home. Not a step once no redeal is left: it then goes at once."""
    FILL = auto()
    REDEAL = auto()


# Looked up a thousand times per deal: through the class it takes four times as long.
_TURN, _PLAY, _FILL, _REDEAL = GapStep

Plan: TypeAlias = tuple[GapStep, ...]


def is_game_of_gaps(position: CarpetPosition, *, once_refilled: bool = False) -> bool:
    """Whether the game of gaps stands for this position, or will once its pending gap is refilled."""
    rules = position.rules
    return (once_refilled or position.pending is None) and (rules.refill is Refill.FREE or rules.turning is Turning.ANY_TIME)


_BIT: Final = tuple(1 << suit(card) * _SUIT_BITS + rank(card) - 1 for card in range(DECK_SIZE))
_LOWER: Final = {_BIT[card]: sum(_BIT[card - rank(card) + 1 : card]) for card in range(DECK_SIZE)}
"""The lower cards of the same suit, by a card's bit."""


@dataclass(frozen=True, slots=True)
class _Round:
    """The cards between one redeal and the next, first turned first."""

    cards: tuple[Card, ...]
    bits: tuple[int, ...]
    turned: tuple[int, ...]
    """turned[i]: the first i cards, as bits."""
    base: int
    """The round's part of a place: its number in the game's list, in which its twin comes next."""
    redeals_left: int
    haste: bool
    """No redeal is left, or the round is played as if none were."""


class GapGame:
    """The game of gaps from one position. Keeps the rounds that redeals lead to; the states hold everything else."""

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
        """The state as it is in haste; the same state if no redeal is left."""
        current, turned, waste = self._read(state)
        return state if current.haste else _settled(self._rounds[(state[0] >> _ROUND_SHIFT) + 1], turned, waste, *state[1:])

    def choices(self, state: State) -> list[State]:
        """The states that can follow without a redeal, the most promising last; several steps on if there is nothing else to do in between.

        A step is left out if another is as good as long as no redeal is made, or if no more cards can go home without one. If fills leave
        as many gaps as there were, nothing else is tried.
        """
        current, turned, waste = self._read(state)
        _, carpet, wanted = state
        gaps = self._slots - carpet.bit_count()
        if not current.haste:
            return _choices_before_redeal(current, turned, waste, carpet, wanted, gaps=gaps)
        bits, seen = current.bits, current.turned
        # The stock's wanted cards. Without any, the next card to go home comes from the waste: turning can wait until after it.
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
        """The states one step on that are worth a look only for the redeal they lead to."""
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
        """How many cards a redeal would shuffle; 0 if none can be made. In haste, a redeal comes once no card of the stock is wanted."""
        current, turned, waste = self._read(state)
        to_turn = current.turned[-1] & ~current.turned[turned]
        if not current.redeals_left or (to_turn & state[2] if current.haste else to_turn):
            return 0
        return waste.bit_count() + to_turn.bit_count()

    def redealt(self, state: State) -> State:
        """The state after a redeal, which must be possible."""
        current, turned, waste = self._read(state)
        cards = tuple(card for index, card in enumerate(current.cards) if index >= turned or waste >> index & 1)
        known = self._round_of.get((current.redeals_left, cards))
        if known is None:
            stock = shuffle(cards, self._seed, redeal_label(self._rules.redeals - current.redeals_left + 1))
            known = self._round_of[current.redeals_left, cards] = self._add_round(stock, current.redeals_left - 1)
        return known.base | 1, state[1], state[2]

    def follow(self, state: State, steps: Iterable[GapStep]) -> tuple[State, Plan]:
        """Make those of the steps that can be made, one after another: the state after them, and which they were."""
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
        """The steps from a state to one of its choices, to its redeal, or to the same state in haste."""
        current, turned, waste = self._read(before)
        following, turned_after, waste_after = self._read(after)
        if following.redeals_left < current.redeals_left:
            return (_TURN,) * (len(current.bits) - turned) + (_REDEAL,)
        turns = turned_after - turned
        fills = 0
        if not turns:
            # Cards were put into gaps until one could go home; or just one was, if whether it goes home is a choice.
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
        """The steps of a line of states, each of which leads to the next."""
        return tuple(step for before, after in pairwise(line) for step in self.steps_between(before, after))

    def _read(self, state: State) -> tuple[_Round, int, int]:
        """The round, how many of its cards are turned, and which of them are in the waste."""
        place = state[0]
        current = self._rounds[place >> _ROUND_SHIFT]
        place &= _PLACE
        turned = place.bit_length() - 1
        return current, turned, place ^ 1 << turned

    def _add_round(self, cards: tuple[Card, ...], redeals_left: int) -> _Round:
        """Add a round, followed by its twin if it can have one."""
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
    """Take the waste's top away, home or into a gap: it goes to the carpet, and from there home at once if it can."""
    top = waste.bit_length() - 1
    return _settled(current, turned, waste ^ 1 << top, carpet | current.bits[top], wanted)


def _choices_before_redeal(current: _Round, turned: int, waste: int, carpet: int, wanted: int, *, gaps: int) -> list[State]:
    """GapGame.choices for a round that is not played in haste: the coming redeal matters."""
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
    """The state once everything that goes home at once has gone."""
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
