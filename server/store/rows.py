"""The entries of a batch as rows, in an order in which each statement finds what it needs and runs once for many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias, assert_never

import msgspec
from sqlalchemy import Connection, Executable, bindparam, delete, insert, update

from server.race.rating import Rating, RatingChange
from server.store.documents import Opened, encode_command, encode_opening, encode_options, encode_record
from server.store.errors import EntryRefused
from server.store.port import (
    CommandTaken,
    Entry,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    RaceOver,
    Request,
    SharedDealMade,
    SharedDealRevealed,
    TournamentDecided,
    TournamentMade,
    deal_key,
    name_key,
    played_seats,
    runs_once,
)
from server.store.tables import commands, decisions, players, races, records, runs, seats, shared_deals, tournaments

Row: TypeAlias = dict[str, Any]
Written: TypeAlias = tuple[Executable, Row]

# SQLAlchemy keeps the names of columns for itself; hence `of` and `to_`.
_this_player = update(players).where(players.c.id == bindparam("of"))
_this_race = update(races).where(races.c.id == bindparam("of"))

_MAKE_PLAYER = insert(players)
_RENAME = _this_player.values(name=bindparam("to_name"), name_key=bindparam("to_key"))
_SEE = _this_player.values(seen_at_ms=bindparam("to"))
RATE = _this_player.values(mu=bindparam("to_mu"), sigma=bindparam("to_sigma"), races=bindparam("to_races"))
_OPEN_RACE = insert(races)
_TAKE_COMMAND = insert(commands)
_END_RACE = _this_race.values(phase=bindparam("to_phase"), ended_at_ms=bindparam("to_end"), reason=bindparam("to_reason"))
_WRITE_RECORD = insert(records)
_SEAT = insert(seats)
_LEAVE = update(seats).where(seats.c.race == bindparam("of"), seats.c.seat == bindparam("number")).values(here=False)
_MAKE_DEAL = insert(shared_deals)
_REVEAL = update(shared_deals).where(shared_deals.c.key == bindparam("of")).values(reveals_at_ms=bindparam("to"))
_RUN = insert(runs)
_FORGET_RUN = delete(runs).where(runs.c.race == bindparam("of"))
_MAKE_TOURNAMENT = insert(tournaments)
_DECIDE = insert(decisions)
_CLOSE_TOURNAMENT = update(tournaments).where(tournaments.c.id == bindparam("of")).values(closed_at_ms=bindparam("to"))


class Rows:
    """The rows of the requests added, of which `write` makes one run of statements."""

    def __init__(self) -> None:
        self.commands: list[Row] = []
        self._players: list[Written] = []
        self._races: list[Row] = []
        self.records: list[Row] = []
        self._seats: list[Row] = []
        self._leavers: list[Row] = []
        self._ends: list[Row] = []
        self._deals: list[Row] = []
        self._runs: list[Written] = []
        self._reveals: list[Row] = []
        self._tournaments: list[Row] = []
        self._decisions: list[Row] = []
        self._closings: list[Row] = []

    def add(self, written: Iterable[Written], changes: Mapping[str, tuple[RatingChange, ...]]) -> None:
        """changes: what rated races have done to ratings, by race."""
        for statement, row in written:
            if statement is _TAKE_COMMAND:
                self.commands.append(row)
            elif statement is _OPEN_RACE:
                self._races.append(row)
            elif statement is _WRITE_RECORD:
                self.records.append(row)
            elif statement is _SEAT:
                change = changes[row["race"]][row["seat"]] if row["race"] in changes else None
                self._seats.append({**row, **change_row(change)})
                if change is not None:
                    self._players.append((RATE, rating_row(row["player"], change.after)))
            elif statement is _LEAVE:
                self._leavers.append(row)
            elif statement is _END_RACE:
                self._ends.append(row)
            elif statement is _MAKE_DEAL:
                self._deals.append(row)
            elif statement is _REVEAL:
                self._reveals.append(row)
            elif statement is _MAKE_TOURNAMENT:
                self._tournaments.append(row)
            elif statement is _DECIDE:
                self._decisions.append(row)
            elif statement is _CLOSE_TOURNAMENT:
                self._closings.append(row)
            elif statement in (_RUN, _FORGET_RUN):
                self._runs.append((statement, row))
            else:
                self._players.append((statement, row))

    def write(self, connection: Connection, *, first_command: int, first_record: int) -> None:
        """Both are numbers of rows; the others follow."""
        # Players in the order of the requests: a name that one gives up another may take.
        for statement, rows in groupby(self._players, key=lambda written: written[0]):
            connection.execute(statement, [row for _, row in rows])
        for first, numbered in ((first_command, self.commands), (first_record, self.records)):
            for number, row in enumerate(numbered, first):
                row["number"] = number
        for statement, many in (
            (_MAKE_DEAL, self._deals),
            (_OPEN_RACE, self._races),
            (_TAKE_COMMAND, self.commands),
            (_WRITE_RECORD, self.records),
            (_SEAT, self._seats),
            (_LEAVE, self._leavers),
            (_END_RACE, self._ends),
            (_REVEAL, self._reveals),
            (_MAKE_TOURNAMENT, self._tournaments),
            (_DECIDE, self._decisions),
            (_CLOSE_TOURNAMENT, self._closings),
        ):
            if many:
                connection.execute(statement, many)
        # In the order of the requests: a run that was forgotten another may take.
        for statement, rows in groupby(self._runs, key=lambda written: written[0]):
            connection.execute(statement, [row for _, row in rows])


def rating_row(player: str, rating: Rating | None) -> Row:
    """For `RATE`. rating: None for who has none."""
    if rating is None:
        return {"of": player, "to_mu": None, "to_sigma": None, "to_races": 0}
    return {"of": player, "to_mu": rating.mu, "to_sigma": rating.sigma, "to_races": rating.races}


def change_row(change: RatingChange | None) -> Row:
    """The columns of a seat that say what its race did to its player's rating."""
    if change is None:
        return dict.fromkeys(("mu_before", "sigma_before", "mu_after", "sigma_after", "rated_races"))
    before, after = change.before, change.after
    return {
        "mu_before": before.mu,
        "sigma_before": before.sigma,
        "mu_after": after.mu,
        "sigma_after": after.sigma,
        "rated_races": after.races,
    }


def rows_of(request: Request) -> list[Written]:
    """Raises EntryRefused for what has no form in a database: text that is not Unicode, numbers beyond 64 bits."""
    try:
        written = [row for entry in request for row in _rows(entry)]
        for _, row in written:
            _check(row)
    except (ValueError, OverflowError) as error:
        raise EntryRefused(f"an entry that cannot be stored: {error}") from error
    return written


def _check(row: Row) -> None:
    for column, value in row.items():
        if type(value) is str:
            value.encode()
            if "\0" in value:
                raise ValueError(f"{column} has a null character")
        elif type(value) is int and not -(2**63) <= value < 2**63:
            raise OverflowError(f"{column} is {value}")


def _rows(entry: Entry) -> Iterator[Written]:
    match entry:
        case CommandTaken():
            document = encode_command(entry.command)
            yield _TAKE_COMMAND, {"race": entry.race, "sequence": entry.sequence, "at_ms": entry.at_ms, "command": document}
        case RaceOpened():
            yield _OPEN_RACE, _race_row(entry)
            yield from _run_rows(entry)
        case RaceOver():
            yield from _over_rows(entry)
        case PlayersLeft(race=race, seats=left):
            yield from ((_LEAVE, {"of": race, "number": number}) for number in left)
        case RaceAborted():
            yield from _seat_rows(entry)
            if not entry.seats:
                yield _FORGET_RUN, {"of": entry.race}
            yield _END_RACE, {"of": entry.race, "to_phase": "aborted", "to_end": entry.at_ms, "to_reason": entry.reason}
        case PlayerMade():
            yield _MAKE_PLAYER, _player_row(entry)
        case PlayerRenamed():
            yield _RENAME, {"of": entry.player, "to_name": entry.name, "to_key": name_key(entry.name)}
        case PlayerSeen():
            yield _SEE, {"of": entry.player, "to": entry.at_ms}
        case SharedDealMade():
            yield _MAKE_DEAL, _deal_row(entry)
        case SharedDealRevealed():
            yield _REVEAL, {"of": deal_key(entry.kind, entry.id), "to": entry.at_ms}
        case TournamentMade():
            yield (
                _MAKE_TOURNAMENT,
                {
                    "id": entry.tournament,
                    "director": entry.director,
                    "secret": entry.secret,
                    "document": entry.document,
                    "made_at_ms": entry.at_ms,
                },
            )
        case TournamentDecided():
            yield (
                _DECIDE,
                {
                    "tournament": entry.tournament,
                    "sequence": entry.sequence,
                    "at_ms": entry.at_ms,
                    "author": entry.author,
                    "decision": entry.decision,
                },
            )
            if entry.closes:
                yield _CLOSE_TOURNAMENT, {"of": entry.tournament, "to": entry.at_ms}
        case _:
            assert_never(entry)


def _race_row(entry: RaceOpened) -> Row:
    return {
        "id": entry.race,
        "room": entry.room,
        "number": entry.number,
        "options": encode_opening(Opened(entry.options, entry.series, entry.occasion, entry.opening)),
        "secret": entry.secret,
        "software": entry.software,
        "opened_at_ms": entry.at_ms,
        "phase": "running",
        "deal": deal_key(entry.occasion.deal.kind, entry.occasion.deal.id) if entry.occasion is not None else None,
    }


def _run_rows(entry: RaceOpened) -> Iterator[Written]:
    occasion = entry.occasion
    if occasion is not None and runs_once(occasion):
        key = deal_key(occasion.deal.kind, occasion.deal.id)
        for player in occasion.invited:
            yield _RUN, {"deal": key, "rules": entry.options.rules, "player": player, "race": entry.race}


def _deal_row(entry: SharedDealMade) -> Row:
    return {
        "key": entry.key,
        "kind": entry.kind,
        "id": entry.id,
        "secret": entry.secret,
        "nonces": msgspec.json.encode(entry.nonces).decode(),
        "options": encode_options(entry.options) if entry.options is not None else None,
        "owner": entry.owner,
        "made_at_ms": entry.at_ms,
        "reveals_at_ms": entry.reveals_at_ms,
    }


def _player_row(entry: PlayerMade) -> Row:
    return {
        "id": entry.player,
        "name": entry.name,
        "name_key": name_key(entry.name),
        "token_hash": entry.token_hash,
        "created_at_ms": entry.at_ms,
        "seen_at_ms": entry.at_ms,
    }


def _over_rows(entry: RaceOver) -> Iterator[Written]:
    record = entry.record
    yield (
        _WRITE_RECORD,
        {"race": entry.race, "record": encode_record(record), "digest": record.digest, "finished_at_ms": entry.at_ms},
    )
    yield from _seat_rows(entry)
    yield _END_RACE, {"of": entry.race, "to_phase": "over", "to_end": entry.at_ms, "to_reason": None}


def _seat_rows(entry: RaceOver | RaceAborted) -> Iterator[Written]:
    here = entry.here if isinstance(entry, RaceOver) else ()
    for number, seat in enumerate(played_seats(entry)):
        yield (
            _SEAT,
            {
                "race": entry.race,
                "seat": number,
                "player": seat.player,
                "name": seat.name,
                "bot": seat.bot,
                "state": seat.state,
                "place": seat.place,
                "home": seat.home,
                "ended_at_ms": seat.ended_at_ms,
                "finished_at_ms": entry.at_ms,
                "here": number in here,
            },
        )
