"""The ghosts beside a run: as far as they have come by now, and what they do next. Nothing of a ghost is told before its moment.

A ghost's clock is the race's: what it did at so many milliseconds of its own run, it does when so many have passed of this one. When this
run is over the ghosts stand still: what they came to in the end is on the board of the deal.
"""

from __future__ import annotations

import logging

from protocol.views import GhostInfo
from server.race.ghosts import GhostLine
from server.race.machine import Race
from server.rooms.ports import GhostLines, GhostWanted
from server.store.errors import StoreError

logger = logging.getLogger("carpet.rooms")


class Haunting:
    def __init__(self, fetch: GhostLines, wanted: tuple[GhostWanted, ...]) -> None:
        self._fetch = fetch
        self._wanted = wanted
        self._race = 0  # the number of the one in which so much was made
        self._lines: tuple[GhostLine, ...] = ()
        self._made: list[int] = []

    async def come(self) -> None:
        """Have them read. Where they cannot be, the run goes on without."""
        if not self._wanted:
            return
        try:
            self._lines = await self._fetch(self._wanted)
        except StoreError as error:
            logger.warning("a run is without its ghosts: %s", error)
        self._made = [0] * len(self._lines)

    def due(self, race: Race) -> int | None:
        """When the next ghost does something, in the race's time."""
        if race.phase != "racing" or race.starts_at is None:
            return None
        following = [line.steps[made].at_ms for line, made in zip(self._lines, self._made, strict=True) if made < len(line.steps)]
        return race.starts_at + min(following) if following else None

    def advance(self, race: Race, now: int) -> list[GhostInfo]:
        """How those stand now who have done something since the last time, by the time `now`."""
        if race.phase != "racing" or race.starts_at is None or now < race.starts_at:
            return []
        if race.number != self._race:
            # Once more, from the start.
            self._race, self._made = race.number, [0] * len(self._lines)
        elapsed_ms = now - race.starts_at
        moved: list[GhostInfo] = []
        for number, line in enumerate(self._lines):
            made = line.until(elapsed_ms)
            if made > self._made[number]:
                self._made[number] = made
                moved.append(self._info(number, race))
        return moved

    def infos(self, race: Race) -> tuple[GhostInfo, ...]:
        """All of them, as they were told last."""
        return tuple(self._info(number, race) for number in range(len(self._lines)))

    def _info(self, number: int, race: Race) -> GhostInfo:
        line, made = self._lines[number], self._made[number] if race.number == self._race else 0
        begun = race.phase in ("racing", "over") and bool(race.firsts)
        # All of them began with the cards home that the deal has brought.
        first = race.firsts[0].home if begun else 0
        if not made:
            return GhostInfo(ghost=number, name=line.name, state="racing" if begun else "waiting", ply=0, home=first, elapsed_ms=0)
        step = line.steps[made - 1]
        home = step.home if step.home is not None else first
        return GhostInfo(ghost=number, name=line.name, state=step.state, ply=step.ply, home=home, elapsed_ms=step.at_ms)
