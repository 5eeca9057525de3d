"""Knock-outs: the standard bracket, who advances and who is out, draws, forfeits, and the bracket reset in a double elimination's final."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tournaments.pairing.brackets import double_bracket, seed_order, single_bracket
from server.tournaments.pairing.crosstable import Crosstable, EntrantRefused, ResultRefused, RoundRefused, TableRace
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.rounds import Pairing, RaceResult, Round
from tests.server.tournaments.fields import (
    DRAW,
    FIRST,
    SECOND,
    better_seed_wins,
    by_chance,
    enter,
    field_of,
    names,
    pair_next,
    pairing_of,
    play,
    randoms,
    run_round,
    tables,
)


def by_match(paired: Round) -> list[tuple[str, str, str | None]]:
    return [(pairing.match, pairing.first, pairing.second) for pairing in paired.pairings]


def test_the_standard_order_of_sixteen_seeds() -> None:
    assert seed_order(16) == (1, 16, 8, 9, 4, 13, 5, 12, 2, 15, 7, 10, 3, 14, 6, 11)


@pytest.mark.parametrize("places", [2, 4, 8, 16, 64])
def test_the_better_half_meets_the_worse_half_and_both_halves_are_of_equal_worth(places: int) -> None:
    order = seed_order(places)
    assert sorted(order) == list(range(1, places + 1))
    assert {one + other for one, other in zip(order[::2], order[1::2], strict=True)} == {places + 1}
    assert {min(order[: places // 2]), min(order[places // 2 :])} == {1, 2}


def test_a_bracket_of_eight() -> None:
    tournament = play(field_of(Elimination(), 8), better_seed_wins)
    assert [by_match(paired) for paired in tournament.rounds] == [
        [("W1-1", "a", "h"), ("W1-2", "d", "e"), ("W1-3", "b", "g"), ("W1-4", "c", "f")],
        [("W2-1", "a", "d"), ("W2-2", "b", "c")],
        [("W3-1", "a", "b")],
    ]
    assert [(row.place, row.entrant, row.points) for row in tournament.standings] == [
        (1, "a", 3.0),
        (2, "b", 2.0),
        (3, "c", 1.0),
        (3, "d", 1.0),
        (5, "e", 0.0),
        (5, "f", 0.0),
        (5, "g", 0.0),
        (5, "h", 0.0),
    ]


def test_the_best_seeds_have_the_byes_of_the_first_round_which_count_for_nothing() -> None:
    tournament = pair_next(field_of(Elimination(), 5))
    assert tournament.rounds[0].pairings == (
        Pairing(1, "d", "e", match="W1-2"),
        Pairing(2, "a", None, counted=False, match="W1-1"),
        Pairing(3, "b", None, counted=False, match="W1-3"),
        Pairing(4, "c", None, counted=False, match="W1-4"),
    )
    assert [race.pairing.table for race in tournament.open_races] == [1]
    with pytest.raises(ResultRefused, match="does not count"):
        tournament.enter_result(1, 2, FIRST)
    tournament = run_round(tournament, better_seed_wins)
    assert [row.points for row in tournament.standings] == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert tables(tournament.next_round()) == [("a", "d"), ("b", "c")]


def test_a_double_elimination_of_four() -> None:
    tournament = play(field_of(Elimination(double=True), 4), better_seed_wins)
    assert [by_match(paired) for paired in tournament.rounds] == [
        [("W1-1", "a", "d"), ("W1-2", "b", "c")],
        [("W2-1", "a", "b"), ("L1-1", "c", "d")],
        [("L2-1", "b", "c")],
        [("F", "a", "b")],
    ]
    assert [(row.place, row.entrant, row.won, row.lost) for row in tournament.standings] == [
        (1, "a", 3, 0),
        (2, "b", 2, 2),
        (3, "c", 1, 2),
        (4, "d", 0, 2),
    ]


def test_while_a_double_elimination_runs_all_who_are_in_share_the_first_place_and_who_has_not_lost_comes_first() -> None:
    tournament = run_round(pair_next(field_of(Elimination(double=True), 4)), lambda race: SECOND)
    assert [(row.place, row.entrant, row.lost) for row in tournament.standings] == [(1, "c", 0), (1, "d", 0), (1, "a", 1), (1, "b", 1)]


def test_a_double_elimination_of_eight_keeps_those_apart_who_have_met() -> None:
    tournament = play(field_of(Elimination(double=True), 8), better_seed_wins)
    assert [by_match(paired) for paired in tournament.rounds] == [
        [("W1-1", "a", "h"), ("W1-2", "d", "e"), ("W1-3", "b", "g"), ("W1-4", "c", "f")],
        [("W2-1", "a", "d"), ("W2-2", "b", "c"), ("L1-1", "e", "h"), ("L1-2", "f", "g")],
        [("L2-1", "c", "e"), ("L2-2", "d", "f")],
        [("W3-1", "a", "b"), ("L3-1", "c", "d")],
        [("L4-1", "b", "c")],
        [("F", "a", "b")],
    ]
    assert [(row.place, row.entrant) for row in tournament.standings] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, "d"),
        (5, "e"),
        (5, "f"),
        (7, "g"),
        (7, "h"),
    ]


def upset(final: RaceResult, reset: RaceResult) -> Crosstable:
    """Of two. a wins the first race; then the final and, if there is one, the reset."""
    results = {"W1-1": FIRST, "F": final, "R": reset}
    return play(field_of(Elimination(double=True), 2), lambda race: results[race.pairing.match])


def test_the_final_is_reset_when_the_one_who_has_lost_wins_it() -> None:
    tournament = upset(SECOND, FIRST)
    assert [by_match(paired) for paired in tournament.rounds] == [[("W1-1", "a", "b")], [("F", "a", "b")], [("R", "a", "b")]]
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (2, "b")]
    assert [(row.place, row.entrant) for row in upset(SECOND, SECOND).standings] == [(1, "b"), (2, "a")]


def test_the_final_is_the_end_when_the_one_who_has_not_lost_wins_it() -> None:
    tournament = upset(FIRST, SECOND)
    assert len(tournament.rounds) == 2
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("bracket", [single_bracket, double_bracket])
@pytest.mark.parametrize("count", [*range(2, 18), 64])
def test_every_match_comes_after_those_that_feed_it(bracket: object, count: int) -> None:
    matches = bracket(count)  # type: ignore[operator]  # either of the two
    stages = {match.name: match.stage for match in matches}
    assert len(stages) == len(matches)
    for match in matches:
        for source in (match.first, match.second):
            assert not hasattr(source, "match") or stages[source.match] < match.stage


@pytest.mark.parametrize("double", [False, True])
@given(count=st.integers(0, 20), random=randoms)
def test_it_ends_and_who_is_out_plays_no_more(double: bool, count: int, random: Random) -> None:
    tournament = field_of(Elimination(double=double), count)
    lives = dict.fromkeys(names(count), 2 if double else 1)
    while (paired := tournament.next_round()) is not None:
        tournament = tournament.pair(paired)
        if random.random() < 0.15:
            tournament = tournament.withdraw(random.choice(tournament.active))
        tournament = run_round(tournament, by_chance(random, draws=0.3, forfeits=0.1))
        races = [pairing for pairing in paired.pairings if pairing.second is not None]
        assert races
        assert all(lives[entrant] for pairing in paired.pairings for entrant in pairing.entrants)
        for pairing in races:
            result = tournament.result(paired.number, pairing.table)
            assert result is not None
            for entrant, verdict in zip(pairing.entrants, ("first", "second"), strict=True):
                if result.verdict == "neither":
                    lives[entrant] = 0
                elif result.verdict != verdict:
                    lives[entrant] -= 1
        if not tournament.active:
            break
    standings = tournament.standings
    assert sorted(row.entrant for row in standings) == names(count)
    left = [entrant for entrant, more in lives.items() if more]
    assert len(left) <= 1 or tournament.active == ()
    assert [row.entrant for row in standings if row.place == 1] == left or not left


@given(st.integers(2, 20), randoms)
def test_in_a_double_elimination_all_but_one_lose_twice(count: int, random: Random) -> None:
    tournament = play(field_of(Elimination(double=True), count), by_chance(random))
    lost = Counter({row.entrant: row.lost for row in tournament.standings})
    champion = tournament.standings[0].entrant
    assert lost.pop(champion) <= 1
    assert set(lost.values()) == {2}


def test_a_drawn_race_is_run_again_and_then_the_higher_seed_goes_on() -> None:
    tournament = pair_next(field_of(Elimination(replays=2), 2))
    for number in (1, 2, 3):
        assert [race.number for race in tournament.open_races] == [number]
        tournament = enter(tournament, tournament.open_races[0], RaceResult("draw", (20, 20)))
    assert tournament.open_races == ()
    assert tournament.next_round() is None
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (2, "b")]


def test_a_race_that_is_run_again_decides() -> None:
    tournament = pair_next(field_of(Elimination(), 2))
    for result in (DRAW, SECOND):
        tournament = enter(tournament, tournament.open_races[0], result)
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "b"), (2, "a")]


def test_without_replays_a_draw_is_for_the_higher_seed() -> None:
    tournament = play(field_of(Elimination(replays=0), 4), lambda race: DRAW)
    assert [row.entrant for row in tournament.standings if row.place <= 2] == ["a", "b"]
    assert len(tournament.rounds) == 2


def test_replays_are_none_or_more() -> None:
    with pytest.raises(ValueError, match="give none, or more"):
        Elimination(replays=-1)


def test_whoever_does_not_come_is_out() -> None:
    tournament = run_round(pair_next(field_of(Elimination(), 4)), lambda race: RaceResult("second", forfeit=True))
    assert tables(tournament.next_round()) == [("c", "d")]


def second_match_forfeited_by_both(race: TableRace) -> RaceResult:
    return RaceResult("neither", forfeit=True) if race.pairing.match == "W1-2" else FIRST


def test_when_neither_comes_both_are_out_and_the_next_one_has_a_bye() -> None:
    tournament = run_round(pair_next(field_of(Elimination(), 4)), second_match_forfeited_by_both)
    assert tournament.next_round() is None
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (2, "b"), (2, "c"), (2, "d")]


def test_when_neither_comes_both_are_out_of_a_double_elimination_too() -> None:
    tournament = run_round(pair_next(field_of(Elimination(double=True), 4)), second_match_forfeited_by_both)
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "a"), (1, "d"), (3, "b"), (3, "c")]
    # Both have byes up to the final.
    assert by_match(pair_next(tournament).rounds[-1]) == [("F", "a", "d")]


def test_a_final_to_which_neither_comes_has_no_winner() -> None:
    tournament = run_round(pair_next(field_of(Elimination(), 4)), better_seed_wins)
    tournament = run_round(pair_next(tournament), lambda race: RaceResult("neither", forfeit=True))
    assert tournament.next_round() is None
    assert [(row.place, row.entrant) for row in tournament.standings] == [(2, "a"), (2, "b"), (3, "c"), (3, "d")]


def test_whoever_has_withdrawn_forfeits_each_match_they_come_to() -> None:
    tournament = pair_next(field_of(Elimination(double=True), 4)).withdraw("a")
    assert tournament.result(1, 1) == RaceResult("second", forfeit=True)
    tournament = run_round(tournament, better_seed_wins)
    tournament = pair_next(tournament)
    assert by_match(tournament.rounds[1]) == [("W2-1", "b", "d"), ("L1-1", "a", "c")]
    assert [race.pairing.match for race in tournament.open_races] == ["W2-1"]
    tournament = play(run_round(tournament, better_seed_wins), better_seed_wins)
    assert [(row.place, row.entrant, row.withdrawn) for row in tournament.standings] == [
        (1, "b", False),
        (2, "c", False),
        (3, "d", False),
        (4, "a", True),
    ]


def test_whoever_withdraws_before_the_start_is_not_seeded() -> None:
    tournament = field_of(Elimination(), 5).withdraw("a")
    assert by_match(pair_next(tournament).rounds[0]) == [("W1-1", "b", "e"), ("W1-2", "c", "d")]
    tournament = play(tournament, better_seed_wins)
    assert [(row.place, row.entrant) for row in tournament.standings] == [(1, "b"), (2, "c"), (3, "d"), (3, "e")]


def test_a_late_entrant_and_a_round_that_does_not_follow_from_the_results_are_refused() -> None:
    tournament = run_round(pair_next(field_of(Elimination(), 4)), better_seed_wins)
    with pytest.raises(EntrantRefused, match="the field is fixed"):
        tournament.enter("late")
    with pytest.raises(RoundRefused, match="what the results before it make it"):
        tournament.pair(Round(2, (Pairing(1, "a", "c", match="W2-1"),)))


def test_whoever_went_on_stays_once_the_next_round_is_paired() -> None:
    tournament = run_round(pair_next(field_of(Elimination(), 4)), better_seed_wins)
    turned = tournament.correct(1, 1, SECOND)
    assert tables(turned.next_round()) == [("b", "d")]
    tournament = pair_next(tournament)
    with pytest.raises(ResultRefused, match="whoever it sent on stays in"):
        tournament.correct(1, 1, SECOND)
    corrected = tournament.correct(1, 1, RaceResult("first", (52, 12)))
    assert corrected.result(1, 1) == RaceResult("first", (52, 12))
    assert corrected.rounds == tournament.rounds


def test_the_bracket_names_its_final() -> None:
    tournament = play(field_of(Elimination(double=True), 3), better_seed_wins)
    assert pairing_of(tournament.rounds[-1], "F").entrants == ("a", "b")


def test_whoever_has_withdrawn_has_no_table_for_a_bye() -> None:
    tournament = pair_next(field_of(Elimination(), 8))
    for race in tournament.open_races:
        neither = RaceResult("neither", forfeit=True)
        tournament = enter(tournament, race, neither if race.pairing.table == 1 else better_seed_wins(race))
    assert tables(tournament.next_round()) == [("b", "c"), ("d", None)]
    assert tables(tournament.withdraw("d").next_round()) == [("b", "c")]
