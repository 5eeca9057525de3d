"""How close a race is, for whoever chooses one to watch."""

from __future__ import annotations

from typing import TypeAlias

from server.race.machine import Race

Closeness: TypeAlias = tuple[bool, int, int]
"""Sorts the closest race first."""


def closeness(race: Race) -> Closeness | None:
    """Races between people come first; then the least difference of cards home between the first two; then the most cards home.

    A forfeited seat is in no race any more; the last one left is alone, and so is who races by himself: nothing is less close. None for a
    race that is not being run.
    """
    if race.phase != "racing":
        return None
    people = 0
    first = second = -1
    for seat in race.seats:
        if seat.state == "forfeited" or seat.position is None:
            continue
        people += seat.bot is None
        home = seat.position.home
        if home > first:
            first, second = home, first
        elif home > second:
            second = home
    return (people < 2, first - second if second >= 0 else first + 1, -first)
