"""The requests that were sent and are not answered yet. They are sent again on the next connection after a loss, or on the same one if some
were dropped unread.

Pure: it watches what goes out and what is passed on to the app. When the answer to a join is here, the server has reported all that it took
from the lost connection, and takes nothing more from it. So whatever is still unanswered was never heard, and is sent again, once. (The
opposite mistake is possible: a snapshot shows the last lines of chat only as text, so a line that repeats an earlier one word for word
counts as said.)

Answers name their request by its `ref`, so each request has one: it is given one here if the app has not. A refusal without a number
(`wire/too-fast`) means that some request was dropped unread, and nobody knows which: it strikes out none.
"""

from __future__ import annotations

from itertools import count
from typing import Final, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    QuickMatch,
    Ready,
    Rematch,
    Rename,
    Resign,
    Say,
    Stop,
    WhoAmI,
)
from protocol.room_events import Countdown, Dealt, Ended, PlayerReady, PlayerView, Progress, RematchAsked, Result, Room, Said, Started
from protocol.run_messages import ListChallenges, ListDailies, ListRuns, OpenChallenge, PlayOn, RunChallenge, RunDaily
from protocol.seat_ends import SEAT_ENDS
from protocol.server_messages import CurrentView, Error, Left, ServerMessage, WaitingMatch, WaitingOver
from protocol.text import clean_chat
from protocol.tournament_messages import (
    AskBye,
    CheckIn,
    CreateTournament,
    DirectorRequest,
    EnterTournament,
    FollowTournament,
    FollowTournaments,
    LeaveTournament,
)
from protocol.watch_messages import AskBoardsKey, Unwatch, WatchRace

KEPT = 32
"""Requests that are kept. Beyond that the oldest is forgotten: nobody at a screen waits for so many answers."""

FIRST_NUMBER: Final = 2**30
"""The numbers given here count up from this one: clear of those that apps choose, and far below the link's own."""

Request: TypeAlias = (
    OpenRace | JoinRace | QuickMatch | RunDaily | RunChallenge | PlayOn | LeaveRace | Ready | Move | Stop | Resign | Rematch | Say
)


class _Sent(Struct, frozen=True):
    """connection_lost: whether the connection it was sent on is lost."""

    request: Request
    connection_lost: bool = False


class Unanswered:
    """The unanswered requests, in the order in which they were sent."""

    __slots__ = ("_code", "_numbers", "_seat", "_sent")

    def __init__(self) -> None:
        self._numbers = count(FIRST_NUMBER)
        self._sent: list[_Sent] = []
        self._code: str | None = None
        self._seat: int | None = None

    def numbered(self, message: ClientMessage) -> ClientMessage:
        """What to send for `message`: a request without a `ref` gets one."""
        return replace(message, ref=next(self._numbers)) if isinstance(message, Request) and message.ref == 0 else message

    def sent(self, message: ClientMessage) -> None:
        """The message was sent on the current connection."""
        match message:
            case Hello() | FollowLobby() | FollowTournaments() | FollowTournament() | WatchRace() | Unwatch():
                return  # each connection begins with its own
            case WhoAmI() | Rename() | AskBoardsKey() | ListDailies() | OpenChallenge() | ListChallenges() | ListRuns():
                return  # asked by commands, which would rather end than wait for another connection
            case EnterTournament() | LeaveTournament() | CheckIn() | AskBye():
                return  # the tournament shows who is in it
            case _ if isinstance(message, CreateTournament | DirectorRequest):
                return  # a director looks at the log before asking again
            case Say(code=code) if code is not None and code != self._code:
                return  # chat with others who watch the race: nobody there waits for it
            case _ if isinstance(message, Request):
                self._sent = [*self._sent[1 - KEPT :], _Sent(message)]
            case _:
                assert_never(message)

    def lost(self) -> None:
        """The connection was lost, or has dropped some of the requests."""
        self._sent = [replace(sent, connection_lost=True) for sent in self._sent]

    def again(self) -> tuple[Request, ...]:
        """What the lost connections swallowed, to be sent on the current one. Returns each request only once per connection."""
        swallowed = tuple(sent.request for sent in self._sent if sent.connection_lost)
        self._sent = [replace(sent, connection_lost=False) for sent in self._sent]
        return swallowed

    def forget(self) -> None:
        """Forget all requests: they concern a player or a room that is gone."""
        self._sent = []

    def heard(self, message: ServerMessage) -> None:
        """Strike out what `message` answers. Called for everything that is passed on to the app, in order."""
        match message:
            case Error(ref=ref) | WaitingMatch(ref=ref) | WaitingOver(ref=ref):
                self._strike(ref)
            case Said(line=line, ref=ref):
                # The numbers of other players' requests come too.
                if line.seat == self._seat:
                    self._strike(ref)
            case Left(code=code):
                if code == self._code:
                    self._code = self._seat = None
                    self.forget()
            case Room():
                # A request does not name its room, so it must not be sent to another one.
                elsewhere = message.code != self._code
                self._code, self._seat = message.code, message.seat
                self._sent = [] if elsewhere else [sent for sent in self._sent if not _shows(message, sent.request)]
            case _ if self._sent:
                self._sent = [sent for sent in self._sent if not self._answers(message, sent.request)]

    def _strike(self, ref: int) -> None:
        # The server answers in order, so of several requests under one number this answers the oldest.
        first = next((sent for sent in self._sent if ref and sent.request.ref == ref), None)
        self._sent = [sent for sent in self._sent if sent is not first]

    def _answers(self, message: ServerMessage, request: Request) -> bool:
        match message, request:
            case ((PlayerView(seat=seat, ply=ply) | CurrentView(seat=seat, ply=ply)), Move()) if seat == self._seat and ply > request.ply:
                return True
            case (
                (PlayerView(seat=seat, state=state) | CurrentView(seat=seat, state=state) | Progress(seat=seat, state=state)),
                (Move() | Stop() | Resign()),
            ):
                return seat == self._seat and state in SEAT_ENDS
            case Result() | Ended(), Move() | Stop() | Resign():
                return True
            case (PlayerReady(seat=seat), Ready()) | (RematchAsked(seat=seat), Rematch()):
                return seat == self._seat
            case Countdown() | Dealt() | Started(), Ready():
                return True
        return False


def _shows(room: Room, request: Request) -> bool:
    """Whether the snapshot shows that the request was heard, or that it no longer means anything."""
    own = next((info for info in room.seats if info.seat == room.seat), None)
    match request:
        case OpenRace() | JoinRace() | QuickMatch() | RunDaily() | RunChallenge() | PlayOn():
            return True
        case LeaveRace():
            return False
        case Say(text=text):
            return own is None or any(line.seat == own.seat and line.text == clean_chat(text) for line in room.chat)
        case Rematch(race=race):
            return own is None or race != room.race or own.again
        case Ready(race=race):
            return own is None or race != room.race or room.phase != "waiting" or own.ready
        case Move(race=race, ply=ply):
            return own is None or race != room.race or room.phase == "over" or own.state in SEAT_ENDS or own.ply > ply
        case Stop(race=race) | Resign(race=race):
            return own is None or race != room.race or room.phase == "over" or own.state in SEAT_ENDS
        case _:
            assert_never(request)
