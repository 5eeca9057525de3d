"""Who watches what: lets watchers in and out of the hubs, keeps them out of their own races, and leads those who want the closest race.

What is written here about slow watchers is the server's policy; what becomes of them where the server is slow, `hub` and `turns` say. A
watcher whose outbox has run over (`OUTBOX_BYTES` of a connection) misses messages until he has read what waited, and then gets a snapshot;
meanwhile he costs nothing. When that happens again within FORGIVEN_S his line is closed with 4008, unless he holds a seat in some race:
then he keeps it, and watches no more. Whoever takes nothing at all is closed as any peer is.
"""

from __future__ import annotations

import logging
import math
from typing import Final

import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.server_messages import Unwatched
from server.race.lead_ranking import LeadRank
from server.rooms.clock import Clock
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.spectate.fanout_scheduler import Turns
from server.spectate.hub import Hub
from server.spectate.watcher import Watcher, WatchingLine

logger = logging.getLogger("carpet.spectate")

FORGIVEN_S: Final = 60.0
"""Seconds after which it is forgotten that a watcher was behind."""

RESULT_S: Final = 5.0
"""Seconds for which the result is shown to who is then moved on to the closest race."""

LOOK_S: Final = 1.0
"""Seconds between two looks at all races for the closest one, while somebody waits for it."""

REST_S: Final = 0.2
"""Seconds between two of them, at least, whoever asks for it meanwhile."""

LOOKED_AT: Final = 500
"""Rooms looked at in one go."""


class Gallery:
    """`run` is its one task; hubs run in the nursery it is given. Nothing else here waits."""

    def __init__(self, nursery: trio.Nursery, rooms: Rooms, clock: Clock, *, turns: Turns | None = None) -> None:
        self._nursery = nursery
        self._rooms = rooms
        self._clock = clock
        self._turns = turns or Turns()
        self._hubs: dict[Room, Hub] = {}
        self._watchers: dict[WatchingLine, Watcher] = {}
        self._led: dict[Watcher, None] = {}
        self._wanted = trio.Event()
        rooms.on_seat(self._seat_taken)

    # ---- requests

    def watch(self, line: WatchingLine, player: PlayerName, code: str | None, *, ref: int = 0) -> None:
        """Show this line the race with a code as somebody typed it, or the closest one.

        Raises Refusal: `room/no-such-code`, `room/closed`, `watch/not-shown`, `watch/own-race`, `watch/too-often`. Then what was
        watched before still is.
        """
        watcher = self._watchers.get(line)
        if watcher is None:
            watcher = self._watchers[line] = Watcher(line, player)
        if not watcher.asks.take(trio.current_time()):
            raise Refusal(ErrorCode.WATCHED_TOO_OFTEN)
        if code is None:
            watcher.ref = ref
            self._lead(watcher)
            return
        room = self._rooms.find(code)
        if room.is_closed:
            raise Refusal(ErrorCode.ROOM_CLOSED)
        if room.spec is not None and not room.spec.watchable:
            raise Refusal(ErrorCode.NOT_SHOWN)
        if self._has_part(room, player):
            raise Refusal(ErrorCode.OWN_RACE)
        self._let_go(watcher)
        watcher.ref = ref
        self._admit(watcher, room)

    def renamed(self, line: WatchingLine, player: PlayerName) -> None:
        """He who may watch by this line is called something else now."""
        watcher = self._watchers.get(line)
        if watcher is not None:
            watcher.player = player

    def unwatch(self, line: WatchingLine, *, ref: int = 0) -> None:
        """Show this line nothing any more, and tell it so."""
        watcher = self._watchers.get(line)
        hub = self._let_go(watcher) if watcher is not None else None
        line.post(_unwatched(hub, "asked", ref=ref))

    def gone(self, line: WatchingLine) -> None:
        """The line is gone."""
        watcher = self._watchers.pop(line, None)
        if watcher is not None:
            self._let_go(watcher)

    def watched(self, line: WatchingLine) -> Room | None:
        """The room that this line watches, if any."""
        watcher = self._watchers.get(line)
        return watcher.hub.room if watcher is not None and watcher.hub is not None else None

    def say(self, line: WatchingLine, text: str, *, free: bool) -> None:
        """A cleaned line of chat to those who watch the same. free: in the watcher's own words, not a phrase.

        Raises Refusal `room/not-in-one`, `room/phrases-only` or `watch/too-much-talk`.
        """
        watcher = self._watchers.get(line)
        if watcher is None or watcher.hub is None:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        if free and watcher.hub.room.summary.phrases_only:
            raise Refusal(ErrorCode.PHRASES_ONLY, path="$.text")
        watcher.hub.say(watcher, text)

    def catch_up(self, line: WatchingLine) -> None:
        """This line has missed something."""
        watcher = self._watchers.get(line)
        if watcher is None or watcher.hub is None:
            return
        now, before = trio.current_time(), watcher.missed_at
        watcher.missed_at = now
        if before is None or now - before >= FORGIVEN_S:
            self._admit(watcher, watcher.hub.room)
            return
        logger.info("%s falls behind again: watches no more", watcher.player.name)
        if self._rooms.of(watcher.player.id) is not None:
            line.post(_unwatched(self._let_go(watcher), "too-slow"))
        else:
            self._let_go(watcher)
            line.shut(CloseCode.TOO_SLOW, "messages were not read")

    # ---- in and out

    def _has_part(self, room: Room, player: PlayerName) -> bool:
        """Whether he holds a seat there, has held one in the race, or is about to take one."""
        return room.summary.holds(player.id) or self._rooms.of(player.id) is room

    def _seat_taken(self, room: Room, player: str) -> None:
        hub = self._hubs.get(room)
        if hub is None:
            return
        for watcher in hub.watched_by():
            if watcher.player.id == player:
                self._let_go(watcher)
                watcher.line.post(_unwatched(hub, "seated"))

    def _let_go(self, watcher: Watcher) -> Hub | None:
        """He watches nothing now; the hub of what he has watched."""
        self._led.pop(watcher, None)
        watcher.closest = False
        hub = watcher.hub
        if hub is not None:
            hub.dismiss(watcher)
            self._rooms.changed(hub.room)
        return hub

    def _admit(self, watcher: Watcher, room: Room) -> None:
        hub = self._hubs.get(room)
        if hub is None:
            hub = self._hubs[room] = Hub(room, clock=self._clock, turns=self._turns, on_close=self._forget)
            room.attend(hub)
        hub.admit(watcher)
        self._rooms.changed(room)
        if not hub.running:
            hub.running = True
            self._nursery.start_soon(hub.run, name=f"watchers of {room.code}")

    def _forget(self, hub: Hub) -> None:
        if self._hubs.get(hub.room) is hub:
            del self._hubs[hub.room]
            # The lobby lists how many watch.
            self._rooms.changed(hub.room)

    # ---- the closest race

    def _lead(self, watcher: Watcher) -> None:
        self._let_go(watcher)
        watcher.closest = True
        watcher.told_none = False
        self._led[watcher] = None
        self._wanted.set()

    async def run(self) -> None:
        """Lead those who want the closest race from one to the next, until cancelled."""
        while True:
            self._wanted = trio.Event()
            waiting = [watcher for watcher in self._led if self._is_to_move(watcher)]
            if waiting:
                await self._move(waiting)
                await trio.sleep(REST_S)
            with trio.move_on_after(LOOK_S if self._led else math.inf):
                await self._wanted.wait()

    def _is_to_move(self, watcher: Watcher) -> bool:
        hub = watcher.hub
        if hub is None:
            return True
        return hub.quiet_since is not None and trio.current_time() - hub.quiet_since >= RESULT_S

    async def _move(self, waiting: list[Watcher]) -> None:
        races = await self._closest()
        for watcher in waiting:
            # Meanwhile he may have asked for something else, or taken a seat.
            if watcher not in self._led:
                continue
            room = next((room for room in races if not room.is_closed and not self._has_part(room, watcher.player)), None)
            if room is not None and (watcher.hub is None or watcher.hub.room is not room):
                watcher.told_none = False
                if watcher.hub is not None:
                    watcher.hub.dismiss(watcher)
                self._admit(watcher, room)
            elif room is None and watcher.hub is None and not watcher.told_none:
                watcher.told_none = True
                watcher.line.post(_unwatched(None, "none", ref=watcher.take_ref()))

    async def _closest(self) -> list[Room]:
        """The public races that are being run, the closest first."""
        close: list[tuple[LeadRank, str, Room]] = []
        for number, room in enumerate(list(self._rooms), 1):
            rank = room.summary.lead_rank if room.options.public else None
            if rank is not None:
                close.append((rank, room.code, room))
            if number % LOOKED_AT == 0:
                await trio.lowlevel.checkpoint()
        return [room for _, _, room in sorted(close, key=lambda each: each[:2])]


def _unwatched(hub: Hub | None, reason: str, *, ref: int = 0) -> Outgoing:
    return Outgoing(Unwatched(code=hub.room.code if hub is not None else None, reason=reason, ref=ref))
