"""Swiss: a fixed number of rounds, everybody in all of them, entrants with equal points against each other; nobody meets twice, nobody has
two byes, while that can be avoided (`matching` says what is preferred to what).

By FIDE's basic rules (handbook C.04.1) a forfeited race is no meeting, so its two can be paired again, and a win by forfeit
counts as a bye. Late entrants start with no points. It ends early when fewer than two are left.
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
    """rounds: at least one. log2 of the field, rounded up, leaves one without a loss; no fewer than entrants make second meetings."""

    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("buchholz", "sonneborn-berger", "direct-encounter", "cards-home")
    rounds: int

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.rounds < 1:
            raise ValueError(f"a Swiss tournament of {self.rounds} rounds cannot be played: give it at least one")

    def next_round(self, crosstable: Crosstable) -> Round | None:
        if len(crosstable.rounds) >= self.rounds or len(crosstable.active) < 2:
            return None
        scores = self._scores(crosstable)
        return seat(len(crosstable.rounds) + 1, pair([contender(crosstable, scores, entrant) for entrant in crosstable.active]))

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        return rank(crosstable, self._scores(crosstable), self.tie_breaks)

    def _scores(self, crosstable: Crosstable) -> Scores:
        return score(crosstable, rounds=self.rounds, forfeits_are_played=False)


def contender(crosstable: Crosstable, scores: Scores, entrant: str) -> Contender:
    """The entrant as the matching sees them, when every round so far has its results."""
    turns = scores.turns[entrant]
    return Contender(
        id=entrant,
        half_points=int(2 * scores.points(entrant)),
        met=Counter(turn.opponent for turn in turns if turn.played and turn.opponent is not None),
        byes=sum(not turn.played and not turn.asked and (turn.opponent is None or turn.points > 0) for turn in turns),
        floated=_floated(scores, entrant) if turns else None,
    )


def _floated(scores: Scores, entrant: str) -> Float | None:
    """Whether they met somebody with fewer or more points in the last round, by the points before it."""
    last = scores.turns[entrant][-1]
    if last.opponent is None or not last.played:
        return None
    own = scores.points(entrant) - last.points
    its = scores.points(last.opponent) - scores.turns[last.opponent][-1].points
    return None if own == its else "down" if own > its else "up"
