"""A director's rulings: which results a table can be given, and what becomes of a ruling whose answer was lost with the connection.

The server decides what is granted. This module knows only what it would refuse in any case.
"""

from __future__ import annotations

from msgspec.structs import replace

from client.state.tournament import DONE_PHASES, TournamentModel, result_ruled_on, table_name
from client.text.tournaments import bye_of
from client.tui.actions import Ruling
from client.tui.step import Step
from client.tui.tournament_view_state import TournamentView, marked_table
from client.tui.ui_state import GiveReason
from protocol.text import clean_name
from protocol.tournament_messages import CorrectResult, EndTournament, GiveBye, RemoveEntrant, Tournament
from protocol.tournaments import TableResult, TournamentTable

VERDICTS: dict[str, TableResult | None] = {
    "{first} wins": TableResult(verdict="first"),
    "{second} wins": TableResult(verdict="second"),
    "Draw": TableResult(verdict="draw"),
    "{first} wins by forfeit": TableResult(verdict="first", forfeit=True),
    "{second} wins by forfeit": TableResult(verdict="second", forfeit=True),
    "Both forfeit": TableResult(verdict="neither", forfeit=True),
    "Strike the result and reopen the table": None,
}
"""The verdicts that a director may give on a table."""
BYES: tuple[str, str, str] = ("no bye any more", "a half-point bye", "a full-point bye")
"""What an entrant has, by the half points that a director gives them for a round."""


def correct(step: Step, view_state: TournamentView, tournament: TournamentModel) -> Step:
    """Ask which result the marked table gets."""
    table = marked_table(step.state, view_state, step.ui.item)
    if table is None:
        return step.note("Select a table first, on the Tables page (tab).")
    told = tournament.told
    if not can_be_corrected(told, table):
        why = "it has no result, and the tournament is over" if table.counted else "its bye counts for nothing"
        return step.note(f"Table {table.table} can be given no result: {why}.")
    asked = CorrectResult(id=told.id, round=told.round, table=table.table, race=race_of(table), result=None)
    verdicts = {words: verdict for words, verdict in VERDICTS.items() if _can_be_given(verdict, told, table)}
    lines = (*(_named(words, tournament, table) for words in verdicts), "Leave it as it is")
    answers = (*(GiveReason(replace(asked, result=_with_cards(verdict, table.result))) for verdict in verdicts.values()), None)
    question = _named(f"Round {told.round}, table {table.table}: {{first}} against {{second}}", tournament, table)
    # What was not meant changes nothing.
    return step.ask(question, lines, answers, numbered=True).but(item=len(verdicts))


def _can_be_given(verdict: TableResult | None, told: Tournament, table: TournamentTable) -> bool:
    """False where the server would refuse this verdict in any case. None: the result is struck."""
    # Nothing can be raced any more on a shuffle that is told.
    is_told = any(each.number == told.round and each.secret is not None for each in told.rounds)
    if verdict is None:
        return table.result is not None and not is_told
    match told.options.format:
        case "elimination" if table.result is not None and told.round < len(told.rounds):
            return verdict.verdict == table.result.verdict
        case "elimination":
            return verdict.verdict != "draw" or not is_told
        case "session":
            return verdict.verdict != "draw"
        case _:
            return True


def can_be_corrected(told: Tournament, table: TournamentTable) -> bool:
    """Whether a director may enter or correct its result. What is over has its results corrected, and gets no further ones."""
    return table.counted and (table.result is not None or told.phase not in DONE_PHASES)


def asked_again(step: Step) -> Step:
    """Where rulings got no answer before the connection was lost, and were not carried out: ask whether to send them again, once their
    tournament has been told anew and nothing else is being asked, typed or raced."""
    tournament, room = step.state.tournaments.shown, step.state.room
    is_busy = step.ui.question is not None or step.ui.prompt is not None or (room is not None and room.phase == "racing")
    if not step.ui.lost_rulings or is_busy or tournament is None or tournament.told is step.ui.told_before:
        return step
    told = tournament.told
    # Of another round's tables nothing is known.
    seen = [
        (ruling, before)
        for ruling, before in step.ui.lost_rulings
        if ruling.id == told.id and (not isinstance(ruling, CorrectResult) or ruling.round == told.round)
    ]
    step = step.but(lost_rulings=tuple(each for each in step.ui.lost_rulings if each not in seen))
    undone = tuple(ruling for ruling, before in seen if not _is_settled(told, ruling, before))
    late = tuple(ruling for ruling in undone if isinstance(ruling, GiveBye) and ruling.round <= len(told.rounds))
    undone = tuple(ruling for ruling in undone if ruling not in late)
    words, late_words = ("; ".join(_ruling_words(tournament, ruling) for ruling in rulings) for rulings in (undone, late))
    too_late = f"Not done, and too late now that the round is paired: {late_words}." if late else ""
    if not undone:
        return step.note(too_late) if late else step
    it, this_was = ("it", "this was") if len(undone) == 1 else ("them", "these were")
    text = f"{too_late} The connection was lost before {this_was} decided: {words}.".lstrip()
    return step.ask(text, (f"Decide {it} now", "Leave it as it is"), (undone, None))


def _is_settled(told: Tournament, ruling: Ruling, before: TableResult | None) -> bool:
    """Whether it was carried out, or its race has had another result since. before: the one that it had when this was asked for."""
    match ruling:
        case CorrectResult(result=result):
            known = result_ruled_on(told, ruling)
            return known != before or _verdict_of(known) == _verdict_of(result)
        case RemoveEntrant(entrant=entrant, remove=remove):
            return any(each.id == entrant and each.withdrawn is remove for each in told.entrants)
        case GiveBye(entrant=entrant, round=number, half_points=half_points):
            bye = bye_of(told, entrant, number)
            return half_points == (0 if bye is None else bye.half_points)
        case EndTournament():
            return told.phase in DONE_PHASES


def _verdict_of(result: TableResult | None) -> tuple[str, bool] | None:
    """What a director decides of a result: who won, and whether by forfeit."""
    return None if result is None else (result.verdict, result.forfeit)


def _ruling_words(tournament: TournamentModel, ruling: Ruling) -> str:
    match ruling:
        case CorrectResult(result=result):
            table = next((each for each in tournament.told.tables if each.table == ruling.table), None)
            words = next(words for words, verdict in VERDICTS.items() if _verdict_of(verdict) == _verdict_of(result))
            return f"round {ruling.round}, table {ruling.table}: {_named(words, tournament, table)}"
        case RemoveEntrant(entrant=entrant, remove=remove):
            name = clean_name(table_name(tournament, entrant))
            return f"{name} is removed" if remove else f"{name} is let back in"
        case GiveBye(entrant=entrant, round=number, half_points=half_points):
            return f"{clean_name(table_name(tournament, entrant))} has {BYES[half_points]} in round {number}"
        case EndTournament():
            return "the tournament ends"


def _named(words: str, tournament: TournamentModel, table: TournamentTable | None) -> str:
    """The words of a verdict, with the names of both sides."""
    sides = (table.first, table.second) if table is not None else (None, None)
    first, second = (clean_name(table_name(tournament, side)) for side in sides)
    return words.replace("{first}", first).replace("{second}", second)


def _with_cards(result: TableResult | None, known: TableResult | None) -> TableResult | None:
    """A verdict, with the table's cards if they are known."""
    if result is None or known is None:
        return result
    return replace(result, first_home=known.first_home, second_home=known.second_home)


def race_of(table: TournamentTable) -> int:
    """The number of the race that a verdict on a table is about: the last one with a result, or the one that has none yet."""
    return max(len(table.races), 1) if table.result is not None else len(table.races) + 1
