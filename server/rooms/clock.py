"""The server's clock: whole milliseconds in the epoch of Unix time, which never go back.

Reads the wall once and Trio's clock from then on, so that a step of the wall clock in the middle of a race moves nothing.
"""

from __future__ import annotations

import math
import time

import trio


class Clock:
    """Create it inside the Trio run whose clock it reads."""

    __slots__ = ("_offset",)

    def __init__(self, wall_s: float | None = None) -> None:
        """wall_s: what the wall shows now, in Unix time; by default the machine's."""
        self._offset = (time.time() if wall_s is None else wall_s) - trio.current_time()

    def now_ms(self) -> int:
        return round((trio.current_time() + self._offset) * 1000)

    def deadline(self, moment_ms: int) -> float:
        """The Trio time of a moment, for a cancel scope. Half a millisecond late rather than early, so that it is due when it wakes."""
        return (moment_ms + 0.5) / 1000 - self._offset


class RoomClock(Clock):
    """The same clock for rooms, which can be stopped: while the store cannot be written, time counts against nobody."""

    __slots__ = ("_clock", "_stopped_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stopped_at: int | None = None

    def now_ms(self) -> int:
        return self._clock.now_ms() if self._stopped_at is None else self._stopped_at

    def deadline(self, moment_ms: int) -> float:
        return self._clock.deadline(moment_ms) if self._stopped_at is None else math.inf

    def stop(self) -> None:
        if self._stopped_at is None:
            self._stopped_at = self._clock.now_ms()

    def go_on(self) -> int:
        """Gives the milliseconds for which it stood still. It goes on where the other clock is, without them."""
        stopped_at, self._stopped_at = self._stopped_at, None
        return self._clock.now_ms() - stopped_at if stopped_at is not None else 0
