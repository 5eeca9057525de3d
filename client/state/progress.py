"""How a race is going, read off its seats' curves: who leads and since when, what somebody just did, the largest swing. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from client.game.moves import goes_home
from protocol.record import Record
from protocol.views import GhostInfo, SeatInfo

Points: TypeAlias = tuple[tuple[int, int], ...]
"""(ms from the start, cards home), ordered by time; between two points the count does not change."""

SWING_MS = 20_000
"""Longest stretch in which a swing is looked for, or a sixth of the race if that is longer. What took the whole race was not a swing."""


class Lead(NamedTuple):
    """seats: who has the most; more than one if they share the lead. by: cards ahead of the next.

    since_ms: since when; 0 for from the start, and if that is not known.
    """

    seats: tuple[int, ...]
    by: int
    since_ms: int


class Swing(NamedTuple):
    """A stretch in which a seat fell back against another. before, after: how many cards it was ahead by; negative if behind."""

    from_ms: int
    to_ms: int
    before: int
    after: int

    @property
    def lost(self) -> int:
        return self.before - self.after


def curves(record: Record) -> tuple[Points, ...]:
    """For each seat, (ms from the start, cards home) from the start to the seat's end, with a point for each change."""
    starts: list[int | None] = [None] * len(record.seats)
    points: list[list[tuple[int, int]]] = [[] for _ in record.seats]
    for move in record.moves:
        if not 0 <= move.seat < len(points):
            continue
        line = points[move.seat]
        if not line:
            # If the first move brought a card home, the seat had one less before it.
            starts[move.seat] = move.home - (1 if goes_home(move.move) else 0)
            line.append((0, starts[move.seat] or 0))
        if move.home != line[-1][1]:
            line.append((move.at_ms, move.home))
    known = [home for home in starts if home is not None]
    for line, seat in zip(points, record.seats, strict=True):
        if not line:
            line.append((0, min([*known, seat.home])))
        line.append((max(seat.ended_at_ms, line[-1][0]), seat.home))
    return tuple(tuple(line) for line in points)


def measured(points: tuple[Points, ...], seats: Sequence[SeatInfo | GhostInfo], elapsed_ms: int) -> tuple[Points, ...]:
    """The curves with a new point for each seat whose count has changed; the same tuple if none has."""
    known = points if len(points) == len(seats) else ((),) * len(seats)
    counted = tuple(
        line if line and line[-1][1] == info.home else (*line, (_counted_at(line, info, elapsed_ms), info.home))
        for line, info in zip(known, seats, strict=True)
    )
    return points if counted == points else counted


def _counted_at(line: Points, info: SeatInfo | GhostInfo, elapsed_ms: int) -> int:
    """When a seat's count changed: at its last move, of which one hears late after a lost connection. A new curve begins now."""
    return info.elapsed_ms if line and line[-1][0] < info.elapsed_ms < elapsed_ms else elapsed_ms


def home_at(line: Points, ms: int) -> int:
    """Cards home at a moment; before the first point, the count of that point."""
    at = bisect_right(line, (ms, 1 << 30)) - 1
    return line[max(at, 0)][1] if line else 0


def lead(curves: Sequence[Points], now_ms: int, heard_from_ms: int = 0) -> Lead:
    """Who leads now; nobody if fewer than two curves are known. heard_from_ms: before this moment not everything was heard."""
    if sum(map(bool, curves)) < 2:
        return Lead((), 0, 0)
    ahead = _ahead(curves, now_ms)
    since_ms = 0
    for ms in sorted({point[0] for line in curves for point in line if point[0] <= now_ms}, reverse=True):
        if _ahead(curves, ms)[0] != ahead[0]:
            break
        since_ms = ms
    return Lead(*ahead, since_ms if since_ms > heard_from_ms else 0)


def _ahead(curves: Sequence[Points], ms: int) -> tuple[tuple[int, ...], int]:
    homes = {seat: home_at(line, ms) for seat, line in enumerate(curves) if line}
    most, next_ = sorted(homes.values(), reverse=True)[:2]
    return tuple(seat for seat, home in homes.items() if home == most), most - next_


def largest_swing(own: Points, other: Points) -> Swing | None:
    """The stretch in which `own` fell back the most against `other`; None if it never did."""
    moments = sorted({ms for line in (own, other) for ms, _ in line})
    if not moments:
        return None
    within_ms = max(SWING_MS, moments[-1] // 6)
    margins = [(ms, home_at(own, ms) - home_at(other, ms)) for ms in moments]
    best: Swing | None = None
    for at, (to_ms, after) in enumerate(margins):
        for (_, before), (changed_ms, _) in pairwise(margins[: at + 1]):
            # Start at the last moment before the change.
            from_ms = changed_ms - 1
            swing = Swing(from_ms, to_ms, before, after)
            # Of two equally large swings the shorter one says more.
            if to_ms - from_ms <= within_ms and swing.lost > 0 and (best is None or _size(swing) > _size(best)):
                best = swing
    return best


def _size(swing: Swing) -> tuple[int, int]:
    return swing.lost, swing.from_ms - swing.to_ms
