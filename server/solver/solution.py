"""What a search answers, and the budget it may spend.

Owns the values that solve and best_home return. Must not know how anything is searched.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

OutcomeFound: TypeAlias = Literal["won", "lost", "unknown"]


@dataclass(frozen=True, slots=True)
class Solution:
    """Whether a position can be won, knowing every card.

    outcome: `won`; `lost`, if no way to win was left to try; `unknown`, if the budget was spent or, in a family whose search is not
    exhaustive, nothing was found.
    nodes: positions looked at. moves: for `won`, a line that replays from the position to the win; otherwise none.
    exact: whether the outcome is certain. A win always is, since its line shows it; a loss is if everything was tried.
    """

    outcome: OutcomeFound
    nodes: int
    moves: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class BestHome:
    """The most cards found that can be brought home from a position, with a line that does so.

    exact: no line brings more home. Otherwise more than `home` may be possible.
    """

    home: int
    nodes: int
    moves: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The best that a search found: the most cards home, the line to them, and whether nothing better can exist."""

    home: int
    moves: tuple[str, ...]
    won: bool
    exact: bool


class Budget:
    """The positions that a search may still look at, shared by its parts."""

    __slots__ = ("_limit", "nodes")

    def __init__(self, limit: int) -> None:
        if limit < 0:
            raise ValueError(f"a budget is 0 positions or more, not {limit!r}")
        self.nodes = 0
        self._limit = limit

    def spend(self) -> bool:
        """Spend one position; False if none is left."""
        if self.nodes >= self._limit:
            return False
        self.nodes += 1
        return True
