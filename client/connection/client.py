"""The link: one line after another to the same server, hello, coming back by itself, and nothing lost or doubled by it.

What has to be said to be in the same room again is decided in `resync`, what has to be said again in `outbox`; a line is
`client.connection.websocket`'s. Here are the life of the link and the times between tries. Must not know of the game or the screens.

One task, `run`, lives as long as the link and owns one line after another; the tasks of a line live inside it and end with it. Time is
Trio's clock, chance the generator handed in: tests give both.
"""

from __future__ import annotations

import contextlib
import math
import random
import ssl as tls
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import count
from typing import Final, TypeAlias, TypeVar

import trio
from msgspec.structs import replace

from client.connection.address import Address, BadAddress, parse_address
from client.connection.errors import LOST, TAKEN_OVER, Ending, EntryRefused, LinkError, OtherVersion, Unreachable
from client.connection.events import Back, Connected, Connecting, Identity, LinkEvent, Lost, RoundTrip
from client.connection.outbox import Unanswered
from client.connection.resync import Reaction, Resume
from client.connection.websocket import Dial, LineTimes, ServerConnection, open_line
from protocol import __version__
from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    FollowTournament,
    FollowTournaments,
    Hello,
    JoinRace,
    LeaveRace,
    OpenRace,
    PlayOn,
    RunChallenge,
    RunDaily,
    Say,
    Unwatch,
    WatchRace,
    WhoAmI,
)
from protocol.codec import MSGPACK
from protocol.errors import ErrorCode
from protocol.server_messages import Error, Left, Room, ServerMessage, Welcome, YouAre
from protocol.text import clean_chat, clean_name

EVENTS = 256
"""Events that wait for the app. When full the link stops reading, and the server finds a slow reader; round trips are dropped."""

HELLO_REFERENCE = 2**31 - 1
QUESTION_REFERENCE: Final = 2**30 + 2**29
"""The numbers of questions go up from this one: out of the way of those that the outbox gives."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
ROOM_PAUSE = 0.8
"""Seconds between two tries at most while there is a race to come back to: the server stands again, and the clock runs."""
HURRY_PAUSE = 0.2
"""Seconds between two tries at least, however many keys are pressed."""
JOIN_PAUSE = 1.0
"""Seconds after which a join that was not answered is asked for again; then twice as long, up to LONGEST_PAUSE."""
QUIET = 1.1
"""Seconds for which nothing is said to a server that has dropped requests as too many: by then it hears and answers again."""
USUAL_TIMES = LineTimes()
LOOKS_ON = FollowLobby | FollowTournaments | FollowTournament | WatchRace | Unwatch | Say
"""What a player may send by a line beside the one that they have elsewhere."""

Answer = TypeVar("Answer")

EntryRequest: TypeAlias = OpenRace | JoinRace | RunDaily | RunChallenge | PlayOn | WatchRace
"""What leads to a room, or to the sight of one."""


@contextlib.asynccontextmanager
async def open_link(
    url: str,
    identity: Identity | None,
    *,
    watches: bool = False,
    reconnect: bool = True,
    takes_back: bool = False,
    ssl: tls.SSLContext | None = None,
    subprotocol: str = MSGPACK,
    keep: Callable[[Identity], None] | None = None,
    generator: random.Random | None = None,
    dial: Dial | None = None,
    times: LineTimes = USUAL_TIMES,
) -> AsyncIterator[NetLink]:
    """A link to the server at `url` (any form `parse_address` takes), connected when the block begins and closed when it ends.

    identity: who to say hello as; None to say none and only ask what needs no hello. watches: come only to watch, for as long as nothing
    else is sent: whatever line this player has elsewhere stays theirs. Without an identity that is as a
    guest, of whom nothing is made and nothing kept, on every line.
    keep: called with the identity as the server has it, on the first welcome and whenever it changes. generator: for the pauses
    between tries.
    takes_back: when a newer connection of the same player has taken over, wait for `hurry` in place of ending.
    dial: opens the byte stream, in place of TCP to the address. Raises LinkError when the first connection fails.
    """
    try:
        address = parse_address(url)
    except BadAddress as error:
        raise LinkError(str(error)) from error
    link = NetLink(
        address,
        identity,
        watches=watches,
        reconnect=reconnect,
        takes_back=takes_back,
        ssl=ssl,
        subprotocol=subprotocol,
        keep=keep or (lambda identity: None),
        generator=generator or random.Random(),  # noqa: S311  (spreads clients over time, keeps no secret)
        dial=dial,
        times=times,
    )
    # What the block raises must come out as it is and not in the nursery's group: the tasks in there raise nothing of their own.
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


class NetLink:
    """Satisfies client.connection.events.Link. welcome: the last one, None before the first."""

    def __init__(
        self,
        address: Address,
        identity: Identity | None,
        *,
        watches: bool,
        reconnect: bool,
        takes_back: bool,
        ssl: tls.SSLContext | None,
        subprotocol: str,
        keep: Callable[[Identity], None],
        generator: random.Random,
        dial: Dial | None,
        times: LineTimes,
    ) -> None:
        self._address = address
        self._identity = identity
        self._watches = watches
        self._is_guest = watches and identity is None
        self._is_second = False  # this line, beside one that the player may have elsewhere
        self._reconnect = reconnect
        self._takes_back = takes_back
        self._hurry = trio.Event()
        self._subprotocol = subprotocol
        self._keep = keep
        self._generator = generator
        self._times = times
        self._open_line = partial(open_line, address, subprotocol=subprotocol, ssl=ssl, dial=dial, times=times)
        self._resume = Resume()
        self._unanswered = Unanswered()
        self._told, self._events = trio.open_memory_channel[ServerMessage | LinkEvent](EVENTS)
        self._line: ServerConnection | None = None
        self.welcome: Welcome | None = None
        self._ending = LOST  # of the last line
        self._refused: Error | None = None  # the answer to hello
        self._back: Room | Left | None = None  # what the link's own going back to a seat has come to, last
        self._questions: dict[int, ServerMessage | None] = {}  # by `ref`, with their answers
        self._numbers = count(QUESTION_REFERENCE)
        self._news = trio.Event()  # set, and replaced, when the welcome or one of these has changed, or a line has ended
        self._tries = 0  # since the last welcome
        self._rejoining = False
        self._quiet_until: float | None = None
        self._follow: FollowLobby | None = None  # the last one, by the line that stands
        self._was_lost = False  # and nobody was told yet that it is back
        self._closing = False
        self._ended = trio.Event()

    @property
    def url(self) -> str:
        return self._address.url

    @property
    def events(self) -> trio.MemoryReceiveChannel[ServerMessage | LinkEvent]:
        return self._events

    def send(self, message: ClientMessage) -> bool:
        """Also False for what no server would take, or one message more than a line holds; see `client.connection.websocket`."""
        # In its room the server would not hear it before the join, and what is said again has to be said first.
        if self._closing or self._resume.is_elsewhere or self._resume.hushed:
            return False
        if self._watches and not isinstance(message, LOOKS_ON):
            self._watches = self._is_guest
            if self._is_second and self._identity is not None:
                self._say_hello(self._identity)
        message = self._unanswered.numbered(message)
        if not self._say(message):
            return False
        if isinstance(message, FollowLobby):
            self._follow = message
        self._resume.sent(message)
        self._unanswered.sent(message)
        return True

    def _say(self, message: ClientMessage) -> bool:
        return self._line is not None and self._line.send(message)

    async def entered(self, request: EntryRequest | None = None) -> Welcome:
        """Wait until hello was answered, and `request` too, for a command that would rather end than begin with an error on the screen.

        Takes nothing from `events`. A request for a seat is kept back when the welcome names a race in which this player has one: that is
        the one to go on with. Raises LinkError.
        """
        with self._patience():
            while self.welcome is None:
                await self._next_news()
        welcome = self.welcome
        assert welcome is not None
        if request is not None and (welcome.room is None or isinstance(request, WatchRace)):
            await self.ask(request, object)
        return welcome

    async def ask(self, request: ClientMessage, kind: type[Answer]) -> Answer:
        """Send it, after the answer to hello, and wait for its own: the message that comes with its `ref`. Takes nothing from `events`.

        Raises LinkError; EntryRefused, which has the error, where the server refuses.
        """
        if self._identity is not None or self._is_guest:
            await self.entered()
        number = next(self._numbers)
        self._questions[number] = None
        try:
            with self._patience():
                self.send(replace(request, ref=number))
                while (answer := self._questions[number]) is None:
                    await self._next_news()
        finally:
            del self._questions[number]
        if isinstance(answer, Error):
            raise EntryRefused(answer)
        if not isinstance(answer, kind):
            raise LinkError(f"The server at {self.url} gave an answer that does not belong to the question.")
        return answer

    async def leave_what_is_over(self, unless: str | None = None, *, opens: bool = False) -> Welcome:
        """Give up the seat that the welcome names where its race is over: kept for a rematch, it would stand in the way of another race.

        unless: the code of the race that is wanted. opens: another race is to be opened, so one in which nobody else sits is left too.
        Takes nothing from `events`. Returns the welcome, which names the room no more once it was left; any other race that is open or
        running is kept. Raises LinkError.
        """
        assert self.welcome is not None
        if self.welcome.room is None or self.welcome.room == unless:
            return self.welcome
        with self._patience():
            # The link goes back to its seat by itself; only the answer says how the race stands.
            while self._back is None:
                await self._next_news()
        left = isinstance(self._back, Left)
        if isinstance(self._back, Room) and (self._back.phase == "over" or (opens and _waits_alone(self._back))):
            await self.ask(LeaveRace(), Left)
            left = True
        if left:
            self.welcome = replace(self.welcome, room=None)
        return self.welcome

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        with trio.move_on_after(self._times.open_s) as scope:
            yield
        if scope.cancelled_caught:
            raise Unreachable(f"The server at {self.url} does not answer.")

    async def _next_news(self) -> None:
        await self._news.wait()
        if self._refused is not None:
            raise EntryRefused(self._refused)
        if self._line is None:
            raise Unreachable(self._ending.reason)

    def _tell_news(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def hurry(self) -> None:
        """Try again now, if it is a pause that is waited for; and take back what a newer connection has taken over."""
        self._hurry.set()

    async def close(self) -> None:
        """Let what was sent go out and say goodbye, as far as `LineTimes.close_s` allows."""
        self._closing = True
        self._hurry.set()
        self._events.close()
        if self._line is not None:
            self._line.finish()
            with trio.move_on_after(self._times.close_s):
                await self._ended.wait()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """One line after another. Raises LinkError when the first does not come about; nothing else, ever."""
        stood = False

        def started() -> None:
            nonlocal stood
            if not stood:
                stood = True
                task_status.started()

        try:
            with self._told:
                while not self._closing:
                    self._tries += 1
                    await self._tell(Connecting(self._tries))
                    try:
                        ending = await self._one_line(started)
                    except LinkError as error:
                        if not stood:
                            raise
                        ending = Ending(str(error), final=isinstance(error, OtherVersion))
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

    def _pause(self) -> float:
        """Seconds to the next try: none after a line that stood, then anything up to a bound that doubles.

        A line counts as standing from its welcome on: a server that accepts and drops at once is not asked again and again without pause.
        """
        if self._tries == 0:
            return 0.0
        longest = ROOM_PAUSE if self._resume.code is not None else LONGEST_PAUSE
        return self._generator.uniform(0.0, min(longest, FIRST_PAUSE * 2.0 ** min(self._tries, 16)))

    async def _tell(self, event: ServerMessage | LinkEvent) -> None:
        # The app may have left already; then nobody is there to tell.
        with contextlib.suppress(trio.BrokenResourceError):
            await self._told.send(event)

    def _tell_round_trip(self, ms: int) -> None:
        with contextlib.suppress(trio.WouldBlock, trio.BrokenResourceError):
            self._told.send_nowait(RoundTrip(ms))

    # ---- one line

    async def _one_line(self, started: Callable[[], None]) -> Ending:
        async with contextlib.AsyncExitStack() as stack:
            line = await stack.enter_async_context(self._open_line())
            await self._tell(Connected(self.url, self._subprotocol))
            self._line = line
            if self._identity is not None:
                self._say_hello(self._identity)
            elif self._is_guest:
                self._say(Hello(name="", watch=True, software=f"carpet-race {__version__}", ref=HELLO_REFERENCE))
            started()
            try:
                async with trio.open_nursery() as nursery:
                    self._ending = await line.run(partial(self._handle, nursery), self._tell_round_trip)
                    nursery.cancel_scope.cancel()
                return self._ending
            finally:
                self._line = None
                self._quiet_until = self._follow = None
                self._was_lost = True
                self._resume.lost()
                self._unanswered.lost()
                self._tell_news()
        raise AssertionError("an exit stack swallows nothing")

    def _say_hello(self, identity: Identity) -> None:
        self._is_second = self._watches and identity.token is not None
        if self._is_second:
            # Of who has a token that the server does not know it would make a guest, who cannot talk. Asked first, it says so.
            self._say(WhoAmI(token=identity.token, ref=HELLO_REFERENCE))
        else:
            # A new player has no line elsewhere that they could take over.
            self._say(_hello(identity))

    async def _handle(self, nursery: trio.Nursery, message: ServerMessage) -> None:
        if isinstance(message, YouAre) and message.ref == HELLO_REFERENCE:
            if self._watches and self._identity is not None:
                self._say(replace(_hello(self._identity), watch=True))
            return
        if isinstance(message, Welcome):
            self._welcomed(message)
        elif isinstance(message, YouAre):
            self._renamed(message)
        elif (
            isinstance(message, Error)
            and message.ref == HELLO_REFERENCE
            and message.code == ErrorCode.UNKNOWN_TOKEN
            and self._identity is not None
            and self._identity.token is not None
        ):
            # The server has lost its memory, or it is another one: be a new player there.
            self._identity = Identity(self._identity.name)
            self._resume.start_over()
            self._unanswered.forget()
            self._say_hello(self._identity)
            return
        elif isinstance(message, Error) and message.code == ErrorCode.TOO_FAST and message.ref == 0:
            self._hush(nursery)
        await self._take(self._resume.take(message), nursery)

    async def _take(self, step: Reaction, nursery: trio.Nursery) -> None:
        for passed in step.pass_on:
            self._unanswered.heard(passed)
        # Before the app hears of it and says something new.
        for wanted in step.send:
            self._say(wanted)
        if step.send and not self._rejoining:
            nursery.start_soon(self._ask_until_answered)
        if step.ask is not None:
            # Before what was said later and not answered: that may take it back.
            self._say(step.ask)
        if step.back:
            for request in self._unanswered.again():
                self._say(request)
        for passed in step.pass_on:
            await self._tell(passed)
            self._note(passed)
        if step.back and self._was_lost:
            self._was_lost = False
            await self._tell(Back())

    def _note(self, passed: ServerMessage) -> None:
        """Whether somebody waits for it."""
        ref: int = getattr(passed, "ref", 0)
        if isinstance(passed, Error) and ref == HELLO_REFERENCE:
            self._refused = passed
        elif ref in self._questions:
            self._questions[ref] = self._questions[ref] or passed
        elif isinstance(passed, Room | Left):
            self._back = passed
        else:
            return
        self._tell_news()

    def _welcomed(self, welcome: Welcome) -> None:
        self._tries = 0
        first = self.welcome is None
        self.welcome = welcome
        self._tell_news()
        # An older server makes a guest of whoever watches.
        if welcome.player:
            self._is(welcome.player, welcome.name, welcome.token, first=first)

    def _renamed(self, told: YouAre) -> None:
        # Another player's name was asked for, maybe; and who has no token yet is told all of it by a welcome.
        if self.welcome is not None and told.player == self.welcome.player:
            self._is(told.player, told.name, self.welcome.token)

    def _is(self, player: str, name: str, token: str, *, first: bool = False) -> None:
        """The server says who this is: its word counts, also after the next loss."""
        # It ends in a file and on terminals; of what is not printable nothing is wanted.
        before = self._identity.name if self._identity is not None else ""
        identity = Identity(clean_name(name) or before, token, clean_chat(player) or None)
        if first or identity != self._identity:
            self._identity = identity
            self._keep(identity)

    def _hush(self, nursery: trio.Nursery) -> None:
        """Say nothing for a while, and then again what is unanswered."""
        self._resume.hush()
        self._unanswered.lost()
        keeps_quiet = self._quiet_until is not None
        self._quiet_until = trio.current_time() + QUIET
        if not keeps_quiet:
            nursery.start_soon(self._keep_quiet, nursery)

    async def _keep_quiet(self, nursery: trio.Nursery) -> None:
        while self._quiet_until is not None and self._quiet_until > trio.current_time():  # noqa: ASYNC110  (it may have been put off)
            await trio.sleep_until(self._quiet_until)
        self._quiet_until = None
        if self._follow is not None:
            self._say(self._follow)
        await self._take(self._resume.speak(), nursery)

    async def _ask_until_answered(self) -> None:
        """Nothing more comes of the room until a join was heard, and one may be refused for the moment or dropped as too many."""
        self._rejoining = True
        pause = JOIN_PAUSE
        try:
            while True:
                await trio.sleep(pause)
                wanted = self._resume.wanted()
                if not wanted:
                    return
                for request in wanted:
                    self._say(request)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            self._rejoining = False


def _waits_alone(room: Room) -> bool:
    others = [info for info in room.seats if info.seat != room.seat]
    return room.phase == "waiting" and room.race == 1 and all(info.name is None or info.bot is not None for info in others)


def _hello(identity: Identity) -> Hello:
    return Hello(name=identity.name, token=identity.token, software=f"carpet-race {__version__}", ref=HELLO_REFERENCE)
