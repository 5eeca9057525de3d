"""Waiting for the server's answer to one thing: to hello, to a question, or to the join that the link makes by itself.

For callers that would rather end with an error than go on without the answer. Takes nothing from the link's `events`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, TypeAlias, TypeVar

import trio
from msgspec.structs import replace

from client.connection.errors import LOST, LinkError, RequestRefused, Unreachable
from client.connection.hello import HELLO_REFERENCE
from protocol.client_messages import ClientMessage, JoinRace, LeaveRace, OpenRace
from protocol.errors import ErrorCode
from protocol.room_events import Room
from protocol.run_messages import PlayOn, RunChallenge, RunDaily
from protocol.server_messages import Error, Left, ServerMessage, Welcome
from protocol.watch_messages import WatchRace

QUESTION_REFERENCE: Final = 2**30 + 2**29
"""The numbers of questions count up from this one, clear of those that the outbox gives."""

Answer = TypeVar("Answer")

EntryRequest: TypeAlias = OpenRace | JoinRace | RunDaily | RunChallenge | PlayOn | WatchRace
"""A request that leads to a seat, or to watching a race."""


class Questions:
    """welcome: the last one; None before the first. is_answered: a server has answered hello, or a question that needs none.

    url: for errors. send: the link's own. says_hello: whether to wait for a welcome first. patience: seconds to wait for an answer.
    """

    def __init__(self, url: str, send: Callable[[ClientMessage], bool], *, says_hello: bool, patience: float) -> None:
        self.welcome: Welcome | None = None
        self.is_answered = False
        self._url = url
        self._send = send
        self._says_hello = says_hello
        self._patience_s = patience
        self._lost: str | None = LOST.reason  # why there is no connection; None while there is one
        self._refused: Error | None = None  # the refusal of the hello on this connection, or on the last one
        self._silence = ""  # why somebody waits in vain
        self._back: Room | Left | None = None  # the latest outcome of the link's own return to a seat
        self._asked: dict[int, ServerMessage | None] = {}  # the answers to open questions, by `ref`
        self._open: dict[int, ClientMessage] = {}  # these questions, if they need no hello
        self._numbers = count(QUESTION_REFERENCE)
        self._news = trio.Event()  # set and replaced when one of the above changes or a connection ends

    async def entered(self, request: EntryRequest | None) -> Welcome:
        """See `NetLink.entered`."""
        with self._patience():
            while self.welcome is None:
                await self._next_news()
        welcome = self.welcome
        assert welcome is not None
        if request is not None and (welcome.room is None or isinstance(request, WatchRace)):
            await self.ask(request, object)
        return welcome

    async def ask(self, request: ClientMessage, kind: type[Answer]) -> Answer:
        """See `NetLink.ask`."""
        number = next(self._numbers)
        request = replace(request, ref=number)
        if self._says_hello:
            await self.entered(None)
        else:
            self._open[number] = request
        self._asked[number] = None
        try:
            with self._patience():
                self._send(request)
                while (answer := self._asked[number]) is None:
                    await self._next_news()
        finally:
            del self._asked[number]
            self._open.pop(number, None)
        if isinstance(answer, Error):
            raise RequestRefused(answer)
        if not isinstance(answer, kind):
            raise LinkError(f"The server at {self._url} gave an answer that does not belong to the question.")
        return answer

    async def leave_what_is_over(self, unless: str | None, *, opens: bool) -> Welcome:
        """See `NetLink.leave_what_is_over`."""
        assert self.welcome is not None
        if self.welcome.room is None or self.welcome.room == unless:
            return self.welcome
        with self._patience():
            # The link goes back to its seat by itself; only the answer says how far the race is.
            while self._back is None:
                await self._next_news()
        left = isinstance(self._back, Left)
        if isinstance(self._back, Room) and (self._back.phase == "over" or (opens and _waits_alone(self._back))):
            try:
                await self.ask(LeaveRace(), Left)
            except RequestRefused as refused:
                # The room has closed in the meantime.
                if refused.error.code not in (ErrorCode.ROOM_CLOSED, ErrorCode.NOT_IN_ROOM):
                    raise
            left = True
        if left:
            self.welcome = replace(self.welcome, room=None)
        return self.welcome

    def connection_stands(self) -> None:
        """A connection is up."""
        self._lost = self._refused = None
        # Those that the last server has sent on to this one, without an answer.
        for request in self._open.values():
            self._send(request)

    def connection_lost(self, reason: str) -> None:
        """The connection is lost."""
        self._lost = reason
        self._tell_news()

    def welcomed(self, welcome: Welcome) -> None:
        """Hello was answered."""
        self.welcome = welcome
        self.is_answered = True
        self._tell_news()

    def note(self, passed: ServerMessage) -> None:
        """The app was given this message, or the link learned that hello is refused for now: somebody may be waiting for it."""
        ref: int = getattr(passed, "ref", 0)
        if isinstance(passed, Error) and ref == HELLO_REFERENCE:
            self._refused = passed
        elif ref in self._asked:
            self._asked[ref] = self._asked[ref] or passed
            self.is_answered = True
        elif isinstance(passed, Room | Left):
            self._back = passed
        elif isinstance(passed, Error) and passed.code == ErrorCode.CANNOT_WRITE:
            # No answers come as long as that lasts.
            self._silence = str(RequestRefused(passed))
            return
        else:
            return
        self._tell_news()

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        self._silence = f"The server at {self._url} does not answer."
        with trio.move_on_after(self._patience_s) as scope:
            yield
        if scope.cancelled_caught:
            raise Unreachable(self._silence)

    async def _next_news(self) -> None:
        await self._news.wait()
        if self._refused is not None:
            raise RequestRefused(self._refused)
        if self._lost is not None:
            raise Unreachable(self._lost)

    def _tell_news(self) -> None:
        self._news.set()
        self._news = trio.Event()


def _waits_alone(room: Room) -> bool:
    others = [info for info in room.seats if info.seat != room.seat]
    return room.phase == "waiting" and room.race == 1 and all(info.name is None or info.bot is not None for info in others)
