"""Limits on how much one connection or one address may ask for, and on how often the log repeats itself. Pure."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, auto

from server.net.connection_limits import THIS_MACHINE, place_of
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
    """Allows `rate` messages a second, `burst` at once. A peer that goes on after being told loses its connection after another `burst`.

    A message that costs the server more than others counts for several. While `excess` is 0, a message passes if `take` gets its token:
    that is what `judge` would decide, only faster.
    """

    __slots__ = ("excess",)

    def __init__(self, *, rate: float, burst: int) -> None:
        super().__init__(rate=rate, burst=burst)
        self.excess = 0
        """Messages that came too fast, since the peer was last forgiven."""

    def judge(self, now: float, price: int = 1) -> RateDecision:
        """Judge a message that counts for `price` messages, but at most a burst. now: seconds of any clock that does not go back."""
        if price > 1:
            price = min(price, self._burst)
        if self.take(now, price):
            # A peer that has been quiet for a while is forgiven.
            if self.excess and self.tokens + price >= self._burst / 2:
                self.excess = 0
            return RateDecision.PASS
        self.excess += 1
        if self.excess > self._burst:
            return RateDecision.CLOSE
        return RateDecision.TELL if self.excess == 1 else RateDecision.DROP


class Seldom:
    """Counts events that may happen a thousand times a second, and says when to log them: at once, then once in `every_s`."""

    __slots__ = ("_count", "_every_s", "_told_at")

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._told_at: float | None = None
        self._count = 0

    def happened(self, now: float) -> int:
        """How often it has happened since it was last logged, if it is to be logged now; otherwise 0. now: as in `RateLimit.judge`."""
        self._count += 1
        if self._told_at is not None and now < self._told_at + self._every_s:
            return 0
        self._told_at = now
        count, self._count = self._count, 0
        return count


ADDRESSES = 4096
"""Addresses that are remembered. The one unheard of for longest makes way for a new one, and starts afresh when it comes again."""


class AddressRates:
    """A rate limit for each of the addresses that asked most recently, counted as in `connection_limits`."""

    def __init__(self, *, rate: float, burst: int, addresses: int = ADDRESSES) -> None:
        self._rate = rate
        self._burst = burst
        self._addresses = addresses
        self._limits: OrderedDict[str, RateLimit] = OrderedDict()

    def allow(self, host: str, now: float) -> bool:
        """Whether one more request may come from this host, a numeric address. now: as in `RateLimit.judge`."""
        place = place_of(host)
        if place is None:
            return True
        limit = self._limits.pop(place, None) or RateLimit(rate=self._rate, burst=self._burst)
        self._limits[place] = limit
        if len(self._limits) > self._addresses:
            self._limits.popitem(last=False)
        return limit.judge(now) is RateDecision.PASS


CODES_AT_ONCE = 100
CODES_A_SECOND = 0.2
CODE_AGAIN_MS = 5000
"""How many different codes that are not told to everybody may be tried from one address, at once and per second: too few to guess one. Of a
race that takes years; of a tournament it does if its director chose a word, and not four digits. A club comes by few codes, however many
they are.
"""

TRIED = 4096
TRIED_S = 60.0
"""A code costs its address nothing when it is tried again within TRIED_S, because a club comes by the same one. After that it does, because
a race may have it by then. At most TRIED codes of all addresses together are remembered; the oldest make way.
"""


class CodeGuesses:
    """Limits how many codes may be tried from one address. This machine has no limit."""

    def __init__(self) -> None:
        self._rates = AddressRates(rate=CODES_A_SECOND, burst=CODES_AT_ONCE)
        self._tried: dict[tuple[str, str], float] = {}  # when

    def allow(self, host: str, code: str, now: float) -> bool:
        """Whether a code that may be a guess is heard from this host, a numeric address. now: as in `RateLimit.judge`."""
        place = place_of(host)
        if place is None or place == THIS_MACHINE:
            return True
        tried_at = self._tried.pop((place, code), None)
        if tried_at is None or tried_at + TRIED_S < now:
            # A right one counts too: otherwise one could be told from a wrong one when no more are heard.
            if not self._rates.allow(host, now):
                return False
            tried_at = now
        self._tried[place, code] = tried_at
        if len(self._tried) > TRIED:
            del self._tried[next(iter(self._tried))]
        return True
