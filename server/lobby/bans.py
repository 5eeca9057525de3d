"""Whom the host keeps out: players by their id, and addresses by what of them counts as one. The store has them too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from protocol.errors import ErrorCode, Refusal
from server.rooms.clock import Clock
from server.store.errors import EntryRefused, StoreError
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
        """Holds at once; returns when it is kept. Raises StoreError, and then it does not hold any more.

        A caller that is cancelled does not learn whether it is kept; it holds, and is as soon as anything can be written.
        """
        banned = Banned(kind=kind, subject=subject, reason=reason, at_ms=self._clock.wall_ms())
        before = self._banned.get((kind, subject))
        self._banned[kind, subject] = banned
        try:
            await self._journal.write(banned)
        except StoreError:
            self._restore(kind, subject, before)
            raise

    async def lift(self, kind: BanKind, subject: str) -> None:
        """The same the other way round. Raises LookupError where there is nothing to lift, and StoreError."""
        before = self._banned.pop((kind, subject), None)
        if before is None:
            raise LookupError(subject)
        try:
            await self._journal.write(Unbanned(kind=kind, subject=subject))
        except EntryRefused:
            # Another server of the place has lifted it already.
            pass
        except StoreError:
            self._restore(kind, subject, before)
            raise

    def _restore(self, kind: BanKind, subject: str, before: Banned | None) -> None:
        self._banned.pop((kind, subject), None)
        if before is not None:
            self._banned[kind, subject] = before

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
