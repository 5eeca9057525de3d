"""Recomputes all ratings from the records alone, in the order in which they were written, and compares them with what is stored.

Comparing looks at one moment of the store, also while a server uses it. Repairing needs the store for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from protocol.record import Record
from server.race.rating import Rating, RatingChange, Unratable, rate_record
from server.store import schema
from server.store.connections import brief_reading
from server.store.database import open_database
from server.store.documents import BadDocument, decode_record
from server.store.entries import RATE, change_of, change_row, rating_of, rating_row
from server.store.errors import StoreCorrupt
from server.store.locations import Location, existing
from server.store.sql import Row, Sql
from server.store.store import records

CLOSE: Final = 1e-9
"""Numbers agree up to this relative difference, because another machine's exponential function may differ in its last digit."""


@dataclass(frozen=True, slots=True)
class WrongSeat:
    """A rating change in a seat's row that differs from what follows from the records. player: None for a house bot's seat."""

    race: str
    seat: int
    player: str | None
    stored: RatingChange | None
    due: RatingChange | None

    def __str__(self) -> str:
        return f"race {self.race}, seat {self.seat + 1}: {_change(self.stored)} is stored, {_change(self.due)} follows from the records"


@dataclass(frozen=True, slots=True)
class WrongPlayer:
    """A rating in a player's row that differs from what follows from the records."""

    player: str
    name: str
    stored: Rating | None
    due: Rating | None

    def __str__(self) -> str:
        return f"player {self.player} ({self.name}): {_rating(self.stored)} is stored, {_rating(self.due)} follows from the records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerated:
    """races: how many count. players: how many have a rating from them."""

    where: str
    races: int
    players: int
    seats_wrong: tuple[WrongSeat, ...]
    players_wrong: tuple[WrongPlayer, ...]

    @property
    def agrees(self) -> bool:
        return not self.seats_wrong and not self.players_wrong


def rerate(where: str | None) -> Rerated:
    """Compare what is stored with what follows from the records. Raises StoreError if a record cannot be read."""
    location = existing(where)
    with brief_reading(location) as sql:
        schema.check(sql)
        return _compare(sql, location)


def repair(where: str | None) -> Rerated:
    """Replace what differs from the records, in one transaction, and give what was wrong.

    Raises StoreError, with nothing changed: StoreInUse while a server uses it, StoreCorrupt if more than ratings is wrong.
    """
    location = existing(where)
    with closing(open_database(where)) as store, store.maintaining() as sql:
        found = _compare(sql, location)
        if not found.agrees:
            _write(sql, found)
            if not _compare(sql, location).agrees:
                raise StoreCorrupt(f"{location}: more is wrong than ratings, and nothing was changed; run carpet-server db check")
        return found


def _compare(sql: Sql, location: Location) -> Rerated:
    """Go through all records once, within the connection's transaction."""
    ratings: dict[str, Rating] = {}
    races = 0
    seats_wrong: list[WrongSeat] = []
    for row in records(sql):
        record, due = _rated(row, ratings, location)
        races += bool(due)
        ratings |= {seat.player: change.after for seat, change in zip(record.seats, due, strict=bool(due))}
        seats = sql.rows("SELECT * FROM seats WHERE race = :race", {"race": row.race})
        stored = {seat.seat: change_of(seat) for seat in seats}
        for number, seat in enumerate(record.seats):
            wrong = WrongSeat(row.race, number, seat.player or None, stored.get(number), due[number] if due else None)
            if not _close(_change_figures(wrong.stored), _change_figures(wrong.due)):
                seats_wrong.append(wrong)
    return Rerated(
        where=str(location),
        races=races,
        players=len(ratings),
        seats_wrong=tuple(seats_wrong),
        players_wrong=tuple(_wrong_players(sql, ratings)),
    )


def _rated(row: Row, ratings: Mapping[str, Rating], location: Location) -> tuple[Record, tuple[RatingChange, ...]]:
    """A record, and what its race does to its players' ratings, given these."""
    try:
        record = decode_record(row.record, row.digest)
        return record, rate_record(record, ratings)
    except BadDocument as error:
        raise StoreCorrupt(f"{location}: the record of race {row.race} cannot be read: {error}") from error
    except Unratable as error:
        raise StoreCorrupt(f"{location}: the record of race {row.race} cannot be rated: {error}") from error


def _wrong_players(sql: Sql, ratings: Mapping[str, Rating]) -> Iterator[WrongPlayer]:
    for row in sql.rows("SELECT id, name, mu, sigma, races FROM players ORDER BY id"):
        stored, due = rating_of(row), ratings.get(row.id)
        half_there = due is None and (row.races, row.mu, row.sigma) != (0, None, None)
        if half_there or not _close(_rating_figures(stored), _rating_figures(due)):
            yield WrongPlayer(row.id, row.name, stored, due)


def _write(sql: Sql, found: Rerated) -> None:
    if found.seats_wrong:
        sql.run(_CHANGE, [{"race": wrong.race, "seat": wrong.seat, **change_row(wrong.due)} for wrong in found.seats_wrong])
    if found.players_wrong:
        sql.run(RATE, [rating_row(wrong.player, wrong.due) for wrong in found.players_wrong])


_CHANGE: Final = (
    f"UPDATE seats SET {', '.join(f'{column} = :{column}' for column in change_row(None))}"  # noqa: S608
    " WHERE race = :race AND seat = :seat"
)


def _rating_figures(rating: Rating | None) -> tuple[float, ...]:
    return (rating.mu, rating.sigma, rating.races) if rating is not None else ()


def _change_figures(change: RatingChange | None) -> tuple[float, ...]:
    return (*_rating_figures(change.before), *_rating_figures(change.after)) if change is not None else ()


def _close(ours: tuple[float, ...], theirs: tuple[float, ...]) -> bool:
    return len(ours) == len(theirs) and all(
        math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE) for one, other in zip(ours, theirs, strict=True)
    )


def _rating(rating: Rating | None) -> str:
    if rating is None:
        return "no rating"
    return f"{rating.worth} (mu {rating.mu:.6g}, sigma {rating.sigma:.6g}, races {rating.races})"


def _change(change: RatingChange | None) -> str:
    return f"{_rating(change.before)} → {_rating(change.after)}" if change is not None else "no change"
