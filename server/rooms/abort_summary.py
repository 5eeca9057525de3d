"""What is kept of a race that ends without a record: who sat where and, if it had begun, how far they had come.

It is only for the players' histories. Nothing is judged, so there are no places.
"""

from __future__ import annotations

from contextlib import suppress

from protocol.errors import Refusal
from server.race.machine import Race
from server.rules.catalogue import UnknownRules
from server.store.answers import RunningRace
from server.store.port import PlayedSeat
from server.store.replay import as_opened

ABORTED_BECAUSE = {
    "closed": "its room was closed",
    "idle": "nobody was there any more",
    "called-off": "it was called off",
    "failed": "the server could not go on with it",
}
"""What a history says of a race without a result, keyed by the reason its players were given."""

ENDED_BY_HOST = "the host of the server ended it"


def seats_left(race: Race) -> tuple[PlayedSeat, ...]:
    """The seats as they are; none if no countdown had begun, since a room that is still waiting is not a race."""
    if race.starts_at is None:
        return ()
    return tuple(
        PlayedSeat(
            player=seat.player if seat.bot is None else None,
            name=seat.name,
            bot=seat.bot,
            state=seat.state,
            place=None,
            home=seat.position.home if seat.position is not None else 0,
            ended_at_ms=None if seat.state in ("waiting", "racing") else seat.ended_at,
        )
        for seat in race.seats
    )


def seats_readable(running: RunningRace | None) -> tuple[PlayedSeat, ...]:
    """The same for a race that no server can resume, as far as its commands can be replayed."""
    if running is None:
        return ()
    try:
        race = as_opened(running.opened)
    except UnknownRules:
        return ()
    # Commands after the first one that fails make no sense; those before it did happen.
    with suppress(Refusal, LookupError, ValueError):
        for taken in running.commands:
            race.apply(taken.command, taken.at_ms)
    return seats_left(race)
