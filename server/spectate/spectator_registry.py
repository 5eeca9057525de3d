"""Who watches what: admits spectators to rooms, keeps them out of their own races, and leads those who want it to the closest race.

The policy for slow spectators is here (for a slow server, see `room_spectators` and `fanout_scheduler`). A spectator whose outbox has
overflowed (`OUTBOX_BYTES` of a connection) misses messages until they have read what waited, and then gets a snapshot; meanwhile they cost
nothing. If it happens again within FORGIVEN_S, the connection is closed with 4008. If they hold a seat in some race, it stays open instead,
but they watch no more. A peer that reads nothing at all is closed as on any connection.
"""

from __future__ import annotations

import base64
import hmac
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

import trio

from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.room_events import Room as RoomMessage
from protocol.watch_messages import Unwatched, Watched
from server.rooms.clock import Clock
from server.rooms.closest_races import CloseRace
from server.rooms.driver import Room
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing, refused
from server.rooms.registry import Rooms
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.relayed_race import RelayedRace
from server.spectate.room_spectators import RoomSpectators
from server.spectate.spectator import Spectator, SpectatorConnection
from server.spectate.spectator_group import SpectatorGroup

logger = logging.getLogger("carpet.spectate")

FORGIVEN_S: Final = 60.0
"""Seconds after which a spectator is forgiven for having fallen behind."""

RESULT_S: Final = 5.0
"""Seconds that those who follow the closest race are shown its result before they are moved on."""

CLOSEST_LOOK_S: Final = 1.0
"""Seconds between two looks at which race is the closest, while somebody follows it."""

REST_S: Final = 0.2
"""Seconds between two such looks, at least, even if somebody asks meanwhile."""


class SpectatorRegistry:
    """`run` is its one task; each room that is watched has another in the nursery. Hardly anything else here waits."""

    def __init__(
        self,
        nursery: trio.Nursery,
        rooms: Rooms,
        clock: Clock,
        *,
        over: Callable[[str], Awaitable[RoomMessage | None]],
        scheduler: FanoutScheduler | None = None,
    ) -> None:
        """over: gives a room that is gone as it stood after its last race, for those who come back too late; None if it is not shown."""
        self._nursery = nursery
        self._rooms = rooms
        self._clock = clock
        self.scheduler = scheduler or FanoutScheduler()
        self._rooms_watched: dict[Room, RoomSpectators] = {}
        self._by_connection: dict[SpectatorConnection, Spectator] = {}
        self._watching: dict[Spectator, SpectatorGroup] = {}
        self._key_secret = secrets.token_bytes(32)
        self.tournament_secret: Callable[[str], bytes | None] = lambda _: None
        """Gives a known tournament's secret, which all servers of the place share."""
        self.relayed: Callable[[str], RelayedRace | None] = lambda _: None
        """Gives another server's race with this code, as it is watched here; None if it cannot be watched."""
        self.over = over
        self._led: dict[Spectator, None] = {}
        self._wanted = trio.Event()
        rooms.on_seat.append(self._seat_taken)

    # ---- requests

    def watch(self, connection: SpectatorConnection, player: PlayerName, code: str | None, *, key: str = "", ref: int = 0) -> None:
        """Show this connection the race with this code, as somebody typed it, or the closest race. key: to see whole boards of that race.

        Raises Refusal: `room/no-such-code`, `room/closed`, `watch/not-shown`, `watch/own-race`, `watch/wrong-key`, `watch/too-often`. The
        connection then goes on watching what it watched before.
        """
        spectator = self._asking(connection, player)
        if code is None:
            spectator.ref = ref
            self._lead(spectator)
            return
        room = self._rooms.find(code)
        self._check_shown(room, player)
        if key and not hmac.compare_digest(key.encode(), self.boards_key(room).encode()):
            raise Refusal(ErrorCode.WRONG_KEY)
        self._let_go(spectator)
        spectator.ref, spectator.whole = ref, bool(key)
        self._admit(spectator, room)

    def watch_elsewhere(self, connection: SpectatorConnection, player: PlayerName, race: RelayedRace, *, ref: int) -> None:
        """Show this connection a race of another server. Raises Refusal: `watch/own-race`, `watch/too-often`."""
        spectator = self._asking(connection, player)
        if player.id in race.holders:
            raise Refusal(ErrorCode.OWN_RACE)
        self._let_go(spectator)
        spectator.ref = ref
        self._watching[spectator] = race
        race.admit(spectator)

    async def show_over(self, connection: SpectatorConnection, player: PlayerName, code: str, *, ref: int) -> bool:
        """Show this connection how the last race of a room that is gone has ended; it then watches nothing. False if that is not known.

        Raises Refusal `watch/too-often`.
        """
        spectator = self._asking(connection, player)
        room = await self.over(code)
        # The connection may have ended meanwhile.
        if room is None or self._by_connection.get(connection) is not spectator:
            return False
        self._let_go(spectator)
        connection.post(watched_over(room, ref))
        return True

    def _asking(self, connection: SpectatorConnection, player: PlayerName) -> Spectator:
        """The spectator of this connection. Raises Refusal if they ask too often."""
        spectator = self._by_connection.get(connection)
        if spectator is None:
            spectator = self._by_connection[connection] = Spectator(connection, player)
        if not spectator.asks.take(trio.current_time()):
            raise Refusal(ErrorCode.WATCHED_TOO_OFTEN)
        return spectator

    def boards_key(self, room: Room) -> str:
        """The key with which whole boards of the room are shown. It is valid until the server ends. All tables of a tournament share one
        key, which is valid as long as the tournament runs, at all servers of the place.
        """
        tournament = room.spec.tournament if room.spec is not None else ""
        return self.tournament_key(tournament) if tournament else _key(self._key_secret, f"room {room.code}")

    def tournament_key(self, tournament: str) -> str:
        """The key with which whole boards of all tables of this tournament are shown."""
        return _key(self.tournament_secret(tournament) or self._key_secret, f"tournament {tournament}")

    def renamed(self, connection: SpectatorConnection, player: PlayerName) -> None:
        """The player of this connection has a new name."""
        spectator = self._by_connection.get(connection)
        if spectator is not None:
            spectator.player = player

    def unwatch(self, connection: SpectatorConnection, *, ref: int = 0) -> None:
        """Stop showing this connection anything, and tell it so."""
        spectator = self._by_connection.get(connection)
        code = self._let_go(spectator) if spectator is not None else None
        connection.post(_unwatched(code, "asked", ref=ref))

    def gone(self, connection: SpectatorConnection) -> None:
        """The connection has ended."""
        spectator = self._by_connection.pop(connection, None)
        if spectator is not None:
            self._let_go(spectator)

    def watched(self, connection: SpectatorConnection) -> str | None:
        """The code of the room that this connection watches, if any."""
        found = self._found(connection)
        return found[1].code if found is not None else None

    def say(self, connection: SpectatorConnection, text: str, *, free: bool) -> None:
        """Say a cleaned line of chat to those who watch the same race. free: in the spectator's own words, not a phrase.

        Raises Refusal `room/not-in-one`, `room/phrases-only` or `watch/too-much-talk`.
        """
        found = self._found(connection)
        if found is None:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        spectator, watching = found
        watching.say(spectator, text, free=free)

    def catch_up(self, connection: SpectatorConnection) -> None:
        """This connection has missed messages."""
        found = self._found(connection)
        if found is None:
            return
        spectator, watching = found
        now, before = trio.current_time(), spectator.missed_at
        spectator.missed_at = now
        if before is None or now - before >= FORGIVEN_S:
            watching.admit(spectator)
            return
        logger.info("%s has fallen behind again and no longer watches", spectator.player.name)
        self._let_go(spectator)
        if self._rooms.of(spectator.player.id) is not None:
            connection.post(_unwatched(watching.code, "too-slow"))
        else:
            connection.shut(CloseCode.TOO_SLOW, "messages were not read")

    # ---- for the relay

    def show_again(self, connection: SpectatorConnection) -> None:
        """Send another snapshot to the spectator who stands for others by this connection."""
        found = self._found(connection)
        if found is not None:
            found[1].show_again(found[0])

    def waits(self, connection: SpectatorConnection) -> bool:
        """Whether this connection has to be sent a snapshot next."""
        found = self._found(connection)
        return found is not None and not found[0].joined

    def count_beyond(self, connection: SpectatorConnection, number: int) -> None:
        """This connection now stands for so many spectators."""
        found = self._found(connection)
        if found is not None and isinstance(found[1], RoomSpectators):
            found[1].count_beyond(number - 1)
            self._rooms.changed(found[1].room)

    def say_for(self, connection: SpectatorConnection, player: PlayerName, text: str, *, free: bool) -> None:
        """Say a line of chat of one of those for whom this connection stands; it is dropped if it is refused."""
        found = self._found(connection)
        if found is not None:
            with suppress(Refusal):
                found[1].say(Spectator(connection, player), text, free=free)

    def take_home(self, race: RelayedRace) -> None:
        """This server now has that race: those who watch it go on here."""
        room = self._rooms.find(race.code)
        for spectator in race.watched_by():
            race.dismiss(spectator)
            self._watching.pop(spectator, None)
            try:
                self._check_shown(room, spectator.player)
            except Refusal as refusal:
                # The former owner had no time to say so.
                ref = spectator.take_ref()
                reason = "seated" if refusal.code is ErrorCode.OWN_RACE else "closed"
                spectator.connection.post(refused(refusal, ref) if ref else _unwatched(race.code, reason))
            else:
                self._admit(spectator, room)

    def forget(self, watched: SpectatorGroup, spectators: Iterable[Spectator]) -> None:
        """They no longer watch it, and have been told."""
        for spectator in spectators:
            if self._watching.get(spectator) is watched:
                del self._watching[spectator]

    def _found(self, connection: SpectatorConnection) -> tuple[Spectator, SpectatorGroup] | None:
        spectator = self._by_connection.get(connection)
        watching = self._watching.get(spectator) if spectator is not None else None
        return (spectator, watching) if spectator is not None and watching is not None else None

    # ---- in and out

    def _check_shown(self, room: Room, player: PlayerName) -> None:
        if room.is_closed:
            raise Refusal(ErrorCode.ROOM_CLOSED)
        if room.spec is not None and not room.spec.watchable:
            raise Refusal(ErrorCode.NOT_SHOWN)
        if self._has_part(room, player):
            raise Refusal(ErrorCode.OWN_RACE)

    def _has_part(self, room: Room, player: PlayerName) -> bool:
        """Whether they hold a seat there, have held one in the race, or are about to take one."""
        return room.summary.holds(player.id) or self._rooms.of(player.id) is room

    def _seat_taken(self, room: Room, player: str) -> None:
        watched = self._rooms_watched.get(room)
        if watched is None:
            return
        for spectator in watched.watched_by():
            if spectator.player.id == player:
                self._let_go(spectator)
                spectator.connection.post(_unwatched(room.code, "seated"))

    def _let_go(self, spectator: Spectator) -> str | None:
        """Have them watch nothing. Returns the code of the room that they watched, if any."""
        self._led.pop(spectator, None)
        spectator.closest = spectator.whole = False
        watching = self._watching.pop(spectator, None)
        if watching is None:
            return None
        watching.dismiss(spectator)
        if isinstance(watching, RoomSpectators):
            self._rooms.changed(watching.room)
        return watching.code

    def _admit(self, spectator: Spectator, room: Room) -> None:
        watched = self._rooms_watched.get(room)
        if watched is None:
            watched = RoomSpectators(room, clock=self._clock, scheduler=self.scheduler, on_close=self._forget)
            self._rooms_watched[room] = watched
            room.attend(watched)
        self._watching[spectator] = watched
        watched.admit(spectator)
        self._rooms.changed(room)
        if not watched.running:
            watched.running = True
            self._nursery.start_soon(watched.run, name=f"spectators of {room.code}")

    def _forget(self, watched: RoomSpectators, spectators: list[Spectator]) -> None:
        self.forget(watched, spectators)
        if self._rooms_watched.get(watched.room) is watched:
            del self._rooms_watched[watched.room]
            # The lobby lists how many watch.
            self._rooms.changed(watched.room)

    # ---- the closest race

    def _lead(self, spectator: Spectator) -> None:
        self._let_go(spectator)
        spectator.closest = True
        spectator.told_none = False
        self._led[spectator] = None
        self._wanted.set()

    async def run(self) -> None:
        """Lead those who want the closest race from one to the next, until cancelled."""
        while True:
            self._wanted = trio.Event()
            waiting = [spectator for spectator in self._led if self._is_to_move(spectator)]
            if waiting:
                self._move(waiting)
                await trio.sleep(REST_S)
            with trio.move_on_after(CLOSEST_LOOK_S if self._led else math.inf):
                await self._wanted.wait()

    def _is_to_move(self, spectator: Spectator) -> bool:
        watching = self._watching.get(spectator)
        if watching is None:
            return True
        return watching.quiet_since is not None and trio.current_time() - watching.quiet_since >= RESULT_S

    def _move(self, waiting: list[Spectator]) -> None:
        self._rooms.closest.look()
        for spectator in waiting:
            watching = self._watching.get(spectator)
            found = next((race for race in self._rooms.closest if self._may_be_led(spectator, race)), None)
            if found is not None and (watching is None or watching.code != found.code):
                race = self.relayed(found.code) if isinstance(found, CloseRace) else found
                if race is None:
                    # The other servers cannot be heard any more; in a moment their races will be gone from the list.
                    continue
                spectator.told_none = False
                if watching is not None:
                    watching.dismiss(spectator)
                self._watching.pop(spectator, None)
                if isinstance(race, Room):
                    self._admit(spectator, race)
                else:
                    self._watching[spectator] = race
                    race.admit(spectator)
            elif found is None and watching is None and not spectator.told_none:
                spectator.told_none = True
                spectator.connection.post(_unwatched(None, "none", ref=spectator.take_ref()))

    def _may_be_led(self, spectator: Spectator, race: Room | CloseRace) -> bool:
        if isinstance(race, CloseRace):
            return spectator.player.id not in race.players and not self._rooms.has(race.code)
        return not race.is_closed and not self._has_part(race, spectator.player)


def watched_over(room: RoomMessage, ref: int) -> Outgoing:
    """All that can be shown of a room that is gone."""
    return Outgoing(Watched(room=room, boards=(), watchers=0, lines=(), closest=False, ref=ref))


def _key(secret: bytes, scope: str) -> str:
    return base64.b32encode(hmac.digest(secret, scope.encode(), "sha256")[:10]).decode()


def _unwatched(code: str | None, reason: str, *, ref: int = 0) -> Outgoing:
    return Outgoing(Unwatched(code=code, reason=reason, ref=ref))
