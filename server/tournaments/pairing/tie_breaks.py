"""Points and tie-breaks of each entrant, by FIDE handbook C.07, "Tie-Break Regulations", as in force from March 2026.

| tie-break | regulation | here |
|---|---|---|
| `buchholz` | 8.1 | sum of the opponents' adjusted scores; Swiss only |
| `sonneborn-berger` | 9.1 | sum of the opponents' adjusted scores, each times the points made against them |
| `direct-encounter` | 6 | points in the races among those still equal (1) |
| `cards-home` | none | the game's own: sum of cards home |
| opponents' unplayed rounds | 16.3 | as scored; but in an unbroken run of missed rounds up to the end, ½ for those away at own request |
| own unplayed rounds | 16.4 | a dummy opponent with one's own points (2) |
| half-point bye | 16 | ½, unplayed at own request |
| full-point bye | 16 | 1, unplayed, but not at own request: like the pairing-allocated bye |
| forfeits in a round robin | 15.2 | count as played races |
| withdrawal from a round robin | C.05 | if fewer than half of their races were run, all results are struck; else the rest is forfeited |

(1) If some have not met: an entrant who is first whatever the missing races would bring is first, and so on down; the others stay equal.
(2) After a forfeit, at most the opponent's adjusted score; otherwise at most ½ for each round of the crosstable.

A bye is unplayed, like FIDE's pairing-allocated bye, but scores whatever the entrant achieves against the house. Rounds before a late entry
and after a withdrawal are zero-point byes at the entrant's own request.

Not implemented: cuts and medians (14, 16.5), Fore and Average Buchholz (8.2, 8.3), Koya, progressive score, number of wins, anything by
rating or colour, anything for teams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from server.tournaments.pairing.crosstable import Crosstable

FULL_POINT: Final = 2
"""The half points of a full-point bye."""


@dataclass(frozen=True, slots=True)
class EntrantRound:
    """One round of one entrant. opponent: None if they had none. points: scored in it. played: the two met.

    asked: away at their own request: by a half-point bye, before a late entry or after a withdrawal. voluntary: that, or they did not come.
    seated: they had a table, even if it was against the house.
    """

    opponent: str | None
    points: float
    played: bool
    asked: bool = False
    voluntary: bool = False
    seated: bool = True
    home: int = 0


@dataclass(frozen=True, slots=True)
class Scores:
    """entrant_rounds: everybody's, round by round, without open tables. rounds: how many the whole crosstable has."""

    entrant_rounds: Mapping[str, Sequence[EntrantRound]]
    rounds: int

    def points(self, entrant: str) -> float:
        return sum(each.points for each in self.entrant_rounds[entrant])

    def home(self, entrant: str) -> int:
        return sum(each.home for each in self.entrant_rounds[entrant])

    def adjusted(self, entrant: str) -> float:
        """The score as opponents' tie-breaks see it (16.3): in an unbroken run of missed rounds up to the end, those for which the entrant
        was away at their own request count as draws."""
        score, trailing = 0.0, True
        for each in reversed(self.entrant_rounds[entrant]):
            trailing = trailing and each.voluntary
            score += 0.5 if trailing and each.asked else each.points
        return score

    def _opposition(self, entrant: str) -> list[tuple[EntrantRound, float]]:
        """Each round with the score of the opponent, or of the dummy opponent (16.4)."""
        own = self.points(entrant)
        scored = [
            (each, self.rounds / 2 if each.opponent is None else self.adjusted(each.opponent)) for each in self.entrant_rounds[entrant]
        ]
        return [(each, score if each.played else min(own, score)) for each, score in scored]

    def buchholz(self, entrant: str) -> float:
        return sum(score for _, score in self._opposition(entrant))

    def sonneborn_berger(self, entrant: str) -> float:
        return sum(score * each.points for each, score in self._opposition(entrant))

    def direct_encounter(self, tied: Sequence[str], meetings: int) -> dict[str, int]:
        """Places among `tied`, from 1; equals share one. meetings: how often two entrants meet in a whole crosstable."""
        among = set(tied)
        met = {entrant: [each for each in self.entrant_rounds[entrant] if each.played and each.opponent in among] for entrant in tied}
        points = {entrant: sum(game.points for game in games) for entrant, games in met.items()}
        missing = {entrant: max(0, meetings * (len(tied) - 1) - len(games)) for entrant, games in met.items()}
        if not any(missing.values()):
            return {entrant: 1 + sum(other > points[entrant] for other in points.values()) for entrant in tied}
        places: dict[str, int] = {}
        left = list(tied)
        while left:
            first = [
                entrant for entrant in left if all(points[entrant] > points[other] + missing[other] for other in left if other != entrant)
            ]
            if not first:
                break
            places[first[0]] = len(places) + 1
            left.remove(first[0])
        return places | dict.fromkeys(left, len(places) + 1)


def score(crosstable: Crosstable, *, rounds: int, forfeits_are_played: bool, struck: frozenset[str] = frozenset()) -> Scores:
    """struck: entrants whose tables count for nobody."""
    entrant_rounds: dict[str, list[EntrantRound]] = {entrant: [] for entrant in crosstable.entrants}
    for paired in crosstable.rounds:
        for absent in entrant_rounds.keys() - {entrant for pairing in paired.pairings for entrant in pairing.entrants}:
            half_points = crosstable.byes.get((paired.number, absent), 0)
            # A full-point bye is the director's to give, so they might have played.
            is_asked = half_points < FULL_POINT
            entrant_rounds[absent].append(
                EntrantRound(None, half_points / 2, played=False, asked=is_asked, voluntary=is_asked, seated=False)
            )
        for pairing in paired.pairings:
            result = crosstable.result(paired.number, pairing.table)
            if result is None or not pairing.counted or struck.intersection(pairing.entrants):
                continue
            sides = ((pairing.first, pairing.second), (pairing.second, pairing.first))
            for (side, opponent), points, home in zip(sides, result.points, result.home, strict=True):
                if side is not None:
                    played = opponent is not None and (forfeits_are_played or not result.forfeit)
                    entrant_rounds[side].append(EntrantRound(opponent, points, played, voluntary=result.forfeit and points == 0, home=home))
    return Scores(entrant_rounds, rounds)
