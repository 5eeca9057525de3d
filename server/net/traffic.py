"""What connections have asked for and been refused, counted for whoever shows figures. A move is asked for and acknowledged here.

On a move's way this costs a look at the type of each message and one reading of the clock at either end, so it is always done.
"""

from __future__ import annotations

from collections import Counter

from protocol.errors import ErrorCode
from server.runtime.figures import Durations


class Traffic:
    """refused_moves, errors: by error code; the first are among the second. dropped: messages beyond the rate, by whether their number
    (`rate`) or their price was too high. refused_connections: by why. move_s: from the moment at which a move was read until its answer was
    given to the kernel; of several moves that a client sends at once, that of the first. untimed_moves: the others.
    """

    __slots__ = ("dropped", "errors", "move_s", "refused_connections", "refused_moves", "untimed_moves")

    def __init__(self) -> None:
        self.untimed_moves = 0
        self.move_s = Durations()
        self.refused_moves: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.refused_connections: Counter[str] = Counter()

    @property
    def moves(self) -> int:
        """Accepted and acknowledged."""
        return sum(self.move_s.counts) + self.untimed_moves

    def answered(self) -> tuple[int, float]:
        """How many moves were timed, and the seconds that they took in all."""
        return sum(self.move_s.counts), self.move_s.sum_s

    def refused(self, code: ErrorCode | str, *, is_move: bool) -> None:
        self.errors[code] += 1
        if is_move:
            self.refused_moves[code] += 1
