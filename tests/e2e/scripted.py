"""A scripted player with the same link, driver and model as one at a screen, who notes everything they ask for and are told.

They send each move and each line of talk once. The link must make sure that nothing is lost or doubled; the notes show whether it did.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import trio

from client.connection.client import NetLink, open_link
from client.connection.errors import Unreachable
from client.connection.events import Back, Identity, LinkEvent, Lost
from client.connection.websocket import ConnectionTimes
from client.local.policies import POLICIES
from client.state.store import Model
from client.tui.actions import Do, Typed
from client.tui.driver import Driver
from client.tui.keymap import Command
from client.tui.ui_state import Ui
from protocol.client_messages import JoinRace, OpenRace, Say
from protocol.phrases import PHRASES
from protocol.record import Record, to_json
from protocol.room_events import Room, RoomEvent
from protocol.server_messages import ServerMessage

TALK_EVERY = 8
"""The number of moves between two lines of talk."""
LAST_WORDS_S = 2.0
QUICK = ConnectionTimes(open_s=1.0, close_s=0.3, ping_s=0.3, pong_s=0.6)


@dataclass(slots=True)
class Notes:
    """asked: the moves asked for, by ply. said: lines of talk. lost, back: losses of the connection, and returns. gaps: in the versions."""

    asked: dict[int, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    back: int = 0
    gaps: list[str] = field(default_factory=list)
    model: Model = field(default_factory=Model)


class ScriptedPlayer:
    """entered: set once the code of the race is known. rests: make no move for now. The link's generator only spreads reconnections."""

    def __init__(self, name: str, *, policy: str = "greedy", pace: float = 0.02, token: str | None = None) -> None:
        self.notes = Notes()
        self.entered = trio.Event()
        self.told = trio.Event()  # set, and replaced, with every message
        self.identity = Identity(name, token)
        self.rests = False
        self._choose = POLICIES[policy].choose
        self._pace = pace
        self._ready = False

    @property
    def model(self) -> Model:
        return self.notes.model

    @property
    def code(self) -> str:
        assert self.model.room is not None
        return self.model.room.code

    async def reached(self, ply: int) -> None:
        """Wait until they have made this many moves, or the race is over."""
        while self.model.room is None or (self.model.room.ply < ply and self.model.room.record is None):
            await self.told.wait()

    async def rest(self) -> None:
        """Make no move for now, and wait until all that is on its way has been answered."""
        self.rests = True
        while self.model.in_flight is not None or not self._has_heard_themselves():
            await self.told.wait()

    async def race(self, url: str, request: OpenRace | JoinRace, *, times: ConnectionTimes = QUICK) -> Record:
        """Play one race to its result: the one that `request` asks for, or the one where the player has a seat."""
        while True:
            try:
                return await self._race(url, request, times)
            except Unreachable:
                # The link does not repeat its very first attempt, which may time out on a busy machine.
                continue

    async def _race(self, url: str, request: OpenRace | JoinRace, times: ConnectionTimes) -> Record:
        nonces = itertools.count(1)
        async with open_link(url, self.identity, generator=random.Random(2), keep=self._keep, times=times) as link:
            session = Driver(link, Ui(), nonce=lambda: f"{next(nonces):032x}", now_ms=lambda: round(trio.current_time() * 1000))
            await link.entered(request)
            due = trio.current_time()
            while session.state.room is None or session.state.room.record is None:
                with trio.move_on_at(due):
                    self._hear(session, await link.events.receive())
                    continue
                self._act(link, session)
                due = trio.current_time() + self._pace
            record = session.state.room.record
            # Wait for the last line of talk: it may still be under way, unless it was lost with the connection.
            with trio.move_on_after(LAST_WORDS_S), suppress(trio.EndOfChannel):
                while not self._has_heard_themselves():
                    self._hear(session, await link.events.receive())
            return record

    def _has_heard_themselves(self) -> bool:
        room = self.model.room
        return room is None or {line.text for line in room.chat} >= set(self.notes.said[-1:])

    def _keep(self, identity: Identity) -> None:
        self.identity = identity

    def _hear(self, session: Driver, event: ServerMessage | LinkEvent) -> None:
        before = session.state.room
        if isinstance(event, RoomEvent) and not isinstance(event, Room) and before is not None and event.version != before.version + 1:
            self.notes.gaps.append(f"at {before.version} came {event}")
        session.hear(event)
        self.notes.model = session.state
        if isinstance(event, Lost):
            self.notes.lost.append(event)
        self.notes.back += isinstance(event, Back)
        if session.state.room is not None:
            self.entered.set()
            self.told.set()
            self.told = trio.Event()
            if not self._ready:
                session.do(Do(Command.READY))
                # Either it was too late to be ready, or they are.
                self._ready = session.state.room.phase != "waiting" or session.state.evidence is not None

    def _act(self, link: NetLink, session: Driver) -> None:
        model = session.state
        room = model.room
        if room is None or room.view is None or room.own is None or room.own.state != "racing" or room.started_at_ms is None:
            return
        if self.rests or model.in_flight is not None or trio.current_time() * 1000 < room.started_at_ms:
            return
        move = self._choose(room.view)
        assert move is not None
        phrase, line = list(PHRASES.items())[room.ply // TALK_EVERY % len(PHRASES)]
        if room.ply % TALK_EVERY == 0 and line not in self.notes.said and link.send(Say(text=line, phrase=phrase)):
            self.notes.said.append(line)
        session.do(Typed("move", move))
        if session.state.in_flight is not None:
            assert self.notes.asked.setdefault(room.ply, move) == move
            self.notes.model = session.state


async def main(url: str, code: str) -> None:
    """Runs in a process of its own, so that it can be put to sleep. Prints the record and what was asked for."""
    player = ScriptedPlayer("asleep", pace=0.04)
    record = await player.race(url, JoinRace(code=code))
    print(json.dumps({"record": to_json(record), "asked": player.notes.asked, "gaps": player.notes.gaps}))


if __name__ == "__main__":
    _, url, code = sys.argv
    trio.run(main, url, code)
