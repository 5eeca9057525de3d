"""The fold over all decisions of a tournament, its text form, and what is told of it."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings

from protocol.tournaments import TournamentOptions
from server.store.port import TournamentDecided, TournamentMade
from server.tournaments.choices import (
    BrokenOff,
    BrokenRace,
    CheckedIn,
    CheckInOpened,
    Choice,
    Corrected,
    Entered,
    Finished,
    Left,
    Paired,
    Paused,
    Raced,
    Resumed,
    Returned,
)
from server.tournaments.documents import TAGS, BadDocument, Making, decode_choice, encode_choice, encode_making
from server.tournaments.log import course_of
from server.tournaments.log_text import sentence
from server.tournaments.pairing.rounds import Result, seat
from server.tournaments.state import Course, NotNow, PlacesTaken, new_course
from server.tournaments.tournament import Refused
from server.tournaments.views import document, snapshot
from tests.server.tournaments.fields import randoms

ROOT = bytes(range(32))
OPTIONS = TournamentOptions(name="Open", check_in_s=0, rounds=3, places=12)

EXAMPLES: tuple[Choice, ...] = (
    Entered("a", "Ann", 1000),
    CheckInOpened(),
    CheckedIn("a", "ab" * 16),
    Left("a", "ill"),
    Returned("a"),
    Paired(seat(1, [("a", "b"), ("c", None)]), 3),
    Raced(1, 1, 1, Result("first", (52, 17)), "RACE-1-ab"),
    BrokenRace(1, 1, "a fault"),
    Corrected(1, 1, 1, None, "a dog"),
    Paused(),
    Resumed(),
    Finished(),
    BrokenOff("rain"),
)


def course_with(options: TournamentOptions = OPTIONS) -> Course:
    return new_course("ABCDEF", options, code=None, director="d", director_name="Dora", root=ROOT, made_at_ms=5)


def played(options: TournamentOptions, chance: Random, *, steps: int = 80) -> Course:
    """A course as chance and the director's whims make it: refused decisions leave it as it was."""
    course = course_with(options)
    for number in range(5):
        course = course.after(Entered(f"p{number}", f"P {number}", 1000 + number), at_ms=10 + number, author=f"p{number}")
    for step in range(steps):
        choice = any_choice(course, chance)
        try:
            after = course.after(choice, at_ms=100 + step)
        except Refused:
            continue
        assert after.log[:-1] == course.log
        course = after
    return course


def any_choice(course: Course, chance: Random) -> Choice:
    anybody = f"p{chance.randrange(8)}"
    races = course.tournament.open_races
    verdict = chance.choice(["first", "second", "draw"])
    result = Result(verdict, (chance.randrange(53), chance.randrange(53)))  # type: ignore[arg-type]
    options: list[Choice] = [
        Entered(anybody, anybody.upper(), None),
        Left(anybody),
        Returned(anybody),
        course.next_bot("random"),
        Paused(),
        Resumed(),
        Corrected(max(course.round, 1), chance.randrange(1, 4), 1, chance.choice([result, None]), "whim"),
    ]
    if anybody in course.people:
        options.append(CheckedIn(anybody, chance.randbytes(16).hex()))
    if races:
        race = chance.choice(races)
        options += [Raced(race.round, race.pairing.table, race.number, result, "ID")] * 12
        options.append(BrokenRace(race.round, race.pairing.table, "a fault"))
    elif course.can_be_paired:
        settled, length = course.settled()
        following = settled.next_round()
        options += [Paired(following, length) if following is not None else Finished()] * 12
    return chance.choice(options)


@pytest.mark.parametrize("choice", EXAMPLES, ids=lambda choice: type(choice).__name__)
def test_a_decision_comes_back_from_its_text(choice: Choice) -> None:
    assert decode_choice(encode_choice(choice)) == choice


def test_every_decision_has_a_tag_and_an_example() -> None:
    assert set(TAGS.values()) == {type(choice) for choice in EXAMPLES}


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[2,"pause",{}]', '[1,"dance",{}]', '[1,"withdraw",{}]', '[1,"withdraw",{"entrant":3}]'])
def test_what_is_no_decision_is_said(text: str) -> None:
    with pytest.raises(BadDocument):
        decode_choice(text)


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=15)
@given(chance=randoms)
def test_the_log_makes_the_same_course_again_in_words_too(kind: str, chance: Random) -> None:
    options = msgspec.structs.replace(OPTIONS, format=kind)  # type: ignore[arg-type]
    course = played(options, chance)
    made = TournamentMade(tournament="ABCDEF", director="d", secret=ROOT, document=encode_making(Making(options, None, "Dora")), at_ms=5)
    log = [
        TournamentDecided(
            tournament="ABCDEF", sequence=chosen.number, at_ms=chosen.at_ms, author=chosen.author, decision=encode_choice(chosen.choice)
        )
        for chosen in course.log
    ]
    assert course_of(made, log) == course
    assert all(sentence(course, chosen.choice).endswith(".") for chosen in course.log)


@pytest.mark.parametrize("kind", ["swiss", "round-robin", "elimination", "session"])
@settings(max_examples=15)
@given(chance=randoms)
def test_nothing_that_is_told_holds_a_secret_of_a_round_that_is_not_over(kind: str, chance: Random) -> None:
    course = played(msgspec.structs.replace(OPTIONS, format=kind), chance)  # type: ignore[arg-type]
    shown = snapshot(course, shown=None, live={}, is_here=lambda player: False, now_ms=0)
    told = (msgspec.json.encode(shown) + msgspec.json.encode(document(course))).decode()
    assert ROOT.hex() not in told
    for number in range(1, course.round + 3):
        is_over = number <= course.round and course.shuffles[number - 1].over_at_ms is not None
        assert (course.secret(number).hex() in told) == is_over
        if number <= course.round:
            assert shown.rounds[number - 1].open == 0 or not is_over


def test_a_full_field_takes_nobody_and_a_closed_tournament_nothing() -> None:
    course = course_with(msgspec.structs.replace(OPTIONS, places=2))
    for name in "ab":
        course = course.after(Entered(name, name, None), at_ms=1)
    with pytest.raises(PlacesTaken):
        course.after(Entered("c", "c", None), at_ms=2)
    ended = course.after(BrokenOff(), at_ms=3)
    for choice in (Left("a"), Paused(), CheckInOpened(), BrokenOff()):
        with pytest.raises(NotNow):
            ended.after(choice, at_ms=4)


def test_a_swiss_without_rounds_gets_as_many_as_leave_one_without_a_loss() -> None:
    course = course_with(msgspec.structs.replace(OPTIONS, rounds=0))
    for number in range(9):
        course = course.after(Entered(f"e{number}", f"e{number}", None), at_ms=1)
    settled, length = course.settled()
    assert length == 4
    following = settled.next_round()
    assert following is not None
    assert course.after(Paired(following, length), at_ms=2).options.rounds == 4


def test_a_race_that_is_run_again_gets_the_next_number_of_the_shuffle() -> None:
    course = course_with(msgspec.structs.replace(OPTIONS, format="elimination"))
    for name in "ab":
        course = course.after(Entered(name, name, None), at_ms=1)
    settled, length = course.settled()
    following = settled.next_round()
    assert following is not None
    course = course.after(Paired(following, length), at_ms=2)
    assert course.deal(1, 1).number == 1
    course = course.after(Raced(1, 1, 1, Result("draw", (9, 9)), "A"), at_ms=3)
    assert course.deal(1, 1).number == 2
    course = course.after(BrokenRace(1, 1, "a fault"), at_ms=4)
    assert course.deal(1, 1).number == 3
    assert [race.number for race in course.wanted()] == [2]
