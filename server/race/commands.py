"""All that can be done to a race, as values. A race is the sum of its commands and their times: replaying them gives it again."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class TakeSeat(Struct, frozen=True, gc=False):
    """`player` sits down on the first free seat, or on `seat` when it is given (house bots take the last ones)."""

    player: str
    name: str
    bot: str | None = None
    seat: int | None = None


class LeaveSeat(Struct, frozen=True, gc=False):
    """While the race waits the seat is free again; from the countdown on it is forfeited; after the end its player is gone from it."""

    seat: int


class MeasureConnection(Struct, frozen=True, gc=False):
    """The round trip to the seat's player, as measured now."""

    seat: int
    round_trip_ms: int


class GetReady(Struct, frozen=True, gc=False):
    seat: int
    nonce: bytes


class PlayMove(Struct, frozen=True, gc=False, omit_defaults=True):
    """waited_ms: how long it lay here before it was read, which does not count."""

    seat: int
    ply: int
    move: str
    waited_ms: int = 0


class StopSeat(Struct, frozen=True, gc=False):
    """The player ends their part and keeps their cards home."""

    seat: int


class ResignSeat(Struct, frozen=True, gc=False):
    seat: int


class LoseConnection(Struct, frozen=True, gc=False):
    """The seat's player cannot be reached."""

    seat: int


class RegainConnection(Struct, frozen=True, gc=False):
    seat: int


class ChooseDeal(Struct, frozen=True, gc=False):
    """The answer to `Race.deal_wanted`: seed number `k` is the first whose deal can be won. Its time sets the countdown.

    Or the release of a race that `is_held`, with the k it has. wait_ms: before the countdown, so that many races can start at one moment.
    """

    k: int
    wait_ms: int = 0


class PassTime(Struct, frozen=True, gc=False):
    """Nothing but the time: from here the race goes on after a restart, and not from before."""


OtherCommand: TypeAlias = (
    TakeSeat | LeaveSeat | MeasureConnection | GetReady | ChooseDeal | StopSeat | ResignSeat | LoseConnection | RegainConnection | PassTime
)
"""All but moves."""

Command: TypeAlias = PlayMove | OtherCommand
