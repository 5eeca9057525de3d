"""A client for carpet.v1.json, written from protocol/README.md alone, with nothing but the standard library and a WebSocket.

    python spec_client_json.py ws://127.0.0.1:7777 --bots random     # a race against a house bot
    python spec_client_json.py ws://127.0.0.1:7777 --open            # a public race, open to anybody
    python spec_client_json.py ws://127.0.0.1:7777                   # the first public race that the lobby lists
    python spec_client_json.py ws://127.0.0.1:7777 --join HKTRWM

It plays the first move of the view that brings a card home, or else the last one. It comes back if its connection is lost, checks the deal,
and prints a summary as JSON. It exits with status 1 if the deal or the record is not what it should be.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import secrets
import sys
import time
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

Map = dict[str, Any]

WIRE = Subprotocol("carpet.v1.json")


class Over(Exception):
    """There is nothing more to do. The text says why, unless all went well."""


def deal_cards(seed: bytes) -> list[str]:
    """The 52 cards in the order of dealing."""
    deck = [rank + suit for suit in "SHDC" for rank in "A23456789TJQK"]
    words: list[int] = []
    block = 0
    for last in range(51, 0, -1):
        limit = 2**32 - 2**32 % (last + 1)
        while True:
            if not words:
                digest = hmac.new(seed, b"deal" + block.to_bytes(8, "big"), "sha256").digest()
                words = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4)]
                block += 1
            word = words.pop(0)
            if word < limit:
                break
        other = word % (last + 1)
        deck[last], deck[other] = deck[other], deck[last]
    return deck


def first_view_of(seed: bytes) -> Map:
    """The first view of a game of Carpet, without its moves."""
    cards = [card for card in deal_cards(seed) if not card.startswith("A")]
    slots = [f"{column}{row}" for row in range(1, 5) for column in "abcde"]
    return {
        "piles": {slot: [card] for slot, card in zip(slots, cards[:20], strict=True)},
        "waste": [],
        "stock": 28,
        "stock_next": [],
        "foundations": {"S": 1, "H": 1, "D": 1, "C": 1},
        "pending": None,
        "redeals": 0,
        "home": 4,
    }


class Player:
    def __init__(self, url: str, name: str, options: Map | None, code: str | None, pace: float) -> None:
        """options: for the race to open. With neither options nor a code, it looks for a race in the lobby."""
        self.url, self.name, self.options, self.code, self.pace = url, name, options, code, pace
        self.looking = False
        self.websocket: ClientConnection
        self.token: str | None = None
        self.ref = 0
        self.last: dict[int, Map] = {}
        # The picture of the room.
        self.version = 0
        self.race = 0
        self.phase = ""
        self.seat = 0
        self.seats: list[Map] = []
        self.chat: list[Map] = []
        # My own position.
        self.ply = 0
        self.state = "waiting"
        self.view: Map | None = None
        self.first_view: Map | None = None
        # My part of the deal.
        self.nonce = ""
        self.commitment = ""
        self.record: Map | None = None
        # What was asked for, so as not to ask twice.
        self.resumed_at = -1
        self.moved_at = -1
        self.leaving = False
        self.closed = False  # no more moves are taken
        self.heard: dict[str, int] = {}

    # -- the connection

    def run(self) -> None:
        pause = 0.1
        while True:
            try:
                with connect(self.url, subprotocols=[WIRE], compression=None) as self.websocket:
                    self.send("hello", name=self.name, token=self.token, software="spec-client-json 1")
                    for frame in self.websocket:
                        self.take(json.loads(frame))
                        pause = 0.1
                    code = self.websocket.close_code
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
            except OSError:
                code = None
            if code == 4009:
                raise Over("taken over by a newer connection")
            time.sleep(pause)
            pause = min(pause * 2, 10)

    def send(self, kind: str, **fields: Any) -> None:
        time.sleep(self.pace)
        self.ref += 1
        message = {"type": kind, **fields, "ref": self.ref}
        self.last[self.ref] = message
        self.websocket.send(json.dumps(message))

    # -- incoming messages

    def take(self, message: Map) -> None:
        kind = message["type"]
        self.heard[kind] = self.heard.get(kind, 0) + 1
        version = message.get("version")
        if version is not None and kind != "room":
            if version <= self.version:
                return
            if version > self.version + 1:
                if self.resumed_at != self.version:  # until the answer comes, further messages are not another gap
                    self.resumed_at = self.version
                    self.send("join-race", code=self.code, version=self.version)
                return
            self.version = version
        handle = getattr(self, "on_" + kind.replace("-", "_"), None)
        if handle is not None:  # for an unknown type only the version counts
            handle(message)
        self.act()

    def on_welcome(self, welcome: Map) -> None:
        self.token = welcome["token"]
        self.resumed_at = self.moved_at = -1
        self.leaving = False
        if welcome["room"] is not None:
            self.send("join-race", code=welcome["room"], version=self.version)
        elif self.version:
            raise Over("" if self.record else "my seat is gone")
        elif self.code is not None:
            self.send("join-race", code=self.code)
        elif self.options is not None:
            self.send("open-race", options=self.options)
        else:
            self.looking = True
            self.send("follow-lobby")

    def on_lobby(self, lobby: Map) -> None:
        if self.looking and lobby["races"]:
            self.looking = False
            self.send("join-race", code=lobby["races"][0]["code"])

    def on_error(self, error: Map) -> None:
        code, request = error["code"], self.last.get(error["ref"])
        if code == "hello/unknown-token":
            self.token = None
            self.send("hello", name=self.name, software="spec-client-json 1")
        elif code in ("race/over", "race/seat-ended"):
            self.closed = True  # nothing to do but wait for `result`
        elif code == "room/closed" and request and request["type"] == "leave-race":
            raise Over("")  # left already, by the same request before a snapshot
        elif code in ("room/full", "room/closed", "room/no-such-code") and self.code is None:
            self.looking = True  # somebody was faster; the next `lobby` shows other races
        elif code == "wire/too-fast" and self.version:  # it was not read, so its ref is unknown: a snapshot shows what to do
            time.sleep(1)
            self.leaving = False
            self.send("join-race", code=self.code, version=0)
        elif code == "wire/too-fast" or error["fault"] == "server":
            time.sleep(1)
            self.websocket.send(json.dumps(request or self.last[self.ref]))
        elif not (code.startswith("race/") and request and request["type"] == "move"):  # after those comes `current-view`
            raise Over(f"{code}: {error['message']}")

    def on_left(self, left: Map) -> None:
        raise Over("" if left["reason"] == "left" else f"the room was closed: {left['reason']}")

    def on_current_view(self, current: Map) -> None:
        if current["race"] == self.race:
            self.ply, self.state, self.view = current["ply"], current["state"], current["view"]
            self.moved_at = self.resumed_at = -1

    def on_room(self, room: Map) -> None:
        if room["race"] != self.race:
            self.commitment, self.nonce, self.first_view, self.closed = room["commitment"], secrets.token_hex(16), None, False
        if not self.version:
            print(room["code"], file=sys.stderr, flush=True)
        self.version, self.code, self.race = room["version"], room["code"], room["race"]
        self.phase, self.seats, self.seat, self.chat = room["phase"], room["seats"], room["seat"], room["chat"]
        if self.phase == "waiting":
            self.send("follow-lobby", follow=False)
        mine = self.seats[self.seat]
        self.ply, self.state, self.view, self.record = mine["ply"], mine["state"], room["view"], room["record"]
        if self.view is not None and self.ply == 0:
            self.first_view = self.view
        self.moved_at = -1
        if self.phase == "waiting" and not mine["ready"]:
            self.send("ready", race=self.race, nonce=self.nonce)

    def on_seated(self, seated: Map) -> None:
        self.seats[seated["seat"]]["name"] = seated["name"]

    def on_unseated(self, unseated: Map) -> None:
        self.seats[unseated["seat"]]["name"] = None

    def on_presence(self, presence: Map) -> None:
        self.seats[presence["seat"]]["connected"] = presence["connected"]

    def on_player_ready(self, ready: Map) -> None:
        self.seats[ready["seat"]]["ready"] = True

    def on_countdown(self, _countdown: Map) -> None:
        self.phase = "countdown"

    def on_dealt(self, dealt: Map) -> None:
        self.first_view = dealt["view"]
        if self.view is None:  # or else it is told again
            self.ply, self.state, self.view = 0, "racing", dealt["view"]

    def on_started(self, _started: Map) -> None:
        self.phase = "racing"

    def on_view(self, view: Map) -> None:
        if view["ply"] > self.ply:  # or else it is told again
            self.ply, self.state, self.view = view["ply"], view["state"], view["view"]

    def on_progress(self, progress: Map) -> None:
        self.seats[progress["seat"]].update(state=progress["state"], home=progress["home"])
        if progress["seat"] == self.seat:  # my part has ended, and not by a move
            self.state = progress["state"]

    def on_rematch_asked(self, asked: Map) -> None:
        self.seats[asked["seat"]]["again"] = True

    def on_result(self, result: Map) -> None:
        self.phase, self.record = "over", result["record"]

    def on_said(self, said: Map) -> None:
        self.chat.append(said["line"])

    # -- what to do

    def act(self) -> None:
        if self.phase == "racing" and self.state == "racing" and self.view and not self.closed and self.moved_at != self.ply:
            self.moved_at = self.ply
            moves = self.view["moves"]
            home = [move for move in moves if ":" not in move and move not in ("s", "r")]
            self.send("move", race=self.race, seat=self.seat, ply=self.ply, move=(home or moves[-1:])[0])
        elif self.phase == "over" and not self.leaving:
            self.leaving = True
            self.send("say", text="Well raced.")
            self.send("leave-race")

    # -- what the record proves

    def checks(self) -> dict[str, bool]:
        assert self.record is not None
        deal = self.record["deal"]
        secret = bytes.fromhex(deal["secret"])
        if deal["name"] is None:
            material = secret + b"".join(map(bytes.fromhex, deal["nonces"])) + deal["k"].to_bytes(4, "big")
        else:
            material = b"carpet deal " + deal["name"].encode()
        seed = hashlib.sha256(material).digest()
        rest = {key: value for key, value in self.record.items() if key != "digest"}
        canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        shown = {key: value for key, value in (self.first_view or {}).items() if key != "moves"}
        return {
            "commitment": hashlib.sha256(secret).hexdigest() == deal["commitment"] == self.commitment,
            "nonce": deal["nonces"][self.seat] == self.nonce,
            "seed": deal["seed"] == seed.hex(),
            "first view": self.record["rules"] != "carpet" or shown == first_view_of(seed),
            "digest": self.record["digest"] == hashlib.sha256(canonical).hexdigest(),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--name", default="Jason")
    parser.add_argument("--join", metavar="CODE", help="join this room")
    parser.add_argument("--open", action="store_true", help="open a public race")
    parser.add_argument("--bots", nargs="*", default=[], help="open a race against these house bots")
    parser.add_argument("--deal", help="the name of a shuffle")
    parser.add_argument("--countdown", type=int, default=3)
    parser.add_argument("--pace", type=float, default=0.06, help="seconds before each message")
    chosen = parser.parse_args()
    options = {"deal": chosen.deal, "countdown_s": chosen.countdown, "bots": chosen.bots}
    player = Player(chosen.url, chosen.name, options if chosen.open or chosen.bots else None, chosen.join, chosen.pace)
    try:
        player.run()
    except Over as over:
        if str(over):
            sys.exit(str(over))
    checks = player.checks()
    summary = {
        "name": player.name,
        "room": player.code,
        "checks": checks,
        "chat": player.chat,
        "heard": player.heard,
        "record": player.record,
    }
    print(json.dumps(summary, ensure_ascii=False))
    if not all(checks.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
