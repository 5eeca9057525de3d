"""The days of the deals of the day: in UTC, by their dates. Pure.

A day's deal is run from its midnight to the next. Whoever is ready in the day's last moments may race on into the next one, so the secret
is revealed REVEAL_MS after the day's end. A run that is under way even then, because the store could not be written or no server ran for
longer, is stopped (`closing`): by the wall clock anybody may know the cards.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

LIMIT_S: Final = 600
"""Of every run of a deal of the day."""

REVEAL_MS: Final = 15 * 60 * 1000
"""More than the limit of a run and the countdown before it."""

AHEAD: Final = 7
"""Days whose deals are committed to before they come."""

DAY_MS: Final = 24 * 3600 * 1000


def date_of(now_ms: int) -> str:
    """The date of a moment in Unix time, such as 2026-11-21."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def begins_at_ms(day: str) -> int:
    """The midnight with which a day begins. Raises ValueError for what is no date."""
    return round(datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp() * 1000)


def ends_at_ms(day: str) -> int:
    """The midnight with which it ends. Raises ValueError."""
    return begins_at_ms(day) + DAY_MS


def reveals_at_ms(day: str) -> int:
    """When its secret is anybody's to know. Raises ValueError."""
    return ends_at_ms(day) + REVEAL_MS


def before(day: str, days: int = 1) -> str:
    """The date so many days before. Raises ValueError, OverflowError."""
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def committed(now_ms: int) -> tuple[str, ...]:
    """Today and the days ahead whose deals have to be there."""
    today = date_of(now_ms)
    return tuple(before(today, -ahead) for ahead in range(AHEAD + 1))


def is_date(text: str) -> bool:
    """Whether it is a date in the one form that is used here."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
