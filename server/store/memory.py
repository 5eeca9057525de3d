"""A store that ends with its process: for tests, and for a host who wants to keep nothing. The shortest true reading of the port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from protocol.record import Record
from protocol.views import SharedKind
from server.race.rating import RatingChange
from server.store.errors import EntryRefused
from server.store.ledger import Ledger
from server.store.port import (
    NEVER_MS,
    CommandTaken,
    Entry,
    Mark,
    PlayedRace,
    Player,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    RaceOver,
    RaceStatus,
    Request,
    Run,
    Running,
    RunningRace,
    SharedDealMade,
    SharedDealRevealed,
    StandingRace,
    TournamentDecided,
    TournamentMade,
    deal_key,
    name_key,
    played_seats,
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
        self._ended: dict[str, tuple[RaceOpened, RaceOver | RaceAborted]] = {}
        self._here: dict[str, frozenset[int]] = {}
        self._deals: dict[str, SharedDealMade] = {}
        self._tournaments: dict[str, TournamentMade] = {}
        self._decisions: dict[str, list[TournamentDecided]] = {}
        self._closed: set[str] = set()

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
            case RaceOver(race=race, record=record):
                self._ended[race] = (self._open.pop(race).opened, entry)
                self._here[race] = frozenset(entry.here)
                for seat, change in zip(record.seats, self.rating_changes(race), strict=False):
                    self._players[seat.player] = replace(self._players[seat.player], rating=change.after)
            case PlayersLeft(race=race, seats=seats):
                self._here[race] = self._here.get(race, frozenset()) - frozenset(seats)
            case RaceAborted(race=race):
                self._ended[race] = (self._open.pop(race).opened, entry)
            case PlayerMade(player=player, name=name, at_ms=at_ms):
                self._players[player] = Player(id=player, name=name, created_at_ms=at_ms, seen_at_ms=at_ms, rating=None)
            case PlayerRenamed(player=player, name=name):
                self._players[player] = replace(self._players[player], name=name)
            case PlayerSeen(player=player, at_ms=at_ms):
                self._players[player] = replace(self._players[player], seen_at_ms=at_ms)
            case SharedDealMade(key=key):
                self._deals[key] = entry
            case SharedDealRevealed(kind=kind, id=deal, at_ms=at_ms):
                self._deals[deal_key(kind, deal)] = replace(self._deals[deal_key(kind, deal)], reveals_at_ms=at_ms)
            case TournamentMade(tournament=tournament):
                self._tournaments[tournament] = entry
                self._decisions[tournament] = []
            case TournamentDecided(tournament=tournament):
                self._decisions[tournament].append(replace(entry, closes=False))
                if entry.closes:
                    self._closed.add(tournament)
            case _:
                assert_never(entry)

    def running(self) -> Running:
        races = [RunningRace(race.opened, tuple(race.commands)) for race in self._open.values()]
        races.sort(key=lambda race: (race.opened.at_ms, race.opened.race))
        return Running(tuple(races), ())

    def standing(self) -> tuple[StandingRace, ...]:
        races = [
            StandingRace(
                opened=opened,
                record=ended.record,
                players=ended.players,
                here=self._here[race],
                changes=self.rating_changes(race),
                ended_at_ms=ended.at_ms,
            )
            for race, (opened, ended) in self._ended.items()
            if isinstance(ended, RaceOver) and self._here[race]
        ]
        return tuple(sorted(races, key=lambda race: (race.ended_at_ms, race.opened.race)))

    def player(self, player: str) -> Player | None:
        return self._players.get(player)

    def player_by_token_hash(self, token_hash: bytes) -> Player | None:
        return self._players.get(self._ledger.tokens.get(token_hash, ""))

    def player_by_name(self, name: str) -> Player | None:
        return self._players.get(self._ledger.holders.get(name_key(name), ""))

    def name_taken(self, name: str) -> bool:
        return name_key(name) in self._ledger.holders

    def record(self, race: str) -> Record | None:
        match self._ended.get(race):
            case _, RaceOver(record=record):
                return record
            case _:
                return None

    def race_status(self, race: str) -> RaceStatus | None:
        if race in self._open:
            return RaceStatus("running", None)
        match self._ended.get(race):
            case None:
                return None
            case opened, RaceAborted(reason=reason):
                return RaceStatus("aborted", reason, self._sealed_until(opened))
            case opened, _:
                return RaceStatus("over", None, self._sealed_until(opened))

    def rating_changes(self, race: str) -> tuple[RatingChange, ...]:
        return self._ledger.changes.get(race, ())

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        played = [
            replace(_played(opened, ended, number, self.rating_changes(opened.race)), sealed_until_ms=self._sealed_until(opened))
            for opened, ended in self._ended.values()
            for number, seat in enumerate(played_seats(ended))
            if seat.player == player
        ]
        played.sort(key=lambda race: (race.finished_at_ms, race.race), reverse=True)
        if before is not None:
            played = [race for race in played if (race.finished_at_ms, race.race) < (before.finished_at_ms, before.race)]
        return tuple(played[:limit])

    def shared_deal(self, kind: SharedKind, deal: str) -> SharedDealMade | None:
        return self._deals.get(deal_key(kind, deal))

    def shared_deals(self, kind: SharedKind, *, limit: int) -> tuple[SharedDealMade, ...]:
        made = sorted((deal for deal in self._deals.values() if deal.kind == kind), key=lambda deal: (-deal.at_ms, deal.id))
        return tuple(made[:limit])

    def runs(self, kind: SharedKind, deal: str) -> tuple[Run, ...]:
        opened = [(race.opened, None) for race in self._open.values()]
        found = [run for race, ended in (*opened, *self._ended.values()) if (run := _run(race, ended)) is not None]
        found = [run for run in found if (run.occasion.deal.kind, run.occasion.deal.id) == (kind, deal)]
        return tuple(sorted(found, key=lambda run: (run.opened_at_ms, run.race)))

    def _sealed_until(self, opened: RaceOpened) -> int:
        if opened.occasion is None:
            return 0
        deal = self._deals[deal_key(opened.occasion.deal.kind, opened.occasion.deal.id)]
        return deal.reveals_at_ms if deal.reveals_at_ms is not None else NEVER_MS

    def tournaments(self, *, closed: bool, limit: int) -> tuple[TournamentMade, ...]:
        found = [made for made in self._tournaments.values() if closed == (made.tournament in self._closed)]
        return tuple(sorted(found, key=lambda made: (-made.at_ms, made.tournament))[:limit])

    def tournament(self, tournament: str) -> TournamentMade | None:
        return self._tournaments.get(tournament)

    def tournament_log(self, tournament: str) -> tuple[TournamentDecided, ...]:
        return tuple(self._decisions.get(tournament, ()))

    def ladder(self, limit: int) -> tuple[Player, ...]:
        rated = [(player.rating, player) for player in self._players.values() if player.rating is not None]
        rated.sort(key=lambda pair: (-pair[0].sure, name_key(pair[1].name)))
        return tuple(player for _, player in rated[:limit])

    def close(self) -> None:
        pass


def _played(opened: RaceOpened, ended: RaceOver | RaceAborted, seat: int, changes: tuple[RatingChange, ...]) -> PlayedRace:
    return PlayedRace(
        race=opened.race,
        room=opened.room,
        number=opened.number,
        rules=opened.options.rules,
        finished_at_ms=ended.at_ms,
        aborted=ended.reason if isinstance(ended, RaceAborted) else None,
        seat=seat,
        seats=played_seats(ended, changes),
    )


def _run(opened: RaceOpened, ended: RaceOver | RaceAborted | None) -> Run | None:
    if opened.occasion is None:
        return None
    return Run(
        race=opened.race,
        room=opened.room,
        rules=opened.options.rules,
        occasion=opened.occasion,
        phase="running" if ended is None else "aborted" if isinstance(ended, RaceAborted) else "over",
        opened_at_ms=opened.at_ms,
        finished_at_ms=ended.at_ms if ended is not None else None,
        seats=played_seats(ended) if ended is not None else (),
    )
