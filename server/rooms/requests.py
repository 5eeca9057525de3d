"""Requests to a room, as values; also which race command a message stands for, and what a line of chat says.

Knows nothing of what a request leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from msgspec import Struct

from protocol.client_messages import LeaveRace, Move, Ready, Rematch, Resign, Say, Stop
from protocol.errors import ErrorCode, Refusal
from protocol.phrases import PHRASES
from protocol.text import clean_chat
from server.race.commands import GetReady, OtherCommand, ResignSeat, StopSeat
from server.race.race_deal import DealWanted
from server.race.rating import RatingChange
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import refused

EARLY = 64
"""Requests that may wait for a room's ghosts; more are refused with `server/busy`."""

RaceMessage: TypeAlias = Ready | Stop | Resign
"""The client messages for the race in a room, other than moves."""

RoomMessage: TypeAlias = Move | RaceMessage | LeaveRace | Rematch | Say
"""The client messages for a room."""


class Enter(Struct, frozen=True):
    """`player` comes by the connection `member`: they take a free seat, or already have one. version: the last they know, 0 for none."""

    player: PlayerName
    member: Member
    version: int
    ref: int


class Exit(Struct, frozen=True):
    """The connection of this member is gone."""

    player: PlayerName
    member: Member


class Ask(Struct, frozen=True, gc=False):
    """A player's request. waited_ms: how long it lay in the server before it was read."""

    player: PlayerName
    member: Member
    message: RoomMessage
    waited_ms: int = 0


class CloseRoom(Struct, frozen=True):
    """The host stops."""


class CallOff(Struct, frozen=True):
    """Call off a race on a shared deal. One that has begun runs to its end, unless `also_running`: then it ends now, without a result,
    because its deal may be revealed at any moment. by_host: the reason given by the server's host, who can end any room at any stage.
    """

    also_running: bool = False
    by_host: str | None = None


class Release(Struct, frozen=True):
    """Start the held race, if everybody is ready. countdown_from_ms: now or a little later, by the server's clock."""

    countdown_from_ms: int


class Reveal(Struct, frozen=True):
    """The room's shared deal is public from this moment of the wall clock on. Those who are still playing it are stopped, and keep their
    cards home: at the latest when they move, and when this is told again.
    """

    at_ms: int = 0


class DealFound(Struct, frozen=True):
    """The outcome of a search. k: None if no winnable deal was found."""

    wanted: DealWanted
    k: int | None


class RatingsRead(Struct, frozen=True):
    """How the race with this id changed ratings, by seat."""

    race: str
    changes: tuple[RatingChange, ...]


RoomRequest: TypeAlias = Enter | Exit | Ask | CloseRoom | CallOff | Release | Reveal | DealFound | RatingsRead


def refuse(requests: Iterable[RoomRequest], refusal: Refusal) -> None:
    """Refuse these requests: post this answer to those who wait for one."""
    for request in requests:
        match request:
            case Ask(member=member, message=message):
                member.post(refused(refusal, message.ref))
            case Enter(member=member, ref=ref):
                member.post(refused(refusal, ref))
            case _:
                pass


def race_command(message: RaceMessage, *, seat: int, race: int) -> OtherCommand:
    """The command that the holder of this seat asks of this race number. Raises Refusal if they mean another race or another seat."""
    check_race(message.race, race)
    match message:
        case Ready(nonce=nonce):
            return GetReady(seat, bytes.fromhex(nonce))
        case Stop():
            _check_seat(message.seat, seat)
            return StopSeat(seat)
        case Resign():
            _check_seat(message.seat, seat)
            return ResignSeat(seat)
        case _:
            assert_never(message)


def check_move(message: Move, *, seat: int, race: int) -> None:
    """Raises Refusal if the holder of this seat means another race or another seat."""
    check_race(message.race, race)
    _check_seat(message.seat, seat)


def _check_seat(meant: int, own: int) -> None:
    if meant != own:
        raise Refusal(ErrorCode.NOT_YOUR_SEAT, f"yours is {own}", path="$.seat")


def check_race(meant: int, current: int) -> None:
    """Raises Refusal if a message means another race than the current one."""
    if meant != current:
        raise Refusal(ErrorCode.WRONG_RACE, f"the current one is {current}", path="$.race")


def words(message: Say) -> str:
    """The text of a line, cleaned, or of a phrase. Raises Refusal for an unknown phrase, or if nothing is left of a line."""
    if message.phrase is not None:
        text = PHRASES.get(message.phrase)
        if text is None:
            raise Refusal(ErrorCode.UNKNOWN_PHRASE, path="$.phrase")
        return text
    text = clean_chat(message.text)
    if not text:
        raise Refusal(ErrorCode.EMPTY_CHAT, path="$.text")
    return text
