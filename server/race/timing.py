"""What a moment is worth: the clock of a race and the credit that a slow connection earns.

Knows numbers only. Times are whole milliseconds; which clock they were read from is the caller's affair.
"""

from __future__ import annotations

from collections import deque

MAX_CREDIT_MS = 150
"""Half a round trip counts for at most this much, so that a player who delays answers to pings gains little."""

MAX_WAITED_MS = 16
"""A server that has much to do reads a message so long after it came, at most. It counts from when it came."""

KEPT_ROUND_TRIPS = 8
"""How many measured round trips are kept; the smallest of them is taken for the connection itself, the rest for congestion."""


def credit(round_trip_ms: int) -> int:
    """What a move's arrival is moved back by: the time it was on its way, capped."""
    if round_trip_ms <= 0:
        return 0
    return round_trip_ms // 2 if round_trip_ms < 2 * MAX_CREDIT_MS else MAX_CREDIT_MS


def counted_at(received_ms: int, credit_ms: int, previous_ms: int) -> int:
    """The moment of a move that counts, from the start: arrival less credit, never before the seat's previous move.

    Without the bound a shrinking round trip could put a later move before an earlier one, or before the start.
    """
    at_ms = received_ms - credit_ms
    return at_ms if at_ms > previous_ms else previous_ms  # noqa: FURB136  (several times as fast)


class RoundTrips:
    """The last measured round trips of one connection."""

    __slots__ = ("_last", "best")

    def __init__(self) -> None:
        self._last: deque[int] = deque(maxlen=KEPT_ROUND_TRIPS)
        self.best: int | None = None
        """The smallest of the last ones, or None before the first."""

    def add(self, round_trip_ms: int) -> None:
        self._last.append(max(round_trip_ms, 0))
        self.best = min(self._last)
