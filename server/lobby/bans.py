"""Whom the host keeps out: players by their id, and addresses by what of them counts as one. The store has them too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from protocol.errors import ErrorCode, Refusal
from server.rooms.clock import Clock
from server.store.port import BanKind, Banned, Entry, Unbanned


class BanJournal(Protocol):
    """The part of `server.store.journal.Journal` that bans need."""

    async def write(self, *entries: Entry) -> None: ...


class Bans:
    def __init__(self, *, journal: BanJournal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._banned: dict[tuple[BanKind, str], Banned] = {}

    def come_back(self, banned: Iterable[Banned]) -> None:
        """These were banned before the server began."""
        self._banned = {(each.kind, each.subject): each for each in banned}

    def listed(self, kind: BanKind) -> list[Banned]:
        """The last first."""
        return sorted((each for each in self._banned.values() if each.kind == kind), key=lambda each: -each.at_ms)

    async def ban(self, kind: BanKind, subject: str, reason: str) -> None:
        """Returns when it is kept. Raises StoreError."""
        banned = Banned(kind=kind, subject=subject, reason=reason, at_ms=self._clock.wall_ms())
        await self._journal.write(banned)
        self._banned[kind, subject] = banned

    async def lift(self, kind: BanKind, subject: str) -> None:
        """Raises LookupError where there is nothing to lift, and StoreError."""
        if (kind, subject) not in self._banned:
            raise LookupError(subject)
        await self._journal.write(Unbanned(kind=kind, subject=subject))
        self._banned.pop((kind, subject), None)

    def check_player(self, player: str) -> None:
        """Raises Refusal `hello/banned`, with the reason."""
        self._check("player", player)

    def check_place(self, place: str | None) -> None:
        """The same for an address. place: what of it counts as one; None for one that counts for none."""
        if place is not None:
            self._check("address", place)

    def _check(self, kind: BanKind, subject: str) -> None:
        banned = self._banned.get((kind, subject))
        if banned is not None:
            raise Refusal(ErrorCode.BANNED, banned.reason)
