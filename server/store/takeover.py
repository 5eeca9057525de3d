"""Moves races from one node to another: with their commands, from log to log, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Final

from server.store.answers import Running
from server.store.documents import encode_commands
from server.store.nodes import LEFT, numbers_of, settle
from server.store.running import LoggedRaces
from server.store.sql import Sql

COPIED_AT_ONCE: Final = 5_000
"""Commands in one row of the new log."""

NOBODY: Final = b""
"""The writer of copied batches. A copy may get the number of a batch that may or may not have been written; it must not be mistaken for
that one."""

SHARE: Final = 5
"""A node takes at least so many rooms at once: fewer are not worth dividing."""

_HELD: Final = (
    "SELECT * FROM races WHERE node = :node AND (phase = 'running' OR phase = 'over' AND id IN (SELECT race FROM seats WHERE here))"
    " ORDER BY opened_at_ms, id"
)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """running: the races to resume. standing: ids of finished races whose rooms are still there. left: how many rooms were not taken.

    tournaments: ids of those to lead from now on. newer: rooms that wait for a newer version of this program.
    """

    running: Running
    standing: frozenset[str]
    left: int = 0
    tournaments: frozenset[str] = frozenset()
    newer: frozenset[str] = frozenset()


def take_rooms(sql: Sql, *, dead: int, node: int, takers: float, leave: Collection[str] = ()) -> TakenOver:
    """Give a share of the dead node's rooms to this node. Call it in a transaction during which neither node can write.

    takers: the share is one part in so many. leave: rooms already known to need a newer version of the program.
    """
    everything = sql.rows(_HELD, {"node": dead})
    held = [row for row in everything if row.room not in leave]
    rooms = dict.fromkeys(row.room for row in held)
    taken = set(list(rooms)[: max(SHARE, ceil(len(rooms) / takers))])
    logged = LoggedRaces(sql, [row for row in held if row.room in taken and row.phase == "running"], node=dead)
    # A server of a newer version wrote them: they are not damaged, and another server can read them.
    newer = logged.leave_out_newer()
    rows = [row for row in held if row.room in taken - newer]
    _copy(sql, logged, node=node)
    if rows:
        sql.run("UPDATE races SET node = :node WHERE id = :id", [{"id": row.id, "node": node} for row in rows])
    # The first node to come takes all tournaments; it does not matter where their tables are.
    led = sql.rows("SELECT id FROM tournaments WHERE node = :dead AND closed_at_ms IS NULL", {"dead": dead})
    if led:
        sql.run("UPDATE tournaments SET node = :node WHERE id = :id", [{"id": row.id, "node": node} for row in led])
    if len(rooms) == len(taken) and not newer and len(held) == len(everything):
        settle(sql, dead)
        if not logged.lost:
            after, until = numbers_of(dead)
            sql.run("DELETE FROM batches WHERE number > :after AND number <= :until", [{"after": after, "until": until}])
    return TakenOver(
        running=logged.read(),
        standing=frozenset(row.id for row in rows if row.phase != "running"),
        left=len(rooms) - len(taken),
        tournaments=frozenset(row.id for row in led),
        newer=frozenset(newer),
    )


def adopt(sql: Sql) -> None:
    """Give all races of all nodes to a single server. From now on nobody else writes."""
    nodes = sql.rows("SELECT id FROM nodes WHERE id > 0 AND lease_until_ms >= :left", {"left": LEFT})
    if not nodes:
        return
    with sql.transaction():
        for row in nodes:
            take_rooms(sql, dead=row.id, node=0, takers=1)
        # A node that comes back finds its epoch over.
        sql.run("UPDATE nodes SET epoch = epoch + 1")


def _copy(sql: Sql, logged: LoggedRaces, *, node: int) -> None:
    after, until = numbers_of(node)
    number = sql.rows(
        "SELECT coalesce(max(number), :after) AS last FROM batches WHERE number > :after AND number <= :until",
        {"after": after, "until": until},
    )[0].last
    commands = list(chain.from_iterable(logged.commands.values()))
    for first in range(0, len(commands), COPIED_AT_ONCE):
        number += 1
        sql.run(
            "INSERT INTO batches (number, writer, commands) VALUES (:number, :writer, :commands)",
            [{"number": number, "writer": NOBODY, "commands": encode_commands(commands[first : first + COPIED_AT_ONCE])}],
        )
