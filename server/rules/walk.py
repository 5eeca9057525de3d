"""Plays one whole game by a fixed rule, to compare two engines deep into a game, where perft does not reach.

Owns the rule of the walk and its digest. Must not know which rule set it walks.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from protocol.shuffle import WordStream
from server.rules.position import RuleSet

WALK_LABEL: Final = b"walk"
WALK_LIMIT: Final = 400


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk."""

    moves: int
    home: int
    digest: str
    """SHA-256 in hexadecimal of one line per move, `MOVE|all legal moves, sorted`, joined by newlines."""


def walk(rules: RuleSet, seed: bytes) -> Walk:
    """Play the deal of this seed (32 bytes), choosing each move by the next word of the seed's own stream."""
    stream = WordStream(seed, WALK_LABEL)
    position = rules.deal(seed)
    lines: list[str] = []
    while (moves := position.legal_moves()) and len(lines) < WALK_LIMIT:
        move = moves[stream.word() % len(moves)]
        lines.append(f"{move}|{' '.join(moves)}")
        position = position.play(move)
    return Walk(len(lines), position.home, sha256("\n".join(lines).encode("ascii")).hexdigest())
