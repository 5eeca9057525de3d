"""The deals of the days: made and committed to ahead of their days, one secret a day, from which each rule set has a shuffle of its own."""

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
"""Days gone by whose secrets are told with the commitments to come."""

AGAIN_S = 60.0
"""Seconds until the journal is tried again, when it would not take a deal."""

READY_MARGIN_MS = RaceOptions().countdown_s * 1000
"""Before a day's end one has to be ready, to be dealt to within the day."""

KEPT_MS = 1000
"""How long what is told of the days is told again, however many ask."""

REMEMBERED = 500
"""Days whose deals are read once."""


class DailyDeals:
    """`run` is its one task. entropy(n): n random bytes fit for secrets."""

    def __init__(self, *, store: Store, journal: Journal, clock: Clock, entropy: Callable[[int], bytes]) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._entropy = entropy
        self._made: dict[str, SharedDealMade] = {}
        self._told: tuple[int, tuple[DailyDeal, ...]] = 0, ()

    async def run(self) -> None:
        """Have the deals of today and of the days ahead committed to, until the server stops: at once, and then with each day."""
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
        """Have what is missing of them made. Raises StoreError."""
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
            # Another task was quicker: what is kept is what counts.
            return
        self._keep(made)

    async def deal(self, day: str) -> SharedDealMade | None:
        """The deal of a day, as kept. Raises StoreError."""
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
        """All that is told of them, to anybody. Raises StoreError."""
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
    """Of a run of it."""
    return RaceOptions(rules=rules, seats=1, public=False, rated=False, time_limit_s=days.LIMIT_S)


def _newest(store: Store) -> tuple[SharedDealMade, ...]:
    # By their dates: one that was made late may be older than its neighbours.
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
