"""A server's figures, for metrics. Must not know who shows them.

They are read in another thread: `read` must return what is there already, or compute it without waiting and without changing anything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

BOUNDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds, in seconds, of the buckets in which durations are counted."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. name: without the prefix, and without a counter's `_total`."""

    name: str
    what: str
    read: Callable[[], float]
    kind: Literal["gauge", "counter"] = "gauge"


@dataclass(frozen=True, slots=True)
class FigureBy:
    """One figure for each of several things. by: the label that tells them apart, such as `code`."""

    name: str
    what: str
    by: str
    read: Callable[[], Mapping[str, float]]
    kind: Literal["gauge", "counter"] = "counter"


class Durations:
    """How long something took: `counts[n]` counts those above BOUNDS[n - 1] and up to BOUNDS[n]; the last, those above all bounds."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum_s += seconds


@dataclass(frozen=True, slots=True)
class DurationFigure:
    """The durations of one thing. name: with its unit, `_seconds`."""

    name: str
    what: str
    durations: Durations


AnyFigure: TypeAlias = Figure | FigureBy | DurationFigure
