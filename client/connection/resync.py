"""Where this client is in its room, and how it gets back there after a lost connection or a missed event.

Pure: a state machine over the messages that pass. It guarantees to the app that the room events passed on have no gaps and no repeats. An
event behind a gap is held back: the gap causes a join, and the server sends the event again in answer to that.

    no room --Room--> in step --event n+1--> in step
    in step --event beyond n+1--> behind (join sent) --event n+1, Room or CurrentView--> in step
    any --connection lost, then a welcome that names a room--> behind (join sent) --Room or CurrentView--> in step, back
    any --connection lost, then a welcome that names none--> no room (the app is told by a Left), back
    behind --join refused for good--> no room (likewise)
    any --Left--> no room

A wish for an opponent (QuickMatch) also outlives the connection, with which the server forgets it. Without a room, it is sent again after a
welcome, until a Room, a WaitingOver or its refusal has settled it.

`back` comes at the end of the answer to the join, so that nothing from the lost connection can come after it. A snapshot is the whole
answer. Events end with a CurrentView, but only if cards were dealt; if not, a snapshot is always asked for.

A server that was sent too much at once has dropped some of it unread, and needs a moment of silence. This is handled like a loss, except
that the connection stays: requests of this client may never have been heard.

    any --hushed, then `speak`--> behind (join sent) --Room or CurrentView--> in step; without a room: at once

Watching is not resumed by version: after a loss or a missing event, the race is asked for again, and a snapshot is the answer.

    watching nothing --asked--> (nothing) --Watched--> watching --event n+1--> watching
    watching --event beyond n+1--> behind (asked again) --Watched--> watching
    watching --connection lost, then a welcome--> behind (asked again) --Watched or Unwatched--> watching or waiting for a race, back
    behind --refused for good--> watching nothing (the app is told by an Unwatched); any --Unwatched--> watching nothing
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from client.connection.events import NO_RACE, NO_SEAT, WATCH_REFERENCE
from protocol.client_messages import JoinRace, QuickMatch
from protocol.errors import ErrorCode
from protocol.room_events import Dealt, PlayerView, Room, RoomEvent
from protocol.server_messages import CurrentView, Error, Left, ServerMessage, WaitingMatch, WaitingOver, Welcome
from protocol.watch_messages import Unwatch, Unwatched, Watched, WatchedEvent, WatchRace

REJOIN_REFERENCE = 2**31 - 2
"""`ref` of the joins made here, which tells their refusals from those of the app's own requests."""

_PASSING = frozenset({ErrorCode.ELSEWHERE, ErrorCode.TOO_FAST, ErrorCode.SERVER_BUSY, ErrorCode.INTERNAL, ErrorCode.WATCHED_TOO_OFTEN})
"""Refusals that may be over a moment later."""

_UNSOUGHT = frozenset({ErrorCode.KEPT_WAITING, ErrorCode.SERVER_FULL, ErrorCode.UNKNOWN_RULES})
"""Refusals of the search that is asked for again: the player has been told, and looks anew when they wish."""


class Reaction(Struct, frozen=True):
    """What to do about one message. send: requests to send now, and whatever `wanted` returns again and again until that is nothing.

    ask: a request to send now, once. back: a lost connection or dropped requests have been made up for.
    """

    pass_on: tuple[ServerMessage, ...] = ()
    send: tuple[JoinRace | WatchRace, ...] = ()
    ask: QuickMatch | None = None
    back: bool = False


class Resume:
    """code: of the room; None in no room. version: the last one passed on. behind: whether a join waits for its answer.

    away: a connection was lost or requests were dropped, and what the server knows is not settled yet. hushed: nothing may be sent now.
    """

    __slots__ = ("_dealt", "_sought", "_watch", "away", "behind", "code", "hushed", "version")

    def __init__(self) -> None:
        self.code: str | None = None
        self.version = 0
        self.behind = False
        self.away = False
        self.hushed = False
        self._dealt = False
        self._sought: QuickMatch | None = None
        self._watch = Watching()

    @property
    def is_elsewhere(self) -> bool:
        """Whether there is a room or watched race that cannot be reached now."""
        return self.away and (self.code is not None or self._watch.request is not None)

    def lost(self) -> None:
        """The connection was lost."""
        self.behind = False
        self._watch.behind = False
        self.away = True
        self.hushed = False

    def hush(self) -> None:
        """The server has dropped requests, and nobody knows which: send nothing until `speak`."""
        self.lost()
        self.hushed = True

    def sent_on(self) -> None:
        """The server says where else to ask. Repeat the app's request there under its own number, so that whoever waits gets the answer."""
        self._watch.sent_on = True

    def speak(self) -> Reaction:
        """The server listens again: ask how things stand."""
        self.hushed = False
        again: tuple[JoinRace | WatchRace, ...] = (*self.rejoin(), *self._watch.again())
        return Reaction(send=again, back=not again and self._come_back())

    def sent(self, message: object) -> None:
        """The app's own request was sent."""
        if isinstance(message, WatchRace | Unwatch):
            self._watch.asked(message)

    def wanted(self) -> tuple[JoinRace | WatchRace, ...]:
        """The requests that wait for an answer, to be sent again."""
        return (*(self.rejoin() if self.behind else ()), *(self._watch.again() if self._watch.behind else ()))

    def rejoin(self) -> tuple[JoinRace, ...]:
        """The request to be let in again; none in no room."""
        if self.code is None:
            return ()
        self.behind = True
        return (JoinRace(code=self.code, version=self.version if self._dealt else 0, ref=REJOIN_REFERENCE),)

    def start_over(self) -> None:
        """The player is now another one, so what the previous one has seen does not count."""
        self.version = 0

    def take(self, message: ServerMessage) -> Reaction:
        """Account for one message from the server."""
        match message:
            case Welcome():
                return self._welcomed(message)
            case Room(code=code, version=version, view=view):
                self.code, self.version, self.behind, self._dealt = code, version, False, view is not None
                self._sought = None
                return Reaction((message,), back=self._come_back())
            case CurrentView() if self.code is not None:
                self.behind, self._dealt = False, True
                return Reaction((message,), back=self._come_back())
            case Left(code=code) if code == self.code:
                self._forget()
                return Reaction((message,), back=self._come_back())
            case WaitingMatch(rules=rules):
                self._sought = QuickMatch(rules=rules)
            case WaitingOver():
                self._sought = None
            case Error(ref=0, code=code) if code in _UNSOUGHT and self._sought is not None:
                # Asked for from here: the app's own requests have numbers. An app that was sent on was told of no loss and still shows it.
                self._sought = None
                return Reaction((message, WaitingOver(reason="failed")))
            case Error(ref=ref) if ref == REJOIN_REFERENCE and self.code is not None:
                return self._refused(self.code, message)
            case Watched() | WatchedEvent() | Unwatched() | Error() if self._watch.concerns(message):
                step = self._watch.take(message)
                send = () if self.hushed else step.send
                return Reaction(step.pass_on, send, back=step.back and self.code is None and self._come_back())
            case _ if isinstance(message, RoomEvent) and self.code is not None:
                return self._event(message, message.version)
        return Reaction((message,))

    def _welcomed(self, welcome: Welcome) -> Reaction:
        room = welcome.room
        left: tuple[ServerMessage, ...] = ()
        if room is None and welcome.nodes:
            # One of several servers may not know the room. The answer to the join says where it is, or that it is gone.
            room = self.code
        if self.code is not None and room != self.code:
            left = (Left(code=self.code, reason=NO_SEAT),)
            self._forget()
        again = self._watch.again()
        if room is None:
            return Reaction((welcome, *left), again, ask=self._sought, back=not again and self._come_back())
        # The player holds a seat there, and that takes precedence over whatever else was wanted.
        self.code = room
        return Reaction((welcome, *left), (*self.rejoin(), *again))

    def _event(self, message: ServerMessage, version: int) -> Reaction:
        if version <= self.version:
            return Reaction()
        if version == self.version + 1:
            self.version = version
            # After a loss, this is only the beginning of the answer to the join.
            self.behind = self.behind and self.away
            self._dealt = self._dealt or isinstance(message, Dealt | PlayerView)
            return Reaction((message,))
        # One join per gap: until it is answered, everything that comes is behind the same gap.
        return Reaction(send=() if self.behind or self.hushed else self.rejoin())

    def _refused(self, code: str, error: Error) -> Reaction:
        if error.code in _PASSING:
            return Reaction()
        self._forget()
        # Where one is back in the queue, the server may have named the seat that they have just lost.
        return Reaction((error, Left(code=code, reason=NO_SEAT)), ask=self._sought, back=self._come_back())

    def _come_back(self) -> bool:
        if self.hushed:
            return False
        was_away, self.away = self.away, False
        return was_away

    def _forget(self) -> None:
        self.code, self.version, self.behind, self._dealt = None, 0, False, False


class Watching:
    """Resume's counterpart for the watched race. request: the last one made; None for nothing. behind: whether it waits for its answer.

    If a new request is refused, the race before it is still watched, so that one is remembered until there is an answer.
    """

    __slots__ = ("_before", "_code", "_version", "behind", "request", "sent_on")

    def __init__(self) -> None:
        self.request: WatchRace | None = None
        self.behind = False
        self._before: WatchRace | None = None
        self._code: str | None = None
        self._version = 0
        self.sent_on = False

    def asked(self, message: WatchRace | Unwatch) -> None:
        """The app has asked for another race, or for none."""
        self.request = message if isinstance(message, WatchRace) else None
        self.behind = False

    def again(self) -> tuple[WatchRace, ...]:
        """The request to be shown the race again; none if nothing is watched."""
        if self.request is None:
            return ()
        self.behind = True
        ref, self.sent_on = self.request.ref if self.sent_on else WATCH_REFERENCE, False
        self.request = self._before = replace(self.request, ref=ref)
        return (self.request,)

    def concerns(self, message: ServerMessage) -> bool:
        """Whether the message is about what is watched, and not the refusal of something else."""
        return not isinstance(message, Error) or (self.request is not None and message.ref == self.request.ref != 0)

    def take(self, message: Watched | WatchedEvent | Unwatched | Error) -> Reaction:
        """Account for a message about what is watched."""
        match message:
            case Watched(room=room, closest=closest):
                self._code, self._version, self.behind = room.code, room.version, False
                request = self.request or WatchRace()
                self.request = self._before = replace(request, code=None if closest else room.code, ref=WATCH_REFERENCE)
                return Reaction((message,), back=True)
            case WatchedEvent(code=code, event=event):
                if code != self._code or event.version <= self._version:
                    return Reaction()
                if event.version == self._version + 1 or isinstance(event, Room):
                    self._version = event.version
                    return Reaction((message,))
                return Reaction(send=() if self.behind else self.again())
            case Unwatched(reason=reason):
                self._code, self._version, self.behind = None, 0, False
                if reason == "none":
                    # The server leads them to the closest race once there is one, even if it refuses to show another.
                    self._before = WatchRace(ref=WATCH_REFERENCE)
                else:
                    self.request = self._before = None
                return Reaction((message,), back=True)
            case Error():
                return self._refused(message)

    def _refused(self, error: Error) -> Reaction:
        if not self.behind:
            self.request = self._before
            return Reaction((error,))
        if error.code in _PASSING:
            return Reaction()
        watched = self.request.code if self.request is not None else None
        self.request = self._before = self._code = None
        self.behind = False
        return Reaction((error, Unwatched(code=watched, reason=NO_RACE)), back=True)
