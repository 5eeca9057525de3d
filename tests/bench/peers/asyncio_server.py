"""A server to compare with: what one writes in an afternoon on `websockets.asyncio`, with this project's own rules and views.

It answers the part of the wire that `carpet load` uses. It stores nothing, and has no limits, no resume and no fair clock.

    python tests/bench/peers/asyncio_server.py PORT
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from contextlib import suppress
from typing import Any

import msgspec
from websockets import ConnectionClosed
from websockets.asyncio.server import ServerConnection, serve

from server.race.view import see
from server.rules.catalogue import rule_set

RULES = rule_set("carpet")
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
encode = msgspec.msgpack.Encoder().encode


class Said(msgspec.Struct):
    """Any message of a client."""

    type: str
    race: int = 0
    ply: int = 0
    move: str = ""
    ref: int = 0
    code: str = ""
    options: dict[str, Any] = {}


decode = msgspec.msgpack.Decoder(Said).decode


class Room:
    def __init__(self, code: str, options: dict[str, Any]) -> None:
        self.code, self.options = code, options
        self.players: list[ServerConnection] = []
        self.phase, self.race, self.version = "waiting", 1, 0
        self.ready, self.again = 0, 0
        self.starting: asyncio.Task[None] | None = None

    async def tell(self, seat: int, /, **message: Any) -> None:
        self.version += 1
        await self.players[seat].send(encode(message | {"version": self.version}))

    async def snapshot(self, seat: int) -> None:
        seats = [{"seat": number, "name": f"p{number}" if number < len(self.players) else None} for number in (0, 1)]
        options = {"options": self.options, "seats": seats}
        await self.tell(seat, type="room", code=self.code, race=self.race, phase=self.phase, seat=seat, view=None, **options)

    async def start(self) -> None:
        await asyncio.sleep(1)
        first = RULES.deal(os.urandom(32))
        self.positions, self.plies, self.states = [first, first], [0, 0], ["racing", "racing"]
        self.phase, self.began = "racing", time.monotonic()
        for seat in (0, 1):
            await self.tell(seat, type="dealt", seat=seat, starts_in_ms=0, view=see(first))
            await self.tell(seat, type="started")

    async def move(self, seat: int, said: Said) -> None:
        if self.phase != "racing":
            await self.tell(seat, type="error", code="race/over", ref=said.ref)
            return
        position = self.positions[seat]
        if said.ply != self.plies[seat] or said.move not in position.legal_moves():
            await self.tell(seat, type="error", code="race/illegal-move", ref=said.ref)
            return
        position = self.positions[seat] = position.play_unchecked(said.move)
        self.plies[seat] += 1
        view = see(position)
        state = self.states[seat] = "won" if view.home == RULES.deck_size else "racing" if view.moves else "stalled"
        now = {"seat": seat, "ply": self.plies[seat], "state": state, "elapsed_ms": int((time.monotonic() - self.began) * 1000)}
        await self.tell(seat, type="view", move=said.move, view=view, **now)
        await self.tell(1 - seat, type="progress", home=view.home, foundations=view.foundations, **now)
        if state == "won" or "racing" not in self.states:
            self.phase = "over"
            for each in (0, 1):
                await self.tell(each, type="result", record={})


rooms: dict[str, Room] = {}


async def serve_player(connection: ServerConnection) -> None:
    with suppress(ConnectionClosed):
        await play(connection)


async def play(connection: ServerConnection) -> None:
    room, seat = Room("", {}), 0
    async for data in connection:
        assert isinstance(data, bytes)
        said = decode(data)
        match said.type:
            case "move":
                await room.move(seat, said)
            case "hello":
                await connection.send(encode({"type": "welcome"}))
            case "open-race":
                room = Room("".join(random.choices(LETTERS, k=6)), said.options)
                rooms[room.code] = room
                room.players.append(connection)
                await room.snapshot(0)
            case "join-race":
                room, seat = rooms[said.code], 1
                room.players.append(connection)
                await room.snapshot(1)
                await room.tell(0, type="seated", seat=1)
            case "ready":
                room.ready += 1
                if room.ready == 2:
                    room.ready = 0
                    room.starting = asyncio.create_task(room.start())
            case "rematch":
                room.again += 1
                if room.again == 2:
                    room.again, room.phase, room.race = 0, "waiting", room.race + 1
                    for each in (0, 1):
                        await room.snapshot(each)
            case _:
                pass


async def main() -> None:
    options = {"subprotocols": ["carpet.v1.msgpack"], "compression": None, "max_size": 4096, "backlog": 4096}
    async with serve(serve_player, "127.0.0.1", int(sys.argv[1]), **options):  # type: ignore[arg-type]
        print("listening", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
