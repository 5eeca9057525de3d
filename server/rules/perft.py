"""Perft: counts move sequences, which is how two engines are compared move for move.

Owns the counts of server/rules positions. Must not know which rule set it counts.
"""

from server.rules.position import Position


def perft(position: Position, depth: int) -> int:
    """The number of sequences of exactly `depth` legal moves: 1 at depth 0, and 0 if the game ends before."""
    if depth < 0:
        raise ValueError(f"a depth is 0 or more, not {depth!r}")
    if depth == 0:
        return 1
    if depth == 1:
        return len(position.legal_moves())
    return sum(perft(position.play_unchecked(move), depth - 1) for move in position.legal_moves())


def perft_divide(position: Position, depth: int) -> dict[str, int]:
    """perft by first move, in the order of legal_moves: if two engines differ, it shows under which move."""
    if depth < 1:
        raise ValueError(f"a depth that can be divided is 1 or more, not {depth!r}")
    return {move: perft(position.play_unchecked(move), depth - 1) for move in position.legal_moves()}
