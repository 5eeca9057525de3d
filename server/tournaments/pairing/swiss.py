"""Swiss: a fixed number of rounds with everybody in each, against entrants with equal points. If possible, nobody meets the same opponent
or has a bye twice (`matching` has the order of preferences).

By FIDE's basic rules (handbook C.04.1) a forfeited race is not a meeting, so the two can be paired again, and a win by forfeit counts as a
bye. Late entrants start with no points. The tournament ends early if fewer than two entrants are left.

Entrants who have a bye on request or from the director are not paired. By the same rules a full-point bye stands in the way of a
pairing-allocated one, and a half-point bye does not. If nobody else is left, because others have withdrawn, the round has no table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from server.tournaments.pairing.crosstable import Crosstable, Format
from server.tournaments.pairing.matching import Contender, Float, pair
from server.tournaments.pairing.rounds import RankedEntrant, Round, TieBreak, seat
from server.tournaments.pairing.standings import rank
from server.tournaments.pairing.tie_breaks import Scores, score


@dataclass(frozen=True, slots=True)
class Swiss(Format):
    """rounds: at least one. With log2 of the field, rounded up, one entrant is left without a loss. With no fewer rounds than entrants,
    some meet twice."""

    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("buchholz", "sonneborn-berger", "direct-encounter", "cards-home")
    rounds: int

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.rounds < 1:
            raise ValueError(f"a Swiss tournament of {self.rounds} rounds cannot be played: give it at least one")

    def is_all_paired(self, crosstable: Crosstable) -> bool:
        return len(crosstable.rounds) >= self.rounds

    def next_round(self, crosstable: Crosstable) -> Round | None:
        if self.is_all_paired(crosstable) or len(crosstable.active) < 2:
            return None
        scores, number = self._scores(crosstable), len(crosstable.rounds) + 1
        present = [entrant for entrant in crosstable.active if (number, entrant) not in crosstable.byes]
        return seat(number, pair([contender(scores, entrant) for entrant in present]) if present else ())

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        return rank(crosstable, self._scores(crosstable), self.tie_breaks)

    def _scores(self, crosstable: Crosstable) -> Scores:
        return score(crosstable, rounds=self.rounds, forfeits_are_played=False)


def contender(scores: Scores, entrant: str) -> Contender:
    """The entrant as the matching sees them, once every round so far has its results."""
    entrant_rounds = scores.entrant_rounds[entrant]
    return Contender(
        id=entrant,
        half_points=int(2 * scores.points(entrant)),
        met=Counter(each.opponent for each in entrant_rounds if each.played and each.opponent is not None),
        byes=sum(not each.played and not each.asked and (each.opponent is None or each.points > 0) for each in entrant_rounds),
        floated=_floated(scores, entrant) if entrant_rounds else None,
    )


def _floated(scores: Scores, entrant: str) -> Float | None:
    """Whether they met somebody with fewer or with more points in the last round, going by the points before it."""
    last = scores.entrant_rounds[entrant][-1]
    if last.opponent is None or not last.played:
        return None
    own = scores.points(entrant) - last.points
    its = scores.points(last.opponent) - scores.entrant_rounds[last.opponent][-1].points
    return None if own == its else "down" if own > its else "up"
