"""What comes of it when nobody does anything: who does not come forfeits, and a forgotten tournament ends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from server.tournaments.events import Event, Paused, ResultEntered, Withdrawn
from server.tournaments.state import TournamentState

UNUSED_S: Final = 2 * 3600
"""A tournament that only its director and house bots have entered is called off after so many seconds."""

IDLE_DAYS: Final = 30
"""Any other tournament is called off after so many days in which nothing has happened, if nothing will happen by itself. A championship may
have one round a week."""

AFTER_START_S: Final = 12 * 3600
"""Of these times a server that has just begun grants a quarter anew, but no more than this; however often it begins, an end comes."""

MISSED_RUNNING: Final = 2
"""An entrant who misses their table in so many rounds in a row is withdrawn."""

NOBODY_OF: Final = 4
"""If so many or more are called to a round and not one of them comes, something keeps them away: the tournament pauses."""


class Expiry(NamedTuple):
    """When a tournament is called off unless somebody does something, and the reason given then."""

    at_ms: int
    reason: str


def expiry(state: TournamentState, *, since_ms: int) -> Expiry | None:
    """None if it need not be called off. since_ms: when the server that leads it began to; before that there may have been none."""
    if state.is_closed or state.phase in ("check-in", "running"):
        return None
    if state.phase == "registration" and all(person.bot is not None or person.id == state.director for person in state.people.values()):
        return Expiry(_after(state.made_at_ms, UNUSED_S, since_ms), "nobody has used it")
    return Expiry(_after(state.log[-1].at_ms, IDLE_DAYS * 24 * 3600, since_ms), f"nothing has happened in it for {IDLE_DAYS} days")


def _after(at_ms: int, seconds: int, since_ms: int) -> int:
    return max(at_ms + 1000 * seconds, since_ms + 1000 * min(seconds // 4, AFTER_START_S))


def missing(state: TournamentState, no_shows: Iterable[ResultEntered]) -> tuple[Event, ...]:
    """What happens as these entrants have not come: the forfeits, and the withdrawals of those who have now missed their table in too many
    rounds in a row; or a pause in place of all of that, if nobody at all has come to the round.
    """
    events = tuple(no_shows)
    if _nobody_came(state, events):
        return (Paused(f"nobody has come to round {state.round}"),)
    after = state.after_all(events, at_ms=state.since_ms)
    # In a knock-out the forfeit itself puts them out.
    gone = () if state.crosstable.format.knock_out else [each for each in after.missed if after.missed_running(each) >= MISSED_RUNNING]
    return (*events, *(Withdrawn(entrant, f"missed {MISSED_RUNNING} rounds running") for entrant in gone))


def _nobody_came(state: TournamentState, no_shows: Sequence[ResultEntered]) -> bool:
    """Whether the round has begun for nobody and begins for nobody now, bots left aside."""
    crosstable = state.crosstable
    tables = {race.pairing.table: race.pairing.entrants for race in crosstable.open_races}
    called = {entrant for entrants in tables.values() for entrant in entrants if state.people[entrant].bot is None}
    sides = (zip(tables.get(event.table, ()), event.result.points, strict=False) for event in no_shows)
    came = {entrant for both in sides for entrant, points in both if points}
    decided = (pairing for pairing in crosstable.rounds[-1].pairings if pairing.counted and pairing.table not in tables)
    # A table that somebody has left was decided without anybody's coming.
    is_begun = state.has_raced or any(all(map(crosstable.plays, pairing.entrants)) for pairing in decided)
    return not is_begun and {event.table for event in no_shows} == tables.keys() and len(called) >= NOBODY_OF and not called & came
