"""What a room is asked and told by others, as values; which of the race's commands a message stands for, and what a line of chat says.

Knows nothing of what comes of those that are taken.
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
"""The client messages that are for the race in it, beside moves."""

RoomMessage: TypeAlias = Move | RaceMessage | LeaveRace | Rematch | Say
"""The client messages that are for a room."""


class Enter(Struct, frozen=True):
    """`player` is here by `member`: they take a free seat, or have one already. version: the last they know, 0 for none."""

    player: PlayerName
    member: Member
    version: int
    ref: int


class Exit(Struct, frozen=True):
    """The connection of this member is gone."""

    player: PlayerName
    member: Member


class Ask(Struct, frozen=True, gc=False):
    """A player's request. waited_ms: for how long the server had it before it was read."""

    player: PlayerName
    member: Member
    message: RoomMessage
    waited_ms: int = 0


class Close(Struct, frozen=True):
    """The host stops."""


class CallOff(Struct, frozen=True):
    """The race, opened on a shared deal, is not to be run. One that has begun is run to its end, unless `also_running`: then it ends here,
    without a result, because its deal may be told at any moment. by_host: the reason of the server's host, who ends any room, whatever is
    done in it.
    """

    also_running: bool = False
    by_host: str | None = None


class Release(Struct, frozen=True):
    """The race, which is held, starts if everybody is ready. countdown_from_ms: by the server's clock, now or a little later."""

    countdown_from_ms: int


class Reveal(Struct, frozen=True):
    """The room's shared deal is anybody's to know from this moment of the wall clock on. Whoever is still playing it stops, and keeps the
    cards home: then at the latest when they move, and when this is told again.
    """

    at_ms: int = 0


class DealFound(Struct, frozen=True):
    """What came of a search. k: None where no deal that can be won was found."""

    wanted: DealWanted
    k: int | None


class RatingsRead(Struct, frozen=True):
    """What the race with this id did to ratings, by seat."""

    race: str
    changes: tuple[RatingChange, ...]


RoomRequest: TypeAlias = Enter | Exit | Ask | Close | CallOff | Release | Reveal | DealFound | RatingsRead


def refuse(requests: Iterable[RoomRequest], refusal: Refusal) -> None:
    """Give this answer to whoever waits for one to any of these."""
    for request in requests:
        match request:
            case Ask(member=member, message=message):
                member.post(refused(refusal, message.ref))
            case Enter(member=member, ref=ref):
                member.post(refused(refusal, ref))
            case _:
                pass


def race_command(message: RaceMessage, *, seat: int, race: int) -> OtherCommand:
    """What the holder of this seat asks of the race that has this number. Raises Refusal when they mean another race or another seat."""
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
    """Raises Refusal when the holder of this seat means another race than this, or another seat."""
    check_race(message.race, race)
    _check_seat(message.seat, seat)


def _check_seat(meant: int, own: int) -> None:
    if meant != own:
        raise Refusal(ErrorCode.NOT_YOUR_SEAT, f"yours is {own}", path="$.seat")


def check_race(meant: int, current: int) -> None:
    """Raises Refusal when a message means another race than the current one."""
    if meant != current:
        raise Refusal(ErrorCode.WRONG_RACE, f"the current one is {current}", path="$.race")


def words(message: Say) -> str:
    """The text of a line: cleaned, or that of a phrase. Raises Refusal for an unknown phrase, and for a line of which nothing is left."""
    if message.phrase is not None:
        text = PHRASES.get(message.phrase)
        if text is None:
            raise Refusal(ErrorCode.UNKNOWN_PHRASE, path="$.phrase")
        return text
    text = clean_chat(message.text)
    if not text:
        raise Refusal(ErrorCode.EMPTY_CHAT, path="$.text")
    return text
