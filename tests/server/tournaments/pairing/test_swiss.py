"""Swiss tournaments played to the end: while it can be avoided, nobody meets twice and nobody has two byes, whoever comes and goes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tournaments.pairing.crosstable import Crosstable, RoundRefused, UnknownEntrant
from server.tournaments.pairing.rounds import RaceResult, Round, seat
from server.tournaments.pairing.swiss import Swiss, contender
from server.tournaments.pairing.tie_breaks import score
from tests.server.tournaments.fields import (
    all_pairings,
    better_seed_wins,
    by_chance,
    byes_of,
    field_of,
    meetings,
    pair_next,
    play,
    randoms,
    run_round,
    tables,
)


def history(tournament: Crosstable) -> tuple[Counter[frozenset[str]], Counter[str]]:
    """How often each two have met, and how often each had a bye or a win by forfeit."""
    met: Counter[frozenset[str]] = Counter()
    byes: Counter[str] = Counter()
    for paired in tournament.rounds:
        for pairing in paired.pairings:
            result = tournament.result(paired.number, pairing.table)
            assert result is not None
            if pairing.second is None:
                byes[pairing.first] += 1
            elif not result.forfeit:
                met[frozenset(pairing.entrants)] += 1
            elif result.verdict != "neither":
                byes[pairing.first if result.verdict == "first" else pairing.second] += 1
    return met, byes


def repeats(met: Counter[frozenset[str]], byes: Counter[str], pairing: list[tuple[str, str | None]]) -> tuple[int, int]:
    return (
        sum(met[frozenset((one, other))] for one, other in pairing if other is not None),
        sum(byes[one] for one, other in pairing if other is None),
    )


@given(st.integers(2, 8), st.integers(1, 9), randoms)
def test_nobody_meets_twice_or_has_two_byes_while_it_can_be_avoided(count: int, rounds: int, random: Random) -> None:
    tournament = field_of(Swiss(rounds), count)
    while (paired := tournament.next_round()) is not None:
        met, byes = history(tournament)
        assert repeats(met, byes, tables(paired)) == min(repeats(met, byes, list(other)) for other in all_pairings(tournament.active))
        tournament = run_round(pair_next(tournament), by_chance(random, draws=0.2, forfeits=0.1))
        if random.random() < 0.1:
            tournament = tournament.withdraw(random.choice(tournament.active))
        if random.random() < 0.1 and len(tournament.active) < 8:
            tournament = tournament.enter(f"late{len(tournament.entrants)}")
        gone = [entrant for entrant in tournament.seeds if entrant not in tournament.active]
        if gone and random.random() < 0.2 and len(tournament.active) < 8:
            tournament = tournament.readmit(random.choice(gone))
    assert len(tournament.rounds) == rounds or len(tournament.active) < 2


@given(st.integers(2, 12), randoms)
def test_in_half_as_many_rounds_as_entrants_nobody_meets_twice(count: int, random: Random) -> None:
    # With r rounds run each of n entrants has n - 1 - r left to meet; where those are half of all a pairing exists (Dirac's theorem).
    tournament = play(field_of(Swiss(max(1, count // 2)), count), by_chance(random))
    assert max(Counter(meetings(tournament.rounds)).values()) == 1
    assert max(Counter(bye for paired in tournament.rounds for bye in byes_of(paired)).values(), default=0) <= 1


@pytest.mark.parametrize("count", [63, 64])
def test_a_great_field_plays_nine_rounds_without_a_second_meeting(count: int) -> None:
    tournament = play(field_of(Swiss(9), count), by_chance(Random(count)))
    assert len(tournament.rounds) == 9
    assert max(Counter(meetings(tournament.rounds)).values()) == 1
    assert len({bye for paired in tournament.rounds for bye in byes_of(paired)}) == 9 * (count % 2)
    assert tournament.next_round() is None


def test_one_is_left_without_a_loss_after_log2_of_the_field() -> None:
    tournament = play(field_of(Swiss(4), 16), better_seed_wins)
    assert Counter(row.points for row in tournament.standings) == {4.0: 1, 3.0: 4, 2.0: 6, 1.0: 4, 0.0: 1}
    assert tournament.standings[0].entrant == "a"


def test_a_late_entrant_starts_without_points_in_the_next_round() -> None:
    tournament = play(field_of(Swiss(3), 4), better_seed_wins, rounds=1)
    tournament = tournament.enter("late", 3000.0)
    assert tournament.entrants["late"].first_round == 2
    # a and b have won, c and d lost; the latest has the best rating, but no point. d has no point either and the lowest rating: the bye.
    assert tables(tournament.next_round()) == [("a", "b"), ("late", "c"), ("d", None)]
    assert [row.points for row in tournament.standings if row.entrant == "late"] == [0.0]


def test_whoever_withdraws_is_not_paired_and_whoever_returns_is() -> None:
    tournament = play(field_of(Swiss(4), 4), better_seed_wins, rounds=1).withdraw("b")
    assert tables(tournament.next_round()) == [("a", "d"), ("c", None)]
    tournament = play(tournament, better_seed_wins, rounds=1).readmit("b")
    assert {entrant for table in tables(tournament.next_round()) for entrant in table} == set("abcd")


def test_whoever_meets_somebody_with_fewer_points_floats_down_and_the_other_up() -> None:
    tournament = play(field_of(Swiss(3), 6), better_seed_wins, rounds=2)
    assert tables(tournament.rounds[1]) == [("a", "b"), ("c", "d"), ("e", "f")]
    scores = score(tournament, rounds=3, forfeits_are_played=False)
    assert [contender(scores, entrant).floated for entrant in "abcdef"] == [None, None, "down", "up", None, None]


def test_a_race_that_nobody_ran_is_no_meeting() -> None:
    tournament = pair_next(field_of(Swiss(2), 2))
    tournament = tournament.enter_result(1, 1, RaceResult("first", forfeit=True))
    assert tables(tournament.next_round()) == [("a", "b")]
    assert [(row.entrant, row.points) for row in tournament.standings] == [("a", 1.0), ("b", 0.0)]


def test_whoever_won_by_forfeit_has_had_their_bye() -> None:
    tournament = pair_next(field_of(Swiss(2), 4))
    assert tables(tournament.rounds[0]) == [("a", "c"), ("b", "d")]
    tournament = tournament.enter_result(1, 1, RaceResult("neither", forfeit=True))
    tournament = tournament.enter_result(1, 2, RaceResult("second", forfeit=True)).withdraw("b")
    # a and c have no point and d has one, but d has had a walkover already. c is the lower of the two.
    assert tables(tournament.next_round()) == [("d", "a"), ("c", None)]


def test_a_bye_is_won_or_lost_against_the_house() -> None:
    tournament = pair_next(field_of(Swiss(1), 3))
    assert byes_of(tournament.rounds[0]) == ["c"]
    for verdict, points in (("first", 1.0), ("draw", 0.5), ("second", 0.0)):
        raced = tournament.enter_result(1, 2, RaceResult(verdict, (30, 30)))  # type: ignore[arg-type]  # each of them is a verdict
        assert [(row.points, row.home) for row in raced.standings if row.entrant == "c"] == [(points, 30)]


def test_whoever_wins_by_forfeit_has_had_a_bye_and_whoever_loses_by_it_has_not() -> None:
    tournament = pair_next(field_of(Swiss(2), 2)).enter_result(1, 1, RaceResult("first", forfeit=True))
    scores = score(tournament, rounds=2, forfeits_are_played=False)
    assert [contender(scores, entrant).byes for entrant in "ab"] == [1, 0]


def test_it_ends_early_when_nobody_is_left_to_meet() -> None:
    tournament = play(field_of(Swiss(9), 3), better_seed_wins, rounds=1).withdraw("a").withdraw("b")
    assert tournament.next_round() is None


def test_a_round_is_paired_the_same_every_time() -> None:
    tournament = play(field_of(Swiss(5), 31), by_chance(Random(1)), rounds=4)
    again: list[Round | None] = [tournament.next_round() for _ in range(3)]
    assert again == [again[0]] * 3


def test_no_rounds_are_no_tournament() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Swiss(0)


def test_whoever_has_a_bye_is_not_paired_in_that_round_alone_and_scores_it() -> None:
    tournament = run_round(pair_next(field_of(Swiss(3), 6)), better_seed_wins)
    tournament = pair_next(tournament.give_bye("a", 2, 2).give_bye("f", 2, 1))
    assert {entrant for pairing in tournament.rounds[-1].pairings for entrant in pairing.entrants} == set("bcde")
    tournament = run_round(tournament, better_seed_wins)
    assert {row.entrant: row.points for row in tournament.standings if row.entrant in "af"} == {"a": 2.0, "f": 0.5}
    assert len(pair_next(tournament).rounds[-1].pairings) == 3


def test_a_full_point_bye_stands_in_the_way_of_a_pairing_allocated_one_and_a_half_point_bye_does_not() -> None:
    """FIDE handbook C.04.1: who has scored a whole point without playing gets no pairing-allocated bye."""
    tournament = run_round(pair_next(field_of(Swiss(2), 5).give_bye("d", 1, 1).give_bye("e", 1, 2)), better_seed_wins)
    scores = score(tournament, rounds=2, forfeits_are_played=False)
    assert {entrant: contender(scores, entrant).byes for entrant in "cde"} == {"c": 1, "d": 0, "e": 1}
    # b has lost, but whoever has had no bye comes before whoever has fewer points.
    left = tournament.withdraw("b").withdraw("a").enter("f")
    left = left.give_bye("f", 2, 1)
    assert byes_of(pair_next(left).rounds[-1]) == ["d"]


def test_byes_to_come_go_with_whoever_withdraws_and_those_that_were_had_stay() -> None:
    tournament = run_round(pair_next(field_of(Swiss(3), 5).give_bye("a", 1, 1).give_bye("a", 2, 1)), better_seed_wins)
    back = run_round(pair_next(tournament.withdraw("a")), better_seed_wins).readmit("a")
    assert back.byes == {(1, "a"): 1}
    assert next(row.points for row in back.standings if row.entrant == "a") == 0.5


def test_where_everybody_who_is_left_has_a_bye_the_round_has_no_table_and_all_score_theirs() -> None:
    tournament = field_of(Swiss(2), 4).give_bye("a", 1, 1).give_bye("b", 1, 2).withdraw("c").withdraw("d")
    paired = pair_next(tournament)
    assert paired.rounds == (Round(1, ()),)
    assert paired.byes == {(1, "a"): 1, (1, "b"): 2}
    assert paired.open_races == ()
    following = run_round(pair_next(paired), better_seed_wins)
    assert [pairing.entrants for pairing in following.rounds[-1].pairings] == [("b", "a")]
    assert {row.entrant: row.points for row in following.standings if not row.withdrawn} == {"a": 1.5, "b": 1.0}


def test_a_round_without_tables_and_without_byes_is_refused() -> None:
    with pytest.raises(RoundRefused, match="at least one table or bye"):
        field_of(Swiss(1), 2).give_bye("a", 2, 1).pair(Round(1, ()))


def test_a_round_in_which_whoever_had_a_bye_was_paired_all_the_same_is_taken_as_it_is_stored() -> None:
    """As earlier servers paired it where nobody else was left."""
    paired = field_of(Swiss(1), 2).give_bye("a", 1, 1).give_bye("b", 1, 2).pair(seat(1, [("a", "b")]))
    assert paired.byes == {}
    assert [race.pairing.entrants for race in paired.open_races] == [("a", "b")]


def test_whoever_is_left_alone_by_the_byes_of_others_has_the_pairing_allocated_one() -> None:
    paired = pair_next(field_of(Swiss(1), 2).give_bye("a", 1, 1))
    assert byes_of(paired.rounds[-1]) == ["b"]


def test_a_bye_is_given_to_entrants_alone_and_before_the_round_is_paired() -> None:
    tournament = pair_next(field_of(Swiss(2), 4))
    with pytest.raises(RoundRefused, match="round 1 is paired already"):
        tournament.give_bye("a", 1, 1)
    with pytest.raises(UnknownEntrant):
        tournament.give_bye("x", 2, 1)
    assert tournament.give_bye("a", 2, 1).give_bye("a", 2, 0) == tournament
