"""Counts for the metrics what connections have asked for and been refused, and how long moves take from being read to being acknowledged.

It is always on: per move it costs only a look at each message's type, and a reading of the clock at either end.
"""

from __future__ import annotations

from collections import Counter

from protocol.errors import ErrorCode
from server.runtime.figures import Durations


class Traffic:
    """errors: by error code. refused_moves: those of them that answered a move. dropped: messages beyond the rate, by whether their number
    (`rate`) or their price (`price`) was too high. refused_connections: by reason. move_s: the time from reading a move to giving its
    answer to the kernel; of several moves that a client sends at once, only the first is timed. untimed_moves: the number of the others.
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
        """Moves accepted and acknowledged."""
        return sum(self.move_s.counts) + self.untimed_moves

    def answered(self) -> tuple[int, float]:
        """How many moves were timed, and how many seconds they took in all."""
        return sum(self.move_s.counts), self.move_s.sum_s

    def refused(self, code: ErrorCode | str, *, is_move: bool) -> None:
        self.errors[code] += 1
        if is_move:
            self.refused_moves[code] += 1
