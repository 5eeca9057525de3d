"""Shared by the tests of watching: onlookers, on connections in memory, and the spectators beside a table to race at."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import trio

from protocol.cards import FACE_DOWN
from protocol.codec import JSON, MSGPACK, server_message_decoder
from protocol.errors import CloseCode
from protocol.room_events import Room, RoomEvent
from protocol.server_messages import ServerMessage
from protocol.views import LateBoard, View
from protocol.watch_messages import Board, Talk, Unwatched, Watched, WatchedEvent
from server.rooms.driver import Room as ServedRoom
from server.rooms.member import PlayerName
from server.rooms.outgoing import Bundle, Outgoing
from server.spectate.fanout_scheduler import FanoutScheduler
from server.spectate.room_spectators import RoomSpectators
from server.spectate.spectator import SpectatorConnection
from server.spectate.spectator_registry import SpectatorRegistry
from tests.server.rooms.playing import Hearing, Table

Kind = TypeVar("Kind")

_DECODERS = {name: server_message_decoder(name) for name in (MSGPACK, JSON)}


class Onlooker(Hearing, SpectatorConnection):
    """Somebody who watches: keeps what a client keeps, and when they heard it."""

    def __init__(self, box: Box, name: str, *, encoding: str = MSGPACK) -> None:
        self.player = PlayerName(f"id of {name}", name)
        self.heard: list[ServerMessage] = []
        self.times: list[float] = []
        self.outgoing: list[Outgoing] = []
        self.bundles: list[Bundle] = []
        self.gaps: list[str] = []
        self.room: Room | None = None
        self.version = 0
        self.boards: dict[int, LateBoard] = {}
        self.shut_with: CloseCode | None = None
        self._box = box
        self._encoding = encoding

    @property
    def round_trip_ms(self) -> int | None:
        return None

    def shut(self, code: CloseCode, reason: str) -> None:
        assert reason
        self.shut_with = code

    def post_all(self, bundle: Bundle) -> None:
        self.bundles.append(bundle)
        for outgoing in bundle.messages:
            self.post(outgoing)

    def post(self, outgoing: Outgoing) -> None:
        message: ServerMessage = _DECODERS[self._encoding].decode(outgoing.payload(self._encoding))
        self.heard.append(message)
        self.times.append(trio.current_time())
        self.outgoing.append(outgoing)
        match message:
            case Watched(room=room, boards=boards):
                self.room, self.version = room, room.version
                self.boards = {board.seat: board for board in boards}
            case WatchedEvent(code=code, event=event):
                assert self.room is not None
                assert code == self.room.code
                if not isinstance(event, Room) and event.version != self.version + 1:
                    self.gaps.append(f"had version {self.version} and was told {event}")
                self.version = event.version
                if isinstance(event, Room):
                    self.room, self.boards = event, {}
            case Board(code=code, race=race, board=board):
                assert self.room is not None
                assert (code, race) == (self.room.code, self.room.race)
                self.boards[board.seat] = board
            case Unwatched():
                self.room = None
            case _:
                pass

    def events(self, kind: type[Kind]) -> list[Kind]:
        """The room events of this kind."""
        return [event for event in self.every_event if isinstance(event, kind)]

    @property
    def every_event(self) -> list[RoomEvent]:
        return [message.event for message in self.all(WatchedEvent)]

    @property
    def talk(self) -> list[str]:
        return [line.text for message in self.all(Talk) for line in message.lines]

    # ---- what they do

    async def watch(self, room: ServedRoom | str | None = None, *, key: str = "") -> None:
        self._box.spectators.watch(self, self.player, room.code if isinstance(room, ServedRoom) else room, key=key)
        await self._box.table.settle()

    async def unwatch(self) -> None:
        self._box.spectators.unwatch(self)
        await self._box.table.settle()

    async def say(self, text: str) -> None:
        self._box.spectators.say(self, text, free=True)
        await self._box.table.settle()


async def no_room(code: str) -> None:
    """For a store that knows no room."""
    del code
    await trio.lowlevel.checkpoint()


class Box:
    """The spectators, and the table that they watch."""

    def __init__(self, nursery: trio.Nursery, table: Table | None = None, *, scheduler: FanoutScheduler | None = None) -> None:
        self.table = table or Table(nursery, max_rooms=200)
        self.spectators = SpectatorRegistry(nursery, self.table.rooms, self.table.clock, over=no_room, scheduler=scheduler)
        nursery.start_soon(self.spectators.run)
        self.onlookers: list[Onlooker] = []

    def onlooker(self, name: str = "Eve", *, encoding: str = MSGPACK) -> Onlooker:
        onlooker = Onlooker(self, name, encoding=encoding)
        self.onlookers.append(onlooker)
        return onlooker

    def of(self, room: ServedRoom) -> RoomSpectators:
        return self.spectators._rooms_watched[room]


def shows(view: View, truth: View | None) -> bool:
    """Whether a board shows this position, apart from face-down cards."""
    assert truth is not None
    piles = {slot: _covered_as(truth.piles[slot], cards) for slot, cards in view.piles.items()}
    shown = msgspec.structs.replace(
        truth, piles=piles, waste=_covered_as(truth.waste, view.waste), stock_next=_covered_as(truth.stock_next, view.stock_next)
    )
    return view == (shown if shown == truth else msgspec.structs.replace(shown, moves=()))


def _covered_as(cards: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    assert len(cards) == len(others)
    return tuple(FACE_DOWN if other == FACE_DOWN else card for card, other in zip(cards, others, strict=True))
