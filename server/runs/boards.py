"""What the runs of a deal have come to, and who may see it: whoever has had his run, and everybody once the deal is revealed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from protocol.fairness import commitment
from protocol.record import Record
from protocol.server_messages import Runs
from protocol.views import RunKind, RunRow, SharedKind
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.runs import days
from server.runs.results import Day, Result, Streak, result_of, rows, streak
from server.store.errors import StoreCorrupt
from server.store.journal import Journal
from server.store.port import Run, SharedDealMade, Store

SHOWN: Final = 100
"""Lines of a board, the best; one's own comes beside them."""

RESULTS_KEPT: Final = 20_000
"""Results that are not read out of their records again: several hundred bytes each."""

READ_AT_ONCE: Final = 50
"""Records that are read in one go: a thread is held for a tenth of a second by them."""

DAYS_KEPT: Final = 6_000
"""Some hundred days of each rule set, which do not change any more."""
DAYS_COUNTED: Final = 366
"""Days in a row are counted no further back."""


class Boards:
    """Reads the store for whoever asks, and remembers what does not change any more."""

    def __init__(self, *, store: Store, journal: Journal, clock: Clock) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._results: OrderedDict[str, Result] = OrderedDict()
        self._days: OrderedDict[tuple[str, str], Day] = OrderedDict()

    async def runs(self, kind: SharedKind, deal: str, rules: str) -> tuple[Run, ...]:
        """All that count, under one rule set: also those that are under way, or were aborted when they had begun. Raises StoreError."""
        found = await self._journal.ask(self._store.runs, kind, deal)
        return tuple(run for run in found if run.rules == rules and (run.phase != "aborted" or run.seats))

    async def board(self, made: SharedDealMade, rules: str, player: str, *, ref: int = 0) -> Runs:
        """The board as this player may see it; "" for somebody who has no run. Raises StoreError."""
        kind: RunKind = "daily" if made.kind == "daily" else "challenge"
        runs = await self.runs(kind, made.id, rules)
        over = [run for run in runs if run.phase == "over"]
        revealed = not made.is_sealed(self._clock.now_ms())
        shown = revealed or has_run(runs, player)
        lines: tuple[RunRow, ...] = ()
        if shown:
            results = await self.results(over)
            streaks = await self._streaks(made.id, rules, results) if kind == "daily" else {}
            lines = rows(results, lambda runner: streaks.get(runner, Streak()))
        assert made.reveals_at_ms is not None
        return Runs(
            kind=kind,
            id=made.id,
            rules=rules,
            runs=len(over),
            shown=shown,
            rows=lines[:SHOWN],
            own=next((row for row in lines if row.player == player), None),
            commitment=commitment(made.secret).hex(),
            reveals_at_ms=made.reveals_at_ms,
            secret=made.secret.hex() if revealed else None,
            ref=ref,
        )

    async def results(self, runs: Iterable[Run]) -> list[Result]:
        """Of runs that are over, in their order. Raises StoreError."""
        races = [run.race for run in runs]
        found = {race: self._results[race] for race in races if race in self._results}
        missing = [race for race in races if race not in found]
        for at in range(0, len(missing), READ_AT_ONCE):
            for result in await self._journal.ask(_results, self._store, missing[at : at + READ_AT_ONCE]):
                found[result.race] = result
                self._keep(result)
        return [found[race] for race in races]

    def note(self, room: Room, record: Record) -> None:
        """A race on a shared deal is over: its result need not be read out of its record."""
        if room.spec is not None and room.spec.deal.kind != "round":
            self._keep(result_of(record))

    def _keep(self, result: Result) -> None:
        self._results[result.race] = result
        if len(self._results) > RESULTS_KEPT:
            self._results.popitem(last=False)

    async def _streaks(self, day: str, rules: str, results: list[Result]) -> dict[str, Streak]:
        """Of everybody who ran that day, up to it."""
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
        over = [run for run in await self.runs("daily", day, rules) if run.phase == "over"]
        # A win is in the store beside the record, which need not be read for it.
        ran = frozenset(run.occasion.invited[0] for run in over)
        won = frozenset(run.occasion.invited[0] for run in over if run.seats[0].state == "won")
        found = Day(ran, won)
        if self._clock.now_ms() >= days.reveals_at_ms(day):
            self._days[day, rules] = found
            if len(self._days) > DAYS_KEPT:
                self._days.popitem(last=False)
        return found


def has_run(runs: Iterable[Run], player: str) -> bool:
    """Whether this player has had his run, and is not in the middle of it."""
    return any(run.phase != "running" and player in run.occasion.invited for run in runs)


def _results(store: Store, races: list[str]) -> list[Result]:
    found: list[Result] = []
    for race in races:
        record = store.record(race)
        if record is None:
            raise StoreCorrupt(f"race {race} is over and has no record")
        found.append(result_of(record))
    return found
