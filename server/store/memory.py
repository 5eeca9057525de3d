"""A store that ends with its process: for tests, and for a host who wants to keep nothing. The shortest true reading of the port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from protocol.record import Record
from server.store.errors import EntryRefused
from server.store.ledger import Ledger
from server.store.port import (
    CommandTaken,
    Entry,
    Mark,
    PlayedRace,
    PlayedSeat,
    Player,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    RaceAborted,
    RaceOpened,
    RaceOver,
    Rated,
    Request,
    Running,
    RunningRace,
    name_key,
)


@dataclass(slots=True)
class _Open:
    opened: RaceOpened
    commands: list[CommandTaken]


class MemoryStore:
    """Never waits: its calls may be made from the event loop."""

    waits = False

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._players: dict[str, Player] = {}
        self._open: dict[str, _Open] = {}
        self._over: dict[str, tuple[RaceOpened, RaceOver]] = {}

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        outcomes = self._ledger.judge(requests)
        for request, refused in zip(requests, outcomes, strict=True):
            if refused is None:
                for entry in request:
                    self._keep(entry)
        return outcomes

    def _keep(self, entry: Entry) -> None:
        match entry:
            case CommandTaken(race=race):
                self._open[race].commands.append(entry)
            case RaceOpened(race=race):
                self._open[race] = _Open(entry, [])
            case RaceOver(race=race):
                self._over[race] = (self._open.pop(race).opened, entry)
            case RaceAborted(race=race):
                del self._open[race]
            case PlayerMade(player=player, name=name, at_ms=at_ms):
                self._players[player] = Player(id=player, name=name, created_at_ms=at_ms, seen_at_ms=at_ms, rating=None)
            case PlayerRenamed(player=player, name=name):
                self._players[player] = replace(self._players[player], name=name)
            case PlayerSeen(player=player, at_ms=at_ms):
                self._players[player] = replace(self._players[player], seen_at_ms=at_ms)
            case Rated(player=player, rating=rating):
                self._players[player] = replace(self._players[player], rating=rating)
            case _:
                assert_never(entry)

    def running(self) -> Running:
        races = [RunningRace(race.opened, tuple(race.commands)) for race in self._open.values()]
        races.sort(key=lambda race: (race.opened.at_ms, race.opened.race))
        return Running(tuple(races), ())

    def player(self, player: str) -> Player | None:
        return self._players.get(player)

    def player_by_token_hash(self, token_hash: bytes) -> Player | None:
        return self._players.get(self._ledger.tokens.get(token_hash, ""))

    def name_taken(self, name: str) -> bool:
        return name_key(name) in self._ledger.holders

    def record(self, race: str) -> Record | None:
        over = self._over.get(race)
        return over[1].record if over is not None else None

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        played = [
            _played(opened, over, seat)
            for opened, over in self._over.values()
            for seat, holder in enumerate(over.players)
            if holder == player
        ]
        played.sort(key=lambda race: (race.finished_at_ms, race.race), reverse=True)
        if before is not None:
            played = [race for race in played if (race.finished_at_ms, race.race) < (before.finished_at_ms, before.race)]
        return tuple(played[:limit])

    def ladder(self, limit: int) -> tuple[Player, ...]:
        rated = [(player.rating, player) for player in self._players.values() if player.rating is not None]
        rated.sort(key=lambda pair: (3 * pair[0].sigma - pair[0].mu, name_key(pair[1].name)))
        return tuple(player for _, player in rated[:limit])

    def close(self) -> None:
        pass


def _played(opened: RaceOpened, over: RaceOver, seat: int) -> PlayedRace:
    return PlayedRace(
        race=opened.race,
        room=opened.room,
        number=opened.number,
        rules=opened.options.rules,
        finished_at_ms=over.at_ms,
        seat=seat,
        seats=tuple(
            PlayedSeat(player, seat.name, seat.bot, seat.state, seat.place, seat.home)
            for player, seat in zip(over.players, over.record.seats, strict=True)
        ),
    )
