"""Makes standings from scores: by points, then by the format's tie-breaks, one after the other. Those still equal share a place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import assert_never

from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import RankedEntrant, TieBreak
from server.tournaments.pairing.tie_breaks import Scores


def rank(
    crosstable: Crosstable, scores: Scores, tie_breaks: Sequence[TieBreak], *, meetings: int = 1, struck: Iterable[str] = ()
) -> tuple[RankedEntrant, ...]:
    """meetings: how often two entrants meet in a whole crosstable. struck: entrants placed behind everybody else, without being ranked.

    Only results count, never when they came."""
    seeds = crosstable.seeds
    behind = frozenset(struck)
    values: dict[str, tuple[float, ...]] = dict.fromkeys(seeds, ())
    groups = [
        group
        for block in _split(seeds, {entrant: float(entrant not in behind) for entrant in seeds})
        for group in _by_points(block, scores)
    ]
    for tie_break in tie_breaks:
        split: list[list[str]] = []
        for group in groups:
            found = _values(scores, tie_break, group, meetings)
            for entrant in group:
                values[entrant] += (found[entrant],)
            split += _split(group, {entrant: -place for entrant, place in found.items()} if tie_break == "direct-encounter" else found)
        groups = split
    places = [1 + sum(map(len, groups[:number])) for number in range(len(groups))]
    return tuple(
        row(crosstable, scores, entrant, place, values[entrant]) for place, group in zip(places, groups, strict=True) for entrant in group
    )


def row(crosstable: Crosstable, scores: Scores, entrant: str, place: int, tie_breaks: tuple[float, ...]) -> RankedEntrant:
    points = [each.points for each in scores.entrant_rounds[entrant] if each.seated]
    return RankedEntrant(
        place=place,
        entrant=entrant,
        points=scores.points(entrant),
        tie_breaks=tie_breaks,
        won=points.count(1.0),
        drawn=points.count(0.5),
        lost=points.count(0.0),
        home=scores.home(entrant),
        withdrawn=not crosstable.entrants[entrant].active,
    )


def _by_points(group: Sequence[str], scores: Scores) -> list[list[str]]:
    return _split(group, {entrant: scores.points(entrant) for entrant in group})


def _split(group: Sequence[str], value: Mapping[str, float]) -> list[list[str]]:
    """The group as groups of equals, greatest value first. Equals stay in the order given, which is that of the seeds."""
    ordered = sorted(group, key=lambda entrant: -value[entrant])
    return [list(equals) for _, equals in groupby(ordered, key=value.__getitem__)]


def _values(scores: Scores, tie_break: TieBreak, group: Sequence[str], meetings: int) -> Mapping[str, float]:
    match tie_break:
        case "buchholz":
            return {entrant: scores.buchholz(entrant) for entrant in group}
        case "sonneborn-berger":
            return {entrant: scores.sonneborn_berger(entrant) for entrant in group}
        case "direct-encounter":
            return {entrant: float(place) for entrant, place in scores.direct_encounter(group, meetings).items()}
        case "cards-home":
            return {entrant: float(scores.home(entrant)) for entrant in group}
    assert_never(tie_break)
