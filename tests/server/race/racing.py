"""Shared by the tests of the race: two deals whose outcome is known, a race driven by short calls, and deep looks into its state.

Times are milliseconds from the start, so they are negative before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from protocol.errors import ErrorCode, Refusal
from protocol.fairness import named_seed
from protocol.record import Record
from protocol.views import Phase, RaceOptions, SharedDeal
from server.race.commands import Command, GetReady, MeasureConnection, PlayMove, StopSeat, TakeSeat
from server.race.events import RaceEvent
from server.race.machine import Race
from server.race.seat import Seat
from server.race.shuffles import SeriesPlace
from server.rules.catalogue import rule_set
from server.rules.position import Position

SECRET = bytes(range(32))
START = 1_700_000_000_000
WINNABLE = "143"
"""A named deal that `greedy` wins in 48 moves, each bringing a card home."""
STALLING = "24"
"""A named deal that `greedy` stalls on after 32 moves."""


def greedy(position: Position) -> str:
    """A card home if one can go, else a gap filled from the waste, else a card turned."""
    moves = position.legal_moves()
    home = [move for move in moves if ":" not in move and move not in ("s", "r")]
    from_waste = [move for move in moves if move.startswith("w:")]
    return (home or from_waste or moves)[0]


@cache
def greedy_line(deal: str) -> tuple[str, ...]:
    """All moves of `greedy` on a named deal of `carpet`."""
    position = rule_set("carpet").deal(named_seed(deal))
    moves: list[str] = []
    while not position.is_over:
        moves.append(greedy(position))
        position = position.play(moves[-1])
    return tuple(moves)


def options(seats: int = 2, **changes: Any) -> RaceOptions:
    return RaceOptions(**{"seats": seats, "deal": WINNABLE, **changes})


def new_race(chosen: RaceOptions, place: SeriesPlace | None = None, shared: SharedDeal | None = None) -> Race:
    return Race(
        race_id="ABCDEF-1-00",
        room="ABCDEF",
        number=1,
        options=chosen,
        secret=SECRET,
        software="carpet-server 0",
        place=place,
        shared=shared,
    )


def nonce(seat: int) -> bytes:
    return bytes([seat + 1]) * 16


class Driven:
    """A race, and everything that happened in it."""

    def __init__(self, chosen: RaceOptions | None = None, place: SeriesPlace | None = None, shared: SharedDeal | None = None) -> None:
        self.race = new_race(chosen or options(), place, shared)
        self.events: list[RaceEvent] = []
        self.log: list[tuple[Command, int]] = []

    def seat(self, number: int) -> Seat:
        return self.race.seats[number]

    def position(self, number: int) -> Position:
        position = self.race.seats[number].position
        assert position is not None
        return position

    def phase(self) -> Phase:
        return self.race.phase

    @property
    def record(self) -> Record:
        assert self.race.record is not None
        return self.race.record

    def states(self) -> list[str]:
        return [seat.state for seat in self.race.seats]

    def advance(self, at: int) -> tuple[RaceEvent, ...]:
        events = self.race.advance(START + at)
        self.events.extend(events)
        return events

    def do(self, command: Command, at: int) -> tuple[RaceEvent, ...]:
        """The events that the command itself caused, without those that were due before it."""
        self.advance(at)
        events = self.race.apply(command, START + at)
        self.events.extend(events)
        self.log.append((command, START + at))
        return events

    def refused(self, command: Command, at: int) -> Refusal:
        """The refusal of the command, after checking that it changed nothing."""
        self.advance(at)
        before = state_of(self.race)
        with pytest.raises(Refusal) as caught:
            self.race.apply(command, START + at)
        assert state_of(self.race) == before
        return caught.value

    def code(self, command: Command, at: int) -> ErrorCode:
        return self.refused(command, at).code

    def play(self, seat: int, moves: Iterable[str], at: int) -> tuple[RaceEvent, ...]:
        """Play the seat's next moves, all at one moment. Returns the events of the last one."""
        events: tuple[RaceEvent, ...] = ()
        for move in moves:
            events = self.do(PlayMove(seat, self.seat(seat).ply, move), at)
        return events

    def finish(self) -> Record:
        """Let time pass until the race is over."""
        self.advance(self.race.options.time_limit_s * 1000 + 167)
        return self.record


def seated(
    chosen: RaceOptions | None = None,
    *,
    round_trips: Sequence[int] = (),
    place: SeriesPlace | None = None,
    shared: SharedDeal | None = None,
) -> Driven:
    """A race with a player on every seat, 10 s before its start."""
    driven = Driven(chosen, place, shared)
    for seat in range(driven.race.options.seats):
        driven.do(TakeSeat(f"player-{seat}", f"Player {seat}"), -10_000)
    for seat, round_trip_ms in enumerate(round_trips):
        driven.do(MeasureConnection(seat, round_trip_ms), -10_000)
    return driven


def counting_down(chosen: RaceOptions | None = None, **how: Any) -> Driven:
    """The same race with everybody ready, so that the start is at 0."""
    driven = seated(chosen, **how)
    for seat in range(driven.race.options.seats):
        driven.do(GetReady(seat, nonce(seat)), -driven.race.options.countdown_s * 1000)
    return driven


def started(chosen: RaceOptions | None = None, **how: Any) -> Driven:
    """The same race at its start."""
    driven = counting_down(chosen, **how)
    driven.advance(0)
    return driven


def won() -> Driven:
    """A race on a named deal that seat 0 wins, which stops seat 1."""
    driven = started(round_trips=(0, 40))
    for ply, move in enumerate(greedy_line(WINNABLE)):
        driven.do(PlayMove(0, ply, move), 100 * (ply + 1))
        if ply < 12:
            driven.do(PlayMove(1, ply, move), 100 * (ply + 1) + 50)
    return driven


def played_and_stopped(driven: Driven) -> Driven:
    """The race after both seats have made some moves and stopped."""
    for at in range(1000, 9000, 500):
        for seat in (0, 1):
            driven.play(seat, driven.position(seat).legal_moves()[:1], at)
    for seat in (0, 1):
        driven.do(StopSeat(seat), 9500)
    return driven


def state_of(race: Race) -> dict[str, Any]:
    """A copy of everything the race holds, to compare it with later."""
    state = dict(vars(race))
    state["seats"] = [replace(seat, played=list(seat.played)) for seat in race.seats]
    return state


def replayed(chosen: RaceOptions, log: Iterable[tuple[Command, int]]) -> Race:
    """A new race that was given the same commands, refused ones included."""
    race = new_race(chosen)
    for command, now in log:
        try:
            race.apply(command, now)
        except Refusal:
            continue
    return race
