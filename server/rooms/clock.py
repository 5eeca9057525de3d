"""The server's two clocks, both in whole milliseconds of Unix time.

`now_ms` measures races and other durations. It never jumps, whatever happens to the wall clock, and stands still while paused: no time may
pass that nobody can use. `wall_ms` is for dates: it is what the machine's wall clock shows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

import trio

logger = logging.getLogger("carpet.rooms")

WALL_LOOK_S: Final = 60.0
"""Seconds after which a task that waits for a date looks at the wall clock again: it may have been set, or the machine may have slept."""

PAUSED_LOOK_S: Final = 0.25
"""Seconds after which a task that waits for a moment looks again while the clock stands still."""


ASLEEP_S: Final = 2.0
"""A process that wakes this many seconds late was stopped, rather than kept waiting by others on a busy machine."""

AWAKE_LOOK_S: Final = 1.0
"""How often, in seconds, the process wakes up by itself: so precisely is it known when it was stopped."""


Reason: TypeAlias = Literal["nobody listens", "nothing can be kept"]
"""Why the clock stands still. It runs again once no reason is left."""


class Clock:
    """Create it inside the Trio run whose clock it reads."""

    __slots__ = ("_lost_since", "_not_before_ms", "_offset", "_paused_at", "_reasons", "_trio_time", "_wall_offset")

    def __init__(self, wall_s: float | None = None) -> None:
        """wall_s: what a simulated wall clock shows now, in Unix time; by default the machine's is read."""
        # Called directly, since it is read many times for each move.
        self._trio_time = trio.lowlevel.current_clock().current_time
        self._wall_offset = wall_s - trio.current_time() if wall_s is not None else None
        self._offset = self._wall_s() - trio.current_time()
        self._paused_at: float | None = None
        self._reasons: set[Reason] = set()
        self._lost_since = 0.0
        self._not_before_ms = 0

    def _wall_s(self) -> float:
        return time.time() if self._wall_offset is None else trio.current_time() + self._wall_offset

    def now_ms(self) -> int:
        moment = self._trio_time() if self._paused_at is None else self._paused_at
        now_ms = round((moment + self._offset) * 1000)
        if now_ms > self._not_before_ms:
            self._not_before_ms = now_ms
        return self._not_before_ms

    def wall_ms(self) -> int:
        return round(self._wall_s() * 1000)

    def deadline(self, moment_ms: int) -> float:
        """The Trio time at which to check whether this moment of `now_ms` has come: half a millisecond late rather than early."""
        if self._paused_at is not None:
            return trio.current_time() + PAUSED_LOOK_S
        return (moment_ms + 0.5) / 1000 - self._offset

    def wall_deadline(self, moment_ms: int) -> float:
        """The Trio time at which to check whether this moment of `wall_ms` has come: before then, if it is far away."""
        now = trio.current_time()
        return now + min((moment_ms + 0.5) / 1000 - self._wall_s(), WALL_LOOK_S)

    @property
    def is_paused(self) -> bool:
        """Whether the clock stands still."""
        return self._paused_at is not None

    def pause(self, reason: Reason, since: float | None = None) -> None:
        """Stop the clock.

        since: the Trio time at which that began, if it was noticed only later. The clock never goes back: it makes up for the time it has
        already shown by standing still a little longer afterwards.
        """
        self._reasons.add(reason)
        if self._paused_at is None:
            self._paused_at = trio.current_time()
            self._lost_since = self._paused_at if since is None else min(since, self._paused_at)

    def resume(self, reason: Reason) -> None:
        """Start the clock again, unless there is another reason for it to stand still."""
        self._reasons.discard(reason)
        if self._paused_at is not None and not self._reasons:
            self._not_before_ms = self.now_ms()
            self._offset -= trio.current_time() - self._lost_since
            self._paused_at = None

    def skip(self, since: float) -> None:
        """Take back the time since this Trio time, for a clock that is not paused. It makes up for what it has shown as after a pause."""
        self._offset -= trio.current_time() - since


class SleepWatch(trio.abc.Instrument):
    """Notices that this process, or its container, was stopped for a while, and leaves that time out of the clock.

    It nearly always does so before anything that arrived meanwhile is handled.
    """

    def __init__(self, clock: Clock, set_clocks_right: Callable[[], Awaitable[None]]) -> None:
        """set_clocks_right: tells everybody what the clock shows."""
        self._clock = clock
        self._set_clocks_right = set_clocks_right
        # Called directly, since it is read before and after each wait for I/O.
        self._trio_time = trio.lowlevel.current_clock().current_time
        self._due = self._trio_time()
        self._slept_s = 0.0

    def before_io_wait(self, timeout: float) -> None:
        self._due = self._look() + timeout

    def after_io_wait(self, timeout: float) -> None:
        self._due = self._look()

    def _look(self) -> float:
        now = self._trio_time()
        if now - self._due > ASLEEP_S and not self._clock.is_paused:
            self._clock.skip(self._due)
            self._slept_s += now - self._due
        return now

    async def run(self) -> None:
        """Log each stop and set clocks right after it, until cancelled."""
        trio.lowlevel.add_instrument(self)
        try:
            while True:
                await trio.sleep(AWAKE_LOOK_S)
                if self._slept_s:
                    logger.warning(
                        "this server did not run for %.1f seconds: stopped, or the machine too busy; in races that time does not count",
                        self._slept_s,
                    )
                    self._slept_s = 0.0
                    await self._set_clocks_right()
        finally:
            trio.lowlevel.remove_instrument(self)
