"""Sends clients on to other nodes of the cluster: those who ask here for a room that is at another node are told where to go."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import cycle
from typing import Final

import trio

from protocol.client_messages import ClientMessage, JoinRace, OpenRace, QuickMatch
from protocol.errors import CloseCode, ErrorCode, Refusal
from protocol.run_messages import PlayOn, RunChallenge, RunDaily
from protocol.server_messages import Moved, Nodes
from protocol.text import read_code
from protocol.tournament_messages import CreateTournament
from protocol.watch_messages import WatchRace
from server.cluster.leases import BEAT_S
from server.cluster.node import ClusterNode
from server.net.connection import Connection
from server.net.identification import Visit
from server.rooms.codes import is_code
from server.rooms.member import PlayerName
from server.rooms.outgoing import Outgoing
from server.rooms.registry import Rooms
from server.spectate.relay import Relay
from server.spectate.spectator_registry import SpectatorRegistry
from server.store.nodes import Node

logger = logging.getLogger("carpet.net")

SEAT_S: Final = 1.2
"""Seconds for which the directory may still show a seat at another node that has just been left, or claimed and not taken."""

ASK_AGAIN_S: Final = 0.3

HEIRS_S: Final = 2.0
"""Seconds that players of a leaving server wait there for another to take over their race, before they are sent to just any."""

HEIRS_LOOK_S: Final = 0.05

SETTLES_S: Final = 2.0
"""Seconds for which a node still accepts those who look for an opponent after they are to wait at another: not all nodes see the change at
one moment."""


class Forwarding:
    """node: this one; None for a server on its own, which sends nobody anywhere. visits: all that are open. hear: the dispatch's `heard`.
    serve: its `_serve_looked_up`. claim_seat: the directory's `claim`; None for a server on its own.
    """

    def __init__(
        self,
        rooms: Rooms,
        node: ClusterNode | None,
        visits: Mapping[Connection, Visit],
        hear: Callable[[Connection, JoinRace | WatchRace | OpenRace | QuickMatch], None],
        serve: Callable[[Visit, PlayerName, OpenRace | JoinRace | QuickMatch], None],
        spectators: SpectatorRegistry,
        claim_seat: Callable[[str], Awaitable[str | None]] | None,
    ) -> None:
        self.relay: Relay | None = None
        """Shows races of other nodes at this one; without it, those who want to watch them are sent there."""
        self._rooms = rooms
        self._node = node
        self._visits = visits
        self._hear = hear
        self._serve = serve
        self._spectators = spectators
        self._claim_seat = claim_seat
        self._has_let_go = False
        self._is_cut_off = False
        self._seekers_until = -math.inf
        self.is_leaving = False
        """Whether nothing is heard any more: clients will say it again at the node to which they are sent."""

    @property
    def seekers_url(self) -> str | None:
        """The URL of the one node at which all who look for an opponent wait. None if it is this one, or was a moment ago."""
        node, now = self._node, trio.current_time()
        if node is None:
            return None
        nodes = node.answering or (node.id,)
        found = node.loads.meeting_point(nodes)
        if found == node.id:
            self._seekers_until = now + SETTLES_S
        return node.url_of(found) if now >= self._seekers_until else None

    def send_seeker_on(self, visit: Visit, ref: int) -> bool:
        """Send somebody who looks for an opponent to another node, if that is where to wait. Returns whether they were sent."""
        return self._send_on(visit, self.seekers_url, "opponents wait", ref)

    async def gather_seekers(self, seeks: Callable[[str], bool]) -> None:
        """Until cancelled, send on those who wait here although all others wait elsewhere. seeks: whether this player waits here.

        They are not forgotten before they go: those who stay may still find somebody here.
        """
        while True:
            url = self.seekers_url
            if url is not None:
                for visit in self._visits.values():
                    if visit.player is not None and seeks(visit.player.id):
                        visit.connection.post(Outgoing(Moved(url=url, code=None)))
            await trio.sleep(SETTLES_S if url is not None else BEAT_S)

    @property
    def relief(self) -> str | None:
        """The URL of another node at which rooms should rather be opened, if this one is much busier, or too busy to open any."""
        load = self._node.loads.less_busy() if self._node is not None else None
        return self._node.url_of(load.node) if self._node is not None and load is not None else None

    def relieves(self, message: ClientMessage) -> bool:
        """Whether another node has the work: a client that asks for this is sent there, which costs this one next to nothing."""
        match message:
            case QuickMatch():
                return self.seekers_url is not None
            case OpenRace() | RunDaily() | RunChallenge() | PlayOn():
                return self.relief is not None
            case CreateTournament():
                # Another server will lead it when this one stops.
                return self._rooms.draining is not None and self.relief is not None
            case _:
                return False

    def send_opener_on(self, visit: Visit, ref: int) -> bool:
        """Send somebody who would open a room to a less busy node, if there is one. Returns whether they were sent."""
        return self._send_on(visit, self.relief, "there is less to do", ref)

    @staticmethod
    def _send_on(visit: Visit, url: str | None, why: str, ref: int) -> bool:
        if url is None:
            return False
        visit.connection.post(Outgoing(Moved(url=url, code=None, ref=ref)))
        visit.connection.refuse(Refusal(ErrorCode.ELSEWHERE, f"{why} at {url}"), ref)
        return True

    @property
    def others(self) -> tuple[str, ...]:
        """The addresses of the other nodes."""
        return self._node.others if self._node is not None else ()

    @property
    def told(self) -> tuple[str, ...]:
        """The addresses that clients are told: the others', or this node's own while it knows of no other.

        By these, clients tell a cluster from a server on its own: in a cluster, a player who is told of no seat may have one in a race that
        is still to be taken over.
        """
        return self.others or ((self._node.url,) if self._node is not None else ())

    async def tell_nodes(self) -> None:
        """Until cancelled, tell everybody here when the nodes are no longer those of their welcome.

        Otherwise those who came before there was another node would not know where to go when this one is gone.
        """
        told = self.told
        while True:
            await trio.sleep(BEAT_S)
            if self.told != told:
                told = self.told
                news = Outgoing(Nodes(nodes=told))
                for visit in self._visits.values():
                    # Those who have not been welcomed yet will hear it in their welcome.
                    if visit.player is not None or visit.watches_as is not None:
                        visit.connection.post(news)

    def look_up(self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch | WatchRace) -> bool:
        """Look up what this node may not know: where the room is, or whether they hold a seat at another node.

        Returns whether it is looked up. If so, the message is answered after that, or heard again.
        """
        match message:
            case WatchRace():
                return self.look_for_room(visit, message)
            case JoinRace():
                return self.look_for_room(visit, message) or self._look_for_seat(visit, player, message)
            case OpenRace() | QuickMatch(cancel=False):
                # Those who are sent on need no claim here, which would be in their way there.
                return not self.relieves(message) and self._look_for_seat(visit, player, message)
            case _:
                return False

    def look_for_room(self, visit: Visit, message: JoinRace | WatchRace) -> bool:
        """Look for the room that is asked for, if it may be on another node, or gone. Returns whether it is looked for: then the client
        hears where it is. A spectator of a race that is over hears how it ended.
        """
        if message.code is None or self._rooms.has(message.code) or (self._node is None and isinstance(message, JoinRace)):
            return False
        code = read_code(message.code)
        if not is_code(code):
            # Not a code at all: neither the database nor the log need hear of it.
            return False
        # What the client says meanwhile is heard after the answer.
        visit.connection.hold()
        visit.connection.start_soon(self._look, visit, message, code)
        return True

    async def _look(self, visit: Visit, message: JoinRace | WatchRace, code: str) -> None:
        connection, player = visit.connection, visit.player or visit.watches_as
        try:
            if self._node is None:
                raise Refusal(ErrorCode.NO_SUCH_ROOM)
            owner = await self._node.owner(code, partial(self._rooms.has, code))
            if owner is None:
                # This node has taken it over meanwhile.
                self._hear(connection, message)
            else:
                self._lead(connection, player, message, code, owner)
        except Refusal as refusal:
            try:
                is_over = False
                if refusal.code is ErrorCode.NO_SUCH_ROOM and isinstance(message, WatchRace) and player is not None:
                    # They came too late to watch, and are told the result.
                    is_over = await self._spectators.show_over(connection, player, code, ref=message.ref)
                if not is_over:
                    connection.refuse(refusal, message.ref)
            except Refusal as too_often:
                connection.refuse(too_often, message.ref)
        connection.listen()

    def _lead(self, connection: Connection, player: PlayerName | None, message: JoinRace | WatchRace, code: str, owner: Node) -> None:
        if isinstance(message, WatchRace) and not message.key and player is not None and self.relay is not None and self.relay.is_up:
            self.relay.watch(connection, player, code, owner, ref=message.ref)
            return
        connection.post(Outgoing(Moved(url=owner.url, code=code, ref=message.ref)))
        # For clients that cannot go there.
        raise Refusal(ErrorCode.ELSEWHERE, f"it is at {owner.url}")

    def _look_for_seat(self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch) -> bool:
        """Before somebody gets a seat here, look up whether they hold one at another node. Returns whether it is looked up."""
        if self._claim_seat is None or self._rooms.of(player.id) is not None:
            return False
        if isinstance(message, JoinRace) and not self._rooms.has(message.code):
            return False
        visit.connection.hold()
        visit.connection.start_soon(self._take_seat, visit, player, message)
        return True

    async def _take_seat(self, visit: Visit, player: PlayerName, message: OpenRace | JoinRace | QuickMatch) -> None:
        try:
            await self.check_free(visit, player)
            self._serve(visit, player, message)
        except Refusal as refusal:
            visit.connection.refuse(refusal, message.ref)
        visit.connection.listen()

    async def claim(self, player: PlayerName) -> str | None:
        """Have no other node give them a seat while they get one here. See `Directory.claim`. Whoever has one here may always use it."""
        return await self._claim_seat(player.id) if self._claim_seat is not None and self._rooms.of(player.id) is None else None

    async def check_free(self, visit: Visit, player: PlayerName) -> None:
        """Make sure that they hold no seat at another node. Raises Refusal `room/already-in-one` if they do.

        They may have left it just before they came here, but not since: for that they would need another connection.
        """
        asked_at = trio.current_time()
        while (code := await self.claim(player)) is not None:
            if trio.current_time() >= (visit.came_at if code else asked_at) + SEAT_S:
                if not code:
                    return  # By now a seat would have been told.
                raise Refusal(ErrorCode.ALREADY_IN_ROOM, f"its code is {code}")
            await trio.sleep(ASK_AGAIN_S)

    def begin_to_leave(self) -> None:
        """This node is about to go: let nobody in and hear nothing any more, if there is another node to go to."""
        self.is_leaving = bool(self.others)

    async def send_away(self) -> None:
        """This node goes: tell everybody where their race goes on, and those who have none the address of some other node."""
        urls, node = cycle(self.others), self._node
        if node is None or not self.others:
            return
        waiting = list(self._visits.values())
        until = trio.current_time() + HEIRS_S
        while waiting:
            heirs = await node.heirs({visit.room.code for visit in waiting if visit.room is not None})
            left = []
            for visit in waiting:
                code = visit.room.code if visit.room is not None else None
                url = heirs.get(code or "")
                if url is None and code is not None and trio.current_time() < until:
                    left.append(visit)
                else:
                    visit.connection.post(Outgoing(Moved(url=url or next(urls), code=code)))
            waiting = left
            if waiting:
                await trio.sleep(HEIRS_LOOK_S)

    def let_go(self) -> None:
        """This node has lost its lease, so what it knows about races is no longer true: send away everybody, now and from now on."""
        self._has_let_go = True
        self._put_out()

    def cut_off(self, is_cut_off: bool) -> None:
        """True: this node does not reach the database, but others may, and have its races or soon will. False: it reaches the database
        again, or no other node does either.
        """
        self._is_cut_off = is_cut_off
        if is_cut_off:
            logger.error("cut off from the database, which other servers may still reach: everybody is sent to one of those")
            self._put_out()
        else:
            logger.warning("no longer cut off: players are let in again")

    def _put_out(self) -> None:
        for visit in list(self._visits.values()):
            self.refuse(visit.connection)

    def refuse(self, connection: Connection) -> bool:
        """Shut this connection if nobody is let in any more. Returns whether that is so."""
        refused = self._has_let_go or self._is_cut_off or self.is_leaving
        if refused:
            why = "this server is shutting down" if self.is_leaving else "this server has left its place"
            connection.shut(CloseCode.LET_GO, f"{why}; reconnect to any other")
        return refused
