"""How long a race waits for players who hold a seat and do not get ready.

The wait begins when all seats are taken and somebody is ready: only then is somebody kept waiting. In a private race, friends settle this
among themselves. Those whom a quick match has brought together wait for a short while only. In a series under way, private or not, the
wait is the series' grace, and a player who is late gives the series up.
"""

from __future__ import annotations

from server.race.machine import Race
from server.race.seat import Seat

READY_S = 120
"""Seconds for which players who are not ready keep their seats, once all seats are taken and somebody is ready."""

MATCH_READY_S = 20
"""The same before the first race of a quick match: both have just asked for it."""


class ReadyTimeout:
    """due: when the wait ends, in milliseconds; None while nobody is waited for. is_match: a quick match has opened the room."""

    __slots__ = ("_is_match", "due")

    def __init__(self, *, is_match: bool) -> None:
        self.due: int | None = None
        self._is_match = is_match

    def lost_by(self, race: Race, now: int) -> list[Seat]:
        """The seats whose players have kept the others waiting too long. To be called at every step of the race."""
        is_later = race.deal.place.number > 1
        if race.phase != "waiting" or not (race.options.public or is_later):
            self.due = None
            return []
        people = [seat for seat in race.seats if seat.player is not None and seat.bot is None]
        late = [seat for seat in people if seat.nonce is None]
        if not 0 < len(late) < len(people) or any(seat.player is None for seat in race.seats):
            self.due = None
        elif self.due is None:
            ready_s = MATCH_READY_S if self._is_match and race.number == 1 else READY_S
            self.due = now + (race.options.series.grace_s if is_later else ready_s) * 1000
        elif self.due <= now:
            self.due = None
            return late
        return []
