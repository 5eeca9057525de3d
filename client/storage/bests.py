"""One's own best at each rule set, alone or against others: what counts, what is better, and the file in which it is kept.

The file is `bests.json` in the user's data folder, replaced in one piece. What is in it is checked when it is read. Must not know of
screens or servers; which races are one's own practice is decided by who calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from client.connection.errors import Failure
from client.storage.files import DocumentFile, Versioned
from protocol.record import Record

Count = Annotated[int, Meta(ge=0, lt=2**31)]
Milliseconds = Annotated[int, Meta(ge=0, lt=2**53)]
RulesId = Annotated[str, Meta(min_length=1, max_length=32, pattern="^[a-z0-9-]+$")]


class Best(Struct, frozen=True, kw_only=True):
    """At one rule set. best_ms: the least time in which every card was brought home, None before the first win. most_home: cards home."""

    tries: Count = 0
    wins: Count = 0
    best_ms: Milliseconds | None = None
    most_home: Count = 0


class Bests(Versioned, frozen=True, kw_only=True):
    """All that is in the file: by the id of a rule set."""

    rules: dict[RulesId, Best] = field(default_factory=dict)


class BestChange(NamedTuple):
    """One's best before a race and after it."""

    before: Best
    after: Best


class BestsError(Failure):
    """The file cannot be read or written. Names it and says what to do, in one sentence."""


def counts(record: Record, seat: int | None) -> bool:
    """Whether a race is a try for a seat: on a shuffle that nobody could know. A deal by name can be played again and again."""
    return seat is not None and 0 <= seat < len(record.seats) and record.seats[seat].bot is None and record.deal.name is None


def after_race(best: Best, record: Record, number: int) -> Best:
    """One's best when that race was one more try from the seat of this number."""
    seat = record.seats[number]
    won = seat.state == "won"
    times = [ms for ms in (best.best_ms, seat.ended_at_ms if won else None) if ms is not None]
    return Best(tries=best.tries + 1, wins=best.wins + won, best_ms=min(times, default=None), most_home=max(best.most_home, seat.home))


class BestsStore:
    """The file. Whoever adds to it holds the lock of its folder from reading to writing: of two terminals at once both races count."""

    def __init__(self, folder: Path) -> None:
        self._file = DocumentFile(
            folder / "bests.json", Bests(), failure=BestsError, what="your best times", anew="afresh", held="this race is not in it"
        )
        self.path = self._file.path

    def read(self) -> Bests:
        """All that is kept. Raises BestsError."""
        return self._file.read()

    def add(self, record: Record, seat: int) -> BestChange:
        """Count a race that `counts` for this seat in. Raises BestsError; nothing has changed then."""
        with self._file.locked():
            bests = self.read()
            before = bests.rules.get(record.rules, Best())
            after = after_race(before, record, seat)
            self._file.write(Bests(rules={**bests.rules, record.rules: after}))
        return BestChange(before, after)
