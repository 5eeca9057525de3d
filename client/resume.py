"""Where this client is in its room, and what it takes to be there again after the line was lost or an event was missed.

Pure: a state machine over the messages that pass. It keeps a promise to whoever is behind the link: the room events passed on have no
gaps and no repeats. An event behind a gap is held back, since the server sends it again in answer to the join that a gap causes.

    no room --Room--> in step --event n+1--> in step
    in step --event beyond n+1--> behind (join sent) --event n+1, or Room--> in step
    in step --line lost, then a welcome that names the room--> behind (join sent)
    in step --line lost, then a welcome that does not--> no room (the app is told by a Left)
    behind --join refused for good--> no room (likewise)
    any --Left--> no room
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.client_messages import JoinRace
from protocol.errors import ErrorCode
from protocol.server_messages import Error, Left, Room, RoomEvent, ServerMessage

REJOIN_REFERENCE = 2**31 - 2
"""`ref` of the joins that are made here, to tell their refusals from those of the app's own requests."""

_PASSING = frozenset({ErrorCode.TOO_FAST, ErrorCode.SERVER_BUSY, ErrorCode.INTERNAL})
"""Refusals that may be none a moment later."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about one message. retry: ask again in a moment, by `rejoin`."""

    pass_on: tuple[ServerMessage, ...] = ()
    send: JoinRace | None = None
    retry: bool = False


class Resume:
    """code: the room's, None in no room. version: the last one that was passed on."""

    __slots__ = ("_behind", "code", "version")

    def __init__(self) -> None:
        self.code: str | None = None
        self.version = 0
        self._behind = False

    def welcomed(self, room: str | None) -> Step:
        """A welcome has come, and names `room` as the one in which this player holds a seat."""
        if self.code is None:
            return Step()
        if room != self.code:
            left = Left(code=self.code, reason="closed")
            self._forget()
            return Step((left,))
        return Step(send=self.rejoin())

    def rejoin(self) -> JoinRace | None:
        """The request to be let in again, None in no room. To be sent again where a step says retry."""
        if self.code is None:
            return None
        self._behind = True
        return JoinRace(code=self.code, version=self.version, ref=REJOIN_REFERENCE)

    def start_over(self) -> None:
        """The player is another one now: what the last one has seen counts for nothing."""
        self.version = 0

    def take(self, message: ServerMessage) -> Step:
        """Account for one message from the server."""
        match message:
            case Room(code=code, version=version):
                self.code, self.version, self._behind = code, version, False
                return Step((message,))
            case Left(code=code):
                if code == self.code:
                    self._forget()
                return Step((message,))
            case Error(ref=ref) if ref == REJOIN_REFERENCE and self.code is not None:
                return self._refused(self.code, message)
            case _ if isinstance(message, RoomEvent) and self.code is not None:
                return self._event(message, message.version)
        return Step((message,))

    def _event(self, message: ServerMessage, version: int) -> Step:
        if version <= self.version:
            return Step()
        if version == self.version + 1:
            self.version, self._behind = version, False
            return Step((message,))
        # One join for one gap: until it is answered, all that comes is behind the same gap.
        return Step() if self._behind else Step(send=self.rejoin())

    def _refused(self, code: str, error: Error) -> Step:
        if error.code in _PASSING:
            return Step(retry=True)
        self._forget()
        return Step((error, Left(code=code, reason="closed")))

    def _forget(self) -> None:
        self.code, self.version, self._behind = None, 0, False
