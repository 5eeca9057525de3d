"""What a hostile server might send: well-typed messages of every kind, most of them near to plausible ones, and all of them decoded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, get_args

from msgspec import inspect, structs

from protocol.codec import MSGPACK, encode, server_message_decoder
from protocol.errors import ErrorCode, Refusal
from protocol.phrases import PHRASES
from protocol.room_events import (
    Countdown,
    Dealt,
    Ended,
    Ghost,
    PlayerReady,
    PlayerView,
    Progress,
    Result,
    RoomEvent,
    Scored,
    Seated,
    Started,
)
from protocol.server_messages import ServerMessage
from protocol.views import SeatInfo
from protocol.watch_messages import WatchedEvent
from tests.client import replays, runs, scenes, tournament_scenes, watched

Twisted = TypeVar("Twisted")

KINDS = get_args(ServerMessage)

ATTACKS = (
    "",
    " ",
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "a\nb\rc\td",
    "\x00\x08\x7f",
    "\u202eabc\u2066",
    "e" + "\u0301" * 9,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 9,
    "カーペット" * 60,
    "x" * 3000,
    "../../etc/passwd",
    "%s{0}{x}",
    "\ud7b0\u1161",
    "٣²",
)
"""Texts against terminals, layouts, paths and formats."""
NEAR = (
    *(scenes.CODE, "OTHERS", "carpet", "colorado", "crazy-quilt", "nothing", "p1", "p2", "bot:greedy:1", "greedy"),
    *("a1", "b1", "e4", "h3", "p9", "w", "s", "r", "w:a1", "s:b2", "a1:b2", "a1+", "a1:", ":"),
    *("S", "H", "S+", "S-", "H+", "X", "TD", "AS", "KH", "??", "1D", "\n\n", "カー"),
    *(code.value for code in ErrorCode),
    *("left", "closed", "called-off", "none", "no-seat", "seated", "easy", "KWPRTM", "KWPRTM/2", "2026-11-21", "withdrew", "removed"),
    *("direct-encounter", "buchholz", "pair", "correct", "ws://carpet.example", *PHRASES),
)
"""Texts that mean something somewhere."""
NUMBERS = (
    *(-(2**63), -(2**53), -(2**31), -1000, -2, -1, 0, 0, 1, 1, 2, 3, 5, 7, 8, 13, 14, 52, 104, 500, 1000, 60_000),
    *(10**7, 2**31, 2**53, 2**62, 2**64 - 1),
)
CHANCES = (0.0, 0.005, 0.03, 0.3)
"""That a part of a plausible value is made anew."""


def _racing(places: int) -> tuple[SeatInfo, ...]:
    return tuple(scenes.seat(number, f"P{number}", state="racing") for number in range(places))


@cache
def plausible() -> tuple[ServerMessage, ...]:
    """Messages as an honest server might send them."""
    views = (scenes.first_view(), scenes.middle_view(), scenes.middle_view(pending=True))
    at_table = tournament_scenes.running()
    rooms = [
        scenes.room(),
        scenes.room(8),
        scenes.room(phase="countdown", starts_in_ms=3000),
        *[scenes.room(phase="racing", seats=_racing(places), view=view, elapsed_ms=5000) for places, view in enumerate(views, 1)],
        scenes.room(phase="over", record=scenes.record(), seats=_racing(2)),
        runs.run_room("daily", 3),
        runs.run_room("challenge", 3, phase="racing", view=views[0]),
        scenes.next_race(12, scenes.standing((1, 0), 1)),
    ]
    watches = [watched.watched(), watched.watched("colorado", 3), watched.watched("crazy-quilt", 8), watched.watched("persian-rug", 2)]
    over = watched.watched(phase="over", record=scenes.record())
    events: list[Any] = [
        Seated(version=2, seat=1, name="Benedikt", bot=None),
        PlayerReady(version=3, seat=0),
        Countdown(version=5, starts_in_ms=3000, round_trips_ms=(20, 30)),
        Dealt(version=6, seat=0, starts_in_ms=0, view=views[0]),
        Started(version=7, home=(4, 4), foundations=({"S": 1}, {})),
        PlayerView(version=8, seat=0, ply=1, move="a1", state="racing", elapsed_ms=5000, view=views[1]),
        Progress(version=9, seat=1, ply=3, home=9, foundations={"S": 4}, state="racing", elapsed_ms=6000),
        Result(version=10, record=scenes.record()),
        Result(version=10, record=replays.record()),
        Ended(version=10, seats=scenes.record().seats),
        Scored(version=11, series=scenes.standing((1, 0), 1), record=None),
        Ghost(version=11, ghost=runs.ghost(1)),
    ]
    return (
        scenes.welcome(),
        scenes.welcome(room=scenes.CODE),
        scenes.lobby(),
        scenes.lobby_with_series(),
        *rooms,
        *watches,
        over,
        *events,
        *[watched.event(each) for each in events],
        watched.late(0),
        watched.late(1),
        runs.board(),
        runs.board("challenge"),
        tournament_scenes.listed(),
        tournament_scenes.told(),
        at_table,
        tournament_scenes.running(phase="over"),
        tournament_scenes.large(),
        tournament_scenes.called(),
        tournament_scenes.check_in_due(),
    )


class Server:
    """A server that lies. dice: decides everything."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._decoder = server_message_decoder(MSGPACK)
        self._version = 0

    def messages(self, count: int) -> Iterator[ServerMessage]:
        """So many messages, or fewer: those that the client's decoder lets through."""
        for _ in range(count):
            with suppress(Refusal):
                yield self._decoder.decode(encode(self._in_order(self._made()), MSGPACK))

    def like(self, value: Twisted) -> Twisted:
        """A value of the same type, most of it the same."""
        kind: type = type(value)
        twisted: Twisted = self._twisted(_info(kind), value, self._dice.choice(CHANCES))
        return twisted

    def _made(self) -> Any:
        if self._dice.random() < 0.8:
            return self.like(self._dice.choice(plausible()))
        return self._any(_info(self._dice.choice(KINDS)))

    def _in_order(self, message: Any) -> Any:
        """With the next version, mostly: the link passes on no other event."""
        event = message.event if isinstance(message, WatchedEvent) else message
        if isinstance(event, RoomEvent) and self._dice.random() < 0.95:
            self._version += 1
            event = structs.replace(event, version=self._version)
        return structs.replace(message, event=event) if isinstance(message, WatchedEvent) else event

    def _twisted(self, kind: inspect.Type, value: Any, chance: float) -> Any:
        dice = self._dice
        if dice.random() < chance:
            return self._any(kind)
        match kind:
            case inspect.UnionType(types=types):
                of = next((each for each in types if type(value) is getattr(each, "cls", tuple)), None)
                return value if of is None else self._twisted(of, value, chance)
            case inspect.VarTupleType(item_type=item):
                items = [self._twisted(item, each, chance) for each in value if dice.random() >= chance]
                return tuple(items if dice.random() >= chance else items * 2)
            case inspect.DictType(value_type=inner):
                return {key: self._twisted(inner, each, chance) for key, each in value.items() if dice.random() >= chance}
            case inspect.StructType(cls=cls, fields=fields):
                return _built(cls, {each.name: self._twisted(each.type, getattr(value, each.name), chance) for each in fields})
        return value

    def _any(self, kind: inspect.Type, depth: int = 0) -> Any:
        dice = self._dice
        match kind:
            case inspect.StrType(pattern=str(), max_length=int(digits)):
                return dice.randbytes(digits // 2).hex()
            case inspect.StrType():
                return dice.choice(dice.choice((ATTACKS, NEAR, NEAR)))
            case inspect.IntType(ge=ge, lt=lt, le=le):
                most = le if le is not None else lt - 1 if lt is not None else 2**64 - 1
                least = ge if ge is not None else -(2**63)
                return min(max(dice.choice(NUMBERS), least), most) if dice.random() < 0.7 else dice.randint(max(least, -1), min(most, 60))
            case inspect.BoolType():
                return dice.random() < 0.5
            case inspect.NoneType():
                return None
            case inspect.UnionType(types=types):
                return self._any(dice.choice(types), depth)
            case inspect.VarTupleType(item_type=item):
                return tuple(self._any(item, depth + 1) for _ in range(dice.choice((0, 0, 1, 1, 2, 3, 9) if depth < 3 else (0, 1))))
            case inspect.DictType(key_type=key, value_type=value):
                return {self._any(key, depth + 1): self._any(value, depth + 1) for _ in range(dice.choice((0, 1, 2, 9)))}
            case inspect.LiteralType(values=texts):
                return dice.choice(texts)
            case inspect.EnumType(cls=cls):
                return dice.choice(list(cls))
            case inspect.StructType(cls=cls, fields=fields):
                return _built(cls, {field.name: self._any(field.type, depth + 1) for field in fields})
        raise AssertionError(f"no values for {kind}")


def _built(kind: type, values: dict[str, Any]) -> Any:
    return kind(*values.values()) if kind.__struct_config__.array_like else kind(**values)  # type: ignore[attr-defined]


@cache
def _info(kind: type) -> inspect.Type:
    return inspect.type_info(kind)
