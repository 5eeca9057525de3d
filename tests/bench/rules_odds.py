"""How often a plain player wins: `python -m tests.bench.rules_odds [GAMES]` from the top of the tree. It sets each rule set's difficulty.

The plain player sends a card home whenever one can go; else they build or fill a gap if they may; else they turn the stock or redeal.
Between moves of one kind they choose at random, with the same deals and choices each time. The span is one standard error.
"""

import sys
from math import sqrt
from random import Random

from server.rules.catalogue import RULE_SETS
from server.rules.moves import parse_move
from server.rules.position import Difficulty, RuleSet


def kind(move: str) -> int:
    parsed = parse_move(move)
    if parsed.to_foundation:
        return 0
    return 1 if parsed.target is not None else 2


def play(row: RuleSet, choose: Random) -> tuple[bool, int]:
    """Play a game. Returns whether it was won, and the cards home at its end."""
    position = row.deal(choose.randbytes(32))
    for _ in range(row.move_limit or 10 * row.deck_size):
        if position.is_over:
            break
        moves = position.legal_moves()
        first = min(map(kind, moves))
        position = position.play(choose.choice([move for move in moves if kind(move) == first]))
    return position.is_won, position.home


def difficulty(won: float) -> Difficulty:
    if won >= 0.5:
        return Difficulty.EASY
    return Difficulty.MODERATE if won >= 0.1 else Difficulty.HARD


def main(games: int) -> None:
    print(f"{games} games each\n{'rule set':<16} {'won':>16} {'home':>6}  measured  in the row")
    for row in RULE_SETS.values():
        choose = Random(row.id)
        played = [play(row, choose) for _ in range(games)]
        won = sum(is_won for is_won, _ in played) / games
        span = sqrt(won * (1 - won) / games)
        home = sum(home for _, home in played) / games
        print(f"{row.id:<16} {won:>7.1%} ± {span:>6.1%} {home:>6.1f}  {difficulty(won):<9} {row.difficulty}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
