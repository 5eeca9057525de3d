"""Session: everybody plays the same deals, one per round, for a fixed number of attempts. A deal won is a point; cards home break ties.

Everybody has a table of their own against the house: `first` wins the table by winning the deal. A missed deal brings no points or cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from server.tournaments.pairing.crosstable import Crosstable, Format
from server.tournaments.pairing.rounds import RankedEntrant, Round, TieBreak, seat
from server.tournaments.pairing.standings import rank
from server.tournaments.pairing.tie_breaks import score


@dataclass(frozen=True, slots=True)
class Session(Format):
    """attempts: how many deals, at least one."""

    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("cards-home",)
    attempts: int

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.attempts < 1:
            raise ValueError(f"a session of {self.attempts} attempts cannot be played: give it at least one")

    def is_all_paired(self, crosstable: Crosstable) -> bool:
        return len(crosstable.rounds) >= self.attempts

    def next_round(self, crosstable: Crosstable) -> Round | None:
        if self.is_all_paired(crosstable) or not crosstable.active:
            return None
        return seat(len(crosstable.rounds) + 1, ((entrant, None) for entrant in crosstable.active))

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        return rank(crosstable, score(crosstable, rounds=self.attempts, forfeits_are_played=False), self.tie_breaks)
