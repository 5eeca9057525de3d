"""What a batch is judged by before anything of it is written: which races run and how far, whose which name is, and the ratings, of
which each rated race makes new ones.

Shared by all stores, so that they refuse alike. It takes back what a refused request has done to it. Where a whole batch could not be
written, it knows more than is there: its owner makes a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, assert_never

from protocol.record import Record
from protocol.text import clean_name
from server.race.rating import Rating, RatingChange, Unratable, rate_record
from server.store.errors import EntryRefused, NameTaken, RunAlready
from server.store.port import (
    CommandTaken,
    Entry,
    PlayerMade,
    PlayerRenamed,
    PlayerSeen,
    PlayersLeft,
    RaceAborted,
    RaceOpened,
    RaceOver,
    Request,
    SharedDealMade,
    SharedDealRevealed,
    TournamentDecided,
    TournamentMade,
    deal_key,
    name_key,
    runs_once,
)

RunKey: TypeAlias = tuple[str, str, str]
"""Key of the deal, rule set, player."""

Key = TypeVar("Key")
Value = TypeVar("Value")

_ABSENT = object()


class Ledger:
    """running: race to its last sequence. names: player to the key of his name. holders: the other way round.

    tokens: token hash to player. ended: races that are known to be over or aborted; it need only hold those that a batch opens, or says
    that players have left. (One that runs may be in it.)
    tournaments: tournament to its last decision.
    deals: the keys of shared deals. runs: the race of each deal, rule set and player where he has one run alone.
    ratings: of players who have one. changes: what the rated races of a batch have done to them, by race and seat.
    All players that a batch names, who hold the names and tokens it wants, and the tournaments, deals and runs that it is about, have to be
    in there before it is judged.
    """

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.holders: dict[str, str] = {}
        self.tokens: dict[bytes, str] = {}
        self.ended: dict[str, None] = {}
        self.tournaments: dict[str, int] = {}
        self.deals: dict[str, None] = {}
        self.runs: dict[RunKey, str] = {}
        self.ratings: dict[str, Rating] = {}
        self.changes: dict[str, tuple[RatingChange, ...]] = {}
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def judge(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """One outcome a request, in order, each judged after those before it that were not refused."""
        outcomes: list[EntryRefused | None] = []
        for request in requests:
            self._undo.clear()
            try:
                # What has no form is refused for that, whatever else is wrong: a database finds it before it asks here.
                for entry in request:
                    if isinstance(entry, PlayerMade | PlayerRenamed):
                        _check_name(entry.name)
                for entry in request:
                    self._take(entry)
            except EntryRefused as refused:
                self._take_back()
                outcomes.append(refused)
            else:
                outcomes.append(None)
        return tuple(outcomes)

    def _take(self, entry: Entry) -> None:
        match entry:
            case CommandTaken(race=race, sequence=sequence):
                last = self._last(race)
                if sequence != last + 1:
                    raise EntryRefused(f"race {race}: command {sequence} cannot follow command {last}")
                self._set(self.running, race, sequence)
            case RaceOpened(race=race):
                if race in self.running or race in self.ended:
                    raise EntryRefused(f"race {race} was opened before")
                self._set(self.running, race, 0)
                self._run(entry)
            case RaceOver(race=race, players=players, record=record):
                self._last(race)
                if len(players) != len(record.seats):
                    raise EntryRefused(f"race {race}: {len(players)} players for {len(record.seats)} seats")
                for player in players:
                    if player is not None:
                        self._check_player(player)
                if record.rated:
                    self._rate(race, record, players)
                self._end(race)
            case PlayersLeft(race=race):
                if race in self.running or race not in self.ended:
                    raise EntryRefused(f"race {race} is not over: it is left by a command")
            case RaceAborted(race=race, seats=seats):
                self._last(race)
                for seat in seats:
                    if seat.player is not None:
                        self._check_player(seat.player)
                if not seats:
                    # It had not begun: nobody has seen a card of it.
                    for run in [run for run, its_race in self.runs.items() if its_race == race]:
                        self._remove(self.runs, run)
                self._end(race)
            case SharedDealMade(key=key, owner=owner):
                if key in self.deals:
                    raise EntryRefused(f"the deal {key} is known already")
                if owner is not None:
                    self._check_player(owner)
                self._set(self.deals, key, None)
            case SharedDealRevealed(kind=kind, id=deal):
                self._check_deal(deal_key(kind, deal))
            case TournamentMade(tournament=tournament, director=director):
                if tournament in self.tournaments:
                    raise EntryRefused(f"tournament {tournament} is known already")
                self._check_player(director)
                self._set(self.tournaments, tournament, 0)
            case TournamentDecided(tournament=tournament, sequence=sequence, author=author):
                decided = self.tournaments.get(tournament)
                if decided is None:
                    raise EntryRefused(f"there is no tournament {tournament}")
                if sequence != decided + 1:
                    raise EntryRefused(f"tournament {tournament}: decision {sequence} cannot follow decision {decided}")
                if author is not None:
                    self._check_player(author)
                self._set(self.tournaments, tournament, sequence)
            case PlayerMade(player=player, name=name, token_hash=token_hash):
                if player in self.names or token_hash in self.tokens:
                    raise EntryRefused(f"player {player} or his token is known already")
                self._set(self.tokens, token_hash, player)
                self._name(player, name)
            case PlayerRenamed(player=player, name=name):
                self._check_player(player)
                self._name(player, name)
            case PlayerSeen(player=player):
                self._check_player(player)
            case _:
                assert_never(entry)

    def _run(self, opened: RaceOpened) -> None:
        occasion = opened.occasion
        if occasion is None:
            return
        key = deal_key(occasion.deal.kind, occasion.deal.id)
        self._check_deal(key)
        for player in occasion.invited:
            self._check_player(player)
            run = key, opened.options.rules, player
            if runs_once(occasion):
                if run in self.runs:
                    raise RunAlready(f"player {player} has had his run of the deal {key}")
                self._set(self.runs, run, opened.race)

    def _check_deal(self, key: str) -> None:
        if key not in self.deals:
            raise EntryRefused(f"there is no shared deal {key}")

    def _rate(self, race: str, record: Record, players: tuple[str | None, ...]) -> None:
        # Ratings are made again from records alone: those have to name the same players.
        if tuple(seat.player for seat in record.seats) != players:
            raise EntryRefused(f"race {race}: its record is rated and names other players")
        try:
            changes = rate_record(record, self.ratings)
        except Unratable as error:
            raise EntryRefused(f"race {race}: {error}") from error
        self._set(self.changes, race, changes)
        for seat, change in zip(record.seats, changes, strict=True):
            self._set(self.ratings, seat.player, change.after)

    def _last(self, race: str) -> int:
        last = self.running.get(race)
        if last is None:
            raise EntryRefused(f"race {race} is not running")
        return last

    def _end(self, race: str) -> None:
        self._remove(self.running, race)
        self._set(self.ended, race, None)

    def _check_player(self, player: str) -> None:
        if player not in self.names:
            raise EntryRefused(f"there is no player {player}")

    def _name(self, player: str, name: str) -> None:
        key = name_key(name)
        if self.holders.get(key, player) != player:
            raise NameTaken(name)
        if player in self.names:
            self._remove(self.holders, self.names[player])
        self._set(self.names, player, key)
        self._set(self.holders, key, player)

    def _set(self, mapping: dict[Key, Value], key: Key, value: Value) -> None:
        self._undo.append((mapping, key, mapping.get(key, _ABSENT)))
        mapping[key] = value

    def _remove(self, mapping: dict[Key, Value], key: Key) -> None:
        self._undo.append((mapping, key, mapping.pop(key)))

    def _take_back(self) -> None:
        while self._undo:
            mapping, key, value = self._undo.pop()
            if value is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = value


def _check_name(name: str) -> None:
    if not name or clean_name(name) != name:
        raise EntryRefused(f"{name!r} is not a name as it is kept: printable, one line, at most 24 characters")
