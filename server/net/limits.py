"""How much one connection or one address may ask for, and how often the log is told of what happens too often. Pure."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, auto

from server.net.connection_limits import place_of
from server.runtime.token_bucket import Bucket


class RateDecision(Enum):
    PASS = auto()
    TELL = auto()
    """Drop the message and tell the peer."""
    DROP = auto()
    """Drop the message; the peer has been told."""
    CLOSE = auto()
    """The peer was told and went on: close the connection."""


class RateLimit(Bucket):
    """`rate` messages a second, `burst` at once. Who goes on after being told loses the connection after another `burst` messages.

    What costs the server more than a message does counts for several. While there is no `excess`, a message that can `take` its token
    passes; `judge` says the same of it, and of all others.
    """

    __slots__ = ("excess",)

    def __init__(self, *, rate: float, burst: int) -> None:
        super().__init__(rate=rate, burst=burst)
        self.excess = 0
        """Messages that came too fast, of late."""

    def judge(self, now: float, price: int = 1) -> RateDecision:
        """Something has come that counts for `price` messages, or a whole burst. now: seconds of any clock that does not go back."""
        if price > 1:
            price = min(price, self._burst)
        if self.take(now, price):
            # Who has been quiet for a while is forgiven.
            if self.excess and self.tokens + price >= self._burst / 2:
                self.excess = 0
            return RateDecision.PASS
        self.excess += 1
        if self.excess > self._burst:
            return RateDecision.CLOSE
        return RateDecision.TELL if self.excess == 1 else RateDecision.DROP


class Seldom:
    """Counts what may happen a thousand times a second and says when the log is to hear of it: at once, then once in `every_s`."""

    __slots__ = ("_count", "_every_s", "_told_at")

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._told_at: float | None = None
        self._count = 0

    def happened(self, now: float) -> int:
        """How often it has happened since it was last told, if it is to be told now, else 0. now: as in `RateLimit.judge`."""
        self._count += 1
        if self._told_at is not None and now < self._told_at + self._every_s:
            return 0
        self._told_at = now
        count, self._count = self._count, 0
        return count


ADDRESSES = 4096
"""Addresses that are remembered. The one not heard of for longest is forgotten for a new one; it begins anew when it comes again."""


class AddressRates:
    """A rate limit for each of the addresses that asked last, as `connection_limits` counts them."""

    def __init__(self, *, rate: float, burst: int, addresses: int = ADDRESSES) -> None:
        self._rate = rate
        self._burst = burst
        self._addresses = addresses
        self._limits: OrderedDict[str, RateLimit] = OrderedDict()

    def allow(self, host: str, now: float) -> bool:
        """Whether one more may come from this host, by its numeric address. now: as in `RateLimit.judge`."""
        place = place_of(host)
        if place is None:
            return True
        limit = self._limits.pop(place, None) or RateLimit(rate=self._rate, burst=self._burst)
        self._limits[place] = limit
        if len(self._limits) > self._addresses:
            self._limits.popitem(last=False)
        return limit.judge(now) is RateDecision.PASS
