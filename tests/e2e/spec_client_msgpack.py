"""A client for carpet.v1.msgpack, written from protocol/README.md alone: it shares no code with the project.

    python spec_client_msgpack.py ws://127.0.0.1:7777 --bots greedy     # a race against a house bot
    python spec_client_msgpack.py ws://127.0.0.1:7777                   # opens a race and tells its code on standard error
    python spec_client_msgpack.py ws://127.0.0.1:7777 --join HKTRWM

It keeps a picture of its room, does what the picture asks for, and comes back if its connection is lost. It checks everything that the
record allows it to check: the deal, every view it was shown, every move and time, the places, the digest. At the end it prints a summary as
JSON. It exits with status 1 if a check has failed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

Map = dict[str, Any]

WIRE = Subprotocol("carpet.v1.msgpack")

MANY_MOVES = 100  # it stops after this many without a card going home


class Unhappy(Exception):
    """Going on would not help."""


# ---- the deal, and the game of Carpet


def words(seed: bytes, label: bytes) -> Iterator[int]:
    for n in itertools.count():
        block = hmac.digest(seed, label + n.to_bytes(8, "big"), "sha256")
        for at in range(0, 32, 4):
            yield int.from_bytes(block[at : at + 4], "big")


def shuffled(seed: bytes) -> list[str]:
    stream = words(seed, b"deal")
    cards = [rank + suit for suit in "SHDC" for rank in "A23456789TJQK"]
    for i in range(len(cards) - 1, 0, -1):
        m = i + 1
        j = next(u for u in stream if u < 2**32 - 2**32 % m) % m
        cards[i], cards[j] = cards[j], cards[i]
    return cards


class Carpet:
    """A position, as specified under "Moves and positions"."""

    def __init__(self, cards: list[str]) -> None:
        rest = [card for card in cards if card[0] != "A"]
        slots = [column + row for row in "1234" for column in "abcde"]
        self.piles = {slot: [card] for slot, card in zip(slots, rest, strict=False)}
        self.stock = rest[20:]
        self.waste: list[str] = []
        self.foundations = dict.fromkeys("SHDC", 1)
        self.pending: str | None = None

    def fits(self, card: str) -> bool:
        return "A23456789TJQK".index(card[0]) == self.foundations[card[1]]

    def moves(self) -> list[str]:
        if self.pending:
            return [f"s:{self.pending}", f"w:{self.pending}"]
        moves = [slot for slot, pile in self.piles.items() if pile and self.fits(pile[-1])]
        if self.waste and self.fits(self.waste[-1]):
            moves.append("w")
        if self.stock:
            moves.append("s")
        return sorted(moves)

    def play(self, move: str) -> None:
        if move not in self.moves():
            raise Unhappy(f"the record has the move {move}, which is not legal")
        source, _, target = move.partition(":")
        if target:
            self.piles[target].append(self.waste.pop() if source == "w" else self.stock.pop(0))
            self.pending = None
        elif source == "s":
            self.waste.append(self.stock.pop(0))
        else:
            pile = self.waste if source == "w" else self.piles[source]
            self.foundations[pile.pop()[1]] += 1
            if source != "w":
                if self.waste and self.stock:
                    self.pending = source
                elif self.waste:
                    pile.append(self.waste.pop())
                elif self.stock:
                    pile.append(self.stock.pop(0))

    def view(self) -> Map:
        return {
            "piles": {slot: list(pile) for slot, pile in self.piles.items()},
            "waste": list(self.waste),
            "stock": len(self.stock),
            "stock_next": [],
            "foundations": dict(self.foundations),
            "pending": self.pending,
            "redeals": 0,
            "home": sum(self.foundations.values()),
            "moves": self.moves(),
        }


def choose(view: Map) -> str:
    """A card home if one can go, the waste's first; else fill a gap from the waste; else turn the next card; else any move."""

    def order(move: str) -> tuple[int, str]:
        if ":" not in move and move not in ("s", "r"):
            return (0 if move[0] == "w" else 1), move
        if view["pending"] is not None:
            return (2 if move[0] == "w" else 3), move
        return (4 if move == "s" else 5 if move == "r" else 6), move

    moves: list[str] = view["moves"]
    return min(moves, key=order)


# ---- what a record proves


def digest(record: Map) -> str:
    rest = {key: value for key, value in record.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def seed_of(deal: Map) -> bytes:
    if deal["name"] is not None:
        return hashlib.sha256(b"carpet deal " + deal["name"].encode()).digest()
    nonces = b"".join(bytes.fromhex(nonce) for nonce in deal["nonces"])
    return hashlib.sha256(bytes.fromhex(deal["secret"]) + nonces + deal["k"].to_bytes(4, "big")).digest()


def places(seats: list[Map]) -> list[int]:
    keys = [(seat["state"] == "forfeited", -seat["home"], seat["home_at_ms"]) for seat in seats]
    return [1 + sum(other < key for other in keys) for key in keys]


def times_hold(moves: list[list[Any]]) -> bool:
    last: dict[int, int] = {}
    for seat, _, at_ms, received_ms, credit_ms, _ in moves:
        if not 0 <= credit_ms <= 150 or at_ms != max(received_ms - credit_ms, last.get(seat, 0), 0):
            return False
        last[seat] = at_ms
    return all(before[3] <= after[3] for before, after in itertools.pairwise(moves))


def check(record: Map, seat: int, commitment: str, nonce: str, views: dict[int, Map]) -> dict[str, bool]:
    """Check a record; every value must be true. views: the views this client was shown, by ply."""
    deal = record["deal"]
    seed = seed_of(deal)
    checks = {
        "format": record["format"] == 1,
        "commitment": deal["commitment"] == commitment == hashlib.sha256(bytes.fromhex(deal["secret"])).hexdigest(),
        "nonce": deal["nonces"][seat] == nonce,
        "seed": deal["seed"] == seed.hex(),
        "times": times_hold(record["moves"]),
        "places": [each["place"] for each in record["seats"]] == places(record["seats"]),
        "digest": record["digest"] == digest(record),
    }
    if record["rules"] == "carpet":
        games = [Carpet(shuffled(seed)) for _ in record["seats"]]
        plies = [0] * len(games)
        home_at = [0] * len(games)
        true = {0: games[seat].view()}
        homes = True
        for who, move, at_ms, _, _, home in record["moves"]:
            before = sum(games[who].foundations.values())
            games[who].play(move)
            plies[who] += 1
            homes = homes and sum(games[who].foundations.values()) == home
            home_at[who] = at_ms if home > before else home_at[who]
            if who == seat:
                true[plies[who]] = games[who].view()
        checks["first view"] = views[0] == true[0]
        checks["views"] = all(views[ply] == view for ply, view in true.items() if ply in views)
        checks["moves"] = homes and all(
            (each["plies"], each["home"], each["home_at_ms"]) == (ply, sum(game.foundations.values()), at_ms)
            and (each["state"] != "won" or each["home"] == 52)
            and (each["state"] != "stalled" or not game.moves())
            for each, ply, game, at_ms in zip(record["seats"], plies, games, home_at, strict=True)
        )
    return checks


# ---- the client


class Client:
    def __init__(self, url: str, name: str, *, options: Map, code: str | None, races: int, pace: float) -> None:
        self.url, self.name, self.options, self.code, self.races, self.pace = url, name, options, code, races, pace
        self.token: str | None = None
        # The picture: the last `room` with all later events applied, and the version it has reached.
        self.room: Map | None = None
        self.version = 0
        # Requests not yet answered. What to do follows from the picture, and this keeps it from asking twice.
        self.asked: set[tuple[Any, ...]] = set()
        self.refs = itertools.count(1)
        self.sent: dict[int, Map] = {}
        self.outbox: asyncio.Queue[Map] = asyncio.Queue()
        # The current race, as it was before the start.
        self.commitment = ""
        self.nonce = ""
        self.views: dict[int, Map] = {}
        self.counted: dict[tuple[int, int], int] = {}  # by seat and ply: when the seat had made that many moves
        self.best = (0, 0)  # the ply that brought the last card home, and how many were home then
        self.finished = False  # the server has said that this race takes no more moves of ours
        self.done: list[Map] = []
        self.fresh = False  # a snapshot has come since the end of this race
        self.strange: list[str] = []  # where a snapshot differed from the picture
        self.ended = False
        self.heard: Counter[str] = Counter()
        self.refused: list[str] = []
        self.gaps = 0
        self.lines = 0

    # -- the connection

    async def run(self) -> None:
        pause = 0.1
        while True:
            try:
                async with connect(self.url, subprotocols=[WIRE], compression=None) as websocket:
                    self.lines += 1
                    sender = asyncio.create_task(self.send_all(websocket))
                    try:
                        self.say_hello()
                        async for frame in websocket:
                            pause = 0.1
                            self.take(msgpack.unpackb(frame))
                            if self.ended:
                                return
                    finally:
                        sender.cancel()
                        await asyncio.gather(sender, return_exceptions=True)
                    code = websocket.close_code
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
            except OSError:
                code = 1006
            if code == 4009:
                raise Unhappy("a newer connection of this player has taken over")
            await asyncio.sleep(pause)
            pause = min(2 * pause, 10)

    async def send_all(self, websocket: ClientConnection) -> None:
        """Runs as a task of its own, so that reading never waits for the pace of sending."""
        while True:
            await websocket.send(msgpack.packb(await self.outbox.get()))
            await asyncio.sleep(self.pace)

    def send(self, kind: str, **fields: Any) -> None:
        ref = next(self.refs)
        self.sent[ref] = {"type": kind, **fields, "ref": ref}
        self.outbox.put_nowait(self.sent[ref])

    def send_once(self, what: tuple[Any, ...], kind: str, **fields: Any) -> None:
        if what not in self.asked:
            self.asked.add(what)
            self.send(kind, **fields)

    def say_hello(self) -> None:
        self.outbox = asyncio.Queue()
        self.asked.clear()
        self.sent.clear()
        self.send("hello", name=self.name, token=self.token, software="spec-client-msgpack 1")

    # -- incoming messages

    def take(self, message: Map) -> None:
        self.heard[message["type"]] += 1
        if "version" in message:
            self.take_event(message, message["version"])
        else:
            self.take_own(message)
        if not self.ended:
            self.act()

    def take_own(self, message: Map) -> None:
        match message["type"]:
            case "welcome":
                self.token = message["token"]
                if message["room"] is not None:
                    self.send("join-race", code=message["room"], version=self.version if self.room else 0)
                elif self.room is not None:
                    raise Unhappy("the seat was lost")
                elif self.code is not None:
                    self.send("join-race", code=self.code)
                else:
                    self.send("open-race", options=self.options)
                self.send("follow-lobby", follow=True)
            case "error":
                self.take_error(message)
            case "left":
                if message["reason"] != "left":
                    raise Unhappy(f"the room is closed: {message['reason']}")
                self.ended = True
            case "current-view":
                if self.room is not None and message["race"] == self.room["race"]:
                    mine = self.room["seats"][message["seat"]]
                    mine.update(ply=message["ply"], state=message["state"], elapsed_ms=message["elapsed_ms"])
                    self.see(message["ply"], message["view"])
                    self.asked -= {("move", message["race"], message["ply"]), ("resume", self.version)}

    def take_error(self, error: Map) -> None:
        self.refused.append(error["code"])
        request = self.sent.get(error["ref"], {"type": None})
        later = asyncio.get_running_loop().call_later
        match error["code"]:
            case "hello/unknown-token":
                self.token = None
                self.say_hello()
            case "race/over" | "race/seat-ended":
                self.finished = True  # wait for `result`
            case "room/closed" if request["type"] == "leave-race":
                self.ended = True  # left already, by a request that came before a snapshot and was not dropped
            case code if code.startswith("race/") and request["type"] == "move":
                pass  # `current-view` comes next, with the position to go on from
            case "wire/too-fast":  # it was not read, so its ref is unknown, and so is what else was dropped after it
                later(1, self.start_afresh)
            case _ if error["fault"] == "server":
                later(1, self.outbox.put_nowait, request)
            case code:
                raise Unhappy(f"{code}: {error['message']} {error['path']} {request}")

    def start_afresh(self) -> None:
        """After a dropped request, start from a new snapshot. Before there is a room, the dropped request was the last one."""
        if self.room is not None:
            self.send("join-race", code=self.room["code"], version=0)
        else:
            self.outbox.put_nowait(self.sent[max(self.sent)])

    def take_event(self, event: Map, version: int) -> None:
        if event["type"] == "room":
            self.take_room(event)
            return
        if self.room is None or version <= self.version:
            return
        if version > self.version + 1:
            if ("resume", self.version) not in self.asked:
                self.gaps += 1
            self.send_once(("resume", self.version), "join-race", code=self.room["code"], version=self.version)
            return
        self.version = version
        self.apply(self.room, event)

    def take_room(self, room: Map) -> None:
        if self.room is None or room["race"] != self.room["race"]:
            self.commitment, self.nonce, self.views, self.finished = room["commitment"], os.urandom(16).hex(), {}, False
            self.best, self.counted = (0, 0), {(seat["seat"], 0): 0 for seat in room["seats"]}
        if self.room is None:
            print(room["code"], file=sys.stderr, flush=True)
        elif room["version"] == self.version:
            self.strange += differences(self.room, room)
        self.version = room["version"]
        self.room = {key: value for key, value in room.items() if key != "type"}
        self.asked.clear()
        self.fresh = True
        if room["view"] is not None:
            self.see(room["seats"][room["seat"]]["ply"], room["view"])

    def see(self, ply: int, view: Map) -> None:
        """Take in a view of the own position; an older one, sent again, changes nothing."""
        assert self.room is not None
        self.views.setdefault(ply, view)
        mine = self.room["seats"][self.room["seat"]]
        if ply == mine["ply"]:
            self.room["view"] = view
            mine.update(home=view["home"], foundations=view["foundations"])
            if view["home"] > self.best[1]:
                self.best = (ply, view["home"])

    def apply(self, room: Map, event: Map) -> None:  # noqa: C901  (a case for each message, as the specification has them)
        seats = room["seats"]
        match event["type"]:
            case "seated":
                seats[event["seat"]].update(name=event["name"], bot=event["bot"], connected=True, ready=False)
            case "unseated":
                seats[event["seat"]].update(name=None, bot=None, connected=False)
                if room["phase"] == "waiting":
                    seats[event["seat"]].update(ready=False)
            case "presence":
                seats[event["seat"]].update(connected=event["connected"])
            case "player-ready":
                seats[event["seat"]].update(ready=True)
            case "countdown":
                room.update(phase="countdown", starts_in_ms=event["starts_in_ms"])
            case "dealt":
                seats[event["seat"]].update(state="racing")
                self.see(0, event["view"])
                self.play(room)  # cannot arrive before the start, or else is refused and sent again at `started`
            case "started":
                room.update(phase="racing", starts_in_ms=None)
                for seat in seats:
                    if seat["state"] in ("waiting", "racing"):
                        seat["state"] = "racing"
                        if seat["ply"] == 0 and 0 in self.views:  # all seats have the same deal
                            seat.update(home=self.views[0]["home"], foundations=self.views[0]["foundations"])
            case "view":
                if event["ply"] > seats[event["seat"]]["ply"]:
                    seats[event["seat"]].update(ply=event["ply"], state=event["state"], elapsed_ms=event["elapsed_ms"])
                    self.counted[event["seat"], event["ply"]] = event["elapsed_ms"]
                self.see(event["ply"], event["view"])
            case "progress":
                self.take_progress(room, seats[event["seat"]], event)
            case "result":
                room.update(phase="over", record=event["record"])
            case "rematch-asked":
                seats[event["seat"]].update(again=True)
            case "said":
                room["chat"].append(event["line"])
            case _:
                pass  # `hidden`, and events that the wire may add later: only the version moves

    def take_progress(self, room: Map, seat: Map, event: Map) -> None:
        """Progress by another's move, or by the end of a seat without a move, when its last moves may have been struck out."""
        number, ply = event["seat"], event["ply"]
        if ply > seat["ply"]:
            self.counted[number, ply] = event["elapsed_ms"]
        elif number == room["seat"]:
            room["view"] = self.views.get(ply, room["view"])
        seat.update({key: event[key] for key in ("ply", "home", "foundations", "state")})
        seat["elapsed_ms"] = self.counted.get((number, ply), seat["elapsed_ms"])

    # -- what to do

    def act(self) -> None:
        room = self.room
        if room is None:
            return
        race, mine = room["race"], room["seats"][room["seat"]]
        if room["phase"] == "waiting":
            if race == 1:
                self.send_once(("say",), "say", text="Good luck! 🍀")
            if not mine["ready"]:
                self.send_once(("ready", race), "ready", race=race, nonce=self.nonce)
        elif room["phase"] == "racing":
            self.play(room)
        elif room["phase"] == "over":
            self.finish(room)

    def play(self, room: Map) -> None:
        mine = room["seats"][room["seat"]]
        if mine["state"] != "racing" or self.finished or any(seat["state"] == "won" for seat in room["seats"]):
            return
        race, seat, ply = room["race"], room["seat"], mine["ply"]
        if ply > self.best[0] + MANY_MOVES:
            self.send_once(("stop", race), "stop", race=race, seat=seat)
        else:
            self.send_once(("move", race, ply), "move", race=race, seat=seat, ply=ply, move=choose(room["view"]))

    def finish(self, room: Map) -> None:
        """Check the record; then compare a fresh snapshot with the picture; then race again or leave."""
        race, record = room["race"], room["record"]
        if len(self.done) < race:
            seat = record["seats"][room["seat"]]
            checks = check(record, room["seat"], self.commitment, self.nonce, self.views)
            self.done.append({"race": race, **{key: seat[key] for key in ("place", "state", "home", "plies")}, "checks": checks})
            self.fresh = False
        if not self.fresh:
            self.send_once(("snapshot", race), "join-race", code=room["code"], version=0)
        elif race < self.races:
            self.send_once(("rematch", race), "rematch", race=race)
        else:
            self.send_once(("leave",), "leave-race")

    def summary(self) -> Map:
        return {
            "name": self.name,
            "room": self.room and self.room["code"],
            "races": self.done,
            "picture": self.strange,
            "lines": self.lines,
            "gaps": self.gaps,
            "refused": self.refused,
            "heard": dict(sorted(self.heard.items())),
            "record": self.room and self.room["record"],
        }


def differences(mine: Map, fresh: Map) -> list[str]:
    """Where a picture made from events differs from a snapshot of the same version."""
    found = [key for key in ("code", "race", "phase", "options", "commitment", "seat", "view", "record") if mine[key] != fresh[key]]
    for mine_too, seat in zip(mine["seats"], fresh["seats"], strict=True):
        found += [f"seats[{seat['seat']}].{key}" for key in seat if key != "round_trip_ms" and mine_too[key] != seat[key]]
    if fresh["chat"] and fresh["chat"] != mine["chat"][-len(fresh["chat"]) :]:
        found.append("chat")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--name", default="Packed")
    parser.add_argument("--join", metavar="CODE", help="join this room instead of opening one")
    parser.add_argument("--bots", nargs="*", default=[], help="house bots to race against")
    parser.add_argument("--deal", help="the name of a shuffle")
    parser.add_argument("--countdown", type=int, default=3)
    parser.add_argument("--races", type=int, default=1)
    parser.add_argument("--pace", type=float, default=0.06, help="seconds between two messages")
    chosen = parser.parse_args()
    options = {"deal": chosen.deal, "countdown_s": chosen.countdown, "bots": chosen.bots, "public": False}
    client = Client(chosen.url, chosen.name, options=options, code=chosen.join, races=chosen.races, pace=chosen.pace)
    try:
        asyncio.run(client.run())
    except Unhappy as unhappy:
        sys.exit(str(unhappy))
    print(json.dumps(client.summary(), ensure_ascii=False))
    if client.strange or not all(all(race["checks"].values()) for race in client.done):
        sys.exit(1)


if __name__ == "__main__":
    main()
