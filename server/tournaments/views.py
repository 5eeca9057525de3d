"""A tournament as it is told: in lists, in snapshots, in its document over HTTP. Pure: how its rooms stand is handed in.

The rule of the file: of a round's secret nothing is told before the round is over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from protocol.fairness import commitment
from protocol.server_messages import Tournament as TournamentMessage
from protocol.tournaments import (
    LISTED_DECISIONS,
    EntrantDocument,
    RoundDocument,
    StandingsRow,
    TableDocument,
    TableResult,
    TournamentDocument,
    TournamentEntrant,
    TournamentListing,
    TournamentRound,
    TournamentSide,
    TournamentTable,
)
from server.tournaments.log_text import logged
from server.tournaments.pairing.rounds import Pairing, Result, Row
from server.tournaments.state import Course
from server.tournaments.tournament import Tournament

DOCUMENT_FORMAT: Final = 1

RECKONED_KEPT: Final = 128
"""Tournaments whose standings are not reckoned again while nothing is decided about them."""

_reckoned: OrderedDict[int, tuple[Tournament, tuple[StandingsRow, ...]]] = OrderedDict()


@dataclass(frozen=True, slots=True)
class LiveTable:
    """How the room of a table stands. no_show_ms: what is left until who is missing forfeits; None where nobody is waited for."""

    code: str
    sides: tuple[TournamentSide, ...]
    elapsed_ms: int
    no_show_ms: int | None


def listing(course: Course) -> TournamentListing:
    return TournamentListing(
        id=course.id,
        name=course.options.name,
        director=course.director_name,
        format=course.options.format,
        rules=course.options.rules,
        phase=course.phase,
        entrants=len(course.tournament.active),
        places=course.options.places,
        by_code=course.code is not None,
        round=course.round,
        made_at_ms=course.made_at_ms,
    )


def snapshot(
    course: Course, *, shown: int | None, live: Mapping[int, LiveTable], is_here: Callable[[str], bool], now_ms: int
) -> TournamentMessage:
    """shown: the round whose tables are told, None for the last. live: rooms of the last round, by table. is_here: of players' ids."""
    number = course.round if shown is None else min(shown, course.round)
    pairings = course.tournament.rounds[number - 1].pairings if number else ()
    due_ms = course.next_due_ms
    return TournamentMessage(
        id=course.id,
        options=course.options,
        by_code=course.code is not None,
        director=course.director,
        director_name=course.director_name,
        phase=course.phase,
        phase_ms=max(due_ms - now_ms, 0) if due_ms is not None else None,
        made_at_ms=course.made_at_ms,
        commitment=course.commitment.hex(),
        entrants=tuple(_entrant(course, seed, entrant, is_here) for seed, entrant in enumerate(course.tournament.seeds, 1)),
        rounds=tuple(_round(course, number) for number in range(1, course.round + 1)),
        round=number,
        tables=tuple(_table(course, number, pairing, live.get(pairing.table) if number == course.round else None) for pairing in pairings),
        tie_breaks=course.tournament.format.tie_breaks,
        standings=standings(course.tournament),
        log=tuple(logged(course, chosen) for chosen in course.log[-LISTED_DECISIONS:]),
        decisions=len(course.log),
    )


def document(course: Course) -> TournamentDocument:
    return TournamentDocument(
        format=DOCUMENT_FORMAT,
        id=course.id,
        options=course.options,
        by_code=course.code is not None,
        director=course.director_name,
        phase=course.phase,
        made_at_ms=course.made_at_ms,
        commitment=course.commitment.hex(),
        entrants=tuple(_kept_entrant(course, seed, entrant) for seed, entrant in enumerate(course.tournament.seeds, 1)),
        rounds=tuple(_kept_round(course, number) for number in range(1, course.round + 1)),
        tie_breaks=course.tournament.format.tie_breaks,
        standings=standings(course.tournament),
        log=tuple(logged(course, chosen) for chosen in course.log),
    )


def standings(tournament: Tournament) -> tuple[StandingsRow, ...]:
    """Of the same state the same rows: reckoning them anew takes a twentieth of a second where many have played many rounds."""
    known = _reckoned.get(id(tournament))
    if known is None or known[0] is not tournament:
        known = _reckoned[id(tournament)] = tournament, tuple(_row(row) for row in tournament.standings())
        if len(_reckoned) > RECKONED_KEPT:
            _reckoned.popitem(last=False)
    return known[1]


def _row(row: Row) -> StandingsRow:
    return StandingsRow(
        place=row.place,
        entrant=row.entrant,
        half_points=round(2 * row.points),
        tie_breaks=tuple(round(4 * value) for value in row.tie_breaks),
        won=row.won,
        drawn=row.drawn,
        lost=row.lost,
        home=row.home,
        withdrawn=row.withdrawn,
    )


def told_result(result: Result | None) -> TableResult | None:
    if result is None:
        return None
    return TableResult(verdict=result.verdict, first_home=result.home[0], second_home=result.home[1], forfeit=result.forfeit)


def _results(course: Course, number: int, table: int) -> tuple[TableResult, ...]:
    races = course.tournament.races.get((number, table), ())
    return tuple(told for told in map(told_result, races) if told is not None)


def _entrant(course: Course, seed: int, entrant: str, is_here: Callable[[str], bool]) -> TournamentEntrant:
    person, entry = course.people[entrant], course.tournament.entries[entrant]
    return TournamentEntrant(
        id=entrant,
        name=person.name,
        seed=seed,
        rating=person.rating,
        bot=person.bot,
        checked_in=person.checked_in,
        withdrawn=not entry.active,
        here=person.bot is not None or is_here(entrant),
        first_round=entry.first_round,
    )


def _kept_entrant(course: Course, seed: int, entrant: str) -> EntrantDocument:
    person, entry = course.people[entrant], course.tournament.entries[entrant]
    return EntrantDocument(
        id=entrant,
        name=person.name,
        seed=seed,
        rating=person.rating,
        bot=person.bot,
        nonce=person.nonce,
        withdrawn=not entry.active,
        first_round=entry.first_round,
    )


def _round(course: Course, number: int) -> TournamentRound:
    shuffle, paired = course.shuffles[number - 1], course.tournament.rounds[number - 1]
    counted = [pairing for pairing in paired.pairings if pairing.counted]
    return TournamentRound(
        number=number,
        commitment=commitment(course.secret(number)).hex(),
        nonce=shuffle.nonce,
        secret=course.secret(number).hex() if shuffle.over_at_ms is not None else None,
        tables=len(paired.pairings),
        open=sum(course.tournament.result(number, pairing.table) is None for pairing in counted),
        paired_at_ms=shuffle.paired_at_ms,
    )


def _kept_round(course: Course, number: int) -> RoundDocument:
    shuffle, paired = course.shuffles[number - 1], course.tournament.rounds[number - 1]
    return RoundDocument(
        number=number,
        commitment=commitment(course.secret(number)).hex(),
        nonces=shuffle.nonces,
        nonce=shuffle.nonce,
        secret=course.secret(number).hex() if shuffle.over_at_ms is not None else None,
        paired_at_ms=shuffle.paired_at_ms,
        tables=tuple(_kept_table(course, number, pairing) for pairing in paired.pairings),
    )


def _kept_table(course: Course, number: int, pairing: Pairing) -> TableDocument:
    return TableDocument(
        table=pairing.table,
        first=pairing.first,
        second=pairing.second,
        counted=pairing.counted,
        match=pairing.match,
        result=told_result(course.tournament.result(number, pairing.table)),
        races=_results(course, number, pairing.table),
        race_ids=course.race_ids.get((number, pairing.table), ()),
    )


def _table(course: Course, number: int, pairing: Pairing, live: LiveTable | None) -> TournamentTable:
    races = _results(course, number, pairing.table)
    result = told_result(course.tournament.result(number, pairing.table))
    return TournamentTable(
        table=pairing.table,
        first=pairing.first,
        second=pairing.second,
        counted=pairing.counted,
        match=pairing.match,
        result=result,
        races=races,
        race=max(len(races) + (result is None), 1),
        race_ids=course.race_ids.get((number, pairing.table), ()),
        code=live.code if live is not None else None,
        sides=live.sides if live is not None else (),
        elapsed_ms=live.elapsed_ms if live is not None else 0,
        no_show_ms=live.no_show_ms if live is not None else None,
    )
