"""Shared by the tests of rooms: a table with its own virtual clock, and guests who are members in memory.

A guest passes every message through the codec, like a real connection, and keeps what a client keeps: version, seat, ply and view. They
note every gap in the versions; the `table` fixture fails a test that had one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import trio
import trio.testing

from protocol.client_messages import LeaveRace, Move, Ready, Rematch, Resign, Say, Stop
from protocol.codec import JSON, MSGPACK, server_message_decoder
from protocol.room_events import Dealt, PlayerView, Room
from protocol.server_messages import CurrentView, Error, ServerMessage
from protocol.views import RaceOptions, SeatState, View
from server.race.ghosts import GhostLine
from server.race.race_deal import DealWanted
from server.race.rating import Rating, RatingChange, rate_record
from server.race.seat import Seat
from server.rooms.clock import Clock
from server.rooms.driver import Room as ServedRoom
from server.rooms.member import Member, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.ports import FindDeal, GhostWanted
from server.rooms.recovery import LeftRoom
from server.rooms.registry import Rooms
from server.rooms.requests import Ask, Enter, Exit, RoomMessage
from server.store.answers import RunningRace, StandingRace
from server.store.errors import JournalClosed, StoreError
from server.store.port import CommandTaken, Entry, PlayersLeft, RaceAborted, RaceOpened, RaceOver
from server.store.replay import by_room
from server.tournaments.pairing.crosstable import Crosstable
from server.tournaments.pairing.rounds import Round

NONCE = "0f" * 16
SOFTWARE = "carpet-race test"

Kind = TypeVar("Kind")

_DECODERS = {name: server_message_decoder(name) for name in (MSGPACK, JSON)}


class Hearing:
    """The messages that a connection in memory was sent, in order."""

    heard: list[ServerMessage]

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [message for message in self.heard if isinstance(message, kind)]

    def last(self, kind: type[Kind]) -> Kind:
        return self.all(kind)[-1]

    @property
    def codes(self) -> list[str]:
        """The codes of all errors heard."""
        return [error.code for error in self.all(Error)]


class Guest(Member, Hearing):
    """One player and their connection. Satisfies `server.rooms.member.Member`."""

    def __init__(self, table: Table, name: str, *, round_trip_ms: int | None = 20, encoding: str = MSGPACK) -> None:
        self.player = PlayerName(f"id of {name}", name)
        self.heard: list[ServerMessage] = []
        self.gaps: list[str] = []
        self.version = 0
        self.race = 0
        self.seat: int | None = None
        self.ply = 0
        self.state: SeatState = "waiting"
        self.view: View | None = None
        self._table = table
        self._encoding = encoding
        self._round_trip_ms = round_trip_ms

    def another_line(self) -> Guest:
        """The same player on another connection, which knows nothing yet."""
        return self._table.guest(self.player.name)

    # ---- the member

    @property
    def round_trip_ms(self) -> int | None:
        return self._round_trip_ms

    def post(self, outgoing: Outgoing) -> None:
        message: ServerMessage = _DECODERS[self._encoding].decode(outgoing.payload(self._encoding))
        self.heard.append(message)
        version = getattr(message, "version", None)
        if isinstance(version, int):
            if not isinstance(message, Room) and version != self.version + 1:
                self.gaps.append(f"{self.player.name} had version {self.version} and was told {message}")
            self.version = version
        match message:
            case Room(race=race, seat=seat, view=view, seats=seats):
                self.race, self.seat, self.view = race, seat, view
                if seat is not None:
                    self.ply, self.state = seats[seat].ply, seats[seat].state
            case Dealt(seat=seat, view=view):
                self.seat, self.ply, self.view, self.state = seat, 0, view, "racing"
            case PlayerView(ply=ply, view=view, state=state) | CurrentView(ply=ply, view=view, state=state):
                self.ply, self.view, self.state = ply, view, state
            case _:
                pass

    # ---- what they do, carried out by `await table.settle()`

    def enter(self, room: ServedRoom, *, version: int | None = None, ref: int = 0) -> None:
        room.ask(Enter(self.player, self, self.version if version is None else version, ref))

    async def vanish(self, room: ServedRoom) -> None:
        room.tell(Exit(self.player, self))

    def ask(self, room: ServedRoom, message: RoomMessage) -> None:
        room.ask(Ask(self.player, self, message))

    def ready(self, room: ServedRoom, *, race: int | None = None, nonce: str = NONCE) -> None:
        self.ask(room, Ready(race=race or self.race, nonce=nonce))

    def move(self, room: ServedRoom, move: str | None = None, **changes: Any) -> None:
        """Play a move, by default the first legal one, as the next ply of their own seat in the current race."""
        assert self.view is not None
        fields = {"race": self.race, "seat": self.seat, "ply": self.ply, "move": move or self.view.moves[0]}
        room.move(self.player, self, Move(**{**fields, **changes}))

    def stop(self, room: ServedRoom) -> None:
        assert self.seat is not None
        self.ask(room, Stop(race=self.race, seat=self.seat))

    def resign(self, room: ServedRoom) -> None:
        assert self.seat is not None
        self.ask(room, Resign(race=self.race, seat=self.seat))

    def rematch(self, room: ServedRoom, *, race: int | None = None) -> None:
        self.ask(room, Rematch(race=race or self.race))

    def say(self, room: ServedRoom, text: str) -> None:
        self.ask(room, Say(text=text))

    def phrase(self, room: ServedRoom, phrase: str) -> None:
        self.ask(room, Say(phrase=phrase))

    def leave(self, room: ServedRoom) -> None:
        self.ask(room, LeaveRace())

    def seat_in(self, room: ServedRoom) -> Seat:
        seat = room.core.race.seat_of(self.player.id)
        assert seat is not None
        return seat


class Notebook:
    """A journal in memory, which keeps at once what is submitted. Satisfies `server.rooms.ports.JournalPort`.

    error: why nothing can be kept, if so. closed: it takes nothing more. After `hold`, what is submitted waits for `release`.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.error: StoreError | None = None
        self.has_room = True
        self.closed = False
        self._held: list[tuple[Sequence[Entry], Callable[[StoreError | None], None]]] | None = None

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for entries, done in held:
            self.submit(entries, done)

    def submit(self, entries: Sequence[Entry], done: Callable[[StoreError | None], None]) -> None:
        if self.closed:
            raise JournalClosed
        if self._held is not None:
            self._held.append((entries, done))
            return
        if self.error is None:
            self.entries.extend(entries)
        done(self.error)

    async def write(self, *request: Entry) -> None:
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        self.entries.extend(request)

    def running(self, room: str) -> RunningRace:
        """The last race of a room, as a store would return it."""
        return self._running([entry for entry in self.entries if isinstance(entry, RaceOpened) and entry.room == room][-1])

    def left(self, room: str) -> LeftRoom:
        """What a room has left behind to go on with."""
        if standing := self.standing(room):
            (stands,) = standing
            return stands
        ended = {entry.race for entry in self.entries if isinstance(entry, (RaceOver, RaceAborted))}
        opened = [entry for entry in self.entries if isinstance(entry, RaceOpened) and entry.room == room and entry.race not in ended]
        (only,) = by_room(map(self._running, opened))
        return only

    def standing(self, room: str) -> list[StandingRace]:
        """The finished races of a room that somebody is still in, as a store would return them."""
        return [race for race in self._over(room) if race.here]

    def stood_last(self, room: str) -> StandingRace:
        """The race that finished last in a room, as a store would return it."""
        return self._over(room)[-1]

    def _over(self, room: str) -> list[StandingRace]:
        opened = {entry.race: entry for entry in self.entries if isinstance(entry, RaceOpened) and entry.room == room}
        found: list[StandingRace] = []
        for over in self.entries:
            if isinstance(over, RaceOver) and over.race in opened:
                left = [entry for entry in self.entries if isinstance(entry, PlayersLeft) and entry.race == over.race]
                found.append(
                    StandingRace(
                        opened=opened[over.race],
                        record=over.record,
                        players=over.players,
                        here=frozenset(over.here).difference(*(entry.seats for entry in left)),
                        gone=frozenset(over.gone).union(*(entry.seats for entry in left if entry.gave_up)),
                        changes=self.changes(over.race),
                        ended_at_ms=over.at_ms,
                    )
                )
        return found

    def _running(self, opened: RaceOpened) -> RunningRace:
        taken = [entry for entry in self.entries if isinstance(entry, CommandTaken) and entry.race == opened.race]
        assert [command.sequence for command in taken] == list(range(1, len(taken) + 1))
        return RunningRace(opened, tuple(taken))

    async def rating_changes(self, race: str) -> tuple[RatingChange, ...]:
        """What this race did to ratings, in answer to a room."""
        await trio.lowlevel.checkpoint()
        return self.changes(race)

    def changes(self, race: str) -> tuple[RatingChange, ...]:
        """What this race did to ratings, worked out like a store does: from the finished races, in the order they were written."""
        known: dict[str, Rating] = {}
        for entry in self.entries:
            if isinstance(entry, RaceOver):
                changes = rate_record(entry.record, known)
                if entry.race == race:
                    return changes
                known.update((seat.player, change.after) for seat, change in zip(entry.record.seats, changes, strict=False))
        return ()


async def first_seed(wanted: DealWanted, place: str | None) -> int | None:
    """A search to which every deal is good enough."""
    del wanted, place
    return 0


async def at_once(make: Callable[[], Kind], /) -> Kind:
    """Replaces a thread."""
    await trio.lowlevel.checkpoint()
    return make()


async def paired_here(tournament: Crosstable) -> Round | None:
    """Replaces a worker."""
    await trio.lowlevel.checkpoint()
    return tournament.next_round()


async def no_ghosts(wanted: tuple[GhostWanted, ...]) -> tuple[GhostLine, ...]:
    """For a server that keeps no records, and so has no ghosts."""
    del wanted
    await trio.lowlevel.checkpoint()
    return ()


class Table:
    """Rooms, their clock, and everybody around."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        seed: int = 1,
        max_rooms: int = 20,
        max_rooms_per_place: int = 0,
        bots_wait: bool = False,
        clock: Clock | None = None,
        keeps: bool = False,
        find_deal: FindDeal = first_seed,
    ) -> None:
        self.nursery = nursery
        self.clock = clock or Clock()
        self.entropy = random.Random(seed).randbytes
        self.journal = Notebook()
        self.rooms = Rooms(
            nursery,
            clock=self.clock,
            entropy=self.entropy,
            software=SOFTWARE,
            journal=self.journal,
            keeps=keeps,
            find_deal=find_deal,
            rating_changes=lambda race: self.journal.rating_changes(race),
            ghost_lines=no_ghosts,
            max_rooms=max_rooms,
            max_rooms_per_place=max_rooms_per_place,
            bots_wait=bots_wait,
        )
        nursery.start_soon(self.rooms.run)
        self.guests: list[Guest] = []

    def guest(self, name: str, *, round_trip_ms: int | None = 20, encoding: str = MSGPACK) -> Guest:
        guest = Guest(self, name, round_trip_ms=round_trip_ms, encoding=encoding)
        self.guests.append(guest)
        return guest

    async def settle(self) -> None:
        """Run until everybody waits for a message or for time to pass."""
        await trio.testing.wait_all_tasks_blocked()

    async def until(self, done: Callable[[], bool]) -> None:
        """Let time pass until this is so."""
        while not done():  # noqa: ASYNC110  (what is waited for tells nobody)
            await trio.sleep(0.05)

    async def matched(self, *guests: Guest) -> ServedRoom:
        """A room that a quick match has opened for these guests, who are on its seats."""
        room = self.rooms.open(RaceOptions(), matched=tuple(guest.player.id for guest in guests))
        for guest in guests:
            guest.enter(room)
        await self.settle()
        return room

    async def seated(self, *guests: Guest, **options: Any) -> ServedRoom:
        """A room with these guests on its seats, in this order. By default it has no other seats."""
        bots = len(options.get("bots", ()))
        room = self.rooms.open(RaceOptions(**{"seats": len(guests) + bots, **options}))
        for guest in guests:
            guest.enter(room)
        await self.settle()
        return room

    async def racing(self, *guests: Guest, **options: Any) -> ServedRoom:
        """A room where the race between these guests has just begun."""
        room = await self.seated(*guests, **options)
        await self.begin(room, *guests)
        return room

    async def begin(self, room: ServedRoom, *guests: Guest) -> None:
        for guest in guests:
            guest.ready(room)
        await self.settle()
        await trio.sleep(room.options.countdown_s + 0.01)
        await self.settle()
        assert room.core.race.phase == "racing"

    async def over(self, *guests: Guest, **options: Any) -> ServedRoom:
        """A room whose race is over: every guest has stopped."""
        room = await self.racing(*guests, **options)
        for guest in guests:
            guest.stop(room)
        await self.settle()
        assert room.core.race.phase == "over"
        return room


def closest_first(table: Table) -> list[ServedRoom]:
    """The public races that are being run, found by a look at all rooms."""
    ranked = [(rank, room.code, room) for room in table.rooms if room.options.public and (rank := room.summary.lead_rank) is not None]
    return [room for _, _, room in sorted(ranked)]
