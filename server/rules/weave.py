"""The weave of the quilt: 64 slots, with cards upright and sideways by turns, and which of these cards a player can take.

Owns which slots lie at the two narrow ends of a card, and what it takes for an end to be free. Must not know what happens
to a card that is taken, nor any rank or suit.

Slots are numbers 0 to 63, row by row. The card at a1 lies upright: its narrow ends are above and below it. Its neighbours
lie sideways, with their narrow ends to the left and right. A card is available if one of its two ends is free.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, TypeAlias

from protocol.cards import Card

COLUMNS: Final = 8
ROWS: Final = 8
GAP: Final = -1

Quilt: TypeAlias = tuple[Card, ...]
"""The card of each slot, GAP if it is empty."""
End: TypeAlias = tuple[int, ...]
"""The slots that have to be empty for a narrow end to be free, nearest first; none if the end is at the quilt's edge."""


def _line(slot: int, across: int, down: int) -> End:
    """The slots from the next one to the quilt's edge, in one direction."""
    column, row = slot % COLUMNS + across, slot // COLUMNS + down
    line: list[int] = []
    while 0 <= column < COLUMNS and 0 <= row < ROWS:
        line.append(row * COLUMNS + column)
        column, row = column + across, row + down
    return tuple(line)


def _lines(slot: int) -> tuple[End, End]:
    upright = (slot % COLUMNS + slot // COLUMNS) % 2 == 0
    return (_line(slot, 0, -1), _line(slot, 0, 1)) if upright else (_line(slot, -1, 0), _line(slot, 1, 0))


_LANES: Final = tuple(_lines(slot) for slot in range(COLUMNS * ROWS))


class Clear(Enum):
    """How much has to be empty for an end to be free."""

    NEXT_SLOT = auto()
    LANE = auto()
    """Every slot from the end to the quilt's edge."""


_ENDS: Final[Mapping[Clear, tuple[tuple[End, End], ...]]] = {
    Clear.NEXT_SLOT: tuple((one[:1], other[:1]) for one, other in _LANES),
    Clear.LANE: _LANES,
}
# For each slot, the slots whose cards may become available when it is emptied.
_WAITING: Final[Mapping[Clear, tuple[tuple[int, ...], ...]]] = {
    clear: tuple(tuple(slot for slot, (one, other) in enumerate(ends) if emptied in one + other) for emptied in range(len(ends)))
    for clear, ends in _ENDS.items()
}


def available(quilt: Quilt, clear: Clear) -> tuple[int, ...]:
    """The slots whose cards can be taken."""
    ends = _ENDS[clear]
    return tuple(slot for slot, card in enumerate(quilt) if card != GAP and _is_free(quilt, ends[slot]))


def available_after(before: tuple[int, ...], quilt: Quilt, taken: int, clear: Clear) -> tuple[int, ...]:
    """`available` for the quilt after the card of one slot was taken, computed from the result before; in another order."""
    ends = _ENDS[clear]
    freed = [slot for slot in _WAITING[clear][taken] if quilt[slot] != GAP and slot not in before and _is_free(quilt, ends[slot])]
    return (*[slot for slot in before if slot != taken], *freed)


def _is_free(quilt: Quilt, ends: tuple[End, End]) -> bool:
    for end in ends:
        for slot in end:
            if quilt[slot] != GAP:
                break
        else:
            return True
    return False
