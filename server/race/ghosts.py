"""An earlier run of a deal, as whoever runs it now may see it: how far it was when, by its own clock, and not by which cards. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from protocol.record import Record
from protocol.views import SeatState

MOST_GHOSTS = 7
"""Beside one board."""


@dataclass(frozen=True, slots=True)
class GhostStep:
    """Where a ghost has come to at `at_ms` of its clock. ply: moves made. home: cards home, None before the first move: as dealt."""

    at_ms: int
    ply: int
    home: int | None
    state: SeatState


@dataclass(frozen=True, slots=True)
class GhostLine:
    """One run. steps: in the order of time; the first is the start, at which what was dealt is told, the last one its end."""

    name: str
    steps: tuple[GhostStep, ...]

    def until(self, elapsed_ms: int) -> int:
        """How many of its steps were made by a moment of its clock, that moment included."""
        return bisect_right(self.steps, elapsed_ms, key=lambda step: step.at_ms)


def ghost_line(record: Record, *, seat: int, from_ply: int) -> GhostLine:
    """The line of one seat of a race. from_ply: what it did behind so many moves, counted from there, by a clock from there."""
    own = [move for move in record.moves if move.seat == seat]
    ended = record.seats[seat]
    start_ms = own[from_ply - 1].at_ms if from_ply else 0
    racing: SeatState = "racing"
    moves = [GhostStep(move.at_ms - start_ms, ply - from_ply, move.home, racing) for ply, move in enumerate(own, 1) if ply > from_ply]
    home = moves[-1].home if moves else (own[from_ply - 1].home if from_ply else None)
    end = GhostStep(max(ended.ended_at_ms - start_ms, 0), len(own) - from_ply, home, ended.state)
    if moves and moves[-1].at_ms >= end.at_ms:
        # The move that ended it.
        moves.pop()
    return GhostLine(ended.name, (GhostStep(0, 0, None, racing), *moves, end))
