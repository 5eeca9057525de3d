"""The server's two clocks, both in whole milliseconds of Unix time.

`now_ms` is for races and for whatever takes a while: it never jumps, whatever becomes of the wall clock, and stands still while it is
paused, because no time may pass that nobody can use. `wall_ms` is for dates: what the machine's wall clock shows at the moment.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

import trio

logger = logging.getLogger("carpet.rooms")

LOOK_S: Final = 60.0
"""Seconds after which whoever waits for a date looks at the wall clock again: it may have been set, or the machine may have slept."""

PAUSED_LOOK_S: Final = 0.25
"""Seconds after which whoever waits for a moment looks again while the clock stands still."""


ASLEEP_S: Final = 2.0
"""Seconds by which a process is woken late that was stopped, and not only kept waiting by others of a busy machine."""

AWAKE_LOOK_S: Final = 1.0
"""Seconds between two times at which a process wakes up by itself, so that it is known to within that when it was stopped."""


class Clock:
    """Create it inside the Trio run whose clock it reads."""

    __slots__ = ("_lost_since", "_not_before_ms", "_offset", "_paused_at", "_trio_time", "_wall_offset")

    def __init__(self, wall_s: float | None = None) -> None:
        """wall_s: what a made-up wall clock shows now, in Unix time; by default the machine's is read."""
        # Asked directly, many times for each move.
        self._trio_time = trio.lowlevel.current_clock().current_time
        self._wall_offset = wall_s - trio.current_time() if wall_s is not None else None
        self._offset = self._wall_s() - trio.current_time()
        self._paused_at: float | None = None
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
        """The Trio time at which to look whether this moment of `now_ms` has come. Half a millisecond late rather than early."""
        if self._paused_at is not None:
            return trio.current_time() + PAUSED_LOOK_S
        return (moment_ms + 0.5) / 1000 - self._offset

    def wall_deadline(self, moment_ms: int) -> float:
        """The Trio time at which to look whether this moment of `wall_ms` has come: some time before it, where it is far away."""
        now = trio.current_time()
        return now + min((moment_ms + 0.5) / 1000 - self._wall_s(), LOOK_S)

    @property
    def is_paused(self) -> bool:
        """Whether no time passes now."""
        return self._paused_at is not None

    def pause(self, since: float | None = None) -> None:
        """Let no time pass: nobody listens, or nothing can be kept.

        since: Trio's time, where that was so before it was noticed. What has passed of it already the clock makes up for afterwards, by
        standing still a little longer: it never goes back.
        """
        if self._paused_at is None:
            self._paused_at = trio.current_time()
            self._lost_since = self._paused_at if since is None else min(since, self._paused_at)

    def resume(self) -> None:
        """Let time pass again."""
        if self._paused_at is not None:
            self._not_before_ms = self.now_ms()
            self._offset -= trio.current_time() - self._lost_since
            self._paused_at = None

    def skip(self, since: float) -> None:
        """Let no time have passed since then, in Trio's time, where it is not paused. What was told of it already is made up for as after
        a pause.
        """
        self._offset -= trio.current_time() - since


class SleepWatch(trio.abc.Instrument):
    """Notices that this process, or its container, was stopped for a while, and leaves that out of the clock.

    Nearly always before anything is made of what came meanwhile.
    """

    def __init__(self, clock: Clock, set_clocks_right: Callable[[], Awaitable[None]]) -> None:
        """set_clocks_right: tells everybody what the clock shows."""
        self._clock = clock
        self._set_clocks_right = set_clocks_right
        # Asked directly, before and after each time that nothing is to be done.
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
        """Until cancelled."""
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
