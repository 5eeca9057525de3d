"""How fast Swiss rounds are paired: `python -m tests.bench.pairing_speed [ENTRANTS …]` from the top of the tree.

Nine rounds with 64, 128 and 200 entrants, and with one fewer each, and random results that are the same each time. For each field:
- mean, worst: seconds to pair a round, in processor time, so that other work on the machine hardly matters;
- standings: milliseconds to rank the whole field after the last round.
"""

import sys
from random import Random
from statistics import fmean
from time import process_time
from typing import Final

from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.pairing.swiss import Swiss

ROUNDS: Final = 9
DRAWS: Final = 0.05


def play(entrants: int) -> tuple[list[float], Crosstable]:
    """Seconds for each pairing, and the tournament after the last round."""
    chance = Random(entrants)
    tournament = Crosstable(Swiss(ROUNDS))
    for number in range(entrants):
        tournament = tournament.enter(str(number), 2500.0 - number)
    seconds: list[float] = []
    for _ in range(ROUNDS):
        start = process_time()
        paired = tournament.next_round()
        seconds.append(process_time() - start)
        assert paired is not None
        tournament = tournament.pair(paired)
        for pairing in paired.pairings:
            result = RaceResult("draw") if chance.random() < DRAWS else RaceResult("first" if chance.random() < 0.6 else "second")
            tournament = tournament.enter_result(paired.number, pairing.table, result)
    return seconds, tournament


def main(fields: list[str]) -> None:
    print(f"{'entrants':>8} {'mean, s':>8} {'worst, s':>9} {'standings, ms':>14}")
    for entrants in map(int, fields or ["64", "63", "128", "127", "200", "199"]):
        seconds, tournament = play(entrants)
        start = process_time()
        assert len(tournament.standings) == entrants
        print(f"{entrants:>8} {fmean(seconds):>8.2f} {max(seconds):>9.2f} {1000 * (process_time() - start):>14.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
