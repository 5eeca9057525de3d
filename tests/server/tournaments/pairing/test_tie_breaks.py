"""Tie-breaks against a published worked example: Mario Held, "Exercises in Tie-Breaking" for FIDE handbook C.07:2023 (rev. 2403220900): the
Swiss tournaments of five and of nine rounds with sixteen players, and the round robin with six.

The paper follows the regulations of 2023, which did not limit the points of the dummy opponent of an unplayed round (16.4). With the limit
of 2026 the values of 4, 6 and 11 differ; each is worked out where it appears. The paper has two requested half-point byes, those of 4 and
of 9. It has no full-point byes, so these have an example of their own.
"""

from __future__ import annotations

import pytest

from server.tournaments.pairing.crosstable import Crosstable, Format
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.rounds import Pairing, RaceResult, RankedEntrant, Round
from server.tournaments.pairing.session import Session
from server.tournaments.pairing.standings import rank
from server.tournaments.pairing.swiss import Swiss
from server.tournaments.pairing.tie_breaks import score

RESULTS = {"1": RaceResult("first"), "=": RaceResult("draw"), "+": RaceResult("first", forfeit=True)}

# One line a round. 1-9: 1 beat 9; 1=9: a draw; 1+9: 1 won by forfeit; `12.` a bye won, `4.=` and `4.1` a
# half-point and a full-point bye.
FOUR_ROUNDS = """
1-9 2-10 3=11 4-12 7-15 8=16 13-5 14-6
1=13 2-7 3-6 8-14 10-9 15-5 16-11 4.= 12.
1=2 3-8 4-13 5-11 12+14 15-10 16-7 9.= 6.
1-15 2-16 3=4 5=7 6-10 8-13 11+9
"""
FIVE_ROUNDS = f"{FOUR_ROUNDS}1=4 2=3 5-10 6-8 11-7 14-13 16-15 9."
# Another end of the third table of round 5, and four rounds more.
NINE_ROUNDS = f"""{FOUR_ROUNDS}1=4 2-3 5-10 6-8 11-7 14-13 16-15 9.
1=6 2=4 3-16 8=11 9-13 10-7 14-5 15-12
1=3 4=16 5-9 6-2 7-13 8=15 10-12 14-11
1=16 2=15 3-14 4=6 7-9 8-5 10-11 12=13
1-8 2=5 3-10 4-15 6-16 7-14 9=12 11=13
"""
AWAY = {4: (12, 14), 5: (12,)}
"""Who was not paired, by round."""

ROUND_ROBIN = """
1=5 2-6 3-4
1-2 3-6 5-4
1-3 2-5 4=6
4-1 2=3 6+5
1-6 2-4 3-5
"""


def table(number: int, text: str) -> tuple[Pairing, RaceResult]:
    if "." in text:
        return Pairing(number, text.removesuffix("."), None), RESULTS["1"]
    sign = next(sign for sign in "-=+" if sign in text)
    first, second = text.split(sign)
    return Pairing(number, first, second), RESULTS["1" if sign == "-" else sign]


def played(format_: Format, count: int, rounds: str, away: dict[int, tuple[int, ...]]) -> Crosstable:
    tournament = Crosstable(format_)
    for number in range(1, count + 1):
        tournament = tournament.enter(str(number), 2250.0 - 50 * number)
    for number, line in enumerate(rounds.strip().splitlines(), 1):
        gone = {str(entrant) for entrant in away.get(number, ())}
        for entrant in tournament.seeds:
            if (entrant in gone) == tournament.entrants[entrant].active:
                tournament = tournament.withdraw(entrant) if entrant in gone else tournament.readmit(entrant)
        for entrant, sign in (text.split(".") for text in line.split() if text[-2:] in (".=", ".1")):
            tournament = tournament.give_bye(entrant, number, 1 if sign == "=" else 2)
        texts = (text for text in line.split() if text[-2:] not in (".=", ".1"))
        tables = [table(place, text) for place, text in enumerate(texts, 1)]
        tournament = tournament.pair(Round(number, tuple(pairing for pairing, _ in tables)))
        for pairing, result in tables:
            tournament = tournament.enter_result(number, pairing.table, result)
    return tournament


FIVE = played(Swiss(5), 16, FIVE_ROUNDS, AWAY)
SIX = played(RoundRobin(), 6, ROUND_ROBIN, {})


def row_of(tournament: Crosstable, entrant: int) -> RankedEntrant:
    return next(row for row in tournament.standings if row.entrant == str(entrant))


# Points, Buchholz (exercise 9, p. 21), Sonneborn-Berger (exercise 12, pp. 26 and 27), each as published.
PUBLISHED = {
    1: (3.5, 12.5, 8.0),
    2: (4.0, 13.0, 9.5),
    3: (3.5, 15.5, 10.5),
    5: (2.5, 8.5, 4.25),
    7: (1.5, 14.5, 3.25),
    8: (2.5, 13.5, 5.25),
    9: (1.5, 9.0, 2.25),
    10: (1.0, 13.0, 1.5),
    12: (2.0, 11.5, 4.0),
    13: (1.5, 14.0, 4.25),
    14: (2.0, 11.0, 4.5),
    15: (2.0, 12.0, 3.5),
    16: (3.5, 12.5, 7.25),
}


@pytest.mark.parametrize("entrant", PUBLISHED)
def test_buchholz_and_sonneborn_berger_are_the_published_ones(entrant: int) -> None:
    row = row_of(FIVE, entrant)
    assert (row.points, *row.tie_breaks[:2]) == PUBLISHED[entrant]


@pytest.mark.parametrize(
    ("entrant", "points", "buchholz", "sonneborn_berger"),
    [
        # A half-point bye: the dummy has 2.5, half of five rounds, where the paper has their own 3.5. Published: 15.0 and 9.75.
        (4, 3.5, 15.0 - 1, 9.75 - 0.5),
        # A bye won: 2.5 for their own 3. Published: 12.0 and 6.5.
        (6, 3.0, 12.0 - 0.5, 6.5 - 0.5),
        # A forfeit won against 9, who has 1.5, for their own 2.5. Published: 13.5 and 5.75.
        (11, 2.5, 13.5 - 1, 5.75 - 1),
    ],
)
def test_the_dummy_opponent_has_no_more_than_the_regulations_of_2026_allow(
    entrant: int, points: float, buchholz: float, sonneborn_berger: float
) -> None:
    row = row_of(FIVE, entrant)
    assert (row.points, *row.tie_breaks[:2]) == (points, buchholz, sonneborn_berger)


def places_by_direct_encounter(tournament: Crosstable, rounds: int) -> dict[int, int]:
    scores = score(tournament, rounds=rounds, forfeits_are_played=isinstance(tournament.format, RoundRobin))
    return {int(row.entrant): row.place for row in rank(tournament, scores, ["direct-encounter"])}


def test_direct_encounter_says_nothing_where_too_many_have_not_met() -> None:
    """Exercises 23 (players with 3.5 points) and 24 (with 2.5)."""
    places = places_by_direct_encounter(FIVE, 5)
    assert {entrant: places[entrant] for entrant in (1, 3, 4, 16, 5, 8, 11)} == {1: 2, 3: 2, 4: 2, 16: 2, 5: 7, 8: 7, 11: 7}


def test_direct_encounter_of_nine_rounds_is_the_published_one() -> None:
    """Exercise 25."""
    nine = played(Swiss(9), 16, NINE_ROUNDS, AWAY)
    assert places_by_direct_encounter(nine, 9) == {
        **dict.fromkeys([3], 1),
        **dict.fromkeys([6], 2),
        **dict.fromkeys([1, 4], 3),
        **dict.fromkeys([2], 5),
        **dict.fromkeys([7, 8, 16], 6),
        **dict.fromkeys([5, 10, 14, 15], 9),
        **dict.fromkeys([11], 13),
        **dict.fromkeys([9, 12], 14),
        **dict.fromkeys([13], 16),
    }


def test_direct_encounter_of_a_round_robin_is_the_published_one() -> None:
    """Exercise 26. The forfeit counts as played."""
    assert places_by_direct_encounter(SIX, 5) == {1: 1, 2: 2, 3: 2, 6: 4, 5: 5, 4: 6}


def test_sonneborn_berger_of_a_round_robin_is_the_published_one() -> None:
    """Exercise 14."""
    assert {int(row.entrant): row.tie_breaks[1] for row in SIX.standings} == {1: 9.25, 2: 6.25, 3: 6.25, 4: 4.25, 5: 3.25, 6: 2.25}


def test_whoever_is_first_whatever_a_missing_race_brings_is_first() -> None:
    """1, 2 and 3 have 2 points each. 1 beat both 2 and 3, who have not met: 1 comes first, and 2 and 3 stay equal."""
    tournament = played(Swiss(3), 6, "1-2 3-4 5-6\n1-3 2-6 4-5\n6-1 2-4 3-5", {})
    assert places_by_direct_encounter(tournament, 3) == {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4}


def test_cards_home_break_the_last_tie_and_what_is_equal_shares_the_place() -> None:
    tournament = Crosstable(Session(1))
    for name in "abcd":
        tournament = tournament.enter(name)
    paired = tournament.next_round()
    assert paired is not None
    tournament = tournament.pair(paired)
    for place, home in enumerate((20, 30, 20, 10), 1):
        tournament = tournament.enter_result(1, place, RaceResult("second", (home, 0)))
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "b"), (2, "a"), (2, "c"), (4, "d")]


def test_rounds_missed_to_the_end_count_as_draws_for_the_opponents_alone() -> None:
    tournament = played(Swiss(3), 4, "1-3 2-4\n1-2 4.\n1-4 2.", {2: (3,), 3: (3,)})
    # 3 lost and withdrew: 1 sees them with 0 + ½ + ½, and so they see 2 with 2 and 4 with 1.
    assert row_of(tournament, 1).tie_breaks[0] == 1.0 + 2.0 + 1.0
    assert row_of(tournament, 3).points == 0.0
    # They themselves met 1, who has 3; their dummies have their own 0.
    assert row_of(tournament, 3).tie_breaks[0] == 3.0


def test_a_race_that_somebody_did_not_come_to_is_no_return() -> None:
    tournament = played(Swiss(3), 4, "1-3 2-4\n1-2 4.\n4+3 1-2", {2: (3,)})
    # 3 missed the second round and did not come to the third: the one counts as a draw for 1, the other as it was scored.
    assert row_of(tournament, 1).tie_breaks[0] == 0.5 + 1.0 + 1.0


def test_a_round_missed_before_one_that_was_run_counts_as_scored() -> None:
    tournament = played(Swiss(3), 4, "1-3 2-4\n1-2 4.\n3-2 1-4", {2: (3,)})
    assert row_of(tournament, 1).tie_breaks[0] == 1.0 + 1.0 + 1.0


@pytest.mark.parametrize(("second", "adjusted"), [("1-4 2-3", 0.5), ("4+1 2-3", 1.5), ("1+4 2-3", 1.0)])
def test_only_whoever_did_not_come_goes_on_missing_rounds_at_a_table(second: str, adjusted: float) -> None:
    away = played(Swiss(3), 4, f"1-2 3.\n{second}\n1-3 2.", {1: (4,), 3: (4,)})
    assert score(away, rounds=3, forfeits_are_played=False).adjusted("4") == adjusted


def test_among_equals_who_have_not_all_met_only_those_ahead_in_any_case_are_ahead() -> None:
    scores = score(played(Swiss(2), 4, "1-2 3-4\n1-3 2-4", {}), rounds=2, forfeits_are_played=False)
    assert scores.direct_encounter(("1", "2", "3"), 1) == {"1": 1, "2": 2, "3": 2}


def test_a_race_won_by_forfeit_is_worth_no_more_than_ones_own_points_unless_it_counts_as_played() -> None:
    tournament = played(Swiss(3), 4, "1+2 3-4\n2-3 4-1\n2-4 3-1", {})
    scores = [score(tournament, rounds=3, forfeits_are_played=are_played) for are_played in (False, True)]
    assert [each.buchholz("1") for each in scores] == [4, 5]
    assert [each.direct_encounter(("1", "2"), 1) for each in scores] == [{"1": 1, "2": 1}, {"1": 1, "2": 2}]


def test_the_dummy_opponent_has_half_a_point_a_round_at_most() -> None:
    byes = played(Swiss(2), 3, "1. 2-3\n1. 2-3", {})
    assert score(byes, rounds=2, forfeits_are_played=False).buchholz("1") == 2


def test_a_half_point_bye_and_a_full_point_bye_count_as_fide_has_them() -> None:
    """Six entrants, three rounds. 1 has a full-point bye in the second, and 5 half-point byes in the second and the third.

    |   | round 1 | round 2 | round 3 | points | adjusted for opponents (16.3)            |
    |---|---------|---------|---------|--------|------------------------------------------|
    | 1 | beat 4  | 1 (bye) | beat 2  | 3      | 3: a full-point bye counts as scored     |
    | 2 | beat 5  | beat 3  | lost 1  | 2      | 2                                        |
    | 3 | beat 6  | lost 2  | beat 4  | 2      | 2                                        |
    | 4 | lost 1  | beat 6  | lost 3  | 1      | 1                                        |
    | 5 | lost 2  | ½ (bye) | ½ (bye) | 1      | 1: requested, up to the end: ½ each      |
    | 6 | lost 3  | lost 4  | 1 (odd) | 1      | 1: the pairing-allocated bye, as scored  |

    The dummy of a bye has one's own points, but no more than 1½, half a point a round (16.4). So Buchholz is 1 + 1½ + 2 for 1, and 2 + 1
    + 1 for 5 and 6. Sonneborn-Berger is each of these times the points of the round: 1 + 1½ + 2, 0 + ½ + ½, and 0 + 0 + 1.
    """
    tournament = played(Swiss(3), 6, "1-4 2-5 3-6\n2-3 4-6 1.1 5.=\n1-2 3-4 6. 5.=", {})
    rows = {int(row.entrant): (row.points, *row.tie_breaks[:2]) for row in tournament.standings}
    assert rows == {
        1: (3.0, 4.5, 4.5),
        2: (2.0, 1.0 + 2.0 + 3.0, 1.0 + 2.0),
        3: (2.0, 1.0 + 2.0 + 1.0, 1.0 + 1.0),
        4: (1.0, 3.0 + 1.0 + 2.0, 1.0),
        5: (1.0, 4.0, 1.0),
        6: (1.0, 4.0, 1.0),
    }
    # Only tables are won, drawn or lost.
    tables = {int(row.entrant): (row.won, row.drawn, row.lost) for row in tournament.standings}
    assert (tables[1], tables[5]) == ((2, 0, 0), (0, 0, 1))


def test_a_half_point_bye_before_rounds_missed_to_the_end_is_a_draw_for_opponents_and_a_full_point_one_ends_the_run() -> None:
    """As FIDE's 16.3: requested byes followed by missed rounds alone count ½ each; a full-point bye is no voluntarily unplayed round."""
    half = played(Swiss(3), 4, "1-4 2-3\n1-2 3. 4.=\n1-3 2.", {3: (4,)})
    full = played(Swiss(3), 4, "1-4 2-3\n1-2 3. 4.1\n1-3 2.", {3: (4,)})
    assert [score(each, rounds=3, forfeits_are_played=False).adjusted("4") for each in (half, full)] == [0 + 0.5 + 0.5, 0 + 1 + 0.5]
