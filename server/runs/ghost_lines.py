"""The lines of earlier runs, read out of their records."""

from __future__ import annotations

from server.race.ghosts import GhostLine, ghost_line
from server.rooms.ports import GhostWanted
from server.store.journal import Journal
from server.store.port import Store


class RecordedGhosts:
    """Satisfies `server.rooms.ports.GhostLines`."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    async def __call__(self, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
        return await self._journal.ask(_lines, self._store, wanted)


def _lines(store: Store, wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
    found = [(store.record(ghost.race), ghost) for ghost in wanted]
    return tuple(ghost_line(record, seat=ghost.seat, from_ply=ghost.from_ply) for record, ghost in found if record is not None)
