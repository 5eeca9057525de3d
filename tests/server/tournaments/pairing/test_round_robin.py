"""Round robin: the published tables, and everybody meets everybody, whoever comes and goes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tournaments.pairing.crosstable import EntrantRefused
from server.tournaments.pairing.round_robin import RoundRobin, berger_round
from server.tournaments.pairing.rounds import RaceResult
from tests.server.tournaments.fields import (
    better_seed_wins,
    by_chance,
    byes_of,
    everybody_meets,
    field_of,
    meetings,
    names,
    pair_next,
    play,
    randoms,
    tables,
)

# FIDE handbook C.05, annex 1: details of the Berger tables. The first named has the white pieces.
PUBLISHED = {
    4: "1-4 2-3 / 4-3 1-2 / 2-4 3-1",
    6: "1-6 2-5 3-4 / 6-4 5-3 1-2 / 2-6 3-1 4-5 / 6-5 1-4 2-3 / 3-6 4-2 5-1",
    8: ("1-8 2-7 3-6 4-5 / 8-5 6-4 7-3 1-2 / 2-8 3-1 4-7 5-6 / 8-6 7-5 1-4 2-3 / 3-8 4-2 5-1 6-7 / 8-7 1-6 2-5 3-4 / 4-8 5-3 6-2 7-1"),
    10: (
        "1-10 2-9 3-8 4-7 5-6 / 10-6 7-5 8-4 9-3 1-2 / 2-10 3-1 4-9 5-8 6-7 / 10-7 8-6 9-5 1-4 2-3 / 3-10 4-2 5-1 6-9 7-8 / "
        "10-8 9-7 1-6 2-5 3-4 / 4-10 5-3 6-2 7-1 8-9 / 10-9 1-8 2-7 3-6 4-5 / 5-10 6-4 7-3 8-2 9-1"
    ),
}


@pytest.mark.parametrize("places", PUBLISHED)
def test_the_tables_are_the_published_ones(places: int) -> None:
    rounds = [" ".join(f"{first}-{second}" for first, second in berger_round(places, number)) for number in range(1, places)]
    assert " / ".join(rounds) == PUBLISHED[places]


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 11, 16])
def test_everybody_meets_everybody_and_has_as_many_byes(count: int, double: bool) -> None:
    tournament = play(field_of(RoundRobin(double=double), count), better_seed_wins)
    cycles = 2 if double else 1
    assert sorted(map(sorted, meetings(tournament.rounds))) == sorted(cycles * [sorted(pair) for pair in everybody_meets(names(count))])
    assert len(tournament.rounds) == cycles * (count - 1 + count % 2)
    byes = [bye for paired in tournament.rounds for bye in byes_of(paired)]
    assert sorted(byes) == sorted(cycles * names(count) if count % 2 else [])


def test_the_second_time_the_sides_are_changed() -> None:
    tournament = play(field_of(RoundRobin(double=True), 4), better_seed_wins)
    once, twice = tournament.rounds[:3], tournament.rounds[3:]
    assert [tables(paired) for paired in twice] == [[(second, first) for first, second in tables(paired)] for paired in once]


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_to_meet_are_no_tournament(count: int) -> None:
    assert field_of(RoundRobin(), count).next_round() is None


def test_the_better_seeds_come_first_when_the_better_seed_wins() -> None:
    tournament = play(field_of(RoundRobin(), 6), better_seed_wins)
    assert [(row.place, row.entrant, row.points) for row in tournament.standings] == [
        (place, name, 6.0 - place) for place, name in enumerate(names(6), 1)
    ]


def test_the_field_is_fixed_by_the_first_pairing() -> None:
    tournament = pair_next(field_of(RoundRobin(), 4).withdraw("d").readmit("d").withdraw("c"))
    assert tournament.starters == ("a", "b", "d")
    with pytest.raises(EntrantRefused, match="the field is fixed"):
        tournament.enter("late")
    with pytest.raises(EntrantRefused, match="the field is fixed"):
        tournament.readmit("c")
    tournament = play(tournament.enter_result(1, 1, RaceResult("first")).enter_result(1, 2, RaceResult("first")), better_seed_wins)
    assert set(meetings(tournament.rounds)) == everybody_meets("abd")
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (2, "b"), (3, "d")]


def test_whoever_leaves_early_is_struck_from_everybodys_results() -> None:
    tournament = play(field_of(RoundRobin(), 6), better_seed_wins, rounds=2).withdraw("a")
    tournament = play(tournament, better_seed_wins)
    assert len(tournament.rounds) == 5
    # f lost to a, d lost to a (rounds 1 and 2): neither counts, and the forfeits of the rest bring nobody a point.
    assert [(row.place, row.entrant, row.points, row.withdrawn) for row in tournament.standings] == [
        (1, "b", 4.0, False),
        (2, "c", 3.0, False),
        (3, "d", 2.0, False),
        (4, "e", 1.0, False),
        (5, "f", 0.0, False),
        (6, "a", 0.0, True),
    ]


def test_whoever_leaves_late_forfeits_what_is_left() -> None:
    tournament = play(field_of(RoundRobin(), 6), better_seed_wins, rounds=3).withdraw("a")
    tournament = play(tournament, better_seed_wins)
    # The table has a against f, b and c, then d and e: those two win by forfeit. Of the three with 3 points a beat c, c beat d, and d has
    # the forfeit of a: nothing between them. Sonneborn-Berger: a beat b (4), c (3), f (0); c beat d (3), e (2), f; d beat a (3), e, f.
    assert [(row.place, row.entrant, row.points, row.tie_breaks) for row in tournament.standings] == [
        (1, "b", 4.0, (1.0, 8.0, 0.0)),
        (2, "a", 3.0, (1.0, 7.0, 0.0)),
        (3, "c", 3.0, (1.0, 5.0, 0.0)),
        (3, "d", 3.0, (1.0, 5.0, 0.0)),
        (5, "e", 2.0, (1.0, 3.0, 0.0)),
        (6, "f", 0.0, (1.0, 0.0, 0.0)),
    ]


def test_half_of_the_races_run_are_enough_to_count() -> None:
    # Of five, a has the bye in the first round, and has met two of four after the third.
    tournament = play(field_of(RoundRobin(), 5), better_seed_wins, rounds=3).withdraw("a")
    assert tables(tournament.rounds[0])[-1] == ("a", None)
    assert [row.points for row in tournament.standings if row.entrant == "a"] == [3.0]


@given(st.integers(2, 9), st.booleans(), randoms)
def test_it_ends_whoever_withdraws(count: int, double: bool, random: Random) -> None:
    tournament = field_of(RoundRobin(double=double), count)
    rounds = (2 if double else 1) * (count - 1 + count % 2)
    for _ in range(rounds):
        tournament = pair_next(tournament)
        if random.random() < 0.2 and tournament.active:
            tournament = tournament.withdraw(random.choice(tournament.active))
        referee = by_chance(random, forfeits=0.1)
        while tournament.open_races:
            race = random.choice(tournament.open_races)
            tournament = tournament.enter_result(race.round, race.pairing.table, referee(race))
    assert tournament.next_round() is None
    assert sorted(row.entrant for row in tournament.standings) == names(count)
