"""Scripted entrants of a tournament and its director, over real sockets, each with a connection that comes back by itself.

An entrant knows only what they are told. They enter, check in, go wherever they are called, play the first legal move `strength` times, and
stop.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import trio

from client.connection.client import NetLink, open_link
from client.connection.errors import LinkError
from client.connection.events import Identity, Link, RoundTrip
from protocol.client_messages import JoinRace, LeaveRace, Move, Ready, Stop
from protocol.room_events import Dealt, Ended, PlayerView, Room, Started
from protocol.server_messages import CurrentView, Error, Left, Welcome
from protocol.tournament_messages import (
    Called,
    CheckIn,
    CreateTournament,
    Decided,
    EnterTournament,
    FollowTournament,
    StartTournament,
    Tournament,
)
from protocol.tournaments import LoggedDecision, TournamentOptions
from protocol.views import View

STATE_ERRORS = {
    "race/over",
    "race/seat-ended",
    "race/not-waiting",
    "race/not-started",
    "race/stale-ply",
    "race/future-ply",
    "room/closed",
    "room/no-such-code",
    "room/not-in-one",
}
"""Errors that a late message may meet at a server that was killed and came back, or in a race that somebody else has just ended."""

PASSING_ERRORS = {"server/busy", "server/stopping", "server/cannot-write", "server/not-kept"}
"""Errors that may occur while a race is taken over or the database is down. They ask again after `AGAIN_S`."""

AGAIN_S = 1.0

PATIENCE_S = 900
"""How long to wait for a state of a tournament."""


@asynccontextmanager
async def persistent_link(url: str, identity: Identity) -> AsyncIterator[NetLink]:
    """A link that keeps trying even its very first connection: on a busy machine a server of a cluster may lose its lease just then, and
    start again.
    """
    while True:
        async with AsyncExitStack() as tried:
            with suppress(LinkError):
                link = await tried.enter_async_context(open_link(url, identity))
                # The link says hello once. If that is refused because nothing can be written now, the link stays open but is of no use.
                await link.entered()
                stack = tried.pop_all()
                break
        await trio.sleep(0.2)
    async with stack:
        yield link


class Hold:
    """Keeps tables of a tournament racing until it is let go: until then nobody there stops. table: None for all tables of the round."""

    def __init__(self, number: int, table: int | None = None) -> None:
        self._round = number
        self._table = table
        self._over = trio.Event()

    def keeps(self, number: int, table: int) -> bool:
        return number == self._round and self._table in (None, table) and not self._over.is_set()

    def let_go(self) -> None:
        self._over.set()

    async def over(self) -> None:
        await self._over.wait()


@dataclass(slots=True)
class Entrant:
    """strength: how many moves they play. called: the races they were called to. holds: what may keep them from stopping.

    copies: as for `Referee`; a server may then be unable to take a check-in.
    """

    name: str
    strength: int
    holds: tuple[Hold, ...] = ()
    copies: bool = False
    player: str = ""
    called: set[tuple[int, int, int]] = field(default_factory=set)
    entered: trio.Event = field(default_factory=trio.Event)
    checked_in: trio.Event = field(default_factory=trio.Event)
    unexpected: list[Error] = field(default_factory=list)
    _wanted: str | None = None  # the code of the room they were called to
    _room: str | None = None
    _race: int = 1
    _seat: int | None = None
    _at: tuple[int, int] = (0, 0)  # round and table
    _held: Stop | None = None
    _heard: str = "nothing"
    _heard_at: float = field(default_factory=trio.current_time)

    @property
    def waits(self) -> str:
        """Where they are and what they heard, in one line, if they are called to a table; else empty."""
        where = f"called to {self._wanted}, in {self._room}, heard {self._heard} {trio.current_time() - self._heard_at:.0f} s ago"
        return f"{self.name}: {where}" if self._wanted is not None else ""

    async def play(self, url: str, identity: str, start: trio.Event) -> None:
        """Play until cancelled. start: when to check in."""
        async with persistent_link(url, Identity(self.name)) as link, trio.open_nursery() as nursery:
            nursery.start_soon(self._check_in, link, identity, start)
            for hold in self.holds:
                nursery.start_soon(self._stop_after, link, hold)
            async for event in link.events:
                if not isinstance(event, RoundTrip):
                    self._heard, self._heard_at = getattr(event, "code", "") or type(event).__name__, trio.current_time()
                if isinstance(event, Error) and event.code in PASSING_ERRORS and (self.copies or event.ref != 2):
                    nursery.start_soon(self._go_again, link, identity, start)
                else:
                    self._hear(link, event)
                if isinstance(event, Welcome):
                    self._ask(link, identity, start)

    async def _go_again(self, link: Link, identity: str, start: trio.Event) -> None:
        await trio.sleep(AGAIN_S)
        self._ask(link, identity, start)
        if self._wanted is not None and self._room is None:
            link.send(JoinRace(code=self._wanted))

    async def _check_in(self, link: Link, identity: str, start: trio.Event) -> None:
        await start.wait()
        self._ask(link, identity, start)

    def _ask(self, link: Link, identity: str, start: trio.Event) -> None:
        """Ask for what has not been granted. A request may be lost with its connection, and the link repeats none about tournaments."""
        if not self.entered.is_set():
            self._asked += 1
            link.send(EnterTournament(id=identity, ref=1))
        elif start.is_set() and not self.checked_in.is_set():
            link.send(CheckIn(id=identity, nonce=secrets.token_hex(16), ref=2))

    async def _stop_after(self, link: Link, hold: Hold) -> None:
        await hold.over()
        if self._held is not None and not self._is_held():
            link.send(self._held)

    def _is_held(self) -> bool:
        return any(hold.keeps(*self._at) for hold in self.holds)

    def _hear(self, link: Link, event: object) -> None:  # noqa: C901  (a case for each message, and no more in any)
        match event:
            case Welcome(player=player, name=name):
                # An earlier hello, whose answer was lost, may have taken the name.
                self.player, self.name = player, name
            case Decided(ref=1):
                self.entered.set()
            case Decided(ref=2):
                self.checked_in.set()
            case Called(round=number, table=table, race=race, code=code):
                self.called.add((number, table, race))
                if self._at != (number, table):
                    self._at, self._held = (number, table), None
                self._go(link, code)
            case Left():
                self._room = None
                if self._wanted is not None:
                    link.send(JoinRace(code=self._wanted))
            case Room(code=code, race=race, seat=seat, phase=phase, view=view, seats=seats):
                self._room, self._race, self._seat = code, race, seat
                if phase == "over" and self._wanted != code:
                    # They are back at a race that ended while their connection was lost.
                    link.send(LeaveRace())
                elif phase == "waiting":
                    link.send(Ready(race=race, nonce=secrets.token_hex(16)))
                elif phase == "racing" and seat is not None and view is not None and seats[seat].state == "racing":
                    self._move(link, seats[seat].ply, view)
            case Dealt(view=view):
                self._first = view
            case Started():
                self._move(link, 0, self._first)
            case PlayerView(ply=ply, view=view, state="racing") | CurrentView(ply=ply, view=view, state="racing"):
                self._move(link, ply, view)
            case Ended():
                if self._wanted == self._room:
                    self._wanted = None
                link.send(LeaveRace())
            case Error(code="room/already-in-one"):
                # They had left that race, but the server was killed before it had stored that.
                link.send(LeaveRace())
            case Error(code="room/not-in-one") if self._wanted is not None and self._room != self._wanted:
                # They had left, but the answer was lost with the connection.
                self._room = None
                link.send(JoinRace(code=self._wanted))
            case Error(code="tournament/refused" | "tournament/full", ref=1) if self._asked > 1:
                # They have entered; only the answer was lost.
                self.entered.set()
            case Error(code=code) if code not in STATE_ERRORS and not code.startswith("wire/"):
                self.unexpected.append(event)
            case _:
                pass

    _first: View | None = None
    _asked: int = 0  # how often they asked to enter

    def _go(self, link: Link, code: str) -> None:
        self._wanted = code
        if self._room is not None and self._room != code:
            link.send(LeaveRace())
        elif self._room is None:
            link.send(JoinRace(code=code))

    def _move(self, link: Link, ply: int, view: View | None) -> None:
        assert self._seat is not None
        assert view is not None
        if ply < self.strength and view.moves:
            link.send(Move(race=self._race, seat=self._seat, ply=ply, move=view.moves[0]))
        elif self._is_held():
            # This outlives the connection: when they are back they look here again.
            self._held = Stop(race=self._race, seat=self._seat)
        else:
            link.send(Stop(race=self._race, seat=self._seat))


@dataclass(slots=True)
class Referee:
    """The director: makes the tournament, starts it, and follows it. log: every decision they were told, by number.

    copies: whether there are several servers, of which one may learn of a decision later than another.
    """

    copies: bool = False
    made: trio.Event = field(default_factory=trio.Event)
    identity: str = ""
    seen: Tournament | None = None
    log: dict[int, LoggedDecision] = field(default_factory=dict)
    went_back: list[str] = field(default_factory=list)
    told_at: float = field(default_factory=trio.current_time)
    _changed: trio.Event = field(default_factory=trio.Event)
    _link: Link | None = None
    _starts: bool = False  # the start was asked for, and not granted yet
    _is_lost: bool = False  # whether a request may have been lost with the connection before

    async def direct(self, url: str, options: TournamentOptions) -> None:
        """Direct the tournament until cancelled."""
        async with persistent_link(url, Identity("Referee")) as link, trio.open_nursery() as nursery:
            self._link = link
            async for event in link.events:
                match event:
                    case Decided(ref=1, id=identity) if not self.identity:
                        self.identity = identity
                        link.send(FollowTournament(id=identity))
                        self.made.set()
                    case Decided(ref=2):
                        self._starts = False
                    case Welcome() if self.identity:
                        # A new connection follows nothing.
                        link.send(FollowTournament(id=self.identity))
                        self._is_lost = True
                    case Welcome():
                        link.send(CreateTournament(options=options, ref=1))
                    case Error(code=code, ref=1 | 2) if code in PASSING_ERRORS:
                        nursery.start_soon(self._ask_again, link, options)
                    case Tournament():
                        self._note(event)
                        if self._is_lost and event.phase == "registration":
                            # The phase shows that the request to start was lost. Otherwise, a second one would begin the first round.
                            self._ask_to_start()
                        self._is_lost = False
                    case _:
                        pass

    async def _ask_again(self, link: Link, options: TournamentOptions) -> None:
        await trio.sleep(AGAIN_S)
        if not self.identity:
            link.send(CreateTournament(options=options, ref=1))
        self._ask_to_start()

    def start(self) -> None:
        self._starts = True
        self._ask_to_start()

    def _ask_to_start(self) -> None:
        assert self._link is not None
        if self._starts:
            self._link.send(StartTournament(id=self.identity, ref=2))

    def _note(self, told: Tournament) -> None:
        self.told_at = trio.current_time()
        is_behind = self.seen is not None and told.decisions < self.seen.decisions
        if is_behind and not self.copies:
            assert self.seen is not None
            self.went_back.append(f"{self.seen.decisions} decisions were told, then {told.decisions}")
        for entry in told.log:
            known = self.log.setdefault(entry.number, entry)
            if known != entry:
                self.went_back.append(f"{known} was told, then {entry}")
        if is_behind:
            return
        self.seen = told
        self._changed.set()
        self._changed = trio.Event()

    async def until(self, phase: str | None = None, *, round: int = 0, results: int = 0) -> Tournament:  # noqa: A002  (as the wire calls it)
        """Wait until the tournament is reported in this state. results: at least this many in that round, which must not be over; a later
        round will do, since not every moment is reported. Only a round under a `Hold` is sure to be reported while it runs.
        """
        with trio.fail_after(PATIENCE_S):
            while True:
                seen = self.seen
                if seen is not None and (phase is None or seen.phase == phase) and seen.round >= round:
                    shown = seen.rounds[round - 1] if results else None
                    if shown is None or seen.round > round or (shown.secret is None and shown.tables - shown.open >= results):
                        return seen
                await self._changed.wait()
