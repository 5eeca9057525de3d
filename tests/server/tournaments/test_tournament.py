"""The fold over the log: what is refused, what a withdrawal and a correction do, and that the order of results makes no difference."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.tournaments import TournamentFormat, TournamentOptions
from server.tournaments.decisions import CorrectResult, Decision, Enter, EnterResult, PairRound, Return, Withdraw
from server.tournaments.formats import format_of
from server.tournaments.pairing.elimination import Elimination
from server.tournaments.pairing.round_robin import RoundRobin
from server.tournaments.pairing.rounds import Entrant, Pairing, Result, Round
from server.tournaments.pairing.session import Session
from server.tournaments.pairing.swiss import Swiss
from server.tournaments.tournament import (
    EntryRefused,
    Format,
    Refused,
    ResultRefused,
    RoundRefused,
    RoundUnfinished,
    Tournament,
    UnknownEntrant,
    replay,
)
from tests.server.tournaments.fields import (
    DRAW,
    FIRST,
    SECOND,
    better_seed_wins,
    by_chance,
    field_of,
    names,
    pair_next,
    play,
    randoms,
    run_round,
)

PLAYED: list[Format] = [Swiss(4), RoundRobin(), RoundRobin(double=True), Elimination(), Elimination(double=True), Session(3)]


def test_every_format_is_played_here() -> None:
    offered = [TournamentOptions(name="Open", format=name) for name in get_args(TournamentFormat)]
    assert {type(played) for played in PLAYED} == {type(format_of(options, 1)) for options in offered}


def test_seeds_are_by_rating_then_by_entry_and_those_without_one_last() -> None:
    entrants = [
        Entrant("new"),
        Entrant("low", 1.5),
        Entrant("high", 30.0),
        Entrant("newer"),
        Entrant("also low", 1.5),
        Entrant("below", -4.0),
    ]
    assert replay(Swiss(1), map(Enter, entrants)).seeds == ("high", "low", "also low", "below", "new", "newer")


@pytest.mark.parametrize("rating", [float("nan"), float("inf")])
def test_a_rating_is_a_finite_number(rating: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Entrant("a", rating)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Result("neither"), "only by forfeit"),
        (lambda: Result("draw", forfeit=True), "no draw"),
        (lambda: Result("first", (-1, 0)), "fewer than none"),
    ],
)
def test_what_no_race_can_come_to_is_no_result(build: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()  # type: ignore[operator]  # one of the above


SOME = pair_next(field_of(Swiss(3), 5))
"""Tables: a-c, b-d, and e against the house."""
RUN = run_round(SOME, better_seed_wins)


@pytest.mark.parametrize(
    ("tournament", "decision", "refusal", "words"),
    [
        (SOME, Enter(Entrant("a")), EntryRefused, "a has entered already"),
        (SOME, Withdraw("x"), UnknownEntrant, "x has not entered"),
        (SOME.after(Withdraw("e")), Withdraw("e"), EntryRefused, "e has withdrawn already"),
        (SOME, Return("a"), EntryRefused, "a has not withdrawn"),
        (SOME, Return("x"), UnknownEntrant, "x has not entered"),
        (SOME, PairRound(Round(2, (Pairing(1, "a", "b"),))), RoundUnfinished, "waits for the results of tables 1, 2, 3"),
        (RUN, PairRound(Round(3, (Pairing(1, "a", "b"),))), RoundRefused, "round 3 does not follow round 1"),
        (RUN, PairRound(Round(2, (Pairing(2, "a", "b"),))), RoundRefused, "numbered 1, 2, 3"),
        (RUN, PairRound(Round(2, (Pairing(1, "a", "b"), Pairing(2, "a", "c")))), RoundRefused, "nobody at two"),
        (RUN, PairRound(Round(2, (Pairing(1, "a", "a"),))), RoundRefused, "nobody at two"),
        (RUN, PairRound(Round(2, ())), RoundRefused, "at least one table"),
        (RUN, PairRound(Round(2, (Pairing(1, "a", "x"),))), UnknownEntrant, "x has not entered"),
        (RUN.after(Withdraw("a")), PairRound(Round(2, (Pairing(1, "a", "b"),))), RoundRefused, "a has withdrawn"),
        (SOME, EnterResult(2, 1, FIRST), ResultRefused, "round 2 has no table 1"),
        (SOME, EnterResult(1, 4, FIRST), ResultRefused, "round 1 has no table 4"),
        (SOME, EnterResult(0, 1, FIRST), ResultRefused, "round 0 has no table 1"),
        (SOME, EnterResult(1, 0, FIRST), ResultRefused, "round 1 has no table 0"),
        (SOME, EnterResult(1, 1, FIRST, race=2), ResultRefused, "waits for race 1, not for race 2"),
        (RUN, EnterResult(1, 1, FIRST), ResultRefused, "correct it, if it is wrong"),
        (SOME, CorrectResult(1, 1, FIRST, "why"), ResultRefused, "no result that could be corrected"),
        (RUN, CorrectResult(1, 1, FIRST, "why", race=2), ResultRefused, "no result that could be corrected"),
        (pair_next(RUN), CorrectResult(1, 1, None, "why"), ResultRefused, "can be changed, not taken away"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_its_reason(
    tournament: Tournament, decision: Decision, refusal: type[Refused], words: str
) -> None:
    with pytest.raises(refusal, match=words):
        tournament.after(decision)


def test_a_round_that_waits_for_results_is_not_followed() -> None:
    with pytest.raises(RoundUnfinished, match="waits for the results of tables 2, 3"):
        SOME.after(EnterResult(1, 1, FIRST)).next_round()


def test_a_withdrawal_forfeits_the_table_of_the_round_in_hand() -> None:
    assert SOME.after(Withdraw("a")).result(1, 1) == Result("second", forfeit=True)
    assert SOME.after(Withdraw("c")).result(1, 1) == Result("first", forfeit=True)
    assert SOME.after(Withdraw("e")).result(1, 3) == Result("second", forfeit=True)
    # The second to go has won by forfeit already.
    assert SOME.after(Withdraw("a")).after(Withdraw("c")).result(1, 1) == Result("second", forfeit=True)


def test_two_who_have_both_withdrawn_forfeit_to_each_other() -> None:
    tournament = play(field_of(RoundRobin(), 4), better_seed_wins, rounds=1).after(Withdraw("a")).after(Withdraw("c"))
    tournament = pair_next(pair_next(tournament))
    assert tournament.rounds[2].pairings[1].entrants == ("c", "a")
    assert tournament.result(3, 2) == Result("neither", forfeit=True)


def test_a_withdrawal_leaves_a_result_alone() -> None:
    assert RUN.after(Withdraw("a")).races == RUN.races


def test_a_return_gives_no_forfeited_race_back() -> None:
    tournament = SOME.after(Withdraw("a")).after(Return("a"))
    assert tournament.result(1, 1) == Result("second", forfeit=True)
    assert tournament.active == SOME.active


def test_a_correction_changes_points_and_standings_of_rounds_long_past() -> None:
    tournament = play(RUN, better_seed_wins)
    assert tournament.standings()[0].entrant == "a"
    corrected = tournament.after(CorrectResult(1, 1, SECOND, "entered for the wrong side"))
    before = {row.entrant: row.points for row in tournament.standings()}
    after = {row.entrant: row.points for row in corrected.standings()}
    assert {entrant: after[entrant] - before[entrant] for entrant in before} == {"a": -1.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 0.0}


def test_a_struck_result_is_open_again() -> None:
    tournament = RUN.after(CorrectResult(1, 2, None, "the server was down"))
    assert [race.pairing.table for race in tournament.open_races] == [2]
    assert tournament.after(EnterResult(1, 2, FIRST)) == RUN


def test_a_struck_result_of_who_has_withdrawn_is_a_forfeit() -> None:
    tournament = RUN.after(Withdraw("a")).after(CorrectResult(1, 1, None, "he was not there"))
    assert tournament.result(1, 1) == Result("second", forfeit=True)
    assert tournament.open_races == ()


def test_a_struck_race_takes_with_it_those_run_for_it() -> None:
    tournament = pair_next(field_of(Elimination(), 2))
    for number, result in enumerate((DRAW, DRAW, FIRST), 1):
        tournament = tournament.after(EnterResult(1, 1, result, number))
    struck = tournament.after(CorrectResult(1, 1, None, "not a draw after all", race=2))
    assert struck.races == {(1, 1): (DRAW,)}
    assert [race.number for race in struck.open_races] == [2]


def test_a_refused_decision_changes_nothing() -> None:
    before = (dict(SOME.entries), SOME.rounds, dict(SOME.races))
    for decision in (Enter(Entrant("a")), Withdraw("x"), EnterResult(1, 9, FIRST)):
        with pytest.raises(Refused):
            SOME.after(decision)
    assert (dict(SOME.entries), SOME.rounds, dict(SOME.races)) == before


@pytest.mark.parametrize("played", PLAYED, ids=repr)
@settings(max_examples=15)
@given(count=st.integers(2, 9), random=randoms)
def test_neither_standings_nor_pairings_depend_on_the_order_in_which_results_arrive(played: Format, count: int, random: Random) -> None:
    one = other = field_of(played, count)
    referee = by_chance(random, draws=0.2, forfeits=0.1)
    while (paired := one.next_round()) is not None:
        one, other = one.after(PairRound(paired)), other.after(PairRound(paired))
        results: list[EnterResult] = []
        while one.open_races:
            for race in one.open_races:
                results.append(EnterResult(race.round, race.pairing.table, referee(race), race.number))
                one = one.after(results[-1])
        # Any order but that the races of one table stay in theirs.
        random.shuffle(results)
        for result in sorted(results, key=lambda result: result.race):
            other = other.after(result)
        assert other.next_round() == one.next_round()
        assert other.standings() == one.standings()
    assert other == one


@pytest.mark.parametrize("played", PLAYED, ids=repr)
@settings(max_examples=15)
@given(count=st.integers(2, 9), random=randoms)
def test_the_log_gives_the_tournament_again(played: Format, count: int, random: Random) -> None:
    log: list[Decision] = [Enter(Entrant(name, random.choice([None, 1500.0, 1600.0]))) for name in names(count)]
    tournament = replay(played, log)
    referee = by_chance(random, draws=0.2)

    def decide(decision: Decision) -> None:
        nonlocal tournament
        tournament = tournament.after(decision)
        log.append(decision)

    while (paired := tournament.next_round()) is not None:
        decide(PairRound(paired))
        while tournament.open_races:
            race = tournament.open_races[0]
            decide(EnterResult(race.round, race.pairing.table, referee(race), race.number))
        if len(tournament.active) > 1 and random.random() < 0.3:
            decide(Withdraw(random.choice(tournament.active)))
        if random.random() < 0.3:
            # One that decides as before may always be corrected.
            settled = [pairing.table for pairing in paired.pairings if tournament.result(paired.number, pairing.table) is not None]
            table = random.choice(settled)
            first = tournament.races[paired.number, table][0]
            decide(CorrectResult(paired.number, table, Result(first.verdict, (7, 7), first.forfeit), "counted again"))
    assert replay(played, log) == tournament
    assert replay(played, log).standings() == tournament.standings()


@pytest.mark.parametrize("played", PLAYED, ids=repr)
def test_the_standings_may_be_asked_for_at_any_time(played: Format) -> None:
    tournament = field_of(played, 5)
    assert [row.points for row in tournament.standings()] == [0.0] * 5
    tournament = pair_next(tournament)
    assert sorted(row.entrant for row in tournament.standings()) == names(5)
    race = tournament.open_races[0]
    tournament = tournament.after(EnterResult(1, race.pairing.table, FIRST))
    assert [row.points for row in tournament.standings() if row.entrant == race.pairing.first] == [1.0]
    assert field_of(played, 0).standings() == ()
