"""Boards: the results of a deal's runs. Players see one after their own run, and everybody sees it once the deal is revealed.

However many ask for it, a board is read and placed at most once in KEPT_MS, or after a run on it ends; a long one in a thread.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from protocol.fairness import commitment
from protocol.record import Record
from protocol.run_messages import RunRow, Runs
from protocol.views import RunKind, SharedKind
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.runs import days
from server.runs.results import Day, RunResult, Streak, result_of, rows, streak
from server.store.answers import Run
from server.store.errors import StoreCorrupt
from server.store.journal import Journal
from server.store.port import SharedDealMade
from server.store.store import Store

SHOWN: Final = 100
"""How many of the best lines a board shows; the asker's own line comes in addition."""

KEPT_MS: Final = 1000
BOARDS_KEPT: Final = 200
"""How many boards are kept for that time, each with all its lines. When full, the oldest goes."""

SHORT: Final = 100
"""Up to so many runs are placed right here, in less than a millisecond."""

RESULTS_KEPT: Final = 20_000
"""Cached results of several hundred bytes each, which need not be read from their records again."""

READ_AT_ONCE: Final = 50
"""Records read in one go; they take a thread a tenth of a second."""

DAYS_KEPT: Final = 6_000
"""Cached days, a few hundred for each rule set, which do not change any more."""
DAYS_COUNTED: Final = 366
"""Days in a row are counted back no further than this."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The whole board of a deal under one rule set. ran: players who have had their run. over: how many runs have ended."""

    read_at_ms: int
    over: int
    ran: frozenset[str]
    lines: tuple[RunRow, ...]


class Boards:
    """Reads boards from the store, and caches what no longer changes."""

    def __init__(self, *, journal: Journal, clock: Clock) -> None:
        self._store = journal.store
        self._journal = journal
        self._clock = clock
        self._results: OrderedDict[str, RunResult] = OrderedDict()
        self._days: OrderedDict[tuple[str, str], Day] = OrderedDict()
        self._placed: OrderedDict[tuple[str, str], Placed] = OrderedDict()
        self._overs = 0

    async def runs(self, kind: SharedKind, deal: str, rules: str) -> tuple[Run, ...]:
        """All runs that count, under one rule set, including those under way or aborted after they had begun. Raises StoreError."""
        return await self._journal.ask(partial(self._store.runs, kind, deal, rules=rules))

    async def run_of(self, player: str, kind: SharedKind, deal: str, rules: str) -> Run | None:
        """That of the runs which is this player's. Raises StoreError."""
        return next(iter(await self._journal.ask(partial(self._store.runs, kind, deal, rules=rules, player=player))), None)

    async def board(self, made: SharedDealMade, rules: str, player: str, *, ref: int = 0) -> Runs:
        """The board as this player may see it. player: "" for somebody without a run. Raises StoreError."""
        kind: RunKind = "daily" if made.kind == "daily" else "challenge"
        placed = await self._board(kind, made, rules)
        revealed = not made.is_sealed(self._clock.wall_ms())
        shown = revealed or player in placed.ran
        lines = placed.lines if shown else ()
        assert made.reveals_at_ms is not None
        return Runs(
            kind=kind,
            id=made.id,
            rules=rules,
            runs=placed.over,
            shown=shown,
            rows=lines[:SHOWN],
            own=next((row for row in lines if row.player == player), None),
            commitment=commitment(made.secret).hex(),
            reveals_at_ms=made.reveals_at_ms,
            secret=made.secret.hex() if revealed else None,
            ref=ref,
        )

    async def _board(self, kind: RunKind, made: SharedDealMade, rules: str) -> Placed:
        now, key = self._clock.wall_ms(), (made.key, rules)
        kept = self._placed.get(key)
        if kept is not None and 0 <= now - kept.read_at_ms < KEPT_MS:
            return kept
        overs = self._overs
        runs = await self.runs(kind, made.id, rules)
        results = await self.results(run for run in runs if run.phase == "over")
        streaks = await self._streaks(made.id, rules, results) if kind == "daily" else {}
        lines = rows(results, streaks) if len(results) <= SHORT else await trio.to_thread.run_sync(rows, results, streaks)
        placed = Placed(now, len(results), who_ran(runs), lines)
        # If a run has ended meanwhile, the board is out of date and not kept.
        if overs == self._overs:
            self._placed[key] = placed
            self._placed.move_to_end(key)
            if len(self._placed) > BOARDS_KEPT:
                self._placed.popitem(last=False)
        return placed

    async def results(self, runs: Iterable[Run]) -> list[RunResult]:
        """The results of finished runs, in the same order. Raises StoreError."""
        races = [run.race for run in runs]
        found = {race: self._results[race] for race in races if race in self._results}
        missing = [race for race in races if race not in found]
        for at in range(0, len(missing), READ_AT_ONCE):
            for result in await self._journal.ask(_results, self._store, missing[at : at + READ_AT_ONCE]):
                found[result.race] = result
                self._keep(result)
        return [found[race] for race in races]

    def note(self, room: Room, record: Record) -> None:
        """A race on a shared deal is over: keep its result, so that it need not be read from the record."""
        if room.spec is not None and room.spec.deal.kind != "round":
            self._keep(result_of(record))
            self._placed.clear()
            self._overs += 1

    def _keep(self, result: RunResult) -> None:
        self._results[result.race] = result
        if len(self._results) > RESULTS_KEPT:
            self._results.popitem(last=False)

    async def _streaks(self, day: str, rules: str, results: list[RunResult]) -> dict[str, Streak]:
        """The streaks, up to that day, of everybody who ran on it."""
        last = Day({result.player for result in results}, {result.player for result in results if result.state == "won"})
        counted, left = [last], set(last.ran)
        while left and len(counted) < DAYS_COUNTED:
            earlier = await self._day(days.before(day, len(counted)), rules)
            counted.append(earlier)
            left &= set(earlier.ran)
        return {player: streak(player, counted) for player in last.ran}

    async def _day(self, day: str, rules: str) -> Day:
        known = self._days.get((day, rules))
        if known is not None:
            return known
        runs = await self.runs("daily", day, rules)
        over = [run for run in runs if run.phase == "over"]
        # A win is in the store beside the record, which need not be read for it.
        ran = frozenset(run.spec.invited[0] for run in over)
        won = frozenset(run.spec.invited[0] for run in over if run.seats[0].state == "won")
        found = Day(ran, won)
        # A run that an outage keeps from its end at the reveal is over when the store can be written again.
        if self._clock.wall_ms() >= days.reveals_at_ms(day) and all(run.phase != "running" for run in runs):
            self._days[day, rules] = found
            if len(self._days) > DAYS_KEPT:
                self._days.popitem(last=False)
        return found


def who_ran(runs: Iterable[Run]) -> frozenset[str]:
    """All who have had their run and are not in the middle of it."""
    return frozenset(player for run in runs if run.phase != "running" for player in run.spec.invited)


def _results(store: Store, races: list[str]) -> list[RunResult]:
    found: list[RunResult] = []
    for race in races:
        record = store.record(race)
        if record is None:
            raise StoreCorrupt(f"race {race} is over and has no record")
        found.append(result_of(record))
    return found
