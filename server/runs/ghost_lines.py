"""Reads the lines of earlier runs from their records."""

from __future__ import annotations

from collections.abc import Mapping

from protocol.record import Record
from server.race.ghosts import GhostLine, ghost_line
from server.rooms.ports import GhostWanted
from server.store.journal import Journal


class RecordedGhosts:
    """Implements `server.rooms.ports.GhostLines`. records: by race id, records in addition to the store's."""

    def __init__(self, journal: Journal, records: Mapping[str, Record] | None = None) -> None:
        self._store = journal.store
        self._journal = journal
        self._records = records or {}

    async def __call__(self, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
        return await self._journal.ask(self._lines, wanted)

    def _lines(self, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
        found = [(self._records.get(ghost.race) or self._store.record(ghost.race), ghost) for ghost in wanted]
        return tuple(ghost_line(record, seat=ghost.seat, from_ply=ghost.from_ply) for record, ghost in found if record is not None)
