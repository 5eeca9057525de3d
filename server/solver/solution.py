"""What a search answers, and what it may spend.

Owns the values that solve, best_home and the budget speak in. Must not know how anything is searched.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

OutcomeFound: TypeAlias = Literal["won", "lost", "unknown"]


@dataclass(frozen=True, slots=True)
class Solution:
    """Whether a position can be won, knowing every card.

    outcome: `won`; `lost`: no way to win was left to try; `unknown`: budget spent, or (for a family that is
    searched as well as can be) nothing found.
    nodes: positions looked at. moves: for `won` a line that replays from the position to the win; none otherwise.
    exact: the outcome is certain. A win always is, for its line shows it; a loss is where everything was tried.
    """

    outcome: OutcomeFound
    nodes: int
    moves: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class BestHome:
    """The most cards found that can be brought home from a position, with a line that brings them home.

    exact: no line brings more home. Otherwise `home` is what was found, and more may be possible.
    """

    home: int
    nodes: int
    moves: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The best that a search came to: the most cards home, the line to them, and whether nothing better can exist."""

    home: int
    moves: tuple[str, ...]
    won: bool
    exact: bool


class Budget:
    """The positions that a search may still look at; shared by its parts."""

    __slots__ = ("_limit", "nodes")

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"a budget is 0 positions or more, not {limit!r}")
        self.nodes = 0
        self._limit = limit

    def spend(self) -> bool:
        """Take one position off; False when there is none left."""
        if self.nodes >= self._limit:
            return False
        self.nodes += 1
        return True
