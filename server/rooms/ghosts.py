"""The ghosts beside a run: as far as they have come by now, and what they do next. Nothing of a ghost is told before its moment.

A ghost's clock is the race's: what it did at so many milliseconds of its own run, it does when so many have passed of this one. When this
run is over the ghosts stand still: what they came to in the end is on the board of the deal. Pure.
"""

from __future__ import annotations

from protocol.views import GhostInfo
from server.race.ghosts import GhostLine
from server.race.machine import Race
from server.race.shared_deal_spec import SharedDealSpec
from server.race.start_position import StartPosition
from server.rooms.ports import GhostWanted


class Ghosts:
    def __init__(self) -> None:
        self._race = 0  # the number of the one in which so many steps were made
        self._lines: tuple[GhostLine, ...] = ()
        self._made: list[int] = []

    def come(self, lines: tuple[GhostLine, ...]) -> None:
        """These are beside the run, before it begins."""
        self._lines = lines
        self._made = [0] * len(lines)

    def due(self, race: Race) -> int | None:
        """When the next ghost does something, in the race's time."""
        if not self._lines or race.phase != "racing" or race.starts_at is None:
            return None
        following = [line.steps[made].at_ms for line, made in zip(self._lines, self._made, strict=True) if made < len(line.steps)]
        return race.starts_at + min(following) if following else None

    def advance(self, race: Race, now: int) -> list[GhostInfo]:
        """How those stand now who have done something since the last time, by the time `now`."""
        if not self._lines or race.phase != "racing" or race.starts_at is None or now < race.starts_at:
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
        return tuple([self._info(number, race) for number in range(len(self._lines))])

    def _info(self, number: int, race: Race) -> GhostInfo:
        line, made = self._lines[number], self._made[number] if race.number == self._race else 0
        begun = race.phase in ("racing", "over") and bool(race.deal.firsts)
        if not made and not begun:
            return GhostInfo(ghost=number, name=line.name, state="waiting", ply=0, home=0, elapsed_ms=0)
        step = line.steps[max(made - 1, 0)]
        # All of them began with the cards home that the deal has brought.
        home = step.home if step.home is not None else race.deal.firsts[0].home
        return GhostInfo(ghost=number, name=line.name, state=step.state, ply=step.ply, home=home, elapsed_ms=step.at_ms)


def ghosts_wanted(spec: SharedDealSpec | None, start_position: StartPosition | None) -> tuple[GhostWanted, ...]:
    """Whose lines are shown beside the races of a room: of whoever played on from there, or of those who had the same deal."""
    if start_position is not None:
        return (GhostWanted(race=start_position.past.race, seat=start_position.past.seat, from_ply=start_position.ply),)
    return tuple(GhostWanted(race=race) for race in spec.ghosts) if spec is not None else ()
