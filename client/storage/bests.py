"""A player's best at each rule set, alone or against others: what counts, what is better, and the file that holds it.

The file is `bests.json` in the user's data folder, replaced atomically and validated when read. Must not know of screens or servers; the
caller decides which races are the player's own practice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct, field

from client.connection.errors import Failure
from client.storage.evidence import KEPT as SEEN_KEPT
from client.storage.files import DocumentFile, Versioned
from client.storage.saved_records import KEPT as RECORDS_KEPT
from protocol.record import Record

Count = Annotated[int, Meta(ge=0, lt=2**31)]
Milliseconds = Annotated[int, Meta(ge=0, lt=2**53)]
RulesId = Annotated[str, Meta(min_length=1, max_length=32, pattern="^[a-z0-9-]+$")]

REMEMBERED: Final = RECORDS_KEPT + SEEN_KEPT
"""Digests of the races counted last. So no race is counted twice whose record is kept, as all are, or comes late."""


class Best(Struct, frozen=True, kw_only=True):
    """At one rule set. best_ms: the shortest time for bringing every card home; None before the first win. most_home: cards home."""

    tries: Count = 0
    wins: Count = 0
    best_ms: Milliseconds | None = None
    most_home: Count = 0


class Bests(Versioned, frozen=True, kw_only=True):
    """The whole content of the file. rules: by the id of the rule set. counted: the digests of the races counted last, newest last."""

    rules: dict[RulesId, Best] = field(default_factory=dict)
    counted: tuple[str, ...] = ()


class BestChange(NamedTuple):
    """A player's best before and after a race. The same twice if the race was counted before."""

    before: Best
    after: Best


class BestsError(Failure):
    """The file cannot be read or written. str() names it and says what to do, in one sentence."""


def counts(record: Record, seat: int | None) -> bool:
    """Whether a race counts as a try for a seat: they made a move, and nobody could know the shuffle, as of a deal by name."""
    if seat is None or not 0 <= seat < len(record.seats) or record.deal.name is not None:
        return False
    return record.seats[seat].bot is None and record.seats[seat].plies > 0


def after_race(best: Best, record: Record, number: int) -> Best:
    """The best after one more race from the seat of this number."""
    seat = record.seats[number]
    won = seat.state == "won"
    times = [ms for ms in (best.best_ms, seat.ended_at_ms if won else None) if ms is not None]
    return Best(tries=best.tries + 1, wins=best.wins + won, best_ms=min(times, default=None), most_home=max(best.most_home, seat.home))


class BestsStore(DocumentFile[Bests]):
    """The file. Adding holds the folder's lock from reading to writing, so that two terminals at once lose no race."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder / "bests.json", Bests(), failure=BestsError, what="your best times", anew="afresh", held="this race is not in it"
        )

    def add(self, record: Record, seat: int) -> BestChange:
        """Add a race that `counts` for this seat, unless another window has added it. Raises BestsError, and then nothing has changed."""
        with self.locked():
            bests = self.read()
            before = bests.rules.get(record.rules, Best())
            if record.digest in bests.counted:
                return BestChange(before, before)
            after = after_race(before, record, seat)
            counted = (*bests.counted, record.digest)[-REMEMBERED:]
            self.write(Bests(rules={**bests.rules, record.rules: after}, counted=counted))
        return BestChange(before, after)
