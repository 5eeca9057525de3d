"""All that can be done to a race, as values. A race is the sum of its commands and their times: replaying them rebuilds it."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class TakeSeat(Struct, frozen=True, gc=False):
    """`player` sits down on the first free seat, or on `seat` if it is given (house bots take the last ones)."""

    player: str
    name: str
    bot: str | None = None
    seat: int | None = None


class LeaveSeat(Struct, frozen=True, gc=False):
    """Frees the seat of a waiting race, and forfeits it from the countdown on. After the end it only removes the player."""

    seat: int


class MeasureConnection(Struct, frozen=True, gc=False):
    """The round trip to the seat's player, as measured now."""

    seat: int
    round_trip_ms: int


class GetReady(Struct, frozen=True, gc=False):
    seat: int
    nonce: bytes


class PlayMove(Struct, frozen=True, gc=False, omit_defaults=True):
    """waited_ms: how long the move lay in the server before it was read, which does not count."""

    seat: int
    ply: int
    move: str
    waited_ms: int = 0


class StopSeat(Struct, frozen=True, gc=False):
    """The player ends their part of the race and keeps their cards home."""

    seat: int


class ResignSeat(Struct, frozen=True, gc=False):
    seat: int


class LoseConnection(Struct, frozen=True, gc=False):
    """The seat's player cannot be reached."""

    seat: int


class RegainConnection(Struct, frozen=True, gc=False):
    seat: int


class ChooseDeal(Struct, frozen=True, gc=False):
    """The answer to `Race.deal_wanted`: seed number `k` is the first whose deal can be won. The countdown runs from the command's time.

    It also releases a race that `is_held`, with the k it has. wait_ms: time before the countdown, so that many races can start together.
    """

    k: int
    wait_ms: int = 0


class PassTime(Struct, frozen=True, gc=False):
    """Only notes the time: after a restart the race goes on from here, not from an earlier moment."""


OtherCommand: TypeAlias = (
    TakeSeat | LeaveSeat | MeasureConnection | GetReady | ChooseDeal | StopSeat | ResignSeat | LoseConnection | RegainConnection | PassTime
)
"""All but moves."""

Command: TypeAlias = PlayMove | OtherCommand
