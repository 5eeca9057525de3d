"""Deals of the day, made and committed to in advance. There is one secret a day, from which each rule set gets a shuffle of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable

import trio

from protocol.fairness import SECRET_BYTES, commitment, daily_nonce
from protocol.run_messages import Dailies as DailiesMessage
from protocol.run_messages import DailyDeal
from protocol.views import RaceOptions, SharedDeal
from server.rooms.clock import Clock
from server.runs import days
from server.store.errors import EntryRefused, JournalClosed, StoreError
from server.store.journal import Journal
from server.store.port import SharedDealMade
from server.store.store import Store

logger = logging.getLogger("carpet.runs")

TOLD_BEFORE = 60
"""How many past days have their secrets told along with the commitments to come."""

AGAIN_S = 60.0
"""Seconds until another try if the journal does not take a deal."""

READY_MARGIN_MS = RaceOptions().countdown_s * 1000
"""Players have to be ready this long before a day's end, so that they are dealt to within the day."""

KEPT_MS = 1000
"""How long an answer about the days is reused, however many ask."""

REMEMBERED = 500
"""How many days' deals are cached."""


class DailyDeals:
    """`run` is its only task. entropy(n): n random bytes fit for secrets."""

    def __init__(self, *, journal: Journal, clock: Clock, entropy: Callable[[int], bytes]) -> None:
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._entropy = entropy
        self._made: dict[str, SharedDealMade] = {}
        self._told: tuple[int, tuple[DailyDeal, ...]] = 0, ()

    async def run(self) -> None:
        """Commit to the deals of today and the days ahead: at once, and then each day, until the server stops."""
        while True:
            now = self._clock.wall_ms()
            try:
                await self.prepare()
            except JournalClosed:
                # The next server makes them.
                return
            except StoreError as error:
                logger.error("the deals of the next days cannot be saved: %s", error)
                await trio.sleep(AGAIN_S)
            else:
                await trio.sleep_until(self._clock.wall_deadline(days.ends_at_ms(days.date_of(now))))

    async def prepare(self) -> None:
        """Make those that are missing. Raises StoreError."""
        for day in days.committed(self._clock.wall_ms()):
            if await self.deal(day) is None:
                await self._make(day)

    async def _make(self, day: str) -> None:
        made = SharedDealMade(
            kind="daily",
            id=day,
            secret=self._entropy(SECRET_BYTES),
            at_ms=self._clock.wall_ms(),
            reveals_at_ms=days.reveals_at_ms(day),
        )
        try:
            await self._journal.write(made)
        except EntryRefused:
            # Another task was quicker; the stored deal is the one that counts.
            return
        self._keep(made)

    async def deal(self, day: str) -> SharedDealMade | None:
        """The stored deal of a day. Raises StoreError."""
        known = self._made.get(day)
        if known is None:
            known = await self._journal.ask(self._store.shared_deal, "daily", day)
            if known is not None:
                self._keep(known)
        return known

    def _keep(self, made: SharedDealMade) -> None:
        if len(self._made) >= REMEMBERED:
            del self._made[min(self._made)]
        self._made[made.id] = made

    async def told(self, *, ref: int = 0) -> DailiesMessage:
        """All that anybody may know about them. Raises StoreError."""
        now = self._clock.wall_ms()
        told_at_ms, told = self._told
        if not 0 <= now - told_at_ms < KEPT_MS:
            await self.prepare()
            kept = await self._journal.ask(_newest, self._store)
            now = self._clock.wall_ms()
            told = tuple(_told(made, now) for made in kept)
            self._told = now, told
        return DailiesMessage(now_ms=now, days=told, ref=ref)


def shared_deal(made: SharedDealMade, rules: str) -> SharedDeal:
    """A day's deal under one rule set."""
    return SharedDeal(kind="daily", id=made.id, nonces=(daily_nonce(made.id, rules).hex(),))


def daily_options(rules: str) -> RaceOptions:
    """The options of its runs."""
    return RaceOptions(rules=rules, seats=1, public=False, rated=False, time_limit_s=days.LIMIT_S)


def _newest(store: Store) -> tuple[SharedDealMade, ...]:
    # Sorted by date, because one may have been made later than its neighbours.
    return tuple(sorted(store.shared_deals("daily", limit=TOLD_BEFORE + days.AHEAD + 1), key=lambda made: made.id, reverse=True))


def _told(made: SharedDealMade, now_ms: int) -> DailyDeal:
    assert made.reveals_at_ms is not None
    return DailyDeal(
        date=made.id,
        commitment=commitment(made.secret).hex(),
        made_at_ms=made.at_ms,
        reveals_at_ms=made.reveals_at_ms,
        secret=None if made.is_sealed(now_ms) else made.secret.hex(),
    )
