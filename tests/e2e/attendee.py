"""Somebody at tournaments whose every step is a test's: one connection, the JSON subprotocol, no task of his own."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE_S = 30


class Attendee:
    """Once entered, has said hello."""

    def __init__(self, url: str, name: str) -> None:
        self._connect = connect(
            url, subprotocols=[Subprotocol("carpet.v1.json")], compression=None, proxy=None, ping_interval=None, max_queue=None
        )
        self._name = name
        self._line: ClientConnection
        self._call: dict[str, Any] | None = None
        self.ply = 0

    def __enter__(self) -> Self:
        self._line = self._connect.__enter__()
        self.say("hello", name=self._name)
        welcome = self.hear_of("welcome")
        self.name: str = welcome["name"]
        self.player: str = welcome["player"]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connect.__exit__(kind, error, trace)

    def say(self, kind: str, **fields: Any) -> None:
        self._line.send(json.dumps({"type": kind, **fields}))

    def hear_of(self, kind: str, holds: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """Read on to the first message of this type of which this holds. An error is nobody's plan."""
        while True:
            message: dict[str, Any] = json.loads(self._line.recv(timeout=PATIENCE_S))
            if message["type"] == "called":
                # It may come ahead of the answer to what has led to it.
                self._call = message
            if message["type"] == kind and holds(message):
                return message
            assert message["type"] != "error", message

    def decide(self, kind: str, **fields: Any) -> str:
        """Have it decided; the tournament's id."""
        self.say(kind, ref=1, **fields)
        decided: str = self.hear_of("decided")["id"]
        return decided

    def create(self, name: str, **options: Any) -> str:
        return self.decide("create-tournament", options={"name": name, **options})

    def enter(self, tournament: str) -> None:
        self.decide("enter-tournament", id=tournament)

    def check_in(self, tournament: str) -> None:
        self.decide("check-in", id=tournament, nonce=self.player.ljust(32, "0")[:32])

    def stands(self, tournament: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Follow it until it stands so."""
        self.say("follow-tournament", id=tournament)
        told = self.hear_of("tournament", holds)
        self.say("follow-tournament", id=tournament, follow=False)
        return told

    def go_to_table(self) -> dict[str, Any]:
        """Wait to be called, sit down and be ready. What the call said."""
        call, self._call = self._call or self.hear_of("called"), None
        self.say("join-race", code=call["code"])
        room = self.hear_of("room")
        self.seat, self.race, self.ply = room["seat"], room["race"], 0
        self.say("ready", race=self.race, nonce="0" * 32)
        return call

    def start(self) -> None:
        """Wait for the cards and the clock."""
        self.view = self.hear_of("dealt")["view"]
        self.hear_of("started")

    def play(self, moves: int) -> None:
        """Legal moves, the ones that bring a card home first."""
        for _ in range(moves):
            move = next((move for move in self.view["moves"] if ":" not in move and move not in ("s", "r")), self.view["moves"][0])
            self.say("move", race=self.race, seat=self.seat, ply=self.ply, move=move)
            self.view = self.hear_of("view")["view"]
            self.ply += 1

    def stop_alone(self) -> None:
        """Keep the cards home, whatever the others do."""
        self.say("stop", race=self.race, seat=self.seat)

    def stop(self) -> None:
        """Keep the cards home, and leave when the race is over, which it then has to be soon."""
        self.stop_alone()
        self.hear_of("ended")
        self.say("leave-race")
        self.hear_of("left")
