"""What each message of a client asks for, and of whom: the lobby, the list of rooms, or the room the client is in.

One `Visit` a connection holds what the server knows of it: nobody before the hello, then a player, at times in a room.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

import trio

from protocol.client_messages import (
    ClientMessage,
    FollowLobby,
    Hello,
    JoinRace,
    LeaveRace,
    Move,
    OpenRace,
    Ready,
    Rematch,
    Resign,
    Say,
    Stop,
)
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.server_messages import Left, Welcome
from protocol.views import BotInfo
from server.bots.house import HOUSE_BOTS
from server.lobby.lobby import Lobby
from server.lobby.players import Players
from server.net.connection import PeerConnection
from server.rooms.clock import Clock
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rooms.room import Ask, Enter, Exit, Room, RoomMessage
from server.rules.catalogue import RULE_SETS, describe

HELLO_S = 10.0
"""Seconds that a new connection has for its hello."""


@dataclass(slots=True)
class Visit:
    """One connection as the dispatch knows it."""

    connection: PeerConnection
    hello: Hello | None = None
    said_hello: trio.Event = field(default_factory=trio.Event)
    player: PlayerName | None = None
    room: Room | None = None


class Dispatch:
    """Satisfies `server.net.connection.Dispatch`; `visit` is the handler of every connection."""

    def __init__(self, *, rooms: Rooms, players: Players, lobby: Lobby, clock: Clock, software: str, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._rooms = rooms
        self._players = players
        self._lobby = lobby
        self._clock = clock
        self._software = software
        self._visits: dict[PeerConnection, Visit] = {}
        self._rules = tuple(describe(row) for row in RULE_SETS.values())
        self._bots = tuple(BotInfo(name=bot.name, explanation=bot.explanation) for bot in HOUSE_BOTS.values())

    async def visit(self, connection: PeerConnection) -> None:
        """Stay with one connection from the handshake to its end; what it says comes by `heard`."""
        visit = self._visits[connection] = Visit(connection)
        try:
            connection.listen()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._greet, visit)
                await connection.measure()
                await connection.wait_closed()
                nursery.cancel_scope.cancel()
        finally:
            # Also when the server is being cancelled: the room has to know.
            with trio.CancelScope(shield=True):
                await self._gone(visit)

    async def _greet(self, visit: Visit) -> None:
        """Find out who it is, which may take the store some time. What the peer says meanwhile is held."""
        connection = visit.connection
        with trio.move_on_after(HELLO_S):
            while visit.player is None:
                await visit.said_hello.wait()
                visit.said_hello = trio.Event()
                hello = visit.hello
                assert hello is not None
                try:
                    visit.player, token = await self._players.arrive(name=hello.name, token=hello.token, line=connection)
                except Refusal as refusal:
                    connection.refuse(refusal, hello.ref)
                else:
                    connection.post(Outgoing(self._welcome(visit.player, token)))
                connection.listen()
        if visit.player is None:
            connection.shut(CloseCode.HELLO_TIMEOUT, "no hello")

    async def _gone(self, visit: Visit) -> None:
        del self._visits[visit.connection]
        self._lobby.unfollow(visit.connection)
        if visit.player is None:
            return
        self._players.depart(visit.player, visit.connection)
        if visit.room is not None:
            await visit.room.tell(Exit(visit.player, visit.connection, self._clock.now_ms()))

    def resynchronise(self, connection: PeerConnection) -> None:
        visit = self._visits.get(connection)
        if visit is None or visit.player is None:
            return
        self._lobby.remind(connection)
        room = visit.room
        if room is not None and not room.catch_up(visit.player, connection) and self._rooms.of(visit.player.id) is not room:
            connection.post(Outgoing(Left(code=room.code, reason="left")))

    def heard(self, connection: PeerConnection, message: ClientMessage) -> None:
        visit = self._visits.get(connection)
        if visit is None:
            # It is gone, and this was still on its way: nothing may be begun that nobody would end.
            return
        if isinstance(message, Hello):
            self._hello(visit, message)
        elif visit.player is None:
            raise Refusal(ErrorCode.HELLO_FIRST)
        else:
            self._serve(visit, visit.player, message)

    def _serve(self, visit: Visit, player: PlayerName, message: ClientMessage) -> None:
        match message:
            case FollowLobby(follow=follow):
                if follow:
                    self._lobby.follow(visit.connection)
                else:
                    self._lobby.unfollow(visit.connection)
            case OpenRace(options=options, ref=ref):
                self._check_free(player)
                self._enter(visit, player, self._rooms.open(options), version=0, ref=ref)
            case JoinRace(code=code, version=version, ref=ref):
                room = self._rooms.find(code)
                if self._rooms.of(player.id) is not room:
                    self._check_free(player)
                self._enter(visit, player, room, version=version, ref=ref)
            case LeaveRace() | Ready() | Move() | Stop() | Resign() | Rematch() | Say():
                self._ask(visit, player, message)
            case Hello():
                raise Refusal(ErrorCode.HELLO_TWICE)
            case _:
                assert_never(message)

    def _hello(self, visit: Visit, message: Hello) -> None:
        if visit.player is not None:
            raise Refusal(ErrorCode.HELLO_TWICE)
        visit.hello = message
        visit.connection.hold()
        visit.said_hello.set()

    def _welcome(self, player: PlayerName, token: str) -> Welcome:
        room = self._rooms.of(player.id)
        return Welcome(
            player=player.id,
            name=player.name,
            token=token,
            software=self._software,
            rules=self._rules,
            bots=self._bots,
            room=room.code if room is not None else None,
        )

    def _check_free(self, player: PlayerName) -> None:
        room = self._rooms.of(player.id)
        if room is not None:
            raise Refusal(ErrorCode.ALREADY_IN_ROOM, f"its code is {room.code}")

    def _enter(self, visit: Visit, player: PlayerName, room: Room, *, version: int, ref: int) -> None:
        # Claimed before the room's task has heard of it: a second request behind this one must find the player taken.
        claimed = self._rooms.of(player.id) is room
        self._rooms.seat_taken(room, player.id)
        try:
            room.ask(Enter(player, visit.connection, version, ref, self._clock.now_ms()))
        except Refusal:
            if not claimed:
                self._rooms.seat_left(room, player.id)
            raise
        visit.room = room

    def _ask(self, visit: Visit, player: PlayerName, message: RoomMessage) -> None:
        # By the registry for who has come back and not joined yet: he may leave a race without looking at it again.
        room = self._rooms.of(player.id) or visit.room
        if room is None:
            raise Refusal(ErrorCode.NOT_IN_ROOM)
        room.ask(Ask(player, visit.connection, message, self._clock.now_ms()))
