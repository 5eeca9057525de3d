"""Decides whether the server is overloaded. Then it takes no new races and connections, so that the running races stay quick.

Pure, apart from the random spread of retry times.

Overload shows in three ways:

- Lateness: how long sockets with something to read wait, while there are more of them than one turn of the hub can serve. One pause, as for
  a garbage collection, is not overload; several within a second are.
- Use of the core: when nearly all of it is in use nobody waits yet, but those who were just let in have still to make their moves. So this
  counts before anybody is late. If other work shares the core, waiting for it counts as using it.
- Slow answers: moves are answered much later than at best, whatever they wait for: a thread that writes, or a disk that others write to.
  A disk that is always slow is not overload.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

LATE_S: Final = 0.025
"""Seconds of waiting that count as late: half of what a move may take from its arrival to its answer."""

ENOUGH: Final = 4.0
"""Lateness summed over the last seconds, in units of LATE_S, from which on the server is busy."""

FORGIVEN_A_SECOND: Final = 4.0

CALM_S: Final = 0.5
"""Seconds without lateness before the server is open again."""

FULL: Final = 0.9
"""Share of a core in use from which on the server is busy. Connections are served on a single core, however many there are."""

LASTING: Final = 0.8
LASTING_S: Final = 2.0
"""The same for the average over about LASTING_S seconds. Otherwise each quarter of a second with a little less to do would let some more
in, until there is too much to do in all of them."""

PACED: Final = 0.5
"""Share of a core from which on new races are paced. A race costs nothing until its countdown is over, so too many could begin before the
first of them show what they cost."""

BEGIN: Final = 400
"""Races that may begin per second, for each core left until LASTING is reached. Those of one second take about a tenth of what is left."""

RACE_MOVES: Final = 20
"""Moves that cost as much as opening a race, seating two players and dealing to them."""

MUCH: Final = 1000
"""Moves per second from which on the use of the core is taken to be due to them."""

DEAREST_S: Final = 30.0
"""The highest cost of a move counts for at least so many seconds, and at most for twice as many. A machine that shares its cores is slower
in one minute than in another. Judged by the cost at its quickest, it would gradually let in more than it can serve at its slowest."""

BEGUN_S: Final = 1.0
"""Seconds' worth of races that may have begun ahead of the pace: a tournament's races do not ask."""

LOAD_LOOK_S: Final = 0.25
"""Seconds between two looks at the processor time. Retry times are spread over as many seconds: if all asked again at one moment, they
would be late together, and find no more places than the first of them."""

FEW: Final = 500
"""With fewer connections than this, a fully used core does not matter: it will pass, as when all of them come at once."""

SLOWER_S: Final = 0.015
SLOWER_FOR_S: Final = 1.0
"""The server is busy if over about the last SLOWER_FOR_S seconds moves are answered, on average, this much later than at best: one in a
hundred then waits for twice as long. Long ticks account for 12 ms of it."""

ENOUGH_MOVES: Final = 50
"""Moves needed for a mean. If one look has fewer, several are taken together."""

WORSE: Final = 1.0002
"""Factor by which the best mean is relaxed at each look: it doubles in a quarter of an hour."""

UNTIRING: Final = ("/healthz", "/readyz")
"""Paths that are answered even when the server is busy."""

BUSY_SENTENCE: Final = "This server has more to do than it can; try again in a moment.\n"

BUSY_RESPONSE: Final = (
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    f"Content-Length: {len(BUSY_SENTENCE)}\r\nCache-Control: no-store\r\n\r\n{BUSY_SENTENCE}"
)
"""To be formatted with the seconds until the next attempt."""


class Overload:
    """spread: gives a number from 0 up to 1, so that two who are refused at the same time are told different times to ask again."""

    def __init__(self, spread: Callable[[], float] = random.random) -> None:
        self._spread = spread
        self.coming = 0
        """Players who may begin a race, and will once something else has been answered."""
        self.load = 0.0
        """The share of a core that was in use at the last look; 0 while only a few are connected."""
        self._score = 0.0
        self._worked: tuple[float, ...] = ()
        self._share = 0.0
        # Work per second, in moves, including the cost of races that have begun; then the highest cost of one move, in seconds of a core,
        # in the current period and in the one before.
        self._work = 0.0
        self._moves = self._begun = 0
        self._dearest = self._dearest_before = 0.0
        self._dearest_since = -math.inf
        # Races that may begin until the next look. Negative if too many have begun: the next looks make up for it.
        self._places = math.inf
        self._answered = 0, 0.0
        self._uncompared_s = 0.0
        self._best_s = math.inf
        self._slower_s = 0.0
        self._looked_at = -math.inf
        self._noted_at = -math.inf
        self._busy_until = -math.inf

    def note(self, late_s: float, now: float) -> None:
        """Note that something had to wait. Less than LATE_S does not matter. now: seconds of any clock that does not go back."""
        if late_s < LATE_S:
            return
        self._score = max(self._score - (now - self._noted_at) * FORGIVEN_A_SECOND, 0.0) + late_s / LATE_S
        self._score = min(self._score, 2 * ENOUGH)
        self._noted_at = now
        if self._score >= ENOUGH:
            self._busy_until = now + CALM_S

    def look(
        self, worked: Callable[[], tuple[float, ...]], answered: Callable[[], tuple[int, float]], now: float, *, connections: int
    ) -> None:
        """Take a look at the load; to be called often. worked: gives the seconds of a core used since the server started, counted in one or
        several ways, of which the largest counts. answered: gives how many moves have been answered since then, and the seconds that they
        waited for it in all. now: as in `note`.
        """
        if now < self._looked_at + LOAD_LOOK_S:
            return
        before, self._worked = self._worked, worked()
        seconds, self._looked_at = now - self._looked_at, now
        share = max((new - old for old, new in zip(before, self._worked, strict=False)), default=0.0) / seconds
        # With several cores, more than one may be in use for a moment. That must not count for more than one full core.
        self._share += (min(share, 1.0) - self._share) * min(seconds / LASTING_S, 1.0)
        self.load = share if connections >= FEW else 0.0
        moves, waited_s = answered()
        used = max(self.load, self._share, self._at_the_dearest(moves, seconds))
        if self.load == 0.0 or used < PACED:
            self._places = math.inf
        else:
            pace = max(LASTING - used, 0.0) * BEGIN
            # Unused places are capped at one, or many would begin at once. A debt is capped too: races begun too many soon show as load.
            self._places = min(max(self._places, -pace * BEGUN_S), 1.0) + pace * seconds
        self._compare(moves, waited_s, seconds)
        if connections >= FEW and (share >= FULL or self._share >= LASTING or self._slower_s >= SLOWER_S):
            self._busy_until = max(self._busy_until, now + CALM_S)

    def _at_the_dearest(self, moves: int, seconds: float) -> float:
        """The share of a core that the current work would take at the highest recent cost."""
        made, self._moves = moves - self._moves, moves
        work, self._begun = made + RACE_MOVES * self._begun, 0
        self._work += (work / seconds - self._work) * min(seconds / LASTING_S, 1.0)
        if self._looked_at >= self._dearest_since + DEAREST_S:
            self._dearest_before, self._dearest, self._dearest_since = self._dearest, 0.0, self._looked_at
        if self._share >= PACED and made >= MUCH * seconds:
            self._dearest = max(self._dearest, self._share / self._work)
        return max(self._dearest, self._dearest_before) * self._work

    def _compare(self, moves: int, waited_s: float, seconds: float) -> None:
        before, waited_before_s = self._answered
        self._uncompared_s += seconds
        if moves - before < ENOUGH_MOVES:
            # Taken together with the next look's. If they stay too few for too long, what was known about them fades.
            if self._uncompared_s >= SLOWER_FOR_S:
                self._slower_s -= self._slower_s * min(seconds / SLOWER_FOR_S, 1.0)
            return
        self._answered = moves, waited_s
        mean_s = (waited_s - waited_before_s) / (moves - before)
        self._best_s = min(mean_s, self._best_s * WORSE)
        self._slower_s += (mean_s - self._best_s - self._slower_s) * min(self._uncompared_s / SLOWER_FOR_S, 1.0)
        self._uncompared_s = 0.0

    def retry_after_ms(self, now: float) -> int:
        """Milliseconds after which to ask again for what is refused while the server is busy; 0 while it is not."""
        return math.ceil((self._busy_until - now) * 1000) if self._busy_until > now else 0

    def wait_to_begin_ms(self, now: float) -> int:
        """0 if somebody may begin a race now; otherwise the milliseconds after which to ask again, not the same for all."""
        wait_s = self._busy_until - now
        if wait_s <= 0:
            if self._places >= 1 + self.coming:
                return 0
            wait_s = max(self._looked_at + LOAD_LOOK_S - now, 0.0)
        return max(math.ceil((wait_s + self._spread() * LOAD_LOOK_S) * 1000), 1)

    def begun(self) -> None:
        """A race has got its room. Only then is a place taken: not by a request that is refused for another reason, or that only waits."""
        self._places -= 1
        self._begun += 1
