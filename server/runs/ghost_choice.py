"""Chooses the earlier runs to show beside a run as ghosts: the best, and those nearest to the runner. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.race.ghosts import MOST_GHOSTS
from server.runs.results import RunResult

BEST: Final = 4
"""At most so many ghosts are chosen for their result; the others for being near to the runner."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """rating: of the player who ran it, in points; None if they have none. ended_at_ms: Unix time."""

    result: RunResult
    rating: int | None
    ended_at_ms: int


def choose(candidates: Sequence[Candidate], rating: int | None) -> tuple[str, ...]:
    """At most MOST_GHOSTS race ids, ordered by when the runs ended, which says nothing about how they went. rating: the runner's.

    Nearer candidates have ratings more like the runner's; if one of the two has none, runs that ended later count as nearer.
    """
    by_worth = sorted(candidates, key=lambda one: (one.result.standing.forfeited, -one.result.home, one.result.home_at_ms, one.ended_at_ms))
    best, others = by_worth[:BEST], by_worth[BEST:]

    def distance(one: Candidate) -> tuple[bool, int, int]:
        known = rating is not None and one.rating is not None
        return not known, abs(one.rating - rating) if one.rating is not None and rating is not None else 0, -one.ended_at_ms

    nearest = sorted(others, key=distance)[: MOST_GHOSTS - len(best)]
    return tuple(one.result.race for one in sorted((*best, *nearest), key=lambda one: (one.ended_at_ms, one.result.race)))
