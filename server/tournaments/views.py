"""What others are told about a tournament: lists, snapshots, the document over HTTP. The state of its rooms is passed in.

The rule of the file: nothing about a round's secret is told before the round is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from protocol.fairness import commitment
from protocol.tournament_messages import CheckInDue, Tournament
from protocol.tournaments import (
    LISTED_DECISIONS,
    EntrantDocument,
    RoundDocument,
    StandingsRow,
    TableDocument,
    TableResult,
    TournamentBye,
    TournamentDocument,
    TournamentEntrant,
    TournamentListing,
    TournamentRound,
    TournamentSide,
    TournamentTable,
)
from server.tournaments.log_text import logged
from server.tournaments.pairing.crosstable import TableKey
from server.tournaments.pairing.rounds import Pairing, RaceResult, RankedEntrant
from server.tournaments.state import TournamentState

DOCUMENT_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class LiveTable:
    """The state of a table's room. no_show_ms: time left until the missing forfeit; None if nobody is missing."""

    code: str
    sides: tuple[TournamentSide, ...]
    elapsed_ms: int
    no_show_ms: int | None


@dataclass(frozen=True, slots=True)
class TableNews:
    """The same for servers that do not have the room. table: with its round. race: the number of the table's race, from 1."""

    table: TableKey
    race: int
    live: LiveTable


def listing(state: TournamentState) -> TournamentListing:
    return TournamentListing(
        id=state.id,
        name=state.options.name,
        director=state.director_name,
        format=state.options.format,
        rules=state.options.rules,
        phase=state.phase,
        entrants=state.crosstable.size,
        places=state.options.places,
        by_code=state.code is not None,
        round=state.round,
        made_at_ms=state.made_at_ms,
    )


def snapshot(
    state: TournamentState,
    *,
    shown: int | None,
    live: Mapping[int, LiveTable],
    is_here: Callable[[str], bool],
    since_ms: int,
    now_ms: int,
) -> Tournament:
    """shown: the round whose tables are shown; None for the last. live: rooms of the last round, by table. is_here: whether the player of
    an id is connected. since_ms: see `TournamentState.next_due_ms`."""
    number = state.round if shown is None else min(shown, state.round)
    pairings = state.crosstable.rounds[number - 1].pairings if number else ()
    due_ms = state.next_due_ms(since_ms=since_ms)
    return Tournament(
        id=state.id,
        options=state.options,
        by_code=state.code is not None,
        director=state.director,
        director_name=state.director_name,
        phase=state.phase,
        phase_ms=max(due_ms - now_ms, 0) if due_ms is not None else None,
        made_at_ms=state.made_at_ms,
        commitment=state.commitment.hex(),
        entrants=tuple(_entrant(state, seed, entrant, is_here) for seed, entrant in enumerate(state.crosstable.seeds, 1)),
        rounds=tuple(_round(state, number) for number in range(1, state.round + 1)),
        round=number,
        tables=tuple(_table(state, number, pairing, live.get(pairing.table) if number == state.round else None) for pairing in pairings),
        tie_breaks=state.crosstable.format.tie_breaks,
        standings=standings_rows(state.crosstable.standings),
        log=tuple(logged(state, entry) for entry in state.log[-LISTED_DECISIONS:]),
        decisions=len(state.log),
        byes=_byes(state),
    )


def check_in_due(state: TournamentState, left_ms: int | None) -> CheckInDue:
    return CheckInDue(id=state.id, name=state.options.name, commitment=state.commitment.hex(), left_ms=left_ms)


def document(state: TournamentState) -> TournamentDocument:
    return TournamentDocument(
        format=DOCUMENT_FORMAT,
        id=state.id,
        options=state.options,
        by_code=state.code is not None,
        director=state.director_name,
        phase=state.phase,
        made_at_ms=state.made_at_ms,
        commitment=state.commitment.hex(),
        entrants=tuple(_kept_entrant(state, seed, entrant) for seed, entrant in enumerate(state.crosstable.seeds, 1)),
        rounds=tuple(_kept_round(state, number) for number in range(1, state.round + 1)),
        tie_breaks=state.crosstable.format.tie_breaks,
        standings=standings_rows(state.crosstable.standings),
        log=tuple(logged(state, entry) for entry in state.log),
        byes=_byes(state),
    )


def standings_rows(ranked: Iterable[RankedEntrant]) -> tuple[StandingsRow, ...]:
    return tuple(
        StandingsRow(
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
        for row in ranked
    )


def _byes(state: TournamentState) -> tuple[TournamentBye, ...]:
    byes = sorted(state.crosstable.byes.items(), key=lambda bye: bye[0][0])
    return tuple(TournamentBye(round=number, entrant=entrant, half_points=points) for (number, entrant), points in byes)


def told_result(result: RaceResult | None) -> TableResult | None:
    if result is None:
        return None
    first, second = result.home
    return TableResult(
        verdict=result.verdict,
        first_home=first,
        second_home=second,
        forfeit=result.forfeit,
        ruled=result.ruled,
        walkover=result.walkover,
    )


def _entrant(state: TournamentState, seed: int, entrant: str, is_here: Callable[[str], bool]) -> TournamentEntrant:
    person = state.people[entrant]
    return TournamentEntrant(
        **_seeded(state, seed, entrant),
        checked_in=person.checked_in,
        here=person.bot is not None or is_here(entrant),
        out=person.out,
        out_reason=person.out_reason,
    )


def _kept_entrant(state: TournamentState, seed: int, entrant: str) -> EntrantDocument:
    withdrawn_after = state.crosstable.entrants[entrant].withdrawn_after
    return EntrantDocument(**_seeded(state, seed, entrant), nonce=state.people[entrant].nonce, withdrawn_after=withdrawn_after)


def _seeded(state: TournamentState, seed: int, entrant: str) -> dict[str, Any]:
    """What both say of an entrant."""
    person, seeded = state.people[entrant], state.crosstable.entrants[entrant]
    return {
        "id": entrant,
        "name": person.name,
        "seed": seed,
        "rating": person.rating,
        "bot": person.bot,
        "withdrawn": not seeded.active,
        "first_round": seeded.first_round,
        "entered_as": person.entered_as,
    }


def _round(state: TournamentState, number: int) -> TournamentRound:
    pairings = state.crosstable.rounds[number - 1].pairings
    is_open = [pairing.counted and state.crosstable.result(number, pairing.table) is None for pairing in pairings]
    return TournamentRound(**_paired(state, number), tables=len(pairings), open=sum(is_open))


def _kept_round(state: TournamentState, number: int) -> RoundDocument:
    tables = tuple(_kept_table(state, number, pairing) for pairing in state.crosstable.rounds[number - 1].pairings)
    return RoundDocument(**_paired(state, number), nonces=state.shuffles[number - 1].nonces, tables=tables)


def _paired(state: TournamentState, number: int) -> dict[str, Any]:
    """What both say of a round."""
    shuffle, secret = state.shuffles[number - 1], state.secret(number)
    return {
        "number": number,
        "commitment": commitment(secret).hex(),
        "nonce": shuffle.nonce,
        "secret": secret.hex() if shuffle.over_at_ms is not None else None,
        "paired_at_ms": shuffle.paired_at_ms,
    }


def _kept_table(state: TournamentState, number: int, pairing: Pairing) -> TableDocument:
    return TableDocument(
        table=pairing.table,
        first=pairing.first,
        second=pairing.second,
        counted=pairing.counted,
        match=pairing.match,
        result=told_result(state.crosstable.result(number, pairing.table)),
        races=tuple(told for told in map(told_result, state.crosstable.races.get((number, pairing.table), ())) if told is not None),
        race_ids=state.race_ids.get((number, pairing.table), ()),
    )


def _table(state: TournamentState, number: int, pairing: Pairing, live: LiveTable | None) -> TournamentTable:
    kept = _kept_table(state, number, pairing)
    return TournamentTable(
        **msgspec.structs.asdict(kept),
        race=max(len(kept.races) + (kept.result is None), 1),
        code=live.code if live is not None else None,
        sides=live.sides if live is not None else (),
        elapsed_ms=live.elapsed_ms if live is not None else 0,
        no_show_ms=live.no_show_ms if live is not None else None,
    )
