"""A token bucket: how much somebody may ask for, on average and at once. Pure."""

from __future__ import annotations


class Bucket:
    """`burst` tokens at first and at most, filling at `rate` a second."""

    __slots__ = ("_burst", "_last", "_rate", "tokens")

    def __init__(self, *, rate: float, burst: int) -> None:
        self.tokens = float(burst)
        self._rate = rate
        self._burst = burst
        self._last = 0.0

    def take(self, now: float) -> bool:
        """Take one token, if there is one. now: seconds of any clock that does not go back."""
        self.tokens = min(self.tokens + (now - self._last) * self._rate, self._burst)
        self._last = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
