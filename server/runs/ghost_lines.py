"""The lines of earlier runs, read out of their records."""

from __future__ import annotations

from server.race.ghosts import GhostLine, ghost_line
from server.store.journal import Journal
from server.store.port import Store


class RecordedGhosts:
    """Satisfies `server.rooms.ports.GhostLines`."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    async def __call__(self, races: tuple[str, ...]) -> tuple[GhostLine, ...]:
        return await self._journal.ask(_lines, self._store, races)


def _lines(store: Store, races: tuple[str, ...]) -> tuple[GhostLine, ...]:
    records = [store.record(race) for race in races]
    return tuple(ghost_line(record) for record in records if record is not None)
