"""The result depends on when things happen, never on the order in which messages of one millisecond are handled.

Races are brought close to their end. Then the players' last acts fall into a window so short that many have the same time. A seat's own
acts keep their order. A player repeats a ply only over a connection that has not become slower in between: with more credit than before, a
move refused as too late could count as in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from protocol.errors import Refusal
from protocol.record import Record
from protocol.views import RaceOptions
from server.race.audit import audit
from server.race.commands import Command, LeaveSeat, LoseConnection, MeasureConnection, PlayMove, RegainConnection, ResignSeat, StopSeat
from tests.server.race.racing import STALLING, START, WINNABLE, greedy_line, options, started

WINDOW = 9800
"""When the last acts begin: 200 ms before the time limit, and the end of the grace of whoever went 5 s earlier."""

pauses = st.sampled_from([0, 0, 0, 1, 50, 100, 149, 150, 151])
round_trips = st.sampled_from([0, 2, 100, 300, 302, 1000])
acts = st.sampled_from(["move", "move", "move", "again", "illegal", "faster", "stop", "resign", "leave", "lose", "regain"])


@dataclass(frozen=True)
class Plan:
    """What one player does. to_go: moves they still have to make when the window opens."""

    round_trip_ms: int
    to_go: int
    away_at: int | None
    acts: tuple[tuple[int, str], ...]


plans = st.builds(
    Plan,
    round_trip_ms=round_trips,
    to_go=st.sampled_from([1, 1, 1, 2, 3, 48]),
    away_at=st.sampled_from([None, None, None, WINDOW - 5000, WINDOW - 4900, WINDOW - 4850]),
    acts=st.lists(st.tuples(pauses, acts), min_size=1, max_size=6).map(tuple),
)

Timed = tuple[int, Command]


def commands_of(seat: int, plan: Plan, line: Sequence[str]) -> list[Timed]:
    """The seat's commands with their times, whatever becomes of them."""
    ply = max(len(line) - plan.to_go, 0)
    commands: list[Timed] = [(1000, PlayMove(seat, number, line[number])) for number in range(ply)]
    if plan.away_at is not None:
        commands.append((plan.away_at, LoseConnection(seat)))
    at, round_trip_ms = WINDOW, plan.round_trip_ms
    for pause, act in plan.acts:
        at += pause
        match act:
            case "move":
                if ply < len(line):
                    commands.append((at, PlayMove(seat, ply, line[ply])))
                    ply += 1
            case "again":
                if ply:
                    commands.append((at, PlayMove(seat, ply - 1, line[ply - 1])))
            case "illegal":
                commands.append((at, PlayMove(seat, ply, "r")))
            case "faster":
                round_trip_ms //= 2
                commands.append((at, MeasureConnection(seat, round_trip_ms)))
            case _:
                commands.append((at, ENDS_AND_LINES[act](seat)))
    return commands


ENDS_AND_LINES: dict[str, type[StopSeat | ResignSeat | LeaveSeat | LoseConnection | RegainConnection]] = {
    "stop": StopSeat,
    "resign": ResignSeat,
    "leave": LeaveSeat,
    "lose": LoseConnection,
    "regain": RegainConnection,
}


def interleaved(seats: Sequence[Sequence[Timed]], random: Random) -> list[Timed]:
    """All commands by time; among those of one time the seats take turns by lot, each keeping its own order."""
    left = [list(commands) for commands in seats]
    merged: list[Timed] = []
    while any(left):
        now = min(commands[0][0] for commands in left if commands)
        merged.append(random.choice([commands for commands in left if commands and commands[0][0] == now]).pop(0))
    return merged


def in_seat_order(seats: Sequence[Sequence[Timed]]) -> list[Timed]:
    return sorted((timed for commands in seats for timed in commands), key=lambda timed: timed[0])


def raced(chosen: RaceOptions, plans: Sequence[Plan], commands: Sequence[Timed]) -> Record:
    driven = started(chosen, round_trips=[plan.round_trip_ms for plan in plans])
    for at, command in commands:
        try:
            driven.race.apply(command, START + at)
        except Refusal:
            continue
    return driven.finish()


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(plans, min_size=2, max_size=4), st.sampled_from([WINNABLE, STALLING]), st.randoms(use_true_random=False))
def test_commands_of_the_same_time_give_the_same_record_in_any_order(plans: list[Plan], deal: str, random: Random) -> None:
    chosen = options(len(plans), deal=deal, grace_s=5, time_limit_s=10)
    seats = [commands_of(seat, plan, greedy_line(deal)) for seat, plan in enumerate(plans)]
    record = raced(chosen, plans, in_seat_order(seats))
    audit(record)
    event(" ".join(sorted(seat.state for seat in record.seats)))
    assert raced(chosen, plans, in_seat_order(seats[::-1])) == record
    for _ in range(3):
        assert raced(chosen, plans, interleaved(seats, random)) == record


def test_interleaving_keeps_times_and_the_order_of_each_seat() -> None:
    seats = [commands_of(seat, Plan(0, 48, 5000, ((0, "move"), (0, "stop"), (1, "again"))), greedy_line(WINNABLE)) for seat in range(3)]
    merged = interleaved(seats, Random(1))
    assert [at for at, _ in merged] == sorted(at for at, _ in merged)
    for seat, commands in enumerate(seats):
        own = [(at, command) for at, command in merged if not hasattr(command, "player") and getattr(command, "seat", None) == seat]
        assert own == commands
    assert merged != in_seat_order(seats)
