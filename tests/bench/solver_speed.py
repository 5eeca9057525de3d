"""How fast deals of the Carpet family are solved, and how many of them can be won.

    python -m tests.bench.solver_speed [--deals 2000] [--first 0] [--rules carpet carpet-free …]

Deal number n has the seed SHA-256("solver speed " and n in decimal), the same for each rule set. One process, one core. It also checks that
each line wins, and, if both are run, that `carpet` and `carpet-free` win the same deals. The share of deals that can be won is given with
its 95 % Wilson interval. Times are processor time.
"""

import argparse
from collections.abc import Sequence
from hashlib import sha256
from statistics import mean, median
from time import process_time

from server.analysis.winrate import Share
from server.rules.carpet import CarpetRules
from server.solver.solution import Solution
from server.solver.solve import solve
from tests.server.solver.small_deals import FAMILY


def measure(name: str, rules: CarpetRules, numbers: range) -> Sequence[str]:
    """Solve the deals, print a line of figures, and return the outcomes."""
    positions = [rules.deal(sha256(b"solver speed %d" % number).digest()) for number in numbers]
    solutions: list[Solution] = []
    spent: list[float] = []
    for position in positions:
        before = process_time()
        solutions.append(solve(position))
        spent.append(1000 * (process_time() - before))
    decided: list[float] = []
    for position in positions:
        before = process_time()
        solve(position, line=False)
        decided.append(1000 * (process_time() - before))
    outcomes = [solution.outcome for solution in solutions]
    for position, solution in zip(positions, solutions, strict=True):
        for move in solution.moves:
            position = position.play(move)
        assert position.is_won == (solution.outcome == "won"), position
    deals, won, unknown = len(positions), outcomes.count("won"), outcomes.count("unknown")
    nodes = sorted(solution.nodes for solution in solutions)
    share = Share(won, deals)
    low, high = 100 * share.low, 100 * share.high
    moves = sum(len(solution.moves) for solution in solutions) / won if won else 0
    print(
        f"{name:16} {_times(spent)} {_times(decided)} {sum(nodes) / deals:9.0f} {nodes[deals // 2]:7} {nodes[-1]:8} "
        f"{100 * share.value:7.2f} {low:6.2f}-{high:.2f} {unknown:8} {moves:6.1f}",
        flush=True,
    )
    return outcomes


def _times(times: Sequence[float]) -> str:
    """Mean, median, 90th percentile and the worst, in ms."""
    ordered = sorted(times)
    return f"{mean(ordered):7.2f} {median(ordered):6.2f} {ordered[len(ordered) * 9 // 10]:6.2f} {ordered[-1]:7.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first deal")
    parser.add_argument("--rules", nargs="+", choices=list(FAMILY), default=list(FAMILY))
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.deals)
    times = f"{'mean':>7} {'median':>6} {'9 in 10':>6} {'worst':>6}"
    print(f"{'ms a deal':16} {'with a line that wins':^29} {'whether it can be won':^29}")
    print(
        f"{'rule set':16} {times} {times} {'positions':>9} {'median':>7} {'most':>8} {'won %':>7} {'95 %':>12} {'unknown':>8} {'moves':>6}"
    )
    outcomes = {name: measure(name, FAMILY[name], numbers) for name in options.rules}
    if "carpet" in outcomes and "carpet-free" in outcomes:
        differing = [
            n for n, pair in zip(numbers, zip(outcomes["carpet"], outcomes["carpet-free"], strict=True), strict=True) if len(set(pair)) > 1
        ]
        print(f"carpet and carpet-free: {len(differing)} deals differ {differing[:5] or ''}")


if __name__ == "__main__":
    main()
