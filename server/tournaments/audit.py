"""Checks the document of a tournament, alone or with records of its races: shuffles, results, byes, points, tie-breaks, places.

The first error found is raised as `BadTournament`. Who was paired with whom, and whether entrants were at their tables, is not checked,
because the document cannot show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from protocol.fairness import commitment, shared_nonce
from protocol.record import BadRecord, Record
from protocol.tournaments import RoundDocument, TableDocument, TableResult, TournamentDocument
from server.race.audit import audit
from server.tournaments.log_text import bye_text, byes_text, checked_in_text
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.formats import format_of
from server.tournaments.pairing.rounds import Entrant, Pairing, RaceResult, Round
from server.tournaments.pairing.tie_breaks import FULL_POINT
from server.tournaments.tables import result_of_seats
from server.tournaments.views import standings_rows, told_result


class BadTournament(ValueError):
    """The document is not true. Says which part."""


@dataclass(frozen=True, slots=True)
class TournamentAudit:
    """rounds: how many have their secret in the document. races: how many have a record. records: how many of these were checked.
    ruled: results in which a correction by the director differs from the record."""

    rounds: int
    races: int
    records: int
    ruled: int


def read_tournament(text: bytes) -> TournamentDocument | None:
    """None for any other document. Raises BadTournament."""
    try:
        # A record has seats, and a tournament has standings.
        if "standings" not in msgspec.json.decode(text, type=dict[str, msgspec.Raw]):
            return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    try:
        return msgspec.json.decode(text, type=TournamentDocument)
    except msgspec.DecodeError as error:
        raise BadTournament(f"not the document of a tournament: {error}") from error


def audit_tournament(document: TournamentDocument, records: Iterable[Record] = ()) -> TournamentAudit:
    """records: those of its races that are at hand. Raises BadTournament."""
    told = _check_shuffles(document)
    _check_standings(document)
    _check_byes(document)
    places = {race: (paired, table) for paired in document.rounds for table in paired.tables for race in table.race_ids}
    seen: set[str] = set()
    ruled = 0
    for record in records:
        if record.id not in places or record.id in seen:
            raise BadTournament(f"race {record.id} is {'given twice' if record.id in seen else 'of no table of this tournament'}")
        seen.add(record.id)
        ruled += _check_record(document, *places[record.id], record)
    return TournamentAudit(rounds=told, races=len(places), records=len(seen), ruled=ruled)


def _check_shuffles(document: TournamentDocument) -> int:
    """Gives how many secrets the document has."""
    entrants = {entrant.id: entrant for entrant in document.entrants}
    follows, told = document.commitment, 0
    for number, paired in enumerate(document.rounds, 1):
        where = f"round {number}"
        if paired.number != number:
            raise BadTournament(f"{where} has the number {paired.number}")
        if paired.commitment != follows:
            raise BadTournament(
                f"{where}: its commitment is not {'that of the tournament' if number == 1 else 'the secret of the round before'}"
            )
        if paired.secret is not None:
            if commitment(bytes.fromhex(paired.secret)).hex() != paired.commitment:
                raise BadTournament(f"{where}: SHA-256 of its secret is not its commitment")
            told += 1
        elif number < len(document.rounds):
            raise BadTournament(f"{where} is over, and its secret is not told")
        follows = paired.secret or ""
        seated = [entrants.get(entrant) for table in paired.tables for entrant in (table.first, table.second) if entrant is not None]
        if None in seated:
            raise BadTournament(f"{where}: somebody is at a table who has not entered")
        given = {entrant.nonce for entrant in seated if entrant is not None}
        if list(paired.nonces) != sorted(paired.nonces) or not given.issuperset(paired.nonces):
            raise BadTournament(f"{where}: its nonces are not those of entrants at its tables, in ascending order")
        if shared_nonce(map(bytes.fromhex, paired.nonces)).hex() != paired.nonce:
            raise BadTournament(f"{where}: its nonce does not follow from its nonces")
        # A host who could leave one out could try which of them make the best shuffle.
        given_before = _checked_in_before(document, number)
        for entrant in seated:
            if entrant is not None and entrant.nonce not in paired.nonces and entrant.name in given_before:
                raise BadTournament(f"{where}: the nonce of {entrant.name}, who had checked in, is not among its nonces")
    return told


def _checked_in_before(document: TournamentDocument, number: int) -> set[str]:
    """The names of those who had checked in when this round was paired, by the log; none that several have, as earlier servers allowed."""
    names = Counter(entrant.name for entrant in document.entrants)
    paired = [entry.number for entry in document.log if entry.kind == "pair"][number - 1 : number]
    checked_in = {entry.text for entry in document.log if entry.kind == "check-in" and paired and entry.number < paired[0]}
    return {name for name, count in names.items() if count == 1 and checked_in_text(name) in checked_in}


def _check_standings(document: TournamentDocument) -> None:
    crosstable = _crosstable(document)
    if crosstable.seeds != tuple(entrant.id for entrant in document.entrants):
        raise BadTournament("entrants are not in the order of their ratings")
    for paired in document.rounds:
        for table in paired.tables:
            if table.counted and table.result != told_result(crosstable.result(paired.number, table.table)):
                raise BadTournament(f"round {paired.number}, table {table.table}: the result does not follow from its races")
    if document.tie_breaks != crosstable.format.tie_breaks:
        raise BadTournament(f"tie-breaks of this format are {', '.join(crosstable.format.tie_breaks) or 'none'}")
    follows = standings_rows(crosstable.standings)
    if len(document.standings) == len(document.entrants):
        # Servers used to list also entrants who never came.
        follows = standings_rows(crosstable.format.standings(crosstable))
    if follows and follows[0].place == 2 and document.standings and document.standings[0].place == 1:
        # And both finalists as first if neither came to the final.
        follows = tuple(msgspec.structs.replace(row, place=1) if row.place == 2 else row for row in follows)
    if len(follows) != len(document.standings):
        raise BadTournament(f"{len(document.standings)} rows of standings for {len(follows)} entrants")
    # Those who share a place stand in the order that the server of its time gave them.
    stands = {row.entrant: at for at, row in enumerate(document.standings)}
    follows = tuple(sorted(follows, key=lambda row: (row.place, stands.get(row.entrant, -1))))
    for row, due in zip(document.standings, follows, strict=True):
        for field in row.__struct_fields__:
            if (written := getattr(row, field)) != (right := getattr(due, field)):
                raise BadTournament(f"standings, place {due.place}: {field} is {written!r} but {right!r} follows from the results")


def _check_byes(document: TournamentDocument) -> None:
    """Also those of rounds to come, which score nothing until these are paired."""
    logged = {entry.text for entry in document.log if entry.kind == "bye"}
    entrants = {entrant.id: entrant for entrant in document.entrants}
    seen: set[tuple[int, str]] = set()
    for bye in document.byes:
        entrant = entrants.get(bye.entrant)
        where = f"bye of {entrant.name if entrant is not None else bye.entrant} in round {bye.round}"
        if entrant is None or document.options.format != "swiss" or bye.half_points not in (1, FULL_POINT):
            raise BadTournament(f"{where}: there is no such bye")
        if (bye.round, bye.entrant) in seen:
            raise BadTournament(f"{where}: it is there twice")
        seen.add((bye.round, bye.entrant))
        gone_after = entrant.withdrawn_after if entrant.withdrawn else None
        if bye.round < entrant.first_round or (gone_after is not None and gone_after < bye.round):
            raise BadTournament(f"{where}: they were not in it then")
        tables = document.rounds[bye.round - 1].tables if bye.round <= len(document.rounds) else ()
        if any(bye.entrant in (table.first, table.second) for table in tables):
            raise BadTournament(f"{where}: they had a table")
        granted = {bye_text(entrant.name, bye.round, bye.half_points, is_asked=is_asked) for is_asked in (False, True)}
        if document.log and not logged & granted:
            raise BadTournament(f"{where}: the log does not have it")
    pairs = [entry.text for entry in document.log if entry.kind == "pair"]
    for paired, text in zip(document.rounds, pairs, strict=False):
        had = [(entrants[bye.entrant].name, bye.half_points) for bye in document.byes if bye.round == paired.number]
        if not text.endswith(f"{byes_text(had)}.") or (not had and " for " in text):
            raise BadTournament(f"round {paired.number}: its byes are not those of the log")


def _crosstable(document: TournamentDocument) -> Crosstable:
    try:
        entrants = {
            each.id: Entrant(each.id, each.rating, each.first_round, each.withdrawn_after if each.withdrawn else None)
            for each in document.entrants
        }
        rounds = tuple(
            Round(paired.number, tuple(Pairing(t.table, t.first, t.second, t.counted, t.match) for t in paired.tables))
            for paired in document.rounds
        )
        races = {
            (paired.number, table.table): tuple(map(_result, table.races))
            for paired in document.rounds
            for table in paired.tables
            if table.races
        }
        byes = {(bye.round, bye.entrant): bye.half_points for bye in document.byes}
        return Crosstable(format_of(document.options, document.options.rounds), entrants, rounds, races, byes)
    except ValueError as error:
        raise BadTournament(str(error)) from error


def _result(told: TableResult) -> RaceResult:
    return RaceResult(told.verdict, (told.first_home, told.second_home), forfeit=told.forfeit, ruled=told.ruled, walkover=told.walkover)


def _check_record(document: TournamentDocument, paired: RoundDocument, table: TableDocument, record: Record) -> bool:
    """Whether the director has corrected the result in the record."""
    where = f"round {paired.number}, table {table.table}, race {record.id}"
    try:
        audit(record)
    except BadRecord as error:
        raise BadTournament(f"{where}: {error}") from error
    shared = record.deal.shared
    # Records of a private tournament do not name it. That they are its own shows by the secret.
    if shared is None or shared.kind != "round" or shared.id not in (f"{document.id}/{paired.number}", f"/{paired.number}"):
        raise BadTournament(f"{where}: it was not dealt the shuffle of this round")
    if shared.nonces != (paired.nonce,) or record.deal.secret != paired.secret:
        raise BadTournament(f"{where}: its secret or nonce is not that of the round")
    prefix = f"Round {paired.number}, table {table.table},"
    of_table = [entry.kind for entry in document.log if entry.text.replace(":", ",").startswith(prefix)]
    # Each number follows a result that left the table undecided, a race that was called off, or a ruling; this race has its own result.
    if shared.number > sum(of_table.count(kind) for kind in ("result", "broken-race", "correct")):
        raise BadTournament(f"{where}: it has shuffle number {shared.number}, and the log does not say why")
    if record.rules != document.options.rules:
        raise BadTournament(f"{where}: it was run under {record.rules}")
    bots = {entrant.id for entrant in document.entrants if entrant.bot is not None}
    people = {seat.player: seat for seat in record.seats if seat.bot is None}
    house = iter([seat for seat in record.seats if seat.bot is not None])
    sides = [table.first, table.second] if len(record.seats) > 1 else [table.first]
    seats = [next(house, None) if side is None or side in bots else people.get(side) for side in sides]
    if len(seats) != len(record.seats) or None in seats:
        raise BadTournament(f"{where}: others sat there than the entrants of the table")
    if not table.counted:
        return False
    result = told_result(result_of_seats([seat for seat in seats if seat is not None]))
    assert result is not None
    # Older servers did not say what is said of a result beside it.
    if _bare(result) in map(_bare, table.races):
        return False
    if "correct" not in of_table:
        raise BadTournament(f"{where}: its result is not among those of the table, and the log has no correction")
    return True


def _bare(result: TableResult) -> TableResult:
    return msgspec.structs.replace(result, ruled=False, walkover=False)
