"""All that can happen in a race, as values complete enough to be told to anybody at any later time.

Events hold whole positions: they never leave the server. What a viewer is told of one is decided in `server.race.view`, nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from protocol.record import Record
from protocol.views import SeatState
from server.rules.position import Position


@dataclass(frozen=True, slots=True)
class SeatTaken:
    seat: int
    name: str
    bot: str | None


@dataclass(frozen=True, slots=True)
class SeatFreed:
    seat: int


@dataclass(frozen=True, slots=True)
class LineChanged:
    """away_until: when an absent player's grace ends (None while connected)."""

    seat: int
    connected: bool
    away_until: int | None


@dataclass(frozen=True, slots=True)
class SeatReady:
    seat: int


@dataclass(frozen=True, slots=True)
class StartSet:
    starts_at: int
    round_trips_ms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeatDealt:
    """The first view goes out to this seat, ahead of the start by half its round trip."""

    seat: int
    starts_at: int
    position: Position


@dataclass(frozen=True, slots=True)
class RaceStarted:
    pass


@dataclass(frozen=True, slots=True)
class MovePlayed:
    """position: after the move. ply: moves the seat has made by now. at_ms: the moment that counts, from the start."""

    seat: int
    move: str
    ply: int
    at_ms: int
    state: SeatState
    position: Position


@dataclass(frozen=True, slots=True)
class SeatEnded:
    """The seat ended otherwise than by a move of its own. position: None before the start."""

    seat: int
    state: SeatState
    ply: int
    at_ms: int
    position: Position | None


@dataclass(frozen=True, slots=True)
class RaceEnded:
    record: Record


RaceEvent: TypeAlias = (
    SeatTaken | SeatFreed | LineChanged | SeatReady | StartSet | SeatDealt | RaceStarted | MovePlayed | SeatEnded | RaceEnded
)
