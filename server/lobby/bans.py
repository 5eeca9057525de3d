"""Bans by the host: of players by their id, and of addresses by the part that counts as one. They are also in the store.

If several servers form one place, each looks there twice a second, so that a ban holds at all of them within a second.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import trio

from protocol.errors import ErrorCode, Refusal
from server.rooms.clock import Clock
from server.store.errors import EntryRefused, StoreError
from server.store.journal import Journal
from server.store.port import BanKind, Banned, Unbanned

logger = logging.getLogger("carpet.lobby")

BANS_LOOK_S: Final = 0.5
"""Seconds between two looks at bans made or lifted at other servers."""


class Bans:
    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._banned: dict[tuple[BanKind, str], Banned] = {}
        # Bans being stored or lifted here, which the store does not show yet.
        self._changing: Counter[tuple[BanKind, str]] = Counter()
        # Bans stored or lifted here since the store was last asked; its answer may be from before.
        self._changed: set[tuple[BanKind, str]] = set()

    def come_back(self, banned: Iterable[Banned]) -> None:
        """Take over the bans from before this server started."""
        self._banned = {(each.kind, each.subject): each for each in banned}

    async def follow(self, put_out: Callable[[BanKind, str, str], object]) -> None:
        """Apply bans made at other servers of the place, until cancelled. put_out: called with kind, subject and reason of each new
        ban.
        """
        store, mark = self._journal.store, (-1, -1)
        while True:
            try:
                last, mark = mark, await self._journal.ask(store.bans_mark)
                if mark != last:
                    self._changed.clear()
                    self._hear(await self._journal.ask(store.bans), put_out)
                    if self._changed or self._changing:
                        # The store's answer about these was left out, so ask again.
                        mark = (-1, -1)
            except StoreError as error:
                mark = (-1, -1)
                logger.debug("the bans of other servers cannot be read: %s", error)
            await trio.sleep(BANS_LOOK_S)

    def _hear(self, banned: Iterable[Banned], put_out: Callable[[BanKind, str, str], object]) -> None:
        before, own = self._banned, self._changed.union(self._changing)
        kept = {key: each for each in banned if (key := (each.kind, each.subject)) not in own}
        self._banned = {**{key: before[key] for key in own if key in before}, **kept}
        for each in kept.values():
            if (each.kind, each.subject) not in before:
                put_out(each.kind, each.subject, each.reason)

    def listed(self, kind: BanKind) -> list[Banned]:
        """Bans of this kind, newest first."""
        return sorted((each for each in self._banned.values() if each.kind == kind), key=lambda each: -each.at_ms)

    async def ban(self, kind: BanKind, subject: str, reason: str) -> None:
        """The ban holds at once; this returns when it is stored. If it raises StoreError, the ban no longer holds.

        If the caller is cancelled, the ban still holds, and is stored as soon as anything can be written.
        """
        banned = Banned(kind=kind, subject=subject, reason=reason, at_ms=self._clock.wall_ms())
        before = self._banned.get((kind, subject))
        self._banned[kind, subject] = banned
        try:
            await self._write(kind, subject, banned)
        except StoreError:
            self._restore(kind, subject, before)
            raise

    async def lift(self, kind: BanKind, subject: str) -> None:
        """Lift a ban, in the same way. Raises LookupError if there is nothing to lift, and StoreError."""
        before = self._banned.pop((kind, subject), None)
        if before is None:
            raise LookupError(subject)
        try:
            await self._write(kind, subject, Unbanned(kind=kind, subject=subject))
        except EntryRefused:
            # Another server of the place has lifted it already.
            pass
        except StoreError:
            self._restore(kind, subject, before)
            raise

    async def _write(self, kind: BanKind, subject: str, entry: Banned | Unbanned) -> None:
        self._changing[kind, subject] += 1
        try:
            await self._journal.write(entry)
        finally:
            self._changed.add((kind, subject))
            self._changing[kind, subject] -= 1
            self._changing = +self._changing

    def _restore(self, kind: BanKind, subject: str, before: Banned | None) -> None:
        self._banned.pop((kind, subject), None)
        if before is not None:
            self._banned[kind, subject] = before

    def reason(self, player: str) -> str | None:
        """Why this player is banned; None if they are not."""
        banned = self._banned.get(("player", player))
        return banned.reason if banned is not None else None

    def check(self, kind: BanKind, subject: str | None) -> None:
        """Raises Refusal `hello/banned`, with the reason. subject: None for somebody who has no address."""
        banned = self._banned.get((kind, subject)) if subject is not None else None
        if banned is not None:
            raise Refusal(ErrorCode.BANNED, banned.reason)
