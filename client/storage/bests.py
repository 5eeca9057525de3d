"""One's own best at each rule set in races against the clock: what counts, what is better, and the file in which it is kept.

The file is `bests.json` in the user's data folder, replaced in one piece. What is in it is checked when it is read. Must not know of
screens or servers; which races are one's own practice is decided by who calls.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from client.connection.errors import Failure
from client.storage.files import LockHeld, replace_file, wait_for_lock
from protocol import HOME_VARIABLE
from protocol.record import Record

FORMAT = 1
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Milliseconds = Annotated[int, Meta(ge=0, lt=2**53)]
RulesId = Annotated[str, Meta(min_length=1, max_length=32, pattern="^[a-z0-9-]+$")]


class Best(Struct, frozen=True, kw_only=True):
    """At one rule set. best_ms: the least time in which every card was brought home, None before the first win. most_home: cards home."""

    tries: Count = 0
    wins: Count = 0
    best_ms: Milliseconds | None = None
    most_home: Count = 0


class Bests(Struct, frozen=True, kw_only=True):
    """All that is in the file: by the id of a rule set."""

    format: int = FORMAT
    rules: dict[RulesId, Best] = {}


class BestChange(NamedTuple):
    """One's best before a race and after it."""

    before: Best
    after: Best


class BestsError(Failure):
    """The file cannot be read or written. Names it and says what to do, in one sentence."""


def counts(record: Record) -> bool:
    """Whether a race is a try: of one seat, on a shuffle that nobody could know. A deal by name can be played again and again."""
    return len(record.seats) == 1 and record.seats[0].bot is None and record.deal.name is None


def after_race(best: Best, record: Record) -> Best:
    """One's best when that race was one more try."""
    (seat,) = record.seats
    won = seat.state == "won"
    times = [ms for ms in (best.best_ms, seat.ended_at_ms if won else None) if ms is not None]
    return Best(tries=best.tries + 1, wins=best.wins + won, best_ms=min(times, default=None), most_home=max(best.most_home, seat.home))


class BestsStore:
    """The file. Whoever adds to it holds the lock of its folder from reading to writing: of two terminals at once both races count."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bests.json"

    def read(self) -> Bests:
        """All that is kept. Raises BestsError."""
        try:
            bests = msgspec.json.decode(self.path.read_bytes(), type=Bests)
        except FileNotFoundError:
            return Bests()
        except OSError as error:
            raise BestsError(
                f"The file {self.path} with your best times cannot be read: {error.strerror}; {HOME_VARIABLE} names another folder."
            ) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BestsError(
                f"The file {self.path} with your best times is damaged ({error}): repair it, or delete it to begin anew."
            ) from error
        if bests.format > FORMAT:
            raise BestsError(f"The file {self.path} is of a newer carpet-race: bring this one up to it, or set {HOME_VARIABLE}.")
        return bests

    def add(self, record: Record) -> BestChange:
        """Count a race that `counts` in. Raises BestsError; nothing has changed then."""
        with self._locked():
            return self._add(record)

    def _add(self, record: Record) -> BestChange:
        bests = self.read()
        before = bests.rules.get(record.rules, Best())
        after = after_race(before, record)
        text = msgspec.json.format(msgspec.json.encode(Bests(rules={**bests.rules, record.rules: after})), indent=1) + b"\n"
        try:
            replace_file(self.path, text)
        except OSError as error:
            raise self._not_written(error) from error
        return BestChange(before, after)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._not_written(error) from error
        try:
            wait_for_lock(handle)
            yield
        except LockHeld as error:
            raise BestsError(
                f"The file {self.path} with your best times is being changed by another carpet command: this race is not in it."
            ) from error
        finally:
            os.close(handle)

    def _not_written(self, error: OSError) -> BestsError:
        return BestsError(
            f"The file {self.path} with your best times cannot be written: {error.strerror}; {HOME_VARIABLE} names another folder."
        )
