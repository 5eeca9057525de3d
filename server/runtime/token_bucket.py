"""A token bucket: how much somebody may ask for, on average and at once. Pure."""

from __future__ import annotations


class Bucket:
    """Starts with `burst` tokens, never has more, and fills at `rate` a second."""

    __slots__ = ("_burst", "_last", "_rate", "tokens")

    def __init__(self, *, rate: float, burst: int) -> None:
        self.tokens = float(burst)
        self._rate = rate
        self._burst = burst
        self._last = 0.0

    def take(self, now: float, count: float = 1) -> bool:
        """Take `count` tokens if they are there. now: seconds of any clock that does not go back."""
        # Without a call, since this runs for every message.
        tokens = self.tokens + (now - self._last) * self._rate
        if tokens > self._burst:
            tokens = self._burst
        self._last = now
        if tokens < count:
            self.tokens = tokens
            return False
        self.tokens = tokens - count
        return True

    def owe(self, now: float, count: float) -> None:
        """Take `count` tokens even if they are not there: the debt is filled first. It never exceeds one bucket."""
        tokens = min(self.tokens + (now - self._last) * self._rate, self._burst)
        self._last = now
        self.tokens = max(tokens - count, -float(self._burst))
