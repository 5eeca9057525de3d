"""What a load has measured: times in histograms, the counts of each process, and the result of all of them. Pure."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final, TypeAlias

import msgspec

Quantiles: TypeAlias = dict[str, float | None]

_STEPS: Final = 16
"""Histogram buckets between a time and twice that time; a quantile is right to four per cent."""


class Histogram(msgspec.Struct):
    """Times in milliseconds, counted in buckets of equal ratio, so that several processes' counts can be added up."""

    counts: Counter[int] = msgspec.field(default_factory=Counter)
    most: float = 0.0

    def add(self, ms: float) -> None:
        self.counts[math.floor(math.log2(max(ms, 0.001)) * _STEPS)] += 1
        self.most = max(self.most, ms)

    def merge(self, other: Histogram) -> None:
        self.counts.update(other.counts)
        self.most = max(self.most, other.most)

    @property
    def total(self) -> int:
        return self.counts.total()

    def by_doubling(self) -> list[tuple[float, int]]:
        """Upper bounds (powers of two, in ms) with how many times lie between each and the bound before, without empty ends."""
        doubled: Counter[int] = Counter()
        for bucket, count in self.counts.items():
            doubled[bucket // _STEPS] += count
        steps = range(min(doubled), max(doubled) + 1) if doubled else ()
        return [(2.0 ** (step + 1), doubled[step]) for step in steps]

    def quantile(self, part: float) -> float | None:
        """The time below which this share of them lies; None if there are none."""
        wanted, seen = part * self.total, 0
        for bucket, count in sorted(self.counts.items()):
            seen += count
            if seen >= wanted:
                return min(float(2 ** ((bucket + 1) / _STEPS)), self.most)
        return None


class LoadCounts(msgspec.Struct):
    """by_second: answers to moves in each measured second. busy: seconds of processor time. setup_s: until the last race started."""

    moves: int = 0
    races: int = 0
    by_second: dict[int, Histogram] = {}
    progress: Histogram = msgspec.field(default_factory=Histogram)
    watched: Histogram = msgspec.field(default_factory=Histogram)
    errors: dict[str, int] = {}
    seconds: float = 0.0
    busy: float = 0.0
    setup_s: float = 0.0


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one load. Times in milliseconds. players_s: players seated and dealt per second. busiest: the share of a core that the
    busiest generator process took; near 1, it was the bottleneck, not the server. by_second: the answers to moves in each second.
    """

    races: int
    processes: int
    seconds: float
    moves: int
    moves_s: float
    players_s: float
    view_ms: Quantiles
    progress_ms: Quantiles
    watched_ms: Quantiles
    errors: dict[str, int]
    generator_cpu_s: float
    busiest: float
    view: Histogram
    by_second: dict[int, Histogram]

    def holds(self, bound_ms: float) -> bool:
        """Whether nothing failed and 99 % of the moves were answered within the bound."""
        p99 = self.view_ms["p99"]
        return not self.errors and p99 is not None and p99 <= bound_ms


def together(tallies: list[LoadCounts]) -> LoadResult:
    """The result of a load, from what each of its processes has counted."""
    view, progress, watched = Histogram(), Histogram(), Histogram()
    by_second: dict[int, Histogram] = {}
    errors: Counter[str] = Counter()
    for tally in tallies:
        for second, views in tally.by_second.items():
            view.merge(views)
            by_second.setdefault(second, Histogram()).merge(views)
        progress.merge(tally.progress)
        watched.merge(tally.watched)
        errors.update(tally.errors)
    seconds = max(tally.seconds for tally in tallies)
    moves = sum(tally.moves for tally in tallies)
    return LoadResult(
        races=sum(tally.races for tally in tallies),
        processes=len(tallies),
        seconds=round(seconds, 2),
        moves=moves,
        moves_s=round(moves / seconds, 1),
        players_s=round(sum(2 * tally.races / tally.setup_s for tally in tallies), 1),
        view_ms=_quantiles(view),
        progress_ms=_quantiles(progress),
        watched_ms=_quantiles(watched),
        errors=errors,
        generator_cpu_s=round(sum(tally.busy for tally in tallies), 2),
        busiest=round(max(tally.busy / tally.seconds for tally in tallies), 2),
        view=view,
        by_second=by_second,
    )


def _quantiles(histogram: Histogram) -> Quantiles:
    found = {"p50": histogram.quantile(0.5), "p90": histogram.quantile(0.9), "p99": histogram.quantile(0.99)}
    most = histogram.most if histogram.counts else None
    return {name: None if ms is None else round(ms, 2) for name, ms in [*found.items(), ("max", most)]}
