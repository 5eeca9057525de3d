"""A race of another server that is watched at this one. Its owner sends everything once, for all who watch it here. The rules:

In       At the owner, one ordinary spectator stands for all of them. So what comes is what any spectator may see, in order: a snapshot, and
         everything that follows it. Nothing here knows more about the race.
Joining  Newcomers wait for the next snapshot, which the relay asks for. One snapshot serves all who wait.
Gaps     If something was missed, or more than BACKLOG bundles wait, everybody waits for a snapshot.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec
import trio

from protocol.codec import MSGPACK, server_message_decoder
from protocol.errors import ErrorCode, Refusal
from protocol.room_events import Countdown, Ended, Result, Room
from protocol.server_messages import Moved, ServerMessage
from protocol.watch_messages import Unwatched, Watched, WatchedEvent
from server.rooms.outgoing import Bundle, Outgoing, refused
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.spectator import Spectator
from server.spectate.spectator_group import SpectatorGroup

logger = logging.getLogger("carpet.spectate")

BACKLOG: Final = 256
"""Bundles that may wait for the task. When it is full, the spectators are seconds behind: all get a snapshot."""

LINES_WAITING: Final = 20
"""Lines of chat that may wait for the next message to the owner, which lets no more through at once. More are refused."""


class Packet(msgspec.Struct, array_like=True, frozen=True):
    """What an owner says in one go. holders: the players who have a seat in the race. messages: as spectators are sent them.

    anew: what came before was not said in full.
    """

    holders: tuple[str, ...]
    messages: tuple[bytes, ...]
    anew: bool


class TalkLine(msgspec.Struct, array_like=True, frozen=True):
    """A spectator's line of chat. free: in their own words."""

    code: str
    name: str
    text: str
    free: bool


OnClose: TypeAlias = "Callable[[RelayedRace, list[Spectator]], None]"


class RelayedRace(SpectatorGroup):
    """`run` is its task, for as long as anybody watches. owner: the node that has the race. url: where players reach that node."""

    def __init__(self, code: str, *, owner: int, url: str, scheduler: FanoutScheduler, on_close: OnClose) -> None:
        super().__init__(code, scheduler)
        self.owner = owner
        self.url = url
        self.answered_at = trio.current_time()
        """When the owner last said anything about the race; before that, when the owner was found."""
        self.sought_at = -1.0
        """When its owner was last looked up."""
        self.asked_at = -1.0
        """When the owner was last asked for a snapshot."""
        self.refused_at: float | None = None
        """Since when the owner has refused to show the race; None while it does not."""
        self.is_sought = False
        """Whether its owner is being looked up."""
        self.lines: list[TalkLine] = []
        self.holders: tuple[str, ...] = ()
        self._on_close = on_close
        self._items: deque[bytes] = deque()
        self._packets = msgspec.msgpack.Decoder(Packet)
        self._messages = server_message_decoder(MSGPACK)

    @property
    def count(self) -> int:
        return len(self._spectators)

    @property
    def wants_snapshot(self) -> bool:
        """Whether anybody waits for one."""
        return bool(self._newcomers)

    def say(self, spectator: Spectator, text: str, *, free: bool) -> None:
        if not spectator.lines.take(trio.current_time()) or len(self.lines) >= LINES_WAITING:
            raise Refusal(ErrorCode.TALKED_TOO_MUCH)
        self.lines.append(TalkLine(self.code, spectator.player.name, text, free))

    def hear(self, parts: list[bytes], follows: bool) -> None:
        """Take in what the owner has said. follows: nothing was missed since the last time."""
        if not follows or len(self._items) + len(parts) > BACKLOG:
            self.start_anew()
        self._items.extend(parts)
        self._wake.set()

    def start_anew(self) -> None:
        self._items.clear()
        self._all_anew()

    def close(self, farewell: Callable[[Spectator], Outgoing]) -> None:
        """Stop showing the race here. farewell: gives the last message of each spectator."""
        spectators = self.watched_by()
        self._items.clear()
        for spectator in spectators:
            self._put_out(spectator, farewell)
        self._on_close(self, spectators)

    def send_to_owner(self) -> None:
        """Stop showing the race here, and tell the spectators where it is."""
        self.close(lambda each: Outgoing(Moved(url=self.url, code=self.code, ref=each.ref)))

    def ended(self, reason: str, code: str = ErrorCode.NO_SUCH_ROOM) -> None:
        """Stop showing a race that is no longer available, and say so. code: the error for those who have only just asked."""
        gone = Refusal(ErrorCode(code) if code in set(ErrorCode) else ErrorCode.NO_SUCH_ROOM)
        self.close(lambda each: refused(gone, each.ref) if each.ref else Outgoing(Unwatched(code=self.code, reason=reason)))

    async def run(self) -> None:
        """Tell the spectators until there are none. A crash ends their watching and nothing else."""
        try:
            while self._spectators:
                self._wake = trio.Event()
                while self._items:
                    await self._tell(self._items.popleft())
                if self._spectators and not self._wake.is_set():
                    await self._wake.wait()
        except Exception:
            logger.exception("watching race %s of node %d failed", self.code, self.owner)
            self.ended("failed")

    async def _tell(self, item: bytes) -> None:
        packet = self._packets.decode(item)
        self.holders = packet.holders
        if packet.anew:
            self._all_anew()
        self._keep_players_out()
        told: list[Outgoing] = []
        for message in self._read(packet.messages):
            self._note_quiet(message)
            match message:
                case Watched():
                    await self._tell_joined(told)
                    await self._join(message)
                    told = []
                case Unwatched(reason=reason):
                    self.ended(reason)
                case _:
                    told.append(Outgoing(message))
        await self._tell_joined(told)

    def _note_quiet(self, message: ServerMessage) -> None:
        match message:
            case Watched(room=Room(phase="countdown" | "racing")) | WatchedEvent(event=Countdown()):
                self.quiet_since = None
            case Watched() | WatchedEvent(event=Result() | Ended()) if self.quiet_since is None:
                self.quiet_since = trio.current_time()
            case _:
                pass

    def _read(self, messages: Sequence[bytes]) -> list[ServerMessage]:
        read: list[ServerMessage] = []
        for message in messages:
            try:
                read.append(self._messages.decode(message))
            except Refusal:
                # From a node with a newer version.
                logger.debug("a message of node %d is left out", self.owner)
        return read

    async def _tell_joined(self, told: list[Outgoing]) -> None:
        if told:
            await self._post(Bundle(told), self.watched_by())

    async def _join(self, watched: Watched) -> None:
        answers: dict[tuple[bool, int], list[Spectator]] = {}
        for spectator in self._newcomers:
            answers.setdefault((spectator.closest, spectator.ref), []).append(spectator)
        for (closest, ref), chosen in answers.items():
            await self._post(Bundle([Outgoing(msgspec.structs.replace(watched, closest=closest, ref=ref))]), chosen, joining=True)

    def _keep_players_out(self) -> None:
        """Remove spectators who hold a seat in the race: players are shown nothing of their own races."""
        own = [spectator for spectator in self._spectators if spectator.player.id in self.holders]
        for spectator in own:
            self._put_out(spectator, self._told_seated)
        if own:
            self._on_close(self, own)

    def _told_seated(self, spectator: Spectator) -> Outgoing:
        own = Refusal(ErrorCode.OWN_RACE)
        return refused(own, spectator.ref) if spectator.ref else Outgoing(Unwatched(code=self.code, reason="seated"))

    def _put_out(self, spectator: Spectator, farewell: Callable[[Spectator], Outgoing]) -> None:
        # Those who follow the closest race will be told of the next one, or that there is none.
        if not spectator.closest:
            spectator.connection.post(farewell(spectator))
        self.dismiss(spectator)
