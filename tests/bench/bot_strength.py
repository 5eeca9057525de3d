"""How often the house bots win, and how long they think.

    python -m tests.bench.bot_strength --deals 1000 [--bots random greedy deep] [--rules carpet] [--processes 2] [--samples 160]

Deal number n is the same for every bot: seed = SHA-256("bot strength " ‖ n in decimal). Each line gives the wins, their percentage with a
95 % Wilson interval, the mean number of cards home, and the processor time of a call of `choose` in milliseconds. `simple rule` is the
reference: the best known rule that fits in one line.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import repeat

from server.analysis.winrate import Share
from server.bots.deep import SAMPLES, deep
from server.bots.house import HOUSE_BOTS
from server.bots.strategy import Strategy
from server.race.view import see
from server.rules.carpet import CarpetRules, Refill
from server.rules.catalogue import RULE_SETS, rule_set
from server.rules.position import Position
from tests.server.bots.carpets import SimpleRule

REFERENCE = "simple rule"
CHUNK = 50
MOVE_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Tally:
    """Games played, and what came of them."""

    deals: int = 0
    wins: int = 0
    home: int = 0
    calls: int = 0
    took_ns: int = 0
    longest_ns: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.deals + other.deals,
            self.wins + other.wins,
            self.home + other.home,
            self.calls + other.calls,
            self.took_ns + other.took_ns,
            max(self.longest_ns, other.longest_ns),
        )


def make(bot: str, rules_id: str, seed: int, samples: int) -> Strategy:
    rules = rule_set(rules_id)
    if bot == "deep":
        return deep(rules, seed, samples=samples)
    if bot == REFERENCE:
        if not isinstance(rules, CarpetRules):
            raise SystemExit(f"the simple rule is one for the carpet family, not for {rules_id}")
        return SimpleRule(holds_back=rules.refill is Refill.CHOICE)
    return HOUSE_BOTS[bot].make(rules_id, seed)


def play(bot: str, rules_id: str, samples: int, number: int) -> Tally:
    strategy = make(bot, rules_id, number, samples)
    position: Position = rule_set(rules_id).deal(sha256(b"bot strength %d" % number).digest())
    calls = took_ns = longest_ns = 0
    while not position.is_over and calls < MOVE_LIMIT:
        view = see(position)
        begun = time.thread_time_ns()
        move = strategy.choose(view)
        took = time.thread_time_ns() - begun
        calls += 1
        took_ns += took
        longest_ns = max(longest_ns, took)
        position = position.play(move)
    return Tally(1, int(position.is_won), position.home, calls, took_ns, longest_ns)


def play_many(bot: str, rules_id: str, samples: int, numbers: range) -> Tally:
    return sum(map(partial(play, bot, rules_id, samples), numbers), Tally())


def main() -> None:
    bots = [*HOUSE_BOTS, REFERENCE]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--bots", nargs="+", choices=bots, default=bots)
    parser.add_argument("--rules", choices=list(RULE_SETS), default="carpet")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="orders of the stock that deep tries a decision")
    given = parser.parse_args()
    chunks = [range(start, min(start + CHUNK, given.deals)) for start in range(0, given.deals, CHUNK)]
    print(f"{given.rules}, {given.deals} deals, deep with {given.samples} samples")
    print(f"{'bot':<12}{'wins':>8}{'%':>8}{'95 %':>16}{'home':>8}{'calls':>10}{'ms mean':>10}{'ms max':>9}")
    with ProcessPoolExecutor(given.processes) as pool:
        for bot in given.bots:
            tallies = pool.map(play_many, repeat(bot), repeat(given.rules), repeat(given.samples), chunks)
            tally = sum(tallies, Tally())
            share = Share(tally.wins, tally.deals)
            mean_ms, longest_ms = tally.took_ns / tally.calls / 1e6, tally.longest_ns / 1e6
            print(
                f"{bot:<12}{tally.wins:>8}{100 * share.value:>8.2f}{100 * share.low:>8.2f}-{100 * share.high:<7.2f}"
                f"{tally.home / tally.deals:>8.2f}{tally.calls:>10}{mean_ms:>10.3f}{longest_ms:>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
