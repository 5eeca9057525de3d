"""A player of a race whose every step is a test's: one connection, the JSON subprotocol, no task of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE_S = 30


class Sitting:
    """Once entered, has said hello and opened a race, or sat down at that of a code. view: the last one of his own position."""

    def __init__(self, url: str, name: str, *, code: str | None = None, **options: Any) -> None:
        # Also when nobody reads for a while: what comes is taken.
        self._connect = connect(
            url, subprotocols=[Subprotocol("carpet.v1.json")], compression=None, proxy=None, ping_interval=None, max_queue=None
        )
        self._name = name
        self._ask = ("open-race", {"options": options}) if code is None else ("join-race", {"code": code})
        self._line: ClientConnection
        self.view: dict[str, Any] = {}
        self.ply = 0

    def __enter__(self) -> Self:
        self._line = self._connect.__enter__()
        self.say("hello", name=self._name)
        self.welcome = self.hear_of("welcome")
        kind, fields = self._ask
        self.say(kind, **fields)
        self.name: str = self.welcome["name"]
        self.room = self.hear_of("room")
        self.code: str = self.room["code"]
        self.seat: int = self.room["seat"]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # A seat that is only away would keep its race running.
        with suppress(ConnectionClosed):
            self.say("leave-race")
        self._connect.__exit__(kind, error, trace)

    def say(self, kind: str, **fields: Any) -> None:
        self._line.send(json.dumps({"type": kind, **fields}))

    def hear_of(self, kind: str) -> dict[str, Any]:
        """Read on to the first message of this type. An error is nobody's plan."""
        while True:
            message: dict[str, Any] = json.loads(self._line.recv(timeout=PATIENCE_S))
            if message["type"] == kind:
                return message
            assert message["type"] != "error", message

    def ready(self) -> None:
        self.say("ready", race=1, nonce=f"{self.seat:032x}")

    def start(self) -> None:
        """Wait for the cards and the clock."""
        self.view = self.hear_of("dealt")["view"]
        self.hear_of("started")

    def play(self, moves: int = 1) -> None:
        """Legal moves, the ones that bring a card home first."""
        for _ in range(moves):
            move = next((move for move in self.view["moves"] if ":" not in move and move not in ("s", "r")), self.view["moves"][0])
            self.say("move", race=1, seat=self.seat, ply=self.ply, move=move)
            self.view = self.hear_of("view")["view"]
            self.ply += 1

    @property
    def home(self) -> int:
        """His cards home."""
        home: int = self.view["home"]
        return home

    def stop(self) -> None:
        self.say("stop", race=1, seat=self.seat)
