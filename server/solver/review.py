"""Reviews a game that was played: what was possible, where it slipped away, and what would have kept it.

Owns the judgement. Must not know whose game it was: it is given a first position and the moves of one seat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from server.rules.position import Position
from server.solver.solve import best_home

_Line: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """What a game looks like when every card is known.

    best: the most cards that could be brought home from the first position. winnable: whether that is all of them; None if unknown.
    reached: cards home when the game ended. slip: the index of the move after which `best` was out of reach; None if it never was.
    line: moves that reach `best` from the position before the slip, or from the last position if there was no slip. instead: the first
    of them, to be played in place of the slip; None without a slip.
    nodes: positions looked at. exact: whether all this is certain; otherwise more may have been possible, and the slip may have come
    later, or not at all.
    """

    best: int
    winnable: bool | None
    reached: int
    slip: int | None
    instead: str | None
    line: _Line
    nodes: int
    exact: bool


def review(first: Position, moves: Sequence[str], *, budget: int | None = None) -> Review:
    """Review the game that `moves` made of `first`. Raises IllegalMove if a move is not legal.

    What can be reached never rises along a game, so the slip is found by bisection: at most 2 + log2(moves) searches, each
    with a `budget` of its own (in positions; solve's usual one by default).
    """
    positions = [first]
    for move in moves:
        positions.append(positions[-1].play(move))
    last = len(moves)
    nodes = 0

    def search(ply: int) -> tuple[int, _Line, bool]:
        nonlocal nodes
        found = best_home(positions[ply], budget=budget)
        nodes += found.nodes
        return found.home, found.moves, found.exact

    best, line, best_is_exact = search(0)
    # `kept`: the latest ply from which `best` is known to be in reach, by `line`. `lost`: the earliest ply from which it was not found.
    kept, line = _along(moves, 0, line)
    lost, lost_is_exact = last + 1, True
    while lost - kept > 1 and kept < last:
        ply = last if lost > last else (kept + lost) // 2
        home, found, exact = search(ply)
        if home >= best:
            # Finding more than before means that the earlier search was not exact: it was possible all along.
            best = home
            kept, line = _along(moves, ply, found)
            if kept >= lost:
                # The line shows that what was not found at `lost` is there after all.
                lost, lost_is_exact = last + 1, True
        else:
            lost, lost_is_exact = ply, exact
    everything = first.rules.deck_size
    best_is_exact = best_is_exact or best == everything
    slipped = kept < last
    return Review(
        best=best,
        winnable=True if best == everything else False if best_is_exact else None,
        reached=positions[-1].home,
        slip=kept if slipped else None,
        instead=line[0] if slipped else None,
        line=line,
        nodes=nodes,
        exact=best_is_exact and lost_is_exact,
    )


def _along(moves: Sequence[str], ply: int, line: _Line) -> tuple[int, _Line]:
    """How far the game follows a line from a ply: the ply at which it leaves the line, and what is left of the line."""
    shared = 0
    while ply + shared < len(moves) and shared < len(line) and moves[ply + shared] == line[shared]:
        shared += 1
    return ply + shared, line[shared:]
