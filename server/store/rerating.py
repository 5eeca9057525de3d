"""All ratings once more, from nothing but the records in the order of their writing: whether what is stored is what follows from them.

Looks at one moment of the store, also while a server runs on it. Putting right what differs needs the store for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
"""Relative difference up to which two numbers agree: another machine's exponential function may differ in its last digit."""


@dataclass(frozen=True, slots=True)
class WrongSeat:
    """What a seat's row says its race did to a rating, and what follows from the records. player: None for a house bot's seat."""

    race: str
    seat: int
    player: str | None
    stored: RatingChange | None
    due: RatingChange | None

    def __str__(self) -> str:
        return f"race {self.race}, seat {self.seat + 1}: {_change(self.stored)} is stored, {_change(self.due)} follows from the records"


@dataclass(frozen=True, slots=True)
class WrongPlayer:
    """What a player's row says their rating is, and what follows from the records."""

    player: str
    name: str
    stored: Rating | None
    due: Rating | None

    def __str__(self) -> str:
        return f"player {self.player} ({self.name}): {_rating(self.stored)} is stored, {_rating(self.due)} follows from the records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerated:
    """races: those that count. players: those who have a rating by them."""

    where: str
    races: int
    players: int
    seats_wrong: tuple[WrongSeat, ...]
    players_wrong: tuple[WrongPlayer, ...]

    @property
    def agrees(self) -> bool:
        return not self.seats_wrong and not self.players_wrong


def rerate(where: str | None) -> Rerated:
    """Compare what is stored with what follows from the records. Raises StoreError where one of them cannot be read."""
    location = existing(where)
    with brief_reading(location) as sql:
        schema.check(sql)
        return _Run(sql, location).compare()


def repair(where: str | None) -> Rerated:
    """Write what follows from the records where something else is stored, in one transaction; gives what was wrong.

    Raises StoreError, with nothing changed: StoreInUse while a server runs on it, StoreCorrupt where more than ratings is wrong.
    """
    location = existing(where)
    store = open_database(where)
    try:
        with store.maintaining() as sql:
            found = _Run(sql, location).compare()
            if not found.agrees:
                _write(sql, found)
                if not _Run(sql, location).compare().agrees:
                    raise StoreCorrupt(f"{location}: more is wrong than ratings, and nothing was changed; run carpet-server db check")
            return found
    finally:
        store.close()


class _Run:
    """Once through all records, within the connection's transaction."""

    def __init__(self, sql: Sql, location: Location) -> None:
        self._sql = sql
        self._location = location
        self._ratings: dict[str, Rating] = {}
        self._races = 0

    def compare(self) -> Rerated:
        seats_wrong = tuple(self._wrong_seats())
        return Rerated(
            where=str(self._location),
            races=self._races,
            players=len(self._ratings),
            seats_wrong=seats_wrong,
            players_wrong=tuple(self._wrong_players()),
        )

    def _wrong_seats(self) -> Iterator[WrongSeat]:
        for row in records(self._sql):
            yield from self._wrong_seats_of(row)

    def _wrong_seats_of(self, row: Row) -> Iterator[WrongSeat]:
        seats = self._sql.rows("SELECT * FROM seats WHERE race = :race", {"race": row.race})
        stored = {seat.seat: change_of(seat) for seat in seats}
        record = self._record(row)
        due = self._rate(record, row.race)
        for number, seat in enumerate(record.seats):
            wrong = WrongSeat(row.race, number, seat.player or None, stored.get(number), due[number] if due else None)
            if not _close(_change_figures(wrong.stored), _change_figures(wrong.due)):
                yield wrong

    def _record(self, row: Row) -> Record:
        try:
            return decode_record(row.record, row.digest)
        except BadDocument as error:
            raise StoreCorrupt(f"{self._location}: the record of race {row.race} cannot be read: {error}") from error

    def _rate(self, record: Record, race: str) -> tuple[RatingChange, ...]:
        try:
            changes = rate_record(record, self._ratings)
        except Unratable as error:
            raise StoreCorrupt(f"{self._location}: the record of race {race} cannot be rated: {error}") from error
        self._races += bool(changes)
        for number, change in enumerate(changes):
            self._ratings[record.seats[number].player] = change.after
        return changes

    def _wrong_players(self) -> Iterator[WrongPlayer]:
        for row in self._sql.rows("SELECT id, name, mu, sigma, races FROM players ORDER BY id"):
            stored, due = rating_of(row), self._ratings.get(row.id)
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
