"""Shared by the tests of directed tournaments: a server without sockets, and people who play in it over connections in memory.

A person passes every message through the codec, follows every call, and races as their `habit` says. `quick` stops at once, so their race
is always a draw or a loss. `keen` plays the first legal move until there is none.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from functools import partial
from typing import Literal

import trio
from msgspec.structs import replace

from protocol.client_messages import LeaveRace, Move, Ready, Resign, Say, Stop
from protocol.codec import MSGPACK, server_message_decoder
from protocol.errors import CloseCode, Refusal
from protocol.record import Record
from protocol.room_events import Dealt, PlayerView, Room, Started
from protocol.server_messages import Error, ServerMessage
from protocol.tournament_messages import Called, CheckIn, CreateTournament, Decided, EnterTournament, FollowTournament, StartTournament
from protocol.tournaments import TournamentOptions
from server.cluster.loads import Load, Loads
from server.lobby.bans import Bans
from server.lobby.players import Players
from server.rooms.clock import Clock
from server.rooms.member import PlayerConnection, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rooms.requests import Ask, Enter, Exit, RoomMessage
from server.rooms.resumption import Resumption
from server.store.journal import Journal
from server.store.memory import MemoryStore
from server.store.port import Entry, TournamentDecided, TournamentMade
from server.tournaments.commands import Asker, TournamentCommand
from server.tournaments.director import Director
from server.tournaments.ports import TournamentPorts
from server.tournaments.service import TournamentService
from server.tournaments.state import TournamentState
from tests.server.rooms.playing import Hearing, at_once, first_seed, no_ghosts, paired_here

Habit = Literal["quick", "keen", "resigns", "waits", "absent"]

_DECODER = server_message_decoder(MSGPACK)

EPOCH_S = 1_800_000_000

FAST = TournamentOptions(name="Open", check_in_s=0, pause_s=0, no_show_s=30, countdown_s=1, rated=False)


class Person(PlayerConnection, Hearing):
    """One player on a connection in memory. Satisfies `server.rooms.member.PlayerConnection`; `run` does what their habit says."""

    def __init__(self, venue: Venue, name: str, habit: Habit = "quick") -> None:
        self.habit = habit
        self.heard: list[ServerMessage] = []
        self.player = PlayerName("", name)
        self.race = 0
        self.seat: int | None = None
        self.place: str | None = None
        self.venue = venue
        self._todo, self._told = trio.open_memory_channel[ServerMessage](10_000)
        self._refs = 0
        self._token: str | None = None

    async def arrive(self) -> None:
        self.player, self._token = await self.venue.players.arrive(name=self.player.name, token=self._token, connection=self)
        self.venue.nursery.start_soon(self.run)

    async def move(self, venue: Venue) -> None:
        """Go to another server of the place."""
        await self.lose_connection()
        await self.come_to(venue)

    async def come_to(self, venue: Venue) -> None:
        """Connect to a server; the one they were at may be gone."""
        self.venue = venue
        self.player, _ = await venue.players.arrive(name=self.player.name, token=self._token, connection=self)
        venue.tournaments.greet(self.player.id, self)

    # ---- the connection

    @property
    def round_trip_ms(self) -> int:
        return 20

    def shut(self, code: CloseCode, reason: str) -> None:
        raise AssertionError(f"{self.player.name} was shut out: {code} {reason}")

    def post(self, outgoing: Outgoing) -> None:
        message: ServerMessage = _DECODER.decode(outgoing.payload(MSGPACK))
        self.heard.append(message)
        self._todo.send_nowait(message)

    def post_again(self, kind: type[ServerMessage]) -> None:
        """Hear the last message of this kind again, with their present habit."""
        self._todo.send_nowait(self.last(kind))

    # ---- tournaments

    @property
    def asker(self) -> Asker:
        return Asker(self.player.id, self.player.name, self.venue.players.rating(self.player.id), self.place)

    async def ask(self, message: TournamentCommand | CreateTournament) -> Decided | Error:
        """Make a request. Returns the answer."""
        self._refs += 1
        try:
            self.venue.tournaments.ask(self, self.asker, replace(message, ref=self._refs))
        except Refusal as refusal:
            return Error(code=refusal.code, fault=refusal.fault, message=refusal.sentence, path=refusal.path, ref=self._refs)
        ref = self._refs
        with trio.fail_after(600):
            while not (found := [each for each in self.heard if isinstance(each, (Decided, Error)) and each.ref == ref]):
                await self.venue.something()
        return found[0]

    async def do(self, message: TournamentCommand | CreateTournament) -> Decided:
        """Make a request that must not be refused."""
        answer = await self.ask(message)
        assert isinstance(answer, Decided), answer
        return answer

    async def make(self, options: TournamentOptions, *entrants: Person, code: str | None = None) -> str:
        """Make a tournament and have these people enter it. Returns its id."""
        made = await self.do(CreateTournament(options=options, code=code))
        for person in entrants:
            await person.enter(made.id)
        return made.id

    async def enter(self, identity: str) -> None:
        await self.do(EnterTournament(id=identity))

    async def check_in(self, identity: str) -> None:
        await self.do(CheckIn(id=identity, nonce=random.Random(self.player.id).randbytes(16).hex()))

    def follow(self, identity: str, number: int | None = None) -> None:
        self.venue.tournaments.follow(self, FollowTournament(id=identity, round=number), self.venue.nursery.start_soon)

    # ---- races

    async def run(self) -> None:
        """React to messages until cancelled."""
        async for message in self._told:
            if self.habit != "absent":
                try:
                    self._do(message)
                except Refusal:
                    continue  # a room that has just been closed

    def _do(self, message: ServerMessage) -> None:
        match message:
            case Called(code=code):
                self.join(code)
            case Room(phase="waiting", race=race, seat=seat):
                self.race, self.seat = race, seat
                self._to_room(Ready(race=race, nonce="0f" * 16))
            case Room(race=race, seat=seat):
                self.race, self.seat = race, seat
            case Started() if self.habit == "quick":
                assert self.seat is not None
                self._to_room(Stop(race=self.race, seat=self.seat))
            case Started() if self.habit == "resigns":
                assert self.seat is not None
                self._to_room(Resign(race=self.race, seat=self.seat))
            case Started() if self.habit == "keen":
                self._move(0, self._first_moves())
            case PlayerView(ply=ply, state="racing", view=view):
                self._move(ply, view.moves)
            case _:
                pass

    def _first_moves(self) -> tuple[str, ...]:
        return self.last(Dealt).view.moves

    def _move(self, ply: int, moves: tuple[str, ...]) -> None:
        assert self.seat is not None
        self._to_room(Move(race=self.race, seat=self.seat, ply=ply, move=moves[0]))

    def join(self, code: str) -> None:
        # Leave a finished race, like a client.
        room = self.venue.rooms.of(self.player.id)
        there = next((venue for venue in self.venue.others if venue.rooms.has(code)), None)
        if there is not None:
            self.venue.nursery.start_soon(self.move, there)
            return
        if room is not None and room.code != code:
            self._to_room(LeaveRace())
            self.venue.nursery.start_soon(self._join_when_free, code)
            return
        room = self.venue.rooms.find(code)
        room.ask(Enter(self.player, self, 0, 0))

    async def join_again(self) -> None:
        """Return to their seat in a room of this server, on a connection that is new to it."""
        self.join(next(room.code for room in self.venue.rooms if room.summary.holds(self.player.id)))
        await trio.sleep(0.1)

    async def _join_when_free(self, code: str) -> None:
        while self.venue.rooms.of(self.player.id) is not None:
            await self.venue.something()
        try:
            self.join(code)
        except Refusal:
            return

    def _to_room(self, message: RoomMessage) -> None:
        room = self.venue.rooms.of(self.player.id)
        if room is not None:
            room.ask(Ask(self.player, self, message))

    def say(self, message: Say) -> None:
        self._to_room(message)

    async def lose_connection(self) -> None:
        room = self.venue.rooms.of(self.player.id)
        self.venue.players.depart(self.player, self)
        if room is not None:
            room.tell(Exit(self.player, self))


class SlowJournal(Journal):
    """gate: if not None, what every write waits for. node: the one that writes."""

    gate: trio.Event | None = None
    node = 0

    async def write(self, *entries: Entry) -> None:
        if self.gate is not None:
            await self.gate.wait()
        made = (dataclasses.replace(entry, node=self.node) if isinstance(entry, TournamentMade) else entry for entry in entries)
        await super().write(*made)


class Venue:
    """Rooms, players and tournaments on one store. `restarted` makes the next server."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        store: MemoryStore | None = None,
        seed: int = 3,
        bots_wait: bool = False,
        node: int = 0,
    ) -> None:
        """node: not 0 if other venues use the same store at the same time."""
        self.node = node
        self.loads: Loads | None = None
        self.others: list[Venue] = []
        self.nursery = nursery
        self.store = store or MemoryStore()
        # All servers of a test share one time: one that is down for an hour comes back an hour later.
        self.clock = Clock(EPOCH_S + trio.current_time())
        self._entropy = random.Random(seed).randbytes
        self._bots_wait = bots_wait

    async def open(self) -> None:
        self.journal = SlowJournal(self.store)
        self.journal.node = self.node
        self.nursery.start_soon(self.journal.run)
        self.rooms = Rooms(
            self.nursery,
            clock=self.clock,
            entropy=self._entropy,
            software="test",
            journal=self.journal,
            keeps=True,
            find_deal=first_seed,
            rating_changes=partial(self.journal.ask, self.store.rating_changes),
            ghost_lines=no_ghosts,
            max_rooms=10_000,
            bots_wait=self._bots_wait,
        )
        self.nursery.start_soon(self.rooms.run)
        bans = Bans(journal=self.journal, clock=self.clock)
        bans.come_back(self.store.bans())
        self.players = Players(entropy=self._entropy, journal=self.journal, clock=self.clock, bans=bans)
        await Resumption(self.rooms, self.store, self.journal, self.clock).resume()
        if self.node:
            self.loads = Loads(lambda: Load(self.node, len(self.rooms), len(self.players), takes=True, writes=True))
        self.tournaments = TournamentService(
            TournamentPorts(
                clock=self.clock,
                entropy=self._entropy,
                rooms=self.rooms,
                players=self.players,
                journal=self.journal,
                store=self.store,
                pair_next=paired_here,
                beside=at_once,
                ban_of=bans.reason,
                loads=self.loads,
            )
        )
        await self.nursery.start(self.tournaments.run)

    async def person(self, name: str, habit: Habit = "quick") -> Person:
        person = Person(self, name, habit)
        await person.arrive()
        return person

    async def people(self, *names: str, habit: Habit = "quick") -> list[Person]:
        return [await self.person(name, habit) for name in names]

    def director(self, identity: str) -> Director:
        return self.tournaments._directors[identity]

    def state(self, identity: str) -> TournamentState:
        return self.director(identity).state

    async def until(self, reached: Callable[[], bool], *, seconds: float = 100_000) -> None:
        """Wait, on the clock that jumps, until this is so. The longer it takes, the less often it looks."""
        pause = 0.02
        with trio.fail_after(seconds):
            while not reached():
                await trio.sleep(pause)
                pause = min(1.05 * pause, 0.5)

    async def something(self) -> None:
        """Wait a moment on the clock that jumps."""
        await trio.sleep(0.02)

    async def over(self, identity: str) -> TournamentState:
        await self.until(lambda: self.state(identity).is_closed)
        return self.state(identity)

    def log(self, identity: str) -> tuple[TournamentDecided, ...]:
        return self.store.tournament_log(identity)


async def started(venue: Venue, options: TournamentOptions, *people: Person, director: Person | None = None) -> tuple[Person, str]:
    """A tournament that these have entered, running. Its director need not play."""
    director = director or await venue.person("Director")
    identity = await director.make(options, *people)
    await director.do(StartTournament(id=identity))
    return director, identity


def kinds(venue: Venue, identity: str) -> list[str]:
    """Of the log."""
    return [type(chosen.event).__name__ for chosen in venue.state(identity).log]


def records(venue: Venue, identity: str, number: int) -> list[Record]:
    """Of a round, as kept, each checked as anybody could."""
    found = [venue.store.record(run.race) for run in venue.store.runs("round", f"{identity}/{number}")]
    return [record for record in found if record is not None]


def refused(answer: Decided | Error) -> str:
    assert isinstance(answer, Error), answer
    return answer.code
