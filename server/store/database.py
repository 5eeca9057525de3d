"""The store in a database: SQLite or PostgreSQL, by SQLAlchemy Core.

One connection writes. What a batch is judged by is in the ledger, which knows all races that run, or is read within the batch's own
transaction; so nothing but the database itself can keep a judged batch from being written, and a batch is written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Select, case, func, select, tuple_

from protocol.record import Record
from protocol.views import SharedKind
from server.race.rating import RatingChange
from server.store import schema
from server.store.compaction import Sweep
from server.store.documents import BadDocument, decode_record
from server.store.engines import FileLock, lock_with_connection, reading_engine, translated, writing_engine
from server.store.errors import EntryRefused, StoreCorrupt
from server.store.ledger import Ledger
from server.store.locations import Location, locate
from server.store.port import (
    NEVER_MS,
    Mark,
    PlayedRace,
    Player,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    RaceOver,
    RaceStatus,
    Request,
    Run,
    Running,
    SharedDealMade,
    SharedDealRevealed,
    StandingRace,
    TournamentDecided,
    TournamentMade,
    deal_key,
    name_key,
    played_seats,
    runs_once,
)
from server.store.reading import (
    change_of,
    played_race,
    player_of,
    rating_of,
    run_of,
    running_races,
    seats_of,
    shared_deal_of,
    standing_races,
    tournament_of,
    where_in,
)
from server.store.rows import Rows, Written, rows_of
from server.store.schema import Upgraded
from server.store.tables import commands, decisions, players, races, records, runs, seats, shared_deals, tournaments

_SEALED_UNTIL: Final = case(
    (races.c.deal.is_(None), 0),
    else_=func.coalesce(shared_deals.c.reveals_at_ms, NEVER_MS),
).label("sealed_until_ms")


class DatabaseStore:
    """A store that this process alone writes to while it is open. `upgraded` says what opening did to the tables."""

    waits = True

    def __init__(self, location: Location, *, migrations: Path = schema.MIGRATIONS) -> None:
        """Makes what is not there, upgrades what is old. Raises StoreInUse, StoreTooNew, StoreForeign and the other errors of a store."""
        self._location = location
        self._state: _State | None = None
        self._lock: FileLock | None = None
        with translated(location):
            if location.path is not None:
                make_file(location.path)
                self._lock = FileLock(location.path)
            self._writer = writing_engine(location)
            self._reader = reading_engine(location)
            if location.path is None:
                lock_with_connection(self._writer, location)
            try:
                with self._writer.begin() as connection:
                    self.upgraded: Upgraded = schema.upgrade(connection, migrations)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        self._reader.dispose()
        self._writer.dispose()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # ---- writing

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        state, self._state = self._state, None
        with translated(self._location), self._writer.begin() as connection:
            if state is None:
                state = _State(connection)
            outcomes = state.write(connection, requests)
        # Kept only now: after an error, what the database has is read anew.
        self._state = state
        return outcomes

    @contextmanager
    def maintaining(self) -> Iterator[Connection]:
        """A transaction for who looks after the store; it is kept when the context is left without an error."""
        self._state = None
        with translated(self._location), self._writer.begin() as connection:
            yield connection

    # ---- reading

    def running(self) -> Running:
        with self._reading() as connection:
            return running_races(connection)

    def standing(self) -> tuple[StandingRace, ...]:
        with self._reading() as connection:
            return standing_races(connection)

    def player(self, player: str) -> Player | None:
        return self._one_player(select(players).where(players.c.id == player))

    def player_by_token_hash(self, token_hash: bytes) -> Player | None:
        return self._one_player(select(players).where(players.c.token_hash == token_hash))

    def player_by_name(self, name: str) -> Player | None:
        return self._one_player(select(players).where(players.c.name_key == name_key(name)))

    def name_taken(self, name: str) -> bool:
        return self.player_by_name(name) is not None

    def record(self, race: str) -> Record | None:
        with self._reading() as connection:
            row = connection.execute(select(records).where(records.c.race == race)).one_or_none()
        if row is None:
            return None
        try:
            return decode_record(row.record, row.digest)
        except BadDocument as error:
            raise StoreCorrupt(f"{self._location}: the record of race {race} cannot be read: {error}") from error

    def race_status(self, race: str) -> RaceStatus | None:
        with self._reading() as connection:
            row = connection.execute(
                select(races.c.phase, races.c.reason, _SEALED_UNTIL)
                .join_from(races, shared_deals, races.c.deal == shared_deals.c.key, isouter=True)
                .where(races.c.id == race)
            ).one_or_none()
        return RaceStatus(row.phase, row.reason, row.sealed_until_ms) if row is not None else None

    def rating_changes(self, race: str) -> tuple[RatingChange, ...]:
        with self._reading() as connection:
            rows = connection.execute(select(seats).where(seats.c.race == race).order_by(seats.c.seat)).all()
        return tuple(change for change in map(change_of, rows) if change is not None)

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        own = (
            select(
                seats.c.race,
                seats.c.seat,
                seats.c.finished_at_ms,
                races.c.room,
                races.c.number,
                races.c.options,
                races.c.reason,
                _SEALED_UNTIL,
            )
            .join_from(seats, races, races.c.id == seats.c.race)
            .join(shared_deals, races.c.deal == shared_deals.c.key, isouter=True)
            .where(seats.c.player == player)
            .order_by(seats.c.finished_at_ms.desc(), seats.c.race.desc(), seats.c.seat)
            .limit(limit)
        )
        if before is not None:
            own = own.where(tuple_(seats.c.finished_at_ms, seats.c.race) < (before.finished_at_ms, before.race))
        with self._reading() as connection:
            rows = connection.execute(own).all()
            seated = seats_of(connection, [row.race for row in rows])
        try:
            return tuple(played_race(row, tuple(seated[row.race])) for row in rows)
        except BadDocument as error:
            raise StoreCorrupt(f"{self._location}: the history of player {player} cannot be read: {error}") from error

    def shared_deal(self, kind: SharedKind, deal: str) -> SharedDealMade | None:
        found = self._shared_deals(select(shared_deals).where(shared_deals.c.key == deal_key(kind, deal)))
        return found[0] if found else None

    def shared_deals(self, kind: SharedKind, *, limit: int) -> tuple[SharedDealMade, ...]:
        newest_first = shared_deals.c.made_at_ms.desc(), shared_deals.c.id
        return self._shared_deals(select(shared_deals).where(shared_deals.c.kind == kind).order_by(*newest_first).limit(limit))

    def _shared_deals(self, query: Select[Any]) -> tuple[SharedDealMade, ...]:
        with self._reading() as connection:
            rows = connection.execute(query).all()
        try:
            return tuple(shared_deal_of(row) for row in rows)
        except (BadDocument, msgspec.DecodeError) as error:
            raise StoreCorrupt(f"{self._location}: a shared deal cannot be read: {error}") from error

    def runs(self, kind: SharedKind, deal: str) -> tuple[Run, ...]:
        query = select(races).where(races.c.deal == deal_key(kind, deal)).order_by(races.c.opened_at_ms, races.c.id)
        with self._reading() as connection:
            rows = connection.execute(query).all()
            seated = seats_of(connection, [row.id for row in rows])
        try:
            return tuple(run_of(row, tuple(seated.get(row.id, ()))) for row in rows)
        except BadDocument as error:
            raise StoreCorrupt(f"{self._location}: the runs of deal {deal} cannot be read: {error}") from error

    def tournaments(self, *, closed: bool, limit: int) -> tuple[TournamentMade, ...]:
        is_closed = tournaments.c.closed_at_ms.is_not(None) if closed else tournaments.c.closed_at_ms.is_(None)
        query = select(tournaments).where(is_closed).order_by(tournaments.c.made_at_ms.desc(), tournaments.c.id).limit(limit)
        with self._reading() as connection:
            return tuple(tournament_of(row) for row in connection.execute(query))

    def tournament(self, tournament: str) -> TournamentMade | None:
        with self._reading() as connection:
            row = connection.execute(select(tournaments).where(tournaments.c.id == tournament)).one_or_none()
        return tournament_of(row) if row is not None else None

    def tournament_log(self, tournament: str) -> tuple[TournamentDecided, ...]:
        query = select(decisions).where(decisions.c.tournament == tournament).order_by(decisions.c.sequence)
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return tuple(
            TournamentDecided(
                tournament=row.tournament,
                sequence=row.sequence,
                at_ms=row.at_ms,
                author=row.author,
                decision=row.decision,
            )
            for row in rows
        )

    def ladder(self, limit: int) -> tuple[Player, ...]:
        rated = select(players).where(players.c.mu.is_not(None))
        best_first = rated.order_by((players.c.mu - 3 * players.c.sigma).desc(), players.c.name_key).limit(limit)
        with self._reading() as connection:
            return tuple(player_of(row) for row in connection.execute(best_first))

    def _one_player(self, query: Select[Any]) -> Player | None:
        with self._reading() as connection:
            row = connection.execute(query).one_or_none()
        return player_of(row) if row is not None else None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translated(self._location), self._reader.begin() as connection:
            yield connection


class _State:
    """What the writer knows of what is stored: made from the database, then kept in step with it."""

    def __init__(self, connection: Connection) -> None:
        self._ledger = Ledger()
        last = select(commands.c.race, func.max(commands.c.sequence), func.max(commands.c.number), func.count()).group_by(commands.c.race)
        logged = {race: (sequence, number, rows) for race, sequence, number, rows in connection.execute(last)}
        self._next_command = 1 + max((number for _, number, _ in logged.values()), default=0)
        self._next_record = 1 + (connection.scalar(select(func.max(records.c.number))) or 0)
        for race in connection.scalars(select(races.c.id).where(races.c.phase == "running")):
            self._ledger.running[race] = logged[race][0] if race in logged else 0
        self._sweep = Sweep(sum(rows for _, _, rows in logged.values()))

    def write(self, connection: Connection, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        written: list[list[Written] | EntryRefused] = [_rows_or_refusal(request) for request in requests]
        fit = [request for request, rows in zip(requests, written, strict=True) if isinstance(rows, list)]
        self._look_up(connection, fit)
        judged = iter(self._ledger.judge(fit))
        rows = Rows()
        outcomes: list[EntryRefused | None] = []
        for each in written:
            refused = each if isinstance(each, EntryRefused) else next(judged)
            if refused is None:
                assert isinstance(each, list)
                rows.add(each, self._ledger.changes)
            outcomes.append(refused)
        rows.write(connection, first_command=self._next_command, first_record=self._next_record)
        self._next_command += len(rows.commands)
        self._next_record += len(rows.records)
        self._sweep.step(connection, added=len(rows.commands), running=self._ledger.running)
        return tuple(outcomes)

    def _look_up(self, connection: Connection, requests: Sequence[Request]) -> None:
        """Give the ledger what the requests will be judged by: who there is of the players they name, and what they want to be new."""
        wanted = _Wanted(requests)
        ledger = self._ledger
        for mapping in (ledger.names, ledger.holders, ledger.tokens, ledger.ended, ledger.ratings, ledger.changes):
            mapping.clear()
        ledger.deals.clear()
        ledger.runs.clear()
        ledger.tournaments.clear()
        for column, values in ((players.c.id, wanted.players), (players.c.name_key, wanted.names)):
            for row in where_in(connection, select(players), column, values):
                ledger.names[row.id] = row.name_key
                ledger.holders[row.name_key] = row.id
                rating = rating_of(row)
                if rating is not None:
                    ledger.ratings[row.id] = rating
        for row in where_in(connection, select(players), players.c.token_hash, wanted.tokens):
            ledger.tokens[row.token_hash] = row.id
        for row in where_in(connection, select(races.c.id), races.c.id, wanted.races):
            ledger.ended[row.id] = None
        for row in where_in(connection, select(shared_deals.c.key), shared_deals.c.key, wanted.deals):
            ledger.deals[row.key] = None
        for row in where_in(connection, select(tournaments.c.id), tournaments.c.id, wanted.tournaments):
            ledger.tournaments[row.id] = 0
        # None, where nothing is decided yet, has no row here.
        last = select(decisions.c.tournament, func.max(decisions.c.sequence).label("last")).group_by(decisions.c.tournament)
        for row in where_in(connection, last, decisions.c.tournament, wanted.tournaments):
            ledger.tournaments[row.tournament] = row.last
        for column, values in ((runs.c.player, wanted.runners), (runs.c.race, wanted.aborted)):
            for row in where_in(connection, select(runs), column, values):
                ledger.runs[row.deal, row.rules, row.player] = row.race


class _Wanted:
    def __init__(self, requests: Sequence[Request]) -> None:
        self.players: set[str] = set()
        self.names: set[str] = set()
        self.tokens: set[bytes] = set()
        self.races: set[str] = set()
        self.deals: set[str] = set()
        self.runners: set[str] = set()
        self.tournaments: set[str] = set()
        self.aborted: set[str] = set()
        for request in requests:
            for entry in request:
                match entry:
                    case PlayerMade(player=player, name=name, token_hash=token_hash):
                        self.players.add(player)
                        self.names.add(name_key(name))
                        self.tokens.add(token_hash)
                    case PlayerRenamed(player=player, name=name):
                        self.players.add(player)
                        self.names.add(name_key(name))
                    case PlayerSeen(player=player):
                        self.players.add(player)
                    case RaceOver() | RaceAborted():
                        self.players.update(seat.player for seat in played_seats(entry) if seat.player is not None)
                        if isinstance(entry, RaceAborted) and not entry.seats:
                            self.aborted.add(entry.race)
                    case PlayersLeft(race=race):
                        self.races.add(race)
                    case RaceOpened(race=race, occasion=occasion):
                        self.races.add(race)
                        if occasion is not None:
                            self.deals.add(deal_key(occasion.deal.kind, occasion.deal.id))
                            self.players.update(occasion.invited)
                            if runs_once(occasion):
                                self.runners.update(occasion.invited)
                    case SharedDealMade(key=key, owner=owner):
                        self.deals.add(key)
                        if owner is not None:
                            self.players.add(owner)
                    case SharedDealRevealed(kind=kind, id=deal):
                        self.deals.add(deal_key(kind, deal))
                    case TournamentMade(tournament=tournament, director=director):
                        self.tournaments.add(tournament)
                        self.players.add(director)
                    case TournamentDecided(tournament=tournament, author=author):
                        self.tournaments.add(tournament)
                        if author is not None:
                            self.players.add(author)
                    case _:
                        pass


def open_database(where: str | None = None) -> DatabaseStore:
    """The store at a path or URL, or at the usual place. Raises StoreError."""
    return DatabaseStore(locate(where))


def make_file(path: Path) -> None:
    """The database's file, for its owner alone: it holds the secrets of deals that are being played."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _rows_or_refusal(request: Request) -> list[Written] | EntryRefused:
    try:
        return rows_of(request)
    except EntryRefused as refused:
        return refused
