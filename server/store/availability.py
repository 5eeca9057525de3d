"""What a journal knows about its store: whether it can be written, if not since when and why, and what has been committed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.store.errors import EntryRefused
from server.store.port import Request

logger = logging.getLogger("carpet.store")


@dataclass(slots=True)
class CommitStatistics:
    """Since the start. failed_commits: failed tries. largest: most requests in one batch. commit_s: spent in commits, max_commit_s in the
    slowest. refused: requests that contradict what is stored; a name that is taken or a run already had is an answer, not a fault.
    """

    batches: int = 0
    requests: int = 0
    entries: int = 0
    refused: int = 0
    failed_commits: int = 0
    outages: int = 0
    largest: int = 0
    commit_s: float = 0.0
    max_commit_s: float = 0.0

    def count(self, requests: Sequence[Request], outcomes: Sequence[EntryRefused | None], seconds: float) -> None:
        """Count one commit. seconds: how long it took."""
        self.batches += 1
        self.requests += len(requests)
        self.entries += sum(map(len, requests))
        if outcomes.count(None) < len(outcomes):
            self.refused += sum(type(outcome) is EntryRefused for outcome in outcomes)
        self.largest = max(self.largest, len(requests))
        self.commit_s += seconds
        self.max_commit_s = max(self.max_commit_s, seconds)


@dataclass(frozen=True, slots=True)
class Outage:
    """since: Trio's time when writing began to fail. why: one sentence."""

    since: float
    why: str


class Availability:
    def __init__(self) -> None:
        self.statistics = CommitStatistics()
        self.outage: Outage | None = None
        self.outage_listeners: list[Callable[[Outage | None], None]] = []

    @property
    def available(self) -> bool:
        """Whether the store can be written, as far as is known. `outage_listeners` are told of changes; None is the end of an outage."""
        return self.outage is None

    def _note_failure(self, why: str, since: float) -> None:
        """since: when the failed attempt began."""
        if self.outage is not None:
            if self.outage.why != why:
                logger.error("the store still cannot be written: %s", why)
                self.outage = Outage(self.outage.since, why)
            return
        self.outage = Outage(since, why)
        self.statistics.outages += 1
        logger.error("the store cannot be written; moves are held until it can: %s", why)
        self._tell()

    def _note_success(self, now: float) -> None:
        if self.outage is None:
            return
        logger.warning("the store can be written again, after %.1f seconds", now - self.outage.since)
        self.outage = None
        self._tell()

    def _tell(self) -> None:
        for listener in self.outage_listeners:
            listener(self.outage)
