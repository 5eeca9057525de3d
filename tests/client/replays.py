"""Races played on the real state machine, and their replays: any rule set, any number of seats, the same each time."""

from __future__ import annotations

import random
from functools import lru_cache

from client.game.moves import goes_home
from client.replay.timeline import TimeLine, time_line
from protocol.record import Record
from protocol.views import RaceOptions
from server.race.commands import PlayMove, StopSeat
from server.race.replay import frames
from tests.server.race.racing import Driven, started

ALIKE = 9
"""The number of first moves for which all seats draw the same random numbers."""


@lru_cache(maxsize=64)
def driven(rules: str = "carpet", seats: int = 2, *, moves: int = 2000) -> Driven:
    """A race in which every seat sends home what it can and otherwise moves at random, until it ends, or stops after `moves` moves."""
    race = started(RaceOptions(rules=rules, seats=seats, deal="garden"))
    lots, alike = random.Random(f"{rules} {seats}"), [random.Random(rules) for _ in range(seats)]
    due = [1000 + 300 * seat for seat in range(seats)]
    while racing := [seat for seat in range(seats) if race.seat(seat).state == "racing"]:
        seat = min(racing, key=lambda number: due[number])
        race.advance(due[seat])
        if race.phase() != "racing" or race.seat(seat).state != "racing":
            continue
        ply = race.seat(seat).ply
        if ply >= moves:
            race.do(StopSeat(seat), due[seat])
            continue
        legal = race.position(seat).legal_moves()
        lot = alike[seat] if ply < ALIKE else lots
        race.do(PlayMove(seat, ply, lot.choice([move for move in legal if goes_home(move)] or legal)), due[seat])
        due[seat] += lots.randint(300, 2600)
    race.finish()
    return race


def record(rules: str = "carpet", seats: int = 2, *, moves: int = 2000) -> Record:
    return driven(rules, seats, moves=moves).record


@lru_cache(maxsize=64)
def line(rules: str = "carpet", seats: int = 2, *, moves: int = 2000) -> TimeLine:
    return time_line(frames(record(rules, seats, moves=moves)))
