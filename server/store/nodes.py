"""The nodes of a cluster: servers that share one PostgreSQL. Each owns its races for as long as it holds its lease.

A node has a row with an epoch and the end of its lease, by the database's clock. It writes batches under its epoch only, with its row
locked against changes. A node that takes over its races changes the epoch first; so of two that believe they own a race, only one can
write. Once a lease has run out, the node's races may be taken; they remain its own until another node takes them.

Beside its lease a node holds a lock for as long as it is connected to the database. If it has lost that lock and has not renewed its lease
for a while, its process has ended and its races may be taken at once. If it is alive after all, it finds its epoch over.

The batches of each node form a log with its own range of numbers. When a race moves, its commands move to the log of the new owner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from server.store.errors import LeaseLost
from server.store.sql import Row, Sql

LEASE_MS: Final = 5_000

SILENT_MS: Final = 1_500
"""A node that has not renewed its lease for so long, three times the usual interval, and has no connection to the database, has ended."""

_BITS: Final = 40
"""Bits for the number of a batch within its node's log: enough for a thousand commits a second for 34 years."""

LAST_NUMBER: Final = 2**63 - 1

LEFT: Final = 0
"""In place of the end of a lease. A value below it means that the node is settled: minus when it was, or -1 if an older server noted it."""

FORGOTTEN_MS: Final = 24 * 3_600_000
"""How long a settled node is still known, so that a host who looks can see that it is gone."""

_NOW: Final = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"


def numbers_of(node: int) -> tuple[int, int]:
    """The range of this node's batch numbers: above the first value, up to and including the second. A single server is node 0."""
    return node << _BITS, ((node + 1) << _BITS) - 1


def node_of(number: int) -> int:
    """The node whose batch has this number."""
    return number >> _BITS


@dataclass(frozen=True, slots=True)
class Holding:
    """The node that this process is, and the epoch under which it writes."""

    node: int
    epoch: int

    @property
    def lost(self) -> str:
        return f"the lease of node {self.node} in epoch {self.epoch} is over, and other nodes answer for its races"


@dataclass(frozen=True, slots=True)
class Node:
    """lease_ms: when its lease ends, or `LEFT`, or less than that. left_ms: how long until then. races: how many run on it.

    hung_up: its process has ended, as far as the database can tell.
    """

    id: int
    url: str
    epoch: int
    lease_ms: int
    left_ms: int
    races: int = 0
    hung_up: bool = False

    @property
    def is_alive(self) -> bool:
        return self.left_ms > 0 and not self.hung_up

    @property
    def is_late(self) -> bool:
        """It has missed several renewals of its lease."""
        return self.left_ms <= LEASE_MS - SILENT_MS

    @property
    def has_left(self) -> bool:
        """It left of its own accord, with its journal written."""
        return self.lease_ms == LEFT

    @property
    def is_settled(self) -> bool:
        """It is gone, and others have taken over everything it had."""
        return self.lease_ms < LEFT


_JOIN: Final = (
    f"INSERT INTO nodes (id, url, epoch, lease_until_ms) SELECT coalesce(max(id), 0) + 1, :url, 1, {_NOW} + :lease_ms FROM nodes"  # noqa: S608
    f" ON CONFLICT (url) DO UPDATE SET epoch = nodes.epoch + 1, lease_until_ms = {_NOW} + :lease_ms WHERE nodes.lease_until_ms <= {_NOW}"
    " RETURNING id, epoch"
)
_ALONE: Final = (
    f"INSERT INTO nodes (id, url, epoch, lease_until_ms) SELECT 0, 'a server alone', 1, {LEFT} WHERE"  # noqa: S608
    " EXISTS (SELECT 1 FROM races WHERE node = 0 AND phase = 'running')"
    " OR EXISTS (SELECT 1 FROM tournaments WHERE node = 0 AND closed_at_ms IS NULL)"
    " ON CONFLICT (id) DO UPDATE SET lease_until_ms = excluded.lease_until_ms"
)
_RENEW: Final = f"UPDATE nodes SET lease_until_ms = {_NOW} + :lease_ms WHERE id = :node AND epoch = :epoch"  # noqa: S608
_LEAVE: Final = f"UPDATE nodes SET lease_until_ms = {LEFT} WHERE id = :node AND epoch = :epoch"  # noqa: S608
_SETTLE: Final = f"UPDATE nodes SET lease_until_ms = -{_NOW} WHERE id = :id"  # noqa: S608
_FORGET: Final = (
    f"DELETE FROM nodes WHERE lease_until_ms < {LEFT} AND -lease_until_ms <= {_NOW} - :forgotten_ms"  # noqa: S608
    # The highest number stays: otherwise the next new node would have it, in an epoch that a process of the old one may believe to hold.
    " AND id < (SELECT max(id) FROM nodes)"
)
_COLUMNS: Final = f"nodes.id, url, epoch, lease_until_ms, lease_until_ms - {_NOW} AS left_ms"
_NODES: Final = f"SELECT {_COLUMNS} FROM nodes ORDER BY id"  # noqa: S608
_COUNTED: Final = (
    f"SELECT {_COLUMNS}, count(races.id) AS races FROM nodes"  # noqa: S608
    " LEFT JOIN races ON races.node = nodes.id AND races.phase = 'running' GROUP BY nodes.id"
    " HAVING nodes.id > 0 OR count(races.id) > 0 ORDER BY nodes.id"
)
_OWN: Final = "SELECT id FROM nodes WHERE id = :node AND epoch = :epoch FOR SHARE"
_CONNECTION_LOCK: Final = "hashtext('carpet-race node ' || current_schema())"
_SHOW_CONNECTION: Final = f"SELECT pg_advisory_lock_shared({_CONNECTION_LOCK}, :node)"
_CONNECTED: Final = (
    "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted"  # noqa: S608
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    f" AND classid = CAST(CAST({_CONNECTION_LOCK} AS bigint) & 4294967295 AS oid)"
)
_SEIZE: Final = (
    f"UPDATE nodes SET epoch = epoch + 1, lease_until_ms = least(lease_until_ms, {_NOW})"  # noqa: S608
    f" WHERE id = :id AND (lease_until_ms <= {_NOW} OR :hung_up AND lease_until_ms <= {_NOW} + :late_ms AND id NOT IN (SELECT"
    f" CAST(objid AS bigint) FROM ({_CONNECTED}) AS connected))"
)
_RUN_ON: Final = (
    f"SELECT room, {_COLUMNS} FROM races JOIN nodes ON nodes.id = races.node"  # noqa: S608
    " WHERE phase = 'running' AND room IN :wanted"
)
_STAND_ON: Final = (
    f"SELECT room, {_COLUMNS} FROM seats JOIN races ON races.id = seats.race"  # noqa: S608
    " JOIN nodes ON nodes.id = races.node WHERE seats.here AND room IN :wanted ORDER BY finished_at_ms"
)
_ONE_AFTER_ANOTHER: Final = "SELECT pg_advisory_xact_lock(hashtext('carpet-race nodes ' || current_schema()))"


def join(sql: Sql, url: str) -> Holding | None:
    """Become the node of this URL. None while another process holds its lease."""
    with sql.transaction():
        sql.rows(_ONE_AFTER_ANOTHER)
        row = sql.row(_JOIN, {"url": url, "lease_ms": LEASE_MS})
        # What a single server left on this database is taken over like a node's.
        sql.run(_ALONE)
        # Nothing refers to a settled node. Whoever comes back with its URL is a new node, and an old process of it finds its epoch over.
        sql.run(_FORGET, [{"forgotten_ms": FORGOTTEN_MS}])
    return Holding(row.id, row.epoch) if row is not None else None


def renew(sql: Sql, holding: Holding) -> tuple[Node, ...]:
    """Renew the lease for `LEASE_MS` from now. Gives all nodes, without counting their races. Raises LeaseLost."""
    if not sql.run(_RENEW, [{"node": holding.node, "epoch": holding.epoch, "lease_ms": LEASE_MS}]):
        raise LeaseLost(holding.lost)
    return tuple(map(_node, sql.rows(_NODES)))


def show_connection(sql: Sql, holding: Holding) -> None:
    """Let other nodes see that this connection stands, for as long as it does."""
    sql.rows(_SHOW_CONNECTION, {"node": holding.node})


def connected(sql: Sql) -> frozenset[int]:
    """The nodes that are connected, as far as they show it."""
    return frozenset(int(row.objid) for row in sql.rows(_CONNECTED))


def leave(sql: Sql, holding: Holding) -> None:
    """Let other nodes take over everything at once."""
    sql.run(_LEAVE, [{"node": holding.node, "epoch": holding.epoch}])


def nodes(sql: Sql) -> tuple[Node, ...]:
    """All nodes but those long settled, with the number of races that run on each."""
    return tuple(_node(row, row.races) for row in sql.rows(_COUNTED))


def find_rooms(sql: Sql, codes: Iterable[str]) -> dict[str, Node]:
    """The node of each room with one of these codes; codes without a room are left out."""
    wanted = set(codes)
    found = {row.room: _node(row) for row in sql.rows_in(_RUN_ON, wanted)}
    # Of several finished races in rooms of one code, the last one counts.
    return {row.room: _node(row) for row in sql.rows_in(_STAND_ON, wanted - set(found))} | found


def check_own(sql: Sql, holding: Holding) -> None:
    """Keep others from taking over what this node has, until the end of the transaction. Raises LeaseLost."""
    if sql.row(_OWN, {"node": holding.node, "epoch": holding.epoch}) is None:
        raise LeaseLost(holding.lost)


def seize(sql: Sql, node: int, *, hung_up: bool) -> bool:
    """End the node's epoch: nothing that it decides is written any more. False if it holds its lease, or is connected again."""
    return bool(sql.run(_SEIZE, [{"id": node, "hung_up": hung_up, "late_ms": LEASE_MS - SILENT_MS}]))


def settle(sql: Sql, node: int) -> None:
    """Note that nothing of this node is left to take over, as of now."""
    sql.run(_SETTLE, [{"id": node}])


def _node(row: Row, races: int = 0) -> Node:
    return Node(row.id, row.url, row.epoch, row.lease_until_ms, row.left_ms, races)
