"""A race of an earlier server, made again from what the store has of it: the same commands at the same times give the same race."""

from __future__ import annotations

from server.race.machine import Race
from server.store.port import RunningRace


def replay(running: RunningRace) -> Race:
    """The race as it was after its last command. Raises Refusal, LookupError or ValueError where the commands cannot have been taken."""
    opened = running.opened
    race = Race(room=opened.room, number=opened.number, options=opened.options, secret=opened.secret, software=opened.software)
    for taken in running.commands:
        race.advance(taken.at_ms)
        race.apply(taken.command, taken.at_ms)
    return race
