"""The calendar of the deals of the day: UTC days, by their dates. Pure.

A day's deal is run from its midnight to the next. Players who are ready in the day's last moments may race on into the next day, so the
secret is revealed REVEAL_MS after the day's end. A run still under way then, because the store could not be written or no server was
running for a while, is stopped (see `RunCloser`), because from then on anybody may know the cards.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

LIMIT_S: Final = 600
"""The time limit of every run of a deal of the day."""

REVEAL_MS: Final = 15 * 60 * 1000
"""More than the time limit of a run and the countdown before it."""

AHEAD: Final = 7
"""How many days' deals are committed to in advance."""

DAY_MS: Final = 24 * 3600 * 1000


def date_of(now_ms: int) -> str:
    """The date of a moment in Unix time, such as 2026-11-21."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def begins_at_ms(day: str) -> int:
    """The midnight at which a day begins. Raises ValueError if it is not a date."""
    return round(datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp() * 1000)


def ends_at_ms(day: str) -> int:
    """The midnight at which it ends. Raises ValueError."""
    return begins_at_ms(day) + DAY_MS


def reveals_at_ms(day: str) -> int:
    """When its secret becomes public. Raises ValueError."""
    return ends_at_ms(day) + REVEAL_MS


def before(day: str, days: int = 1) -> str:
    """The date so many days earlier. Raises ValueError, OverflowError."""
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def committed(now_ms: int) -> tuple[str, ...]:
    """Today, and the days ahead whose deals have to exist."""
    today = date_of(now_ms)
    return tuple(before(today, -ahead) for ahead in range(AHEAD + 1))


def is_date(text: str) -> bool:
    """Whether it is a date in the only form used here."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
