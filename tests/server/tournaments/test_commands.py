"""What commands to a tournament decide, as values: nothing runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from protocol.codec import JSON, MAX_SERVER_MESSAGE, encode
from protocol.errors import ErrorCode, Refusal
from protocol.tournament_messages import (
    AddBot,
    AskBye,
    CheckIn,
    CorrectResult,
    EndTournament,
    EnterTournament,
    GiveBye,
    LeaveTournament,
    RemoveEntrant,
    RenameEntrant,
    StartTournament,
)
from protocol.tournaments import MAX_ROUNDS, TableResult, TournamentOptions
from protocol.watch_messages import AskBoardsKey
from server.store.port import name_key
from server.tournaments import commands
from server.tournaments.audit import BadTournament, audit_tournament
from server.tournaments.byes import MOST_BYES
from server.tournaments.commands import OWN_DECISIONS, RENAMES, Asker, Decision, TournamentCommand, decide, when_due
from server.tournaments.events import (
    NO_CHECK_IN,
    BoardsKeyGiven,
    ByeGiven,
    CalledOff,
    CheckedIn,
    CheckInOpened,
    DirectorChanged,
    Entered,
    EntrantRenamed,
    Finished,
    LoggedEvent,
    ResultEntered,
    Returned,
    RoundPaired,
    Withdrawn,
)
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.state import LEAVERS_KEPT, TournamentState, new_state
from server.tournaments.views import document, snapshot

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
    assert [row.place for row in corrected.crosstable.standings] == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "session", "elimination"])
def test_a_last_result_on_which_nothing_rests_is_corrected_when_all_is_over(kind: str) -> None:
    state = played_out(entered(replace(OPTIONS, format=kind), *"abcd"))
    won = TableResult(verdict="second", first_home=10, second_home=52 if kind != "session" else 0)
    correction = CorrectResult(id="ABCDEF", round=state.round, table=1, result=won)
    corrected = state.after_all(decide(state, DIRECTOR, correction).events, at_ms=5)
    result = corrected.crosstable.result(state.round, 1)
    assert result is not None
    assert result.verdict == "second"


@pytest.mark.parametrize(("kind", "rounds"), [("swiss", 2), ("session", 2)])
def test_nobody_new_enters_once_the_last_round_is_paired(kind: str, rounds: int) -> None:
    state = entered(replace(OPTIONS, format=kind, rounds=rounds), *"abcde").after(Withdrawn("e"), at_ms=2)
    late = Asker("f", "Fay", None)
    for number in range(1, rounds + 1):
        assert decide(state, late, EnterTournament(id="ABCDEF")).events
        assert decide(state, DIRECTOR, AddBot(id="ABCDEF")).events
        paired, length = state.settled()[0].next_round(), state.settled()[1]
        assert paired is not None
        state = state.after(RoundPaired(paired, length), at_ms=3)
        if number < rounds:
            for race in state.crosstable.open_races:
                state = state.after(ResultEntered(race.round, race.pairing.table, 1, RaceResult("first")), at_ms=4)
    assert decide(state, Asker("e", "E", None), EnterTournament(id="ABCDEF")).events
    for asker, command in ((late, EnterTournament(id="ABCDEF")), (DIRECTOR, AddBot(id="ABCDEF"))):
        with pytest.raises(Refusal, match="last round is paired"):
            decide(state, asker, command)


def test_whoever_was_removed_in_the_last_round_by_mistake_gets_their_table_back() -> None:
    state = entered(replace(OPTIONS, rounds=1), *"abcd")
    paired, length = state.settled()[0].next_round(), state.settled()[1]
    assert paired is not None
    state = state.after(RoundPaired(paired, length), at_ms=2)
    table, gone = paired.pairings[0].table, paired.pairings[0].first
    steps: tuple[TournamentCommand, ...] = (
        RemoveEntrant(id="ABCDEF", entrant=gone),
        RemoveEntrant(id="ABCDEF", entrant=gone, remove=False),
        CorrectResult(id="ABCDEF", round=1, table=table, result=None),
    )
    for command in steps:
        state = state.after_all(decide(state, DIRECTOR, command).events, at_ms=3)
    assert state.crosstable.result(1, table) is None
    assert gone in state.crosstable.active


def test_a_result_that_the_director_gave_is_marked_as_theirs_until_the_race_is_run_again() -> None:
    state = entered(OPTIONS, *"ab")
    paired, length = state.settled()[0].next_round(), state.settled()[1]
    assert paired is not None
    state = state.after(RoundPaired(paired, length), at_ms=2)

    def ruled(state: TournamentState) -> bool:
        result = document(state).rounds[0].tables[0].result
        assert result is not None
        return result.ruled

    given = CorrectResult(id="ABCDEF", round=1, table=1, result=TableResult(verdict="first"))
    at_once = state.after_all(decide(state, DIRECTOR, given).events, at_ms=3)
    assert ruled(at_once)
    raced = state.after(ResultEntered(1, 1, 1, RaceResult("second", (10, 52)), "r1"), at_ms=3)
    assert not ruled(raced)
    later = entered(replace(OPTIONS, rounds=2), *"abc")
    paired, length = later.settled()[0].next_round(), later.settled()[1]
    assert paired is not None
    later = later.after(RoundPaired(paired, length), at_ms=2).after(ResultEntered(1, 1, 1, RaceResult("second", (10, 52)), "r1"), at_ms=3)
    corrected = later.after_all(decide(later, DIRECTOR, given).events, at_ms=4)
    assert ruled(corrected)
    struck = corrected.after_all(decide(corrected, DIRECTOR, replace(given, result=None)).events, at_ms=5)
    assert not ruled(struck.after(ResultEntered(1, 1, 1, RaceResult("first", (52, 10)), "r2"), at_ms=6))


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


def test_whoever_directs_it_after_another_decides_alone_and_the_other_cannot_play_with_their_key_to_the_boards() -> None:
    emil, ann = Asker("e", "Emil", None), Asker("a", "A", None)
    state = entered(OPTIONS, *"ab").after_all([BoardsKeyGiven()], at_ms=3, author="d")
    state = state.after(DirectorChanged("e", "Emil", "by the host of the server"), at_ms=4)
    pause = StartTournament(id="ABCDEF")
    assert decide(state, emil, pause).pairs
    for other in (DIRECTOR, ann):
        with pytest.raises(Refusal) as caught:
            decide(state, other, pause)
        assert caught.value.code is ErrorCode.NOT_THE_DIRECTOR
    assert "so you cannot play" in sentence_of(state, DIRECTOR, EnterTournament(id="ABCDEF"))
    assert decide(state, emil, EnterTournament(id="ABCDEF")).events == (Entered("e", "Emil", None),)
    assert decide(state, emil, AskBoardsKey(code="KXQWZP")).events == (BoardsKeyGiven(),)
    told = document(state)
    assert told.director == "Emil"
    assert [(entry.author, entry.text, entry.reason) for entry in told.log[-2:]] == [
        ("Dora", "Dora, who directs it, can see the boards of all tables with every card face up.", ""),
        ("", "Emil directs it from now on.", "by the host of the server"),
    ]


def test_what_is_as_asked_for_already_is_decided_without_an_event() -> None:
    state = entered(replace(OPTIONS, check_in_s=60), *"ab").after(CheckInOpened(), at_ms=2)
    check_in, nonce = CheckIn(id="ABCDEF", nonce="ab" * 16), "ab" * 16
    for asker, was, events in (
        (Asker("a", "A", None), state, (CheckedIn("a", nonce),)),
        (Asker("b", "B", None), state.after(Withdrawn("b", NO_CHECK_IN), at_ms=3), (Returned("b"), CheckedIn("b", nonce))),
        (DIRECTOR, state, (BoardsKeyGiven(),)),
    ):
        command = check_in if asker is not DIRECTOR else AskBoardsKey(code="KXQWZP")
        assert decide(was, asker, command) == Decision(events)
        assert decide(was.after_all(events, at_ms=4, author=asker.id), asker, command) == Decision()


def test_a_tournament_that_is_played_out_is_over_by_the_clock_and_cannot_be_started_again() -> None:
    over = played_out(entered(replace(OPTIONS, rounds=1), *"ab"))
    *before, last = over.log
    state = entered(replace(OPTIONS, rounds=1)).after_all([entry.event for entry in before], at_ms=3)
    assert when_due(state) == Decision((last.event,))
    for each in (state, over):
        with pytest.raises(Refusal) as caught:
            decide(each, DIRECTOR, StartTournament(id="ABCDEF"))
        assert caught.value.code is ErrorCode.NOT_NOW


def sentence_of(state: TournamentState, asker: Asker, command: TournamentCommand) -> str:
    with pytest.raises(Refusal) as caught:
        decide(state, asker, command)
    return caught.value.detail


def test_who_does_again_what_they_have_done_is_told_so_by_name_and_not_by_an_id() -> None:
    ann, state = Asker("a", "A", None), entered(OPTIONS, *"ab")
    left = state.after(Withdrawn("a"), at_ms=2)
    assert sentence_of(state, ann, EnterTournament(id="ABCDEF")) == "you have entered already"
    assert sentence_of(left, ann, LeaveTournament(id="ABCDEF")) == "you have left already"
    assert sentence_of(state, DIRECTOR, RemoveEntrant(id="ABCDEF", entrant="a", remove=False)) == "A is in already"
    assert sentence_of(left, DIRECTOR, RemoveEntrant(id="ABCDEF", entrant="a")) == "A is out already"


def test_the_director_corrects_a_name_to_one_that_nobody_else_in_it_has() -> None:
    state = entered(OPTIONS, *"ab").after(Entered("bot:random:1", "random 1", None, "random"), at_ms=2)

    def correct(asker: Asker, entrant: str, name: str) -> Decision:
        return decide(state, asker, RenameEntrant(id="ABCDEF", entrant=entrant, name=name, reason=" so\x1b "))

    assert correct(DIRECTOR, "a", "  Ann\x1b[31m  e ").events == (EntrantRenamed("a", "Ann e", "so"),)
    assert correct(DIRECTOR, "a", "Ann (bot)").events[0] == EntrantRenamed("a", "Ann bot", "so")
    # Another way to write their own.
    assert correct(DIRECTOR, "a", "a").events == (EntrantRenamed("a", "a", "so"),)
    refusals = {
        ("a", "b"): "somebody else in it is called b",
        ("a", "RANDOM 1"): "somebody else in it is called RANDOM 1",
        ("a", "A"): "they are called A already",
        ("bot:random:1", "Robin"): "house bots keep their names",
        ("a", "\u200b"): "Nothing printable is left",
        ("x", "Xaver"): "",
    }
    for (entrant, name), why in refusals.items():
        with pytest.raises(Refusal) as caught:
            correct(DIRECTOR, entrant, name)
        assert why in caught.value.sentence
    with pytest.raises(Refusal) as caught:
        correct(Asker("a", "A", None), "a", "Ann")
    assert caught.value.code is ErrorCode.NOT_THE_DIRECTOR


def test_a_name_that_was_corrected_is_free_again_and_the_right_one_keeps_out_nobody_whose_name_it_is() -> None:
    state = entered(OPTIONS, *"ab").after(EntrantRenamed("a", "Ann"), at_ms=2)
    for name in ("A", "ANN"):
        assert decide(state, Asker("c", name, None), EnterTournament(id="ABCDEF")).events == (Entered("c", name, None),)
    # Nobody else is given it, or has it twice by entering.
    with pytest.raises(Refusal, match="somebody else in it is called ANN"):
        decide(state, DIRECTOR, RenameEntrant(id="ABCDEF", entrant="b", name="ANN"))
    both = state.after(Entered("c", "ANN", None), at_ms=3)
    with pytest.raises(Refusal, match="somebody has entered as ann"):
        decide(both, Asker("e", "ann", None), EnterTournament(id="ABCDEF"))
    # It was written another way, and is the one under which they entered.
    spelled = state.after(EntrantRenamed("b", "b"), at_ms=3)
    with pytest.raises(Refusal, match="somebody has entered as B"):
        decide(spelled, Asker("c", "B", None), EnterTournament(id="ABCDEF"))
    # Whoever left and comes back is called so still.
    back = state.after(Withdrawn("a"), at_ms=3).after(Returned("a"), at_ms=4)
    assert back.people["a"].name == "Ann"


def test_a_name_is_corrected_a_few_times_and_not_without_end() -> None:
    state = entered(OPTIONS, *"ab")

    def corrected(entrant: str, name: str) -> TournamentState:
        return state.after_all(decide(state, DIRECTOR, RenameEntrant(id="ABCDEF", entrant=entrant, name=name)).events, at_ms=2)

    for number in range(RENAMES):
        state = corrected("a", f"Ann {number}")
    with pytest.raises(Refusal, match="the name of Ann 4 has been corrected 5 times, and stays"):
        corrected("a", "Ann")
    assert corrected("b", "Ben").people["b"].name == "Ben"
    # As a log of an earlier server may have it.
    assert state.after(EntrantRenamed("a", "Ann"), at_ms=3).people["a"].name == "Ann"


def test_a_director_does_not_decide_without_end_but_can_bring_it_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "DIRECTORS_DECISIONS", 8)
    state = entered(OPTIONS, *"abc")

    def after(command: TournamentCommand, asker: Asker = DIRECTOR) -> TournamentState:
        return state.after_all(decide(state, asker, command).events, at_ms=2, author=asker.id)

    for number in range(4):
        state = after(GiveBye(id="ABCDEF", entrant="a", round=1, half_points=1 + number % 2))
        state = after(RemoveEntrant(id="ABCDEF", entrant="b", remove=number % 2 == 0))
    state = after(RemoveEntrant(id="ABCDEF", entrant="b"))
    for command in (
        GiveBye(id="ABCDEF", entrant="a", round=1, half_points=0),
        RemoveEntrant(id="ABCDEF", entrant="b", remove=False),
        EnterTournament(id="ABCDEF"),
    ):
        assert "its director has decided 8 things" in sentence_of(state, DIRECTOR, command)
    assert after(LeaveTournament(id="ABCDEF"), Asker("c", "C", None)).crosstable.size == 1
    assert after(EndTournament(id="ABCDEF")).stage == "ended"
    # As a log of an earlier server may have it.
    assert state.after(Returned("b"), at_ms=3, author=DIRECTOR.id).crosstable.size == 3


def test_a_director_gives_no_result_that_no_race_can_have() -> None:
    for options, result in (
        (OPTIONS, TableResult(verdict="first", first_home=104)),
        (replace(OPTIONS, format="session"), TableResult(verdict="draw")),
    ):
        state = entered(options, *"ab")
        paired = state.settled()[0].next_round()
        assert paired is not None
        state = state.after(RoundPaired(paired, 3), at_ms=2)
        sentence_of(state, DIRECTOR, CorrectResult(id="ABCDEF", round=1, table=1, result=result))


def test_who_has_come_and_gone_too_often_can_still_leave() -> None:
    ann, state = Asker("a", "A", None), entered(OPTIONS, *"ab")
    for _ in range(OWN_DECISIONS // 2):
        for command in (LeaveTournament(id="ABCDEF"), EnterTournament(id="ABCDEF")):
            state = state.after_all(decide(state, ann, command).events, at_ms=2, author="a")
    state = state.after_all(decide(state, ann, LeaveTournament(id="ABCDEF")).events, at_ms=2, author="a")
    assert "too often" in sentence_of(state, ann, EnterTournament(id="ABCDEF"))
    assert "too often" in sentence_of(state, ann, CheckIn(id="ABCDEF", nonce="ab" * 16))


class Unread(tuple[LoggedEvent, ...]):
    """A log that nobody may go through."""

    __slots__ = ()

    def __iter__(self) -> Iterator[LoggedEvent]:
        raise AssertionError("somebody goes through the whole log")


def test_who_enters_or_leaves_costs_no_look_through_the_log_or_at_the_names_of_all_who_came(monkeypatch: pytest.MonkeyPatch) -> None:
    state = entered(OPTIONS, *"ab")
    for number in range(50):
        state = state.after(Entered(f"x{number}", f"X {number}", None), at_ms=1, author=f"x{number}")
        state = state.after(Withdrawn(f"x{number}"), at_ms=1, author=f"x{number}")
    compared = list[str]()

    def counted(name: str) -> str:
        compared.append(name)
        return name_key(name)

    monkeypatch.setattr(commands, "name_key", counted)
    unread = dataclasses.replace(state, log=Unread(state.log))
    assert decide(unread, Asker("c", "C", None), EnterTournament(id="ABCDEF")).events == (Entered("c", "C", None),)
    assert decide(unread, Asker("x0", "X 0", None), EnterTournament(id="ABCDEF")).events == (Returned("x0"),)
    assert decide(unread, Asker("a", "A", None), LeaveTournament(id="ABCDEF")).events == (Withdrawn("a"),)
    assert compared == ["C"]


def test_who_was_forgotten_after_they_left_can_come_back_also_where_many_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 4)
    state = entered(OPTIONS, *"ab")
    for number in range(LEAVERS_KEPT + 1):
        state = state.after(Entered(f"x{number}", f"X {number}", None), at_ms=1, author=f"x{number}")
        state = state.after(Withdrawn(f"x{number}"), at_ms=1, author=f"x{number}")
    assert decide(state, Asker("x0", "X 0", None), EnterTournament(id="ABCDEF")).events == (Returned("x0"),)
    # The director has them in their list.
    assert "its director can still let you in" in sentence_of(state, Asker("x1", "X 1", None), EnterTournament(id="ABCDEF"))


def test_who_gives_no_entry_code_where_one_is_needed_is_told_who_has_it() -> None:
    state = new_state("ABCDEF", OPTIONS, code="rug", director="d", director_name="Dora", root=bytes(32), made_at_ms=0)
    ann = Asker("a", "A", None)
    assert sentence_of(state, ann, EnterTournament(id="ABCDEF")) == "none was given: its director gives out a word"
    assert sentence_of(state, ann, EnterTournament(id="ABCDEF", code="mat")) == ""
    assert decide(state, ann, EnterTournament(id="ABCDEF", code="rug")).events == (Entered("a", "A", None),)


@pytest.mark.parametrize(("word", "typed"), [("tulip", "Tulip"), ("TULIP", "tulip"), ("Straße", "STRASSE")])
def test_an_entry_code_is_the_same_word_in_capitals(word: str, typed: str) -> None:
    state = new_state("ABCDEF", OPTIONS, code=word, director="d", director_name="Dora", root=bytes(32), made_at_ms=0)
    assert decide(state, Asker("a", "A", None), EnterTournament(id="ABCDEF", code=typed)).events == (Entered("a", "A", None),)


SWISS = replace(OPTIONS, rounds=3, byes=1)


def ask(state: TournamentState, entrant: str, number: int, *, ask: bool = True) -> TournamentState:
    command = AskBye(id="ABCDEF", round=number, ask=ask)
    return state.after_all(decide(state, Asker(entrant, entrant.upper(), None), command).events, at_ms=2, author=entrant)


def give(state: TournamentState, entrant: str, number: int, half_points: int = 2) -> TournamentState:
    command = GiveBye(id="ABCDEF", entrant=entrant, round=number, half_points=half_points, reason="a wedding")
    return state.after_all(decide(state, DIRECTOR, command).events, at_ms=2, author=DIRECTOR.id)


def paired(state: TournamentState) -> TournamentState:
    following, length = state.settled()[0].next_round(), state.settled()[1]
    assert following is not None
    return state.after(RoundPaired(following, length), at_ms=3)


def test_a_player_asks_for_as_many_half_point_byes_as_the_options_say_and_can_take_one_back() -> None:
    state = ask(entered(SWISS, *"abce"), "a", 2)
    assert state.crosstable.byes == {(2, "a"): 1}
    with pytest.raises(Refusal, match="each player can have 1 half-point bye, and you do"):
        ask(state, "a", 1)
    with pytest.raises(Refusal, match="A has such a bye in round 2 already"):
        ask(state, "a", 2)
    back = ask(state, "a", 2, ask=False)
    assert back.crosstable.byes == {}
    assert ask(back, "a", 1).crosstable.byes == {(1, "a"): 1}
    with pytest.raises(Refusal, match="A has no bye in round 2"):
        ask(back, "a", 2, ask=False)


def test_nobody_asks_for_a_bye_in_the_last_round_or_one_that_is_paired_or_before_it_is_known_which_is_the_last() -> None:
    state = paired(entered(SWISS, *"abce"))
    refusals = {1: "Round 1 is paired already", 3: "nobody can ask for a bye in the last round", 4: "it has 3 rounds"}
    for number, why in refusals.items():
        with pytest.raises(Refusal, match=why):
            ask(state, "a", number)
    # As many rounds as needed: two for four entrants.
    unsettled = entered(replace(SWISS, rounds=0), *"abce")
    assert ask(unsettled, "a", 1).crosstable.byes == {(1, "a"): 1}
    with pytest.raises(Refusal, match="settled with the first one"):
        ask(unsettled, "a", 3)
    with pytest.raises(Refusal, match="last round"):
        ask(unsettled, "a", 2)
    with pytest.raises(Refusal, match="last round"):
        ask(entered(replace(SWISS, rounds=0), *"ab"), "a", 1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (replace(SWISS, byes=0), "nobody can ask for a bye in it; its director may give one"),
        (replace(SWISS, format="round-robin"), "only in a Swiss"),
        (replace(SWISS, format="session"), "only in a Swiss"),
        (replace(SWISS, format="elimination"), "only in a Swiss"),
    ],
)
def test_where_there_are_no_byes_nobody_asks_for_one(options: TournamentOptions, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        ask(entered(options, *"abce"), "a", 1)


def test_the_director_gives_any_bye_to_whoever_plays_and_takes_it_away() -> None:
    state = give(entered(replace(SWISS, byes=0), *"abce"), "a", 3)
    state = give(give(state, "b", 1, 1), "b", 2, 1)
    assert state.crosstable.byes == {(3, "a"): 2, (1, "b"): 1, (2, "b"): 1}
    # It is not theirs to take back.
    with pytest.raises(Refusal, match="the director has given you that bye"):
        ask(state, "a", 3, ask=False)
    assert ask(state, "b", 1, ask=False).crosstable.byes == {(3, "a"): 2, (2, "b"): 1}
    assert give(state, "a", 3, 0).crosstable.byes == {(1, "b"): 1, (2, "b"): 1}
    out = state.after(Withdrawn("c"), at_ms=4)
    refusals = [
        (out, "c", 1, "C is out"),
        (state, "a", 4, "it has 3 rounds"),
        (state, "a", 3, "A has such a bye"),
        (state, "x", 1, "not entered"),
    ]
    for known, entrant, number, why in refusals:
        with pytest.raises(Refusal, match=why):
            give(known, entrant, number)
    with pytest.raises(Refusal) as caught:
        decide(state, Asker("a", "A", None), GiveBye(id="ABCDEF", entrant="a", round=1))
    assert caught.value.code is ErrorCode.NOT_THE_DIRECTOR
    with pytest.raises(Refusal, match="called off"):
        give(state.after(CalledOff(), at_ms=4), "a", 1)


def test_there_are_byes_only_in_rounds_that_come() -> None:
    """Two rounds for three and for four entrants, and three for five."""
    state = entered(replace(SWISS, rounds=0), *"abcef")
    with pytest.raises(Refusal, match="it has 3 rounds for the entrants of now; how many is settled with the first one"):
        give(state, "a", 4)
    state = give(give(state, "a", 3), "b", 2).after(Withdrawn("f"), at_ms=3)
    assert give(state, "a", 3, 0).crosstable.byes == {(2, "b"): 2}
    begun = paired(state)
    assert begun.length == 2
    assert begun.crosstable.byes == {(2, "b"): 2}
    with pytest.raises(Refusal, match=r"\(it has 2 rounds\)"):
        give(begun, "a", 3)


def test_there_are_no_more_byes_than_a_message_about_the_tournament_can_have() -> None:
    bots = [Entered(f"bot:random:{number}", f"random {number}", None, "random") for number in range(1, 257)]
    state = entered(replace(SWISS, rounds=512)).after_all(bots, at_ms=1)
    rounds = range(MAX_ROUNDS, MAX_ROUNDS - MOST_BYES // 250, -1)
    byes = {(number, bot.entrant): 2 for number in rounds for bot in bots[:250]}
    full = dataclasses.replace(state, crosstable=dataclasses.replace(state.crosstable, byes=byes))
    assert len(byes) == MOST_BYES
    with pytest.raises(Refusal, match="it has 3,000 byes already"):
        give(full, bots[0].entrant, 1)
    assert give(give(full, bots[0].entrant, 512, 0), bots[0].entrant, 1).crosstable.byes.keys() != byes.keys()
    assert give(full, bots[0].entrant, 512, 1).crosstable.byes == {**byes, (512, bots[0].entrant): 1}
    # The rest of the message takes less than half of what a message may take.
    told = snapshot(full, shown=None, live={}, is_here=lambda _: True, since_ms=0, now_ms=0)
    assert len(encode(told, JSON)) < MAX_SERVER_MESSAGE / 2


def test_somebody_is_left_to_race() -> None:
    state = give(give(entered(SWISS, *"abc"), "a", 1), "b", 1)
    for refused in (ask, give):
        with pytest.raises(Refusal, match="all others have a bye in round 1, and somebody has to race"):
            refused(state, "c", 1)


def test_whoever_asks_too_often_is_refused_like_others_who_do() -> None:
    state = entered(SWISS, *"abce")
    for _ in range(OWN_DECISIONS // 2):
        state = ask(ask(state, "a", 1), "a", 1, ask=False)
    with pytest.raises(Refusal, match="too often"):
        ask(state, "a", 1)
    assert give(state, "a", 1).crosstable.byes == {(1, "a"): 2}


def test_whoever_has_a_bye_in_the_first_round_is_not_waited_for_in_the_check_in_nor_left_out() -> None:
    state = ask(entered(replace(SWISS, check_in_s=60), *"abce").after(CheckInOpened(), at_ms=2), "a", 1)
    assert state.awaited == tuple("bce")
    for entrant in "bc":
        state = state.after(CheckedIn(entrant, "ab" * 16), at_ms=3)
    last = decide(state, Asker("e", "E", None), CheckIn(id="ABCDEF", nonce="cd" * 16))
    assert last == Decision((CheckedIn("e", "cd" * 16),), pairs=True)
    # The same where the last one who is waited for asks for a bye.
    asked = decide(state, Asker("e", "E", None), AskBye(id="ABCDEF", round=1))
    assert asked == Decision((ByeGiven("e", 1, 1),), pairs=True)
    begun = paired(state.after_all(asked.events, at_ms=4, author="e"))
    assert begun.crosstable.active == tuple("abce")
    assert [pairing.entrants for pairing in begun.crosstable.rounds[0].pairings] == [("b", "c")]
    # They can give their part of the later shuffles still.
    late = decide(begun, Asker("a", "A", None), CheckIn(id="ABCDEF", nonce="ef" * 16))
    assert late.events == (CheckedIn("a", "ef" * 16),)


def test_a_bye_does_not_end_a_check_in_in_which_only_bots_would_race() -> None:
    bots = [Entered(f"bot:random:{number}", f"random {number}", None, "random") for number in (1, 2, 3)]
    state = entered(replace(SWISS, check_in_s=3600), "a").after_all([*bots, CheckInOpened()], at_ms=2)
    asked = decide(state, Asker("a", "A", None), AskBye(id="ABCDEF", round=1))
    assert asked == Decision((ByeGiven("a", 1, 1),))
    # Nor does it if the last one without a bye leaves.
    both = entered(replace(SWISS, check_in_s=3600), *"ab").after_all([*bots, CheckInOpened(), ByeGiven("a", 1, 1)], at_ms=2)
    assert decide(both, Asker("b", "B", None), LeaveTournament(id="ABCDEF")) == Decision((Withdrawn("b"),))
    assert decide(both, Asker("b", "B", None), CheckIn(id="ABCDEF", nonce="ab" * 16)).pairs
    # When the time is over, it goes on.
    assert when_due(state.after_all(asked.events, at_ms=3, author="a")).pairs


def test_whoever_asks_for_byes_again_and_again_keeps_nobody_from_entering_leaving_and_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OWN_DECISIONS_OF_ALL", 20)
    state = entered(SWISS, *"abce")
    for _ in range(10):
        state = ask(ask(state, "a", 1), "a", 1, ask=False)
    assert state.own_decisions == 0
    with pytest.raises(Refusal, match="too often"):
        ask(state, "a", 1)
    state = ask(state, "b", 1)
    with pytest.raises(Refusal, match="Byes have been asked for too often; its director can still give or take away one"):
        ask(state, "b", 1, ask=False)
    state = state.after(Withdrawn("c"), at_ms=3, author="c")
    assert decide(state, Asker("c", "C", None), EnterTournament(id="ABCDEF")).events == (Returned("c"),)


def test_the_log_and_the_document_say_who_has_a_bye_and_the_document_is_true() -> None:
    state = entered(SWISS, *"abcef")
    state = give(give(ask(ask(ask(state, "a", 2), "b", 1), "b", 1, ask=False), "c", 1), "e", 1, 1)
    state = give(give(state, "f", 2, 1), "f", 2, 0)
    while not state.is_played_out:
        state = paired(state)
        for race in state.crosstable.open_races:
            state = state.after(ResultEntered(race.round, race.pairing.table, race.number, RaceResult("first", (52, 10))), at_ms=3)
    told = document(state)
    assert [entry.text for entry in told.log if entry.kind in ("bye", "pair")] == [
        "A asks for a half-point bye in round 2.",
        "B asks for a half-point bye in round 1.",
        "B takes back the bye in round 1.",
        "C is given a full-point bye in round 1.",
        "E is given a half-point bye in round 1.",
        "F is given a half-point bye in round 2.",
        "F has no bye any more in round 2.",
        "Round 1 is paired: 2 tables, and byes for C (1) and E (½).",
        "Round 2 is paired: 2 tables, and a bye for A (½).",
        "Round 3 is paired: 3 tables.",
    ]
    assert [entry.reason for entry in told.log if entry.kind == "bye"][3:5] == ["a wedding"] * 2
    byes = [(bye.round, bye.entrant, bye.half_points) for bye in told.byes]
    assert byes == [(1, "c", 2), (1, "e", 1), (2, "a", 1)]
    audit_tournament(told)
    assert sum(row.half_points for row in told.standings) == 2 * (2 + 2 + 3) + 2 + 1 + 1
    with pytest.raises(BadTournament, match="follows from the results"):
        audit_tournament(replace(told, byes=told.byes[1:]))
