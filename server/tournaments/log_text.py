"""Puts the log of a tournament into words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from protocol.text import counted, listed
from protocol.tournaments import LoggedDecision
from server.tournaments import events
from server.tournaments.pairing.rounds import RaceResult
from server.tournaments.state import TournamentState


def logged(state: TournamentState, entry: events.LoggedEvent) -> LoggedDecision:
    return LoggedDecision(
        number=entry.number,
        at_ms=entry.at_ms,
        author=author_name(state, entry.author),
        kind=events.KIND[type(entry.event)],
        text=sentence(state, entry.event, number=entry.number, author=entry.author),
        reason=getattr(entry.event, "reason", ""),
    )


def author_name(state: TournamentState, author: str | None) -> str:
    """Empty for the server."""
    if author is None:
        return ""
    return state.director_name if author == state.director else state.directed.get(author) or name_of(state, author)


def name_of(state: TournamentState, entrant: str) -> str:
    person = state.people.get(entrant)
    return person.name if person is not None else entrant


def sentence(state: TournamentState, event: events.Event, *, number: int = 0, author: str | None = None) -> str:  # noqa: C901  (a case for each event)
    """number: that of its entry in the log, needed to tell who was given a table by it, or called otherwise before. author: of the same."""
    match event:
        case events.Entered(name=name, bot=bot):
            return f"{name} enters, a house bot." if bot is not None else f"{name} enters."
        case events.CheckInOpened():
            return "The check-in is open."
        case events.CheckInExtended(more_s):
            more = counted(more_s // 60, "minute") if more_s % 60 == 0 else counted(more_s, "second")
            return f"The check-in is extended by {more}."
        case events.CheckedIn(entrant):
            return checked_in_text(name_of(state, entrant))
        case events.Withdrawn(entrant, reason):
            # Older logs may have a missed check-in of the one who decided last.
            went = "withdraws" if author == entrant and reason != events.NO_CHECK_IN else "is out"
            return f"{name_of(state, entrant)} {went}{_given_away(state, entrant, number)}."
        case events.Returned(entrant):
            return f"{name_of(state, entrant)} is back."
        case events.EntrantRenamed(name=name):
            return f"{state.called_before.get(number, 'An entrant')} is called {name} from now on."
        case events.ByeGiven(entrant, in_round, half_points):
            return bye_text(name_of(state, entrant), in_round, half_points, is_asked=author == entrant)
        case events.RoundPaired(paired):
            tables = counted(len(paired.pairings), "table") if paired.pairings else "no table"
            return f"Round {paired.number} is paired: {tables}{_byes_of(state, paired.number)}."
        case events.ResultEntered(number, table, race, result):
            return f"{_race(number, table, race)}: {_outcome(state, number, table, result)}."
        case events.TableRaceAborted(number, table):
            return f"Round {number}, table {table}: the race was called off and is run again."
        case events.ResultCorrected(number, table, race, result):
            said = ": the result is struck" if result is None else f", by the director: {_outcome(state, number, table, result)}"
            return f"{_race(number, table, race)}{said}."
        case events.BoardsKeyGiven():
            directs = author_name(state, author) or state.director_name
            return f"{directs}, who directs it, can see the boards of all tables with every card face up."
        case events.DirectorChanged(name=name):
            return f"{name} directs it from now on."
        case events.Paused():
            return "The tournament is paused."
        case events.Resumed():
            return "The tournament goes on."
        case events.Finished():
            return "The tournament is over."
        case events.CalledOff():
            return "The tournament is called off."
    assert_never(event)


def bye_text(name: str, in_round: int, half_points: int, *, is_asked: bool) -> str:
    """It is read back by the audit."""
    if not half_points:
        return f"{name} {'takes back the bye in' if is_asked else 'has no bye any more in'} round {in_round}."
    kind = f"a {'half' if half_points == 1 else 'full'}-point bye in"
    return f"{name} {'asks for' if is_asked and half_points == 1 else 'is given'} {kind} round {in_round}."


def _byes_of(state: TournamentState, number: int) -> str:
    byes = {entrant: points for (in_round, entrant), points in state.crosstable.byes.items() if in_round == number}
    return byes_text((name_of(state, entrant), points) for entrant, points in byes.items())


def byes_text(byes: Iterable[tuple[str, int]]) -> str:
    """`, and byes for Ann (½) and Ben (1)`, from names and half points; empty for none. It is read back by the audit."""
    names = [f"{name} ({'½' if points == 1 else '1'})" for name, points in byes]
    return f", and {'a bye' if len(names) == 1 else 'byes'} for {listed(names)}" if names else ""


def checked_in_text(name: str) -> str:
    """It is read back by the audit."""
    return f"{name} checks in."


def _given_away(state: TournamentState, entrant: str, number: int) -> str:
    if number not in state.given_away:
        return ""
    pairing = state.crosstable.pairing(*state.given_away[number])
    assert pairing is not None
    other = pairing.second if pairing.first == entrant else pairing.first
    return f"; table {pairing.table} goes to {name_of(state, other) if other is not None else 'the house'}"


def _race(number: int, table: int, race: int) -> str:
    return f"Round {number}, table {table}" + (f", race {race}" if race > 1 else "")


def _outcome(state: TournamentState, number: int, table: int, result: RaceResult) -> str:
    pairing = state.crosstable.pairing(number, table)
    assert pairing is not None
    first, second = name_of(state, pairing.first), name_of(state, pairing.second) if pairing.second is not None else "the house"
    one, other = result.home
    if state.options.format == "session" and not result.forfeit:
        return f"{first} brings home {counted(one, 'card')}"
    match result.verdict:
        case "draw":
            return f"{first} and {second} draw, {one}:{other}"
        case "neither":
            return f"{first} and {second} both forfeit"
        case "first":
            return _win(first, second, one, other, result)
        case "second":
            return _win(second, first, other, one, result)
    assert_never(result.verdict)


def _win(winner: str, loser: str, more: int, fewer: int, result: RaceResult) -> str:
    if result.forfeit:
        return f"{loser} forfeits to {winner}"
    by_time = more == fewer > 0 and not (result.ruled or result.walkover)
    how = ", a walkover" if result.walkover else f", reaching {more} first" if by_time else ""
    return f"{winner} beats {loser}, {more}:{fewer}{how}"
