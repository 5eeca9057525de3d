"""Figures of a server, for whoever shows them. Must not know who that is.

They are read in another thread: what `read` gives must be there already, or be made without waiting and without changing anything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

BOUNDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds, up to which durations are counted together."""


@dataclass(frozen=True, slots=True)
class Figure:
    """name: without the prefix, and without the `_total` of a counter."""

    name: str
    what: str
    read: Callable[[], float]
    kind: Literal["gauge", "counter"] = "gauge"


@dataclass(frozen=True, slots=True)
class FigureBy:
    """The same for each of several things. by: what these are, as `code`."""

    name: str
    what: str
    by: str
    read: Callable[[], Mapping[str, float]]
    kind: Literal["gauge", "counter"] = "counter"


class Durations:
    """How long something took, by BOUNDS: `counts[n]` took BOUNDS[n] at most and more than BOUNDS[n - 1], the last one more than all."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum_s += seconds


@dataclass(frozen=True, slots=True)
class DurationFigure:
    """name: with its unit, `_seconds`."""

    name: str
    what: str
    durations: Durations


AnyFigure: TypeAlias = Figure | FigureBy | DurationFigure
