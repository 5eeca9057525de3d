"""What commands to a tournament decide, as values: nothing runs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from protocol.errors import ErrorCode, Refusal
from protocol.tournament_messages import CorrectResult
from protocol.tournaments import TableResult, TournamentOptions
from protocol.watch_messages import AskBoardsKey
from server.tournaments.commands import Asker, decide
from server.tournaments.events import Entered, Finished, ResultEntered, RoundPaired
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.state import TournamentState, new_state

OPTIONS = TournamentOptions(name="Open", check_in_s=0)
DIRECTOR = Asker("d", "Dora", None)


def entered(options: TournamentOptions, *entrants: str) -> TournamentState:
    state = new_state("ABCDEF", options, code=None, director="d", director_name="Dora", root=bytes(32), made_at_ms=0)
    return state.after_all([Entered(entrant, entrant.upper(), None) for entrant in entrants], at_ms=1)


def played_out(state: TournamentState) -> TournamentState:
    """The first side wins each race."""
    while (paired := state.settled()[0].next_round()) is not None:
        state = state.after(RoundPaired(paired, state.settled()[1]), at_ms=2)
        for race in state.crosstable.open_races:
            state = state.after(ResultEntered(race.round, race.pairing.table, race.number, RaceResult("first", (52, 10))), at_ms=3)
    return state.after(Finished(), at_ms=4)


def test_a_final_that_would_need_another_match_is_not_corrected_once_all_is_over() -> None:
    state = played_out(entered(replace(OPTIONS, format="elimination", double=True), *"abcd"))
    (final,) = state.crosstable.rounds[-1].pairings
    assert final.match == "F"
    correction = CorrectResult(id="ABCDEF", round=state.round, table=1, result=TableResult(verdict="second", first_home=10, second_home=52))
    with pytest.raises(Refusal) as caught:
        decide(state, DIRECTOR, correction)
    assert caught.value.code is ErrorCode.DECISION_REFUSED
    assert "one more match" in caught.value.sentence
    other_count = replace(correction, result=TableResult(verdict="first", first_home=51, second_home=10))
    corrected = state.after_all(decide(state, DIRECTOR, other_count).events, at_ms=5)
    assert [row.place for row in corrected.crosstable.standings()] == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "session", "elimination"])
def test_a_last_result_on_which_nothing_rests_is_corrected_when_all_is_over(kind: str) -> None:
    state = played_out(entered(replace(OPTIONS, format=kind), *"abcd"))
    won = TableResult(verdict="second", first_home=10, second_home=52 if kind != "session" else 0)
    correction = CorrectResult(id="ABCDEF", round=state.round, table=1, result=won)
    corrected = state.after_all(decide(state, DIRECTOR, correction).events, at_ms=5)
    result = corrected.crosstable.result(state.round, 1)
    assert result is not None
    assert result.verdict == "second"


def test_a_struck_table_races_again_on_a_shuffle_that_no_other_table_has_raced() -> None:
    state = entered(OPTIONS, *"abcdef")
    paired = state.settled()[0].next_round()
    assert paired is not None
    state = state.after(RoundPaired(paired, 3), at_ms=2)

    def raced(state: TournamentState, table: int) -> TournamentState:
        return state.after(ResultEntered(1, table, 1, RaceResult("first", (52, 10))), at_ms=3)

    def struck(state: TournamentState, table: int) -> TournamentState:
        events = decide(state, DIRECTOR, CorrectResult(id="ABCDEF", round=1, table=table, result=None)).events
        return state.after_all(events, at_ms=4)

    state = raced(struck(raced(raced(state, 1), 2), 1), 1)
    assert [state.deal_number((1, table)) for table in (1, 2, 3)] == [2, 1, 1]
    # Whoever sat at the first table knows the second shuffle, and could tell its cards.
    state = struck(state, 2)
    assert [state.deal_number((1, table)) for table in (1, 2, 3)] == [2, 3, 1]
    # The next one is of no other table's yet.
    assert struck(raced(state, 2), 2).deal_number((1, 2)) == 4


def test_a_director_who_has_entered_since_they_asked_gets_no_key_of_the_boards() -> None:
    state = entered(OPTIONS, *"abd")
    with pytest.raises(Refusal) as caught:
        decide(state, DIRECTOR, AskBoardsKey(code="KXQWZP"))
    assert caught.value.code is ErrorCode.NO_KEY
