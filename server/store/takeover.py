"""How races go from one node to another: with their commands, from log to log, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Final

from server.store.answers import Running
from server.store.documents import encode_commands
from server.store.nodes import SETTLED, numbers_of, settle
from server.store.running import LoggedRaces
from server.store.sql import Sql

COPIED_AT_ONCE: Final = 5_000
"""Commands in one row of the new log."""

NOBODY: Final = b""
"""The writer of copies. They may get the number of a batch of which it is not known whether it was written: it must not seem so by them."""

SHARE: Final = 5
"""Rooms that one node takes at once, at least: to divide fewer is not worth the time."""

_HELD: Final = (
    "SELECT * FROM races WHERE node = :node AND (phase = 'running' OR phase = 'over' AND id IN (SELECT race FROM seats WHERE here))"
    " ORDER BY opened_at_ms, id"
)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """running: races to go on with. standing: the ids of those that are over and whose rooms are still there. left: rooms not taken.

    tournaments: the ids of those that are to be led. newer: rooms that wait for a newer version of this program.
    """

    running: Running
    standing: frozenset[str]
    left: int = 0
    tournaments: frozenset[str] = frozenset()
    newer: frozenset[str] = frozenset()


def take_rooms(sql: Sql, *, dead: int, node: int, takers: float, leave: Collection[str] = ()) -> TakenOver:
    """Make a share of the dead node's rooms this node's. Within a transaction in which nobody writes as either of them.

    takers: the share is one part of so many. leave: rooms that this version of the program cannot read, as far as they are known.
    """
    everything = sql.rows(_HELD, {"node": dead})
    held = [row for row in everything if row.room not in leave]
    rooms = dict.fromkeys(row.room for row in held)
    taken = set(list(rooms)[: max(SHARE, ceil(len(rooms) / takers))])
    logged = LoggedRaces(sql, [row for row in held if row.room in taken and row.phase == "running"], node=dead)
    # A server of a newer version was here: what this one cannot read is no damage, and another one can.
    newer = logged.leave_out_newer()
    rows = [row for row in held if row.room in taken - newer]
    _copy(sql, logged, node=node)
    if rows:
        sql.run("UPDATE races SET node = :node WHERE id = :id", [{"id": row.id, "node": node} for row in rows])
    # Whoever is the first takes all tournaments. Where their tables are does not matter.
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
    """Make all races of all nodes those of a server alone: nobody else writes, now or later."""
    nodes = sql.rows("SELECT id FROM nodes WHERE id > 0 AND lease_until_ms <> :settled", {"settled": SETTLED})
    if not nodes:
        return
    with sql.transaction():
        for row in nodes:
            take_rooms(sql, dead=row.id, node=0, takers=1)
        # Their rows stay: a node that comes back, from wherever it was, must find that its epoch is over.
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
