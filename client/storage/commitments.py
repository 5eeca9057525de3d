"""The commitments to deals of the day that were shown here, so that a revealed secret can be checked against what was promised.

Owns one file, `commitments.json` in the user's folder. The commitment shown first counts: it is never replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from client.connection.errors import Failure
from client.storage.files import DocumentFile, Versioned
from protocol.run_messages import DailyDeal

KEPT: Final = 400
"""How many of the last days are kept per server."""


class CommitmentsError(Failure):
    """The file cannot be read or written. str() names it, in one sentence."""


class Seen(Struct, frozen=True, kw_only=True):
    """commitment: as first shown. seen_at_ms: when, by the server's clock."""

    commitment: str
    seen_at_ms: int


class CommitmentsFile(Versioned, frozen=True, kw_only=True):
    """The whole content of the file: days by server and date."""

    servers: dict[str, dict[str, Seen]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DayCheck:
    """One day. outcome: "true" if the secret is the one committed to; "changed" if the server now names another commitment than before;
    "missing" if it names none any more.

    seen: what was first shown here; None if nothing was before the reveal.
    """

    date: str
    outcome: Literal["true", "false", "changed", "missing", "sealed", "unseen"]
    seen: Seen | None


class CommitmentStore(DocumentFile[CommitmentsFile]):
    """The file. Each call reads it again, and two commands at once do not undo each other's changes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder / "commitments.json",
            CommitmentsFile(),
            failure=CommitmentsError,
            what="the commitments you were shown",
            anew="afresh",
            held="try again when it has ended",
        )

    def keep(self, url: str, days: Sequence[DailyDeal], now_ms: int) -> None:
        """Remember the server's commitments to deals that are not yet revealed. Raises CommitmentsError."""
        fresh = {day.date: Seen(commitment=day.commitment, seen_at_ms=now_ms) for day in days if day.secret is None}

        def kept(document: CommitmentsFile) -> CommitmentsFile:
            days_kept = dict(sorted((fresh | document.servers.get(url, {})).items())[-KEPT:])
            return CommitmentsFile(servers={**document.servers, url: days_kept}) if days_kept else document

        self.change(kept)

    def copy(self, url: str, new: str) -> None:
        """What was shown at `url` counts at `new` too, which is another address of the same server. Raises CommitmentsError."""

        def copied(document: CommitmentsFile) -> CommitmentsFile:
            pairs = [*document.servers.get(url, {}).items(), *document.servers.get(new, {}).items()]
            # The latest first: of two for one day the earlier stays.
            days = dict(sorted(pairs, key=lambda pair: -pair[1].seen_at_ms))
            return CommitmentsFile(servers={**document.servers, new: dict(sorted(days.items())[-KEPT:])}) if days else document

        self.change(copied)

    def seen_of(self, date: str) -> dict[str, Seen]:
        """What was shown of one day, by server. Raises CommitmentsError."""
        return {url: days[date] for url, days in self.read().servers.items() if date in days}

    def seen(self, url: str) -> dict[str, Seen]:
        """What was shown of a server's days, by date. Raises CommitmentsError."""
        return self.read().servers.get(url, {})


def check_days(days: Sequence[DailyDeal], seen: Mapping[str, Seen]) -> list[DayCheck]:
    """Compare the days as the server describes them now with what was shown before, newest first. A server tells the days of some weeks;
    what was shown of one between them is missing if it is not told."""
    checked = [check_day(day, seen.get(day.date)) for day in days]
    told = {day.date for day in days}
    checked += [DayCheck(date, "missing", seen[date]) for date in seen if told and date not in told and min(told) <= date <= max(told)]
    return sorted(checked, key=lambda each: each.date, reverse=True)


def check_day(day: DailyDeal, seen: Seen | None) -> DayCheck:
    """Compare a day as the server describes it now with what was shown before."""
    if seen is not None and seen.commitment != day.commitment:
        return DayCheck(day.date, "changed", seen)
    if day.secret is None:
        return DayCheck(day.date, "sealed", seen)
    if sha256(bytes.fromhex(day.secret)).hexdigest() != day.commitment:
        return DayCheck(day.date, "false", seen)
    return DayCheck(day.date, "true" if seen is not None else "unseen", seen)
