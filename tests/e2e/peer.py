"""A client whose every step a test decides: one connection, JSON by default, no tasks, and none of the project's code."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

JSON = Subprotocol("carpet.v1.json")
PATIENCE_S = 120

Map = dict[str, Any]


class Peer:
    """Has said hello once made. It hears everything in order, and checks that it gets every version of a room."""

    subprotocol = JSON
    encode: Callable[[Map], str | bytes] = staticmethod(json.dumps)
    decode: Callable[[bytes], Map] = staticmethod(json.loads)

    def __init__(self, url: str, name: str, token: str | None = None) -> None:
        self.stack = contextlib.ExitStack()
        # Take in messages even if nobody reads for a while.
        self.websocket = self.stack.enter_context(
            connect(url, subprotocols=[self.subprotocol], compression=None, proxy=None, ping_interval=None, max_queue=None)
        )
        self.version = 0
        self.bytes_heard = 0
        self.welcome = self.ask("hello", name=name, token=token)
        assert self.welcome["type"] == "welcome"
        self.name: str = self.welcome["name"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stack.close()

    def send(self, kind: str, **fields: Any) -> None:
        self.websocket.send(self.encode({"type": kind, **fields}))

    def hear(self) -> Map:
        data = self.websocket.recv(timeout=PATIENCE_S, decode=False)
        self.bytes_heard += len(data)
        message = self.decode(data)
        if "version" in message:
            assert message["type"] == "room" or message["version"] == self.version + 1
            self.version = message["version"]
        return message

    def hear_until(self, kind: str, **fields: Any) -> Map:
        while True:
            message = self.hear()
            if message["type"] == kind and fields.items() <= message.items():
                return message

    def hear_of(self, kind: str, holds: Callable[[Map], object] = bool) -> Map:
        """Read until the first message of this type for which `holds` is true. No error may come before it."""
        while True:
            message = self.hear()
            if message["type"] == kind and holds(message):
                return message
            assert message["type"] != "error", message

    def ask(self, kind: str, **fields: Any) -> Map:
        """Send a message. Returns the next one that comes."""
        self.send(kind, **fields)
        return self.hear()

    def wait_for_silence(self, seconds: float) -> None:
        """Wait until nothing has come for so long. What comes before that goes unheard."""
        with contextlib.suppress(TimeoutError):
            while True:
                self.websocket.recv(timeout=seconds)

    def cut(self) -> None:
        """Lose the connection without a goodbye."""
        self.websocket.socket.shutdown(socket.SHUT_RDWR)
        self.stack.close()

    def closed_with(self) -> int | None:
        """The code with which the server closes the connection; skips everything before that."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.websocket.recv(timeout=PATIENCE_S)
        return self.websocket.close_code


class Racer(Peer):
    """A peer with a seat. view: the last view of its own position. ply: its moves so far."""

    def sit_down(self, kind: str, **fields: Any) -> None:
        """Open a race, or join one."""
        self.send(kind, **fields)
        self.room = self.hear_of("room")
        self.code: str = self.room["code"]
        self.seat: int = self.room["seat"]
        self.race: int = self.room["race"]
        self.view: Map = {}
        self.ply = 0

    def ready(self) -> None:
        self.send("ready", race=self.race, nonce=f"{self.seat:032x}")

    def start(self) -> None:
        """Wait for the cards and the clock."""
        self.view = self.hear_of("dealt")["view"]
        self.hear_of("started")

    def play(self, moves: int = 1) -> None:
        """Play legal moves, preferring those that bring a card home."""
        for _ in range(moves):
            move = next((move for move in self.view["moves"] if ":" not in move and move not in ("s", "r")), self.view["moves"][0])
            self.send("move", race=self.race, seat=self.seat, ply=self.ply, move=move)
            self.view = self.hear_of("view")["view"]
            self.ply += 1

    @property
    def home(self) -> int:
        """Their cards home."""
        home: int = self.view["home"]
        return home

    def stop(self) -> None:
        """Keep the cards home, whatever the others do."""
        self.send("stop", race=self.race, seat=self.seat)


@contextlib.contextmanager
def sitting(url: str, name: str, *, code: str | None = None, **options: Any) -> Iterator[Racer]:
    """A racer who has opened a race, or has joined the one with this code. They give up the seat at the end."""
    with Racer(url, name) as racer:
        if code is None:
            racer.sit_down("open-race", options=options)
        else:
            racer.sit_down("join-race", code=code)
        try:
            yield racer
        finally:
            # If its player were merely away, the race would go on.
            with contextlib.suppress(ConnectionClosed):
                racer.send("leave-race")


class Entrant(Racer):
    """A racer who plays in tournaments, or directs them."""

    call: Map | None = None

    def hear(self) -> Map:
        message = super().hear()
        if message["type"] == "called":
            # The call may come before the answer to the request that led to it.
            self.call = message
        return message

    def decide(self, kind: str, **fields: Any) -> str:
        """Have a request decided. Returns the tournament's id."""
        self.send(kind, ref=1, **fields)
        decided: str = self.hear_of("decided")["id"]
        return decided

    def create(self, name: str, **options: Any) -> str:
        return self.decide("create-tournament", options={"name": name, **options})

    def enter(self, tournament: str) -> None:
        self.decide("enter-tournament", id=tournament)

    def check_in(self, tournament: str) -> None:
        self.decide("check-in", id=tournament, nonce=self.welcome["player"].ljust(32, "0")[:32])

    def stands(self, tournament: str, holds: Callable[[Map], object]) -> Map:
        """Follow a tournament until it is in this state."""
        self.send("follow-tournament", id=tournament)
        told = self.hear_of("tournament", holds)
        self.send("follow-tournament", id=tournament, follow=False)
        return told

    def go_to_table(self) -> Map:
        """Wait for the call, sit down and be ready. Returns the call."""
        call = self.call or self.hear_of("called")
        self.call = None
        self.sit_down("join-race", code=call["code"])
        self.ready()
        return call

    def stop_and_leave(self) -> None:
        """Keep the cards home, and leave when the race is over, which must be soon."""
        self.stop()
        self.hear_of("ended")
        self.send("leave-race")
        self.hear_of("left")
