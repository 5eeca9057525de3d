"""All rooms of the server by code, and the room in which each player holds a seat.

Opens rooms and forgets them. Knows nothing of what happens in one. To hear of changes, append a function to `on_change` or another of the
lists of listeners.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import trio
from msgspec.structs import replace as with_fields

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.room_events import Room as RoomMessage
from protocol.server_messages import Rated
from protocol.text import counted, read_code
from protocol.views import RaceOptions
from server.race.rating import Rating, RatingChange
from server.race.shared_deal_spec import SharedDealSpec
from server.race.start_position import StartPosition
from server.rooms.bots import THOUGHTS
from server.rooms.clock import Clock
from server.rooms.closest_races import ClosestRaces
from server.rooms.codes import new_code
from server.rooms.deadlines import Deadlines
from server.rooms.driver import Room, RoomPorts
from server.rooms.effects import Unmatched
from server.rooms.options import check_options
from server.rooms.outgoing import Outgoing
from server.rooms.ports import FindDeal, GhostLines, JournalPort, RatingChanges
from server.rooms.race_sequence import RoomSetup
from server.rooms.recovery import EarlierRoom, LeftRoom, earlier_room
from server.rooms.requests import CloseRoom
from server.rules.position import IllegalMove
from server.store.answers import StandingRace
from server.store.availability import Outage
from server.store.replay import RunningRoom

logger = logging.getLogger("carpet.rooms")


class Rooms:
    """All rooms. Needs the nursery in which side jobs run; `run` is its one task."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        clock: Clock,
        entropy: Callable[[int], bytes],
        software: str,
        journal: JournalPort,
        find_deal: FindDeal,
        rating_changes: RatingChanges,
        ghost_lines: GhostLines,
        keeps: bool = False,
        max_rooms: int = 20_000,
        max_rooms_per_place: int = 0,
        bots_wait: bool = True,
    ) -> None:
        """entropy(n): n random bytes fit for secrets. find_deal: for races that want a winnable deal. rating_changes: asked about each race
        that counts, once it is kept. keeps: whether races go on with the next server.

        max_rooms: beyond it, opening is refused with `server/full`. max_rooms_per_place: the same for rooms opened from one place, with
        `room/too-many`; 0 for no limit.
        """
        self._entropy = entropy
        self._setup = partial(RoomSetup, entropy=entropy, wall_ms=clock.wall_ms, software=software, keeps=keeps)
        self._keeps = keeps
        self._max_rooms = max_rooms
        self._max_rooms_per_place = max_rooms_per_place
        self.by_place: Counter[str] = Counter()
        """How many open rooms each place has opened."""
        self.elsewhere: Callable[[str], int] = lambda _: 0
        """How many a place has opened on other servers."""
        self._rooms: dict[str, Room] = {}
        self._seated: dict[str, Room] = {}
        self._players: dict[Room, set[str]] = {}
        self._of_tournaments: dict[str, set[Room]] = {}
        self._stopping = False
        self.draining: str | None = None
        """Why players may begin nothing new here, in the host's words, although races go on; None if they may."""
        self._emptied = trio.Event()
        self.closest = ClosestRaces()
        """The public races among them that are being run, and those of other servers."""
        # Listeners are functions appended to one of these lists. They must not block or raise.
        self.on_open: list[Callable[[], None]] = []
        """A new room was opened."""
        self.on_room_change: list[Callable[[Room], None]] = [self.closest.changed]
        """This room was opened or closed, or its seats or phase have changed."""
        self.on_change: list[Callable[[], None]] = []
        """The same for any room; called after all of `on_room_change`."""
        self.on_seat: list[Callable[[Room, str], None]] = []
        """This player has taken a seat in this room."""
        self.on_rated: list[Callable[[str, Rating, Outgoing | None], None]] = []
        """A race has changed this player's rating to this one. With what to tell them if they have left its room: None if they have not."""
        self.on_over: list[Callable[[Room, Record], None]] = []
        """The race in this room, which was opened for a shared deal, is over, and its record is kept."""
        self.on_unmatched: list[Callable[[Room, Unmatched], None]] = []
        """This player has left this race of a quick match, which never began, to look for another opponent."""
        self.on_outage: list[Callable[[], None]] = []
        """Nothing can be written: time stands still."""
        self.on_clocks_right: list[Callable[[], None]] = []
        """Time stood still and runs again: times told before are wrong by as long as that lasted."""
        self._journal = journal
        self.in_outage = False
        """The journal cannot write."""
        self._clock = clock
        self._deadlines = Deadlines(clock)
        self._ports = RoomPorts(
            clock=clock,
            entropy=entropy,
            owner=self,
            journal=journal,
            nursery=nursery,
            deadlines=self._deadlines,
            rating_changes=rating_changes,
            find_deal=find_deal,
            bots_wait=bots_wait,
            thoughts=trio.CapacityLimiter(THOUGHTS),
            ghost_lines=ghost_lines,
        )

    async def run(self) -> None:
        """Wake rooms that have something to do, until cancelled. If rooms are still open then, something else has failed: close them."""
        try:
            await self._deadlines.run()
        finally:
            self._stopping = True
            for room in list(self._rooms.values()):
                room.break_off()

    def __iter__(self) -> Iterator[Room]:
        return iter(self._rooms.values())

    def __len__(self) -> int:
        return len(self._rooms)

    def open(
        self,
        options: RaceOptions,
        *,
        spec: SharedDealSpec | None = None,
        secret: bytes | None = None,
        start_position: StartPosition | None = None,
        place: str | None = None,
        matched: tuple[str, ...] = (),
    ) -> Room:
        """Open a room. spec, secret: those of the shared deal for which it is opened; the secret is kept already. start_position: where its
        races begin, if not at a deal. place: the part of its opener's address that counts as one place. matched: the players for whom a
        quick match opens it.

        Raises Refusal if the server is full, stopping, or behind with writing, or if the options do not fit together.
        """
        if self._stopping:
            raise Refusal(ErrorCode.SERVER_STOPPING)
        if self.in_outage:
            raise Refusal(ErrorCode.CANNOT_WRITE)
        if not self._journal.has_room:
            raise Refusal(ErrorCode.SERVER_BUSY)
        if len(self._rooms) >= self._max_rooms:
            raise Refusal(ErrorCode.SERVER_FULL)
        if place is not None and 0 < self._max_rooms_per_place <= self.by_place[place] + self.elsewhere(place):
            raise Refusal(ErrorCode.TOO_MANY_ROOMS)
        check_options(options)
        code = new_code(self._entropy)
        while code in self._rooms:
            code = new_code(self._entropy)
        setup = self._setup(
            code=code, options=options, spec=spec, secret=secret, start_position=start_position, place=place, matched=matched
        )
        room = self._begin(Room(setup, self._ports))
        for listener in self.on_open:
            listener()
        return room

    @property
    def takes_more(self) -> bool:
        """Whether another room can be opened now."""
        can_write = not self._stopping and not self.in_outage and self._journal.has_room
        return can_write and self.draining is None and len(self._rooms) < self._max_rooms

    def resume(self, left: LeftRoom) -> None:
        """Resume a room of an earlier server. Resume rooms with a running race first: a player with a seat there can have no other.

        Raises ValueError, with a sentence, if the room cannot go on.
        """
        opened = left.running.opened if isinstance(left, RunningRoom) else left.opened
        if opened.room in self._rooms:
            raise ValueError(f"there is another race in room {opened.room}")
        try:
            check_options(opened.options)
            earlier = earlier_room(left, is_elsewhere=self._seated.__contains__)
            room = self._room_of(earlier)
        except (Refusal, LookupError, ValueError, IllegalMove) as error:
            raise ValueError(f"its commands cannot be taken again: {error}") from error
        self._begin(room)
        if not room.has_begun and not room.is_closed:
            # It waits for its ghosts. Meanwhile, its people cannot take a seat elsewhere.
            for player in earlier.people.values():
                self.seat_taken(room, player)

    def look_back(self, left: StandingRace) -> RoomMessage:
        """What somebody without a seat is shown of a room that is gone, as it stood after its last race. Raises ValueError, as `resume`."""
        try:
            # With the names of all who raced, wherever they are now.
            earlier = earlier_room(replace(left, here=frozenset(range(len(left.players)))), is_elsewhere=lambda _: False)
            room = self._room_of(earlier)
        except (Refusal, LookupError, ValueError, IllegalMove) as error:
            raise ValueError(f"it cannot be shown any more: {error}") from error
        shown = room.core.shown(self._clock.now_ms(), with_boards=False).room
        if shown.series is not None and not shown.series.over:
            # The room was closed between two races, so there will be no next one, and nobody has won.
            return with_fields(shown, series=None)
        return shown

    def _room_of(self, earlier: EarlierRoom) -> Room:
        opened = earlier.opened
        setup = self._setup(
            code=opened.room,
            options=opened.options,
            spec=opened.spec,
            start_position=opened.start_position,
            matched=opened.matched,
            earlier=earlier,
        )
        return Room(setup, self._ports)

    def _begin(self, room: Room) -> Room:
        self._rooms[room.code] = room
        self._players[room] = set()
        if room.spec is not None and room.spec.tournament:
            self._of_tournaments.setdefault(room.spec.tournament, set()).add(room)
        if room.place is not None:
            self.by_place[room.place] += 1
        room.begin()
        return room

    def find(self, code: str) -> Room:
        """The room with this code, given as somebody typed it. Raises Refusal `room/no-such-code`."""
        room = self._rooms.get(read_code(code))
        if room is None:
            raise Refusal(ErrorCode.NO_SUCH_ROOM)
        return room

    def has(self, code: str) -> bool:
        """Whether there is a room with this code, given as somebody typed it."""
        return read_code(code) in self._rooms

    def seats(self) -> dict[str, str]:
        """Every player who holds a seat, with the code of the room."""
        return {player: room.code for player, room in self._seated.items()}

    def of(self, player: str) -> Room | None:
        """The room in which this player holds a seat, if any."""
        return self._seated.get(player)

    def check_free(self, player: str) -> None:
        """Raises Refusal `room/already-in-one` for a player who holds a seat in a room that is not about to be gone."""
        room = self._seated.get(player)
        if room is not None and not room.is_closed:
            raise Refusal(ErrorCode.ALREADY_IN_ROOM, f"its code is {room.code}")

    def given_up_for(self, options: RaceOptions, player: str) -> Room | None:
        """The room that this player leaves for a race with these options, if nobody else waits in it."""
        room = self._seated.get(player)
        if room is None or room.is_closed or room.spec is not None or room.options == options or not room.has_begun:
            return None
        others = any(seat.player not in (None, player) and seat.bot is None for seat in room.summary.seats)
        return room if room.summary.phase == "waiting" and room.summary.number == 1 and not others else None

    def of_tournament(self, tournament: str) -> tuple[Room, ...]:
        """The rooms of its tables."""
        return tuple(self._of_tournaments.get(tournament, ()))

    async def stop(self) -> int:
        """Open no more rooms and close the open ones; returns when the last one has told its members. Gives how many races are to go on at
        the next server.
        """
        self._stopping = True
        races = sum(room.is_kept and room.summary.phase != "over" for room in self._rooms.values())
        for room in list(self._rooms.values()):
            room.tell(CloseRoom())
        while self._rooms:
            await self._emptied.wait()
        if self.in_outage and races:
            logger.warning(
                "the database could not be written before the end; the next server carries on with %s from what was acknowledged",
                counted(races, "race"),
            )
        return races if self._keeps else 0

    def outage(self, outage: Outage | None) -> None:
        """The journal cannot write, or (None) it can again. During an outage no time passes in rooms, and none are opened."""
        self.in_outage = outage is not None
        if outage is not None:
            self._clock.pause("nothing can be kept", outage.since)
            for room in list(self._rooms.values()):
                room.tell_of_outage()
            for listener in self.on_outage:
                listener()
        else:
            self._clock.resume("nothing can be kept")
            self._ports.nursery.start_soon(self.set_clocks_right)

    async def set_clocks_right(self) -> None:
        """Tell everybody who sees a race how long it has run: the clocks they see have run on."""
        # Wait until the server's clock runs again.
        await trio.sleep_until(self._clock.deadline(self._clock.now_ms()))
        if not self.in_outage:
            for listener in self.on_clocks_right:
                listener()
        for room in list(self._rooms.values()):
            if self.in_outage:
                return
            room.set_clocks_right()
            await trio.lowlevel.checkpoint()

    # ---- what rooms tell (RoomOwner)

    def seat_taken(self, room: Room, player: str) -> None:
        self._seated[player] = room
        self._players[room].add(player)
        for listener in self.on_seat:
            listener(room, player)

    def seat_left(self, room: Room, player: str) -> None:
        self._players[room].discard(player)
        # They may already hold a seat in another room.
        if self._seated.get(player) is room:
            del self._seated[player]

    def changed(self, room: Room) -> None:
        for each in self.on_room_change:
            each(room)
        for listener in self.on_change:
            listener()

    def over(self, room: Room, record: Record) -> None:
        for listener in self.on_over:
            listener(room, record)

    def unmatched(self, room: Room, unmatched: Unmatched) -> None:
        for listener in self.on_unmatched:
            listener(room, unmatched)

    def rated(self, room: Room, record: Record, changes: Sequence[RatingChange]) -> None:
        won = tuple(seat.name for seat in record.seats if seat.place == 1)
        for seat, change in zip(record.seats, changes, strict=True):
            is_here = self._seated.get(seat.player) is room
            news = None if is_here else Outgoing(Rated(code=room.code, race=record.id, won=won, rating=change.shown))
            for listener in self.on_rated:
                listener(seat.player, change.after, news)

    def gone(self, room: Room) -> None:
        if self._rooms.get(room.code) is not room:
            return
        del self._rooms[room.code]
        if room.spec is not None and room.spec.tournament:
            tables = self._of_tournaments[room.spec.tournament]
            tables.discard(room)
            if not tables:
                del self._of_tournaments[room.spec.tournament]
        if room.place is not None:
            self.by_place[room.place] -= 1
            if not self.by_place[room.place]:
                del self.by_place[room.place]
        # However it ended, nobody may stay bound to a room that is gone: they could never open or join another.
        for player in self._players.pop(room):
            if self._seated.get(player) is room:
                del self._seated[player]
        if not self._rooms:
            self._emptied.set()
            self._emptied = trio.Event()
        self.changed(room)
