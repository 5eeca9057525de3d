"""Swiss pairing as a minimum-cost matching: who meets whom in one round. The rule of the file:

Of two pairings of the whole field, the better one is better in the first of these points in which they differ:

1. fewer meetings that are not the first of their two entrants;
2. a bye for somebody who has had fewer of them;
3. a bye for somebody with fewer points;
4. smaller differences of points: the least sum of their squares, in half points, so that one float of a whole point costs more than two of
   half a point;
5. fewer entrants who float the same way as in the round before;
6. within a group of equal points the upper half meets the lower half in order (the fold of the Dutch system); floaters come from the
   bottom of their group and meet the top of the next one; the bye goes to the bottom of its group. Deviations, in places, are squared and
   summed.

This is optimal for one round: it does not look ahead to whether later rounds can be paired without a second meeting.

FIDE's Dutch system (handbook C.04.3) decides group by group, and much of it is about colours, which races do not have. Here the whole field
is decided at once. `networkx.max_weight_matching` (Galil's blossom method) finds the matching. It is pure Python, well maintained, and
exact on whole numbers of any size, so that the six rules fit in one number. Considered and not taken: `py4swiss` (the Dutch system with
colours, from tournament report files; needs compiled code and pydantic) and `swisspair` (compiled; knows only ranks and excluded pairs). Of
several equally good pairings it always finds the same one with the same networkx; and a paired round is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from typing import Final, Literal

Float = Literal["down", "up"]
Edge = tuple[int, int]
"""Two ranks, the better one first; or a rank and BYE."""
Cost = tuple[int, int, int, int, int, int]
"""The cost of a pair, by the six rules above."""
BYE: Final = -1
"""In place of the opponent of the entrant who has the bye."""
FIRST_CHOICES: Final = 16
"""How many opponents each entrant has in the first attempt. With fewer it fails too often, with more it takes longer."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One entrant as pairing sees them. half_points: twice their points. met: how often, by opponent. byes: walkovers included."""

    id: str
    half_points: int
    met: Mapping[str, int] = field(default_factory=dict)
    byes: int = 0
    floated: Float | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A contender's place in their group, counted from 0 from its top and from its bottom."""

    top: int
    bottom: int

    @property
    def half(self) -> int:
        return (self.top + self.bottom + 1) // 2


class RankedField:
    """The contenders of one round, ranked by points; equals stay in the order given."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self.ranked = sorted(contenders, key=lambda contender: -contender.half_points)
        sizes: dict[int, int] = {}
        tops: list[int] = []
        for contender in self.ranked:
            tops.append(sizes.get(contender.half_points, 0))
            sizes[contender.half_points] = tops[-1] + 1
        self._places = [_Place(top, sizes[contender.half_points] - 1 - top) for top, contender in zip(tops, self.ranked, strict=True)]

    def cost(self, one: int, other: int) -> Cost:
        """The cost of a pair of ranks, one < other; or, if `other` is BYE, of a bye for `one`."""
        above, place = self.ranked[one], self._places[one]
        if other == BYE:
            return 0, above.byes, above.half_points, 0, 0, place.bottom**2
        below, its = self.ranked[other], self._places[other]
        again = above.met.get(below.id, 0)
        apart = above.half_points - below.half_points
        if apart == 0:
            return again, 0, 0, 0, 0, (its.top - place.top - place.half) ** 2
        floats = (above.floated == "down") + (below.floated == "up")
        return again, 0, 0, apart**2, floats, (place.bottom + its.top) ** 2

    def pairs(self) -> Iterator[Edge]:
        yield from combinations(range(len(self.ranked)), 2)
        if len(self.ranked) % 2:
            yield from ((rank, BYE) for rank in range(len(self.ranked)))


def pair(contenders: Sequence[Contender]) -> tuple[tuple[str, str | None], ...]:
    """The best pairing, as ids: the higher ranked of a pair first, pairs in the order of their first, and the bye last, against None.

    Only the order of the contenders decides among those with equal points, so equal input gives an equal pairing."""
    ranking = RankedField(contenders)
    edges = list(ranking.pairs())
    whole = _as_whole_numbers([ranking.cost(*edge) for edge in edges])
    chosen = _least_cost(dict(zip(edges, whole, strict=True)))
    names = {rank: contender.id for rank, contender in enumerate(ranking.ranked)}
    return tuple((names[one], names.get(other)) for one, other in sorted(chosen, key=lambda edge: (edge[1] == BYE, edge)))


def _least_cost(costs: Mapping[Edge, int]) -> list[Edge]:
    """The matching of least cost. Most pairs cannot be in it, and the time depends on their number, so a first attempt rules pairs out."""
    choices: dict[int, list[tuple[int, Edge]]] = {}
    for edge, cost in costs.items():
        for end in edge:
            choices.setdefault(end, []).append((cost, edge))
    few = {edge: cost for choice in choices.values() for cost, edge in nsmallest(FIRST_CHOICES, choice)}
    found = _match(few)
    if 2 * len(found) < len(choices):
        return _match(costs)
    # Half of each end's least cost is a lower bound for its share, and all halves for a matching. A pair that exceeds its two halves by
    # more than `found` exceeds all halves is in no matching as good as `found`.
    least = {end: min(choice)[0] for end, choice in choices.items()}
    spare = 2 * sum(costs[edge] for edge in found) - sum(least.values())
    return _match({edge: cost for edge, cost in costs.items() if 2 * cost - least[edge[0]] - least[edge[1]] <= spare})


def _match(costs: Mapping[Edge, int]) -> list[Edge]:
    """Of the matchings with the most pairs, one of least cost."""
    # Imported with the first round paired, because a server starts much faster without it.
    import networkx as nx

    graph = nx.Graph()
    worst = max(costs.values(), default=0)
    # Ranks are integers in order, so equal fields are matched equally. Names would hash differently in each process.
    graph.add_weighted_edges_from((one, other, worst - cost) for (one, other), cost in costs.items())
    return [edge if edge in costs else edge[::-1] for edge in nx.max_weight_matching(graph, maxcardinality=True)]


def _as_whole_numbers(costs: Sequence[Cost]) -> list[int]:
    """Numbers whose sums over any matching compare like the sums of the tuples, rule by rule."""
    scales, scale = [], 1
    for worst in (max(column, default=0) for column in list(zip(*costs, strict=True))[::-1]):
        scales.append(scale)
        scale *= worst * len(costs) + 1
    scales.reverse()
    return [sum(part * weight for part, weight in zip(cost, scales, strict=True)) for cost in costs]
