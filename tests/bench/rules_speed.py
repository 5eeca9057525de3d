"""How fast the engines are: `python -m tests.bench.rules_speed [RULES …]` from the top of the tree.

For each rule set, over the positions of whole random games, the same ones each time:
- legal/s: how often all legal moves of a position are found in a second;
- applied/s: moves applied in a second, unchecked, without finding the legal moves after them;
- µs/move: what a race pays for a move: to validate and apply it, find the new legal moves, and make the player's view;
- p99: the same for the slowest move in a hundred (both over the best time of each move);
- perft/s: positions that perft visits or counts in a second, from the deal down.
The best of five runs, so that other work on the machine hardly matters. The goals are 6 µs for a move of the Carpet family and 15 µs for a
quilt.
"""

import sys
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import fmean
from time import perf_counter, perf_counter_ns
from typing import Final

from server.race.view import see
from server.rules.catalogue import RULE_SETS
from server.rules.perft import perft
from server.rules.position import Position, RuleSet

RUNS: Final = 5
GAMES: Final = 20
MOST_MOVES: Final = 200
"""The most moves of a game: a random game of Persian Rug can be long and say little."""
PERFT_NODES: Final = 20_000

Step = tuple[Position, str]


def play(row: RuleSet) -> list[Step]:
    """The positions of a game, each with the move made there. Their legal moves are found and their views made, as in a race."""
    choose = Random(row.id)
    steps: list[Step] = []
    for _ in range(GAMES):
        position = row.deal(choose.randbytes(32))
        for _ in range(MOST_MOVES):
            if position.is_over:
                break
            move = choose.choice(see(position).moves)
            steps.append((position, move))
            position = position.play(move)
    return steps


def best_seconds(run: Callable[[], object]) -> float:
    found = []
    for _ in range(RUNS):
        start = perf_counter()
        run()
        found.append(perf_counter() - start)
    return min(found)


def find_legal(steps: list[Step]) -> None:
    for position, _ in steps:
        position._find_legal_moves()  # the public one finds them once


def apply_moves(steps: list[Step]) -> None:
    for position, move in steps:
        position.play_unchecked(move)


def microseconds(steps: list[Step]) -> list[float]:
    """The time of each move, with its validation, the new legal moves and the view: the best of the runs, fastest move first."""
    best = [float("inf")] * len(steps)
    for _ in range(RUNS):
        for number, (position, move) in enumerate(steps):
            start = perf_counter_ns()
            see(position.play(move))
            best[number] = min(best[number], (perf_counter_ns() - start) / 1000)
    return sorted(best)


def perft_per_second(row: RuleSet) -> float:
    position = row.deal(bytes(32))
    depth, nodes = 0, 0
    # Bound the depth for games with little choice: carpet-whist has few sequences of any length.
    while nodes < PERFT_NODES and depth < 30:
        depth += 1
        nodes += perft(position, depth)
    return nodes / best_seconds(partial(perft, position, depth))


def main(names: list[str]) -> None:
    print(f"{'rule set':<16} {'legal/s':>10} {'applied/s':>10} {'µs/move':>8} {'p99':>7} {'perft/s':>10}")
    for row in RULE_SETS.values():
        if names and row.id not in names:
            continue
        steps = play(row)
        legal, applied = (len(steps) / best_seconds(partial(run, steps)) for run in (find_legal, apply_moves))
        served = microseconds(steps)
        slowest = served[len(served) * 99 // 100]
        figures = f"{legal:>10,.0f} {applied:>10,.0f} {fmean(served):>8.1f} {slowest:>7.1f}"
        print(f"{row.id:<16} {figures} {perft_per_second(row):>10,.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
