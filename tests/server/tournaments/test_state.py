"""Folding all decisions of a tournament, their text form, and what is told about it."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings

from protocol.errors import Refusal
from protocol.tournament_messages import PairRound
from protocol.tournaments import TournamentOptions, Verdict
from server.store.port import TournamentDecided, TournamentMade, name_key
from server.tournaments.commands import Asker, decide, next_bot
from server.tournaments.documents import Making, encode_making, state_of
from server.tournaments.events import (
    BANNED,
    NO_CHECK_IN,
    TAGS,
    BadTournamentLog,
    BoardsKeyGiven,
    ByeGiven,
    CalledOff,
    CheckedIn,
    CheckInExtended,
    CheckInOpened,
    DirectorChanged,
    Entered,
    EntrantRenamed,
    Event,
    Finished,
    Paused,
    ResultCorrected,
    ResultEntered,
    Resumed,
    Returned,
    RoundPaired,
    TableRaceAborted,
    Withdrawn,
    decode_event,
    encode_event,
)
from server.tournaments.log_text import sentence
from server.tournaments.pairing.crosstable import EntrantRefused, Refused
from server.tournaments.pairing.rounds import RaceResult, seat
from server.tournaments.state import LEAVERS_KEPT, NotNow, PlacesTaken, TournamentState, new_state
from server.tournaments.views import document, snapshot
from tests.server.tournaments.fields import randoms

ROOT = bytes(range(32))
OPTIONS = TournamentOptions(name="Open", check_in_s=0, rounds=3, places=12)

EXAMPLES: tuple[Event, ...] = (
    Entered("a", "Ann", 1000),
    CheckInOpened(),
    CheckInExtended(120),
    CheckedIn("a", "ab" * 16),
    Withdrawn("a", "ill"),
    Returned("a"),
    EntrantRenamed("a", "Anne", "mistyped"),
    ByeGiven("a", 2, 1, "a wedding"),
    RoundPaired(seat(1, [("a", "b"), ("c", None)]), 3),
    ResultEntered(1, 1, 1, RaceResult("first", (52, 17)), "RACE-1-ab"),
    TableRaceAborted(1, 1, "a fault"),
    ResultCorrected(1, 1, 1, None, "a dog"),
    BoardsKeyGiven(),
    DirectorChanged("e", "Emil", "by the host"),
    Paused(),
    Resumed(),
    Finished(),
    CalledOff("rain"),
)


def state_with(options: TournamentOptions = OPTIONS) -> TournamentState:
    return new_state("ABCDEF", options, code=None, director="d", director_name="Dora", root=ROOT, made_at_ms=5)


def played(options: TournamentOptions, chance: Random, *, steps: int = 80, leave_themselves: bool = False) -> TournamentState:
    """A state as chance and the director's whims make it: refused decisions leave it as it was. leave_themselves: entrants who go do so
    by their own will."""
    state = state_with(options)
    for number in range(5):
        state = state.after(Entered(f"p{number}", f"P {number}", 1000 + number), at_ms=10 + number, author=f"p{number}")
    for step in range(steps):
        event = any_event(state, chance)
        try:
            author = event.entrant if leave_themselves and isinstance(event, Withdrawn) else None
            after = state.after(event, at_ms=100 + step, author=author)
        except Refused:
            continue
        assert after.log[:-1] == state.log
        state = after
    return state


def any_event(state: TournamentState, chance: Random) -> Event:
    anybody = f"p{chance.randrange(8)}"
    races = state.crosstable.open_races
    verdict = chance.choice(["first", "second", "draw"])
    result = RaceResult(verdict, (chance.randrange(53), chance.randrange(53)))  # type: ignore[arg-type]
    options: list[Event] = [
        Entered(anybody, anybody.upper(), None),
        Withdrawn(anybody),
        Returned(anybody),
        next_bot(state, "random"),
        BoardsKeyGiven(),
        DirectorChanged(anybody, anybody),
        Paused(),
        Resumed(),
        ResultCorrected(max(state.round, 1), chance.randrange(1, 4), 1, chance.choice([result, None]), "whim"),
    ]
    if anybody in state.people:
        options.append(CheckedIn(anybody, chance.randbytes(16).hex()))
    if races:
        race = chance.choice(races)
        options += [ResultEntered(race.round, race.pairing.table, race.number, result, "ID")] * 12
        options.append(TableRaceAborted(race.round, race.pairing.table, "a fault"))
    elif state.can_be_paired:
        settled, length = state.settled()
        following = settled.next_round()
        options += [RoundPaired(following, length) if following is not None else Finished()] * 12
    return chance.choice(options)


@pytest.mark.parametrize("choice", EXAMPLES, ids=lambda choice: type(choice).__name__)
def test_a_decision_comes_back_from_its_text(choice: Event) -> None:
    assert decode_event(encode_event(choice)) == choice


def test_every_decision_has_a_tag_and_an_example() -> None:
    assert set(TAGS.values()) == {type(choice) for choice in EXAMPLES}


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[2,"pause",{}]', '[1,"dance",{}]', '[1,"withdraw",{}]', '[1,"withdraw",{"entrant":3}]'])
def test_what_is_no_decision_is_said(text: str) -> None:
    with pytest.raises(BadTournamentLog):
        decode_event(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[2,"pause",{}]', "a decision of version 2, where this program reads 1"),
        ('[1,"dance",{}]', "a decision 'dance', which this program does not know"),
        ("{}", "not a decision: Expected `array`, got `object`"),
    ],
)
def test_why_it_is_none_is_said_once(text: str, why: str) -> None:
    with pytest.raises(BadTournamentLog) as caught:
        decode_event(text)
    assert str(caught.value) == why


def test_a_result_that_cannot_be_is_no_decision() -> None:
    written = encode_event(ResultEntered(1, 1, 1, RaceResult("neither", forfeit=True)))
    with pytest.raises(BadTournamentLog, match="not a decision"):
        decode_event(written.replace('"forfeit":true', '"forfeit":false'))


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=15)
@given(chance=randoms)
def test_the_log_makes_the_same_state_again_in_words_too(kind: str, chance: Random) -> None:
    options = msgspec.structs.replace(OPTIONS, format=kind)
    state = played(options, chance)
    made = TournamentMade(tournament="ABCDEF", director="d", secret=ROOT, document=encode_making(Making(options, None, "Dora")), at_ms=5)
    log = [
        TournamentDecided(
            tournament="ABCDEF", sequence=chosen.number, at_ms=chosen.at_ms, author=chosen.author, decision=encode_event(chosen.event)
        )
        for chosen in state.log
    ]
    assert state_of(made, log) == state
    told = [sentence(state, chosen.event) for chosen in state.log]
    assert all(text.endswith(".") for text in told)
    for chosen, text in zip(state.log, told, strict=True):
        if isinstance(chosen.event, ResultEntered) and chosen.event.result.verdict == "neither":
            assert text.endswith(" both forfeit.")


def test_a_result_in_the_log_names_the_winner_first_with_their_own_figure() -> None:
    state = state_with()
    for name in ("Ida", "Jan", "Kim"):
        state = state.after(Entered(name[0], name, None), at_ms=10)
    state = state.after(RoundPaired(seat(1, [("I", "J"), ("K", None)]), 3), at_ms=20)

    def told(table: int, verdict: Verdict, first: int = 0, second: int = 0, *, forfeit: bool = False) -> str:
        return sentence(state, ResultEntered(1, table, 1, RaceResult(verdict, (first, second), forfeit=forfeit)))

    assert told(1, "first", 12, 11) == "Round 1, table 1: Ida beats Jan, 12:11."
    assert told(1, "second", 11, 12) == "Round 1, table 1: Jan beats Ida, 12:11."
    assert told(1, "second", 10, 10) == "Round 1, table 1: Jan beats Ida, 10:10, reaching 10 first."
    assert told(1, "draw", 9, 9) == "Round 1, table 1: Ida and Jan draw, 9:9."
    assert told(1, "second", forfeit=True) == "Round 1, table 1: Ida forfeits to Jan."
    assert told(1, "neither", forfeit=True) == "Round 1, table 1: Ida and Jan both forfeit."
    assert told(2, "second", 8, 30) == "Round 1, table 2: the house beats Kim, 30:8."


def test_the_log_says_who_withdrew_by_themselves_and_who_gets_their_table_also_when_its_result_is_corrected_later() -> None:
    state = state_with().after_all([Entered(each[0], each, None) for each in ("Ida", "Jan", "Kim", "Leo", "Max")], at_ms=10)
    state = state.after(Withdrawn("L"), at_ms=15, author="L").after(Returned("L"), at_ms=15, author="L")
    state = state.after(RoundPaired(seat(1, [("I", "J"), ("K", "L"), ("M", None)]), 3), at_ms=20)
    state = state.after(ResultEntered(1, 1, 1, RaceResult("first", (52, 3))), at_ms=25)
    for entrant, author in (("K", "d"), ("M", None), ("I", "I"), ("L", "L")):
        state = state.after(Withdrawn(entrant), at_ms=30, author=author)
    state = state.after(ResultCorrected(1, 2, 1, RaceResult("first", forfeit=True)), at_ms=40)
    assert [entry.text for entry in document(state).log if entry.kind == "withdraw"] == [
        "Leo withdraws.",
        "Kim is out; table 2 goes to Leo.",
        "Max is out; table 3 goes to the house.",
        "Ida withdraws.",
        "Leo withdraws.",
    ]


def test_why_a_round_is_not_paired_now_is_said_plainly() -> None:
    def why(state: TournamentState, number: int) -> str:
        with pytest.raises(Refusal) as refused:
            decide(state, Asker("d", "Dora", None), PairRound(id="ABCDEF", round=number))
        return refused.value.detail

    state = state_with()
    assert why(state, 1) == "the first round is paired when the tournament starts"
    for name in ("Ida", "Jan"):
        state = state.after(Entered(name[0], name, None), at_ms=10)
    state = state.after(RoundPaired(seat(1, [("I", "J")]), 3), at_ms=20)
    assert why(state, 2) == "round 1 is not over yet"
    assert why(state.after(Paused(), at_ms=30), 2) == "the tournament is paused"
    state = state.after(ResultEntered(1, 1, 1, RaceResult("first", (52, 17)), "RACE-1-ab"), at_ms=30)
    assert why(state, 3) == "the next round is round 2, not round 3"
    assert why(state.after(Finished(), at_ms=40), 2) == "the tournament is over"


def test_an_entrant_who_is_out_is_told_why_also_by_logs_of_older_servers() -> None:
    state = state_with().after(Entered("a", "Ann", None), at_ms=6, author="a")
    outs = {
        ("a", ""): ("withdrew", ""),
        ("d", "two names"): ("removed", "two names"),
        ("d", NO_CHECK_IN): ("not-checked-in", ""),
        (None, NO_CHECK_IN): ("not-checked-in", ""),
        (None, "missed 2 rounds running"): ("missed", ""),
        (None, BANNED): ("banned", ""),
        (None, f"{BANNED}: plays by program"): ("banned", "plays by program"),
    }
    for (author, reason), out in outs.items():
        gone = state.after(Withdrawn("a", reason), at_ms=7, author=author)
        (entrant,) = snapshot(gone, shown=None, live={}, is_here=bool, since_ms=0, now_ms=0).entrants
        assert (entrant.withdrawn, entrant.out, entrant.out_reason) == (True, *out)
        back = gone.after(Returned("a"), at_ms=8).people["a"]
        assert (back.out, back.out_reason) == ("", "")


def come_and_gone(state: TournamentState, *entrants: str) -> TournamentState:
    for entrant in entrants:
        for event in (Entered(entrant, entrant.upper(), None), Withdrawn(entrant)):
            state = state.after(event, at_ms=6, author=entrant)
    return state


def test_a_corrected_name_is_told_everywhere_and_the_log_says_which_it_replaces() -> None:
    state = state_with().after(Entered("a", "Anb", None), at_ms=6, author="a").after(Entered("b", "Ben", None), at_ms=6, author="b")
    state = state.after(CheckedIn("a", "ab" * 16), at_ms=7, author="a")
    state = state.after(EntrantRenamed("a", "Ann", "mistyped"), at_ms=8, author="d")
    state = state.after(EntrantRenamed("a", "Anne"), at_ms=9, author="d")
    told = document(state)
    texts = [entry.text for entry in told.log]
    assert texts[-5:] == [
        "Anb enters.",
        "Ben enters.",
        "Anne checks in.",
        "Anb is called Ann from now on.",
        "Ann is called Anne from now on.",
    ]
    assert (told.log[-2].kind, told.log[-2].reason) == ("rename", "mistyped")
    assert [(entrant.name, entrant.entered_as) for entrant in told.entrants] == [("Anne", "Anb"), ("Ben", "")]
    (shown, _) = snapshot(state, shown=None, live={}, is_here=bool, since_ms=0, now_ms=0).entrants
    assert (shown.name, shown.entered_as) == ("Anne", "Anb")
    assert state.names == {name_key(name) for name in ("Anne", "Ben")}
    # Also where it is over: what is printed of it should be right.
    over = state.after(CalledOff(), at_ms=10).after(EntrantRenamed("b", "Bene"), at_ms=11, author="d")
    assert over.people["b"].name == "Bene"
    assert over.is_closed


def test_of_many_who_come_and_go_before_they_are_paired_the_last_few_are_told_of() -> None:
    state = state_with().after(Entered("a", "Ann", None), at_ms=5, author="a").after(Entered("b", "Ben", None), at_ms=5, author="b")
    state = state.after(Withdrawn("b", "two names"), at_ms=5, author="d")
    state = come_and_gone(state, *(f"x{number}" for number in range(500)))
    listed = ["a", "b", *(f"x{number}" for number in range(500 - LEAVERS_KEPT, 500))]
    shown = snapshot(state, shown=None, live={}, is_here=bool, since_ms=0, now_ms=0)
    assert [entrant.id for entrant in shown.entrants] == [entrant.id for entrant in document(state).entrants] == listed
    assert len(msgspec.msgpack.encode(shown)) < 10_000
    assert shown.log[-1].text == "X499 withdraws."
    assert document(state).log[4].text == "X0 withdraws."


def test_who_was_forgotten_comes_back_to_their_old_place_among_equals_and_enters_only_once() -> None:
    state = come_and_gone(state_with(), *(f"x{number}" for number in range(LEAVERS_KEPT + 1)))
    assert "x0" not in state.crosstable.entrants
    with pytest.raises(EntrantRefused):
        state.after(Entered("x0", "X0", None), at_ms=7, author="x0")
    back = state.after(Returned("x0"), at_ms=7, author="x0")
    assert back.crosstable.seeds[:2] == ("x0", "x1")
    assert back.crosstable.plays("x0")
    assert not back.forgotten


def test_what_the_forgotten_have_decided_counts_for_all_and_no_more_for_them() -> None:
    state = state_with().after(Entered("first", "First", None), at_ms=5, author="first")
    state = come_and_gone(state, *(f"x{number}" for number in range(LEAVERS_KEPT + 1)))
    assert [state.people[entrant].own_decisions for entrant in ("first", "x0", "x1")] == [1, 0, 2]
    state = state.after(Withdrawn("first"), at_ms=7, author="first")
    assert list(state.forgotten) == ["x0", "first"]
    assert state.people["first"].own_decisions == 0
    assert state.own_decisions == 2 * (LEAVERS_KEPT + 2)


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=15)
@given(chance=randoms)
def test_a_log_from_before_anybody_was_forgotten_makes_the_same_rounds_and_standings(kind: str, chance: Random) -> None:
    options = msgspec.structs.replace(OPTIONS, format=kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("server.tournaments.state.LEAVERS_KEPT", 1000)
        before = played(options, chance, leave_themselves=True)
        assert not before.forgotten
        patch.setattr("server.tournaments.state.LEAVERS_KEPT", 0)
        state = state_with(options)
        for entry in before.log:
            state = state.after(entry.event, at_ms=entry.at_ms, author=entry.author)
    one, other = state.crosstable, before.crosstable
    assert (one.rounds, one.races, one.standings, one.size) == (other.rounds, other.races, other.standings, other.size)
    assert list(one.entrants.items()) == [each for each in other.entrants.items() if each[0] not in state.forgotten]
    assert {**one.entrants, **state.forgotten} == other.entrants


def test_whoever_was_out_before_they_could_be_paired_is_not_in_the_standings_and_others_keep_their_places() -> None:
    state = state_with().after_all([Entered(each, each, None) for each in "abc"] + [Withdrawn("c", NO_CHECK_IN)], at_ms=6)
    state = state.after_all([RoundPaired(seat(1, [("a", "b")]), 2), Entered("e", "e", None), Withdrawn("e")], at_ms=7)
    state = state.after_all([ResultEntered(1, 1, 1, RaceResult("first", (52, 3))), Withdrawn("b")], at_ms=8)
    assert [(row.place, row.entrant) for row in document(state).standings] == [(1, "a"), (2, "b")]
    assert [row.entrant for row in document(state.after(Returned("c"), at_ms=9)).standings] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=15)
@given(chance=randoms)
def test_nothing_that_is_told_holds_a_secret_of_a_round_that_is_not_over(kind: str, chance: Random) -> None:
    state = played(msgspec.structs.replace(OPTIONS, format=kind), chance)
    shown = snapshot(state, shown=None, live={}, is_here=lambda player: False, since_ms=0, now_ms=0)
    told = (msgspec.json.encode(shown) + msgspec.json.encode(document(state))).decode()
    assert ROOT.hex() not in told
    for number in range(1, state.round + 3):
        is_over = number <= state.round and state.shuffles[number - 1].over_at_ms is not None
        assert (state.secret(number).hex() in told) == is_over
        if number <= state.round:
            assert shown.rounds[number - 1].open == 0 or not is_over


def test_a_full_field_takes_nobody_and_a_closed_tournament_nothing() -> None:
    state = state_with(msgspec.structs.replace(OPTIONS, places=2))
    for name in "ab":
        state = state.after(Entered(name, name, None), at_ms=1)
    with pytest.raises(PlacesTaken):
        state.after(Entered("c", "c", None), at_ms=2)
    ended = state.after(CalledOff(), at_ms=3)
    for event in (Withdrawn("a"), Paused(), CheckInOpened(), CalledOff()):
        with pytest.raises(NotNow):
            ended.after(event, at_ms=4)


def begun(options: TournamentOptions = OPTIONS, *, names: str = "ab") -> TournamentState:
    """The first round is paired, of entrants with these names of one letter."""
    state = state_with(options)
    for name in names:
        state = state.after(Entered(name, name, None), at_ms=1)
    settled, length = state.settled()
    following = settled.next_round()
    assert following is not None
    return state.after(RoundPaired(following, length), at_ms=2)


def test_what_belongs_to_another_stage_is_no_decision() -> None:
    registration = state_with(msgspec.structs.replace(OPTIONS, check_in_s=60))
    check_in = registration.after(CheckInOpened(), at_ms=1)
    playing = begun()
    paused = playing.after(Paused(), at_ms=3)
    for state, events in (
        (registration, (CheckInExtended(60), Paused(), Resumed(), Finished())),
        (check_in, (CheckInOpened(), Paused(), Resumed(), Finished())),
        (playing, (CheckInOpened(), CheckInExtended(60), Resumed())),
        (paused, (CheckInOpened(), CheckInExtended(60), Paused())),
    ):
        for event in events:
            with pytest.raises(NotNow):
                state.after(event, at_ms=4)


def test_after_a_pause_the_time_between_two_rounds_begins_anew() -> None:
    over = begun(msgspec.structs.replace(OPTIONS, pause_s=30), names="abcd")
    for table in (1, 2):
        over = over.after(ResultEntered(1, table, 1, RaceResult("first", (52, 9))), at_ms=5000)
    assert over.next_due_ms(since_ms=0) == 35_000
    paused = over.after(Paused(), at_ms=6000)
    assert paused.next_due_ms(since_ms=0) is None
    assert paused.after(Resumed(), at_ms=70_000).next_due_ms(since_ms=0) == 100_000


def test_no_race_is_wanted_of_a_round_that_is_over_or_of_a_tournament_that_is_finished() -> None:
    state = begun(msgspec.structs.replace(OPTIONS, format="elimination"), names="abc")
    (race,) = state.crosstable.open_races
    assert [(each.number, each.pairing.counted) for each in state.wanted()] == [(1, True), (1, False)], "a race, and a bye"
    assert state.after(Finished(), at_ms=3).wanted() == ()
    over = state.after(ResultEntered(1, race.pairing.table, 1, RaceResult("first", (52, 9))), at_ms=3)
    assert over.is_round_over
    assert over.wanted() == ()


def test_a_swiss_without_rounds_gets_as_many_as_leave_one_without_a_loss() -> None:
    state = state_with(msgspec.structs.replace(OPTIONS, rounds=0))
    for number in range(9):
        state = state.after(Entered(f"e{number}", f"e{number}", None), at_ms=1)
    settled, length = state.settled()
    assert length == 4
    following = settled.next_round()
    assert following is not None
    assert state.after(RoundPaired(following, length), at_ms=2).options.rounds == 4


def test_a_race_that_is_run_again_gets_the_next_number_of_the_shuffle() -> None:
    state = begun(msgspec.structs.replace(OPTIONS, format="elimination"))
    assert state.deal(1, 1).number == 1
    state = state.after(ResultEntered(1, 1, 1, RaceResult("draw", (9, 9)), "A"), at_ms=3)
    assert state.deal(1, 1).number == 2
    state = state.after(TableRaceAborted(1, 1, "a fault"), at_ms=4)
    assert state.deal(1, 1).number == 3
    assert [race.number for race in state.wanted()] == [2]
