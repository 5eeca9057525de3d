"""The values that pairing works on: entrants, rounds, results, rows of standings. They know nothing of formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from protocol.tournaments import Verdict

TieBreak = Literal["buchholz", "sonneborn-berger", "direct-encounter", "cards-home"]


@dataclass(frozen=True, slots=True)
class Entrant:
    """rating: on any scale, higher is better; None if they have none. first_round: above 1 for a late entry. withdrawn_after: how many
    rounds were paired when they withdrew; None while they play."""

    id: str
    rating: float | None = None
    first_round: int = 1
    withdrawn_after: int | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a rating that cannot be compared."""
        if self.rating is not None and not isfinite(self.rating):
            raise ValueError(f"the rating of {self.id} is {self.rating}: give a finite number or none")

    @property
    def active(self) -> bool:
        return self.withdrawn_after is None

    @property
    def came(self) -> bool:
        """False if they withdrew before they could be paired: they missed the check-in, say."""
        return self.withdrawn_after is None or self.withdrawn_after >= self.first_round


@dataclass(frozen=True, slots=True)
class Pairing:
    """One table of a round. second: None is the house.

    An entrant with a bye races against the house's result on the round's deal. In a session everybody plays the house, whose result is that
    the deal is not won. counted: False for a bye that needs no result, because its entrant goes on in any case. match: its name in a
    bracket, such as `W1-3`; empty elsewhere. In a bracket `first` is the higher seed.
    """

    table: int
    first: str
    second: str | None
    counted: bool = True
    match: str = ""

    @property
    def entrants(self) -> tuple[str, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True, slots=True)
class Round:
    """number: from 1. pairings: at tables 1, 2, …, in the order of rank, byes last."""

    number: int
    pairings: tuple[Pairing, ...]

    def of(self, entrant: str) -> Pairing | None:
        return next((pairing for pairing in self.pairings if entrant in pairing.entrants), None)


def seat(number: int, tables: Iterable[tuple[str, str | None]]) -> Round:
    """A round of counted pairings, at tables in the order given."""
    return Round(number, tuple(Pairing(table, first, second) for table, (first, second) in enumerate(tables, 1)))


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The result of one race of a pairing. home: cards home on each side (0 for the house if they are not counted).

    forfeit: it was not played, because the loser did not come or had withdrawn; with `neither`, both forfeit.
    ruled: the director gave it, whatever was raced. walkover: it was played, and one side gave it up or was away too long.
    """

    verdict: Verdict
    home: tuple[int, int] = (0, 0)
    forfeit: bool = False
    ruled: bool = False
    walkover: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for an impossible result."""
        if self.verdict == "neither" and not self.forfeit:
            raise ValueError("neither side wins a race only by forfeit of both: call it a draw, or a forfeit")
        if self.verdict == "draw" and self.forfeit:
            raise ValueError("a forfeited race is no draw: say who came")
        if min(self.home) < 0:
            raise ValueError(f"cards home are {self.home}: they cannot be fewer than none")

    @property
    def points(self) -> tuple[float, float]:
        """A win is 1, a draw ½ each."""
        match self.verdict:
            case "first":
                return 1.0, 0.0
            case "second":
                return 0.0, 1.0
            case "draw":
                return 0.5, 0.5
            case "neither":
                return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class RankedEntrant:
    """One entrant in the standings. place: from 1; equals share it, and the next place is skipped.

    points: multiples of ½. tie_breaks: in the format's order, most significant first; multiples of ¼, exact in binary; higher is better.
    `direct-encounter` alone is a place among those still equal, 1 if it does not decide. won, drawn, lost: tables with a result, byes and
    forfeits included. home: cards home at these tables.
    """

    place: int
    entrant: str
    points: float
    tie_breaks: tuple[float, ...]
    won: int
    drawn: int
    lost: int
    home: int
    withdrawn: bool
