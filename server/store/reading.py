"""From rows to the values of the port: what is read from the database, and what it takes to ask for much of it at once.

Reads within whatever transaction it is given. Raises BadDocument where a single thing that was asked for cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from sqlalchemy import Column, Connection, Row, Select, select

from server.race.rating import Rating, RatingChange
from server.store.documents import BadDocument, decode_command, decode_opening, decode_options, decode_record
from server.store.port import (
    CommandTaken,
    DamagedRace,
    PlayedRace,
    PlayedSeat,
    Player,
    RaceOpened,
    Run,
    Running,
    RunningRace,
    SharedDealMade,
    StandingRace,
    TournamentMade,
)
from server.store.tables import commands, races, records, seats

ASKED_AT_ONCE: Final = 10_000
"""Values in one IN (…); databases take some 30,000."""

Value = TypeVar("Value", str, bytes)
AnyRow: TypeAlias = Row[*tuple[Any, ...]]


def where_in(connection: Connection, query: Select[Any], column: Column[Any], values: Iterable[Value]) -> Iterator[AnyRow]:
    """The rows of a query whose column has one of the values, however many those are."""
    left = sorted(values)
    while left:
        now, left = left[:ASKED_AT_ONCE], left[ASKED_AT_ONCE:]
        yield from connection.execute(query.where(column.in_(now)))


def running_races(connection: Connection) -> Running:
    """All races that run, read within the connection's transaction."""
    opened = connection.execute(select(races).where(races.c.phase == "running").order_by(races.c.opened_at_ms, races.c.id)).all()
    logged: dict[str, list[AnyRow]] = {row.id: [] for row in opened}
    # From one end to the other, as it lies there: the log has no index by race.
    for row in connection.execute(select(commands).order_by(commands.c.number), execution_options={"yield_per": ASKED_AT_ONCE}):
        if row.race in logged:
            logged[row.race].append(row)
    whole: list[RunningRace] = []
    damaged: list[DamagedRace] = []
    for row in opened:
        race = _read_race(row, logged[row.id])
        if isinstance(race, RunningRace):
            whole.append(race)
        else:
            damaged.append(race)
    return Running(tuple(whole), tuple(damaged))


def standing_races(connection: Connection) -> tuple[StandingRace, ...]:
    """The races in whose rooms somebody is, read within the connection's transaction."""
    here = select(seats.c.race).where(seats.c.here.is_(True)).distinct()
    kept = select(races, records.c.record, records.c.digest, records.c.finished_at_ms)
    joined = kept.join_from(records, races, races.c.id == records.c.race).where(races.c.id.in_(here))
    rows = connection.execute(joined.order_by(records.c.finished_at_ms, races.c.id)).all()
    seated = _rows_by_race(connection, [row.id for row in rows])
    return tuple(race for race in (_read_standing(row, seated[row.id]) for row in rows) if race is not None)


def _read_standing(row: AnyRow, seated: Sequence[AnyRow]) -> StandingRace | None:
    try:
        opened, record = _read_opening(row), decode_record(row.record, row.digest)
    except BadDocument:
        # It is over, so nothing is lost but a rematch; and `db check` says what is wrong with it.
        return None
    return StandingRace(
        opened=opened,
        record=record,
        players=tuple(seat.player for seat in seated),
        here=frozenset(seat.seat for seat in seated if seat.here),
        changes=tuple(change for change in map(change_of, seated) if change is not None),
        ended_at_ms=row.finished_at_ms,
    )


def _read_race(row: AnyRow, logged: Iterable[AnyRow]) -> RunningRace | DamagedRace:
    """A race from its row and its commands, in order."""
    try:
        opened = _read_opening(row)
    except BadDocument as error:
        return _damaged(row, error, None)
    taken: list[CommandTaken] = []
    try:
        for sequence, logged_row in enumerate(logged, 1):
            taken.append(_read_command(sequence, logged_row))
    except BadDocument as error:
        return _damaged(row, error, RunningRace(opened, tuple(taken)))
    return RunningRace(opened, tuple(taken))


def _damaged(row: AnyRow, error: BadDocument, readable: RunningRace | None) -> DamagedRace:
    return DamagedRace(row.id, f"race {row.id} cannot be brought back: {error}", readable)


def _read_opening(row: AnyRow) -> RaceOpened:
    """Raises BadDocument."""
    opening = decode_opening(row.options)
    return RaceOpened(
        race=row.id,
        room=row.room,
        number=row.number,
        options=opening.options,
        secret=row.secret,
        software=row.software,
        at_ms=row.opened_at_ms,
        series=opening.series,
        occasion=opening.occasion,
        opening=opening.opening,
    )


def _read_command(sequence: int, row: AnyRow) -> CommandTaken:
    """Raises BadDocument."""
    if row.sequence != sequence:
        raise BadDocument(f"command {sequence} is missing: command {row.sequence} is in its place")
    try:
        command = decode_command(row.command)
    except BadDocument as error:
        raise BadDocument(f"command {sequence}: {error}") from error
    return CommandTaken(race=row.race, sequence=sequence, at_ms=row.at_ms, command=command)


def player_of(row: AnyRow) -> Player:
    return Player(id=row.id, name=row.name, created_at_ms=row.created_at_ms, seen_at_ms=row.seen_at_ms, rating=rating_of(row))


def rating_of(row: AnyRow) -> Rating | None:
    """From a row of `players`; None before the first rated race."""
    return Rating(row.mu, row.sigma, row.races) if None not in (row.mu, row.sigma) else None


def change_of(row: AnyRow) -> RatingChange | None:
    """From a row of `seats`; None where its race did not count."""
    if None in (row.mu_before, row.sigma_before, row.mu_after, row.sigma_after, row.rated_races):
        return None
    return RatingChange(
        before=Rating(row.mu_before, row.sigma_before, row.rated_races - 1), after=Rating(row.mu_after, row.sigma_after, row.rated_races)
    )


def seats_of(connection: Connection, wanted: Iterable[str]) -> dict[str, list[PlayedSeat]]:
    return {
        race: [PlayedSeat(row.player, row.name, row.bot, row.state, row.place, row.home, row.ended_at_ms, change_of(row)) for row in rows]
        for race, rows in _rows_by_race(connection, wanted).items()
    }


def _rows_by_race(connection: Connection, wanted: Iterable[str]) -> dict[str, list[AnyRow]]:
    """The seats of these races, in order."""
    query = select(seats).order_by(seats.c.race, seats.c.seat)
    found: dict[str, list[AnyRow]] = {}
    for row in where_in(connection, query, seats.c.race, wanted):
        found.setdefault(row.race, []).append(row)
    return found


def played_race(row: AnyRow, seated: tuple[PlayedSeat, ...]) -> PlayedRace:
    return PlayedRace(
        race=row.race,
        room=row.room,
        number=row.number,
        rules=decode_options(row.options).rules,
        finished_at_ms=row.finished_at_ms,
        aborted=row.reason,
        seat=row.seat,
        seats=seated,
        sealed_until_ms=row.sealed_until_ms,
    )


def run_of(row: AnyRow, seated: tuple[PlayedSeat, ...]) -> Run:
    """Raises BadDocument."""
    opening = decode_opening(row.options)
    if opening.occasion is None:
        raise BadDocument(f"race {row.id} has a shared deal and no occasion")
    return Run(
        race=row.id,
        room=row.room,
        rules=opening.options.rules,
        occasion=opening.occasion,
        phase=row.phase,
        opened_at_ms=row.opened_at_ms,
        finished_at_ms=row.ended_at_ms,
        seats=seated,
    )


def shared_deal_of(row: AnyRow) -> SharedDealMade:
    """Raises BadDocument, or DecodeError."""
    return SharedDealMade(
        kind=row.kind,
        id=row.id,
        secret=row.secret,
        at_ms=row.made_at_ms,
        nonces=msgspec.json.decode(row.nonces, type=tuple[str, ...]),
        options=decode_options(row.options) if row.options is not None else None,
        owner=row.owner,
        reveals_at_ms=row.reveals_at_ms,
    )


def tournament_of(row: AnyRow) -> TournamentMade:
    return TournamentMade(
        tournament=row.id,
        director=row.director,
        secret=row.secret,
        document=row.document,
        at_ms=row.made_at_ms,
    )
