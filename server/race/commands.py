"""All that can be done to a race, as values. A race is the sum of its commands and their times: replaying them gives it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TakeSeat:
    """`player` sits down on the first free seat, or on `seat` when it is given (house bots take the last ones)."""

    player: str
    name: str
    bot: str | None = None
    seat: int | None = None


@dataclass(frozen=True, slots=True)
class LeaveSeat:
    """While the race waits the seat is free again; from the countdown on it is forfeited; after the end its player is gone from it."""

    seat: int


@dataclass(frozen=True, slots=True)
class MeasureLine:
    """The round trip to the seat's player, as measured now."""

    seat: int
    round_trip_ms: int


@dataclass(frozen=True, slots=True)
class GetReady:
    seat: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class PlayMove:
    seat: int
    ply: int
    move: str


@dataclass(frozen=True, slots=True)
class StopSeat:
    """The player ends his part and keeps his cards home."""

    seat: int


@dataclass(frozen=True, slots=True)
class ResignSeat:
    seat: int


@dataclass(frozen=True, slots=True)
class LoseLine:
    """The seat's player cannot be reached."""

    seat: int


@dataclass(frozen=True, slots=True)
class RegainLine:
    seat: int


@dataclass(frozen=True, slots=True)
class ChooseDeal:
    """The answer to `Race.deal_wanted`: seed number `k` is the first whose deal can be won. Its time sets the countdown.

    Or the release of a race that `is_held`, with the k it has. wait_ms: before the countdown, so that many races can start at one moment.
    """

    k: int
    wait_ms: int = 0


@dataclass(frozen=True, slots=True)
class PassTime:
    """Nothing but the time: from here the race goes on after a restart, and not from before."""


Command: TypeAlias = (
    TakeSeat | LeaveSeat | MeasureLine | GetReady | ChooseDeal | PlayMove | StopSeat | ResignSeat | LoseLine | RegainLine | PassTime
)
