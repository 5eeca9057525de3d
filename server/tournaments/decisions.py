"""All that can be decided about a tournament, as values: its log. A tournament is the fold over them; a correction is one more entry.

The director who keeps the log keeps the time and the author of an entry beside it; here they make no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from server.tournaments.pairing.rounds import Entrant, Result, Round


@dataclass(frozen=True, slots=True)
class Enter:
    """Registration; once the first round is paired, late entry: he plays from the next round that is paired."""

    entrant: Entrant


@dataclass(frozen=True, slots=True)
class Withdraw:
    """He plays no more; a table of his without a result is forfeited. Before the first pairing: he has left, or not checked in."""

    entrant: str


@dataclass(frozen=True, slots=True)
class Return:
    """Somebody who withdrew plays again, from the next round that is paired."""

    entrant: str


@dataclass(frozen=True, slots=True)
class PairRound:
    """The round, written down: how it was paired is never asked again."""

    round: Round


@dataclass(frozen=True, slots=True)
class EnterResult:
    """Of one race at a table. race: 1, and one more after each drawn race that is run again."""

    round: int
    table: int
    result: Result
    race: int = 1


@dataclass(frozen=True, slots=True)
class CorrectResult:
    """The director's word on a race that has a result. result: None strikes it, and the race is open again."""

    round: int
    table: int
    result: Result | None
    reason: str
    race: int = 1


Decision: TypeAlias = Enter | Withdraw | Return | PairRound | EnterResult | CorrectResult
