"""Ratings: how good players are, from the places in their races. The only importer of openskill. The rules:

1. The model is Plackett-Luce (Weng and Lin 2011, algorithm 4) with the library's default parameters. It takes a whole ranking of any
   number of seats as one outcome, shared places included; for two seats it is Bradley-Terry.
2. A race is rated by its record alone: who sat where, and the places. Forfeited seats are already placed last there.
3. A race never makes a rating less certain, so that a sole winner never falls; and a shared place never makes it more certain. The points
   shown are what a player is almost certainly worth, so they would otherwise grow by draws alone.
4. Seats are sorted before rating, and equals with equal places get equal ratings, so that not even the last digit depends on who sat
   where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from openskill.models import PlackettLuce

from protocol.record import Record
from protocol.views import SeatRating

_MODEL: Final = PlackettLuce(limit_sigma=True)

FIRST: Final = 1000
"""What a player is worth before their first race."""
POINTS: Final = 40
"""Points for each unit of the model's scale: the first win is worth some 140, and good players get to about 2000."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's skill as openskill has it, mean and standard deviation, and the number of rated races it rests on."""

    mu: float
    sigma: float
    races: int

    @property
    def sure(self) -> float:
        """What the player is almost certainly worth, on the model's scale; a ladder is ordered by it."""
        return self.mu - 3 * self.sigma

    @property
    def worth(self) -> int:
        """The same in the points that people are shown. 1000 before the first race."""
        return FIRST + round(POINTS * self.sure)


NEW: Final = Rating(_MODEL.mu, _MODEL.sigma, 0)
"""Before the first race."""


@dataclass(frozen=True, slots=True)
class RatingChange:
    """What one race did to one player's rating."""

    before: Rating
    after: Rating

    @property
    def shown(self) -> SeatRating:
        """The change in the points that people are shown."""
        return SeatRating(before=self.before.worth, after=self.after.worth)


def rate(places: Sequence[int], before: Sequence[Rating]) -> tuple[Rating, ...]:
    """The ratings after a race of at least two seats, in the order given. places: 1 for the best; equal ones are a draw."""
    played = [(place, rating.mu, rating.sigma) for place, rating in zip(places, before, strict=True)]
    order = sorted(played)
    rated = _MODEL.rate([[_MODEL.rating(mu, sigma)] for _, mu, sigma in order], ranks=[float(place) for place, _, _ in order])
    after = {seat: team for seat, (team,) in zip(order, rated, strict=True)}
    return tuple(
        Rating(after[seat].mu, rating.sigma if places.count(place) > 1 else after[seat].sigma, rating.races + 1)
        for seat, place, rating in zip(played, places, before, strict=True)
    )


def rate_record(record: Record, known: Mapping[str, Rating]) -> tuple[RatingChange, ...]:
    """How a rated race changed the rating of each seat's player, in seat order; none for a race that does not count.

    known: ratings by player id; a player who is missing is new. Raises Unratable for a record that says it counts but cannot.
    """
    if not record.rated:
        return ()
    players = [seat.player for seat in record.seats]
    if len(players) < 2 or "" in players or len(set(players)) < len(players):
        raise Unratable("a rated race has two different players or more, and nobody else")
    before = [known.get(player, NEW) for player in players]
    after = rate([seat.place for seat in record.seats], before)
    return tuple(RatingChange(*change) for change in zip(before, after, strict=True))


class Unratable(ValueError):
    """A record from which no ratings follow. Says why."""
