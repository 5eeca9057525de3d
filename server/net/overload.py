"""Whether the server has more to do than it can: then it takes no new races and connections, so that the running races stay quick.

Pure, but for what spreads the times that are told.

It shows in three ways. Lateness is how long sockets wait that have something to be read, while there are more of them than one turn of the
hub can serve. One pause, as for a collection of garbage, is no overload; several within a second are. And where nearly all of a core is in
use nobody waits yet, but those who have just been let in have still to make their moves: so that counts before anybody is late. Where other
work has the core too, waiting for it counts as using it. Last, those who race feel it when moves are answered much later than at the best,
whatever it is that they wait for: a thread that writes, or a disk that others write to. A disk that is slow by itself is no overload.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

LATE_S: Final = 0.025
"""Half of what a move may take from its arrival to its answer."""

ENOUGH: Final = 4.0
"""Times LATE_S, summed up over the last seconds, from which on the server is busy."""

FORGIVEN_A_SECOND: Final = 4.0

CALM_S: Final = 0.5
"""Seconds without lateness until the server is open again."""

FULL: Final = 0.9
"""Of a core, from which on the server is busy. What serves connections runs on one core only, however many there are."""

LASTING: Final = 0.8
LASTING_S: Final = 2.0
"""The same over so many seconds, about. Else each quarter of a second with a little less to do would let some more in, until there is too
much to do in all of them."""

PACED: Final = 0.5
"""Of a core, from which on races begin at a pace, so that those before show what they cost before there are too many: it is nothing until
their countdown is over."""

BEGIN: Final = 400
"""Races a second for each core that is left to LASTING: those of a second take about a tenth of what is left."""

RACE_MOVES: Final = 20
"""Moves that cost as much as it does to open a race, seat two players and deal to them."""

MUCH: Final = 1000
"""Moves a second from which on they are what the core is used for."""

DEAREST_S: Final = 30.0
"""Of what moves have cost, the most counts for so long at least, and twice as long at most. A machine whose cores others use too is slower
in one minute than in another: by what they cost at its quickest, it would let in more, little by little, than it serves at its slowest."""

BEGUN_S: Final = 1.0
"""Seconds of their pace that races may have begun ahead of it: those of a tournament do not ask."""

LOOK_S: Final = 0.25
"""Seconds from one look at the processor time to the next. Over so many are those spread who are told when to ask again: all at one moment
would be late together, and find as many places as the first of them."""

FEW: Final = 500
"""Connections, below which a core that is used up is no matter: it is for something that passes, such as all of them coming at once."""

SLOWER_S: Final = 0.015
SLOWER_FOR_S: Final = 1.0
"""Seconds by which moves are answered later than at the best, in the mean over the last second, about, from which on the server is busy:
one in a hundred waits for twice as long. Long ticks account for 12 ms of it."""

ENOUGH_MOVES: Final = 50
"""Of which a mean is taken: in one look, or in several where there are fewer."""

WORSE: Final = 1.0002
"""Times what was best, with each look: in a quarter of an hour twice as much is taken for the best that can be had."""

UNTIRING: Final = ("/healthz", "/readyz")
"""What is answered however much there is to do."""

BUSY_SENTENCE: Final = "This server has more to do than it can; try again in a moment.\n"

BUSY_RESPONSE: Final = (
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    f"Content-Length: {len(BUSY_SENTENCE)}\r\nCache-Control: no-store\r\n\r\n{BUSY_SENTENCE}"
)
"""With the seconds until the next try."""


class Overload:
    """spread: gives a number from 0 up to 1, by which two who are refused at once are told different times."""

    __slots__ = (
        "_answered",
        "_begun",
        "_best_s",
        "_busy_until",
        "_dearest",
        "_dearest_before",
        "_dearest_since",
        "_looked_at",
        "_moves",
        "_noted_at",
        "_places",
        "_score",
        "_share",
        "_slower_s",
        "_spread",
        "_uncompared_s",
        "_work",
        "_worked",
        "coming",
        "load",
    )

    def __init__(self, spread: Callable[[], float] = random.random) -> None:
        self._spread = spread
        self.coming = 0
        """Those who may begin a race, and will when they have been answered something else."""
        self.load = 0.0
        """The part of a core that was in use lately; 0 while only a few are connected."""
        self._score = 0.0
        self._worked: tuple[float, ...] = ()
        self._share = 0.0
        # Moves a second, and what races cost that have begun; seconds of a core for one of them at the most, now and in the time before.
        self._work = 0.0
        self._moves = self._begun = 0
        self._dearest = self._dearest_before = 0.0
        self._dearest_since = -math.inf
        # Races that may begin until the next look. Less than none where more did: the next looks make up for it.
        self._places = math.inf
        self._answered = 0, 0.0
        self._uncompared_s = 0.0
        self._best_s = math.inf
        self._slower_s = 0.0
        self._looked_at = -math.inf
        self._noted_at = -math.inf
        self._busy_until = -math.inf

    def note(self, late_s: float, now: float) -> None:
        """Something had to wait for so long. What is below LATE_S is no matter. now: seconds of any clock that does not go back."""
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
        """To be called often. worked: for how many seconds of a core there has been work since the server was started; by one way of
        counting or several, of which the largest counts. answered: how many moves have been since then, and the seconds they have waited
        for it in all. now: as in `note`.
        """
        if now < self._looked_at + LOOK_S:
            return
        before, self._worked = self._worked, worked()
        seconds, self._looked_at = now - self._looked_at, now
        share = max((new - old for old, new in zip(before, self._worked, strict=False)), default=0.0) / seconds
        # With several cores more than one may be in use for a moment. It shall not count for longer than a full one.
        self._share += (min(share, 1.0) - self._share) * min(seconds / LASTING_S, 1.0)
        self.load = share if connections >= FEW else 0.0
        moves, waited_s = answered()
        used = max(self.load, self._share, self._at_the_dearest(moves, seconds))
        if self.load == 0.0 or used < PACED:
            self._places = math.inf
        else:
            pace = max(LASTING - used, 0.0) * BEGIN
            # What nobody took is no more than one: they would come all at once. And what was taken beyond shows before long.
            self._places = min(max(self._places, -pace * BEGUN_S), 1.0) + pace * seconds
        self._compare(moves, waited_s, seconds)
        if connections >= FEW and (share >= FULL or self._share >= LASTING or self._slower_s >= SLOWER_S):
            self._busy_until = max(self._busy_until, now + CALM_S)

    def _at_the_dearest(self, moves: int, seconds: float) -> float:
        """The part of a core that all there is to do would take, at what it has cost at the most lately."""
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
            # Those of several looks are taken together. Where they are too few for that too, what was known of them fades.
            if self._uncompared_s >= SLOWER_FOR_S:
                self._slower_s -= self._slower_s * min(seconds / SLOWER_FOR_S, 1.0)
            return
        self._answered = moves, waited_s
        mean_s = (waited_s - waited_before_s) / (moves - before)
        self._best_s = min(mean_s, self._best_s * WORSE)
        self._slower_s += (mean_s - self._best_s - self._slower_s) * min(self._uncompared_s / SLOWER_FOR_S, 1.0)
        self._uncompared_s = 0.0

    def retry_after_ms(self, now: float) -> int:
        """When to ask again for what is refused while the server is busy; 0 while it is not."""
        return math.ceil((self._busy_until - now) * 1000) if self._busy_until > now else 0

    def wait_to_begin_ms(self, now: float) -> int:
        """Somebody would begin a race: 0 where they may; else when to ask again, not the same for all."""
        wait_s = self._busy_until - now
        if wait_s <= 0:
            if self._places >= 1 + self.coming:
                return 0
            wait_s = max(self._looked_at + LOOK_S - now, 0.0)
        return max(math.ceil((wait_s + self._spread() * LOOK_S) * 1000), 1)

    def begun(self) -> None:
        """A race has got its room. Whoever asked, and was refused for something else or only waits, takes nobody's place."""
        self._places -= 1
        self._begun += 1
