"""Drivers for `carpet load` to peers with a wire of their own: connections that take and give the same messages as those of our wire.

Set-up requests go by plain HTTP, one after the other: only their cost to the server is measured.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from client.connection.address import Address
from client.local import load_worker
from client.local.load_wire import Connection, Loop, Offered, Peer, Told
from client.local.load_worker import Plan

NOTHING: Final = Told(type="")
"""A message that the load does not need."""


def asked(address: Address, path: str, body: object) -> Any:
    """The answer to a POST."""
    line = http.client.HTTPConnection(address.host, address.port)
    try:
        line.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = line.getresponse()
        text = response.read()
        if response.status != http.client.OK:
            raise OSError(f"{path}: {response.status} {text.decode(errors='replace')}")
        return json.loads(text)
    finally:
        line.close()


class Driver:
    """One player, whose identity is known only once they open or join a race."""

    def __init__(self, address: Address, loop: Loop, peer: Peer) -> None:
        self.address, self.loop, self.peer = address, loop, peer
        loop.at(time.perf_counter(), lambda _: peer.opened())

    def say(self, **message: Any) -> None:
        match message["type"]:
            case "hello":
                self.loop.at(time.perf_counter(), lambda now: self.peer.heard(Told(type="welcome"), now))
            case "open-race":
                self.sit(None)
            case "join-race":
                self.sit(message["code"])
            case "leave-race":
                # These peers know no message for it: to leave, one hangs up.
                pass
            case _:
                self.tell(message)

    def sit(self, code: str | None) -> None:
        """Sit down in a new race, or in this one."""
        raise NotImplementedError

    def tell(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def closed(self, why: str) -> None:
        self.peer.closed(why)


# ---- Colyseus: a code, for messages the name of their type, and MessagePack

JOIN_ROOM: Final = 10
ROOM_DATA: Final = 13


class ColyseusLine(Connection):
    @staticmethod
    def decode(data: bytes) -> Told:
        # The name is a short MessagePack string.
        if data[0] == ROOM_DATA:
            return Connection.decode(data[2 + (data[1] & 31) :])
        return Told(type="joined") if data[0] == JOIN_ROOM else NOTHING


class Colyseus(Driver):
    line: ColyseusLine

    def sit(self, code: str | None) -> None:
        found = asked(self.address, "/matchmake/create/carpet" if code is None else f"/matchmake/joinById/{code}", {})
        found = found.get("room", {}) | found
        place = f"/{found['processId']}/{found['roomId']}?sessionId={found['sessionId']}"
        self.line = ColyseusLine(replace(self.address, path=place), self.loop, self)

    def tell(self, message: dict[str, Any]) -> None:
        kind = message["type"].encode()
        self.line.send(bytes((ROOM_DATA, 0xA0 | len(kind))) + kind + msgspec.msgpack.encode(message))

    def opened(self) -> None:
        pass

    def heard(self, message: Told, now: float) -> None:
        if message.type == "joined":
            self.line.send(bytes((JOIN_ROOM,)))
        elif message.type:
            self.peer.heard(message, now)


# ---- boardgame.io: Socket.IO's text, and JSON


class Own(msgspec.Struct):
    ply: int
    state: str
    view: Offered


class Other(msgspec.Struct):
    ply: int
    state: str


class Game(msgspec.Struct):
    race: int
    phase: str
    own: Own | None = None
    other: Other | None = None


class State(msgspec.Struct):
    G: Game
    id: int = msgspec.field(name="_stateID")


class Synchronised(msgspec.Struct):
    state: State


_sync = msgspec.json.Decoder(Synchronised).decode
_state = msgspec.json.Decoder(State).decode
_parts = msgspec.json.Decoder(list[msgspec.Raw]).decode


class BoardgameLine(Connection):
    """Returns a text as a message, with the text as its type."""

    @staticmethod
    def decode(data: bytes) -> Told:
        return Told(type=data.decode())


class Boardgame(Driver):
    line: BoardgameLine

    def sit(self, code: str | None) -> None:
        self.seat = 0 if code is None else 1
        self.code = asked(self.address, "/games/carpet/create", {"numPlayers": 2})["matchID"] if code is None else code
        who = {"playerID": str(self.seat), "playerName": "load"}
        self.credentials = asked(self.address, f"/games/carpet/{self.code}/join", who)["playerCredentials"]
        self.number, self.phase, self.plies, self.stands_at = 0, "", [0, 0], 0
        self.line = BoardgameLine(replace(self.address, path="/socket.io/?EIO=4&transport=websocket"), self.loop, self)

    def emit(self, *parts: Any) -> None:
        self.line.send(b"42/carpet," + msgspec.json.encode(parts), text=True)

    def tell(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        arguments = (message["ply"], message["move"]) if kind == "move" else ()
        played = {
            "type": "play" if kind == "move" else kind,
            "args": arguments,
            "playerID": str(self.seat),
            "credentials": self.credentials,
        }
        self.emit("update", {"type": "MAKE_MOVE", "payload": played}, self.stands_at, self.code, str(self.seat))

    def opened(self) -> None:
        pass

    def heard(self, message: Told, now: float) -> None:
        text = message.type
        if text.startswith("0"):
            self.line.send(b"40/carpet,", text=True)
        elif text == "2":
            self.line.send(b"3", text=True)
        elif text.startswith("40/carpet,"):
            self.emit("sync", self.code, str(self.seat), self.credentials, 2)
        elif text.startswith("42/carpet,"):
            parts = _parts(text.partition(",")[2])
            if bytes(parts[0]) == b'"sync"':
                self._stands(_sync(parts[2]).state, now)
            elif bytes(parts[0]) == b'"update"':
                self._stands(_state(parts[2]), now)

    def _stands(self, state: State, now: float) -> None:
        """Report the state of the game as the messages of our wire would."""
        game, self.stands_at = state.G, state.id
        if game.race != self.number:
            self.number, self.plies = game.race, [0, 0]
            self.peer.heard(Told(type="room", code=self.code, phase="waiting", seat=self.seat, race=game.race), now)
        if game.own is not None and game.other is not None:
            own, other = game.own, game.other
            if self.phase == "waiting" and game.phase == "racing":
                self.peer.heard(Told(type="dealt", seat=self.seat, view=own.view), now)
                self.peer.heard(Told(type="started"), now)
            if own.ply != self.plies[0]:
                self.peer.heard(Told(type="view", seat=self.seat, ply=own.ply, state=own.state, view=own.view), now)
            if other.ply != self.plies[1]:
                self.peer.heard(Told(type="progress", seat=1 - self.seat, ply=other.ply, state=other.state), now)
            self.plies = [own.ply, other.ply]
            if self.phase == "racing" and game.phase == "over":
                self.peer.heard(Told(type="result"), now)
        self.phase = game.phase


def _work(driver: Callable[[Address, Loop, Peer], Driver], pipe: Pipe, plan: Plan, seconds: float, mark: str) -> None:
    load_worker.Connection = driver  # type: ignore[assignment, attr-defined]
    load_worker.work(pipe, plan, seconds, mark)


def work_colyseus(pipe: Pipe, plan: Plan, seconds: float, mark: str) -> None:
    _work(Colyseus, pipe, plan, seconds, mark)


def work_boardgame(pipe: Pipe, plan: Plan, seconds: float, mark: str) -> None:
    _work(Boardgame, pipe, plan, seconds, mark)
