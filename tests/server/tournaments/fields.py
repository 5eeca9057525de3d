"""Fields of entrants, and ways to play a tournament to its end, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from random import Random

from hypothesis import strategies as st

from protocol.tournaments import Verdict
from server.tournaments.pairing.crosstable import Crosstable, Format, TableRace
from server.tournaments.pairing.rounds import Pairing, RaceResult, Round

randoms = st.integers(0, 2**32 - 1).map(Random)
"""The randomness of a whole tournament from one number: drawing thousands of values one by one would be slow."""

Referee = Callable[[TableRace], RaceResult]

FIRST, SECOND, DRAW = (RaceResult(verdict) for verdict in ("first", "second", "draw"))


def names(count: int) -> list[str]:
    """a, b, c …; if there are more than 26, e1, e2 …"""
    return [chr(ord("a") + number) for number in range(count)] if count < 27 else [f"e{number}" for number in range(1, count + 1)]


def field_of(played: Format, count: int) -> Crosstable:
    """A tournament with this many entrants, the first one the best seed."""
    tournament = Crosstable(played)
    for number, name in enumerate(names(count)):
        tournament = tournament.enter(name, 2000.0 - number)
    return tournament


def tables(paired: Round | None) -> list[tuple[str, str | None]]:
    assert paired is not None
    return [(pairing.first, pairing.second) for pairing in paired.pairings]


def byes_of(paired: Round) -> list[str]:
    """Those who have a bye: they play only the house."""
    return [first for first, second in tables(paired) if second is None]


def pair_next(tournament: Crosstable) -> Crosstable:
    paired = tournament.next_round()
    assert paired is not None
    return tournament.pair(paired)


def enter(tournament: Crosstable, race: TableRace, result: RaceResult) -> Crosstable:
    return tournament.enter_result(race.round, race.pairing.table, result, race.number)


def run_round(tournament: Crosstable, referee: Referee) -> Crosstable:
    """Run the open races of the round, and those to be run again, until none is open."""
    while tournament.open_races:
        for race in tournament.open_races:
            tournament = enter(tournament, race, referee(race))
    return tournament


def play(tournament: Crosstable, referee: Referee, rounds: int = 1000) -> Crosstable:
    """Play to the end, or for this many more rounds."""
    for _ in range(rounds):
        paired = tournament.next_round()
        if paired is None:
            break
        tournament = run_round(tournament.pair(paired), referee)
    return tournament


def better_seed_wins(race: TableRace) -> RaceResult:
    """With up to 26 `names`, the one earlier in the alphabet wins. Against the house, anybody does."""
    return FIRST if race.pairing.second is None or race.pairing.first < race.pairing.second else SECOND


def by_chance(random: Random, *, draws: float = 0.1, forfeits: float = 0.0) -> Referee:
    def decide(race: TableRace) -> RaceResult:
        if random.random() < forfeits:
            verdicts: list[Verdict] = ["first", "second", "neither"]
            return RaceResult(random.choice(verdicts), forfeit=True)
        if random.random() < draws:
            each = random.randrange(53)
            return RaceResult("draw", (each, each))
        home = random.randrange(1, 53), random.randrange(1, 53)
        winners: list[Verdict] = ["first", "second"]
        return RaceResult(random.choice(winners), home)

    return decide


def meetings(rounds: Iterable[Round]) -> list[frozenset[str]]:
    return [frozenset(pairing.entrants) for paired in rounds for pairing in paired.pairings if pairing.second is not None]


def all_pairings(ids: tuple[str, ...]) -> list[tuple[tuple[str, str | None], ...]]:
    """Every way to pair them all, with one bye if their number is odd. Straight from the definition, for small fields."""
    if len(ids) % 2:
        return [(*rest, (bye, None)) for bye in ids for rest in all_pairings(tuple(other for other in ids if other != bye))]
    if not ids:
        return [()]
    one, *others = ids
    return [((one, other), *rest) for other in others for rest in all_pairings(tuple(left for left in others if left != other))]


def everybody_meets(ids: Iterable[str]) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in combinations(ids, 2)}


def pairing_of(paired: Round, match: str) -> Pairing:
    return next(pairing for pairing in paired.pairings if pairing.match == match)
