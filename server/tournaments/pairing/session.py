"""Session tournament: everybody plays the same deals, one a round, for a fixed number of attempts. A deal won is a point; cards home break
ties.

Everybody is at a table of his own against the house: `first` wins the table by winning the deal. Who misses a deal has no point and no card
for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from server.tournaments.pairing.rounds import Round, Row, TieBreak, seat
from server.tournaments.pairing.standings import rank
from server.tournaments.pairing.tie_breaks import score
from server.tournaments.tournament import Format, Tournament


@dataclass(frozen=True, slots=True)
class Session(Format):
    """attempts: how many deals, at least one."""

    fixed_field: ClassVar[bool] = False
    knock_out: ClassVar[bool] = False
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("cards-home",)
    attempts: int

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.attempts < 1:
            raise ValueError(f"a session of {self.attempts} attempts cannot be played: give it at least one")

    def next_round(self, tournament: Tournament) -> Round | None:
        if len(tournament.rounds) >= self.attempts or not tournament.active:
            return None
        return seat(len(tournament.rounds) + 1, ((entrant, None) for entrant in tournament.active))

    def standings(self, tournament: Tournament) -> tuple[Row, ...]:
        return rank(tournament, score(tournament, rounds=self.attempts, forfeits_are_played=False), self.tie_breaks)
