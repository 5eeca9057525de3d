"""Rebuilds the races of an earlier server from the store: the same commands at the same times give the same race."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from server.match.series import Series
from server.race.commands import GetReady, LeaveSeat, RegainConnection
from server.race.machine import Race
from server.race.shuffles import SeriesPlace
from server.store.answers import RunningRace
from server.store.port import RaceOpened, room_shown


@dataclass(frozen=True, slots=True)
class RunningRoom:
    """What a room resumes. earlier: the race before, if its record is sealed until the running one is over."""

    running: RunningRace
    earlier: RunningRace | None = None


def by_room(races: Iterable[RunningRace]) -> tuple[RunningRoom, ...]:
    """The running races, each with the one that is sealed until it is over, in the order of their opening."""
    last: dict[str, RunningRoom] = {}
    rooms: list[RunningRoom] = []
    for race in races:
        series = race.opened.series
        before = last.get(series.id) if series is not None and series.options.format == "swap" else None
        if before is not None:
            rooms.remove(before)
        room = RunningRoom(race, before.running if before is not None else None)
        last[race.opened.race] = room
        rooms.append(room)
    return tuple(rooms)


def as_opened(opened: RaceOpened) -> Race:
    """The race before its first command. Raises UnknownRules."""
    return Race(
        race_id=opened.race,
        room=opened.room,
        number=opened.number,
        options=opened.options,
        secret=opened.secret,
        software=opened.software,
        place=place_in(opened.series) if opened.series is not None else None,
        shown_room=room_shown(opened.race),
        shared=opened.spec.deal if opened.spec is not None else None,
        shown_shared=opened.spec.shown if opened.spec is not None else None,
        held=opened.spec is not None and opened.spec.held,
        start_position=opened.start_position,
    )


def replay(running: RunningRace) -> Race:
    """The race as it was after its last command. Raises Refusal, LookupError or ValueError if the race cannot have accepted them."""
    race = as_opened(running.opened)
    for taken in running.commands:
        race.advance(taken.at_ms)
        race.apply(taken.command, taken.at_ms)
    return race


def seats_deserted(running: RunningRace) -> frozenset[int]:
    """Seats whose players have left since they last got ready or came back: from the countdown on, those who are not coming back."""
    left: set[int] = set()
    for taken in running.commands:
        match taken.command:
            case LeaveSeat(seat=seat):
                left.add(seat)
            case GetReady(seat=seat) | RegainConnection(seat=seat):
                left.discard(seat)
    return frozenset(left)


def place_in(series: Series) -> SeriesPlace:
    """The place of the next race in it."""
    return SeriesPlace(id=series.id, number=series.number, nonces=tuple(bytes.fromhex(nonce) for nonce in series.nonces))
