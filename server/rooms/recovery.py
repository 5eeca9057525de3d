"""Rebuilds a room of an earlier server from the store: its race, how its series stands, and who was there.

A running race is rebuilt from its commands. A race that is over is rebuilt from its record, if its room was still open, for looking at the
result or asking for a rematch. Knows nothing of connections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from protocol.views import SeatRating
from server.race.commands import TakeSeat
from server.race.machine import Race
from server.rooms.bots import house_id
from server.rooms.race_log import RaceLog
from server.rooms.series_state import SeriesState
from server.store.answers import StandingRace
from server.store.port import RaceOpened
from server.store.replay import RunningRoom, as_opened, replay, seats_deserted

LeftRoom: TypeAlias = RunningRoom | StandingRace


@dataclass(frozen=True, slots=True)
class EarlierRoom:
    """What is left of a room. take_up: has the room's log continue that of the race. last_at_ms: when something last happened.

    sat_here: everybody who ever took a seat. people: those who have a claim to the room, by seat. ratings: how the race, if it is over,
    changed theirs.
    """

    opened: RaceOpened
    race: Race
    series: SeriesState
    take_up: Callable[[RaceLog], None]
    last_at_ms: int
    sat_here: frozenset[str]
    people: dict[int, str]
    ratings: tuple[SeatRating, ...] = ()


def earlier_room(left: LeftRoom, *, is_elsewhere: Callable[[str], bool]) -> EarlierRoom:
    """Rebuild a room. is_elsewhere: whether this player holds a seat in another room.

    Raises Refusal, LookupError, ValueError or IllegalMove if what the store has cannot have happened.
    """
    return _running(left) if isinstance(left, RunningRoom) else _standing(left, is_elsewhere)


def _running(left: RunningRoom) -> EarlierRoom:
    running = left.running
    commands = running.commands
    race = replay(running)
    deserted = seats_deserted(running)
    series = SeriesState(race.options, left)
    sat_here = frozenset(taken.command.player for taken in commands if isinstance(taken.command, TakeSeat))
    if any(seat.player is None for seat in race.seats) or len(sat_here) > len(race.seats):
        # A seat has changed hands, or is about to.
        series.won = ()
    return EarlierRoom(
        opened=running.opened,
        race=race,
        series=series,
        take_up=lambda log: log.resume(running),
        last_at_ms=commands[-1].at_ms if commands else running.opened.at_ms,
        sat_here=sat_here,
        # Resigning is not leaving: players who have resigned or are done may watch to the end. Leaving a waiting race frees the seat.
        people={
            seat.number: seat.player
            for seat in race.seats
            if seat.player is not None and seat.bot is None and (race.phase == "waiting" or seat.number not in deserted)
        },
    )


def _standing(left: StandingRace, is_elsewhere: Callable[[str], bool]) -> EarlierRoom:
    # Leaving one room and entering another are kept separately, by two rooms: a server may die in between.
    people = {seat: player for seat, player in enumerate(left.players) if seat in left.here and player and not is_elsewhere(player)}
    race = as_opened(left.opened)
    race.conclude(left.record, [house_id(number) if seat.bot else people.get(number) for number, seat in enumerate(left.record.seats)])
    return EarlierRoom(
        opened=left.opened,
        race=race,
        series=SeriesState.after(left),
        take_up=lambda log: log.stand(race.id, here=frozenset(people), gone=left.here - people.keys()),
        last_at_ms=left.ended_at_ms,
        sat_here=frozenset(player for player in left.players if player is not None),
        people=people,
        ratings=tuple(change.shown for change in left.changes),
    )
