"""What a store promises, whatever it keeps things in.

All calls block. `write` is made by one thread at a time; reads may be made from any thread, beside a write too, and see whole writes only.
Every call may raise `StoreError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from protocol.record import Record
from protocol.views import SharedKind
from server.race.rating import RatingChange
from server.store.answers import Mark, PlayedRace, Player, RaceStatus, Run, Running, StandingRace, TournamentHead
from server.store.errors import EntryRefused
from server.store.port import Banned, Request, SharedDealMade, TournamentDecided, TournamentMade


class Store(Protocol):
    """waits: whether its calls wait for a disk or a network, so that an event loop makes them in a thread."""

    @property
    def waits(self) -> bool: ...

    def write(self, requests: Sequence[Request]) -> tuple[EntryRefused | None, ...]:
        """Judge the requests in their order and write those that fit in one transaction, which is safe on the disk when this returns.

        Gives one outcome a request: None, or why it was refused; a refused one leaves no trace and does not keep the others out.
        Raises StoreError when nothing was written, or the answer was lost: called again with the same sequence, and no other in between, it
        finds out which, and writes them once.
        """

    def probe(self) -> None:
        """Raises StoreError where nothing could be written now, as far as that can be told without writing. Made like `write`."""

    def running(self) -> Running:
        """What a server that starts has to bring back."""

    def standing(self) -> tuple[StandingRace, ...]:
        """Races that are over, and in whose rooms somebody is, by the time of their end. One that cannot be read is left out."""

    def player(self, player: str) -> Player | None: ...

    def player_by_token_hash(self, token_hash: bytes) -> Player | None: ...

    def player_by_name(self, name: str) -> Player | None:
        """Who has this name now, as `name_key` compares."""

    def players_called(self, start: str, *, limit: int) -> tuple[Player, ...]:
        """Those whose names begin so, as `name_key` compares, in its order."""

    def stood_last(self, room: str) -> StandingRace | None:
        """The race that was over last in the rooms that have had this code, whoever is there still; None where none was finished."""

    def record(self, race: str) -> Record | None:
        """The record of a race that is over. Raises StoreCorrupt when it cannot be read."""

    def race_status(self, race: str) -> RaceStatus | None:
        """Whether a race runs, is over or was aborted, and why."""

    def last_race(self, room: str) -> str | None:
        """The id of the race that was over last in the rooms that have had this code. Who has the code might have watched it."""

    def rating_changes(self, race: str) -> tuple[RatingChange, ...]:
        """What a race did to the rating of each seat's player, in seat order; none for one that did not count, or is not over."""

    def history(self, player: str, *, limit: int, before: Mark | None = None) -> tuple[PlayedRace, ...]:
        """This player's races that are over, or had begun and were aborted, newest first; with `before`, those older than that mark."""

    def races_listed(self, rules: str, *, limit: int) -> tuple[PlayedRace, ...]:
        """The public races at this rule set that are over, newest first. Each is told as the first seat's."""

    def shared_deal(self, kind: SharedKind, deal: str) -> SharedDealMade | None:
        """As it was made, with the moment at which it is revealed or was."""

    def shared_deals(self, kind: SharedKind, *, limit: int) -> tuple[SharedDealMade, ...]:
        """The newest first."""

    def deals_run(self, kind: SharedKind, *, revealed_after_ms: int) -> frozenset[str]:
        """The ids of shared deals that anybody has begun to run, of those that are revealed after that moment."""

    def runs(self, kind: SharedKind, deal: str) -> tuple[Run, ...]:
        """All races on a shared deal, by the time of their opening."""

    def tournaments(self, *, closed: bool, limit: int) -> tuple[TournamentMade, ...]:
        """Those that are closed, or those that are not; the newest first."""

    def tournament(self, tournament: str) -> TournamentMade | None: ...

    def tournament_log(self, tournament: str, after: int = 0) -> tuple[TournamentDecided, ...]:
        """All of it behind that number, in order."""

    def tournament_heads(self, also: Sequence[str]) -> tuple[TournamentHead, ...]:
        """Of all that are not closed, and of these others, as far as there are any."""

    def bans(self) -> tuple[Banned, ...]:
        """Who is kept out, the last first."""

    def bans_mark(self) -> tuple[int, int]:
        """Another one whenever `bans` are others."""

    def ladder(self, limit: int) -> tuple[Player, ...]:
        """Rated players, best first: by mu - 3 sigma, what a player is worth almost surely; then by name."""

    def close(self) -> None:
        """Let go of the store. No other call may follow."""


@runtime_checkable
class Prunable(Protocol):
    """A store that grows on a disk: what nobody will miss can be taken out of it."""

    def prunable(self, before_ms: int) -> list[tuple[str, list[str]]]:
        """Tables, each with keys of rows that may go, for `remove` to be called with. before_ms: what is newer stays."""

    def remove(self, table: str, keys: list[str], before_ms: int) -> int:
        """Made like `write`. Gives how many rows went; those that somebody has used since stay."""
