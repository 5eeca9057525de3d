"""The link to a server: it connects, and after each loss connects again, without losing or repeating anything.

This module has the link's life and the pauses between attempts. `hello` knows who to be, `resync` how to get back into the same room,
`outbox` what to send again, `questions` who waits for an answer; `websocket` is one connection. Must not know of the game or the screens.

One task, `run`, lives as long as the link and owns one connection after another; a connection's tasks live inside it and end with it.
The time is Trio's clock, and randomness comes from the generator passed in: tests supply both.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import ParamSpec

import trio
from msgspec.structs import replace

from client.connection.address import BadAddress, parse_address
from client.connection.errors import (
    LET_GO,
    LOST,
    TAKEN_OVER,
    TURNED_AWAY,
    Ending,
    LetGo,
    LinkError,
    NotCarpetServer,
    OtherVersion,
)
from client.connection.events import Back, Connected, Connecting, Identity, LinkEvent, Lost, RoundTrip
from client.connection.hello import HELLO_REFERENCE, Introduction
from client.connection.outbox import Unanswered
from client.connection.questions import Answer, EntryRequest, Questions
from client.connection.resync import Reaction, Resume
from client.connection.route import Route, others
from client.connection.websocket import ConnectionTimes, Dial, ServerConnection, open_connection
from protocol.client_messages import ClientMessage, FollowLobby
from protocol.codec import MSGPACK
from protocol.errors import ErrorCode
from protocol.room_events import Room
from protocol.server_messages import Error, Moved, Nodes, ServerMessage, WaitingMatch, Welcome, YouAre
from protocol.tournament_messages import FollowTournament, FollowTournaments
from protocol.watch_messages import Watched

Follow = FollowLobby | FollowTournaments | FollowTournament

EVENTS = 256
"""Events that wait for the app. When full, the link stops reading, so that the server sees a slow reader; round trips are dropped."""

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
ROOM_PAUSE = 0.8
"""Longest pause in seconds while there is a race to go back to: the server may be up again, and the race's clock runs."""
HURRY_PAUSE = 0.2
"""Shortest pause in seconds between two attempts, however many keys are pressed."""
JOIN_PAUSE = 1.0
LONGEST_JOIN_PAUSE = 2.0
"""Seconds after which an unanswered join is sent again, at first and at most: the race's clock runs."""
QUIET = 1.1
"""Seconds of silence towards a server that has dropped requests as too many. After that it listens again."""
USUAL_TIMES = ConnectionTimes()


class NetLink:
    """Implements client.connection.events.Link. `open_link` makes one.

    url: in any form that `parse_address` takes. identity: who to say hello as; None to say none and ask only what needs no hello. watches:
    come only to watch, until anything else is sent, so that a connection this player has elsewhere stays theirs; without an identity, come
    as a guest, of whom nothing is kept. known_only: become no new player where the server does not know the token. keep: called with the
    identity as the server has it, on the first welcome and on every change. nodes: what `keep_nodes` was called with on an earlier visit to
    this URL with this token; tried in turn if the server cannot be reached. keep_nodes: called with the identity and the URLs of other
    servers of the same place, whenever the server at `url` has named them. generator: for the pauses between attempts. takes_back: when a
    newer connection of the same player takes over, wait for `hurry` instead of ending. dial: opens the byte stream, in place of TCP to the
    address.
    """

    def __init__(
        self,
        url: str,
        identity: Identity | None,
        *,
        watches: bool = False,
        known_only: bool = False,
        reconnect: bool = True,
        takes_back: bool = False,
        subprotocol: str = MSGPACK,
        keep: Callable[[Identity], None] | None = None,
        nodes: Iterable[str] = (),
        keep_nodes: Callable[[Identity, tuple[str, ...]], None] | None = None,
        generator: random.Random | None = None,
        dial: Dial | None = None,
        times: ConnectionTimes = USUAL_TIMES,
    ) -> None:
        try:
            address = parse_address(url)
        except BadAddress as error:
            raise LinkError(str(error)) from error
        self._route = Route(address, nodes)
        self._keep_nodes = keep_nodes or (lambda identity, nodes: None)
        self._known_only = known_only
        self._reconnect = reconnect
        self._takes_back = takes_back
        self._hurry = trio.Event()
        self._subprotocol = subprotocol
        self._generator = generator or random.Random()  # noqa: S311  (spreads clients over time, keeps no secret)
        self._times = times
        self._open_connection = partial(open_connection, subprotocol=subprotocol, dial=dial)
        self._introduction = Introduction(identity, watches=watches, keep=keep or (lambda identity: None))
        self._questions = Questions(address.url, self.send, says_hello=identity is not None or watches, patience=times.open_s)
        self._resume = Resume()
        self._unanswered = Unanswered()
        self._told, self._events = trio.open_memory_channel[ServerMessage | LinkEvent](EVENTS)
        self._connection: ServerConnection | None = None
        self._tries = 0  # since the last welcome
        self._rejoining = False
        self._quiet_until: float | None = None
        self._follows: dict[type[Follow], Follow] = {}  # the last of each kind that was sent on the current connection
        self._was_lost = False  # a connection was lost, and Back has not been reported yet
        self._closing = False
        self._ending = LOST  # of the current connection, as far as known
        self._ended = trio.Event()
        self.detour: str | None = None
        """A sentence, if the link came in through another server because the one at `url` could not be reached."""

    @property
    def url(self) -> str:
        return self._route.home.url

    @property
    def events(self) -> trio.MemoryReceiveChannel[ServerMessage | LinkEvent]:
        return self._events

    def send(self, message: ClientMessage) -> bool:
        """Also False if no server would take the message, or the connection's queue is full; see `client.connection.websocket`."""
        # Before the join is answered the room would not hear it, and whatever is sent again has to go first.
        if self._connection is None or self._closing or self._resume.is_elsewhere or self._resume.hushed:
            return False
        self._say(self._introduction.before(message))
        message = self._unanswered.numbered(message)
        if not self._say(message):
            return False
        if isinstance(message, Follow):
            self._follows[type(message)] = message
        self._resume.sent(message)
        self._unanswered.sent(message)
        return True

    def _say(self, message: ClientMessage | None) -> bool:
        return self._connection is not None and message is not None and self._connection.send(message)

    async def entered(self, request: EntryRequest | None = None) -> Welcome:
        """Wait for the answer to hello, and to `request` if given. For commands that would rather end than open a screen with an error.

        Takes nothing from `events`. A request for a seat is not sent if the welcome names a race in which this player has one: they go on
        with that. Raises LinkError.
        """
        return await self._questions.entered(request)

    async def ask(self, request: ClientMessage, kind: type[Answer]) -> Answer:
        """Send `request` after hello was answered, and return the message that comes with its `ref`. Takes nothing from `events`.

        Raises LinkError; RequestRefused, with the error, if the server refuses.
        """
        return await self._questions.ask(request, kind)

    async def leave_what_is_over(self, unless: str | None = None, *, opens: bool = False) -> Welcome:
        """Give up the seat that the welcome names if its race is over: the seat, kept for a rematch, would prevent another race.

        unless: the code of the race that is wanted. opens: another race is about to be opened, so a race in which nobody else sits is left
        too. Any other open or running race is kept. Takes nothing from `events`. Returns the welcome, without a room if it was left.
        Raises LinkError.
        """
        return await self._questions.leave_what_is_over(unless, opens=opens)

    def hurry(self) -> None:
        """Try again now instead of waiting out the pause; also take back what a newer connection has taken over."""
        self._hurry.set()

    async def close(self) -> None:
        """Let what was sent go out, and say goodbye, within `ConnectionTimes.close_s`."""
        self._closing = True
        self._hurry.set()
        self._events.close()
        if self._connection is not None:
            self._connection.finish()
            with trio.move_on_after(self._times.close_s):
                await self._ended.wait()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep one connection after another. Raises LinkError if the first fails, and nothing else, ever."""
        stood = False

        def started() -> None:
            nonlocal stood
            if not stood:
                stood = True
                task_status.started()
            if self._questions.welcome is None:
                self.detour = self._route.detour

        try:
            with self._told:
                while not self._closing:
                    self._tries += 1
                    await self._tell(Connecting(self._tries))
                    try:
                        ending = await self._one_connection(started)
                        if self._lets_in_elsewhere(ending):
                            self._route.look_elsewhere(LetGo(ending.reason))
                            self._was_lost = False
                            continue
                        if ending.server_is_gone:
                            self._route.failed()
                    except LinkError as error:
                        # A player who has just come, and was sent to any other server, is let in by the first that can be reached.
                        if not stood or (self._route.detour is not None and self._may_look_elsewhere):
                            self._route.look_elsewhere(error)
                            continue
                        # It was a Carpet Race server before. What answers now is something on the way to it, such as a proxy.
                        is_down = isinstance(error, NotCarpetServer)
                        reason = f"The server at {self._route.current.url} does not answer." if is_down else str(error)
                        ending = Ending(self._shut_out or reason, final=isinstance(error, OtherVersion))
                        self._route.failed()
                        self._questions.connection_lost(ending.reason)
                    if self._route.moving and not self._closing:
                        continue
                    waits = ending == TAKEN_OVER and self._takes_back
                    if (ending.final and not waits) or not self._reconnect or self._closing:
                        await self._tell(Lost(ending.reason, None))
                        return
                    pause = math.inf if waits else self._pause()
                    self._hurry = trio.Event()
                    await self._tell(Lost(ending.reason, None if waits else round(pause * 1000)))
                    with trio.move_on_after(pause):
                        await self._hurry.wait()
                        await trio.sleep(HURRY_PAUSE)
        finally:
            self._ended.set()

    def _lets_in_elsewhere(self, ending: Ending) -> bool:
        """Whether a server has sent the player to any other of its place instead of an answer, and there are others to go to."""
        return ending == LET_GO and self._may_look_elsewhere

    @property
    def _shut_out(self) -> str | None:
        """Why a player who has just come is let in nowhere. Of the servers tried, they know the one that they asked for."""
        return self._route.shut_out if not self._questions.is_answered and not self._route.has_others else None

    @property
    def _may_look_elsewhere(self) -> bool:
        return not self._questions.is_answered and self._route.has_others

    def _pause(self) -> float:
        """Seconds until the next attempt: none after a good connection, then a random time up to a bound that doubles.

        A connection is good from its welcome on: a server that accepts and drops at once must not be asked again without a pause.
        """
        if self._tries == 0:
            return 0.0
        longest = ROOM_PAUSE if self._resume.code is not None else LONGEST_PAUSE
        return self._generator.uniform(0.0, min(longest, FIRST_PAUSE * 2.0 ** min(self._tries, 16)))

    async def _tell(self, event: ServerMessage | LinkEvent) -> None:
        # The app may already have left.
        with contextlib.suppress(trio.BrokenResourceError):
            await self._told.send(event)

    def _tell_round_trip(self, ms: int) -> None:
        with contextlib.suppress(trio.WouldBlock, trio.BrokenResourceError):
            self._told.send_nowait(RoundTrip(ms))

    # ---- one connection

    async def _one_connection(self, started: Callable[[], None]) -> Ending:
        async with contextlib.AsyncExitStack() as stack:
            # With several servers, the first attempt at each is short: it may be one that hangs. Not so when the player comes: they asked
            # for this server, and may be on a line on which none is reached sooner.
            is_first = 1 < self._route.known >= self._tries and (self._was_lost or not self._route.is_home)
            times = replace(self._times, open_s=self._times.deserted_s) if is_first else self._times
            connection = await stack.enter_async_context(self._open_connection(self._route.current, times=times))
            await self._tell(Connected(self.url, self._subprotocol))
            self._connection = connection
            self._route.stands()
            self._questions.connection_stands()
            self._say(self._introduction.first())
            started()
            self._ending = LOST
            try:
                async with trio.open_nursery() as nursery:
                    self._ending = await connection.run(partial(self._handle, nursery), self._tell_round_trip)
                    if self._ending == LET_GO and self._shut_out is not None:
                        self._ending = replace(LET_GO, reason=self._shut_out)
                    nursery.cancel_scope.cancel()
                return self._ending
            finally:
                self._connection = None
                self._quiet_until, self._follows = None, {}
                self._was_lost = True
                self._resume.lost()
                self._unanswered.lost()
                if not self._route.moving and not self._lets_in_elsewhere(self._ending):
                    self._questions.connection_lost(self._ending.reason)
        raise AssertionError("an exit stack swallows nothing")

    async def _handle(self, nursery: trio.Nursery, message: ServerMessage) -> None:
        if isinstance(message, YouAre) and message.ref == HELLO_REFERENCE:
            self._say(self._introduction.known())
            return
        if isinstance(message, Welcome):
            self._tries = 0
            self._questions.welcomed(message)
            self._introduction.welcomed(message)
            self._told_nodes(message.nodes)
        elif isinstance(message, Nodes):
            self._told_nodes(message.nodes)
            return
        elif isinstance(message, YouAre):
            self._introduction.renamed(message)
        elif isinstance(message, Moved):
            # If the address is not to be trusted, the error that follows says enough.
            with contextlib.suppress(BadAddress):
                self._route.move(message.url)
                self._resume.sent_on()
                nursery.cancel_scope.cancel()
            return
        elif isinstance(message, Room | Watched | WaitingMatch):
            self._route.arrived()
        elif isinstance(message, Error) and self._introduction.is_unknown(message) and self._route.is_trusted and not self._known_only:
            # They become a new one there.
            self._resume.start_over()
            self._unanswered.forget()
            self._say(self._introduction.start_over())
            return
        elif isinstance(message, Error) and (self._introduction.is_turned_away(message) or self._introduction.is_unknown(message)):
            # The server cannot look up anybody just now; or it may have left the place, and must not cost the player their token; or only
            # that player would do. Whoever waits is told; the link says hello again on another connection.
            self._questions.note(message)
            self._ending = TURNED_AWAY
            nursery.cancel_scope.cancel()
            return
        elif isinstance(message, Error) and message.code == ErrorCode.TOO_FAST and message.ref == 0:
            self._hush(nursery)
        await self._take(self._resume.take(message), nursery)

    def _told_nodes(self, nodes: tuple[str, ...]) -> None:
        """Have the other servers kept that were named, if it was by the server that was asked for, to a player whose token it has heard.

        Others may be asked for the token when that server is down. Whoever could alter this message on an insecure line knows it already.
        """
        self._route.told(nodes)
        if nodes and self._connection is not None:
            self._connection.pong_s = self._times.deserted_s
        known = self._introduction.known_as
        if self._route.is_home and known is not None:
            self._keep_nodes(known, tuple(address.url for address in others(nodes, self._route.home)))

    async def _take(self, step: Reaction, nursery: trio.Nursery) -> None:
        for passed in step.pass_on:
            self._unanswered.heard(passed)
        # Before the app hears of it and sends something new.
        for wanted in step.send:
            self._say(wanted)
        if step.send and not self._rejoining:
            nursery.start_soon(self._ask_until_answered)
        # Before the later unanswered requests, which may take it back.
        self._say(step.ask)
        if step.back:
            for request in self._unanswered.again():
                self._say(request)
        for passed in step.pass_on:
            await self._tell(passed)
            self._questions.note(passed)
        if step.back and self._was_lost:
            self._was_lost = False
            await self._tell(Back())

    def _hush(self, nursery: trio.Nursery) -> None:
        """Send nothing for a while, and then repeat what is unanswered."""
        self._resume.hush()
        self._unanswered.lost()
        keeps_quiet = self._quiet_until is not None
        self._quiet_until = trio.current_time() + QUIET
        if not keeps_quiet:
            nursery.start_soon(self._keep_quiet, nursery)

    async def _keep_quiet(self, nursery: trio.Nursery) -> None:
        while self._quiet_until is not None and self._quiet_until > trio.current_time():  # noqa: ASYNC110  (it may have been extended)
            await trio.sleep_until(self._quiet_until)
        self._quiet_until = None
        for follow in self._follows.values():
            self._say(follow)
        await self._take(self._resume.speak(), nursery)

    async def _ask_until_answered(self) -> None:
        """Repeat a join that was refused for the moment or dropped as too many: nothing comes from the room until it is answered."""
        self._rejoining = True
        pause = JOIN_PAUSE
        try:
            while True:
                await trio.sleep(pause)
                wanted = self._resume.wanted()
                if not wanted:
                    return
                # Servers that have sent the link round in a circle may know better now.
                self._route.arrived()
                for request in wanted:
                    self._say(request)
                pause = min(2 * pause, LONGEST_JOIN_PAUSE)
        finally:
            self._rejoining = False


Options = ParamSpec("Options")


def _opening(make: Callable[Options, NetLink]) -> Callable[Options, contextlib.AbstractAsyncContextManager[NetLink]]:
    @contextlib.asynccontextmanager
    async def opened(*args: Options.args, **options: Options.kwargs) -> AsyncIterator[NetLink]:
        link = make(*args, **options)
        # The block's exceptions must come out bare, not in the nursery's group. The nursery's tasks raise nothing of their own.
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            try:
                await nursery.start(link.run)
                yield link
                await link.close()
            except Exception as error:  # noqa: BLE001  (raised again below)
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    return opened


open_link = _opening(NetLink)
"""A `NetLink` that is connected when the block begins and closed when it ends. Raises LinkError if the first connection fails."""
