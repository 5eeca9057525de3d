"""Removes what nobody will miss: rooms that were opened and left, players who only said hello, challenges that nobody took up.

A race that had begun stays, with its record and its players. So does a room as long as the log has its commands, which would be of no race
without it; and every player who is named anywhere: in a tournament, a shared deal, a running race. `find` looks for candidates, which may
take long and changes nothing. `remove` deletes them, a few rows at a time, if they may still go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from server.store.compaction import batches
from server.store.documents import BadDocument, decode_commands
from server.store.sql import Sql

AT_ONCE: Final = 200
"""Rows in one transaction: few enough that no move waits."""

_WORD: Final = re.compile(rb"[\w-]+")

_RULES: Final = {
    "races": (
        "phase = 'aborted' AND ended_at_ms < :before AND NOT EXISTS (SELECT 1 FROM seats WHERE seats.race = races.id)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.race = races.id)"
    ),
    "shared_deals": (
        "kind = 'challenge' AND made_at_ms < :before AND NOT EXISTS (SELECT 1 FROM races WHERE races.deal = shared_deals.key)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.deal = shared_deals.key)"
    ),
    "players": (
        "seen_at_ms < :before AND mu IS NULL AND NOT EXISTS (SELECT 1 FROM seats WHERE seats.player = players.id)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.player = players.id)"
        " AND NOT EXISTS (SELECT 1 FROM shared_deals WHERE shared_deals.owner = players.id)"
        " AND NOT EXISTS (SELECT 1 FROM tournaments WHERE tournaments.director = players.id)"
        " AND NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.author = players.id)"
        " AND NOT EXISTS (SELECT 1 FROM bans WHERE bans.kind = 'player' AND bans.subject = players.id)"
    ),
}
_KEYS: Final = {"races": "id", "shared_deals": "key", "players": "id"}


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows were removed."""

    races: int = 0
    shared_deals: int = 0
    players: int = 0


def find(sql: Sql, before_ms: int) -> list[tuple[str, list[str]]]:
    """Tables, each with keys of rows that may be removed, in the order in which to remove them."""
    found: list[tuple[str, list[str]]] = []
    for table, rule in _RULES.items():
        rows = sql.rows(f"SELECT {_KEYS[table]} AS key FROM {table} WHERE {rule}", {"before": before_ms})  # noqa: S608
        keys = [row.key for row in rows]
        if table != "shared_deals" and keys:
            named = set(_named(sql)) if table == "players" else {race for batch in batches(sql) for race in _raced(batch.commands)}
            keys = [key for key in keys if key.encode() not in named]
        found += [(table, keys[first : first + AT_ONCE]) for first in range(0, len(keys), AT_ONCE)]
    return found


def remove(sql: Sql, table: str, keys: list[str], before_ms: int) -> int:
    """Remove those of the rows that may still go, and give their number. Call it in a transaction."""
    statement = f"DELETE FROM {table} WHERE {_KEYS[table]} = :key AND {_RULES[table]}"  # noqa: S608
    return sum(sql.run(statement, [{"key": key, "before": before_ms}]) for key in keys)


def _raced(commands: bytes) -> Iterator[bytes]:
    try:
        yield from (race for race, *_ in decode_commands(commands))
    except BadDocument:
        # `db check` says so.
        return


def _named(sql: Sql) -> Iterator[bytes]:
    """All words of the documents that may name players."""
    for statement in (
        "SELECT document AS text FROM tournaments",
        "SELECT decision AS text FROM decisions",
        "SELECT options AS text FROM races WHERE phase = 'running' OR deal IS NOT NULL",
    ):
        for row in sql.rows(statement):
            yield from _WORD.findall(row.text.encode(errors="replace"))
    for batch in batches(sql):
        yield from _WORD.findall(batch.commands)
