"""How much one connection may ask for: a token bucket, pure."""

from __future__ import annotations

from enum import Enum, auto


class Verdict(Enum):
    PASS = auto()
    TELL = auto()
    """Drop the message and tell the peer."""
    DROP = auto()
    """Drop the message; the peer has been told."""
    CLOSE = auto()
    """The peer was told and went on: close the connection."""


class RateLimit:
    """`rate` messages a second, `burst` at once. Who goes on after being told loses the connection after another `burst` messages."""

    __slots__ = ("_burst", "_excess", "_last", "_rate", "_tokens")

    def __init__(self, *, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._last = 0.0
        self._excess = 0

    def judge(self, now: float) -> Verdict:
        """One message has come. now: seconds of any clock that does not go back."""
        self._tokens = min(self._tokens + (now - self._last) * self._rate, self._burst)
        self._last = now
        if self._tokens >= 1:
            # Who has been quiet for a while is forgiven.
            if self._tokens >= self._burst / 2:
                self._excess = 0
            self._tokens -= 1
            return Verdict.PASS
        self._excess += 1
        if self._excess > self._burst:
            return Verdict.CLOSE
        return Verdict.TELL if self._excess == 1 else Verdict.DROP
