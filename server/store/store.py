"""The interface of a store and its implementation in SQL. Subclasses provide the connections.

All calls block. Only one thread at a time may call `write`. Any thread may read, also during a write, and sees only whole writes. Every
call may raise `StoreError`.
"""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar, Final, TypeVar

from protocol.record import Record
from protocol.views import SharedKind
from server.race.rating import RatingChange
from server.store import pruning
from server.store.answers import Mark, PlayedRace, Player, RaceStatus, Run, Running, StandingRace, TournamentHead
from server.store.batches import BatchWriter
from server.store.documents import BadDocument, decode_opening, decode_options, decode_record
from server.store.entries import change_of, deal_of, decision_of, opened_of, player_of, seat_of, tournament_of
from server.store.errors import EntryRefused, StoreCorrupt
from server.store.nodes import Holding
from server.store.port import NEVER_MS, Banned, Request, SharedDealMade, TournamentDecided, TournamentMade, deal_key, name_key
from server.store.pruning import Pruned
from server.store.running import running_races
from server.store.sql import Row, Sql

Value = TypeVar("Value")

READ_AT_ONCE: Final = 100
"""Records in memory at a time."""

_SEALED: Final = f"CASE WHEN races.deal IS NULL THEN 0 ELSE coalesce(shared_deals.reveals_at_ms, {NEVER_MS}) END AS sealed_until_ms"
_KEPT: Final = "SELECT races.*, records.record, records.digest, records.finished_at_ms FROM records JOIN races ON races.id = records.race"
_WITH_DEAL: Final = "LEFT JOIN shared_deals ON shared_deals.key = races.deal"


class Store(ABC):
    """waits: whether its calls wait for a disk or a network, so that an event loop has to make them in a thread."""

    waits: ClassVar[bool]

    def __init__(self, name: str) -> None:
        """name: where it is, in words for people."""
        self._name = name
        self._id = secrets.token_bytes(16)
        self._batches: BatchWriter | None = None
        # Set in a node that shares the store with others.
        self._holding: Holding | None = None
        # A batch whose commit may have been lost: its requests, its number and their outcomes.
        self._unsure: tuple[Sequence[Request], int, tuple[EntryRefused | None, ...]] | None = None

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Sql]:
        """The one connection that writes, outside a transaction. Errors within the context are raised as StoreError."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Sql]:
        """A connection in a transaction that sees one state of the store. Errors within the context are raised as StoreError."""

    @abstractmethod
    def close(self) -> None:
        """Release the store. No other call may follow."""

    # ---- writing

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Judge the requests in order and write those that fit in one transaction, which is safe on the disk when this returns.

        Gives one outcome per request: None, or why it was refused. A refused request leaves no trace and does not affect the others.
        Raises StoreError if nothing was written or the answer was lost. Called again with the same sequence, and no other in between, it
        finds out which, and writes them only once.
        """
        if not requests:
            return ()
        # Put back only if all goes well: after an error it is read from the database again.
        batches, self._batches = self._batches, None
        unsure = self._unsure
        with self._writing() as sql:
            if batches is None:
                batches = BatchWriter(sql, self._id, self._holding)
                if unsure is not None and unsure[0] is requests and batches.has_written(sql, unsure[1]):
                    self._batches, self._unsure = batches, None
                    return unsure[2]
            with nullcontext() if batches.is_one_statement(requests) else sql.transaction():
                outcomes = batches.judge(sql, requests)
                self._unsure = requests, batches.number, outcomes
                batches.finish(sql)
        self._unsure = None
        self._batches = batches
        return outcomes

    def probe(self) -> None:
        """Raises StoreError if nothing can be written now, as far as can be told without writing. Call it like `write`."""
        with self._writing() as sql:
            sql.row("SELECT 1 AS found")

    def checkpoint(self) -> bool:
        """Copy what commits have appended to the log into the database. One thread at a time may call it, also during `write`, which does
        not wait for it. Only a call made like `write` copies everything, so that the log starts again. False if there is no such log.
        """
        return False

    @contextmanager
    def maintaining(self) -> Iterator[Sql]:
        """A transaction for maintenance, committed if the context is left without an error."""
        self._batches = None
        with self._writing() as sql, sql.transaction():
            yield sql

    def write_anew(self) -> None:
        """Write a file anew, so that nothing is left in it of what was removed. PostgreSQL does so by itself, in time."""
        with self._writing() as sql:
            if sql.dialect == "sqlite":
                sql.run("VACUUM")

    # ---- what nobody will miss

    def prunable(self, before_ms: int) -> list[tuple[str, list[str]]]:
        """Tables, each with the keys of a few rows that may go, to be passed to `remove`. before_ms: what is newer stays."""
        with self._reading() as sql:
            return pruning.find(sql, before_ms)

    def remove(self, table: str, keys: list[str], before_ms: int) -> int:
        """Call it like `write`. Gives how many rows were removed; those that somebody has used since stay."""
        with self._writing() as sql, sql.transaction():
            return pruning.remove(sql, table, keys, before_ms)

    def prune(self, before_ms: int) -> Pruned:
        """Find and remove, in a store that nobody else writes to."""
        counts: Counter[str] = Counter()
        for table, keys in self.prunable(before_ms):
            counts[table] += self.remove(table, keys, before_ms)
        return Pruned(**counts)

    # ---- races

    def running(self) -> Running:
        """The races that a starting server has to resume."""
        with self._reading() as sql:
            return running_races(sql, node=self._node)

    def standing(self) -> tuple[StandingRace, ...]:
        """Finished races with somebody still in their rooms, in the order of their end. One that cannot be read is left out."""
        with self._reading() as sql:
            rows = sql.rows(
                f"{_KEPT} WHERE races.id IN (SELECT race FROM seats WHERE here) AND races.node = :node"  # noqa: S608
                " ORDER BY records.finished_at_ms, races.id",
                {"node": self._node},
            )
            seated = _seats(sql, (row.id for row in rows))
        return tuple(race for row in rows if (race := _standing(row, seated[row.id])) is not None)

    def stood_last(self, room: str) -> StandingRace | None:
        """The race that finished last in any room that had this code, whether or not somebody is still there; None if there is none."""
        with self._reading() as sql:
            row = sql.row(
                f"{_KEPT} WHERE races.room = :room AND races.phase = 'over' ORDER BY records.finished_at_ms DESC LIMIT 1", {"room": room}
            )
            seated = _seats(sql, (row.id,)) if row is not None else {}
        return _standing(row, seated[row.id]) if row is not None else None

    @property
    def _node(self) -> int:
        return self._holding.node if self._holding is not None else 0

    def record(self, race: str) -> Record | None:
        """The record of a race that is over. Raises StoreCorrupt if it cannot be read."""
        row = self._row("SELECT * FROM records WHERE race = :race", race=race)
        return self._read(lambda row: decode_record(row.record, row.digest), row, f"the record of race {race}")

    def race_status(self, race: str) -> RaceStatus | None:
        """Whether a race runs, is over or was aborted, and why."""
        row = self._row(f"SELECT races.phase, races.reason, {_SEALED} FROM races {_WITH_DEAL} WHERE races.id = :race", race=race)  # noqa: S608
        return RaceStatus(row.phase, row.reason, row.sealed_until_ms) if row is not None else None

    def last_race(self, room: str) -> str | None:
        """The id of the race that finished last in any room that had this code. Anybody who has the code might have watched it."""
        # By the code, not by the first letters of the id: for a private room they differ.
        row = self._row(
            "SELECT id FROM races WHERE room = :room AND phase = 'over' ORDER BY ended_at_ms DESC, number DESC LIMIT 1",
            room=room,
        )
        return str(row.id) if row is not None else None

    def rating_changes(self, race: str) -> tuple[RatingChange, ...]:
        """What a race did to the rating of each seat's player, in seat order; empty if it did not count or is not over."""
        rows = self._rows("SELECT * FROM seats WHERE race = :race ORDER BY seat", race=race)
        return tuple(change for change in map(change_of, rows) if change is not None)

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        """This player's races that are over, or were aborted after they had begun, newest first; with `before`, those older than it."""
        older = "AND (seats.finished_at_ms, seats.race) < (:finished_at_ms, :race)" if before is not None else ""
        own = (
            "SELECT seats.race, seats.seat, seats.finished_at_ms, races.room, races.number, races.options, races.reason,"  # noqa: S608
            f" {_SEALED} FROM seats JOIN races ON races.id = seats.race {_WITH_DEAL} WHERE seats.player = :player {older}"
            " ORDER BY seats.finished_at_ms DESC, seats.race DESC, seats.seat LIMIT :limit"
        )
        mark = {"finished_at_ms": before.finished_at_ms, "race": before.race} if before is not None else {}
        with self._reading() as sql:
            rows = sql.rows(own, {"player": player, "limit": limit, **mark})
            seated = _seats(sql, {row.race for row in rows})
        return self._read_all(lambda row: _played(row, seated[row.race]), rows, f"the history of player {player}")

    def races_listed(self, rules: str, *, limit: int) -> tuple[PlayedRace, ...]:
        """The finished public races of this rule set, newest first, each from the point of view of the first seat."""
        newest_first = (
            "SELECT races.id AS race, 0 AS seat, races.ended_at_ms AS finished_at_ms, races.room, races.number, races.options,"  # noqa: S608
            f" races.reason, {_SEALED} FROM races {_WITH_DEAL} WHERE races.phase = 'over' AND races.listed = :rules"
            " AND races.ended_at_ms > 0 ORDER BY races.ended_at_ms DESC, races.id DESC LIMIT :limit"
        )
        with self._reading() as sql:
            rows = sql.rows(newest_first, {"rules": rules, "limit": limit})
            seated = _seats(sql, (row.race for row in rows))
        return self._read_all(lambda row: _played(row, seated.get(row.race, ())), rows, f"the races at {rules}")

    def runs(self, kind: SharedKind, deal: str, *, rules: str | None = None, player: str | None = None) -> tuple[Run, ...]:
        """The races on a shared deal, in the order of their opening.

        rules: only the runs under this rule set that have begun or may still begin. player: of these, only theirs, of which there is one.
        """
        once = "AND id IN (SELECT race FROM runs WHERE deal = :key AND rules = :rules AND (:player = '' OR player = :player))"
        query = f"SELECT * FROM races WHERE deal = :key {once if rules is not None else ''} ORDER BY opened_at_ms, id"  # noqa: S608
        values = {"key": deal_key(kind, deal), "rules": rules, "player": player or ""}
        with self._reading() as sql:
            rows = sql.rows(query, values)
            seated = _seats(sql, (row.id for row in rows))
        return self._read_all(lambda row: _run(row, seated.get(row.id, ())), rows, f"the runs of deal {deal}")

    # ---- players

    def player(self, player: str) -> Player | None:
        return self._player("id", player)

    def player_by_token_hash(self, token_hash: bytes) -> Player | None:
        return self._player("token_hash", token_hash)

    def player_by_name(self, name: str) -> Player | None:
        """The player who has this name now, as `name_key` compares."""
        return self._player("name_key", name_key(name))

    def players_called(self, start: str, *, limit: int) -> tuple[Player, ...]:
        """Players whose names begin with this, as `name_key` compares, in its order."""
        beginning = "SELECT * FROM players WHERE name_key >= :first AND name_key < :behind ORDER BY name_key LIMIT :limit"
        key = name_key(start)
        return tuple(map(player_of, self._rows(beginning, first=key, behind=f"{key}{chr(sys.maxunicode)}", limit=limit)))

    def ladder(self, limit: int) -> tuple[Player, ...]:
        """Rated players, best first: by mu - 3 sigma, a rating that they almost surely exceed; then by name."""
        best_first = "SELECT * FROM players WHERE mu IS NOT NULL ORDER BY (mu - 3 * sigma) DESC, name_key LIMIT :limit"
        return tuple(map(player_of, self._rows(best_first, limit=limit)))

    def _player(self, column: str, value: str | bytes) -> Player | None:
        row = self._row(f"SELECT * FROM players WHERE {column} = :value", value=value)  # noqa: S608
        return player_of(row) if row is not None else None

    # ---- shared deals and tournaments

    def shared_deal(self, kind: SharedKind, deal: str) -> SharedDealMade | None:
        """The deal as it was made, with the moment at which it is or was revealed."""
        row = self._row("SELECT * FROM shared_deals WHERE key = :key", key=deal_key(kind, deal))
        return self._read(deal_of, row, f"the deal {deal}")

    def shared_deals(self, kind: SharedKind, *, limit: int) -> tuple[SharedDealMade, ...]:
        """The newest first."""
        newest_first = "SELECT * FROM shared_deals WHERE kind = :kind ORDER BY made_at_ms DESC, id LIMIT :limit"
        return self._read_all(deal_of, self._rows(newest_first, kind=kind, limit=limit), "a shared deal")

    def deals_run(self, kind: SharedKind, *, revealed_after_ms: int) -> frozenset[str]:
        """The ids of shared deals revealed after that moment that anybody has begun to run."""
        begun = (
            "SELECT id FROM shared_deals WHERE kind = :kind AND reveals_at_ms > :after"
            " AND EXISTS (SELECT 1 FROM runs WHERE runs.deal = shared_deals.key)"
        )
        return frozenset(row.id for row in self._rows(begun, kind=kind, after=revealed_after_ms))

    def tournaments(self, *, closed: bool, limit: int) -> tuple[TournamentMade, ...]:
        """Either the closed ones or the others, newest first."""
        newest_first = (
            f"SELECT * FROM tournaments WHERE closed_at_ms IS {'NOT NULL' if closed else 'NULL'}"  # noqa: S608
            " ORDER BY made_at_ms DESC, id LIMIT :limit"
        )
        return tuple(map(tournament_of, self._rows(newest_first, limit=limit)))

    def tournament(self, tournament: str) -> TournamentMade | None:
        row = self._row("SELECT * FROM tournaments WHERE id = :id", id=tournament)
        return tournament_of(row) if row is not None else None

    def tournament_log(self, tournament: str, after: int = 0) -> tuple[TournamentDecided, ...]:
        """All decisions after that number, in order."""
        log = "SELECT * FROM decisions WHERE tournament = :id AND sequence > :after ORDER BY sequence"
        return tuple(map(decision_of, self._rows(log, id=tournament, after=after)))

    def tournament_heads(self, also: Sequence[str]) -> tuple[TournamentHead, ...]:
        """The heads of all that are not closed, and of those in `also` that exist."""
        head = (
            "SELECT id, node, (SELECT coalesce(max(sequence), 0) FROM decisions WHERE tournament = tournaments.id) AS decisions"
            " FROM tournaments WHERE"
        )
        with self._reading() as sql:
            rows = [*sql.rows(f"{head} closed_at_ms IS NULL"), *sql.rows_in(f"{head} closed_at_ms IS NOT NULL AND id IN :wanted", also)]
        return tuple(TournamentHead(row.id, row.decisions, row.node, row.node == self._node) for row in rows)

    # ---- bans

    def bans(self) -> tuple[Banned, ...]:
        """All bans, newest first."""
        rows = self._rows("SELECT * FROM bans ORDER BY at_ms DESC, kind, subject")
        return tuple(Banned(kind=row.kind, subject=row.subject, reason=row.reason, at_ms=row.at_ms) for row in rows)

    def bans_mark(self) -> tuple[int, int]:
        """A mark that changes whenever `bans` do."""
        # Not the latest moment, because one of two servers may have a slow clock. The remainder keeps the sum within 64 bits.
        row = self._row("SELECT count(*) AS number, CAST(coalesce(sum(at_ms % 2147483647), 0) AS BIGINT) AS moments FROM bans")
        assert row is not None
        return row.number, row.moments

    # ---- how

    def _rows(self, statement: str, **values: Any) -> list[Row]:
        with self._reading() as sql:
            return sql.rows(statement, values)

    def _row(self, statement: str, **values: Any) -> Row | None:
        rows = self._rows(statement, **values)
        return rows[0] if rows else None

    def _read(self, read: Callable[[Row], Value], row: Row | None, what: str) -> Value | None:
        return self._read_all(read, (row,), what)[0] if row is not None else None

    def _read_all(self, read: Callable[[Row], Value], rows: Iterable[Row], what: str) -> tuple[Value, ...]:
        try:
            return tuple([read(row) for row in rows])
        except BadDocument as error:
            raise StoreCorrupt(f"{self._name}: {what} cannot be read: {error}") from error


def records(sql: Sql) -> Iterator[Row]:
    """All records in the order in which they were written, each with the room, the number and the phase of its race."""
    page = (
        "SELECT records.*, races.room, races.number AS race_number, races.phase FROM records JOIN races ON races.id = records.race"
        " WHERE records.number > :after ORDER BY records.number LIMIT :limit"
    )
    after = 0
    while rows := sql.rows(page, {"after": after, "limit": READ_AT_ONCE}):
        yield from rows
        after = rows[-1].number


def _seats(sql: Sql, wanted: Iterable[str]) -> dict[str, list[Row]]:
    """The seats of these races, in order."""
    found: dict[str, list[Row]] = {}
    for row in sql.rows_in("SELECT * FROM seats WHERE race IN :wanted ORDER BY race, seat", wanted):
        found.setdefault(row.race, []).append(row)
    return found


def _standing(row: Row, seats: Sequence[Row]) -> StandingRace | None:
    try:
        opened, record = opened_of(row), decode_record(row.record, row.digest)
    except BadDocument:
        # The race is over, so only a rematch is lost; and `db check` says what is wrong.
        return None
    return StandingRace(
        opened=opened,
        record=record,
        players=tuple(seat.player for seat in seats),
        here=frozenset(seat.seat for seat in seats if seat.here),
        gone=frozenset(seat.seat for seat in seats if seat.gone),
        changes=tuple(change for change in map(change_of, seats) if change is not None),
        ended_at_ms=row.finished_at_ms,
    )


def _played(row: Row, seats: Iterable[Row]) -> PlayedRace:
    return PlayedRace(
        race=row.race,
        room=row.room,
        number=row.number,
        rules=decode_options(row.options).rules,
        finished_at_ms=row.finished_at_ms,
        aborted=row.reason,
        seat=row.seat,
        seats=tuple(map(seat_of, seats)),
        sealed_until_ms=row.sealed_until_ms,
    )


def _run(row: Row, seats: Iterable[Row]) -> Run:
    opening = decode_opening(row.options)
    if opening.spec is None:
        raise BadDocument(f"race {row.id} has a shared deal, and nothing of it beside its options")
    return Run(
        race=row.id,
        room=row.room,
        rules=opening.options.rules,
        spec=opening.spec,
        phase=row.phase,
        finished_at_ms=row.ended_at_ms,
        seats=tuple(map(seat_of, seats)),
        aborted=row.reason,
    )
