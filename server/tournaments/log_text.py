"""The log of a tournament in words. Pure."""

from __future__ import annotations

from typing import assert_never

from protocol.tournaments import LoggedDecision
from server.tournaments.choices import (
    BrokenOff,
    BrokenRace,
    CheckedIn,
    CheckInOpened,
    Choice,
    Chosen,
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
from server.tournaments.documents import KIND
from server.tournaments.pairing.rounds import Pairing, Result
from server.tournaments.state import Course


def logged(course: Course, chosen: Chosen) -> LoggedDecision:
    return LoggedDecision(
        number=chosen.number,
        at_ms=chosen.at_ms,
        author=author_name(course, chosen.author),
        kind=KIND[type(chosen.choice)],
        text=sentence(course, chosen.choice),
        reason=getattr(chosen.choice, "reason", ""),
    )


def author_name(course: Course, author: str | None) -> str:
    """Empty for the server."""
    if author is None:
        return ""
    return course.director_name if author == course.director else name_of(course, author)


def name_of(course: Course, entrant: str) -> str:
    person = course.people.get(entrant)
    return person.name if person is not None else entrant


def sentence(course: Course, choice: Choice) -> str:
    match choice:
        case Entered(name=name, bot=bot):
            return f"{name} enters, a house bot." if bot is not None else f"{name} enters."
        case CheckInOpened():
            return "The check-in is open."
        case CheckedIn(entrant):
            return f"{name_of(course, entrant)} checks in."
        case Left(entrant):
            return f"{name_of(course, entrant)} is out."
        case Returned(entrant):
            return f"{name_of(course, entrant)} is back."
        case Paired(paired):
            tables = len(paired.pairings)
            return f"Round {paired.number} is paired: {tables} {'table' if tables == 1 else 'tables'}."
        case Raced(number, table, race, result):
            return f"{_race(number, table, race)}: {_outcome(course, number, table, result)}."
        case BrokenRace(number, table):
            return f"Round {number}, table {table}: the race was broken off and is run again."
        case Corrected(number, table, race, None):
            return f"{_race(number, table, race)}: the result is struck."
        case Corrected(number, table, race, result):
            assert result is not None
            return f"{_race(number, table, race)}, by the director: {_outcome(course, number, table, result)}."
        case Paused():
            return "The tournament is paused."
        case Resumed():
            return "The tournament goes on."
        case Finished():
            return "The tournament is over."
        case BrokenOff():
            return "The tournament is broken off."
    assert_never(choice)


def _race(number: int, table: int, race: int) -> str:
    return f"Round {number}, table {table}" + (f", race {race}" if race > 1 else "")


def _outcome(course: Course, number: int, table: int, result: Result) -> str:
    pairing = course.pairing(number, table)
    assert pairing is not None
    by = ", by forfeit" if result.forfeit else f", {result.home[0]}:{result.home[1]}"
    match result.verdict:
        case "draw":
            return f"a draw between {_names(course, pairing)}{by}"
        case "neither":
            return f"nobody has it of {_names(course, pairing)}{by}"
        case "first":
            return f"{name_of(course, pairing.first)} wins{by}"
        case "second":
            return f"{name_of(course, pairing.second) if pairing.second is not None else 'the house'} wins{by}"
    assert_never(result.verdict)


def _names(course: Course, pairing: Pairing) -> str:
    second = name_of(course, pairing.second) if pairing.second is not None else "the house"
    return f"{name_of(course, pairing.first)} and {second}"
