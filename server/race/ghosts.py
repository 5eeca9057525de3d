"""Ghosts: an earlier run of a deal, as the player who runs it now may see it: how far it was when, but not with which cards. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from protocol.record import Record
from protocol.views import SeatState

MOST_GHOSTS = 7
"""The most ghosts shown beside one board."""


@dataclass(frozen=True, slots=True)
class GhostStep:
    """How far a ghost is at `at_ms` of its clock. ply: moves made. home: cards home; None before the first move, meaning as dealt."""

    at_ms: int
    ply: int
    home: int | None
    state: SeatState


@dataclass(frozen=True, slots=True)
class GhostLine:
    """One run. steps: in order of time; the first is the start, as dealt, and the last is the end of the run."""

    name: str
    steps: tuple[GhostStep, ...]

    def until(self, elapsed_ms: int) -> int:
        """How many of its steps were made up to and including this moment of its clock."""
        return bisect_right(self.steps, elapsed_ms, key=lambda step: step.at_ms)


def ghost_line(record: Record, *, seat: int, from_ply: int) -> GhostLine:
    """The line of one seat of a race. from_ply: take only what it did after that many moves, counting moves and time from there."""
    own = [move for move in record.moves if move.seat == seat]
    ended = record.seats[seat]
    start_ms = own[from_ply - 1].at_ms if from_ply else 0
    racing: SeatState = "racing"
    moves = [GhostStep(move.at_ms - start_ms, ply - from_ply, move.home, racing) for ply, move in enumerate(own, 1) if ply > from_ply]
    home = moves[-1].home if moves else (own[from_ply - 1].home if from_ply else None)
    end = GhostStep(max(ended.ended_at_ms - start_ms, 0), len(own) - from_ply, home, ended.state)
    if moves and moves[-1].at_ms >= end.at_ms:
        # The move that ended the run: the end tells of it.
        moves.pop()
    return GhostLine(ended.name, (GhostStep(0, 0, None, racing), *moves, end))
