"""Folding the log: what is refused, what withdrawals and corrections do, and that the order of results makes no difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.tournaments import TournamentFormat, TournamentOptions
from server.tournaments.pairing.crosstable import (
    Crosstable,
    EntrantRefused,
    Format,
    Refused,
    ResultRefused,
    RoundRefused,
    RoundUnfinished,
    TableRace,
    UnknownEntrant,
)
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.formats import format_of
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.rounds import Entrant, Pairing, RaceResult, Round
from server.tournaments.pairing.session import Session
from server.tournaments.pairing.swiss import Swiss
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
    play,
    randoms,
    run_round,
)

Change = Callable[[Crosstable], Crosstable]

PLAYED: list[Format] = [Swiss(4), RoundRobin(), RoundRobin(double=True), Elimination(), Elimination(double=True), Session(3)]


def test_every_format_is_played_here() -> None:
    offered = [TournamentOptions(name="Open", format=name) for name in get_args(TournamentFormat)]
    assert {type(played) for played in PLAYED} == {type(format_of(options, 1)) for options in offered}


def test_seeds_are_by_rating_then_by_entry_and_those_without_one_last() -> None:
    ratings = {"new": None, "low": 1.5, "high": 30.0, "newer": None, "also low": 1.5, "below": -4.0}
    crosstable = Crosstable(Swiss(1))
    for name, rating in ratings.items():
        crosstable = crosstable.enter(name, rating)
    assert crosstable.seeds == ("high", "low", "also low", "below", "new", "newer")


def test_the_standings_are_made_once_for_each_crosstable() -> None:
    crosstable = field_of(Swiss(1), 4)
    standings = crosstable.standings
    assert crosstable.standings is standings
    assert len(crosstable.enter("late", 1000.0).standings) == 5


@pytest.mark.parametrize("rating", [float("nan"), float("inf")])
def test_a_rating_is_a_finite_number(rating: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Entrant("a", rating)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: RaceResult("neither"), "only by forfeit"),
        (lambda: RaceResult("draw", forfeit=True), "no draw"),
        (lambda: RaceResult("first", (-1, 0)), "fewer than none"),
    ],
)
def test_what_no_race_can_come_to_is_no_result(build: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()  # type: ignore[operator]  # one of the above


SOME = pair_next(field_of(Swiss(3), 5))
"""Tables: a-c, b-d, and e against the house."""
RUN = run_round(SOME, better_seed_wins)


@pytest.mark.parametrize(
    ("tournament", "change", "refusal", "words"),
    [
        (SOME, lambda it: it.enter("a"), EntrantRefused, "a has entered already"),
        (SOME, lambda it: it.withdraw("x"), UnknownEntrant, "x has not entered"),
        (SOME.withdraw("e"), lambda it: it.withdraw("e"), EntrantRefused, "e has withdrawn already"),
        (SOME, lambda it: it.readmit("a"), EntrantRefused, "a has not withdrawn"),
        (SOME, lambda it: it.readmit("x"), UnknownEntrant, "x has not entered"),
        (SOME, lambda it: it.pair(Round(2, (Pairing(1, "a", "b"),))), RoundUnfinished, "waits for the results of tables 1, 2, 3"),
        (RUN, lambda it: it.pair(Round(3, (Pairing(1, "a", "b"),))), RoundRefused, "round 3 does not follow round 1"),
        (RUN, lambda it: it.pair(Round(2, (Pairing(2, "a", "b"),))), RoundRefused, "numbered 1, 2, 3"),
        (RUN, lambda it: it.pair(Round(2, (Pairing(1, "a", "b"), Pairing(2, "a", "c")))), RoundRefused, "nobody at two"),
        (RUN, lambda it: it.pair(Round(2, (Pairing(1, "a", "a"),))), RoundRefused, "nobody at two"),
        (RUN, lambda it: it.pair(Round(2, ())), RoundRefused, "at least one table"),
        (RUN, lambda it: it.pair(Round(2, (Pairing(1, "a", "x"),))), UnknownEntrant, "x has not entered"),
        (RUN.withdraw("a"), lambda it: it.pair(Round(2, (Pairing(1, "a", "b"),))), RoundRefused, "a has withdrawn"),
        (SOME, lambda it: it.enter_result(2, 1, FIRST), ResultRefused, "round 2 has no table 1"),
        (SOME, lambda it: it.enter_result(1, 4, FIRST), ResultRefused, "round 1 has no table 4"),
        (SOME, lambda it: it.enter_result(0, 1, FIRST), ResultRefused, "round 0 has no table 1"),
        (SOME, lambda it: it.enter_result(1, 0, FIRST), ResultRefused, "round 1 has no table 0"),
        (SOME, lambda it: it.enter_result(1, 1, FIRST, race=2), ResultRefused, "waits for race 1, not for race 2"),
        (RUN, lambda it: it.enter_result(1, 1, FIRST), ResultRefused, "correct it if it is wrong"),
        (SOME, lambda it: it.correct(1, 1, FIRST), ResultRefused, "no result to correct"),
        (RUN, lambda it: it.correct(1, 1, FIRST, race=2), ResultRefused, "no result to correct"),
        (pair_next(RUN), lambda it: it.correct(1, 1, None), ResultRefused, "can be changed, but not struck"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_its_reason(
    tournament: Crosstable, change: Change, refusal: type[Refused], words: str
) -> None:
    with pytest.raises(refusal, match=words):
        change(tournament)


def test_a_round_that_waits_for_results_is_not_followed() -> None:
    with pytest.raises(RoundUnfinished, match="waits for the results of tables 2, 3"):
        SOME.enter_result(1, 1, FIRST).next_round()


def test_a_withdrawal_forfeits_the_table_of_the_round_in_hand() -> None:
    assert SOME.withdraw("a").result(1, 1) == RaceResult("second", forfeit=True)
    assert SOME.withdraw("c").result(1, 1) == RaceResult("first", forfeit=True)
    assert SOME.withdraw("e").result(1, 3) == RaceResult("second", forfeit=True)
    # The second to go has won by forfeit already.
    assert SOME.withdraw("a").withdraw("c").result(1, 1) == RaceResult("second", forfeit=True)


def test_two_who_have_both_withdrawn_forfeit_to_each_other() -> None:
    tournament = play(field_of(RoundRobin(), 4), better_seed_wins, rounds=1).withdraw("a").withdraw("c")
    tournament = pair_next(pair_next(tournament))
    assert tournament.rounds[2].pairings[1].entrants == ("c", "a")
    assert tournament.result(3, 2) == RaceResult("neither", forfeit=True)


def test_a_withdrawal_leaves_a_result_alone() -> None:
    assert RUN.withdraw("a").races == RUN.races


def test_a_return_gives_no_forfeited_race_back() -> None:
    tournament = SOME.withdraw("a").readmit("a")
    assert tournament.result(1, 1) == RaceResult("second", forfeit=True)
    assert tournament.active == SOME.active


def test_a_correction_changes_points_and_standings_of_rounds_long_past() -> None:
    tournament = play(RUN, better_seed_wins)
    assert tournament.standings[0].entrant == "a"
    corrected = tournament.correct(1, 1, SECOND)
    before = {row.entrant: row.points for row in tournament.standings}
    after = {row.entrant: row.points for row in corrected.standings}
    assert {entrant: after[entrant] - before[entrant] for entrant in before} == {"a": -1.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 0.0}


def test_a_struck_result_is_open_again() -> None:
    tournament = RUN.correct(1, 2, None)
    assert [race.pairing.table for race in tournament.open_races] == [2]
    assert tournament.enter_result(1, 2, FIRST) == RUN


def test_a_struck_result_of_who_has_withdrawn_is_a_forfeit() -> None:
    tournament = RUN.withdraw("a").correct(1, 1, None)
    assert tournament.result(1, 1) == RaceResult("second", forfeit=True)
    assert tournament.open_races == ()


def test_a_struck_race_takes_with_it_those_run_for_it() -> None:
    tournament = pair_next(field_of(Elimination(), 2))
    for number, result in enumerate((DRAW, DRAW, FIRST), 1):
        tournament = tournament.enter_result(1, 1, result, number)
    struck = tournament.correct(1, 1, None, race=2)
    assert struck.races == {(1, 1): (DRAW,)}
    assert [race.number for race in struck.open_races] == [2]


def test_a_refused_decision_changes_nothing() -> None:
    before = (dict(SOME.entrants), SOME.rounds, dict(SOME.races))
    changes: tuple[Change, ...] = (lambda it: it.enter("a"), lambda it: it.withdraw("x"), lambda it: it.enter_result(1, 9, FIRST))
    for change in changes:
        with pytest.raises(Refused):
            change(SOME)
    assert (dict(SOME.entrants), SOME.rounds, dict(SOME.races)) == before


@pytest.mark.parametrize("played", PLAYED, ids=repr)
@settings(max_examples=15)
@given(count=st.integers(2, 9), random=randoms)
def test_neither_standings_nor_pairings_depend_on_the_order_in_which_results_arrive(played: Format, count: int, random: Random) -> None:
    one = other = field_of(played, count)
    referee = by_chance(random, draws=0.2, forfeits=0.1)
    while (paired := one.next_round()) is not None:
        one, other = one.pair(paired), other.pair(paired)
        results: list[tuple[TableRace, RaceResult]] = []
        while one.open_races:
            for race in one.open_races:
                results.append((race, referee(race)))
                one = enter(one, *results[-1])
        # Any order but that the races of one table stay in theirs.
        random.shuffle(results)
        for race, result in sorted(results, key=lambda each: each[0].number):
            other = enter(other, race, result)
        assert other.next_round() == one.next_round()
        assert other.standings == one.standings
    assert other == one


@pytest.mark.parametrize("played", PLAYED, ids=repr)
@settings(max_examples=15)
@given(count=st.integers(2, 9), random=randoms)
def test_the_same_changes_give_the_same_crosstable(played: Format, count: int, random: Random) -> None:
    changes: list[Change] = []
    tournament = Crosstable(played)

    def apply(change: Change) -> None:
        nonlocal tournament
        tournament = change(tournament)
        changes.append(change)

    for name in names(count):
        apply(partial(Crosstable.enter, entrant=name, rating=random.choice([None, 1500.0, 1600.0])))
    referee = by_chance(random, draws=0.2)
    while (paired := tournament.next_round()) is not None:
        apply(partial(Crosstable.pair, paired=paired))
        while tournament.open_races:
            race = tournament.open_races[0]
            apply(partial(enter, race=race, result=referee(race)))
        if len(tournament.active) > 1 and random.random() < 0.3:
            apply(partial(Crosstable.withdraw, entrant=random.choice(tournament.active)))
        if random.random() < 0.3:
            # A result that decides as before may always be corrected.
            settled = [pairing.table for pairing in paired.pairings if tournament.result(paired.number, pairing.table) is not None]
            table = random.choice(settled)
            first = tournament.races[paired.number, table][0]
            counted_again = RaceResult(first.verdict, (7, 7), first.forfeit)
            apply(partial(Crosstable.correct, number=paired.number, table=table, result=counted_again))
    again = reduce(lambda crosstable, change: change(crosstable), changes, Crosstable(played))
    assert again == tournament
    assert again.standings == tournament.standings


@pytest.mark.parametrize("played", PLAYED, ids=repr)
def test_the_standings_may_be_asked_for_at_any_time(played: Format) -> None:
    tournament = field_of(played, 5)
    assert [row.points for row in tournament.standings] == [0.0] * 5
    tournament = pair_next(tournament)
    assert sorted(row.entrant for row in tournament.standings) == names(5)
    race = tournament.open_races[0]
    tournament = tournament.enter_result(1, race.pairing.table, FIRST)
    assert [row.points for row in tournament.standings if row.entrant == race.pairing.first] == [1.0]
    assert field_of(played, 0).standings == ()
