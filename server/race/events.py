"""All that can happen in a race, as values complete enough to be told to anybody at any later time.

Events hold whole positions, so they never leave the server. Only `server.race.view` decides what a viewer is told of one.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from protocol.record import Record
from protocol.views import SeatState
from server.rules.position import Position


class SeatTaken(Struct, frozen=True):
    seat: int
    name: str
    bot: str | None


class SeatFreed(Struct, frozen=True):
    seat: int


class ConnectionChanged(Struct, frozen=True):
    """away_until: when an absent player's grace ends; None while they are connected."""

    seat: int
    connected: bool
    away_until: int | None


class SeatReady(Struct, frozen=True):
    seat: int


class StartSet(Struct, frozen=True):
    starts_at: int
    round_trips_ms: tuple[int, ...]


class SeatDealt(Struct, frozen=True):
    """This seat is sent its first view, half its round trip before the start."""

    seat: int
    starts_at: int
    position: Position


class RaceStarted(Struct, frozen=True):
    """positions: by seat."""

    positions: tuple[Position, ...]


class MovePlayed(Struct, frozen=True, gc=False):
    """position: after the move. ply: moves the seat has made, this one included. at_ms: the moment that counts, from the start.

    brings_home: more cards are home than before the move, or it is the first one.
    """

    seat: int
    move: str
    ply: int
    at_ms: int
    state: SeatState
    position: Position
    brings_home: bool = True


class SeatEnded(Struct, frozen=True):
    """The seat ended, but not by a move of its own. position: None before the start."""

    seat: int
    state: SeatState
    ply: int
    at_ms: int
    position: Position | None


class RaceEnded(Struct, frozen=True):
    record: Record


ToldAlike: TypeAlias = SeatTaken | SeatFreed | ConnectionChanged | SeatReady | StartSet | RaceStarted | SeatEnded | RaceEnded
"""The events of which every viewer is told the same."""

RaceEvent: TypeAlias = ToldAlike | SeatDealt | MovePlayed
