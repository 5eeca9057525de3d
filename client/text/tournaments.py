"""How a tournament is put for a person: points, tie-breaks, phases and results in words. Pure functions, for screens and commands."""

from __future__ import annotations

from typing import Final

from client.text.formatting import clock_text
from protocol.seat_ends import WALKOVER
from protocol.text import clean_chat, clean_name, counted, listed, ordinal
from protocol.tournament_messages import Tournament
from protocol.tournaments import (
    TITLE_LENGTH,
    LoggedDecision,
    TableResult,
    TournamentBye,
    TournamentEntrant,
    TournamentFormat,
    TournamentOptions,
    TournamentPhase,
    TournamentTable,
    Verdict,
)

PHASE_WORDS: Final[dict[TournamentPhase, str]] = {
    "registration": "open",
    "check-in": "check-in",
    "running": "running",
    "between": "between rounds",
    "paused": "paused",
    "over": "over",
    "ended": "called off",
}
FORMAT_WORDS: Final[dict[TournamentFormat, str]] = {
    "swiss": "Swiss",
    "round-robin": "round robin",
    "elimination": "elimination",
    "session": "session",
}
TIE_BREAK_HEADS: Final[dict[str, str]] = {
    "buchholz": "Buchh",
    "sonneborn-berger": "SonnB",
    "direct-encounter": "among",
    "cards-home": "cards",
}
"""At most five columns wide; direct encounter is a place among players who are otherwise equal."""
TIE_BREAK_WORDS: Final[dict[str, str]] = {
    "buchholz": "Buchholz (points of those met)",
    "sonneborn-berger": "Sonneborn-Berger (of those beaten)",
    "direct-encounter": "place among equals by their own races",
    "cards-home": "cards home",
}
OUT_WORDS: Final[dict[str, tuple[str, str]]] = {
    "withdrew": ("withdrawn", "You have withdrawn"),
    "not-checked-in": ("no check-in", "You were left out, since you had not checked in"),
    "missed": ("missed rounds", "You are out, since you missed two rounds running"),
    "removed": ("removed", "{director} has removed you"),
    "banned": ("banned", "You are out, since the host of this server has banned you"),
}
"""Why an entrant is out: a word or two, and what they themselves are told."""
_QUARTERS: Final = ("", "¼", "½", "¾")
_PLAIN_QUARTERS: Final = ("", ".25", ".5", ".75")


def title_text(name: str) -> str:
    """A tournament's name, cleaned again, since a server is not trusted with a terminal."""
    return clean_chat(name)[:TITLE_LENGTH].strip() or "nameless"


def quarters_text(quarters: int, *, plain: bool = False) -> str:
    """`3½`; if `plain`, ASCII: `3.5`."""
    whole, rest = divmod(max(quarters, 0), 4)
    signs = _PLAIN_QUARTERS if plain else _QUARTERS
    return f"{whole if whole or plain or not rest else ''}{signs[rest]}"


def points_text(half_points: int, *, plain: bool = False) -> str:
    return quarters_text(2 * half_points, plain=plain)


def format_text(options: TournamentOptions) -> str:
    """`Swiss, 9 rounds`, `double round robin`, `elimination`, `session of 5`."""
    name = FORMAT_WORDS[options.format]
    match options.format:
        case "swiss":
            return f"{name}, {counted(options.rounds, 'round')}" if options.rounds else name
        case "session":
            return f"{name} of {options.rounds}" if options.rounds else name
        case "round-robin" | "elimination":
            return f"double {name}" if options.double else name


def round_text(tournament: Tournament) -> str:
    """`round 3 of 9`, `round 2`; empty before the first."""
    if not tournament.rounds:
        return ""
    number, of = tournament.rounds[-1].number, tournament.options.rounds
    is_known = tournament.options.format in ("swiss", "session") and of
    return f"round {number} of {of}" if is_known else f"round {number}"


def phase_sentence(tournament: Tournament, left_ms: int | None) -> str:
    """How the tournament stands, in a sentence. left_ms: time left of the check-in or the pause."""
    left = "" if left_ms is None else f" {clock_text(left_ms, tenths=False)} left."
    playing = [entrant for entrant in tournament.entrants if not entrant.withdrawn]
    last = tournament.rounds[-1] if tournament.rounds else None
    count = f"{len(playing)} entered"
    done = f"{last.tables - last.open} of {counted(last.tables, 'table')} done." if last is not None else ""
    match tournament.phase:
        case "registration":
            return f"Open to enter: {count}."
        case "check-in":
            return f"Check-in: {sum(entrant.checked_in for entrant in playing)} of {len(playing)} checked in.{left}"
        case "running" if last is not None:
            return f"R{round_text(tournament)[1:]} is being raced: {done}"
        case "running":
            return "The first round is being paired."
        case "between":
            return f"R{round_text(tournament)[1:]} is over; {_next_round(left_ms)}"
        case "paused" if last is not None and not last.open:
            return f"Paused after {round_text(tournament)}."
        case "paused":
            return f"Paused: races go on, but no new one starts; {done}" if done else "Paused: no new race starts."
        case "over":
            # Nobody has won where every table was forfeited by both sides.
            first = [
                clean_name(_name(tournament, row.entrant))
                for row in tournament.standings
                if row.place == 1 and (row.half_points or row.home)
            ]
            return f"It is over: {listed(first)} won." if first else "It is over. Nobody won."
        case "ended":
            by = " by its director" if (ending := _ending(tournament)) is not None and ending.author else ""
            return f"Called off{by} before {'it was decided' if tournament.rounds else 'the first round'}."


def outcome_sentence(tournament: Tournament, player: str) -> str:
    """What became of a tournament that is over, for one player: why it was called off, and their place if they raced."""
    ending = _ending(tournament) if tournament.phase == "ended" else None
    reason = clean_chat(ending.reason).rstrip(".") if ending is not None else ""
    row = next((row for row in tournament.standings if row.entrant == player), None)
    entrant = next((each for each in tournament.entrants if each.id == player), None)
    told = [f"Reason: {reason}."] if reason else []
    if row is not None and row.won + row.drawn + row.lost:
        placed = f"You came {ordinal(row.place)} of {len(tournament.standings)}"
        told.append(f"{placed}." if tournament.phase == "over" else f"{placed}, as it stood.")
    elif entrant is not None and entrant.withdrawn:
        told.append(out_sentence(tournament, entrant))
    return " ".join(told)


def out_word(entrant: TournamentEntrant) -> str:
    """Why an entrant plays no more, in a word or two."""
    return OUT_WORDS.get(entrant.out, ("withdrawn", ""))[0]


def out_sentence(tournament: Tournament, entrant: TournamentEntrant, *, back: str = "") -> str:
    """Why an entrant plays no more, as they are told. back: what is said to those who can come back by themselves."""
    _, told = OUT_WORDS.get(entrant.out, ("", "You are not playing any more"))
    told = told.replace("{director}", clean_name(tournament.director_name))
    reason = clean_chat(entrant.out_reason).rstrip(".")
    return f"{told}{f': {reason}' if reason else ''}. {back if entrant.out != 'removed' else ''}".rstrip()


def decision_text(entry: LoggedDecision) -> str:
    """An entry of the log in full: what was decided, by whom, and why."""
    author = f" ({clean_name(entry.author)})" if entry.author else ""
    reason = f" Reason: {clean_chat(entry.reason)}" if entry.reason else ""
    return f"{clean_chat(entry.text)}{author}{reason}"


def earlier_decisions(tournament: Tournament) -> int:
    """How many entries its log has before the oldest one that is told."""
    return max(tournament.decisions - len(tournament.log), 0)


def _ending(tournament: Tournament) -> LoggedDecision | None:
    return next((each for each in reversed(tournament.log) if each.kind == "end"), None)


def _next_round(left_ms: int | None) -> str:
    if left_ms is None:
        return "the director pairs the next one."
    return f"the next one is paired in {clock_text(left_ms, tenths=False)}." if left_ms > 0 else "the next one is being paired."


def _name(tournament: Tournament, entrant: str) -> str:
    return next((each.name for each in tournament.entrants if each.id == entrant), entrant)


def bye_of(tournament: Tournament, entrant: str, number: int) -> TournamentBye | None:
    """The bye that an entrant asked for, or was given, in a round."""
    return next((bye for bye in tournament.byes if bye.entrant == entrant and bye.round == number), None)


def byes_sentence(tournament: Tournament, number: int, *, plain: bool = False) -> str:
    """Who has a bye in a round on request, with what they score; empty if nobody does."""
    byes = [bye for bye in tournament.byes if bye.round == number]
    names = [f"{clean_name(_name(tournament, bye.entrant))} {points_text(bye.half_points, plain=plain)}" for bye in byes]
    return f"Byes on request: {', '.join(names)}." if names else ""


VERDICT_WORDS: Final[dict[Verdict, str]] = {"first": "1 : 0", "second": "0 : 1", "draw": "½ : ½", "neither": "0 : 0"}
_PLAIN_VERDICTS: Final[dict[Verdict, str]] = {"first": "1 : 0", "second": "0 : 1", "draw": "1/2 : 1/2", "neither": "0 : 0"}


def own_result_sentence(table: TournamentTable, player: str, *, alone: bool = False) -> str:
    """`You won your table, 52 : 31 cards.`, as one of its sides is told; their own cards come first. alone: as in `result_text`."""
    result, is_first = table.result, table.first == player
    assert result is not None
    own, other = (result.first_home, result.second_home) if is_first else (result.second_home, result.first_home)
    ruled = ", by ruling" if result.ruled else ", by walkover" if result.walkover else ""
    if alone:
        # It is won only with every card home.
        return f"Your table is finished: {counted(own, 'card')} home."
    if result.verdict == "neither":
        return "Neither of you won your table: both forfeited."
    if result.verdict == "draw":
        return f"Your table is a draw, {own} : {other} cards{ruled}."
    won = (result.verdict == "first") == is_first
    told = f"You {'won' if won else 'lost'} your table"
    if result.forfeit:
        return f"{told} by forfeit{ruled}."
    if _is_by_time(result):
        return f"{told}, {own} : {other} cards: {'you' if won else 'they'} had them first."
    return f"{told}, {own} : {other} cards{ruled}."


def _is_by_time(result: TableResult) -> bool:
    """Whether both sides had as many cards home, and one of them sooner."""
    is_raced = not (result.forfeit or result.ruled or result.walkover)
    return is_raced and result.verdict in ("first", "second") and 0 < result.first_home == result.second_home


def decided_by(result: TableResult) -> str:
    """What decided a table if not the cards, in at most twelve characters: it stands beside `result_text`. Empty if they did."""
    if result.ruled:
        return "by ruling"
    if result.walkover:
        return WALKOVER.word
    return f"first to {result.first_home}" if _is_by_time(result) else ""


def result_text(result: TableResult, *, alone: bool = False, plain: bool = False) -> str:
    """`1 : 0 (52 : 31 cards)`, `0 : 1 by forfeit`. alone: the table is one of a session, where nobody else sits, not even the house:
    `31 cards home`, `forfeited`."""
    if alone:
        return "forfeited" if result.forfeit else f"{counted(result.first_home, 'card')} home"
    verdict = (_PLAIN_VERDICTS if plain else VERDICT_WORDS)[result.verdict]
    return f"{verdict} by forfeit" if result.forfeit else f"{verdict} ({result.first_home} : {result.second_home} cards)"
