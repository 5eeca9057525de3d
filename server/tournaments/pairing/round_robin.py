"""Round robin: everybody meets everybody, once or twice, by the Berger tables (FIDE handbook C.05, annex 1: Crenna-Berger).

In an odd field the place of the missing entrant is the bye. An entrant who withdraws stays in the tables: their races are forfeited, and if
they had run fewer than half of their races, all their results are struck (see `tie_breaks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from server.tournaments.pairing.crosstable import Crosstable, Format
from server.tournaments.pairing.rounds import RankedEntrant, Round, TieBreak, seat
from server.tournaments.pairing.standings import rank
from server.tournaments.pairing.tie_breaks import score


def berger_round(places: int, number: int) -> tuple[tuple[int, int], ...]:
    """Round `number` (from 1) for an even number of places, which are numbered from 1. The first of each pair has the first side.

    The last place meets 1, places/2 + 1, 2, places/2 + 2 … in turn. The others form a ring, in which those meet who are equally far from
    its opponent.
    """
    ring = places - 1
    middle = (number + 1) // 2 if number % 2 else places // 2 + number // 2
    last = (middle, places) if number % 2 else (places, middle)
    return last, *(((middle - 1 + step) % ring + 1, (middle - 1 - step) % ring + 1) for step in range(1, places // 2))


@dataclass(frozen=True, slots=True)
class RoundRobin(Format):
    """double: everybody meets everybody twice, the second time with the sides swapped."""

    fixed_field: ClassVar[bool] = True
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("direct-encounter", "sonneborn-berger", "cards-home")
    double: bool = False

    @property
    def meetings(self) -> int:
        return 2 if self.double else 1

    def next_round(self, crosstable: Crosstable) -> Round | None:
        field = crosstable.starters
        places = len(field) + len(field) % 2
        if len(field) < 2 or len(crosstable.rounds) == self.meetings * (places - 1):
            return None
        cycle, number = divmod(len(crosstable.rounds), places - 1)
        tables: list[tuple[str, str | None]] = []
        for pair in berger_round(places, number + 1):
            first, second = pair if cycle == 0 else pair[::-1]
            if max(pair) <= len(field):
                tables.append((field[first - 1], field[second - 1]))
            else:
                tables.append((field[min(pair) - 1], None))
        # The bye goes to the end; the others stay in the order of the table.
        return seat(len(crosstable.rounds) + 1, sorted(tables, key=lambda table: table[1] is None))

    def standings(self, crosstable: Crosstable) -> tuple[RankedEntrant, ...]:
        field = crosstable.starters
        places = len(field) + len(field) % 2
        struck = frozenset(
            entrant
            for entrant in field
            if not crosstable.entrants[entrant].active and 2 * self._run(crosstable, entrant) < self.meetings * (len(field) - 1)
        )
        scores = score(crosstable, rounds=self.meetings * (places - 1), forfeits_are_played=True, struck=struck)
        return rank(
            crosstable, scores, self.tie_breaks, meetings=self.meetings, struck=struck.union(crosstable.entrants.keys() - set(field))
        )

    @staticmethod
    def _run(crosstable: Crosstable, entrant: str) -> int:
        """How many races the entrant has run against others."""
        pairings = ((paired.number, paired.of(entrant)) for paired in crosstable.rounds)
        results = (crosstable.result(number, pairing.table) for number, pairing in pairings if pairing and pairing.second is not None)
        return sum(result is not None and not result.forfeit for result in results)
