"""The store of a cluster's node: a PostgreSQL that several servers write to, each under its own lease."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from server.store import nodes, schema
from server.store.connections import BUSY_S, lock, unlock
from server.store.database import DatabaseStore
from server.store.errors import StoreUnavailable
from server.store.locations import Location, locate
from server.store.nodes import LEASE_MS, Holding, Node
from server.store.schema import Upgraded
from server.store.sql import Sql
from server.store.takeover import TakenOver, take_rooms

UPGRADE_S: Final = 300
"""How long a node waits for another one to upgrade the tables."""

CONNECTED_S: Final = LEASE_MS / 1000
"""A node whose own connection is younger does not judge others by theirs, because the database may have disconnected everybody."""

_SET_LOCK_TIMEOUT: Final = "SELECT set_config('lock_timeout', :timeout, false)"
_UPGRADE_LOCK: Final = "SELECT pg_advisory_lock(hashtext('carpet-race upgrade ' || current_schema()))"
_UPGRADE_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtext('carpet-race upgrade ' || current_schema()))"


class SharedStore(DatabaseStore):
    """Call `join` before anything is written. Calls of this class are made like `write`, except `find_rooms`."""

    _is_shared = True
    _in_doubt: TakenOver | None = None
    _shown_by: Sql | None = None
    _connected_since = 0.0

    def _prepare(self, sql: Sql) -> Upgraded:
        if schema.is_up_to_date(sql):
            return schema.upgrade(sql, self._location)
        # Nodes may start at the same moment; then all but one wait. They let go of the store's lock meanwhile, for that one would take them
        # for servers of an older version that run.
        unlock(sql, shared=True)
        sql.rows(_SET_LOCK_TIMEOUT, {"timeout": f"{UPGRADE_S}s"})
        sql.rows(_UPGRADE_LOCK)
        sql.rows(_SET_LOCK_TIMEOUT, {"timeout": f"{BUSY_S}s"})
        if is_first := not schema.is_up_to_date(sql):
            lock(sql, self._location, shared=False)
        lock(sql, self._location, shared=True)
        if is_first:
            # It has shown that no other server runs, and whoever starts now waits above. Held on, it would turn them away.
            unlock(sql, shared=False)
        upgraded = schema.upgrade(sql, self._location)
        sql.rows(_UPGRADE_UNLOCK)
        return upgraded

    @property
    def holding(self) -> Holding:
        assert self._holding is not None, "the node has not joined"
        return self._holding

    def join(self, url: str) -> bool:
        """Become the node of this URL. False while another process holds its lease."""
        with self._writing() as sql:
            self._holding = nodes.join(sql, url)
            if self._holding is not None:
                self._show_connection(sql)
        return self._holding is not None

    def renew(self) -> tuple[Node, ...]:
        """Renew the lease for `LEASE_MS`, and give all nodes. Raises LeaseLost."""
        with self._writing() as sql:
            if self._shown_by is not sql:
                self._show_connection(sql)
            return self._with_hung_up(sql, nodes.renew(sql, self.holding))

    def _show_connection(self, sql: Sql) -> None:
        nodes.show_connection(sql, self.holding)
        self._shown_by, self._connected_since = sql, time.monotonic()

    def _with_hung_up(self, sql: Sql, found: tuple[Node, ...]) -> tuple[Node, ...]:
        """Mark the late nodes that have hung up. The query costs more than a row each, so it is made only if it can matter."""
        late = {node.id for node in found if node.left_ms > 0 and node.is_late and node.id != self.holding.node}
        if not late or time.monotonic() - self._connected_since < CONNECTED_S:
            return found
        gone = late - nodes.connected(sql)
        return tuple(replace(node, hung_up=True) if node.id in gone else node for node in found)

    def leave(self) -> None:
        """Let others take over this node's races at once. Nothing more is written."""
        with self._writing() as sql:
            nodes.leave(sql, self.holding)

    def take_over(self, dead: int, takers: float, leave: Collection[str] = (), hung_up: bool = False) -> TakenOver | None:
        """Take a share of the rooms of a node whose lease is over. None if it holds the lease after all. Raises LeaseLost.

        takers: the share is one part in so many. leave: rooms not to take. hung_up: `renew` has found that the node's process has ended.
        """
        with self.maintaining() as sql:
            nodes.check_own(sql, self.holding)
            if not nodes.seize(sql, dead, hung_up=hung_up):
                return None
            self._in_doubt = taken = take_rooms(sql, dead=dead, node=self.holding.node, takers=takers, leave=leave)
        self._in_doubt = None
        return taken

    def taken_after_all(self) -> TakenOver | None:
        """What the last `take_over` took, if its answer was lost but it was committed."""
        taken = self._in_doubt
        if taken is not None and not self._has(taken):
            taken = None
        self._in_doubt = None
        return taken

    def _has(self, taken: TakenOver) -> bool:
        running = taken.running
        races = [*(each.opened.race for each in running.races), *(each.race for each in running.damaged), *taken.standing]
        with self._writing() as sql:
            # FOR SHARE waits for a commit that is still under way. All of it has moved, or nothing: one row tells.
            table, taken_ids = ("races", races) if races else ("tournaments", list(taken.tournaments))
            ours = f"SELECT 1 AS found FROM {table} WHERE id = :id AND node = :node FOR SHARE"  # noqa: S608
            return bool(taken_ids) and sql.row(ours, {"id": taken_ids[0], "node": self.holding.node}) is not None

    def find_rooms(self, codes: Collection[str]) -> dict[str, Node]:
        """The node of each room with one of these codes; codes without a room are left out."""
        with self._reading() as sql:
            return nodes.find_rooms(sql, codes)

    def place(self) -> str:
        """An id that all nodes of this place share, and no others: not even those of a place that began as a copy of its database."""
        with self._reading() as sql:
            row = sql.row(
                "SELECT pg_database.oid AS database, CAST(CAST('nodes' AS regclass) AS oid) AS nodes, (SELECT max(id) FROM place) AS place"
                " FROM pg_database WHERE datname = current_database()"
            )
        assert row is not None
        return "-".join(str(part) for part in (row.database, row.nodes, row.place) if part)


def open_shared(where: str | None) -> SharedStore:
    """The store of a node at a PostgreSQL URL. Raises StoreError."""
    location: Location = locate(where)
    if location.path is not None:
        raise StoreUnavailable("the servers of one place share a PostgreSQL: name it with --database postgresql://…")
    return SharedStore(location)
