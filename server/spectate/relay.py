"""Lets people watch a race at any server of a place: other servers' races that are watched here, and this server's that are watched there.

A server whose spectators watch another server's race keeps telling that race's owner so, and how many they are. The owner admits one
spectator for all of them, whose connection is a channel of the bus. What it is sent is what any spectator may see, delayed and with cards
face down; it goes out once, however many servers listen. A race that nobody watches elsewhere has no such spectator, and costs nothing.

When the owner is gone, the spectators wait until another server has the race, and go on with that one. When the bus is gone, here or at the
owner, they are sent to the owner. Spectators with the host's key are always sent there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
import trio

from protocol.codec import MSGPACK
from protocol.errors import CloseCode, ErrorCode, Refusal
from server.cluster.bus import TICK_S, Bus, node_channel, readable
from server.cluster.node import ClusterNode
from server.rooms.driver import Room
from server.rooms.member import NOBODY, Member, PlayerName
from server.rooms.outgoing import Bundle, Outgoing
from server.rooms.registry import Rooms
from server.spectate.relayed_race import Packet, RelayedRace, TalkLine
from server.spectate.spectator import SpectatorConnection
from server.spectate.spectator_registry import SpectatorRegistry, watched_over
from server.store.nodes import Node

ASK_S: Final = 1.0
"""Seconds between two messages in which a server says which races of others are watched at it."""

SILENT_S: Final = 3.0
"""Seconds of silence after which an owner is taken to be gone, and a watching server to have no spectators left."""

DEAF_S: Final = 2 * SILENT_S
"""Seconds of silence after which an owner that still has the race is taken to be out of reach of the bus."""

BROUGHT_BACK_S: Final = 5.0
"""Seconds that an owner which does not have the race yet gets to bring it back, as long as the database says that the race is there."""


class Asks(msgspec.Struct, frozen=True, tag="asks"):
    """To the owner of races. watchers: by code, how many watch at the sending node. snapshots: the codes for which somebody needs one."""

    node: int
    watchers: dict[str, int]
    snapshots: list[str] = []
    lines: list[TalkLine] = []


class Answers(msgspec.Struct, frozen=True, tag="answers"):
    """The owner's answer. serials: by code, that of the last message on the race's channel. refused: by code, why it cannot be shown."""

    node: int
    serials: dict[str, int]
    refused: dict[str, str] = {}


def race_channel(code: str) -> str:
    return f"race:{code}"


class _Channel(Member):
    """The connection of the one spectator who stands for all at other servers. Satisfies `SpectatorConnection`."""

    round_trip_ms = None

    def __init__(self, bus: Bus, room: Room, spectators: SpectatorRegistry) -> None:
        self._bus = bus
        self._room = room
        self._spectators = spectators

    def post(self, outgoing: Outgoing) -> None:
        self.post_all(Bundle([outgoing]))

    def post_all(self, bundle: Bundle) -> None:
        # True if messages before this one were dropped because they were too many.
        anew = self._spectators.waits(self)
        messages = tuple(outgoing.payload(MSGPACK) for outgoing in bundle.messages)
        self._bus.publish(race_channel(self._room.code), msgspec.msgpack.encode(Packet(self._room.summary.holders, messages, anew)))

    def shut(self, code: CloseCode, reason: str) -> None:
        """Does nothing: there is nothing to close."""


@dataclass(slots=True, eq=False)
class _Shown:
    """A race of this server that is watched elsewhere. counts: by node, how many watch there, and until when that count is valid."""

    channel: _Channel
    counts: dict[int, tuple[int, float]] = field(default_factory=dict)


class Relay:
    """`run` is its one task; each race of another server that is watched here has another in the nursery."""

    def __init__(self, nursery: trio.Nursery, node: ClusterNode, bus: Bus, rooms: Rooms, spectators: SpectatorRegistry) -> None:
        self._nursery = nursery
        self._node = node
        self._bus = bus
        self._rooms = rooms
        self._spectators = spectators
        self._races: dict[str, RelayedRace] = {}
        self._shown: dict[str, _Shown] = {}
        self._wanted = trio.Event()
        self._up_at = trio.current_time()
        self._decoder = msgspec.msgpack.Decoder(Asks | Answers)
        bus.subscribe(node_channel(node.id), self._hear)

    @property
    def is_up(self) -> bool:
        return self._bus.is_up

    def watch(self, connection: SpectatorConnection, player: PlayerName, code: str, owner: Node, *, ref: int) -> None:
        """Show this connection a race of another server. Raises Refusal `watch/own-race`, `watch/too-often`."""
        race = self._races.get(code) or self._relayed(code, owner=owner.id, url=owner.url)
        if not race.url:
            race.owner, race.url = owner.id, owner.url
        self._spectators.watch_elsewhere(connection, player, race, ref=ref)
        self._begin(race)

    def lead_to(self, code: str) -> RelayedRace | None:
        """Another server's race, for somebody who follows the closest one; its owner is looked up. None while the bus is down."""
        if not self._bus.is_up:
            return None
        race = self._races.get(code) or self._relayed(code, owner=0, url="")
        self._begin(race)
        return race

    def _relayed(self, code: str, *, owner: int, url: str) -> RelayedRace:
        return RelayedRace(code, owner=owner, url=url, scheduler=self._spectators.scheduler, on_close=self._spectators.forget)

    def _begin(self, race: RelayedRace) -> None:
        if race.code not in self._races:
            self._races[race.code] = race
            self._bus.subscribe(race_channel(race.code), race.hear)
            self._nursery.start_soon(self._serve, race, name=f"watchers of {race.code}, elsewhere")
        self._wanted.set()

    async def run(self) -> None:
        """Until cancelled, say what is watched here, and forget servers at which nobody watches any more."""
        while True:
            self._wanted = trio.Event()
            now = trio.current_time()
            if self._bus.is_up:
                self._up_at = now
            self._ask(now)
            self._forget_lapsed(now)
            await trio.sleep(TICK_S)
            with trio.move_on_after(ASK_S - TICK_S):
                await self._wanted.wait()

    def _hear(self, parts: list[bytes], follows: bool) -> None:
        del follows
        for message in readable(parts, self._decoder):
            if isinstance(message, Asks):
                self._take_asks(message)
            else:
                self._take_answers(message)

    # ---- races of others

    async def _serve(self, race: RelayedRace) -> None:
        try:
            await race.run()
        finally:
            del self._races[race.code]
            self._bus.unsubscribe(race_channel(race.code))

    def _ask(self, now: float) -> None:
        asks: dict[int, Asks] = {}
        for race in self._races.values():
            if now - self._up_at > SILENT_S:
                race.send_to_owner()
            elif race.is_sought:
                pass
            elif race.owner not in self._node.alive or now - max(race.answered_at, race.sought_at) > SILENT_S:
                race.is_sought = True
                self._nursery.start_soon(self._seek, race)
            elif race.count:
                asked = asks.setdefault(race.owner, Asks(self._node.id, {}, [], []))
                asked.watchers[race.code] = race.count
                asked.lines.extend(race.lines)
                race.lines.clear()
                if race.wants_snapshot and now - race.asked_at >= ASK_S - TICK_S:
                    race.asked_at = now
                    asked.snapshots.append(race.code)
        for owner, asked in asks.items():
            self._bus.publish(node_channel(owner), msgspec.msgpack.encode(asked))

    def _take_answers(self, answers: Answers) -> None:
        now = trio.current_time()
        for code, serial in answers.serials.items():
            race = self._races.get(code)
            if race is None or race.owner != answers.node:
                continue
            race.answered_at, race.refused_at = now, None
            # The answer was sent after everything on the race's channel, so something was missed.
            if serial != self._bus.heard(race_channel(code)) and not race.wants_snapshot:
                race.start_anew()
                self._wanted.set()
        for code, why in answers.refused.items():
            race = self._races.get(code)
            if race is None or race.owner != answers.node or race.is_sought:
                continue
            race.answered_at = now
            if race.refused_at is None:
                race.refused_at = now
            if why != ErrorCode.NO_SUCH_ROOM or now - race.refused_at > BROUGHT_BACK_S:
                race.ended("closed", why)
            else:
                race.is_sought = True
                self._nursery.start_soon(self._seek, race)

    async def _seek(self, race: RelayedRace) -> None:
        """Find out which server has the race now."""
        try:
            owner = await self._node.owner(race.code, partial(self._rooms.has, race.code))
        except Refusal as refusal:
            if refusal.code is ErrorCode.NO_SUCH_ROOM:
                # It may have ended unheard.
                room = await self._spectators.over(race.code)
                if room is not None:
                    race.close(lambda each: watched_over(room, each.take_ref()))
                else:
                    race.ended("closed")
        else:
            if owner is None:
                self._spectators.take_home(race)
            elif owner.id == race.owner and trio.current_time() - race.answered_at > DEAF_S:
                race.send_to_owner()
            else:
                if owner.id != race.owner:
                    race.owner, race.url = owner.id, owner.url
                    race.answered_at, race.refused_at = trio.current_time(), None
                race.asked_at = -1.0
                race.start_anew()
        # If it was not found, it is looked up again after the same time.
        race.sought_at = trio.current_time()
        race.is_sought = False
        self._wanted.set()

    # ---- races of this server

    def _take_asks(self, asks: Asks) -> None:
        until = trio.current_time() + SILENT_S
        answers = Answers(self._node.id, {}, {})
        for code, count in asks.watchers.items():
            try:
                shown = self._show(code)
            except Refusal as refusal:
                answers.refused[code] = refusal.code
                continue
            shown.counts[asks.node] = count, until
            self._count(shown)
            if code in asks.snapshots:
                self._spectators.show_again(shown.channel)
            answers.serials[code] = self._bus.serial(race_channel(code))
        for line in asks.lines:
            if line.code in self._shown:
                self._spectators.say_for(self._shown[line.code].channel, PlayerName("", line.name), line.text, free=line.free)
        self._bus.publish(node_channel(asks.node), msgspec.msgpack.encode(answers))

    def _show(self, code: str) -> _Shown:
        """The race with this code, shown to other servers from now on. Raises Refusal."""
        shown = self._shown.get(code)
        if shown is not None and self._spectators.watched(shown.channel) is not None:
            return shown
        if shown is not None:
            self._spectators.gone(shown.channel)
        channel = _Channel(self._bus, self._rooms.find(code), self._spectators)
        try:
            self._spectators.watch(channel, NOBODY, code)
        except Refusal:
            # The registry has remembered the request, and nobody else would make it forget.
            self._spectators.gone(channel)
            raise
        shown = self._shown[code] = _Shown(channel)
        return shown

    def _count(self, shown: _Shown) -> None:
        self._spectators.count_beyond(shown.channel, sum(count for count, _ in shown.counts.values()))

    def _forget_lapsed(self, now: float) -> None:
        for code, shown in list(self._shown.items()):
            lapsed = [node for node, (_, until) in shown.counts.items() if until < now]
            for node in lapsed:
                del shown.counts[node]
            # Where the room is closed, its last messages may still wait for the bus. Nobody asks for it any more, so it lapses soon.
            if not shown.counts:
                del self._shown[code]
                self._spectators.count_beyond(shown.channel, 1)
                self._spectators.gone(shown.channel)
                self._bus.discard(race_channel(code))
            elif lapsed:
                self._count(shown)
