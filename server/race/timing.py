"""When a move counts: its arrival, less the credit that a slow connection earns.

Knows only numbers. Times are whole milliseconds; the caller knows from which clock.
"""

from __future__ import annotations

from collections import deque

MAX_CREDIT_MS = 150
"""Half a round trip counts for at most this much, so that a player who delays answers to pings gains little."""

MAX_WAITED_MS = 16
"""A busy server reads a message at most this long after it arrived. The message counts from its arrival."""

KEPT_ROUND_TRIPS = 8
"""How many measured round trips are kept. The smallest is taken to be that of the connection itself; the excess is congestion."""


def credit(round_trip_ms: int) -> int:
    """By how much a move's arrival is moved back: the time the move was on its way, capped."""
    return min(max(round_trip_ms, 0) // 2, MAX_CREDIT_MS)


def counted_at(received_ms: int, credit_ms: int, previous_ms: int) -> int:
    """The moment at which a move counts, from the start: arrival less credit, never before the seat's previous move.

    Without that bound, a changing round trip could put a later move before an earlier one, or before the start.
    """
    at_ms = received_ms - credit_ms
    return at_ms if at_ms > previous_ms else previous_ms  # noqa: FURB136  (several times as fast)


class RoundTrips:
    """The last measured round trips of one connection."""

    __slots__ = ("_last", "best")

    def __init__(self) -> None:
        self._last: deque[int] = deque(maxlen=KEPT_ROUND_TRIPS)
        self.best: int | None = None
        """The smallest of those kept, or None before the first."""

    def add(self, round_trip_ms: int) -> None:
        self._last.append(max(round_trip_ms, 0))
        self.best = min(self._last)
