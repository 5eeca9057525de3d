"""What comes of it when nobody does anything, as values: nothing runs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from protocol.tournaments import Verdict
from server.tournaments.absence import IDLE_DAYS, UNUSED_S, expiry, missing
from server.tournaments.events import (
    CalledOff,
    CheckInOpened,
    Entered,
    Paused,
    ResultCorrected,
    ResultEntered,
    Resumed,
    RoundPaired,
    Withdrawn,
)
from server.tournaments.pairing.rounds import Pairing, RaceResult
from server.tournaments.state import TournamentState
from tests.server.tournaments.test_commands import OPTIONS, entered


def in_round(state: TournamentState, number: int) -> TournamentState:
    """With rounds paired up to this one."""
    while state.round < number:
        paired = state.settled()[0].next_round()
        assert paired is not None
        state = state.after(RoundPaired(paired, state.settled()[1]), at_ms=2)
    return state


def table_of(state: TournamentState, entrant: str) -> Pairing:
    pairing = state.crosstable.rounds[-1].of(entrant)
    assert pairing is not None
    return pairing


def absent(state: TournamentState, *entrants: str) -> list[ResultEntered]:
    """The forfeits of these, each at a table of their own or both at one."""
    forfeits: dict[int, ResultEntered] = {}
    for pairing in state.crosstable.rounds[-1].pairings:
        away = [side in entrants for side in pairing.entrants]
        if any(away):
            verdict: Verdict = "neither" if all(away) else "second" if away[0] else "first"
            forfeits[pairing.table] = ResultEntered(state.round, pairing.table, 1, RaceResult(verdict, forfeit=True))
    return list(forfeits.values())


def others_win(state: TournamentState) -> TournamentState:
    for race in state.crosstable.open_races:
        result = ResultEntered(
            race.round, race.pairing.table, race.number, RaceResult("first", (52, 10)), f"{race.round}-{race.pairing.table}"
        )
        state = state.after(result, at_ms=3)
    return state


def missing_in(state: TournamentState, *entrants: str) -> TournamentState:
    """The round to its end, in which these do not come."""
    return others_win(state.after_all(missing(state, absent(state, *entrants)), at_ms=3))


def test_whoever_misses_two_rounds_running_is_out_and_a_round_in_between_that_was_not_missed_counts() -> None:
    field = entered(replace(OPTIONS, rounds=4, format="swiss"), *"abcdef")
    once = missing_in(in_round(field, 1), "a")
    assert not missing_in(in_round(once, 2), "a").crosstable.plays("a")
    # A result that is corrected afterwards: they were there.
    table = table_of(once, "a")
    won = ResultCorrected(1, table.table, 1, RaceResult("first" if table.first == "a" else "second", (52, 10)))
    assert missing_in(in_round(once.after(won, at_ms=3), 2), "a").crosstable.plays("a")
    # Their opponent leaves, so they win without having to come.
    second = in_round(once, 2)
    (opponent,) = set(table_of(second, "a").entrants) - {"a"}
    walkover = others_win(second.after(Withdrawn(opponent), at_ms=3))
    assert missing_in(in_round(walkover, 3), "a").crosstable.plays("a")


def test_a_table_missed_twice_in_one_round_is_one_round_missed() -> None:
    state = in_round(entered(replace(OPTIONS, rounds=4), *"abcdef"), 1)
    table = table_of(state, "a").table
    state = state.after_all(missing(state, absent(state, "a")), at_ms=3)
    state = state.after(ResultCorrected(1, table, 1, None), at_ms=3)
    assert missing_in(state, "a").crosstable.plays("a")


@pytest.mark.parametrize("format_", ["swiss", "round-robin", "elimination", "session"])
def test_a_round_to_which_nobody_comes_costs_nobody_anything(format_: str) -> None:
    state = in_round(entered(replace(OPTIONS, rounds=3, format=format_), *"abcd"), 1)
    (pause,) = missing(state, absent(state, *"abcd"))
    assert pause == Paused("nobody has come to round 1")
    paused = state.after(pause, at_ms=3)
    assert paused.phase == "paused"
    # It goes on as if nothing had been.
    again = paused.after(Resumed(), at_ms=4)
    assert missing_in(again, "a").is_round_over
    # One who is there, or has raced in this round, shows that others could have come.
    assert Paused not in map(type, missing(again, absent(again, *"abc")))
    first = again.crosstable.rounds[0].pairings[0].entrants
    raced = again.after(ResultEntered(1, 1, 1, RaceResult("first", (52, 10)), "record"), at_ms=4)
    assert Paused not in map(type, missing(raced, absent(raced, *set("abcd").difference(first))))


def test_no_bye_no_bot_and_no_table_that_somebody_has_left_hides_that_nobody_has_come() -> None:
    byes = in_round(entered(replace(OPTIONS, format="elimination"), *"abcdef"), 1)
    left = in_round(entered(replace(OPTIONS, rounds=3), *"abcdef"), 1).after(Withdrawn("a"), at_ms=3)
    bots = entered(replace(OPTIONS, rounds=3), *"abcd")
    for number in range(4):
        bots = bots.after(Entered(f"bot:greedy:{number}", f"greedy {number}", None, "greedy"), at_ms=1)
    for state in (byes, left, in_round(bots, 1)):
        called = {entrant for race in state.crosstable.open_races for entrant in race.pairing.entrants if state.people[entrant].bot is None}
        assert len(called) == 4
        assert missing(state, absent(state, *called)) == (Paused("nobody has come to round 1"),)


def test_a_race_of_somebody_who_has_left_since_and_a_ruling_both_show_that_others_could_have_come() -> None:
    state = in_round(entered(replace(OPTIONS, rounds=3), *"abcdef"), 1)
    won, first = RaceResult("first", (52, 10)), table_of(state, "a").first
    for begun in (
        state.after(ResultEntered(1, 1, 1, won, "record"), at_ms=3).after(Withdrawn(first), at_ms=4),
        state.after(ResultCorrected(1, 1, 1, won), at_ms=3),
    ):
        others = {entrant for race in begun.crosstable.open_races for entrant in race.pairing.entrants}
        assert Paused not in map(type, missing(begun, absent(begun, *others)))


def test_whoever_misses_two_tables_of_a_knock_out_is_put_out_by_it_and_not_withdrawn() -> None:
    once = missing_in(in_round(entered(replace(OPTIONS, format="elimination", double=True), *"abcd"), 1), "d")
    second = in_round(once, 2)
    assert len(missing(second, absent(second, "d"))) == 1


def test_two_who_both_stay_away_forfeit() -> None:
    state = in_round(entered(replace(OPTIONS, rounds=1), *"ab"), 1)
    assert Paused not in map(type, missing(state, absent(state, *"ab")))


def test_an_idle_tournament_is_called_off_however_often_the_server_begins_anew() -> None:
    day_ms = 24 * 3600 * 1000
    state = entered(OPTIONS, "a")
    ends = [expiry(state, since_ms=since_ms) for since_ms in range(0, 40 * day_ms, day_ms)]
    assert [day for day, end in enumerate(ends) if end is not None and end.at_ms < (day + 1) * day_ms] == list(range(30, 40))
    # After a month without a server there is time to go on with it.
    late = expiry(state, since_ms=60 * day_ms)
    assert late is not None
    assert late.at_ms == 60 * day_ms + 12 * 3600 * 1000


def test_a_tournament_ends_sooner_if_only_its_director_and_bots_have_entered_and_never_while_something_is_to_happen() -> None:
    bot = Entered("bot:greedy:1", "greedy 1", None, "greedy")
    unused = entered(OPTIONS, "d").after(bot, at_ms=5)
    assert expiry(unused, since_ms=0) == (1000 * UNUSED_S, "nobody has used it")
    assert expiry(unused, since_ms=1000 * UNUSED_S) == (1000 * UNUSED_S * 5 // 4, "nobody has used it")
    for used in (entered(OPTIONS, "d", "a"), others_win(in_round(unused, 1))):
        last_ms = used.log[-1].at_ms
        assert expiry(used, since_ms=0) == (last_ms + 1000 * IDLE_DAYS * 24 * 3600, "nothing has happened in it for 30 days")
    for busy in (unused.after(CheckInOpened(), at_ms=6), in_round(unused, 1), unused.after(CalledOff(""), at_ms=6)):
        assert expiry(busy, since_ms=0) is None
