"""All rooms of the server by code, and the room in which each player holds a seat.

Opens rooms, runs their tasks and forgets them. Knows nothing of what happens in one; whoever wants to hear that the list has changed
says so once, with `on_change`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import trio

from protocol.errors import ErrorCode, Refusal
from protocol.record import Record
from protocol.views import RaceOptions
from server.race.rating import Rating
from server.race.start_position import Opening
from server.rooms.abort_retry_queue import Owed
from server.rooms.bot_player import THOUGHTS
from server.rooms.clock import Clock
from server.rooms.codes import new_code, read_code
from server.rooms.ports import FindDeal, GhostLines, Journal, Purpose, RatingChanges, RoomPorts, no_ghosts
from server.rooms.recovery import LeftRoom, earlier_room
from server.rooms.requests import Close
from server.rooms.room import Room
from server.rules.position import IllegalMove
from server.store.port import Entry
from server.store.replay import RunningRoom

logger = logging.getLogger("carpet.rooms")


class Rooms:
    """Give it the nursery that its rooms live in; that nursery's owner ends them."""

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        clock: Clock,
        entropy: Callable[[int], bytes],
        software: str,
        journal: Journal,
        find_deal: FindDeal,
        rating_changes: RatingChanges,
        ghost_lines: GhostLines = no_ghosts,
        keeps: bool = False,
        max_rooms: int = 20_000,
        bots_wait: bool = True,
    ) -> None:
        """entropy(n): n random bytes fit for secrets. find_deal: for races that want a winnable one. rating_changes: asked of races that
        count, once they are kept. keeps: races go on with the next server.

        max_rooms: past it, opening is refused with `server/full`.
        """
        self._nursery = nursery
        self._entropy = entropy
        self._max_rooms = max_rooms
        self._rooms: dict[str, Room] = {}
        self._seated: dict[str, Room] = {}
        self._players: dict[Room, set[str]] = {}
        self._stopping = False
        self._emptied = trio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._room_listeners: list[Callable[[Room], None]] = []
        self._seat_listeners: list[Callable[[Room, str], None]] = []
        self._rating_listeners: list[Callable[[str, Rating], None]] = []
        self._over_listeners: list[Callable[[Room, Record], None]] = []
        self._owed = Owed(nursery, journal)
        self._ports = RoomPorts(
            clock=clock,
            entropy=entropy,
            owner=self,
            journal=journal,
            keeps=keeps,
            rating_changes=rating_changes,
            find_deal=find_deal,
            bots_wait=bots_wait,
            thoughts=trio.CapacityLimiter(THOUGHTS),
            software=software,
            ghost_lines=ghost_lines,
        )

    def __iter__(self) -> Iterator[Room]:
        return iter(self._rooms.values())

    def __len__(self) -> int:
        return len(self._rooms)

    def open(self, options: RaceOptions, purpose: Purpose | None = None, *, opening: Opening | None = None) -> Room:
        """A new room, its task started. purpose: for what, other than its opener's wish. opening: from where it begins, where not at a
        deal. Raises Refusal when the server is full or
        stopping, or the options do not fit.
        """
        if self._stopping:
            raise Refusal(ErrorCode.SERVER_STOPPING)
        if len(self._rooms) >= self._max_rooms:
            raise Refusal(ErrorCode.SERVER_FULL)
        code = new_code(self._entropy)
        while code in self._rooms:
            code = new_code(self._entropy)
        return self._start(Room(code=code, options=options, ports=self._ports, purpose=purpose, opening=opening))

    def go_on(self, left: LeftRoom) -> None:
        """A room of an earlier server goes on. Those in which a race runs first: a player's seat there keeps him from any other.

        Raises ValueError, with a sentence, for one that cannot.
        """
        opened = left.running.opened if isinstance(left, RunningRoom) else left.opened
        if opened.room in self._rooms:
            raise ValueError(f"there is another race in room {opened.room}")
        try:
            earlier = earlier_room(left, is_elsewhere=self._seated.__contains__)
            room = Room(code=opened.room, options=opened.options, ports=self._ports, earlier=earlier)
        except (Refusal, LookupError, ValueError, IllegalMove) as error:
            raise ValueError(f"its commands cannot be taken again: {error}") from error
        self._start(room)
        for player in earlier.people.values():
            self.seat_taken(room, player)

    def _start(self, room: Room) -> Room:
        self._rooms[room.code] = room
        self._players[room] = set()
        self._nursery.start_soon(self._run, room, name=f"room {room.code}")
        self.changed(room)
        return room

    def find(self, code: str) -> Room:
        """The room with a code as somebody typed it. Raises Refusal `room/no-such-code`."""
        room = self._rooms.get(read_code(code))
        if room is None:
            raise Refusal(ErrorCode.NO_SUCH_ROOM)
        return room

    def of(self, player: str) -> Room | None:
        """The room in which this player holds a seat or is about to take one, if any."""
        return self._seated.get(player)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a room was opened, closed or changed in its seats or phase. It must not block or raise."""
        self._listeners.append(listener)

    def on_room_change(self, listener: Callable[[Room], None]) -> None:
        """The same with the room, and before any listener of `on_change`."""
        self._room_listeners.append(listener)

    def on_seat(self, listener: Callable[[Room, str], None]) -> None:
        """Call `listener` with room and player whenever somebody takes a seat or is about to. It must not block or raise."""
        self._seat_listeners.append(listener)

    def on_rated(self, listener: Callable[[str, Rating], None]) -> None:
        """Call `listener` with a player's id and his rating whenever a race has changed it. It must not block or raise."""
        self._rating_listeners.append(listener)

    def on_over(self, listener: Callable[[Room, Record], None]) -> None:
        """Call `listener` with a room that was opened for an occasion and the record of its race, once that is kept. It must not block or
        raise.
        """
        self._over_listeners.append(listener)

    async def stop(self) -> None:
        """Open no more rooms and close those there are; returns when the last one has told its members, and what is owed to the journal
        was tried once more.
        """
        self._stopping = True
        for room in list(self._rooms.values()):
            await room.tell(Close(self._ports.clock.now_ms()))
        if self._rooms:
            await self._emptied.wait()
        await self._owed.pay()
        if self._owed:
            logger.error("ends of races that could not be kept: %d; the next server goes on with them", len(self._owed))

    async def _run(self, room: Room) -> None:
        try:
            await room.run()
        finally:
            del self._rooms[room.code]
            # However it ended, nobody may stay bound to a room that is gone: he could never open or join another one.
            for player in self._players.pop(room):
                if self._seated.get(player) is room:
                    del self._seated[player]
            if not self._rooms:
                self._emptied.set()
                self._emptied = trio.Event()
            self.changed(room)

    # ---- what rooms tell (RoomOwner)

    def seat_taken(self, room: Room, player: str) -> None:
        """Raises Refusal `room/closed` when the room is gone."""
        if room not in self._players:
            raise Refusal(ErrorCode.ROOM_CLOSED)
        self._seated[player] = room
        self._players[room].add(player)
        for listener in self._seat_listeners:
            listener(room, player)

    def seat_left(self, room: Room, player: str) -> None:
        if room in self._players:
            self._players[room].discard(player)
        # By now he may hold a seat in another room.
        if self._seated.get(player) is room:
            del self._seated[player]

    def changed(self, room: Room) -> None:
        for each in self._room_listeners:
            each(room)
        for listener in self._listeners:
            listener()

    def over(self, room: Room, record: Record) -> None:
        for listener in self._over_listeners:
            listener(room, record)

    def owe(self, entries: tuple[Entry, ...]) -> None:
        self._owed.add(entries)

    def rated(self, player: str, rating: Rating) -> None:
        for listener in self._rating_listeners:
            listener(player, rating)
