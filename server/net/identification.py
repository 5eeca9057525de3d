"""Finds out who is at the other end of a connection: handles hellos, questions who somebody is, and new names.

All of these wait for the store. What the peer says meanwhile is held, and heard after the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from protocol.client_messages import Hello, Rename, WhoAmI
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.server_messages import Welcome, YouAre
from protocol.views import BotInfo
from server.bots.house import HOUSE_BOTS
from server.lobby.matchmaker import Matchmaker
from server.lobby.players import Made, Players
from server.net.connection import Connection
from server.net.connection_limits import THIS_MACHINE, place_of
from server.net.limits import AddressRates
from server.rooms.driver import Room
from server.rooms.member import NOBODY, PlayerConnection, PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.rules.catalogue import RULE_SETS, describe
from server.spectate.spectator_registry import SpectatorRegistry
from server.tournaments.service import TournamentService

HELLO_S = 10.0
"""Seconds that a new connection has for its hello."""

NEWCOMERS_PER_CONNECTION: Final = 5
NEWCOMERS_A_SECOND: Final = 1 / 1000
"""New players that one address may make, at once and per second, for each connection that it may have. A whole school may come in one
minute, but nobody can take all names, nor fill the store, which keeps players for months."""

NEWCOMER_AGAIN_MS: Final = 10_000

LATE_S = 1.0
"""Seconds. If a timer is late by this much, it is the server that stood still."""


@dataclass(slots=True)
class Visit:
    """What the server knows about one connection. player: who races through it; None before the hello, and if it only watches.

    watches_as: of a connection that only watches, the player whose it is (they race through another connection), or NOBODY. came_at: when
    the player came by it, in Trio's time.
    """

    connection: Connection
    hello: Hello | None = None
    player: PlayerName | None = None
    watches_as: PlayerName | None = None
    room: Room | None = None
    came_at: float = 0.0
    has_sought: bool = False  # whether they have ever looked for an opponent
    is_looked_up: bool = False  # whether their hello waits for the store

    @property
    def place(self) -> str | None:
        """The address by which limits count; None for this machine: there the host sits, or a proxy that is not declared as trusted."""
        return place if (place := place_of(self.connection.remote_host)) != THIS_MACHINE else None


class Identification:
    """Finds out who a peer is, and tells everybody concerned. visits: all that are open; the dispatch keeps them.

    nodes: gives the addresses of the servers of the same place, as clients are told. announce: tells the other servers that a player is
    here, and returns the code of the room in which they hold a seat there, if any. connections_per_address: determines how many new players
    one address may make; 0 for no limit.
    """

    def __init__(
        self,
        visits: Mapping[Connection, Visit],
        *,
        rooms: Rooms,
        players: Players,
        matchmaker: Matchmaker,
        spectators: SpectatorRegistry,
        tournaments: TournamentService,
        software: str,
        nodes: Callable[[], tuple[str, ...]],
        announce: Callable[[str], Awaitable[str | None]] | None,
        connections_per_address: int,
    ) -> None:
        self._visits = visits
        most = connections_per_address
        self._newcomers = AddressRates(rate=NEWCOMERS_A_SECOND * most, burst=NEWCOMERS_PER_CONNECTION * most) if most else None
        self._rooms = rooms
        self._players = players
        self._matchmaker = matchmaker
        self._spectators = spectators
        self._tournaments = tournaments
        self._software = software
        self._nodes = nodes
        self._announce = announce
        self.renamed_here: Callable[[PlayerName], None] = lambda _: None
        """Called when a player has got another name at this server."""
        self._rules = tuple(describe(row) for row in RULE_SETS.values())
        self._bots = tuple(BotInfo(name=bot.name, explanation=bot.explanation) for bot in HOUSE_BOTS.values())

    def expect_hello(self, visit: Visit) -> None:
        visit.connection.after(HELLO_S, partial(self._check_hello, visit, trio.current_time() + HELLO_S))

    def _check_hello(self, visit: Visit, due: float) -> None:
        if visit.player is not None or visit.watches_as is not None:
            return
        if visit.is_looked_up or trio.current_time() - due > LATE_S:
            # Not the peer's fault: the store does not answer, or this server was asleep and the hello may be unread.
            self.expect_hello(visit)
        else:
            visit.connection.shut(CloseCode.HELLO_TIMEOUT, "no hello")

    def hello(self, visit: Visit, message: Hello) -> None:
        """Find or make the player who says hello; the answer follows. Raises Refusal for a second hello, and for too many newcomers."""
        if visit.player is not None or (visit.watches_as is not None and not _would_race(visit, message)):
            raise Refusal(ErrorCode.HELLO_TWICE)
        if message.token is None and not message.watch:
            self._check_newcomer(visit)
        visit.hello = message
        visit.is_looked_up = True
        visit.connection.hold()
        if message.token is None and not message.watch and self._announce is None:
            # When a crowd comes at once, most are new players: for them, no task is started.
            self._players.make(message.name, partial(self._made, visit, message))
        else:
            visit.connection.start_soon(self._find_player, visit, message)

    def _check_newcomer(self, visit: Visit) -> None:
        if self._newcomers is None or visit.place is None:
            return
        if not self._newcomers.allow(visit.connection.remote_host, trio.current_time()):
            raise Refusal(ErrorCode.SERVER_BUSY, "many new players have come from your address", retry_after_ms=NEWCOMER_AGAIN_MS)

    def _made(self, visit: Visit, hello: Hello, made: Made | Refusal) -> None:
        if visit.connection not in self._visits:
            # They have gone again.
            return
        if isinstance(made, Refusal):
            visit.connection.refuse(made, hello.ref)
        else:
            self._players.come(made.player, visit.connection)
            self._let_in(visit, made.player)
            self._greet(visit, made.player, made.token, elsewhere=None)
        visit.is_looked_up = False
        visit.connection.listen()

    def _let_in(self, visit: Visit, player: PlayerName) -> None:
        visit.player, visit.watches_as, visit.came_at = player, None, trio.current_time()
        visit.connection.serve_watcher(alone=False)
        # Even if their older connection was looking for an opponent: this one is told now that they have no room, so none must follow.
        self._matchmaker.leave(player.id)

    def _greet(self, visit: Visit, player: PlayerName, token: str, *, elsewhere: str | None) -> None:
        visit.connection.post(Outgoing(self._welcome(player, token, elsewhere=elsewhere)))
        self._tournaments.greet(player.id, visit.connection)

    async def _find_player(self, visit: Visit, hello: Hello) -> None:
        connection = visit.connection
        try:
            if hello.watch:
                await self._let_watch(visit, hello)
            else:
                player, token = await self._players.arrive(name=hello.name, token=hello.token, connection=connection)
                self._let_in(visit, player)
                elsewhere = await self._announce(player.id) if self._announce is not None else None
                self._greet(visit, player, token, elsewhere=elsewhere)
        except Refusal as refusal:
            if refusal.code is ErrorCode.BANNED:
                put_out(connection, refusal, hello.ref)
                return
            connection.refuse(refusal, hello.ref)
        visit.is_looked_up = False
        connection.listen()

    async def _let_watch(self, visit: Visit, hello: Hello) -> None:
        """Let somebody watch. Their token says who they are, so that they cannot watch their own races; it takes no connection over."""
        watching, token = NOBODY, ""
        if hello.token is not None:
            try:
                watching, token = await self._players.find(hello.token), hello.token
            except Refusal as refusal:
                # An unknown token makes them NOBODY, who may watch.
                if refusal.code is not ErrorCode.UNKNOWN_TOKEN:
                    raise
        visit.watches_as = watching
        visit.connection.serve_watcher(alone=True)
        visit.connection.post(Outgoing(self._welcome(watching, token, watches=True)))

    def ask_who(self, visit: Visit, message: WhoAmI | Rename) -> None:
        """Say, once the store has answered, who they are, or are from now on. Raises Refusal if nothing tells who is meant."""
        if message.token is None and visit.player is None and visit.watches_as in (None, NOBODY):
            raise Refusal(ErrorCode.HELLO_FIRST if visit.watches_as is None else ErrorCode.WATCHES_ONLY)
        visit.connection.hold()
        visit.connection.start_soon(self._say_who, visit, message)

    async def _say_who(self, visit: Visit, message: WhoAmI | Rename) -> None:
        try:
            player = visit.player or visit.watches_as if message.token is None else await self._players.find(message.token)
            assert player is not None
            if isinstance(message, Rename):
                player = await self.rename(player, message.name, by=visit)
        except Refusal as refusal:
            visit.connection.refuse(refusal, message.ref)
        else:
            visit.connection.post(Outgoing(YouAre(player=player.id, name=player.name, ref=message.ref)))
        visit.connection.listen()

    async def rename(self, player: PlayerName, name: str, *, by: Visit | None = None) -> PlayerName:
        """Give a player another name, and tell all of their connections but `by`, which is answered. See `Players.rename`."""
        player, connection = await self._players.rename(player, name)
        self._tell_renamed(player, connection, by=by)
        self.renamed_here(player)
        return player

    def renamed_elsewhere(self, player: PlayerName) -> None:
        """A player has got another name at another server of the place: tell their connections here."""
        self._tell_renamed(player, self._players.renamed(player))

    def _tell_renamed(self, player: PlayerName, connection: PlayerConnection | None, *, by: Visit | None = None) -> None:
        here = self._visits.get(connection) if isinstance(connection, Connection) else None
        if here is not None:
            here.player = player
        theirs = [visit for visit in self._visits.values() if visit.watches_as is not None and visit.watches_as.id == player.id]
        for visit in theirs:
            visit.watches_as = player
        for visit in (*theirs, *((here,) if here is not None else ())):
            self._spectators.renamed(visit.connection, player)
            if visit is not by:
                visit.connection.post(Outgoing(YouAre(player=player.id, name=player.name, ref=0)))

    def _welcome(self, player: PlayerName, token: str, *, watches: bool = False, elsewhere: str | None = None) -> Welcome:
        # A connection that only watches offers no way back to a seat.
        room = self._rooms.of(player.id) if not watches else None
        return Welcome(
            player=player.id,
            name=player.name,
            token=token,
            software=self._software,
            rules=self._rules,
            bots=self._bots,
            room=room.code if room is not None else elsewhere,
            rating=self._players.rating(player.id) if not watches else None,
            nodes=self._nodes(),
        )


def put_out(connection: Connection, refusal: Refusal, ref: int = 0) -> None:
    """Tell a banned peer why, and close its connection."""
    connection.refuse(refusal, ref)
    connection.shut(CloseCode.BANNED, "banned")


def _would_race(visit: Visit, hello: Hello) -> bool:
    """Whether this is a second hello, to race, from somebody who watches with a token. It must be the same token: what they watch might
    otherwise be their own race.
    """
    before = visit.hello
    return visit.watches_as is not NOBODY and before is not None and not hello.watch and hello.token == before.token
