"""A scripted player over the wire: it has a connection of its own, from hello to the result, like any other client.

Owns when it says what; what it plays is the policy's choice. It knows what a person at the screen would know, through the same model.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable

import trio
from msgspec.structs import replace

from client.connection.client import open_link
from client.connection.errors import Failure
from client.connection.events import Identity, Link, LinkEvent, Lost
from client.connection.websocket import Dial
from client.local.policies import Policy
from client.state.store import Event, Model, MoveSent, ReadySent, reduce, refuses_nothing
from protocol.client_messages import JoinRace, LeaveRace, Move, OpenRace, Ready, Stop
from protocol.errors import ErrorCode
from protocol.record import Record
from protocol.room_events import PlayerView, Room, Started
from protocol.run_messages import RunDaily
from protocol.server_messages import CurrentView, Error, Left, ServerMessage, Welcome
from protocol.text import clean_chat, counted

_ENTER_REFERENCE = 1
_READY_REFERENCE = 2
_MOVE_REFERENCE = 3
_RETRY_S = 0.5
_REFUSALS = 100
"""Refused moves after which this program or the server must be at fault, and going on is of no use."""

Watch = Callable[[Model, ServerMessage | LinkEvent], None]


class BotFailed(Failure):
    """The race had no result for this player; str() says why, in one sentence."""


async def run_bot(
    url: str,
    name: str,
    policy: Policy,
    enter: OpenRace | JoinRace | RunDaily,
    *,
    pace: float,
    generator: random.Random | None = None,
    watch: Watch | None = None,
    dial: Dial | None = None,
) -> Record:
    """Play one race at the server of `url` and return its record. enter: the request that leads to its seat.

    pace: average seconds per move, varied by up to two fifths; 0 for as fast as the server answers. generator: for these pauses.
    watch: called after every event, with all that the player knows then.
    Raises LinkError if the first connection fails, and BotFailed if the race cannot be entered or finished.
    """
    async with open_link(url, Identity(name), generator=generator, dial=dial) as link:
        await link.entered()
        player = _Player(
            link,
            policy,
            replace(enter, ref=_ENTER_REFERENCE),
            pace=pace,
            generator=generator or random.Random(),  # noqa: S311  (pauses, no secrets)
            watch=watch or (lambda model, event: None),
        )
        return await player.race()


class _Player:
    def __init__(
        self, link: Link, policy: Policy, enter: OpenRace | JoinRace | RunDaily, *, pace: float, generator: random.Random, watch: Watch
    ) -> None:
        self._link = link
        self._policy = policy
        self._enter: OpenRace | JoinRace | RunDaily | None = enter
        self._pace = pace
        self._generator = generator
        self._watch = watch
        self._model = Model()
        self._running = False  # whether the race's clock runs
        self._due = math.inf
        self._refused = 0

    async def race(self) -> Record:
        while True:
            with trio.move_on_at(self._due) as waiting:
                event = await self._heard()
            if waiting.cancelled_caught:
                self._due = math.inf
                self._move()
                continue
            self._reduce(event)
            self._watch(self._model, event)
            # If the connection was down when the race ended, the record comes in a snapshot.
            room = self._model.room
            if room is not None and room.record is not None and (room.series is None or room.series.over):
                self._link.send(LeaveRace())
                return room.record
            self._answer(event)

    async def _heard(self) -> ServerMessage | LinkEvent:
        try:
            return await anext(self._link.events)
        except StopAsyncIteration:
            raise BotFailed("The connection was closed.") from None

    def _reduce(self, event: Event) -> None:
        self._model = reduce(self._model, event, round(trio.current_time() * 1000))

    def _answer(self, event: ServerMessage | LinkEvent) -> None:
        match event:
            case Welcome() if self._enter is not None and self._link.send(self._enter):
                self._enter = None
            case Room():
                self._running = event.phase == "racing" and event.starts_in_ms is None
                self._get_ready()
                self._plan()
            case Started():
                self._running = True
                self._plan()
            case PlayerView() | CurrentView():
                self._plan()
            case Error():
                self._refusal(event)
            case Left():
                raise BotFailed(f"The race {event.code} was closed before it had a result.")
            case Lost(retry_in_ms=None):
                raise BotFailed(event.reason)

    def _get_ready(self) -> None:
        room = self._model.room
        if room is None or room.phase != "waiting" or room.own is None or room.own.ready:
            return
        nonce = secrets.token_hex(16)
        if self._link.send(Ready(race=room.race, nonce=nonce, ref=_READY_REFERENCE)):
            self._reduce(ReadySent(nonce))

    def _plan(self, at_least: float = 0.0) -> None:
        room = self._model.room
        # The link sees to it that an unanswered move arrives, whatever happens to the connection.
        waits = self._model.in_flight is not None
        if room is None or room.own is None or room.own.state != "racing" or room.view is None or not self._running or waits:
            self._due = math.inf
            return
        self._due = trio.current_time() + max(at_least, self._pace * self._generator.uniform(0.6, 1.4))

    def _move(self) -> None:
        room = self._model.room
        if room is None or room.seat is None or room.view is None:
            return
        move = self._policy.choose(room.view)
        if move is None:
            self._link.send(Stop(race=room.race, seat=room.seat, ref=_MOVE_REFERENCE))
        # Without a connection the move is dropped. Back in the room, the current view makes the player choose again.
        elif self._link.send(Move(race=room.race, seat=room.seat, ply=room.ply, move=move, ref=_MOVE_REFERENCE)):
            self._reduce(MoveSent(room.ply, move))

    def _refusal(self, error: Error) -> None:
        if error.ref == _READY_REFERENCE and error.code == ErrorCode.NOT_WAITING:
            return  # the first one had been heard
        if error.ref == 0 and error.code == ErrorCode.TOO_FAST:
            return  # the link repeats whatever was dropped
        if refuses_nothing(error):
            return  # sent to everybody: the race goes on, if need be as soon as it can
        if error.ref != _MOVE_REFERENCE:
            raise BotFailed(clean_chat(error.message) or error.code)
        if error.code in (ErrorCode.RACE_OVER, ErrorCode.SEAT_ENDED):
            self._running = False  # nothing is left to do but wait for the result
            return
        self._refused += 1
        if self._refused > _REFUSALS:
            raise BotFailed(f"The server refused {counted(self._refused, 'move')}; the last time it said: {clean_chat(error.message)}")
        self._plan(at_least=_RETRY_S)
