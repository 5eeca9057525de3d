"""The ghosts beside a run: how far they have come, and what they do next. Nothing a ghost does is told before its moment. Pure.

A ghost goes by this race's clock: what it did after so many milliseconds of its own run, it does after as many of this one. When this run
is over the ghosts stand still; how they ended is on the board of the deal.
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
        self._race = 0  # the number of the race that `_made` is about
        self._lines: tuple[GhostLine, ...] = ()
        self._made: list[int] = []

    def come(self, lines: tuple[GhostLine, ...]) -> None:
        """Set the ghosts beside the run, before it begins."""
        self._lines = lines
        self._made = [0] * len(lines)

    def due(self, race: Race) -> int | None:
        """When the next ghost does something, in the race's time."""
        if not self._lines or race.phase != "racing" or race.starts_at is None:
            return None
        following = [line.steps[made].at_ms for line, made in zip(self._lines, self._made, strict=True) if made < len(line.steps)]
        return race.starts_at + min(following) if following else None

    def advance(self, race: Race, now: int) -> list[GhostInfo]:
        """How far the ghosts have come at `now`: those who have done something since the last call."""
        if not self._lines or race.phase != "racing" or race.starts_at is None or now < race.starts_at:
            return []
        if race.number != self._race:
            # Another race: they start again.
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
        """All ghosts, as they were last told."""
        return tuple([self._info(number, race) for number in range(len(self._lines))])

    def _info(self, number: int, race: Race) -> GhostInfo:
        line, made = self._lines[number], self._made[number] if race.number == self._race else 0
        begun = race.phase in ("racing", "over") and bool(race.deal.firsts)
        if not made and not begun:
            return GhostInfo(ghost=number, name=line.name, state="waiting", ply=0, home=0, elapsed_ms=0)
        step = line.steps[max(made - 1, 0)]
        # Before their first move, all have the cards home that the deal put there.
        home = step.home if step.home is not None else race.deal.firsts[0].home
        return GhostInfo(ghost=number, name=line.name, state=step.state, ply=step.ply, home=home, elapsed_ms=step.at_ms)


def ghosts_wanted(spec: SharedDealSpec | None, start_position: StartPosition | None) -> tuple[GhostWanted, ...]:
    """Whose lines are shown beside the races of a room: of the player who went on from there, or of those who ran the same deal."""
    if start_position is not None:
        return (GhostWanted(race=start_position.past.race, seat=start_position.past.seat, from_ply=start_position.ply),)
    return tuple(GhostWanted(race=race) for race in spec.ghosts) if spec is not None else ()
